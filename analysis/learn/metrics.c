/* SPDX-License-Identifier: MIT */
/* metrics.c - means and quantiles with bootstrap intervals; Composable Kernel's definitions */
#include "analysis/learn/metrics.h"
#include "analysis/learn/bootstrap.h"
#include "base/hash.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

double ks_quantile_index(const double *sorted, size_t n, double q)
{
    size_t i = (size_t)floor(q * (double)n);

    return n == 0 ? NAN : sorted[i < n ? i : n - 1];
}

static double mean_of(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return n ? sum / (double)n : NAN;
}

/* The value that is number i of a resample, where value j was drawn times[j] times. */
static double drawn(const double *sorted, const uint32_t *times, size_t n, size_t i)
{
    size_t seen = 0, j = 0;

    while (j < n && (seen += times[j]) <= i)
        j++;
    return sorted[j < n ? j : n - 1];
}

struct resample {
    const double *sorted;
    size_t n;
    uint32_t *times; /* [n] scratch */
};

/* Mean and P10. */
static void resample(void *ctx, const uint32_t *unit, double *out)
{
    const struct resample *r = ctx;
    double at = 0.1 * (double)(r->n - 1), sum = 0, lo;
    size_t i = (size_t)floor(at);

    for (size_t j = 0; j < r->n; j++)
        r->times[j] = 0;
    for (size_t j = 0; j < r->n; j++)
        r->times[unit[j]]++;
    for (size_t j = 0; j < r->n; j++)
        sum += r->times[j] * r->sorted[j];
    lo = drawn(r->sorted, r->times, r->n, i);
    out[0] = sum / (double)r->n;
    out[1] = lo + (at - floor(at)) * (drawn(r->sorted, r->times, r->n, i + 1) - lo);
}

static int intervals(const double *sorted, size_t n, uint32_t n_bootstrap, uint64_t seed,
                     struct ks_line *line, struct ks_err *err)
{
    struct resample r = { sorted, n, malloc(n * sizeof(*r.times)) };
    const struct ks_bootstrap b = { .n_units = n,
                                    .n_figures = 2,
                                    .n_draws = n_bootstrap,
                                    .level = 0.95,
                                    .seed = ks_mix64(seed),
                                    .ctx = &r,
                                    .figures = resample };
    struct ks_interval of[2];
    int rc = r.times ? ks_bootstrap(&b, of, err)
                     : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);

    free(r.times);
    if (rc < 0)
        return rc;
    line->mean_lo = of[0].lo;
    line->mean_hi = of[0].hi;
    line->p10_lo = of[1].lo;
    line->p10_hi = of[1].hi;
    return 0;
}

int ks_line(double *eff, size_t n, uint32_t n_bootstrap, uint64_t seed, struct ks_line *line_out,
            struct ks_err *err)
{
    struct ks_line line = { .n = n };
    int rc = 0;

    ks_stats_sort(eff, n);
    line.mean = mean_of(eff, n);
    line.median = ks_stats_quantile(eff, n, 0.5);
    line.p10 = ks_stats_quantile(eff, n, 0.1);
    line.p1 = ks_stats_quantile(eff, n, 0.01);
    line.min = n ? eff[0] : NAN;
    line.mean_lo = line.mean_hi = line.p10_lo = line.p10_hi = NAN;
    if (n && n_bootstrap)
        rc = intervals(eff, n, n_bootstrap, seed, &line, err);
    if (rc == 0)
        *line_out = line;
    return rc;
}

/* ---- Composable Kernel's own definitions ---- */

static double share(size_t n_yes, size_t n)
{
    return n ? 100.0 * (double)n_yes / (double)n : NAN;
}

/* @sorted [out] efficiencies in percent, those that count; returns how many. */
static size_t efficiencies(const struct ks_ck_case *cases, size_t n, bool keeps_unmeasured,
                           double *sorted)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++)
        if (cases[i].efficiency >= 0 || keeps_unmeasured)
            sorted[n_kept++] = cases[i].efficiency >= 0 ? 100 * cases[i].efficiency : 0;
    ks_stats_sort(sorted, n_kept);
    return n_kept;
}

static int ck_scores(const struct ks_ck_case *cases, size_t n, bool keeps_unmeasured,
                     struct ks_ck_scores *out, struct ks_err *err)
{
    double *sorted = malloc((n + 1) * sizeof(*sorted));
    size_t n_same = 0, n_top5 = 0, n_kept;

    if (!sorted)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);
    n_kept = efficiencies(cases, n, keeps_unmeasured, sorted);
    for (size_t i = 0; i < n; i++) {
        bool is_measured = cases[i].efficiency >= 0;

        n_same += is_measured && cases[i].is_same;
        n_top5 += is_measured && cases[i].rank < 5;
    }
    *out = (struct ks_ck_scores){ .n = n_kept,
                                  .mean = mean_of(sorted, n_kept),
                                  .p10 = keeps_unmeasured ? ks_quantile_index(sorted, n_kept, 0.1)
                                                          : ks_stats_quantile(sorted, n_kept, 0.1),
                                  .p50 = keeps_unmeasured ? ks_quantile_index(sorted, n_kept, 0.5)
                                                          : ks_stats_quantile(sorted, n_kept, 0.5),
                                  .min = n_kept ? sorted[0] : NAN,
                                  .max = n_kept ? sorted[n_kept - 1] : NAN,
                                  .top1 = share(n_same, n),
                                  .top5 = share(n_top5, n) };
    free(sorted);
    return 0;
}

int ks_ck_compare(const struct ks_ck_case *cases, size_t n, struct ks_ck_scores *out,
                  struct ks_err *err)
{
    return ck_scores(cases, n, true, out, err);
}

int ks_ck_validate(const struct ks_ck_case *cases, size_t n, struct ks_ck_scores *out,
                   struct ks_err *err)
{
    return ck_scores(cases, n, false, out, err);
}
