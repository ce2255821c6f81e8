/* SPDX-License-Identifier: MIT */
/* trials.h - one value per instance and sweep from its rounds, problem by problem.
 *
 * Two values: the label, the median or minimum over rounds of the times as they were measured; and
 * `aligned`, which compares instances of one contest. Visits measure contenders only, and what all
 * of a visit share (the state of the machine) would favour or harm them; so each round's shift
 * against round 0 is taken out by median polish (Tukey 1977) before rounds are combined. Then it is
 * the mean over all records (round 0 has one, a visit two), as the race compares contenders by
 * means of differences: of three rounds a median would use one (docs/measured/repeat.txt). A
 * contaminated round counts there as its variance allows: its weight is the variance of clean
 * rounds over that of contaminated ones, from successive rounds of all cells of the domain, and 0
 * where none were seen. Minima are minima of both. */
#ifndef KS_ANALYSIS_TRIALS_H
#define KS_ANALYSIS_TRIALS_H

#include "analysis/data/sweeps.h"

struct ks_trial { /* an instance in one sweep; logs of ns */
    uint32_t instance, sweep;
    uint32_t n_rounds; /* that its value is made of */
    bool is_contender; /* it has the last round of its sweep: no rival is known to be faster */
    double label;
    double aligned;
    double over_best;       /* aligned, above the smallest of its contest in this sweep */
    double span;            /* of the samples of its first round (struct ks_sweep_round) */
    double square, freedom; /* between its rounds: sum of squared deviations, degrees of freedom */
    double first_ns, spent_ns; /* kernel time of round 0, of all rounds */
    uint64_t block_id;         /* of its first round, and how far that block's anchor moved */
    double anchor_shift;       /* (struct ks_sweep_round) */
};
struct ks_contest { /* instances that were measured on one problem, in one domain */
    uint32_t domain, problem;
    uint32_t n_failed; /* cells of all sweeps without a time, aliases not counted */
    size_t first, n;   /* trials, by instance, then sweep */
    size_t first_step, n_steps;
};
/* What a round of a trial differs from the one before by, as they were measured: log. */
struct ks_step {
    size_t trial;
    double by;
};
struct ks_trials {
    struct ks_trial *trials;
    struct ks_step *steps;
    struct ks_contest *contests; /* by domain, problem */
    size_t n_trials, n_contests, n_steps;
    size_t n_cells;              /* instances of all contests */
    size_t most;                 /* trials of the largest contest */
    enum ks_statistic statistic; /* of a round's samples */
};

/* ks_trials_make() - from rounds in order (ks_sweeps_sort).
 * For the label contaminated rounds count only where a cell has no other. Round 0 on another device
 * than the visits (is_elsewhere) helps to find the shifts of rounds; in the values of a cell it
 * counts only where the cell has no visit. Several records of one round are one value, the mean of
 * their logs. Returns 0 or KS_ENOMEM. Owns: caller releases. */
int ks_trials_make(const struct ks_sweeps *s, enum ks_statistic statistic, enum ks_over over,
                   struct ks_trials *out, struct ks_err *err);
void ks_trials_release(struct ks_trials *t);
uint32_t ks_trials_sweeps(const struct ks_trials *t); /* 1 + the highest sweep; at least 1 */

/* ks_polish() - shifts of columns in a table of which some entries are missing.
 * @value [in] [n] entries; row, column [in] [n] of each; rows are in ascending order
 * @shift_out [out] [n_columns] column 0 and columns without a row in common with others: 0
 * @scratch [2 n]. Five steps of median polish: value ~ row effect + shift. */
void ks_polish(const double *value, const uint32_t *row, const uint32_t *column, size_t n,
               uint32_t n_columns, double *shift_out, double *scratch);

/* What is left of the variance of a value after a shift was taken out that is the median over
 * n_rows values, its own among them. */
double ks_polish_left(size_t n_rows);

#endif
