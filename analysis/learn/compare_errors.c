/* SPDX-License-Identifier: MIT */
/* The error of each difference: variances pooled over cells of a class (compare.h). */
#include "analysis/learn/compare.h"
#include "analysis/learn/metrics.h"
#include "analysis/learn/scatter.h"
#include "race/student.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define FEW_CELLS     20u
#define LEVEL_SD      0.003 /* what all cells of a sweep share: prior, and its degrees of freedom */
#define LEVEL_FREEDOM 4.0
#define N_CLASSES     3u
#define INNER         0.5 /* quantile of |d| that says its scale; of its tails: */
#define FREEDOM_MIN   2.5
#define FREEDOM_MAX   100.0

/* One late round is not to be told from a change where a cell has few rounds: there the tails are
 * looked for far out. The median of four rounds and more has no such tails: what lies far out has
 * changed, and is left out. */
static const struct {
    double outer; /* quantile of |d| that says the tails */
    bool is_trimmed;
} tails[N_CLASSES] = { { 0.98, false }, { 0.95, false }, { 0.7, true } };
#define FAR   4   /* scales */
#define REFIT 0.9 /* quantile of what is left */

/* Cells of 1, of 2 or 3, and of more rounds. */
static uint32_t class_of(const struct ks_pair *p)
{
    return p->n_rounds < 2 ? 0 : p->n_rounds < 4 ? 1 : 2;
}

struct fit { /* variance of the value of one sweep: scale and degrees of freedom */
    double variance, freedom;
    size_t n;
};

static void prior_fit(const struct ks_comparison *c, uint32_t class, struct fit *f)
{
    static const uint32_t n_rounds[N_CLASSES] = { 1, 2, 5 };
    struct ks_scatter s;

    ks_scatter_init(c->statistic, &s);
    f->variance = ks_scatter_variance(&s, n_rounds[class], KS_OVER_MEDIAN);
    f->freedom = s.freedom;
}

/* ---- between sweeps of one side ---- */

static size_t list_squares(const struct ks_comparison *c, uint32_t class, double *square,
                           double *freedom)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_pairs; i++) {
        const struct ks_pair *p = &c->pairs[i];

        if ((class < N_CLASSES && class_of(p) != class) || p->own_freedom <= 0)
            continue;
        square[n] = p->square;
        freedom[n++] = p->own_freedom;
    }
    return n;
}

static void fit_repeats(const struct ks_comparison *c, double *square, double *freedom,
                        struct fit *fit)
{
    for (uint32_t k = 0; k < N_CLASSES; k++) {
        prior_fit(c, k, &fit[k]);
        fit[k].n = list_squares(c, k, square, freedom);
        if (fit[k].n < FEW_CELLS)
            fit[k].n = list_squares(c, N_CLASSES, square, freedom);
        if (fit[k].n > 0)
            ks_scatter_fit(square, freedom, fit[k].n, &fit[k].variance, &fit[k].freedom);
    }
}

/* ---- the middle of the differences ---- */

/* The degrees of freedom at which |T| has this ratio of quantiles. */
static double freedom_of(double ratio, double quantile)
{
    double lo = FREEDOM_MIN, hi = FREEDOM_MAX;

    for (int i = 0; i < 50; i++) {
        double mid = (lo + hi) / 2;
        double r = ks_student_quantile((1 - quantile) / 2, mid) /
                   ks_student_quantile((1 - INNER) / 2, mid);

        if (r > ratio)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

/* x: [n] |d - median d|, ascending. */
static void fit_sorted(const double *x, size_t n, double quantile, struct fit *f)
{
    double inner = ks_stats_quantile(x, n, INNER);

    if (inner <= 0)
        return;
    f->freedom = freedom_of(ks_stats_quantile(x, n, quantile) / inner, quantile);
    inner /= ks_student_quantile((1 - INNER) / 2, f->freedom);
    f->variance = inner * inner / 2; /* a difference has that of two values */
}

/* x: [n] differences; overwritten. */
static void fit_middle(double *x, size_t n, uint32_t class, struct fit *f)
{
    size_t kept = n;
    double center;

    ks_stats_sort(x, n);
    center = ks_stats_quantile(x, n, 0.5);
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - center);
    ks_stats_sort(x, n);
    fit_sorted(x, n, tails[class].outer, f);
    while (kept > n / 2 && x[kept - 1] > FAR * sqrt(2 * f->variance))
        kept--;
    if (tails[class].is_trimmed && kept < n)
        fit_sorted(x, kept, REFIT, f);
}

static size_t list_differences(const struct ks_comparison *c, uint32_t class, double *x)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_pairs; i++)
        if (class >= N_CLASSES || class_of(&c->pairs[i]) == class)
            x[n++] = c->pairs[i].difference;
    return n;
}

static void fit_differences(const struct ks_comparison *c, double *x, struct fit *fit)
{
    for (uint32_t k = 0; k < N_CLASSES; k++) {
        prior_fit(c, k, &fit[k]);
        fit[k].n = list_differences(c, k, x);
        if (fit[k].n >= FEW_CELLS)
            fit_middle(x, fit[k].n, k, &fit[k]);
    }
}

int ks_compare_errors(struct ks_comparison *c, double level_square, double level_freedom,
                      struct ks_err *err)
{
    double level =
        (LEVEL_FREEDOM * LEVEL_SD * LEVEL_SD + level_square) / (LEVEL_FREEDOM + level_freedom);
    double *square = calloc(c->n_pairs + 1, sizeof(double));
    double *freedom = calloc(c->n_pairs + 1, sizeof(double));
    struct fit fit[N_CLASSES];
    bool is_enough = square && freedom;

    if (is_enough && c->is_repeated)
        fit_repeats(c, square, freedom, fit);
    else if (is_enough)
        fit_differences(c, square, fit);
    for (size_t i = 0; is_enough && i < c->n_pairs; i++) {
        struct ks_pair *p = &c->pairs[i];
        const struct fit *f = &fit[class_of(p)];
        double times = 1.0 / p->n_sweeps[0] + 1.0 / p->n_sweeps[1], own;

        p->freedom = f->freedom + p->own_freedom;
        own = (f->freedom * f->variance + p->square) / p->freedom;
        p->sd = sqrt((own + level) * times);
    }
    free(square);
    free(freedom);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", c->n_pairs);
}
