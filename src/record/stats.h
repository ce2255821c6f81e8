/* SPDX-License-Identifier: MIT */
/* stats.h - order statistics of a few samples; the only statistics the harness and the table use.
 */
#ifndef KS_RECORD_STATS_H
#define KS_RECORD_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_stats {
    uint32_t n;
    double median, mad, mean, min, max, p10, p90; /* unit of the samples */
    double se;         /* half-width of the 68 % order-statistic interval of the median, floored by
                          clock / (sqrt(12) calls sqrt(n)) */
    double lo95, hi95; /* 95 % order-statistic interval of the median */
};

/* @x [in] [n] n >= 1, any order, finite; scratch [n] is overwritten with the sorted samples.
 * @clock clock resolution (same unit), @calls calls per sample (>= 1).
 * Interval: order statistics l, u with binomial coverage >= the level (David & Nagaraja 2003, 7.1);
 * for n too small for the level the whole range. */
void ks_stats(const double *x, size_t n, double clock, uint32_t calls, double *scratch,
              struct ks_stats *out);

/* Linear interpolation between order statistics (type 7 of Hyndman & Fan 1996, numpy's default);
 * NaN for n = 0. q in [0, 1]. */
double ks_stats_quantile(const double *sorted, size_t n, double q);
void ks_stats_sort(double *x, size_t n); /* ascending; allocates nothing */

/* Indices (0-based) of the interval's ends for n samples. level in (0, 1). */
void ks_order_interval(size_t n, double level, size_t *lo_out, size_t *hi_out);

/* Tie: the 95 % intervals overlap, or |a - b| is at most `drift` (same unit). */
bool ks_stats_tie(const struct ks_stats *a, const struct ks_stats *b, double drift);

/* Upper 95 % confidence bound on the share of launches with a wrong output when n_checked >= 1
 * launches were checked and none was wrong: 1 - 0.05^(1 / n_checked). */
double ks_wrong_launch_share_ucb95(uint32_t n_checked);

/* Contamination, compared with limits of the job and the idle baseline; pure. */
struct ks_noise_limits {
    double switches_per_s, stolen, canary;   /* limits above the baseline */
    double idle_switches_per_s, idle_stolen; /* baseline; < 0 unknown = 0 */
};
struct ks_noise {
    uint64_t involuntary_switches, cpu_ns, span_ns;
    double canary_ratio; /* 0 = not run */
};
/* ks_noise_disturbance() - how far the noise went beyond the idle baseline, in units of its limits.
 * The maximum over the indicators of (value - baseline) / limit; at least 0, at most
 * KS_DISTURBANCE_MAX. Below 1 ms of span only the canary counts. For involuntary switches both are
 * counts over the span: the baseline's, and as limit the highest count that Poisson scatter allows
 * at limit + baseline, mean + 3 sqrt(mean) + 1, less the baseline's. An infinite limit disables its
 * indicator; above a limit of 0 the result is KS_DISTURBANCE_MAX.
 * @why_out [out] static text naming the indicator when contaminated, else untouched
 * Returns the disturbance: the sample is contaminated if and only if it is > 1. */
#define KS_DISTURBANCE_MAX 1e6
double ks_noise_disturbance(const struct ks_noise *n, const struct ks_noise_limits *lim,
                            const char **why_out);

#endif
