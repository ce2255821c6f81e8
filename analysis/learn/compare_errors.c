/* SPDX-License-Identifier: MIT */
/* compare_errors.c - the noise of differences, from the sweeps of a side and from the differences
 */
#include "analysis/learn/compare_impl.h"
#include "analysis/learn/scatter.h"
#include "race/student.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define FEW_CELLS     20u
#define LEVEL_SD      0.003 /* what all cells of a sweep share: prior, and its degrees of freedom */
#define LEVEL_FREEDOM 4.0
#define INNER         0.5 /* quantile of |d| that says its scale */
#define FREEDOM_MIN   2.5 /* of its tails */

/* One late round is not to be told from a change where a cell has few rounds: there the tails are
 * looked for far out. The median of four rounds and more has no such tails: what lies far out has
 * changed, and is left out. With several sweeps a late one shows in the cell's own variance. */
struct tails {
    double outer; /* quantile of |d| that says them */
    bool is_trimmed;
    double expected; /* degrees of freedom by the sweeps of a side */
};
#define OUTER         0.98
#define OUTER_TRIMMED 0.7
#define LOOSE         0.6 /* of the expected degrees of freedom: what few cells show by chance */
#define FAR           4   /* scales */
#define REFIT         0.9 /* quantile of what is left */

uint32_t ks_compare_class(const struct ks_pair *p)
{
    return p->n_rounds < 2 ? 0 : p->n_rounds < 4 ? 1 : 2;
}

static struct tails tails_of(const struct ks_comparison *c, uint32_t class,
                             const struct ks_pair *any)
{
    bool is_trimmed = class == KS_COMPARE_CLASSES - 1 && !c->is_repeated;

    return (struct tails){ is_trimmed ? OUTER_TRIMMED : OUTER, is_trimmed, any->freedom };
}

struct fit { /* variance of the value of one sweep: scale and degrees of freedom */
    double variance, freedom;
    size_t n;
    bool is_heavy; /* both tails are */
};

static void prior_fit(const struct ks_comparison *c, uint32_t class, struct fit *f)
{
    static const uint32_t n_rounds[KS_COMPARE_CLASSES] = { 1, 2, 5 };
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

        if ((class < KS_COMPARE_CLASSES && ks_compare_class(p) != class) || p->own_freedom <= 0)
            continue;
        square[n] = p->square;
        freedom[n++] = p->own_freedom;
    }
    return n;
}

static void fit_repeats(const struct ks_comparison *c, double *square, double *freedom,
                        struct fit *fit)
{
    for (uint32_t k = 0; k < KS_COMPARE_CLASSES; k++) {
        prior_fit(c, k, &fit[k]);
        fit[k].n = list_squares(c, k, square, freedom);
        if (fit[k].n < FEW_CELLS)
            fit[k].n = list_squares(c, KS_COMPARE_CLASSES, square, freedom);
        if (fit[k].n > 0)
            ks_scatter_fit(square, freedom, fit[k].n, &fit[k].variance, &fit[k].freedom);
    }
}

/* ---- the middle of the differences ---- */

/* inner: median of |d - median d|. */
static void set_fit(double inner, double freedom, struct fit *f)
{
    double scale = inner / ks_student_quantile((1 - INNER) / 2, freedom);

    f->freedom = freedom;
    f->variance = scale * scale / 2; /* a difference has that of two values */
}

double ks_compare_freedom(double inner, double x, double quantile)
{
    return ks_student_freedom(x / inner, INNER, quantile, FREEDOM_MIN, KS_COMPARE_FREEDOM_MAX);
}

/* x: [n] ascending */
static double both_tails(double inner, const double *x, size_t n, double quantile)
{
    return ks_compare_freedom(inner, ks_stats_quantile(x, n, quantile), quantile);
}

/* Changes lie in a tail, and would be taken for that of the noise: of a tenth of the cells that are
 * 10 % slower none would be found. Noise has two tails, and the shorter one has fewer changes. But
 * where even that one is heavy, noise may explain the other one, too.
 * side: [n] and [n_other] distances above and below the middle, ascending */
static double shorter_tail(double inner, const double *side, size_t n, const double *other,
                           size_t n_other)
{
    static const double quantiles[] = { 0.9, 0.95, 0.98 };
    double least = KS_COMPARE_FREEDOM_MAX;

    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        double q = quantiles[i];
        double x = fmin(ks_stats_quantile(side, n, q), ks_stats_quantile(other, n_other, q));

        least = fmin(least, ks_compare_freedom(inner, x, q));
    }
    return least;
}

static size_t pick_side(const double *d, size_t n, double sign, double *to)
{
    size_t n_side = 0;

    for (size_t i = 0; i < n; i++)
        if (sign * d[i] > 0)
            to[n_side++] = sign * d[i];
    ks_stats_sort(to, n_side);
    return n_side;
}

static double sort_sizes(double *d, size_t n) /* returns the median */
{
    for (size_t i = 0; i < n; i++)
        d[i] = fabs(d[i]);
    ks_stats_sort(d, n);
    return ks_stats_quantile(d, n, INNER);
}

/* own: [n] differences from their middle, without what problems share, which say the scale; shown:
 * [n] what is tested of them, whose tails count. Both are overwritten. work: [n] */
static void fit_middle(double *own, double *shown, size_t n, struct tails t, double *work,
                       struct fit *f)
{
    size_t n_up = pick_side(shown, n, 1, work), n_down = pick_side(shown, n, -1, work + n_up);
    double inner = sort_sizes(own, n), freedom = 0;
    size_t kept = n;
    bool is_light;

    (void)sort_sizes(shown, n);
    if (inner <= 0)
        return;
    if (!t.is_trimmed && n_up > 0 && n_down > 0)
        freedom = shorter_tail(inner, work, n_up, work + n_up, n_down);
    is_light = freedom >= fmin(KS_COMPARE_LIGHT, LOOSE * t.expected);
    f->is_heavy = !t.is_trimmed && !is_light;
    if (!is_light)
        freedom = both_tails(inner, shown, n, t.outer);
    set_fit(inner, freedom, f);
    while (kept > n / 2 && own[kept - 1] > FAR * sqrt(2 * f->variance))
        kept--;
    inner = ks_stats_quantile(own, kept, INNER);
    if (t.is_trimmed && kept < n && inner > 0)
        set_fit(inner, both_tails(inner, own, kept, REFIT), f);
}

/* ---- how the differences of short and of long kernels scatter ---- */

/* On an H100 a kernel of 4 us differs by 1.8 % between two sweeps (median), one of 50 us by 0.3 %:
 * one scale for both would give the short ones' tails to all. So cells in the order of their time
 * are divided into bins; a cell's scale is interpolated between the medians of two bins. */
#define BIN_CELLS   64u
#define MOST_BINS   16u
#define LEAST_SCALE 0.25 /* of the median over all bins */

struct cell {
    double log_ns, d, x; /* d: from the median of the differences; x: |d| */
    double shown;        /* ks_compare_shown(), likewise from the median */
    size_t i_pair;
};

static int by_time(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;

    if (x->log_ns != y->log_ns)
        return x->log_ns < y->log_ns ? -1 : 1;
    return (x->i_pair > y->i_pair) - (x->i_pair < y->i_pair);
}

/* Of each cell the difference without what its problem shares, from the middle, over p->sd. */
static size_t list_cells(const struct ks_comparison *c, uint32_t class, struct cell *cell,
                         double *scratch)
{
    size_t n = 0;
    double center;

    for (size_t i = 0; i < c->n_pairs; i++) {
        const struct ks_pair *p = &c->pairs[i];

        if (ks_compare_class(p) != class)
            continue;
        scratch[n] = p->difference - p->shared;
        cell[n++] = (struct cell){ .log_ns = (p->log_ns[0] + p->log_ns[1]) / 2, .i_pair = i };
    }
    if (n == 0)
        return 0;
    ks_stats_sort(scratch, n);
    center = ks_stats_quantile(scratch, n, 0.5);
    for (size_t i = 0; i < n; i++) {
        const struct ks_pair *p = &c->pairs[cell[i].i_pair];
        double whole = p->difference - center, own = whole - p->shared;

        cell[i].d = own / p->sd;
        cell[i].x = fabs(cell[i].d);
        cell[i].shown = ks_compare_shown(own, whole) / p->sd;
    }
    qsort(cell, n, sizeof(*cell), by_time);
    return n;
}

static double median_of(const struct cell *cell, size_t n, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = cell[i].x;
    ks_stats_sort(scratch, n);
    return ks_stats_quantile(scratch, n, 0.5);
}

/* scale: [number of pairs], set for the n cells; 0: they do not differ at all. */
static void set_scales(const struct ks_comparison *c, const struct cell *cell, size_t n,
                       double *scratch, double *scale)
{
    const double all = median_of(cell, n, scratch);
    size_t n_bins = c->is_repeated ? 1 : n / BIN_CELLS < MOST_BINS ? n / BIN_CELLS : MOST_BINS;
    double bin[MOST_BINS];

    n_bins = n_bins > 0 ? n_bins : 1;
    for (size_t k = 0; k < n_bins; k++) {
        size_t from = k * n / n_bins, to = (k + 1) * n / n_bins;

        bin[k] = fmax(median_of(cell + from, to - from, scratch), LEAST_SCALE * all);
    }
    for (size_t i = 0; i < n; i++) {
        /* bin k has its middle at (k + 1/2) n / n_bins */
        double at = ((double)i + 0.5) * (double)n_bins / (double)n - 0.5;
        double k = fmin(fmax(floor(at), 0), (double)n_bins - 1);
        size_t lo = (size_t)k, hi = lo + 1 < n_bins ? lo + 1 : lo;

        scale[cell[i].i_pair] = bin[lo] + (bin[hi] - bin[lo]) * fmin(fmax(at - k, 0), 1);
    }
}

/* Variances are those of differences that are divided by their cell's scale. work: [2 n_pairs] */
static void fit_differences(const struct ks_comparison *c, struct cell *cell, double *scratch,
                            double *work, struct fit *fit, double *scale)
{
    for (uint32_t k = 0; k < KS_COMPARE_CLASSES; k++) {
        size_t n = list_cells(c, k, cell, scratch);

        prior_fit(c, k, &fit[k]);
        fit[k].n = 0;
        /* between devices of two classes most cells differ */
        if (n < FEW_CELLS || median_of(cell, n, scratch) <= 0 ||
            (c->is_repeated && !c->is_one_class))
            continue;
        fit[k].n = n;
        set_scales(c, cell, n, scratch, scale);
        for (size_t i = 0; i < n; i++) {
            scratch[i] = cell[i].d / scale[cell[i].i_pair];
            work[i] = cell[i].shown / scale[cell[i].i_pair];
        }
        fit_middle(scratch, work, n, tails_of(c, k, &c->pairs[cell[0].i_pair]), work + n, &fit[k]);
    }
}

/* ---- both ---- */

static double times_of(const struct ks_pair *p)
{
    return 1.0 / p->n_sweeps[0] + 1.0 / p->n_sweeps[1];
}

/* By what is known without the differences: the sweeps of a side, else nothing. */
static void set_repeats(struct ks_comparison *c, const struct fit *fit)
{
    for (size_t i = 0; i < c->n_pairs; i++) {
        struct ks_pair *p = &c->pairs[i];
        const struct fit *f = &fit[ks_compare_class(p)];

        p->sd = 1;
        p->freedom = KS_COMPARE_FREEDOM_MAX;
        if (!c->is_repeated)
            continue;
        p->freedom = f->freedom + p->own_freedom;
        p->sd = sqrt((f->freedom * f->variance + p->square) / p->freedom * times_of(p));
    }
}

/* Sweeps of one side that were taken one after another agree better than sweeps of two sides: the
 * differences may widen the errors that the sweeps show, but not narrow them. */
static void set_errors(struct ks_comparison *c, const struct fit *fit, const double *scale,
                       double level)
{
    for (size_t i = 0; i < c->n_pairs; i++) {
        struct ks_pair *p = &c->pairs[i];
        const struct fit *f = &fit[ks_compare_class(p)];
        double sd = scale[i] * sqrt(f->variance * times_of(p));

        if (c->is_repeated) /* p->sd times the scale of the differences in units of it */
            sd = f->n > 0 ? p->sd * fmax(scale[i] * sqrt(2 * f->variance), 1) : p->sd;
        p->freedom = f->n > 0 || !c->is_repeated ? fmin(p->freedom, f->freedom) : p->freedom;
        p->sd = sqrt(sd * sd + level * times_of(p));
    }
}

int ks_compare_errors(struct ks_comparison *c, double level_square, double level_freedom,
                      struct ks_err *err)
{
    double level =
        (LEVEL_FREEDOM * LEVEL_SD * LEVEL_SD + level_square) / (LEVEL_FREEDOM + level_freedom);
    double *scratch = calloc(c->n_pairs + 1, sizeof(double));
    double *work = calloc(2 * c->n_pairs + 1, sizeof(double));
    struct cell *cell = calloc(c->n_pairs + 1, sizeof(*cell));
    double *scale = calloc(c->n_pairs + 1, sizeof(double));
    struct fit fit[KS_COMPARE_CLASSES] = { { .n = 0 } };
    bool is_enough = scratch != NULL && work != NULL && cell != NULL && scale != NULL;

    for (size_t i = 0; is_enough && i < c->n_pairs; i++)
        scale[i] = 1;
    if (is_enough && c->is_repeated)
        fit_repeats(c, scratch, work, fit);
    if (is_enough) {
        set_repeats(c, fit);
        fit_differences(c, cell, scratch, work, fit, scale);
        set_errors(c, fit, scale, level);
        for (uint32_t k = 0; k < KS_COMPARE_CLASSES; k++)
            c->is_heavy[k] = fit[k].is_heavy;
    }
    free(scratch);
    free(work);
    free(cell);
    free(scale);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", c->n_pairs);
}
