/* SPDX-License-Identifier: MIT */
/* stats.c - median with intervals, quantiles, and how far noise is above its limits */
#include "record/stats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define CIURA    9u
#define GAPS_MAX 64u /* 2.25^(64 - 9) * 1750 is above 2^64 */

/* Ciura's gaps (2001), and above them each 2.25 times the one before; those below n, ascending. */
static size_t list_gaps(size_t n, size_t *gap)
{
    static const size_t ciura[CIURA] = { 1, 4, 10, 23, 57, 132, 301, 701, 1750 };
    size_t n_gaps = 0;

    for (; n_gaps < CIURA && ciura[n_gaps] < n; n_gaps++)
        gap[n_gaps] = ciura[n_gaps];
    for (; n_gaps >= CIURA && n_gaps < GAPS_MAX && gap[n_gaps - 1] < n / 9 * 4; n_gaps++)
        gap[n_gaps] = gap[n_gaps - 1] / 4 * 9 + gap[n_gaps - 1] % 4 * 9 / 4;
    return n_gaps;
}

/* Shell sort: no allocation, so a worker may sort after a kernel hurt the heap. */
void ks_stats_sort(double *x, size_t n)
{
    size_t gaps[GAPS_MAX];

    for (size_t g = list_gaps(n, gaps); g > 0; g--) {
        const size_t gap = gaps[g - 1];

        for (size_t i = gap; i < n; i++) {
            double v = x[i];
            size_t k = i;

            for (; k >= gap && x[k - gap] > v; k -= gap)
                x[k] = x[k - gap];
            x[k] = v;
        }
    }
}

double ks_stats_quantile(const double *sorted, size_t n, double q)
{
    double at;
    size_t i;

    if (n == 0)
        return NAN;
    at = q * (double)(n - 1);
    i = (size_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Deviations from the median grow away from it on both sides: merging the two sides gives them in
 * order without a second array. */
static double median_deviation(const double *sorted, size_t n, double median)
{
    size_t left = n / 2, right = n / 2; /* left: one past the next candidate */
    double low = 0, high = 0;

    for (size_t i = 0; i <= n / 2; i++) {
        double l = left > 0 ? median - sorted[left - 1] : INFINITY;
        double r = right < n ? sorted[right] - median : INFINITY;

        low = high;
        high = l < r ? l : r;
        if (l < r)
            left--;
        else
            right++;
    }
    return n % 2 ? high : (low + high) / 2;
}

void ks_order_interval(size_t n, double level, size_t *lo_out, size_t *hi_out)
{
    /* p 2^-debt = probability of i successes of n at 1/2, exact while it fits in 53 bits; the debt
     * keeps 2^-n from underflowing. */
    int debt = n > 1000 ? (int)(n - 1000) : 0;
    double p = ldexp(1.0, -(int)(n - (size_t)debt)), below = 0;
    size_t l = 0;

    for (size_t i = 0; i < n / 2; i++) {
        below += ldexp(p, -debt);
        if (1 - 2 * below < level)
            break;
        l = i; /* x[i] .. x[n-1-i] misses the median with probability 2 P(successes <= i) */
        p = p * (double)(n - i) / (double)(i + 1);
        if (debt > 0 && p > 0x1p200) {
            int shift = debt < 200 ? debt : 200;

            p = ldexp(p, -shift);
            debt -= shift;
        }
    }
    *lo_out = l;
    *hi_out = n - 1 - l;
}

void ks_stats(const double *x, size_t n, double clock, uint32_t calls, double *scratch,
              struct ks_stats *out)
{
    double floor_se = clock / (sqrt(12.0) * calls * sqrt((double)n)), sum = 0;
    size_t lo, hi;

    assert(n >= 1 && calls >= 1);
    memmove(scratch, x, n * sizeof(*x));
    ks_stats_sort(scratch, n);
    for (size_t i = 0; i < n; i++)
        sum += scratch[i];
    *out = (struct ks_stats){ .n = (uint32_t)n, .min = scratch[0], .max = scratch[n - 1] };
    out->mean = sum / (double)n;
    out->median = (scratch[(n - 1) / 2] + scratch[n / 2]) / 2;
    out->mad = median_deviation(scratch, n, out->median);
    out->p10 = ks_stats_quantile(scratch, n, 0.1);
    out->p90 = ks_stats_quantile(scratch, n, 0.9);
    ks_order_interval(n, 0.95, &lo, &hi);
    out->lo95 = scratch[lo];
    out->hi95 = scratch[hi];
    ks_order_interval(n, 0.68, &lo, &hi);
    out->se = fmax((scratch[hi] - scratch[lo]) / 2, floor_se);
}

bool ks_stats_tie(const struct ks_stats *a, const struct ks_stats *b, double drift)
{
    if (a->lo95 <= b->hi95 && b->lo95 <= a->hi95)
        return true;
    return fabs(a->median - b->median) <= drift;
}

static double above_zero(double v)
{
    return v > 0 ? v : 0;
}

double ks_wrong_launch_share_ucb95(uint32_t n_checked)
{
    return 1.0 - pow(0.05, 1.0 / n_checked);
}

static double over_limit(double excess, double limit)
{
    if (!(excess > 0))
        return 0;
    return limit > 0 ? fmin(excess / limit, KS_DISTURBANCE_MAX) : KS_DISTURBANCE_MAX;
}

static double stolen_over_limit(const struct ks_noise *n, const struct ks_noise_limits *lim)
{
    double stolen = 1 - (double)n->cpu_ns / (double)n->span_ns;

    return over_limit(stolen - above_zero(lim->idle_stolen), lim->stolen);
}

/* A Poisson count stays below its mean + three standard deviations + 1: one switch within a 10 ms
 * span does not prove a rate of 100 per second. */
static double switches_over_limit(const struct ks_noise *n, const struct ks_noise_limits *lim)
{
    double span_s = (double)n->span_ns / 1e9;
    double idle = above_zero(lim->idle_switches_per_s) * span_s;
    double mean = lim->switches_per_s * span_s + idle;

    return over_limit((double)n->involuntary_switches - idle, mean + 3 * sqrt(mean) + 1 - idle);
}

double ks_noise_disturbance(const struct ks_noise *n, const struct ks_noise_limits *lim,
                            const char **why_out)
{
    const bool is_long = n->span_ns >= 1000000;
    const struct {
        double value;
        const char *why;
    } indicators[] = {
        { n->canary_ratio > 0 ? over_limit(n->canary_ratio - 1, lim->canary) : 0,
          "canary loop slower than its idle baseline" },
        { is_long ? stolen_over_limit(n, lim) : 0, "processor time taken by others" },
        { is_long ? switches_over_limit(n, lim) : 0, "involuntary context switches" },
    };
    double worst = 0;

    for (size_t i = 0; i < sizeof(indicators) / sizeof(indicators[0]); i++) {
        if (indicators[i].value > 1 && indicators[i].value > worst)
            *why_out = indicators[i].why;
        worst = fmax(worst, indicators[i].value);
    }
    return worst;
}
