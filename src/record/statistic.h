/* SPDX-License-Identifier: MIT */
/* statistic.h - the label's statistic: one number per round from its samples, one number per cell
 * from its rounds.
 *
 * A round takes as many samples as its stop rule wants, so that a round's number must not depend on
 * how many there are: rounds of 9 and of 200 samples are compared with each other. The first three
 * are median-unbiased estimates of a fixed quantile of the samples' distribution, for any
 * distribution; the minimum falls as samples are added and is there to be compared with.
 * Noise on a quiet machine is one-sided: it only adds time. Low quantiles repeat better
 * (docs/benchmarks.md, repeat). */
#ifndef KS_RECORD_STATISTIC_H
#define KS_RECORD_STATISTIC_H

#include <stddef.h>

enum ks_statistic {
    KS_STATISTIC_MEDIAN,  /* quantile 0.5 */
    KS_STATISTIC_LOW,     /* quantile 0.1; Hyndman & Fan 1996, definition 8. Fewer than 7 samples:
                             their minimum */
    KS_STATISTIC_GROUPS,  /* median of the minima of groups of 8 successive samples: about the
                             quantile 1 - 0.5^(1/8) = 0.083. An incomplete group is left out; fewer
                             than 8 samples: their minimum */
    KS_STATISTIC_MINIMUM, /* depends on the number of samples */
    KS_N_STATISTICS
};
#define KS_GROUP_SAMPLES          8u
#define KS_STATISTIC_NAME_MEDIAN  "median"
#define KS_STATISTIC_NAME_LOW     "low"
#define KS_STATISTIC_NAME_GROUPS  "groups"
#define KS_STATISTIC_NAME_MINIMUM "minimum"
#define KS_STATISTIC_NAME_LONGEST (sizeof(KS_STATISTIC_NAME_MINIMUM) - 1)
extern const char *const ks_statistic_names[]; /* "median", ...; NULL-terminated */

/* What one number of several rounds is. */
enum ks_over { KS_OVER_MEDIAN, KS_OVER_MINIMUM, KS_OVER_MEAN, KS_N_OVER };
#define KS_OVER_NAME_MEDIAN  "median"
#define KS_OVER_NAME_MINIMUM "minimum"
#define KS_OVER_NAME_MEAN    "mean"
extern const char *const ks_over_names[]; /* NULL-terminated */

/* @x [in] [n] n >= 1, in the order in which they were taken; scratch [n] is overwritten. */
double ks_statistic(const double *x, size_t n, enum ks_statistic which, double *scratch);
/* @x [in] [n] one number per round, n >= 1, any order; scratch [n] is overwritten. */
double ks_over_rounds(const double *x, size_t n, enum ks_over over, double *scratch);

/* The variance of the median of n normal rounds over the variance of one (n > 10: pi / (2 n + 2),
 * within 3 %); of their mean 1 / n, which also stands for the minimum. */
double ks_over_variance(size_t n, enum ks_over over);

#endif
