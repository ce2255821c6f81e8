/* SPDX-License-Identifier: MIT */
/* distill.c - grows decision tables on regret: which candidates, by quantities of the problem */
#include "analysis/model/distill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUTS  64 /* places per quantity where a node may be split */
#define ALIKE 1  /* weight of likeness beside the loss */

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for a decision table");
}

/* ---- losses ---- */

void ks_losses_release(struct ks_losses *l)
{
    free(l->q);
    free(l->loss);
    free(l->fold);
    *l = (struct ks_losses){ 0 };
}

static void set_losses(struct ks_losses *l, const struct ks_cells *c, size_t p,
                       const uint32_t *instance_of)
{
    const struct ks_cell_problem *x = &c->problems[p];
    const struct ks_fx_problem fx = ks_feature_problem(&x->problem);

    ks_fx_quantities(&fx, l->q + p * KS_FX_N_QUANTITIES);
    for (size_t i = 0; i < l->n_candidates; i++) {
        const size_t cell =
            instance_of[i] == UINT32_MAX ? KS_NO_CELL : ks_cells_at(c, (uint32_t)p, instance_of[i]);

        l->loss[p * l->n_candidates + i] =
            cell == KS_NO_CELL ? 1
                               : (float)(1 - c->cells[x->best].time_ns / c->cells[cell].time_ns);
    }
}

int ks_losses_init(struct ks_losses *l_out, const struct ks_cells *c,
                   const struct ks_feature_spec *s, const uint32_t *candidates, size_t n,
                   const uint8_t *fold, struct ks_err *err)
{
    struct ks_losses l = { .n_problems = c->n_problems, .n_candidates = n };
    uint32_t *instance_of = malloc((n + 1) * sizeof(*instance_of));

    l.q = malloc((l.n_problems * KS_FX_N_QUANTITIES + 1) * sizeof(*l.q));
    l.loss = malloc((l.n_problems * n + 1) * sizeof(*l.loss));
    l.fold = calloc(l.n_problems + 1, 1);
    if (!instance_of || !l.q || !l.loss || !l.fold || l.n_problems == 0 || n == 0) {
        free(instance_of);
        ks_losses_release(&l);
        return c->n_problems && n ? no_memory(err)
                                  : ks_fail(err, KS_EINVAL, "no problem to learn a table from");
    }
    for (size_t i = 0; i < n; i++)
        instance_of[i] = ks_cells_find_instance(c, s->instances[candidates[i]].id);
    for (size_t p = 0; p < l.n_problems; p++) {
        l.fold[p] = fold ? fold[p] : (uint8_t)(p % 5);
        l.n_folds = l.fold[p] >= l.n_folds ? l.fold[p] + 1u : l.n_folds;
        set_losses(&l, c, p, instance_of);
    }
    free(instance_of);
    *l_out = l;
    return 0;
}

/* ---- growing a table ---- */

/* A problem with the value that it is sorted by. */
struct item {
    double v;
    uint32_t problem;
};
struct grow {
    const struct ks_losses *l;
    const struct ks_distill_options *options;
    struct ks_distilled *t;
    struct item *items;           /* [n_problems] scratch */
    double *all, *left, *covered; /* [n_candidates], the last [n_problems] */
    double min_gain;
    struct ks_err *err;
};
struct cut {
    int quantity;
    double at, loss;
};

static int by_value(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->v < y->v || x->v > y->v)
        return x->v < y->v ? -1 : 1;
    return (x->problem > y->problem) - (x->problem < y->problem);
}

static const float *losses_of(const struct ks_losses *l, uint32_t problem)
{
    return l->loss + problem * l->n_candidates;
}

static void add_losses(const struct ks_losses *l, uint32_t problem, double *sum)
{
    const float *loss = losses_of(l, problem);

    for (size_t i = 0; i < l->n_candidates; i++)
        sum[i] += (double)loss[i];
}

/* What the best single candidate loses on a side, and a part of how much the problems of the side
 * differ (the sum of squares that their mean leaves, per candidate): a split that only makes the
 * sides more alike is what later splits need. all, left: sums of losses; all NULL: the left side
 * itself. */
static double side_loss(const double *all, const double *left, size_t n_candidates, size_t n)
{
    double least = (double)n, squares = 0;

    for (size_t i = 0; i < n_candidates; i++) {
        const double x = all ? all[i] - left[i] : left[i];

        least = x < least ? x : least;
        squares += x * x;
    }
    return least - ALIKE * squares / ((double)n * (double)n_candidates);
}

/* The best place to split the node's problems by one quantity. */
static void try_quantity(struct grow *g, const uint32_t *problems, size_t n, int quantity,
                         struct cut *best)
{
    const struct ks_losses *l = g->l;
    const size_t step = n / CUTS + 1, edge = g->options->min_problems;
    size_t wait = 0;

    for (size_t i = 0; i < n; i++)
        g->items[i] =
            (struct item){ l->q[problems[i] * KS_FX_N_QUANTITIES + (size_t)quantity], problems[i] };
    qsort(g->items, n, sizeof(*g->items), by_value);
    if (isnan(g->items[0].v) || isnan(g->items[n - 1].v) || g->items[0].v >= g->items[n - 1].v)
        return;
    memset(g->left, 0, l->n_candidates * sizeof(*g->left));
    for (size_t i = 0; i + edge < n; i++) {
        double loss;

        add_losses(l, g->items[i].problem, g->left);
        if (i + 1 < edge || g->items[i].v >= g->items[i + 1].v || wait++ % step != 0)
            continue;
        loss = side_loss(NULL, g->left, l->n_candidates, i + 1) +
               side_loss(g->all, g->left, l->n_candidates, n - i - 1);
        if (loss < best->loss)
            *best = (struct cut){ quantity, (g->items[i].v + g->items[i + 1].v) / 2, loss };
    }
}

/* Dimensions and what follows from them, up to the flags. */
static struct cut find_cut(struct grow *g, const uint32_t *problems, size_t n)
{
    struct cut best = { -1, 0, 0 };

    memset(g->all, 0, g->l->n_candidates * sizeof(*g->all));
    for (size_t i = 0; i < n; i++)
        add_losses(g->l, problems[i], g->all);
    best.loss = side_loss(NULL, g->all, g->l->n_candidates, n) - g->min_gain;
    for (int k = 0; k < KS_FX_N_QUANTITIES; k++)
        try_quantity(g, problems, n, k, &best);
    return best;
}

/* The candidate that lessens the loss of the best of the list most. */
static size_t next_candidate(struct grow *g, const uint32_t *problems, size_t n)
{
    const struct ks_losses *l = g->l;
    size_t best = 0;

    memset(g->all, 0, l->n_candidates * sizeof(*g->all));
    for (size_t i = 0; i < n; i++) {
        const float *loss = losses_of(l, problems[i]);
        const double now = g->covered[problems[i]];

        for (size_t k = 0; k < l->n_candidates; k++)
            g->all[k] += (double)loss[k] < now ? (double)loss[k] : now;
    }
    for (size_t k = 1; k < l->n_candidates; k++)
        best = g->all[k] < g->all[best] ? k : best;
    return best;
}

static void cover(struct grow *g, const uint32_t *problems, size_t n, size_t candidate)
{
    for (size_t i = 0; i < n; i++) {
        const double loss = (double)losses_of(g->l, problems[i])[candidate];

        if (loss < g->covered[problems[i]])
            g->covered[problems[i]] = loss;
    }
}

static bool has_candidate(const uint16_t *list, uint16_t n, size_t candidate)
{
    for (uint16_t i = 0; i < n; i++)
        if (list[i] == candidate)
            return true;
    return false;
}

static int put_leaf(struct grow *g, size_t at, const uint32_t *problems, size_t n)
{
    struct ks_distilled *t = g->t;
    uint16_t *lists = realloc(t->lists, (t->n_lists + 1) * t->width * sizeof(*lists)), *list;

    if (!lists)
        return no_memory(g->err);
    t->lists = lists;
    list = lists + t->n_lists * t->width;
    for (size_t i = 0; i < n; i++)
        g->covered[problems[i]] = 1;
    for (uint16_t k = 0; k < t->width; k++) {
        const size_t next = next_candidate(g, problems, n);

        list[k] = has_candidate(list, k, next) ? KS_SEL_NONE : (uint16_t)next;
        cover(g, problems, n, next);
    }
    t->best[at] = list[0];
    t->splits[at] = (struct ks_sel_split){ 0, -1, (uint16_t)t->n_lists++ };
    return 0;
}

/* problems: [n], reordered. */
static size_t part(const struct ks_losses *l, uint32_t *problems, size_t n, const struct cut *c)
{
    size_t n_left = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t p = problems[i];

        if (!(l->q[p * KS_FX_N_QUANTITIES + (size_t)c->quantity] <= c->at))
            continue;
        problems[i] = problems[n_left];
        problems[n_left++] = p;
    }
    return n_left;
}

static int add_children(struct ks_distilled *t, struct ks_err *err)
{
    struct ks_sel_split *more = realloc(t->splits, (t->n_splits + 2) * sizeof(*more));
    uint16_t *best;

    t->splits = more ? more : t->splits;
    best = realloc(t->best, (t->n_splits + 2) * sizeof(*best));
    t->best = best ? best : t->best;
    if (!more || !best || t->n_splits + 2 > KS_SEL_NONE)
        return no_memory(err);
    t->n_splits += 2;
    return 0;
}

/* g->all: sums of the node's losses, as find_cut() leaves them. */
static uint16_t best_single(const struct grow *g)
{
    size_t best = 0;

    for (size_t k = 1; k < g->l->n_candidates; k++)
        best = g->all[k] < g->all[best] ? k : best;
    return (uint16_t)best;
}

static int grow_node(struct grow *g, size_t at, uint32_t *problems, size_t n, uint32_t depth)
{
    struct cut c = { -1, 0, 0 };
    size_t n_left, child;
    int rc;

    if (depth > 0 && n >= 2 * (size_t)g->options->min_problems)
        c = find_cut(g, problems, n);
    if (c.quantity < 0)
        return put_leaf(g, at, problems, n);
    g->t->best[at] = best_single(g);
    child = g->t->n_splits;
    rc = add_children(g->t, g->err);
    if (rc < 0)
        return rc;
    g->t->splits[at] = (struct ks_sel_split){ c.at, (int16_t)c.quantity, (uint16_t)child };
    n_left = part(g->l, problems, n, &c);
    rc = grow_node(g, child, problems, n_left, depth - 1);
    return rc == 0 ? grow_node(g, child + 1, problems + n_left, n - n_left, depth - 1) : rc;
}

void ks_distilled_release(struct ks_distilled *t)
{
    free(t->splits);
    free(t->lists);
    free(t->best);
    *t = (struct ks_distilled){ 0 };
}

static int grow_table(struct grow *g, uint32_t *problems, size_t n)
{
    const size_t n_all = g->l->n_problems;

    g->items = malloc(n_all * sizeof(*g->items));
    g->all = malloc(g->l->n_candidates * sizeof(*g->all));
    g->left = malloc(g->l->n_candidates * sizeof(*g->left));
    g->covered = malloc(n_all * sizeof(*g->covered));
    g->t->splits = calloc(1, sizeof(*g->t->splits));
    g->t->best = calloc(1, sizeof(*g->t->best));
    g->t->n_splits = 1;
    if (!g->items || !g->all || !g->left || !g->covered || !g->t->splits || !g->t->best)
        return no_memory(g->err);
    return grow_node(g, 0, problems, n, g->options->depth);
}

int ks_distill(const struct ks_losses *l, uint64_t without,
               const struct ks_distill_options *options, struct ks_distilled *table_out,
               struct ks_err *err)
{
    struct ks_distilled t = { .width = options->width };
    struct grow g = { .l = l, .options = options, .t = &t, .err = err };
    uint32_t *problems = malloc(l->n_problems * sizeof(*problems));
    size_t n = 0;
    int rc;

    for (uint32_t p = 0; problems && p < l->n_problems; p++)
        if (!(without & KS_FOLD_BIT(l->fold[p])))
            problems[n++] = p;
    g.min_gain = 2e-4 * (double)n;
    rc = !problems ? no_memory(err)
         : n == 0  ? ks_fail(err, KS_EINVAL, "no problem to learn a table from")
                   : grow_table(&g, problems, n);
    free(g.items);
    free(g.all);
    free(g.left);
    free(g.covered);
    free(problems);
    if (rc < 0)
        ks_distilled_release(&t);
    else
        *table_out = t;
    return rc;
}

const uint16_t *ks_distilled_list(const struct ks_distilled *t, const double *q)
{
    size_t at = 0;

    while (t->splits[at].quantity >= 0)
        at = (size_t)t->splits[at].left + !(q[t->splits[at].quantity] <= t->splits[at].at);
    return t->lists + (size_t)t->splits[at].left * t->width;
}
