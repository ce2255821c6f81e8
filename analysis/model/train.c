/* SPDX-License-Identifier: MIT */
#include "analysis/model/train.h"
#include "analysis/model/search.h"
#include "grid/problem_class.h"

#include <math.h>
#include <stdlib.h>

struct run {
    const struct ks_fit_input *in;
    const struct ks_train_options *options;
    struct ks_trained *t;
    bool *is_training, *is_held, *is_judge; /* [n_problems] */
};

static void tell(const struct run *r, const char *phase, double done)
{
    if (r->options->progress)
        r->options->progress(r->options->ctx, phase, done);
}

/* ---- outer folds ---- */

static int score_fold(const struct run *r, const struct ks_fit *f,
                      const struct ks_featurizer *features, struct ks_err *err)
{
    const struct ks_cells *c = r->in->cells;
    struct ks_choosers others = { 0 };
    int rc = ks_score_problems(f->booster, features, c, r->is_held, r->t->picks[KS_BY_MODEL],
                               r->t->scores, err);

    if (rc == 0)
        rc = ks_choosers_fit(&others, c, r->is_training, features, r->in->seed, err);
    if (rc == 0 && !ks_choosers_has_analytic(&others)) {
        free(r->t->picks[KS_BY_ANALYTIC]);
        r->t->picks[KS_BY_ANALYTIC] = NULL;
    }
    if (rc == 0)
        rc = ks_choosers_pick(&others, r->is_held, r->t->picks, err);
    ks_choosers_release(&others);
    return rc;
}

static int one_fold(const struct run *r, uint32_t i, struct ks_err *err)
{
    const struct ks_tried *chosen = &r->t->chosen[i];
    const struct ks_setting *settings;
    struct ks_featurizer features;
    struct ks_fit f;
    int rc;

    ks_settings(&settings);
    for (size_t p = 0; p < r->in->cells->n_problems; p++) {
        r->is_held[p] = r->t->fold[p] == i;
        r->is_training[p] = !r->is_held[p];
    }
    rc = ks_fit_whole(&f, r->in, &settings[chosen->setting], r->is_training, chosen->rounds,
                      &features, err);
    if (rc < 0)
        return rc;
    rc = score_fold(r, &f, &features, err);
    ks_fit_end(&f);
    r->in->source->release(&features);
    return rc;
}

/* More problems than the search had bear more trees: by the root of their ratio. */
static struct ks_tried scaled(const struct run *r, struct ks_tried t)
{
    double n_all = (double)r->in->cells->n_problems, n = (double)r->options->search_problems;

    if (n > 0 && n < n_all)
        t.rounds = (uint32_t)ceil(t.rounds * sqrt(n_all / n));
    return t;
}

static int outer_folds(const struct run *r, const struct ks_search *s, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < r->options->n_folds; i++) {
        r->t->chosen[i] = scaled(r, ks_search_choose(s, i));
        rc = one_fold(r, i, err);
        tell(r, "cross-validating", (i + 1.0) / r->options->n_folds);
    }
    return rc;
}

/* ---- one class left out ---- */

/* Of the other classes fold 0 tells when to stop, so nothing of the class is seen. */
static void split_off(const struct run *r, uint32_t class_id)
{
    for (size_t p = 0; p < r->in->cells->n_problems; p++) {
        bool is_class = r->in->cells->problems[p].class_id == class_id;

        r->is_held[p] = is_class;
        r->is_judge[p] = !is_class && r->t->fold[p] == 0;
        r->is_training[p] = !is_class && r->t->fold[p] != 0;
    }
}

static size_t count(const bool *is_in, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += is_in[i];
    return sum;
}

/* The round at which the judges lose least; grown again from the start. */
static int grow_judged(const struct run *r, const struct ks_featurizer *features,
                       struct ks_booster **b_out, struct ks_fit *f, struct ks_err *err)
{
    const struct ks_setting *settings;
    struct ks_fit_rows train = { 0 }, judges = { 0 };
    const struct ks_fit_rows *const watched[] = { &judges };
    uint32_t best = 1, n_max = r->options->max_rounds;
    double least = INFINITY;
    int rc = ks_fit_rows_make(r->in->cells, features, r->is_training, r->in->use_lost, &train, err);

    ks_settings(&settings);
    if (rc == 0)
        rc = ks_fit_rows_make(r->in->cells, features, r->is_judge, false, &judges, err);
    if (rc == 0)
        rc = ks_fit_begin(f, r->in, &settings[0], features, &train, watched, 1, err);
    for (uint32_t i = 1; rc == 0 && i <= n_max && i < best + r->options->patience; i++) {
        const float *scores = NULL;
        double loss = INFINITY;

        rc = ks_fit_rounds(f, 1, err);
        if (rc == 0)
            rc = ks_booster_watch(f->booster, 0, &scores, err);
        if (rc == 0)
            loss = ks_fit_rows_loss(r->in->cells, &judges, scores);
        best = loss < least ? i : best;
        least = loss < least ? loss : least;
    }
    ks_fit_end(f);
    if (rc == 0)
        rc = ks_fit_begin(f, r->in, &settings[0], features, &train, NULL, 0, err);
    if (rc == 0)
        rc = ks_fit_rounds(f, best, err);
    *b_out = f->booster;
    ks_fit_rows_release(&train);
    ks_fit_rows_release(&judges);
    return rc;
}

static int one_class(const struct run *r, uint32_t class_id, struct ks_err *err)
{
    const struct ks_cells *c = r->in->cells;
    struct ks_featurizer features;
    struct ks_booster *b = NULL;
    struct ks_fit f = { 0 };
    int rc;

    split_off(r, class_id);
    if (count(r->is_held, c->n_problems) == 0 || count(r->is_training, c->n_problems) == 0 ||
        count(r->is_judge, c->n_problems) == 0)
        return 0;
    rc = r->in->source->fit(r->in->source->ctx, c, r->is_training, &features, err);
    if (rc < 0)
        return rc;
    rc = grow_judged(r, &features, &b, &f, err);
    if (rc == 0)
        rc = ks_score_problems(b, &features, c, r->is_held, r->t->class_picks, NULL, err);
    for (size_t p = 0; rc == 0 && p < c->n_problems; p++)
        r->t->has_class_pick[p] = r->t->has_class_pick[p] || r->is_held[p];
    r->t->has_classes = true;
    ks_fit_end(&f);
    r->in->source->release(&features);
    return rc;
}

static int class_folds(const struct run *r, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < KS_N_PROBLEM_CLASSES; i++) {
        rc = one_class(r, i, err);
        tell(r, "leaving classes out", (i + 1.0) / KS_N_PROBLEM_CLASSES);
    }
    return rc;
}

/* ---- all of it ---- */

static int last_model(const struct run *r, struct ks_err *err)
{
    struct ks_trained *t = r->t;
    const struct ks_setting *settings;
    int rc;

    ks_settings(&settings);
    for (size_t p = 0; p < r->in->cells->n_problems; p++)
        r->is_training[p] = true;
    rc = ks_fit_whole(&t->fit, r->in, &settings[t->last.setting], r->is_training, t->last.rounds,
                      &t->features, err);
    tell(r, "fitting the model", 1);
    return rc;
}

static int train(const struct run *r, struct ks_err *err)
{
    struct ks_search s = { 0 };
    struct ks_trained *t = r->t;
    int rc = ks_folds_grouped(r->in->cells, r->options->n_folds, r->in->seed, t->fold, err);

    if (rc == 0)
        rc = ks_search_run(&s, r->in, r->options, t->fold, err);
    if (rc == 0)
        rc = outer_folds(r, &s, err);
    if (rc == 0 && r->options->has_class_folds)
        rc = class_folds(r, err);
    if (rc == 0) {
        for (uint32_t k = 0; k < s.n_settings; k++)
            t->tried[k] = ks_search_judge(&s, k, KS_ALL_FOLDS);
        t->n_tried = s.n_settings;
        t->is_cut = s.is_cut;
        t->last = scaled(r, ks_search_choose(&s, KS_ALL_FOLDS));
        rc = last_model(r, err);
    }
    ks_search_release(&s);
    return rc;
}

static int reserve(struct ks_trained *t, const struct ks_cells *c, struct ks_err *err)
{
    bool is_fine;

    t->fold = calloc(c->n_problems + 1, sizeof(*t->fold));
    t->class_picks = calloc(c->n_problems + 1, sizeof(*t->class_picks));
    t->has_class_pick = calloc(c->n_problems + 1, sizeof(*t->has_class_pick));
    t->scores = calloc(c->n + 1, sizeof(*t->scores));
    is_fine = t->fold && t->class_picks && t->has_class_pick && t->scores;
    for (int i = 0; i < KS_N_CHOOSERS; i++) {
        if (i == KS_BY_CEILING)
            continue;
        t->picks[i] = calloc(c->n_problems + 1, sizeof(*t->picks[i]));
        is_fine = is_fine && t->picks[i];
    }
    return is_fine ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);
}

int ks_train(const struct ks_fit_input *in, const struct ks_train_options *options,
             struct ks_trained *t_out, struct ks_err *err)
{
    size_t n = in->cells->n_problems;
    struct run r = { in, options, t_out, malloc(n + 1), malloc(n + 1), malloc(n + 1) };
    int rc = 0;

    *t_out = (struct ks_trained){ 0 };
    if (options->n_folds < 3 || options->n_settings == 0 || options->n_settings > KS_MAX_SETTINGS)
        rc = ks_fail(err, KS_EINVAL, "training wants 3 folds or more and a setting to try");
    else if (options->search_problems && options->search_problems < options->n_folds)
        rc = ks_fail(err, KS_EINVAL,
                     "settings are to be chosen on %zu problems in %u folds; allow at least one "
                     "per fold (--search-problems)",
                     options->search_problems, options->n_folds);
    else if (!r.is_training || !r.is_held || !r.is_judge)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);
    if (rc == 0)
        rc = reserve(t_out, in->cells, err);
    if (rc == 0)
        rc = train(&r, err);
    free(r.is_training);
    free(r.is_held);
    free(r.is_judge);
    return rc;
}

void ks_trained_release(struct ks_trained *t, const struct ks_feature_source *source)
{
    if (t->fit.booster)
        source->release(&t->features);
    ks_fit_end(&t->fit);
    for (int i = 0; i < KS_N_CHOOSERS; i++)
        free(t->picks[i]);
    free(t->fold);
    free(t->class_picks);
    free(t->has_class_pick);
    free(t->scores);
    *t = (struct ks_trained){ 0 };
}
