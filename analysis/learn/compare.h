/* SPDX-License-Identifier: MIT */
/* compare.h - two sides of one or more sweeps each, cell by cell: which became faster or slower,
 * and by how much it would have to change to be seen; which have a time on one side only; and what
 * became of the best instances.
 *
 * The value of a cell on a side is the mean over sweeps of its labels' logs, d the difference of
 * the two sides. A cell is compared with a margin: |d| <= margin is as good as the same. p values
 * are those of TREAT (McCarthy & Smyth 2009: Testing significance relative to a fold-change
 * threshold is a TREAT). Cells are put in classes by their number of rounds, because a value of
 * several rounds repeats better.
 *
 * What the cells of a problem share in a sweep (they are measured together: a stretch of time in
 * which the machine was disturbed hits all of them) is taken out of d (compare_shared.c), and a
 * cell is called by the smaller one of d with and without it. A problem that changed as a whole is
 * found only where several sweeps of each side show that it did.
 *
 * The noise of d (compare_errors.c):
 *   - several sweeps on a side: the variance between sweeps of one side, moderated over cells
 *     (Smyth 2004; scatter.h). Sweeps of a side that are neighbours in time agree too well, so the
 *     differences of all cells, in units of that, may widen it (an empirical null: Efron 2004,
 *     Large-scale simultaneous hypothesis testing), not where the devices differ;
 *   - one sweep on either side: nothing is repeated, so it is read from the middle of the
 *     differences (quantiles of |d - median d| among cells of about the same time). Where the
 *     differences between rounds of a side have heavy tails, a change must also be rarer than
 *     these (compare_steps.c).
 * Both are right if most cells did not change. What all cells of a sweep share counts as an error
 * of its own.
 *
 * The false discovery rate is held by Benjamini & Hochberg 1995, once for FASTER and SLOWER, once
 * for SAME (the larger of two one-sided p values), and in each class by itself (Sun et al. 2006,
 * Stratified false discovery control): thousands of cells of one round, of which nothing can be
 * said, do not raise the bar for those that were visited. Cells of one problem share the state of
 * the machine, which makes them positively dependent; the procedure then holds as well (Benjamini &
 * Yekutieli 2001). Where the noise has tails that a t distribution may understate, or one sweep per
 * side has too few visits to show them, one more than the calls in the other direction must also be
 * at most the rate times the calls in this one (Barber & Candes 2015, knockoff+, with signs for
 * knockoffs). */
#ifndef KS_ANALYSIS_COMPARE_H
#define KS_ANALYSIS_COMPARE_H

#include "analysis/learn/bootstrap.h"
#include "analysis/learn/trials.h"

/* Cells are compared in classes: of 1, of 2 or 3, and of more rounds. */
#define KS_COMPARE_CLASSES 3u

enum ks_change { KS_UNSURE, KS_SAME, KS_FASTER, KS_SLOWER, KS_N_CHANGES }; /* of B against A */
extern const char *const ks_change_names[];                                /* "UNSURE", ... */

struct ks_pair { /* a cell; logs */
    uint32_t problem, instance;
    uint32_t n_sweeps[2]; /* of A and B: with a time */
    uint32_t n_rounds;    /* the smallest of its trials */
    uint32_t outcome[2];  /* a failure, if one of the sweeps has one; KS_O_NONE: no record */
    double log_ns[2];
    /* with a time on both sides: */
    double difference;          /* B - A */
    double shared;              /* the part of it that the cells of its problem share */
    double sd, freedom;         /* of the difference without the shared part */
    double shared_sd;           /* of the shared part, as far as sd is without it */
    double square, own_freedom; /* between sweeps of one side */
    double smallest; /* a slowdown of this cell alone that would be found with a chance of
                        80 %; INFINITY: none would */
    double p_changed, p_same;
    uint32_t change;   /* enum ks_change */
    uint32_t at_limit; /* likewise, of ks_compare_limit() */
};
struct ks_lost_best { /* the best instance of a side has no time on the other one */
    uint32_t problem, instance;
    uint32_t side;    /* on which it is the best: 0 A, 1 B */
    uint32_t outcome; /* on the other one; KS_O_NONE: no record */
};
struct ks_comparison {
    struct ks_pair *pairs; /* with a time on both sides; by problem, instance */
    struct ks_pair *lone;  /* with a time on one side only; likewise */
    size_t n_pairs, n_lone;
    size_t n_only[2];   /* cells with a time on one side, but not on the other */
    size_t n_failed[2]; /* of the cells with a time on the other side only: failed on this one */
    size_t n_broken;    /* pairs and lone ones that are ks_compare_is_broken() */
    size_t n_change[KS_N_CHANGES];
    size_t n_blind;    /* cells of which no slowdown would be found, however large */
    size_t n_unseen;   /* by ks_compare_limit() */
    size_t n_together; /* cells that were not called only because their problem changed alike */
    bool is_repeated;  /* a side has several sweeps */
    bool is_one_class; /* both sides measured on devices of one class */
    bool is_heavy[KS_COMPARE_CLASSES]; /* tails of the noise that a t distribution may understate */
    bool has_few_steps; /* one sweep on both sides, too few visits to tell how often one is late */
    double *late[2]; /* [n_late] of each side, with one sweep on both: absolute differences between
                        successive rounds, ascending; n_late 0: their tails are not heavy */
    size_t n_late[2];
    double margin;
    enum ks_statistic statistic; /* of the values */
    /* over problems, 95 %; NAN: there are none */
    size_t n_problems;         /* with a time on both sides, of whichever instances */
    size_t n_problems_only[2]; /* with a time on one side only */
    struct ks_lost_best *lost; /* by side; failures first; by problem */
    size_t n_lost[2];
    size_t n_regrets[2];                          /* problems in which `regret` is defined */
    struct ks_interval cells;                     /* geometric mean of B / A over cells */
    struct ks_interval best;                      /* of the best instance of each side */
    struct ks_interval sum[2], ratio;             /* n_uses x time of the best, ns; B / A */
    struct ks_interval same_winner, same_or_tied; /* shares of problems; tied: within 0.5 % on both
                                                     sides */
    struct ks_interval regret[2]; /* of A's winner on B, of B's winner on A: mean of time / best - 1
                                     over the problems in which the winner has a time there */
    double worst_regret[2];       /* likewise; NAN: in none */
};

/* ks_compare_make() - pairs and the summary; ks_compare_decide() still has to be called.
 * @s, t [in] sweeps below n_a are side A, the others B; both sides have one
 * Device classes are matched where a side has several of them, else the two sides' only classes
 * are compared with each other. An alias has the time of its representative in that sweep, unless
 * it is an alias wherever there is a record of it.
 * Returns 0; KS_EINVAL no cell has a time on both sides, and none is broken; KS_ENOMEM. */
int ks_compare_make(const struct ks_sweeps *s, const struct ks_trials *t, uint32_t n_a,
                    struct ks_comparison *out, struct ks_err *err);
/* Decides every pair at a margin (a log, > 0) and false discovery rate, again as often as wanted.
 * KS_ENOMEM. */
int ks_compare_decide(struct ks_comparison *c, double margin, double rate, struct ks_err *err);
/* Decides at a limit and keeps the verdicts, whatever is decided later. n_unseen: pairs that are
 * UNSURE and in which not even a slowdown of twice the limit would be found with a chance of 80 %.
 * KS_ENOMEM. */
int ks_compare_limit(struct ks_comparison *c, double limit, double rate, struct ks_err *err);
/* It has a time on A, where no sweep failed, and a sweep of B failed (ks_outcome_needs_look). */
bool ks_compare_is_broken(const struct ks_pair *p);
void ks_compare_release(struct ks_comparison *c);

uint32_t ks_compare_class(const struct ks_pair *p);
/* Benjamini & Hochberg: the largest p value that is rejected, 0 when none is. p [n] is sorted. */
double ks_false_discovery_cut(double *p, size_t n, double rate);

/* compare_errors.c: sd and freedom of every pair. level: [n_level] differences of a sweep's level
 * from the mean of its side, with so many degrees of freedom. */
int ks_compare_errors(struct ks_comparison *c, double level_square, double level_freedom,
                      struct ks_err *err);

#endif
