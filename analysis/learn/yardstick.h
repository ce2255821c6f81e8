/* SPDX-License-Identifier: MIT */
/* yardstick.h - how well the winner that one sweep names does in other sweeps of the same thing.
 *
 * Sweeps are split in three groups that share none: A names a winner by the label's statistic; C1
 * names the best by the yardstick's own statistic; C2 says how long both take, by that statistic.
 * The winner is the contender with the smallest value; contenders are compared within their rounds
 * (trials.h).
 *     regret = t(winner of A) / t(best of C1) - 1, t on C2
 * Because the yardstick is not the label's statistic and C1 and C2 are other sweeps, no statistic
 * can flatter itself. The floor puts in place of A's winner the best of A by the yardstick's own
 * statistic: what remains is the noise of the yardstick. The yardstick's statistic is the median
 * (or the minimum) of all samples of all rounds of all sweeps of a group.
 * Only instances that have a time in every sweep take part. */
#ifndef KS_ANALYSIS_YARDSTICK_H
#define KS_ANALYSIS_YARDSTICK_H

#include "analysis/learn/trials.h"

#include <stdbool.h>

#define KS_YARDSTICK_SWEEPS 12u

struct ks_yardstick_options {
    unsigned statistic, over; /* of the label */
    uint32_t n_a, n_c1;       /* sweeps of A (as rounds of one), of C1; C2 has the others */
    bool is_minimum;          /* the yardstick's statistic */
};
struct ks_quantiles { /* with 90 % intervals, bootstrap over problems */
    double p50, p90, p90_lo, p90_hi, p99, mean, mean_lo, mean_hi;
};
struct ks_yardstick {
    size_t n_problems, n_regrets;
    struct ks_quantiles regret, floor;
};
/* ks_yardstick_regret() - over all splits and problems.
 * @s [in] in order, with its samples kept, of 3 to KS_YARDSTICK_SWEEPS sweeps and one domain each
 * Returns 0; KS_EINVAL too few sweeps for the split, too many, or no problem with two instances
 * that all sweeps have; KS_ENOMEM. */
int ks_yardstick_regret(const struct ks_sweeps *s, const struct ks_yardstick_options *o,
                        struct ks_yardstick *out, struct ks_err *err);

struct ks_agreement { /* of two sweeps, over all pairs and problems */
    size_t n;
    double same, tied; /* shares; tied: the same, or within the margin of each other in at least one
                          of the two sweeps */
    double tied_both;  /* .. in both */
};
/* KS_ENOMEM. */
int ks_yardstick_agreement(const struct ks_sweeps *s, unsigned statistic, unsigned over,
                           double margin, struct ks_agreement *out, struct ks_err *err);

struct ks_cost {            /* kernel time of all rounds, median over problems and sweeps */
    double over_first;      /* relative to round 0 */
    double over_ten;        /* relative to ten such rounds */
    double rounds_of_label; /* mean */
};
int ks_yardstick_cost(const struct ks_sweeps *s, struct ks_cost *out, struct ks_err *err);

/* The rounds of some sweeps as sweeps of their own; names are those of s.
 * @mask bit i: sweep i. *out is released with ks_sweeps_drop. KS_ENOMEM. */
int ks_sweeps_pick(const struct ks_sweeps *s, uint32_t mask, struct ks_sweeps *out,
                   struct ks_err *err);
void ks_sweeps_drop(struct ks_sweeps *picked);

/* Quantiles of values that belong to problems: value [n], problem [n] ascending numbers. The
 * bootstrap draws problems. KS_ENOMEM. */
int ks_quantiles_of(const double *value, const uint32_t *problem, size_t n,
                    struct ks_quantiles *out, struct ks_err *err);

#endif
