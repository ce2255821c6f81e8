/* SPDX-License-Identifier: MIT */
/* quality.h - how good picks are, as finished numbers: what analysis/learn and the writers of
 * reports share. NaN: not known. */
#ifndef KS_ANALYSIS_QUALITY_H
#define KS_ANALYSIS_QUALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Efficiencies of n problems. Quantiles interpolate linearly; *_lo, *_hi: 95 % interval by
 * resampling problems. */
struct ks_line {
    size_t n;
    double mean, median, p10, p1, min;
    double mean_lo, mean_hi, p10_lo, p10_hi;
};

/* By one of Composable Kernel's tools (learn/metrics.h), in percent. */
struct ks_ck_scores {
    size_t n;
    double mean, p10, p50, min, max, top1, top5;
};

enum { KS_N_TOP = 3, KS_N_BEST_K = 3 };
extern const uint32_t ks_top[KS_N_TOP];       /* 1, 3, 5 */
extern const uint32_t ks_best_k[KS_N_BEST_K]; /* 1, 2, 4 */

struct ks_quality {
    size_t n_problems;
    struct ks_line measured; /* the choice is among the instances measured for the problem */
    struct ks_line zero;     /* among all instances; a pick that was not measured counts 0 */
    struct ks_line left_out; /* the same without the problems whose pick was not measured */
    double share;            /* of the problems whose pick among all was measured */
    struct ks_ck_scores ck_compare, ck_validate;
    double hit[KS_N_TOP];          /* the oracle's best is among the first 1, 3, 5 by score */
    double inside[KS_N_TOP];       /* the pick is among the oracle's best 1, 3, 5 */
    double tied;                   /* the pick is the best or its time cannot be told from it */
    double best_of_k[KS_N_BEST_K]; /* mean efficiency when the first 1, 2, 4 by score are measured
                                      and the fastest is kept */
    double weighted;               /* total best time over total time, weighted by use counts */
};

/* Who chooses: the model, and what it stands beside. X(constant, name, meaning) */
#define KS_CHOOSER_LIST(X)                                                                         \
    X(KS_BY_MODEL, "model", "the trained model")                                                   \
    X(KS_BY_FIXED, "best fixed instance",                                                          \
      "the instance with the highest mean efficiency in training, 0 where not measured")           \
    X(KS_BY_WINS, "static order", "by problems won in training, the first that applies")           \
    X(KS_BY_ORDER, "best static order", "the best of four orders in training")                     \
    X(KS_BY_NEIGHBOURS, "nearest neighbours",                                                      \
      "the best on average on the 3 nearest training problems")                                    \
    X(KS_BY_ANALYTIC, "analytic model", "modelled times, without a sweep")                         \
    X(KS_BY_RANDOM, "random", "any instance")                                                      \
    X(KS_BY_CEILING, "ceiling", "the best of an independent sweep")
enum ks_chooser {
#define X(constant, name, meaning) constant,
    KS_CHOOSER_LIST(X)
#undef X
        KS_N_CHOOSERS
};
const char *ks_chooser_name(uint32_t chooser);
const char *ks_chooser_meaning(uint32_t chooser);

/* Problems of one kind, by the model's picks. */
struct ks_slice {
    const char *name;
    struct ks_quality quality;
};
struct ks_scorecard {
    size_t n_problems;
    struct ks_quality by[KS_N_CHOOSERS];
    bool has[KS_N_CHOOSERS];
    struct ks_slice *classes; /* [n_classes] owned; shape classes that occur */
    size_t n_classes;
    struct ks_quality unseen_class; /* by models that were trained without the whole class */
    bool has_unseen_class;
    double best_baseline; /* highest mean efficiency among the measured of what is not the model,
                             the ceiling or random */
    uint32_t i_best_baseline;
    bool is_useful; /* the model's mean is above it */
};
void ks_scorecard_release(struct ks_scorecard *s);

/* The model's picks by new times (learn/retime.h). */
struct ks_retimed {
    size_t n_same;    /* problems whose pick is the oracle: efficiency 1, whatever its time */
    size_t n_timed;   /* whose pick and oracle were timed again */
    size_t n_missing; /* left out: not both were */
    struct ks_line first, again; /* of n_same + n_timed problems, by the first and the new times */
    double oracle_ratio, pick_ratio; /* new time over first time, geometric means over n_timed; NaN
                                        where that is 0 */
};
/* Both on the problems for which both have new times; n_same + n_timed 0: there is none. */
struct ks_retimed_pair {
    struct ks_retimed model, baseline;
};

/* What the picks cost a network: a list of problems with their use counts. Times in ns over the
 * problems that count, each times its uses. */
struct ks_network {
    const char *name;            /* borrowed */
    uint64_t n_problems, n_uses; /* of the list */
    uint64_t n_counted, n_counted_uses;
    uint64_t n_free_uses; /* of n_counted_uses those of problems whose pick among all instances was
                             measured; by the model */
    double best_ns;       /* 0: no problem counts */
    double ns[KS_N_CHOOSERS];    /* of the picks among the measured; NaN: a pick is missing */
    double regret_lo, regret_hi; /* of the model's time over the best, less 1: 95 % interval by
                                    resampling problems; NaN: not known */
};

/* A problem on which a pick loses most. Texts are borrowed. */
struct ks_worst {
    double eff, pick_ns, best_ns;
    const char *class_name, *pick, *best;
    uint32_t pick_file, best_file; /* that their times are from: struct ks_timed_cell */
    uint64_t problem_id;
    char canonical[1024];
    char reason[160];
};

#endif
