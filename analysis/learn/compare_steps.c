/* SPDX-License-Identifier: MIT */
/* compare_steps.c - how often a value of one side is late, from the differences between its rounds
 */
#include "analysis/learn/compare_impl.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define MANY 50u /* steps, from which tails can be read */

static bool is_heavy(const double *x, size_t n)
{
    double inner = ks_stats_quantile(x, n, 0.5), outer = ks_stats_quantile(x, n, 0.98);

    return n >= MANY && inner > 0 && ks_compare_freedom(inner, outer, 0.98) < KS_COMPARE_LIGHT;
}

int ks_compare_steps(struct ks_comparison *c, const struct ks_trials *t, uint32_t n_a,
                     struct ks_err *err)
{
    for (uint32_t side = 0; side < 2; side++) {
        double *x = c->late[side] = calloc(t->n_steps + 1, sizeof(*x));
        size_t n = 0;

        if (!x)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", t->n_steps);
        for (size_t i = 0; i < t->n_steps; i++)
            if ((t->trials[t->steps[i].trial].sweep >= n_a) == (side == 1))
                x[n++] = fabs(t->steps[i].by);
        ks_stats_sort(x, n);
        c->n_late[side] = is_heavy(x, n) ? n : 0;
        c->has_few_steps = c->has_few_steps || n < MANY;
    }
    return 0;
}

/* Of the steps of a side those of at least x, with one that has not been seen yet. */
static double share(const struct ks_comparison *c, uint32_t side, double x)
{
    const double *sorted = c->late[side];
    size_t lo = 0, hi = c->n_late[side];

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (sorted[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (double)(c->n_late[side] - lo + 1) / (double)(c->n_late[side] + 1);
}

/* A mean of two is off by x when one of them is by 2 x, a median of n when half of them are by x.
 */
static double over_rounds(const struct ks_comparison *c, uint32_t side, double x, uint32_t n)
{
    uint32_t half = (n + 1) / 2;
    double p = 1, one;

    if (n == 2)
        return fmin(2 * share(c, side, 2 * x), 1);
    one = share(c, side, x);
    for (uint32_t i = 1; i <= half; i++)
        p *= one * (double)(n - half + i) / (double)i;
    return fmin(p, 1);
}

double ks_compare_late(const struct ks_comparison *c, double x, uint32_t n_rounds)
{
    double p = 0;

    for (uint32_t side = 0; side < 2; side++)
        if (c->n_late[side] > 0)
            p = fmax(p, over_rounds(c, side, fmax(x, 0), n_rounds));
    return p;
}
