/* SPDX-License-Identifier: MIT */
/* compare_shared.c - takes out what the cells of a problem share in a sweep */
#include "analysis/learn/compare_impl.h"
#include "analysis/learn/scatter.h"
#include "race/student.h"
#include "record/statistic.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_OTHERS 3u     /* a median of fewer is a cell's own change as often as not */
#define LARGE        3.0    /* standard deviations of what a problem shares */
#define FEW_BLOCKS   20u    /* from which the scatter of problems can be read */
#define BLOCK_RISK   0.01   /* that a problem of all is wrongly taken to have changed as a whole */
#define NORMAL_UPPER 0.6745 /* upper quartile of the normal distribution */

/* The cells of one problem and class in the values [first, end). */
struct block {
    size_t first, end;
    uint32_t class;
    uint32_t n_sweeps[2];
    double mean[2], square; /* of the sweeps' medians: of a side; within sides */
    double difference, freedom, times;
};
struct scales { /* of one class, variances of `apart` */
    double alone, shared;
};

/* ---- each value against the rest of its problem ---- */

static uint32_t class_of(const struct ks_comparison *c, const struct ks_compare_value *v)
{
    return v->pair == SIZE_MAX ? KS_COMPARE_CLASSES : ks_compare_class(&c->pairs[v->pair]);
}

static double middle(double *x, size_t n)
{
    ks_stats_sort(x, n);
    return ks_stats_quantile(x, n, 0.5);
}

static void set_apart(struct ks_compare_work *w, const struct ks_comparison *c, uint32_t sweep,
                      uint32_t class)
{
    size_t n = 0;
    double center;

    for (size_t i = 0; i < w->n; i++) {
        struct ks_compare_value *v = &w->values[i];

        if (v->sweep != sweep || class_of(c, v) != class)
            continue;
        v->apart = v->label - (c->pairs[v->pair].log_ns[0] + c->pairs[v->pair].log_ns[1]) / 2;
        w->scratch[n++] = v->apart;
    }
    center = n ? middle(w->scratch, n) : 0;
    for (size_t i = 0; i < w->n; i++)
        if (w->values[i].sweep == sweep && class_of(c, &w->values[i]) == class)
            w->values[i].apart -= center;
}

/* x: [n] ascending, with `without` among them; n >= 2. */
static double median_without(const double *x, size_t n, double without)
{
    size_t r = 0, lo = (n - 2) / 2, hi = (n - 1) / 2;

    while (r + 1 < n && x[r] < without)
        r++;
    return (x[lo + (lo >= r)] + x[hi + (hi >= r)]) / 2;
}

static void add_sweep(struct block *b, uint32_t side, double x) /* Welford 1962 */
{
    double by = x - b->mean[side];

    b->mean[side] += by / ++b->n_sweeps[side];
    b->square += by * (x - b->mean[side]);
}

/* One sweep of a block. */
static void set_others(struct ks_compare_work *w, const struct ks_comparison *c, struct block *b,
                       uint32_t sweep)
{
    size_t n = 0;

    for (size_t i = b->first; i < b->end; i++)
        if (w->values[i].sweep == sweep && class_of(c, &w->values[i]) == b->class)
            w->scratch[n++] = w->values[i].apart;
    if (n <= LEAST_OTHERS)
        return;
    ks_stats_sort(w->scratch, n);
    for (size_t i = b->first; i < b->end; i++) {
        struct ks_compare_value *v = &w->values[i];

        if (v->sweep != sweep || class_of(c, v) != b->class)
            continue;
        v->others = median_without(w->scratch, n, v->apart);
        v->n_others = (uint32_t)n - 1;
    }
    add_sweep(b, sweep >= w->n_a, ks_stats_quantile(w->scratch, n, 0.5));
}

/* ---- how much of it is shared ---- */

static struct scales find_scales(struct ks_compare_work *w, const struct ks_comparison *c,
                                 uint32_t class)
{
    double all, alone;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        if (class_of(c, &w->values[i]) == class && w->values[i].n_others)
            w->scratch[n++] = fabs(w->values[i].apart);
    if (n == 0)
        return (struct scales){ 0, 0 };
    all = middle(w->scratch, n) / NORMAL_UPPER;
    n = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct ks_compare_value *v = &w->values[i];

        if (class_of(c, v) == class && v->n_others)
            w->scratch[n++] = fabs(v->apart - v->others) /
                              sqrt(1 + ks_over_variance(v->n_others, KS_OVER_MEDIAN));
    }
    alone = middle(w->scratch, n) / NORMAL_UPPER;
    return (struct scales){ alone * alone, fmax(all * all - alone * alone, 0) };
}

/* The others' median is the problem's own part as far as it is not the error of a median: by what
 * problems share on the whole or, where it is too large for that, by its own size (James & Stein
 * 1961, positive part). With several sweeps only the latter is taken out: the rest is in the
 * variance between them, and the error of a median would add to it. */
static void set_shared(struct ks_compare_value *v, const struct scales *s, bool is_repeated)
{
    double error = s->alone * ks_over_variance(v->n_others, KS_OVER_MEDIAN);
    double square = v->others * v->others, part = is_repeated ? 0 : s->shared;

    if (square > LARGE * LARGE * (error + s->shared))
        part = square - error;
    v->shared = part > 0 ? v->others * part / (part + error) : 0;
}

/* ---- problems that changed as a whole ---- */

/* Blocks of keep_repeated() that differ, by their variance between sweeps of one side or by that of
 * all blocks' differences, whichever is larger. */
static void find_changed(const struct block *b, size_t n, double *work, bool *is_changed)
{
    double *square = work, *freedom = work + n, *t = work + 2 * n;
    double scale = 0, own = 0, apart, tails;

    for (size_t i = 0; i < n; i++) {
        square[i] = b[i].square;
        freedom[i] = b[i].freedom;
    }
    if (n < FEW_BLOCKS || ks_scatter_fit(square, freedom, n, &scale, &own) <= 0)
        return;
    for (size_t i = 0; i < n; i++) {
        double variance = (own * scale + b[i].square) / (own + b[i].freedom);

        square[i] = t[i] = fabs(b[i].difference) / sqrt(variance * b[i].times);
    }
    ks_stats_sort(t, n);
    apart = ks_stats_quantile(t, n, 0.5);
    tails = ks_compare_freedom(apart, ks_stats_quantile(t, n, 0.9), 0.9);
    for (size_t i = 0; i < n; i++) {
        double v = fmin(own + b[i].freedom, tails);
        double times = fmax(apart / ks_student_quantile(0.25, v), 1);

        is_changed[i] = 2 * ks_student_tail(square[i] / times, v) * (double)n <= BLOCK_RISK;
    }
}

/* Those of which both sides have several sweeps: in a single one a disturbance looks like a change.
 * Returns how many. */
static size_t keep_repeated(struct block *b, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        double n_a = b[i].n_sweeps[0], n_b = b[i].n_sweeps[1];

        if (n_a < 2 || n_b < 2)
            continue;
        b[i].difference = b[i].mean[1] - b[i].mean[0];
        b[i].freedom = n_a + n_b - 2;
        b[i].times = 1 / n_a + 1 / n_b;
        b[kept++] = b[i];
    }
    return kept;
}

static void restore(struct ks_compare_work *w, const struct ks_comparison *c, const struct block *b)
{
    for (size_t i = b->first; i < b->end; i++)
        if (class_of(c, &w->values[i]) == b->class)
            w->values[i].shared = 0;
}

static void restore_changed(struct ks_compare_work *w, const struct ks_comparison *c,
                            struct block *blocks, size_t n_blocks, double *work, bool *is_changed)
{
    size_t n = keep_repeated(blocks, n_blocks);

    for (uint32_t class = 0; class < KS_COMPARE_CLASSES; class ++) {
        size_t first = 0, k = 0;

        /* blocks are by class first */
        while (first < n && blocks[first].class < class)
            first++;
        while (first + k < n && blocks[first + k].class == class)
            k++;
        for (size_t i = 0; i < k; i++)
            is_changed[i] = false;
        find_changed(&blocks[first], k, work, is_changed);
        for (size_t i = 0; i < k; i++)
            if (is_changed[i])
                restore(w, c, &blocks[first + i]);
    }
}

/* ---- all of it ---- */

static size_t visit_blocks(struct ks_compare_work *w, const struct ks_comparison *c, uint32_t class,
                           struct block *blocks)
{
    size_t n = 0;

    for (size_t i = 0, end; i < w->n; i = end) {
        struct block b = { .first = i, .class = class };

        b.end = end = ks_compare_problem_end(w, i);
        for (uint32_t sweep = 0; sweep < w->s->n_sweeps; sweep++)
            set_others(w, c, &b, sweep);
        if (b.n_sweeps[0] + b.n_sweeps[1] > 0)
            blocks[n++] = b;
    }
    return n;
}

/* Of a pair the mean over the sweeps of B less that of A. */
static void sum_pairs(const struct ks_compare_work *w, struct ks_comparison *c,
                      const struct scales *s)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct ks_compare_value *v = &w->values[i];
        struct ks_pair *p = v->pair == SIZE_MAX ? NULL : &c->pairs[v->pair];

        if (p)
            p->shared += (v->side ? 1 : -1) * v->shared / p->n_sweeps[v->side];
    }
    for (size_t i = 0; i < c->n_pairs; i++) {
        struct ks_pair *p = &c->pairs[i];
        double n_a = p->n_sweeps[0], n_b = p->n_sweeps[1];
        double one = s[ks_compare_class(p)].shared * (n_a + n_b) / (n_a + n_b - 1);

        p->shared_sd = c->is_repeated ? 0 : sqrt(one * (1 / n_a + 1 / n_b));
    }
}

int ks_compare_shared(struct ks_compare_work *w, struct ks_comparison *c, struct ks_err *err)
{
    struct block *blocks = calloc(KS_COMPARE_CLASSES * w->n + 1, sizeof(*blocks));
    double *work = calloc(3 * w->n + 1, sizeof(*work));
    bool *is_changed = calloc(w->n + 1, sizeof(*is_changed));
    struct scales scales[KS_COMPARE_CLASSES];
    bool is_enough = blocks && work && is_changed;
    size_t n_blocks = 0;

    for (uint32_t class = 0; is_enough && class < KS_COMPARE_CLASSES; class ++) {
        for (uint32_t sweep = 0; sweep < w->s->n_sweeps; sweep++)
            set_apart(w, c, sweep, class);
        n_blocks += visit_blocks(w, c, class, blocks + n_blocks);
        scales[class] = find_scales(w, c, class);
    }
    for (size_t i = 0; is_enough && i < w->n; i++)
        if (w->values[i].n_others)
            set_shared(&w->values[i], &scales[class_of(c, &w->values[i])], c->is_repeated);
    if (is_enough)
        restore_changed(w, c, blocks, n_blocks, work, is_changed);
    if (is_enough)
        sum_pairs(w, c, scales);
    free(blocks);
    free(work);
    free(is_changed);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", c->n_pairs);
}
