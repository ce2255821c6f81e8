/* SPDX-License-Identifier: MIT */
/* statistic.c - statistics of a round's samples and over rounds: median, low quantile, minima */
#include "record/statistic.h"
#include "record/stats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define LOW_QUANTILE 0.1

const char *const ks_statistic_names[] = {
    [KS_STATISTIC_MEDIAN] = KS_STATISTIC_NAME_MEDIAN,
    [KS_STATISTIC_LOW] = KS_STATISTIC_NAME_LOW,
    [KS_STATISTIC_GROUPS] = KS_STATISTIC_NAME_GROUPS,
    [KS_STATISTIC_MINIMUM] = KS_STATISTIC_NAME_MINIMUM,
    [KS_N_STATISTICS] = NULL,
};
const char *const ks_over_names[] = {
    [KS_OVER_MEDIAN] = KS_OVER_NAME_MEDIAN,
    [KS_OVER_MINIMUM] = KS_OVER_NAME_MINIMUM,
    [KS_OVER_MEAN] = KS_OVER_NAME_MEAN,
    [KS_N_OVER] = NULL,
};

static double smallest(const double *x, size_t n)
{
    double least = x[0];

    for (size_t i = 1; i < n; i++)
        least = x[i] < least ? x[i] : least;
    return least;
}

static double median_of_sorted(const double *x, size_t n)
{
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* Definition 8: approximately median-unbiased whatever the distribution. */
static double quantile_of_sorted(const double *x, size_t n, double q)
{
    double at = ((double)n + 1.0 / 3) * q + 1.0 / 3 - 1;
    size_t i;

    if (at <= 0)
        return x[0];
    i = (size_t)at;
    if (i + 1 >= n)
        return x[n - 1];
    return x[i] + (at - (double)i) * (x[i + 1] - x[i]);
}

static size_t group_minima(const double *x, size_t n, double *out)
{
    size_t n_groups = n / KS_GROUP_SAMPLES;

    for (size_t g = 0; g < n_groups; g++)
        out[g] = smallest(x + g * KS_GROUP_SAMPLES, KS_GROUP_SAMPLES);
    return n_groups;
}

double ks_statistic(const double *x, size_t n, enum ks_statistic which, double *scratch)
{
    assert(n >= 1);
    if (which == KS_STATISTIC_MINIMUM || (which == KS_STATISTIC_GROUPS && n < KS_GROUP_SAMPLES))
        return smallest(x, n);
    if (which == KS_STATISTIC_GROUPS) {
        n = group_minima(x, n, scratch);
        ks_stats_sort(scratch, n);
        return median_of_sorted(scratch, n);
    }
    memmove(scratch, x, n * sizeof(*x));
    ks_stats_sort(scratch, n);
    return which == KS_STATISTIC_LOW ? quantile_of_sorted(scratch, n, LOW_QUANTILE)
                                     : median_of_sorted(scratch, n);
}

static double mean(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

double ks_over_rounds(const double *x, size_t n, enum ks_over over, double *scratch)
{
    if (over == KS_OVER_MEAN)
        return mean(x, n);
    return ks_statistic(x, n, over == KS_OVER_MINIMUM ? KS_STATISTIC_MINIMUM : KS_STATISTIC_MEDIAN,
                        scratch);
}

/* By numeric integration over normal order statistics (David & Nagaraja 2003, 3.2). */
static const double median_variance[] = { 0,      1,      0.5,    0.4487, 0.2982, 0.2868,
                                          0.2147, 0.2104, 0.1682, 0.1661, 0.1383 };

double ks_over_variance(size_t n, enum ks_over over)
{
    assert(n >= 1);
    if (over != KS_OVER_MEDIAN)
        return 1 / (double)n;
    if (n < sizeof(median_variance) / sizeof(median_variance[0]))
        return median_variance[n];
    return acos(-1) / (2 * (double)n + 2);
}
