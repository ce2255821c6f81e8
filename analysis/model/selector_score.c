/* SPDX-License-Identifier: MIT */
/* selector_score.c - efficiencies of what a selector picks. */
#include "analysis/learn/class_order.h"
#include "analysis/learn/metrics.h"
#include "analysis/model/selector.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for the efficiencies of a selector");
}

/* One problem: its candidates in the order in which they would be chosen. */
struct ranked {
    double score;
    uint16_t candidate;
};
/* What scores the problems of a fold: everything in it was learned without the fold. */
struct side {
    const uint32_t *from;  /* [n] candidates: instances of the specification */
    uint32_t *own_from;    /* the same where the set is its own; owned */
    uint32_t *instance_of; /* [n] in the cells; UINT32_MAX = none; owned */
    const struct ks_losses *losses;
    struct ks_losses own_losses; /* likewise */
    struct ks_distilled table;
    struct ks_class_orders orders;
    size_t n;
    uint16_t width; /* of the table's lists; 0 = no table */
};
struct scoring {
    const struct ks_selector *s;
    const struct ks_cells *c;
    const struct side *side; /* of the problem at hand */
    struct side *sides;      /* [n_folds] */
    struct ks_losses all;    /* of all measured instances, where smallest sets are chosen */
    struct ranked *ranked;   /* [n measured] */
    double *place;           /* [c->n_instances] in a static order */
    double *eff[3];          /* [n_problems] */
};

static int scoring_init(struct scoring *j, const struct ks_selector *s, const struct ks_cells *c,
                        struct ks_err *err)
{
    *j = (struct scoring){ .s = s, .c = c };
    j->ranked = malloc((s->n_measured + 1) * sizeof(*j->ranked));
    j->place = malloc((c->n_instances + 1) * sizeof(*j->place));
    j->sides = calloc(s->losses.n_folds + 1, sizeof(*j->sides));
    for (int k = 0; k < 3; k++)
        j->eff[k] = malloc((c->n_problems + 1) * sizeof(*j->eff[k]));
    return j->ranked && j->place && j->sides && j->eff[0] && j->eff[1] && j->eff[2]
               ? 0
               : no_memory(err);
}

static void side_release(struct side *x)
{
    ks_distilled_release(&x->table);
    ks_losses_release(&x->own_losses);
    ks_class_orders_release(&x->orders);
    free(x->own_from);
    free(x->instance_of);
}

static void scoring_release(struct scoring *j)
{
    for (uint32_t f = 0; j->sides && f < j->s->losses.n_folds; f++)
        side_release(&j->sides[f]);
    free(j->sides);
    ks_losses_release(&j->all);
    free(j->ranked);
    free(j->place);
    for (int k = 0; k < 3; k++)
        free(j->eff[k]);
}

/* ---- sides ---- */

/* The candidates of the selector. */
static int side_init(struct side *x, const struct scoring *j, struct ks_err *err)
{
    x->from = x->own_from ? x->own_from : j->s->from;
    x->n = x->own_from ? x->n : j->s->model.n_instances;
    x->losses = x->own_from ? &x->own_losses : &j->s->losses;
    x->instance_of = malloc((x->n + 1) * sizeof(*x->instance_of));
    if (!x->instance_of)
        return no_memory(err);
    for (size_t i = 0; i < x->n; i++)
        x->instance_of[i] = ks_cells_find_instance(j->c, j->s->spec->instances[x->from[i]].id);
    return 0;
}

/* The smallest set of the other folds. */
static int choose_set(struct side *x, struct scoring *j, uint32_t fold, struct ks_err *err)
{
    const struct ks_selector *s = j->s;
    uint16_t *set = malloc((s->n_wanted + 1) * sizeof(*set));
    double *loss = malloc((s->n_wanted + 1) * sizeof(*loss));
    int rc;

    x->own_from = malloc((s->n_wanted + 1) * sizeof(*x->own_from));
    rc = set && loss && x->own_from ? ks_losses_smallest(&j->all, KS_FOLD_BIT(fold), KS_SEL_ENOUGH,
                                                         s->n_wanted, set, loss, err)
                                    : no_memory(err);
    for (int i = 0; i < rc; i++)
        x->own_from[i] = s->measured[set[i]];
    x->n = rc < 0 ? 0 : (size_t)rc;
    free(set);
    free(loss);
    if (rc < 0)
        return rc;
    return ks_losses_init(&x->own_losses, j->c, s->spec, x->own_from, x->n, s->losses.fold, err);
}

static int grow_table(struct side *x, const struct scoring *j, uint32_t fold, struct ks_err *err)
{
    struct ks_distill_options o = j->s->table_options;
    int rc;

    o.width = o.width < x->n ? o.width : (uint16_t)x->n;
    rc = ks_distill_choose(x->losses, fold, &o, err);
    if (rc == 0)
        rc = ks_distill(x->losses, KS_FOLD_BIT(fold), &o, &x->table, err);
    x->width = o.width;
    return rc;
}

static int learn_orders(struct side *x, const struct scoring *j, uint32_t fold, struct ks_err *err)
{
    const size_t n = j->c->n_problems;
    bool *is_training = malloc(n + 1);
    int rc = is_training ? 0 : no_memory(err);

    for (size_t p = 0; rc == 0 && p < n; p++)
        is_training[p] = j->s->losses.fold[p] != fold;
    if (rc == 0)
        rc = ks_class_orders_fit(&x->orders, j->c, is_training, NULL, err);
    free(is_training);
    return rc;
}

static int make_sides(struct scoring *j, bool with_table, struct ks_err *err)
{
    const struct ks_selector *s = j->s;
    int rc = 0;

    if (s->n_smallest)
        rc =
            ks_losses_init(&j->all, j->c, s->spec, s->measured, s->n_measured, s->losses.fold, err);
    for (uint32_t f = 0; rc == 0 && f < s->losses.n_folds; f++) {
        struct side *x = &j->sides[f];

        if (s->n_smallest)
            rc = choose_set(x, j, f, err);
        if (rc == 0)
            rc = side_init(x, j, err);
        if (rc == 0)
            rc = learn_orders(x, j, f, err);
        if (rc == 0 && with_table)
            rc = grow_table(x, j, f, err);
    }
    return rc;
}

/* ---- efficiencies ---- */

/* The cell of a candidate, KS_NO_CELL: not measured. */
static size_t cell_of(const struct scoring *j, size_t problem, uint16_t candidate)
{
    const uint32_t instance = j->side->instance_of[candidate];

    return instance == UINT32_MAX ? KS_NO_CELL : ks_cells_at(j->c, (uint32_t)problem, instance);
}

static double eff_of(const struct scoring *j, size_t problem, uint16_t candidate)
{
    const size_t cell = cell_of(j, problem, candidate);
    const struct ks_cell_problem *p = &j->c->problems[problem];

    return cell == KS_NO_CELL ? 0 : j->c->cells[p->best].time_ns / j->c->cells[cell].time_ns;
}

/* The best of the first 1, 2, 4 of n. */
static void set_eff(struct scoring *j, size_t problem, size_t n)
{
    double best = 0;

    for (size_t k = 0; k < 4; k++) {
        if (k < n)
            best = fmax(best, eff_of(j, problem, j->ranked[k].candidate));
        if (k != 2)
            j->eff[k == 3 ? 2 : k][problem] = best;
    }
}

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->score < y->score || x->score > y->score)
        return x->score < y->score ? -1 : 1;
    return (int)x->candidate - (int)y->candidate;
}

/* scores NULL: the place in the list. */
static double score_of(const float *scores, size_t cell, uint16_t place)
{
    if (!scores)
        return place;
    return isnan(scores[cell]) ? INFINITY : (double)scores[cell];
}

/* By the trees, the table or both; returns how many. */
static size_t rank_listed(struct scoring *j, size_t problem, const float *scores)
{
    const struct side *x = j->side;
    const uint16_t *list =
        x->width ? ks_distilled_list(&x->table, j->s->losses.q + problem * KS_FX_N_QUANTITIES)
                 : NULL;
    const uint16_t n_listed = list ? x->width : (uint16_t)x->n;
    size_t n = 0;

    for (uint16_t i = 0; i < n_listed && (!list || list[i] != KS_SEL_NONE); i++) {
        const uint16_t candidate = list ? list[i] : i;
        const size_t cell = cell_of(j, problem, candidate);

        if (cell != KS_NO_CELL)
            j->ranked[n++] = (struct ranked){ score_of(scores, cell, i), candidate };
    }
    return n;
}

/* By the class's static order; returns how many. */
static size_t rank_by_class(struct scoring *j, size_t problem)
{
    const struct side *x = j->side;
    size_t n = 0;

    ks_class_orders_rank(&x->orders, j->c->problems[problem].class_id, j->place);
    for (uint16_t i = 0; i < x->n; i++)
        if (cell_of(j, problem, i) != KS_NO_CELL)
            j->ranked[n++] = (struct ranked){ j->place[x->instance_of[i]], i };
    return n;
}

static void rank(struct scoring *j, size_t problem, const float *scores, bool is_outside)
{
    size_t n;

    j->side = &j->sides[j->s->losses.fold[problem]];
    n = is_outside ? 0 : rank_listed(j, problem, scores);
    if (n == 0)
        n = rank_by_class(j, problem);
    qsort(j->ranked, n, sizeof(*j->ranked), by_score);
    set_eff(j, problem, n);
}

static void sum_up(struct scoring *j, struct ks_selector_line *out)
{
    const size_t n = j->c->n_problems;

    *out = (struct ks_selector_line){ .n = n };
    for (int k = 0; k < 3; k++) {
        for (size_t p = 0; p < n; p++)
            out->mean[k] += j->eff[k][p];
        out->mean[k] /= (double)n;
        ks_stats_sort(j->eff[k], n);
        out->p10[k] = ks_stats_quantile(j->eff[k], n, 0.1);
    }
}

int ks_selector_score(const struct ks_selector *s, const struct ks_cells *c, const float *scores,
                      const bool *is_outside, bool with_table, struct ks_selector_line *line_out,
                      struct ks_err *err)
{
    struct scoring j;
    int rc = scoring_init(&j, s, c, err);

    if (rc == 0)
        rc = make_sides(&j, with_table, err);
    for (size_t p = 0; rc == 0 && p < c->n_problems; p++)
        rank(&j, p, scores, is_outside[p]);
    if (rc == 0)
        sum_up(&j, line_out);
    scoring_release(&j);
    return rc;
}

static void try_problem(struct scoring *j, size_t problem, uint8_t *mask)
{
    struct ks_sel_pick picks[4];
    int rule, n;

    for (uint16_t i = 0; mask && i < j->s->model.n_instances; i++)
        mask[i] = cell_of(j, problem, i) != KS_NO_CELL;
    n = ks_selector_pick(j->s, &j->c->problems[problem].problem, mask, picks, 4, &rule);
    for (int k = 0; k < n; k++)
        j->ranked[k].candidate = (uint16_t)picks[k].instance;
    set_eff(j, problem, (size_t)n);
}

int ks_selector_try(const struct ks_selector *s, const struct ks_cells *c, bool among_measured,
                    struct ks_selector_line *line_out, struct ks_err *err)
{
    struct scoring j;
    struct side own = { 0 };
    uint8_t *mask = among_measured ? malloc(s->model.n_instances + 1u) : NULL;
    int rc = scoring_init(&j, s, c, err);

    if (rc == 0 && among_measured && !mask)
        rc = no_memory(err);
    if (rc == 0)
        rc = side_init(&own, &j, err);
    j.side = &own;
    for (size_t p = 0; rc == 0 && p < c->n_problems; p++)
        try_problem(&j, p, mask);
    if (rc == 0)
        sum_up(&j, line_out);
    free(mask);
    side_release(&own);
    scoring_release(&j);
    return rc;
}
