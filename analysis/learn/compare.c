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

static bool is_same_problem(const struct ks_compare_value *a, const struct ks_compare_value *b)
{
    return a->problem == b->problem && a->condition == b->condition && a->class == b->class;
}

size_t ks_compare_problem_end(const struct ks_compare_work *w, size_t first)
{
    size_t end = first + 1;

    while (end < w->n && is_same_problem(&w->values[first], &w->values[end]))
        end++;
    return end;
}

/* ---- values ---- */

/* Both sides have times of one class of devices only: it need not be the same. Sets is_one_class.
 */
static bool has_one_class(const struct ks_compare_work *w, struct ks_comparison *c)
{
    uint64_t class[2] = { 0, 0 };
    bool has[2] = { false, false };

    c->is_one_class = true;
    for (size_t i = 0; i < w->n; i++) {
        const struct ks_compare_value *v = &w->values[i];

        if (!v->has_time)
            continue;
        if (has[v->side] && class[v->side] != v->class)
            return false;
        has[v->side] = true;
        class[v->side] = v->class;
    }
    c->is_one_class = class[0] == class[1];
    return true;
}

static struct ks_compare_value *next_value(struct ks_compare_work *w, uint32_t domain,
                                           uint32_t problem, uint32_t instance, uint32_t sweep)
{
    struct ks_compare_value *v = &w->values[w->n++];

    *v = (struct ks_compare_value){ .condition = w->s->domains[domain].condition,
                                    .class = w->s->domains[domain].device_class,
                                    .problem = problem,
                                    .instance = instance,
                                    .side = sweep >= w->n_a,
                                    .sweep = sweep,
                                    .representative = KS_NO_INSTANCE,
                                    .pair = SIZE_MAX };
    return v;
}

static void list_trials(struct ks_compare_work *w, const struct ks_trials *t,
                        const struct ks_contest *contest)
{
    for (size_t i = 0; i < contest->n; i++) {
        const struct ks_trial *trial = &t->trials[contest->first + i];
        struct ks_compare_value *v =
            next_value(w, contest->domain, contest->problem, trial->instance, trial->sweep);

        v->outcome = KS_O_OK;
        v->has_time = true;
        v->is_contender = trial->is_contender;
        v->n_rounds = trial->n_rounds;
        v->label = trial->label;
        v->aligned = trial->aligned;
    }
}

static void list_values(struct ks_compare_work *w, struct ks_comparison *c,
                        const struct ks_trials *t)
{
    for (size_t i = 0; i < t->n_contests; i++)
        list_trials(w, t, &t->contests[i]);
    for (size_t i = 0; i < w->s->n_rounds; i++) {
        const struct ks_sweep_round *r = &w->s->rounds[i];
        struct ks_compare_value *v;

        if (r->outcome == KS_O_OK)
            continue;
        v = next_value(w, r->domain, r->problem, r->instance, r->sweep);
        v->outcome = r->outcome;
        v->is_alias = r->outcome == KS_O_ALIASED;
        if (v->is_alias)
            v->representative = r->representative;
    }
    if (has_one_class(w, c))
        for (size_t i = 0; i < w->n; i++)
            w->values[i].class = 0;
    qsort(w->values, w->n, sizeof(*w->values), by_cell);
}

/* Aliases end as their representatives in the same sweep did. */
static void resolve_aliases(struct ks_compare_work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct ks_compare_value *v = &w->values[i], key = *v;
        const struct ks_compare_value *of;

        key.instance = v->representative;
        of = v->is_alias ? bsearch(&key, w->values, w->n, sizeof(key), by_cell) : NULL;
        if (!of || of->is_alias)
            continue;
        v->outcome = of->outcome;
        v->has_time = of->has_time;
        v->n_rounds = of->n_rounds;
        v->label = of->label;
    }
}

/* ---- pairs ---- */

uint32_t ks_compare_worse(uint32_t a, uint32_t b)
{
    const uint32_t of[2] = { a, b };
    uint32_t rank[2];

    for (int i = 0; i < 2; i++)
        rank[i] = ks_outcome_needs_look(of[i]) ? 3 : of[i] == KS_O_OK ? 2 : of[i] != KS_O_NONE;
    return rank[0] > rank[1] ? a : b;
}

bool ks_compare_is_broken(const struct ks_pair *p)
{
    return p->outcome[0] == KS_O_OK && ks_outcome_needs_look(p->outcome[1]);
}

static void add_lone(struct ks_comparison *c, const struct ks_pair *p)
{
    uint32_t side = p->n_sweeps[1] > 0;

    c->n_only[side]++;
    c->n_failed[!side] += ks_outcome_needs_look(p->outcome[!side]);
    c->lone[c->n_lone++] = *p;
}

static void add_pair(struct ks_comparison *c, struct ks_compare_value *v, size_t n,
                     struct ks_pair *p)
{
    p->difference = p->log_ns[1] - p->log_ns[0];
    c->is_repeated = c->is_repeated || p->n_sweeps[0] > 1 || p->n_sweeps[1] > 1;
    for (size_t i = 0; i < n; i++)
        v[i].pair = v[i].has_time ? c->n_pairs : SIZE_MAX;
    c->pairs[c->n_pairs++] = *p;
}

/* v: [n] of one cell. */
static void make_pair(struct ks_comparison *c, struct ks_compare_value *v, size_t n)
{
    struct ks_pair p = { .problem = v->problem, .instance = v->instance, .n_rounds = UINT32_MAX };
    bool is_alias = true; /* throughout: its representative has the same times */

    for (size_t i = 0; i < n; i++) {
        is_alias = is_alias && v[i].is_alias;
        p.outcome[v[i].side] = ks_compare_worse(p.outcome[v[i].side], v[i].outcome);
        if (!v[i].has_time)
            continue;
        p.n_sweeps[v[i].side]++;
        p.log_ns[v[i].side] += v[i].label;
        p.n_rounds = v[i].n_rounds < p.n_rounds ? v[i].n_rounds : p.n_rounds;
    }
    if (is_alias || p.n_sweeps[0] + p.n_sweeps[1] == 0)
        return;
    for (uint32_t side = 0; side < 2; side++)
        if (p.n_sweeps[side])
            p.log_ns[side] /= p.n_sweeps[side];
    c->n_broken += ks_compare_is_broken(&p);
    if (p.n_sweeps[0] && p.n_sweeps[1])
        add_pair(c, v, n, &p);
    else
        add_lone(c, &p);
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

    while (end < w->n && w->values[end].instance == w->values[first].instance &&
           is_same_problem(&w->values[first], &w->values[end]))
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

/* The noise of the pairs. */
static int find_noise(struct ks_compare_work *w, struct ks_comparison *c, const struct ks_trials *t,
                      struct ks_err *err)
{
    int rc = 0;

    if (c->is_one_class)
        rc = ks_compare_shared(w, c, err);
    if (rc == 0 && !c->is_repeated)
        rc = ks_compare_steps(c, t, w->n_a, err);
    if (rc < 0)
        return rc;
    sum_sweeps(w, c);
    return ks_compare_errors(c, w->level_square, w->level_freedom, err);
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
    out->lone = calloc(n, sizeof(*out->lone));
    if (!w.values || !w.scratch || !w.level || !out->pairs || !out->lone)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", n);
    if (rc == 0) {
        list_values(&w, out, t);
        resolve_aliases(&w);
        make_pairs(&w, out);
        if (out->n_pairs + out->n_broken == 0)
            rc = ks_fail(err, KS_EINVAL,
                         "no cell has a time on both sides: compare runs of the same job under the "
                         "same condition (cache, data, clocks, protocol)");
    }
    if (rc == 0 && out->n_pairs > 0)
        rc = find_noise(&w, out, t, err);
    if (rc == 0)
        rc = ks_compare_problems(&w, out, err);
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
    free(c->lone);
    free(c->lost);
    free(c->late[0]);
    free(c->late[1]);
    *c = (struct ks_comparison){ 0 };
}
