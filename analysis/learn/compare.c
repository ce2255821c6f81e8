/* SPDX-License-Identifier: MIT */
/* compare.c - pairs the cells of two sides and sums up how the sweeps of a side differ */
#include "analysis/learn/compare_impl.h"
#include "base/order.h"
#include "record/outcome.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_cell(const void *x, const void *y)
{
    const struct ks_compare_value *a = x, *b = y;
    const uint64_t ka[] = { a->problem, a->condition, a->class, a->instance, a->side, a->sweep };
    const uint64_t kb[] = { b->problem, b->condition, b->class, b->instance, b->side, b->sweep };
    int d = 0;

    for (size_t i = 0; d == 0 && i < sizeof(ka) / sizeof(ka[0]); i++)
        d = ks_compare_u64(ka[i], kb[i]);
    return d;
}

static bool is_same_cell(const struct ks_compare_value *a, const struct ks_compare_value *b)
{
    return a->problem == b->problem && a->condition == b->condition && a->class == b->class &&
           a->instance == b->instance;
}

/* ---- values ---- */

/* Both sides have one class of devices only: it need not be the same. Sets is_one_class. */
static bool has_one_class(const struct ks_compare_work *w, struct ks_comparison *c)
{
    uint64_t class[2] = { 0, 0 };
    bool has[2] = { false, false };

    c->is_one_class = true;

    for (size_t i = 0; i < w->n; i++) {
        const struct ks_compare_value *v = &w->values[i];

        if (has[v->side] && class[v->side] != v->class)
            return false;
        has[v->side] = true;
        class[v->side] = v->class;
    }
    c->is_one_class = class[0] == class[1];
    return true;
}

static void put_value(struct ks_compare_work *w, uint32_t domain, uint32_t problem,
                      const struct ks_trial *t)
{
    const struct ks_sweep_domain *d = &w->s->domains[domain];

    w->values[w->n++] = (struct ks_compare_value){ .condition = d->condition,
                                                   .class = d->device_class,
                                                   .problem = problem,
                                                   .instance = t->instance,
                                                   .side = t->sweep >= w->n_a,
                                                   .sweep = t->sweep,
                                                   .n_rounds = t->n_rounds,
                                                   .domain = domain,
                                                   .pair = SIZE_MAX,
                                                   .has_time = t->n_rounds > 0,
                                                   .label = t->label };
}

static void list_values(struct ks_compare_work *w, struct ks_comparison *c,
                        const struct ks_trials *t)
{
    for (size_t i = 0; i < t->n_contests; i++)
        for (size_t k = 0; k < t->contests[i].n; k++)
            put_value(w, t->contests[i].domain, t->contests[i].problem,
                      &t->trials[t->contests[i].first + k]);
    for (size_t i = 0; i < w->s->n_rounds; i++) {
        const struct ks_sweep_round *r = &w->s->rounds[i];
        const struct ks_trial failed = { .instance = r->instance, .sweep = r->sweep };

        if (r->outcome != KS_O_OK && r->outcome != KS_O_ALIASED && r->outcome != KS_O_UNSUPPORTED)
            put_value(w, r->domain, r->problem, &failed);
    }
    if (has_one_class(w, c))
        for (size_t i = 0; i < w->n; i++)
            w->values[i].class = 0;
    qsort(w->values, w->n, sizeof(*w->values), by_cell);
}

/* ---- pairs ---- */

static void count_only(struct ks_comparison *c, const struct ks_compare_value *v, size_t n,
                       uint32_t side)
{
    bool has_failed = false;

    for (size_t i = 0; i < n; i++)
        has_failed = has_failed || (v[i].side != side && !v[i].has_time);
    c->n_only[side]++;
    c->n_failed[!side] += has_failed;
}

/* v: [n] of one cell. */
static void make_pair(struct ks_comparison *c, struct ks_compare_value *v, size_t n)
{
    struct ks_pair p = {
        .problem = v->problem, .instance = v->instance, .domain = v->domain, .n_rounds = UINT32_MAX
    };

    for (size_t i = 0; i < n; i++) {
        if (!v[i].has_time)
            continue;
        p.n_sweeps[v[i].side]++;
        p.log_ns[v[i].side] += v[i].label;
        p.n_rounds = v[i].n_rounds < p.n_rounds ? v[i].n_rounds : p.n_rounds;
    }
    for (uint32_t side = 0; side < 2; side++) {
        if (p.n_sweeps[side])
            p.log_ns[side] /= p.n_sweeps[side];
        if (p.n_sweeps[side] && !p.n_sweeps[!side])
            count_only(c, v, n, side);
    }
    if (!p.n_sweeps[0] || !p.n_sweeps[1])
        return;
    p.difference = p.log_ns[1] - p.log_ns[0];
    c->is_repeated = c->is_repeated || p.n_sweeps[0] > 1 || p.n_sweeps[1] > 1;
    for (size_t i = 0; i < n; i++)
        v[i].pair = v[i].has_time ? c->n_pairs : SIZE_MAX;
    c->pairs[c->n_pairs++] = p;
}

/* ---- several sweeps on a side ---- */

/* How far a sweep's values lie from the means of its side: the median over cells. */
static void find_level(struct ks_compare_work *w, const struct ks_comparison *c, uint32_t sweep)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct ks_compare_value *v = &w->values[i];

        if (v->sweep == sweep && v->pair != SIZE_MAX && c->pairs[v->pair].n_sweeps[v->side] > 1)
            w->scratch[n++] = v->label - c->pairs[v->pair].log_ns[v->side];
    }
    if (n == 0)
        return;
    ks_stats_sort(w->scratch, n);
    w->level[sweep] = w->scratch[n / 2];
}

static double own_value(const struct ks_compare_work *w, const struct ks_compare_value *v)
{
    return v->label - v->shared - w->level[v->sweep];
}

/* Squares between sweeps of one side, without the sweeps' levels and what the cells of a problem
 * share. v: [n] of one cell. */
static void add_squares(const struct ks_compare_work *w, struct ks_pair *p,
                        const struct ks_compare_value *v, size_t n)
{
    double mean[2] = { 0, 0 };

    for (size_t i = 0; i < n; i++)
        if (v[i].has_time)
            mean[v[i].side] += own_value(w, &v[i]) / p->n_sweeps[v[i].side];
    for (size_t i = 0; i < n; i++)
        if (v[i].has_time)
            p->square += pow(own_value(w, &v[i]) - mean[v[i].side], 2);
    p->own_freedom = p->n_sweeps[0] + p->n_sweeps[1] - 2;
}

static void sum_levels(struct ks_compare_work *w)
{
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t first = side ? w->n_a : 0, end = side ? w->s->n_sweeps : w->n_a;
        double mean = 0;

        for (uint32_t i = first; i < end; i++)
            mean += w->level[i] / (end - first);
        for (uint32_t i = first; i < end; i++)
            w->level_square += pow(w->level[i] - mean, 2);
        w->level_freedom += end - first - 1;
    }
}

static size_t end_of_cell(const struct ks_compare_work *w, size_t first)
{
    size_t end = first + 1;

    while (end < w->n && is_same_cell(&w->values[first], &w->values[end]))
        end++;
    return end;
}

static void make_pairs(struct ks_compare_work *w, struct ks_comparison *c)
{
    for (size_t i = 0, end; i < w->n; i = end) {
        end = end_of_cell(w, i);
        make_pair(c, &w->values[i], end - i);
    }
}

/* What is left between the sweeps of a side after ks_compare_shared(). */
static void sum_sweeps(struct ks_compare_work *w, struct ks_comparison *c)
{
    for (uint32_t sweep = 0; sweep < w->s->n_sweeps; sweep++)
        find_level(w, c, sweep);
    sum_levels(w);
    for (size_t i = 0, end; i < w->n; i = end) {
        size_t pair = SIZE_MAX;

        end = end_of_cell(w, i);
        for (size_t k = i; k < end; k++)
            pair = w->values[k].pair != SIZE_MAX ? w->values[k].pair : pair;
        if (pair != SIZE_MAX)
            add_squares(w, &c->pairs[pair], &w->values[i], end - i);
    }
}

int ks_compare_make(const struct ks_sweeps *s, const struct ks_trials *t, uint32_t n_a,
                    struct ks_comparison *out, struct ks_err *err)
{
    struct ks_compare_work w = { .s = s, .n_a = n_a };
    size_t n = t->n_trials + s->n_rounds + 1;
    int rc = 0;

    *out = (struct ks_comparison){ .statistic = t->statistic };
    w.values = calloc(n, sizeof(*w.values));
    w.scratch = calloc(n, sizeof(*w.scratch));
    w.level = calloc(s->n_sweeps + 1u, sizeof(*w.level));
    out->pairs = calloc(n, sizeof(*out->pairs));
    if (!w.values || !w.scratch || !w.level || !out->pairs)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", n);
    if (rc == 0) {
        list_values(&w, out, t);
        make_pairs(&w, out);
        if (out->n_pairs == 0)
            rc = ks_fail(err, KS_EINVAL,
                         "no cell has a time on both sides: compare runs of the same job under the "
                         "same condition (cache, data, clocks, protocol)");
    }
    if (rc == 0 && out->is_one_class)
        rc = ks_compare_shared(&w, out, err);
    if (rc == 0 && !out->is_repeated)
        rc = ks_compare_steps(out, t, n_a, err);
    if (rc == 0) {
        sum_sweeps(&w, out);
        rc = ks_compare_errors(out, w.level_square, w.level_freedom, err);
    }
    if (rc == 0)
        rc = ks_compare_problems(out, s, err);
    free(w.values);
    free(w.scratch);
    free(w.level);
    if (rc < 0)
        ks_compare_release(out);
    return rc;
}

void ks_compare_release(struct ks_comparison *c)
{
    free(c->pairs);
    free(c->late[0]);
    free(c->late[1]);
    *c = (struct ks_comparison){ 0 };
}
