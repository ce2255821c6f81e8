/* SPDX-License-Identifier: MIT */
/* class_order.c - static orders of shape classes, and the picks of problems outside of training */
#include "analysis/learn/class_order.h"

#include <math.h>
#include <stdlib.h>

enum { ALL = KS_N_PROBLEM_CLASSES };

struct ranked {
    double merit; /* sum of efficiencies */
    uint32_t place, instance;
};

static int by_merit(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->merit > y->merit || x->merit < y->merit)
        return x->merit > y->merit ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* merit: [KS_N_PROBLEM_CLASSES + 1][n_instances] of `to`, which c may be itself. */
static void add_up(struct ks_class_orders *o, const struct ks_cells *to, const struct ks_cells *c,
                   const bool *is_training, double *merit)
{
    for (size_t i = 0; i < c->n_problems; i++) {
        const struct ks_cell_problem *p = &c->problems[i];

        if (is_training && !is_training[i])
            continue;
        o->n_problems[p->class_id]++;
        for (size_t k = p->first; k < p->first + p->n; k++) {
            const double eff = c->cells[p->best].time_ns / c->cells[k].time_ns;
            uint32_t at = c->cells[k].instance;

            if (c != to)
                at = ks_cells_find_instance(to, c->instances[at].id);
            if (at == UINT32_MAX)
                continue;
            merit[p->class_id * o->n_instances + at] += eff;
            merit[ALL * o->n_instances + at] += eff;
        }
    }
}

/* place: [n_instances] which of two equal ones comes first. */
static void put_order(struct ks_class_orders *o, uint32_t row, const double *merit,
                      const uint32_t *place, struct ranked *scratch)
{
    for (uint32_t i = 0; i < o->n_instances; i++)
        scratch[i] = (struct ranked){ merit[row * o->n_instances + i], place ? place[i] : i, i };
    qsort(scratch, o->n_instances, sizeof(*scratch), by_merit);
    for (uint32_t i = 0; i < o->n_instances; i++)
        o->order[row * o->n_instances + i] = scratch[i].instance;
}

int ks_class_orders_fit(struct ks_class_orders *o_out, const struct ks_cells *c,
                        const bool *is_training, const struct ks_cells *known, struct ks_err *err)
{
    const size_t n = c->n_instances;
    struct ks_class_orders o = { .n_instances = n };
    double *merit = calloc((ALL + 1) * n + 1, sizeof(*merit));
    struct ranked *scratch = malloc((n + 1) * sizeof(*scratch));
    uint32_t *place = malloc((n + 1) * sizeof(*place));
    int rc = 0;

    o.order = malloc(((ALL + 1) * n + 1) * sizeof(*o.order));
    if (merit && scratch && place && o.order) {
        add_up(&o, c, c, is_training, merit);
        if (known)
            add_up(&o, c, known, NULL, merit);
        put_order(&o, ALL, merit, NULL, scratch);
        for (uint32_t i = 0; i < n; i++)
            place[o.order[ALL * n + i]] = i;
        for (uint32_t k = 0; k < ALL; k++) {
            put_order(&o, k, merit, place, scratch);
            for (size_t i = 0; i < n; i++)
                o.n_ranked[k] += merit[k * n + i] > 0;
        }
        *o_out = o;
    } else {
        free(o.order);
        rc = ks_fail(err, KS_ENOMEM, "out of memory for the static orders of %zu instances", n);
    }
    free(merit);
    free(scratch);
    free(place);
    return rc;
}

void ks_class_orders_release(struct ks_class_orders *o)
{
    free(o->order);
    *o = (struct ks_class_orders){ 0 };
}

bool ks_class_orders_has(const struct ks_class_orders *o, uint32_t class_id)
{
    return class_id < ALL && o->n_problems[class_id] >= KS_CLASS_ORDER_LEAST;
}

const uint32_t *ks_class_orders_of(const struct ks_class_orders *o, uint32_t class_id)
{
    const uint32_t row = ks_class_orders_has(o, class_id) ? class_id : ALL;

    return o->order + row * o->n_instances;
}

void ks_class_orders_rank(const struct ks_class_orders *o, uint32_t class_id, double *rank_out)
{
    const uint32_t *order = ks_class_orders_of(o, class_id);

    for (size_t i = 0; i < o->n_instances; i++)
        rank_out[order[i]] = (double)i;
}

int ks_fall_back(const struct ks_cells *c, const struct ks_featurizer *f, const bool *is_training,
                 const struct ks_cells *known, const bool *is_wanted, struct ks_pick *picks_io,
                 const char **outside_out, size_t *n_out, struct ks_err *err)
{
    struct ks_class_orders o = { 0 };
    double *scores = malloc((c->n_instances + 1) * sizeof(*scores));
    int rc = scores ? ks_class_orders_fit(&o, c, is_training, known, err)
                    : ks_fail(err, KS_ENOMEM, "out of memory for %zu instances", c->n_instances);

    *n_out = 0;
    for (uint32_t i = 0; rc == 0 && i < c->n_problems; i++) {
        const char *why = is_wanted[i] && f->outside ? f->outside(f->ctx, i) : NULL;

        if (outside_out)
            outside_out[i] = why;
        if (!why)
            continue;
        ++*n_out;
        ks_class_orders_rank(&o, c->problems[i].class_id, scores);
        for (uint32_t k = 0; k < c->n_instances; k++)
            if (!ks_featurizer_offers(f, i, k))
                scores[k] = NAN;
        ks_pick(c, i, scores, &picks_io[i]);
    }
    ks_class_orders_release(&o);
    free(scores);
    return rc;
}
