/* SPDX-License-Identifier: MIT */
/* train.c - trains: outer folds, classes left out, then the model on all problems */
#include "analysis/model/train.h"
#include "analysis/learn/class_order.h"
#include "analysis/model/parallel.h"
#include "analysis/model/search.h"
#include "base/clock.h"
#include "grid/problem_class.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct run {
    const struct ks_fit_input *in;
    struct ks_fit_input each; /* of the folds, which are fitted at the same time */
    const struct ks_train_options *options;
    const struct ks_search *search;
    struct ks_trained *t;
    bool lacks_analytic[KS_MAX_FOLDS];
    size_t n_outside[KS_MAX_FOLDS]; /* problems of the fold outside the range of the others */
    uint64_t started_ns;
    uint64_t phase_ns, end_ns; /* when the phase began, when its trees must be grown; 0: never */
    size_t n_tasks;
    uint32_t n_abreast; /* tasks of the phase at the same time */
    atomic_bool is_cut; /* the time budget ended the growth of some trees */
};

/* What a fit sees: [n_problems] each. */
struct split {
    bool *is_training, *is_held, *is_stop;
};

static int split_init(struct split *s_out, size_t n, struct ks_err *err)
{
    *s_out = (struct split){ malloc(n + 1), malloc(n + 1), malloc(n + 1) };
    return s_out->is_training && s_out->is_held && s_out->is_stop
               ? 0
               : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);
}

static void split_release(struct split *s)
{
    free(s->is_training);
    free(s->is_held);
    free(s->is_stop);
}

static void tell(const struct run *r, const char *phase, double done)
{
    if (r->options->progress)
        r->options->progress(r->options->ctx, phase, done);
}

/* ---- the time budget ---- */

static uint64_t now_ns(void *options)
{
    return ks_train_now_ns(options);
}

uint64_t ks_train_now_ns(const struct ks_train_options *o)
{
    return o->now_ns ? o->now_ns(o->ctx) : ks_now_ns();
}

/* share: of the budget that is used up at its end. */
static void begin_phase(struct run *r, size_t n_tasks, double share)
{
    const double budget_ns = 1e9 * r->options->budget_s;

    r->phase_ns = ks_train_now_ns(r->options);
    r->end_ns = budget_ns > 0 ? r->started_ns + (uint64_t)(share * budget_ns) : 0;
    if (r->end_ns && r->end_ns < r->phase_ns)
        r->end_ns = r->phase_ns;
    r->n_tasks = n_tasks;
    r->n_abreast = ks_parallel_width(n_tasks, r->in->n_threads);
}

/* Of the phase's i-th task: those that run at the same time have the same, the others later ones.
 */
static struct ks_deadline deadline_of(const struct run *r, size_t i)
{
    const size_t n_turns = (r->n_tasks + r->n_abreast - 1) / r->n_abreast;
    const double share = (double)(i / r->n_abreast + 1) / (double)n_turns;
    const double left_ns = (double)(r->end_ns - r->phase_ns);
    struct ks_deadline d = { .now_ns = now_ns, .ctx = (void *)(uintptr_t)r->options };

    if (r->end_ns)
        d.at_ns = r->phase_ns + (uint64_t)(share * left_ns);
    return d;
}

/* ---- fits ---- */

/* Several folds at the same time; with the same number of threads always as many. */
static int all_folds(struct run *r, size_t n, int (*task)(void *, size_t, struct ks_err *),
                     void (*done)(void *, size_t), double share, struct ks_err *err)
{
    const struct ks_parallel p = {
        .n_tasks = n, .n_threads = r->in->n_threads, .ctx = r, .task = task, .done = done
    };

    begin_phase(r, n, share);
    r->each = *r->in;
    r->each.n_threads /= r->n_abreast;
    return ks_parallel_run(&p, err);
}

static struct ks_setting setting_of(const struct ks_tried *t)
{
    const struct ks_setting *settings;
    struct ks_setting s;

    ks_settings(&settings);
    s = settings[t->setting];
    s.depth = t->depth;
    s.leaves = t->leaves;
    return s;
}

/* ---- outer folds ---- */

static int fall_back(struct run *r, uint32_t i, const struct split *s,
                     const struct ks_featurizer *features, struct ks_err *err)
{
    const struct ks_cells *c = r->in->cells;
    const char **outside = calloc(c->n_problems + 1, sizeof(*outside));
    int rc = outside ? ks_fall_back(c, features, s->is_training, r->in->known, s->is_held,
                                    r->t->picks[KS_BY_MODEL], outside, &r->n_outside[i], err)
                     : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);

    for (size_t p = 0; rc == 0 && p < c->n_problems; p++)
        if (s->is_held[p])
            r->t->is_outside[p] = outside[p] != NULL;
    free(outside);
    return rc;
}

static int score_fold(struct run *r, uint32_t i, const struct split *s, const struct ks_fit *f,
                      const struct ks_featurizer *features, struct ks_err *err)
{
    const struct ks_cells *c = r->in->cells;
    struct ks_pick *picks[KS_N_CHOOSERS];
    struct ks_choosers others = { 0 };
    int rc = ks_score_problems(f->booster, features, c, s->is_held, r->t->picks[KS_BY_MODEL],
                               r->t->scores, err);

    if (rc == 0)
        rc = fall_back(r, i, s, features, err);
    if (rc == 0)
        rc = ks_choosers_fit(&others, c, s->is_training, features, r->in->seed, err);
    memcpy(picks, r->t->picks, sizeof(picks));
    r->lacks_analytic[i] = rc == 0 && !ks_choosers_has_analytic(&others);
    if (r->lacks_analytic[i])
        picks[KS_BY_ANALYTIC] = NULL;
    if (rc == 0)
        rc = ks_choosers_pick(&others, s->is_held, picks, err);
    ks_choosers_release(&others);
    return rc;
}

/* Now, not when the directory is written. Saving takes time and memory in each fold, so only what
 * may be too large is saved. */
static int check_size(const struct run *r, const struct ks_tried *t, const struct ks_fit *f,
                      struct ks_err *err)
{
    const uint64_t most = r->options->max_model_bytes ? r->options->max_model_bytes : KS_MODEL_MAX;
    const double start_bytes = r->in->start ? (double)r->in->start->len : 0;
    struct ks_buf json;
    int rc;

    if (start_bytes + 2 * ks_tried_most_bytes(t) <= (double)most)
        return 0;
    ks_buf_init(&json);
    rc = ks_booster_save(f->booster, &json, err);
    if (rc == 0 && json.len > most)
        rc = ks_fail(err, KS_EINVAL,
                     "the model's %u rounds of trees of up to %u levels have %zu bytes as JSON, "
                     "but a model directory can have %llu: allow fewer with --rounds",
                     t->rounds, t->depth, json.len, (unsigned long long)most);
    ks_buf_release(&json);
    return rc;
}

/* t: the setting and its number of trees, less those that the budget does not allow. */
static int fit_whole(struct run *r, const struct ks_fit_input *in, const bool *is_training,
                     const struct ks_deadline *deadline, struct ks_tried *t_io, struct ks_fit *f,
                     struct ks_featurizer *features, struct ks_err *err)
{
    const struct ks_setting setting = setting_of(t_io);
    const uint32_t wanted = t_io->rounds;
    int rc = ks_fit_whole(f, in, &setting, is_training, &t_io->rounds, deadline, features, err);

    if (rc < 0)
        return rc;
    if (t_io->rounds < wanted)
        r->is_cut = true;
    rc = check_size(r, t_io, f, err);
    if (rc < 0) {
        ks_fit_end(f);
        in->source->release(features);
    }
    return rc;
}

static int fit_fold(struct run *r, uint32_t i, const struct split *s, struct ks_err *err)
{
    const struct ks_deadline deadline = deadline_of(r, i);
    struct ks_featurizer features;
    struct ks_fit f;
    int rc;

    for (size_t p = 0; p < r->in->cells->n_problems; p++) {
        s->is_held[p] = r->t->fold[p] == i;
        s->is_training[p] = !s->is_held[p];
    }
    rc = fit_whole(r, &r->each, s->is_training, &deadline, &r->t->chosen[i], &f, &features, err);
    if (rc < 0)
        return rc;
    rc = score_fold(r, i, s, &f, &features, err);
    ks_fit_end(&f);
    r->in->source->release(&features);
    return rc;
}

static struct ks_tried scaled(const struct run *r, struct ks_tried t)
{
    return ks_tried_scaled(t, r->in->cells->n_problems, r->options->search_problems);
}

static int outer_fold(void *ctx, size_t i, struct ks_err *err)
{
    struct run *r = ctx;
    struct split s;
    int rc = split_init(&s, r->in->cells->n_problems, err);

    r->t->chosen[i] = scaled(r, ks_search_choose(r->search, (uint32_t)i));
    if (rc == 0)
        rc = fit_fold(r, (uint32_t)i, &s, err);
    split_release(&s);
    return rc;
}

static void outer_done(void *ctx, size_t n_done)
{
    const struct run *r = ctx;

    tell(r, "cross-validating", (double)n_done / r->options->n_folds);
}

static int outer_folds(struct run *r, struct ks_err *err)
{
    int rc = all_folds(r, r->options->n_folds, outer_fold, outer_done, 0.75, err);
    bool lacks_any = false;

    for (uint32_t i = 0; i < r->options->n_folds; i++) {
        lacks_any = lacks_any || r->lacks_analytic[i];
        r->t->n_outside += r->n_outside[i];
    }
    if (lacks_any) {
        free(r->t->picks[KS_BY_ANALYTIC]);
        r->t->picks[KS_BY_ANALYTIC] = NULL;
    }
    return rc;
}

/* ---- one class left out ---- */

/* With trees as large as those of the outer folds. */
static struct ks_setting first_setting(const struct run *r)
{
    const struct ks_setting *settings;
    struct ks_tried t = { .rounds = r->options->max_rounds };

    ks_settings(&settings);
    t.depth = settings[t.setting].depth;
    t = scaled(r, t);
    return setting_of(&t);
}

/* Of the other classes fold 0 tells when to stop, so nothing of the class is seen. */
static void split_off(const struct run *r, uint32_t class_id, const struct split *s)
{
    for (size_t p = 0; p < r->in->cells->n_problems; p++) {
        bool is_class = r->in->cells->problems[p].class_id == class_id;

        s->is_held[p] = is_class;
        s->is_stop[p] = !is_class && r->t->fold[p] == 0;
        s->is_training[p] = !is_class && r->t->fold[p] != 0;
    }
}

static size_t count(const bool *is_in, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += is_in[i];
    return sum;
}

/* Trees up to the round at which the problems kept for stopping lose least. */
static int grow_until_worse(struct run *r, const struct split *s,
                            const struct ks_featurizer *features,
                            const struct ks_deadline *deadline, struct ks_fit *f,
                            struct ks_err *err)
{
    const struct ks_cells *c = r->in->cells;
    const struct ks_setting setting = first_setting(r);
    struct ks_fit_rows train = { 0 }, stop = { 0 };
    const struct ks_fit_rows *const watched[] = { &stop };
    uint32_t best = 1, n_max = r->options->max_rounds;
    double least = INFINITY;
    int rc = ks_fit_rows_make(c, features, s->is_training, r->in->use_lost, &train, err);

    if (rc == 0)
        rc = ks_fit_rows_make(c, features, s->is_stop, false, &stop, err);
    if (rc == 0)
        rc = ks_fit_begin(f, &r->each, &setting, features, &train, watched, 1, err);
    for (uint32_t i = 1; rc == 0 && i <= n_max && i < best + r->options->patience; i++) {
        const float *scores = NULL;
        double loss = INFINITY;

        if (i > 1 && ks_deadline_is_over(deadline)) {
            r->is_cut = true;
            break;
        }
        rc = ks_fit_rounds(f, 1, err);
        if (rc == 0)
            rc = ks_booster_watch(f->booster, 0, &scores, err);
        if (rc == 0)
            loss = ks_fit_rows_loss(c, &stop, scores);
        best = loss < least ? i : best;
        least = loss < least ? loss : least;
    }
    if (rc == 0)
        ks_booster_score_by(f->booster, best);
    ks_fit_rows_release(&train);
    ks_fit_rows_release(&stop);
    return rc;
}

static int fit_class(struct run *r, uint32_t class_id, const struct split *s, struct ks_err *err)
{
    const struct ks_deadline deadline = deadline_of(r, class_id);
    const struct ks_cells *c = r->in->cells;
    struct ks_featurizer features;
    struct ks_fit f = { 0 };
    size_t n_outside;
    int rc;

    if (count(s->is_held, c->n_problems) == 0 || count(s->is_training, c->n_problems) == 0 ||
        count(s->is_stop, c->n_problems) == 0)
        return 0;
    rc = r->in->source->fit(r->in->source->ctx, c, s->is_training, &features, err);
    if (rc < 0)
        return rc;
    rc = grow_until_worse(r, s, &features, &deadline, &f, err);
    if (rc == 0)
        rc = ks_score_problems(f.booster, &features, c, s->is_held, r->t->class_picks, NULL, err);
    if (rc == 0)
        rc = ks_fall_back(c, &features, s->is_training, r->in->known, s->is_held, r->t->class_picks,
                          NULL, &n_outside, err);
    for (size_t p = 0; rc == 0 && p < c->n_problems; p++)
        if (s->is_held[p])
            r->t->has_class_pick[p] = true;
    ks_fit_end(&f);
    r->in->source->release(&features);
    return rc;
}

static int one_class(void *ctx, size_t class_id, struct ks_err *err)
{
    struct run *r = ctx;
    struct split s;
    int rc = split_init(&s, r->in->cells->n_problems, err);

    if (rc == 0) {
        split_off(r, (uint32_t)class_id, &s);
        rc = fit_class(r, (uint32_t)class_id, &s, err);
    }
    split_release(&s);
    return rc;
}

static void class_done(void *ctx, size_t n_done)
{
    tell(ctx, "leaving classes out", (double)n_done / KS_N_PROBLEM_CLASSES);
}

static int class_folds(struct run *r, struct ks_err *err)
{
    int rc = all_folds(r, KS_N_PROBLEM_CLASSES, one_class, class_done, 0.875, err);

    r->t->has_classes = count(r->t->has_class_pick, r->in->cells->n_problems) > 0;
    return rc;
}

/* ---- all of it ---- */

static int last_model(struct run *r, struct ks_err *err)
{
    struct ks_trained *t = r->t;
    struct ks_deadline deadline;
    struct split s;
    int rc = split_init(&s, r->in->cells->n_problems, err);

    begin_phase(r, 1, 1);
    deadline = deadline_of(r, 0);
    for (size_t p = 0; rc == 0 && p < r->in->cells->n_problems; p++)
        s.is_training[p] = true;
    if (rc == 0)
        rc = fit_whole(r, r->in, s.is_training, &deadline, &t->last, &t->fit, &t->features, err);
    split_release(&s);
    tell(r, "fitting the model", 1);
    return rc;
}

static int train(struct run *r, struct ks_err *err)
{
    struct ks_search s = { 0 };
    struct ks_trained *t = r->t;
    int rc = ks_folds_grouped(r->in->cells, r->options->n_folds, r->in->seed, t->fold, err);

    if (rc == 0)
        rc = ks_search_run(&s, r->in, r->options, t->fold, err);
    r->search = &s;
    if (rc == 0)
        rc = outer_folds(r, err);
    if (rc == 0 && r->options->has_class_folds)
        rc = class_folds(r, err);
    if (rc == 0) {
        for (uint32_t k = 0; k < s.n_settings; k++)
            t->tried[k] = ks_search_score(&s, k, KS_ALL_FOLDS);
        t->n_tried = s.n_settings;
        t->is_cut = s.is_cut;
        t->last = scaled(r, ks_search_choose(&s, KS_ALL_FOLDS));
        rc = last_model(r, err);
        t->is_fit_cut = r->is_cut;
    }
    r->search = NULL;
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
    t->is_outside = calloc(c->n_problems + 1, sizeof(*t->is_outside));
    is_fine = t->fold && t->class_picks && t->has_class_pick && t->scores && t->is_outside;
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
    struct run r = {
        .in = in, .options = options, .t = t_out, .started_ns = ks_train_now_ns(options)
    };
    int rc = 0;

    *t_out = (struct ks_trained){ 0 };
    if (options->n_folds < 3 || options->n_settings == 0 || options->n_settings > KS_MAX_SETTINGS)
        rc = ks_fail(err, KS_EINVAL, "training needs at least 3 folds and one setting");
    else if (options->search_problems && options->search_problems < options->n_folds)
        rc = ks_fail(err, KS_EINVAL,
                     "settings cannot be chosen on %zu problems in %u folds: allow at least one "
                     "problem per fold (--search-problems)",
                     options->search_problems, options->n_folds);
    if (rc == 0)
        rc = reserve(t_out, in->cells, err);
    if (rc == 0)
        rc = train(&r, err);
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
    free(t->is_outside);
    *t = (struct ks_trained){ 0 };
}
