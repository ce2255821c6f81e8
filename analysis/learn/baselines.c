/* SPDX-License-Identifier: MIT */
/* baselines.c - fixed orders of instances, nearest neighbours, random scores */
#include "analysis/learn/baselines.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>

static const char *const order_names[] = {
#define X(constant, name, meaning) name,
    KS_ORDER_LIST(X)
#undef X
};

const char *ks_order_name(uint32_t order)
{
    return order < KS_N_ORDERS ? order_names[order] : "?";
}

/* ---- orders ---- */

static double merit(const struct ks_instance_stats *s, size_t n_problems, enum ks_order order)
{
    double n = (double)s->n_cells;

    if (s->n_cells == 0)
        return -INFINITY;
    switch (order) {
    case KS_ORDER_FIXED:
        return s->sum_eff / (double)n_problems;
    case KS_ORDER_WINS:
        return (double)s->n_wins;
    case KS_ORDER_EFFICIENCY:
        return s->sum_eff / n;
    default:
        return -s->sum_log / n;
    }
}

static void count(struct ks_orders *o, const struct ks_cells *c, const bool *is_training)
{
    for (size_t i = 0; i < c->n_problems; i++) {
        const struct ks_cell_problem *p = &c->problems[i];

        if (!is_training[i])
            continue;
        o->n_problems++;
        o->stats[c->cells[p->best].instance].n_wins++;
        for (size_t j = p->first; j < p->first + p->n; j++) {
            struct ks_instance_stats *s = &o->stats[c->cells[j].instance];
            double eff = c->cells[p->best].time_ns / c->cells[j].time_ns;

            s->n_cells++;
            s->sum_eff += eff;
            s->sum_log -= log(eff);
        }
    }
}

/* The number of instances with more merit, of equal ones those before it. */
static void put_places(struct ks_orders *o, enum ks_order order)
{
    for (size_t i = 0; i < o->n_instances; i++) {
        double mine = merit(&o->stats[i], o->n_problems, order);
        size_t place = 0;

        for (size_t j = 0; j < o->n_instances; j++) {
            double other = merit(&o->stats[j], o->n_problems, order);

            place += other > mine || (other == mine && j < i);
        }
        o->place[order][i] = (double)place;
    }
}

/* Mean efficiency of the first that is measured. */
static double efficiency(const struct ks_cells *c, const bool *is_training, const double *place)
{
    double sum = 0;

    for (size_t i = 0; i < c->n_problems; i++) {
        const struct ks_cell_problem *p = &c->problems[i];
        size_t pick = p->first;

        for (size_t j = p->first; j < p->first + p->n; j++)
            if (place[c->cells[j].instance] < place[c->cells[pick].instance])
                pick = j;
        if (is_training[i])
            sum += c->cells[p->best].time_ns / c->cells[pick].time_ns;
    }
    return sum;
}

int ks_orders_fit(struct ks_orders *o_out, const struct ks_cells *c, const bool *is_training,
                  struct ks_err *err)
{
    struct ks_orders o = { .n_instances = c->n_instances };
    bool has_memory = (o.stats = calloc(c->n_instances + 1, sizeof(*o.stats))) != NULL;
    double best = -1;

    for (int i = 0; i < KS_N_ORDERS; i++)
        has_memory = (o.place[i] = malloc((c->n_instances + 1) * sizeof(double))) && has_memory;
    if (!has_memory) {
        ks_orders_release(&o);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu instances", c->n_instances);
    }
    count(&o, c, is_training);
    for (uint32_t i = 0; i < KS_N_ORDERS; i++) {
        double eff;

        put_places(&o, (enum ks_order)i);
        eff = efficiency(c, is_training, o.place[i]);
        if (eff > best)
            o.best = i;
        best = eff > best ? eff : best;
    }
    *o_out = o;
    return 0;
}

void ks_orders_release(struct ks_orders *o)
{
    free(o->stats);
    for (int i = 0; i < KS_N_ORDERS; i++)
        free(o->place[i]);
    *o = (struct ks_orders){ 0 };
}

/* ---- neighbours ---- */

enum { N_NEAREST = 3 };

struct ks_neighbours {
    const struct ks_cells *cells;
    size_t n;
    uint32_t *problem;        /* [n] */
    float (*at)[KS_MAX_DIMS]; /* [n] */
};

static void place(const struct ks_problem *p, float at_out[KS_MAX_DIMS])
{
    for (int i = 0; i < KS_MAX_DIMS; i++)
        at_out[i] = log2f((float)(p->dim[i] > 0 ? p->dim[i] : 0) + 1);
}

int ks_neighbours_create(struct ks_neighbours **n_out, const struct ks_cells *c,
                         const bool *is_training, struct ks_err *err)
{
    struct ks_neighbours *n = calloc(1, sizeof(*n));

    if (n) {
        n->cells = c;
        n->problem = malloc((c->n_problems + 1) * sizeof(*n->problem));
        n->at = malloc((c->n_problems + 1) * sizeof(*n->at));
    }
    if (!n || !n->problem || !n->at) {
        ks_neighbours_destroy(n);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);
    }
    for (uint32_t i = 0; i < c->n_problems; i++) {
        if (!is_training[i])
            continue;
        n->problem[n->n] = i;
        place(&c->problems[i].problem, n->at[n->n++]);
    }
    *n_out = n;
    return 0;
}

void ks_neighbours_destroy(struct ks_neighbours *n)
{
    if (!n)
        return;
    free(n->problem);
    free(n->at);
    free(n);
}

static float distance(const struct ks_problem *a, const float *at_a, const struct ks_problem *b,
                      const float *at_b)
{
    bool is_other = a->op != b->op || a->direction != b->direction || a->dtype != b->dtype ||
                    a->layout != b->layout;
    float sum = is_other ? 1e6f : 0;

    for (int i = 0; i < KS_MAX_DIMS; i++)
        sum += (at_a[i] - at_b[i]) * (at_a[i] - at_b[i]);
    return sum;
}

/* The nearest, nearest first; returns how many there are. */
static size_t nearest(const struct ks_neighbours *n, const struct ks_problem *p,
                      uint32_t nearest_out[N_NEAREST])
{
    float at[KS_MAX_DIMS], far[N_NEAREST];
    size_t n_found = 0;

    place(p, at);
    for (size_t i = 0; i < n->n; i++) {
        float d = distance(p, at, &n->cells->problems[n->problem[i]].problem, n->at[i]);
        size_t j = n_found;

        if (n_found == N_NEAREST && d >= far[N_NEAREST - 1])
            continue;
        n_found += n_found < N_NEAREST;
        for (j = n_found - 1; j > 0 && d < far[j - 1]; j--) {
            far[j] = far[j - 1];
            nearest_out[j] = nearest_out[j - 1];
        }
        far[j] = d;
        nearest_out[j] = n->problem[i];
    }
    return n_found;
}

void ks_neighbours_score(const struct ks_neighbours *n, const struct ks_problem *p,
                         const double *otherwise, double *scores_out)
{
    const struct ks_cells *c = n->cells;
    uint32_t near[N_NEAREST] = { 0 };
    size_t n_near = nearest(n, p, near);

    for (uint32_t i = 0; i < c->n_instances; i++) {
        double sum = 0;
        size_t n_measured = 0;

        for (size_t j = 0; j < n_near; j++) {
            size_t cell = ks_cells_at(c, near[j], i);
            const struct ks_cell_problem *q = &c->problems[near[j]];

            if (cell == KS_NO_CELL)
                continue;
            sum += log(c->cells[cell].time_ns / c->cells[q->best].time_ns);
            n_measured++;
        }
        scores_out[i] = n_measured ? sum / (double)n_measured : 1e6 + otherwise[i];
    }
}

void ks_random_scores(uint64_t problem_id, uint64_t seed, size_t n, double *scores_out)
{
    uint64_t state = ks_mix64(problem_id ^ ks_mix64(seed));

    for (size_t i = 0; i < n; i++)
        scores_out[i] = (double)(ks_rng_next(&state) >> 11);
}
