/* SPDX-License-Identifier: MIT */
/* selector.c - chooses a selector's candidates, decision table and trees, and picks as it will */
#include "analysis/model/selector.h"
#include "analysis/learn/class_order.h"
#include "analysis/learn/objective.h"
#include "analysis/learn/pick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_WIDTH 16
enum { MOST_DOMAINS = 64 };

_Static_assert((int)KS_FX_N_CLASSES == (int)KS_N_PROBLEM_CLASSES,
               "feature_core.h has the same classes");

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for a selector");
}

void ks_selector_release(struct ks_selector *s)
{
    free(s->index);
    free(s->order);
    free(s->class_orders);
    free(s->values);
    free(s->instances);
    free(s->from);
    free(s->measured);
    free(s->smallest);
    free(s->smallest_loss);
    ks_forest_release(&s->forest);
    ks_distilled_release(&s->table);
    ks_losses_release(&s->losses);
    *s = (struct ks_selector){ 0 };
}

static int meaning_of(uint32_t target)
{
    switch (target) {
    case KS_TARGET_LOG_TIME:
    case KS_TARGET_LOG_RATE:
        return KS_SEL_LOG;
    case KS_TARGET_LOSS:
        return KS_SEL_LOSS;
    default:
        return KS_SEL_ORDER;
    }
}

/* ---- candidates ---- */

/* The instances of the specification that some training problem has a time of: others may be of
 * problems that were filtered out, or never work. */
static uint32_t list_measured(struct ks_selector *s, const struct ks_cells *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->spec->n_instances; i++)
        if (ks_cells_find_instance(c, s->spec->instances[i].id) != UINT32_MAX)
            s->measured[n++] = i;
    return n;
}

/* All of them, or the smallest set. */
static int choose_candidates(struct ks_selector *s, const struct ks_cells *c, const uint8_t *fold,
                             uint32_t most, struct ks_err *err)
{
    struct ks_losses l = { 0 };
    uint32_t n;
    int rc;

    s->from = malloc((s->spec->n_instances + 1) * sizeof(*s->from));
    s->measured = malloc((s->spec->n_instances + 1) * sizeof(*s->measured));
    if (!s->from || !s->measured)
        return no_memory(err);
    n = s->n_measured = list_measured(s, c);
    s->n_wanted = most < n ? most : n;
    memcpy(s->from, s->measured, n * sizeof(*s->from));
    if (n == 0)
        return ks_fail(err, KS_EINVAL,
                       "feature_spec.json has none of the instances of the training data: the "
                       "files belong to different models");
    s->model.n_instances = (uint16_t)n;
    if (!most)
        return 0;
    s->smallest = malloc(most * sizeof(*s->smallest));
    s->smallest_loss = malloc(most * sizeof(*s->smallest_loss));
    rc = s->smallest && s->smallest_loss ? ks_losses_init(&l, c, s->spec, s->from, n, fold, err)
                                         : no_memory(err);
    if (rc == 0)
        rc = ks_losses_smallest(&l, 0, KS_SEL_ENOUGH, s->n_wanted, s->smallest, s->smallest_loss,
                                err);
    ks_losses_release(&l);
    if (rc < 0)
        return rc;
    s->n_smallest = (uint32_t)rc;
    for (int i = 0; i < rc; i++)
        s->smallest[i] = (uint16_t)s->from[s->smallest[i]];
    for (int i = 0; i < rc; i++)
        s->from[i] = s->smallest[i];
    s->model.n_instances = (uint16_t)rc;
    return 0;
}

static int set_candidates(struct ks_selector *s, struct ks_err *err)
{
    struct ks_sel_model *m = &s->model;
    const struct ks_feature_spec *spec = s->spec;

    s->index = malloc((spec->n_features + 1) * sizeof(*s->index));
    s->values = malloc((m->n_instances * spec->n_values + 1u) * sizeof(*s->values));
    s->instances = malloc((m->n_instances + 1u) * sizeof(*s->instances));
    s->order = malloc((m->n_instances + 1u) * sizeof(*s->order));
    s->class_orders = malloc(KS_SEL_CLASS_ENTRIES * sizeof(*s->class_orders));
    if (!s->index || !s->values || !s->instances || !s->order || !s->class_orders)
        return no_memory(err);
    for (size_t i = 0; i < spec->n_features; i++)
        s->index[i] = (uint16_t)spec->features[i].index;
    for (size_t i = 0; i < m->n_instances; i++) {
        const struct ks_feature_instance *x = &spec->instances[s->from[i]];

        s->instances[i] = x->fx;
        for (size_t k = 0; k < spec->n_values; k++)
            s->values[i * spec->n_values + k] = (float)x->value[k];
    }
    return 0;
}

/* ---- static orders ---- */

/* order: instances of the cells. Candidates only. */
static void put_order(const uint32_t *order, size_t n, const uint16_t *candidate_of, uint16_t *to)
{
    size_t n_put = 0;

    for (size_t i = 0; i < n; i++)
        if (candidate_of[order[i]] != KS_SEL_NONE)
            to[n_put++] = candidate_of[order[i]];
}

/* The instances of an order by their domain. */
struct domains {
    const struct ks_fx_instance *first[MOST_DOMAINS];
    size_t n_of[MOST_DOMAINS];
    size_t n;
};

/* Where there are more than fit, the last one has all others. */
static size_t domain_of(struct domains *d, const struct ks_fx_instance *x)
{
    size_t i = 0;

    while (i < d->n && !(d->first[i]->direction == x->direction && d->first[i]->dtype == x->dtype &&
                         d->first[i]->layout == x->layout && d->first[i]->ndim == x->ndim))
        i++;
    if (i == MOST_DOMAINS)
        return i - 1;
    if (i == d->n)
        d->first[d->n++] = x;
    return i;
}

/* What an order has of its own: [n] instances of the cells, of which at most `room` are kept.
 * Returns how many. */
static uint32_t put_own(const struct ks_selector *s, const uint32_t *order, size_t n, size_t room,
                        const uint16_t *candidate_of, uint16_t *to)
{
    struct domains d = { .n = 0 };
    size_t n_all = 0, most;
    uint32_t n_put = 0;

    for (size_t i = 0; i < n; i++) {
        if (candidate_of[order[i]] == KS_SEL_NONE)
            continue;
        domain_of(&d, &s->instances[candidate_of[order[i]]]);
        n_all++;
    }
    most = n_all <= room ? n_all : room / d.n;
    for (size_t i = 0; i < n; i++) {
        const uint16_t candidate = candidate_of[order[i]];

        if (candidate != KS_SEL_NONE && d.n_of[domain_of(&d, &s->instances[candidate])]++ < most)
            to[n_put++] = candidate;
    }
    return n_put;
}

static void put_orders(struct ks_selector *s, const struct ks_class_orders *o,
                       const uint16_t *candidate_of)
{
    size_t n_own = 0;

    put_order(ks_class_orders_of(o, KS_N_PROBLEM_CLASSES), o->n_instances, candidate_of, s->order);
    for (uint32_t k = 0; k < KS_N_PROBLEM_CLASSES; k++)
        n_own += ks_class_orders_has(o, k);
    for (uint32_t k = 0; k < KS_N_PROBLEM_CLASSES; k++) {
        s->class_first[k + 1] = s->class_first[k];
        if (ks_class_orders_has(o, k))
            s->class_first[k + 1] +=
                put_own(s, ks_class_orders_of(o, k), o->n_ranked[k], KS_SEL_CLASS_ENTRIES / n_own,
                        candidate_of, s->class_orders + s->class_first[k]);
    }
}

static int learn_orders(struct ks_selector *s, const struct ks_cells *c, struct ks_err *err)
{
    uint16_t *candidate_of = malloc((c->n_instances + 1) * sizeof(*candidate_of));
    struct ks_class_orders o = { 0 };
    int rc = candidate_of ? ks_class_orders_fit(&o, c, NULL, NULL, err) : no_memory(err);

    for (size_t i = 0; rc == 0 && i < c->n_instances; i++)
        candidate_of[i] = KS_SEL_NONE;
    for (uint16_t i = 0; rc == 0 && i < s->model.n_instances; i++)
        candidate_of[ks_cells_find_instance(c, s->spec->instances[s->from[i]].id)] = i;
    if (rc == 0)
        put_orders(s, &o, candidate_of);
    ks_class_orders_release(&o);
    free(candidate_of);
    return rc;
}

/* ---- table ---- */

static int learn_table(struct ks_selector *s, struct ks_err *err)
{
    struct ks_distill_options *o = &s->table_options;
    int rc;

    *o = (struct ks_distill_options){ .min_problems = 5, .width = TABLE_WIDTH };
    if (o->width > s->losses.n_candidates)
        o->width = (uint16_t)s->losses.n_candidates;
    rc = ks_distill_choose(&s->losses, KS_NO_FOLD, o, err);
    return rc == 0 ? ks_distill(&s->losses, 0, o, &s->table, err) : rc;
}

static int learn(struct ks_selector *s, const struct ks_cells *c, const uint8_t *fold,
                 bool with_table, struct ks_err *err)
{
    int rc = ks_losses_init(&s->losses, c, s->spec, s->from, s->model.n_instances, fold, err);

    if (rc == 0)
        rc = learn_orders(s, c, err);
    return rc == 0 && with_table ? learn_table(s, err) : rc;
}

/* A short list and the first trees. */
static void keep_budget(struct ks_selector *s)
{
    struct ks_sel_model *m = &s->model;
    const uint16_t width = s->table.width < KS_SEL_SHORT ? s->table.width : KS_SEL_SHORT;
    uint32_t depth = 0, n = 0;

    while (n < m->n_trees && (n == 0 || depth + m->trees[n].depth <= KS_SEL_BUDGET))
        depth += m->trees[n++].depth;
    m->n_trees = n;
    for (size_t i = 0; i < s->table.n_lists; i++)
        memmove(s->table.lists + i * width, s->table.lists + i * s->table.width,
                width * sizeof(*s->table.lists));
    s->table.width = width;
    s->table_options.width = width;
}

static void connect(struct ks_selector *s, uint32_t size, uint32_t target)
{
    struct ks_sel_model *m = &s->model;

    m->size = (int32_t)size;
    m->op = (int32_t)s->spec->op;
    m->meaning = meaning_of(target);
    m->n_features = (uint16_t)s->spec->n_features;
    m->n_problem = (uint16_t)s->spec->n_problem;
    m->n_values = (uint16_t)s->spec->n_values;
    m->index = s->index;
    m->values = s->values;
    m->instances = s->instances;
    m->device = s->spec->device;
    ks_feature_limits(s->spec, s->least, s->most);
    m->least = s->least;
    m->most = s->most;
    m->nodes = s->forest.nodes;
    m->trees = s->forest.trees;
    m->n_trees = s->forest.n_trees;
    m->base = s->forest.base;
    m->order = s->order;
    m->class_orders = s->class_orders;
    m->class_first = s->class_first;
    if (size == KS_SEL_BUDGETED)
        keep_budget(s);
    if (size == KS_SEL_FULL)
        return;
    m->splits = s->table.splits;
    m->lists = s->table.lists;
    m->width = s->table.width;
}

int ks_selector_create(const struct ks_feature_spec *spec, struct ks_forest *forest,
                       uint32_t target, const struct ks_cells *cells, const uint8_t *fold,
                       const struct ks_selector_options *options, struct ks_selector *s_out,
                       struct ks_err *err)
{
    int rc;

    *s_out = (struct ks_selector){ .spec = spec };
    if (forest->n_features != spec->n_features)
        return ks_fail(err, KS_EINVAL,
                       "the trees have %u features, feature_spec.json has %zu: the two files "
                       "belong to different models",
                       forest->n_features, spec->n_features);
    if (spec->n_features > KS_SEL_FEATURES || spec->n_instances >= KS_SEL_NONE)
        return ks_fail(err, KS_EINVAL, "a selector can have at most %d features and %d instances",
                       KS_SEL_FEATURES, KS_SEL_NONE - 1);
    rc = choose_candidates(s_out, cells, fold, options->smallest, err);
    if (rc == 0)
        rc = set_candidates(s_out, err);
    if (rc == 0)
        rc = learn(s_out, cells, fold, options->size != KS_SEL_FULL, err);
    if (rc < 0)
        return rc;
    s_out->forest = *forest;
    *forest = (struct ks_forest){ 0 };
    connect(s_out, options->size, target);
    return 0;
}

void ks_selector_calibrate(struct ks_selector *s, const struct ks_cells *c, const float *scores)
{
    double products = 0, squares = 0;

    for (size_t i = 0; i < c->n_problems; i++) {
        const struct ks_cell_problem *p = &c->problems[i];
        const size_t pick = ks_pick_scored(p, scores);

        for (size_t k = p->first; k < p->first + p->n; k++) {
            const double x = (double)scores[k] - (double)scores[pick];

            if (isnan(x))
                continue;
            products += x * log(c->cells[k].time_ns / c->cells[pick].time_ns) / (double)p->n;
            squares += x * x / (double)p->n;
        }
    }
    s->model.scale = squares > 0 && products > 0 ? products / squares : 0;
}

int ks_selector_pick(const struct ks_selector *s, const struct ks_problem *p, const uint8_t *mask,
                     struct ks_sel_pick *picks_out, int k, int *rule_out)
{
    const struct ks_fx_problem x = ks_feature_problem(p);

    return ks_sel_select(&s->model, &x, mask, picks_out, k, rule_out);
}
