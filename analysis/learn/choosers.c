/* SPDX-License-Identifier: MIT */
/* choosers.c - fits the baselines to training problems; scores one problem by each chooser */
#include "analysis/learn/choosers.h"

#include <stdlib.h>
#include <string.h>

int ks_choosers_fit(struct ks_choosers *out, const struct ks_cells *c, const bool *is_training,
                    const struct ks_featurizer *features, uint64_t seed, struct ks_err *err)
{
    struct ks_choosers ch = { .cells = c, .features = features, .seed = seed };
    int rc = ks_orders_fit(&ch.orders, c, is_training, err);

    if (rc == 0)
        rc = ks_neighbours_create(&ch.neighbours, c, is_training, err);
    if (rc < 0)
        ks_choosers_release(&ch);
    else
        *out = ch;
    return rc;
}

void ks_choosers_release(struct ks_choosers *ch)
{
    ks_orders_release(&ch->orders);
    ks_neighbours_destroy(ch->neighbours);
    *ch = (struct ks_choosers){ 0 };
}

bool ks_choosers_has_analytic(const struct ks_choosers *ch)
{
    return ch->features && ch->features->analytic != SIZE_MAX;
}

/* row: [n_cols] scratch. */
static void analytic(const struct ks_choosers *ch, uint32_t problem, float *row, double *scores)
{
    const struct ks_featurizer *f = ch->features;

    for (uint32_t i = 0; i < ch->cells->n_instances; i++) {
        f->fill(f->ctx, problem, i, row);
        scores[i] = row[f->analytic];
    }
}

/* Scores of one chooser; false: it has none. */
static bool score(const struct ks_choosers *ch, enum ks_chooser by, uint32_t problem, float *row,
                  double *scores)
{
    static const int orders[KS_N_CHOOSERS] = {
        [KS_BY_FIXED] = KS_ORDER_FIXED, [KS_BY_WINS] = KS_ORDER_WINS
    };
    const struct ks_problem *p = &ch->cells->problems[problem].problem;
    const struct ks_orders *o = &ch->orders;
    uint32_t order = by == KS_BY_ORDER ? o->best : (uint32_t)orders[by];

    switch (by) {
    case KS_BY_FIXED:
    case KS_BY_WINS:
    case KS_BY_ORDER:
        memcpy(scores, o->place[order], o->n_instances * sizeof(*scores));
        return true;
    case KS_BY_NEIGHBOURS:
        ks_neighbours_score(ch->neighbours, p, o->place[o->best], scores);
        return true;
    case KS_BY_ANALYTIC:
        if (!ks_choosers_has_analytic(ch))
            return false;
        analytic(ch, problem, row, scores);
        return true;
    case KS_BY_RANDOM:
        ks_random_scores(p->id, ch->seed, o->n_instances, scores);
        return true;
    default:
        return false;
    }
}

int ks_choosers_pick(const struct ks_choosers *ch, const bool *is_wanted,
                     struct ks_pick *const *picks_out, struct ks_err *err)
{
    const struct ks_cells *c = ch->cells;
    size_t n_cols = ch->features ? ch->features->n_cols : 0;
    double *scores = malloc((c->n_instances + 1) * sizeof(*scores));
    float *row = malloc((n_cols + 1) * sizeof(*row));
    int rc = 0;

    if (!scores || !row)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu instances", c->n_instances);
    for (uint32_t by = 0; rc == 0 && by < KS_N_CHOOSERS; by++)
        for (uint32_t i = 0; picks_out[by] && i < c->n_problems; i++)
            if (is_wanted[i] && score(ch, (enum ks_chooser)by, i, row, scores))
                ks_pick(c, i, scores, &picks_out[by][i]);
    free(scores);
    free(row);
    return rc;
}
