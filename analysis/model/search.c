/* SPDX-License-Identifier: MIT */
/* search.c - scores settings on pairs of folds, and chooses the one with the least loss */
#include "analysis/model/search.h"
#include "analysis/model/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A search takes half as long as with XGBoost's 256 bins and steps of 0.05; on the find-db rows of
 * tests/bench/heuristic.sh mean efficiencies are the same to within 0.002. */
#define COMMON                                                                                     \
    .n_parallel = 1, .max_bin = 64, .eta = 0.1, .min_child = 1, .subsample = 0.8,                  \
    .colsample = 0.5, .lambda = 1

static const struct ks_setting settings[] = {
    { COMMON, .target = KS_TARGET_LOSS, .depth = 8 },
    { COMMON, .target = KS_TARGET_PAIRWISE, .depth = 8 },
    { COMMON, .target = KS_TARGET_LOG_TIME, .depth = 8 },
    { COMMON, .target = KS_TARGET_LOG_RATE, .depth = 8 },
    { COMMON, .target = KS_TARGET_LOSS, .depth = 12 },
    { COMMON, .target = KS_TARGET_LOSS, .depth = 5 },
};
#undef COMMON
#define N_SETTINGS (sizeof(settings) / sizeof(settings[0]))
_Static_assert(N_SETTINGS <= KS_MAX_SETTINGS, "struct ks_trained has room");

size_t ks_settings(const struct ks_setting **settings_out)
{
    *settings_out = settings;
    return N_SETTINGS;
}

struct run {
    struct ks_search *search;
    const struct ks_fit_input *in;
    const struct ks_train_options *options;
    const uint8_t *fold;
    bool *is_sampled; /* [n_problems] */
    uint64_t started_ns;
    size_t n_planned;   /* settings */
    uint32_t i_setting; /* that is scored */
    uint32_t n_abreast; /* pairs at the same time */
    atomic_bool is_cut; /* the time budget ended the growth of trees */
};

/* Of the i-th setting. */
static float *curve(const struct ks_search *s, uint32_t i, uint32_t outer, uint32_t inner)
{
    size_t at = ((size_t)i * s->n_folds + outer) * s->n_folds + inner;

    return s->loss + at * s->max_rounds;
}

/* ---- the time budget ---- */

/* share: of what the search may take, half of the budget. */
static bool is_late(const struct run *r, double share)
{
    double spent = (double)(ks_train_now_ns(r->options) - r->started_ns) / 1e9;

    return r->options->budget_s > 0 && spent > r->options->budget_s / 2 * share;
}

static size_t n_pairs(uint32_t n_folds)
{
    return (size_t)n_folds * (n_folds - 1) / 2;
}

/* Each pair of the first setting has the same share, so that every fold is scored by some trees. */
static bool is_used_up(struct run *r, size_t pair)
{
    size_t n_turns = (n_pairs(r->search->n_folds) + r->n_abreast - 1) / r->n_abreast;
    double share = (double)(pair / r->n_abreast + 1) / (double)n_turns;

    if (r->i_setting > 0 || !is_late(r, share))
        return false;
    r->is_cut = true;
    return true;
}

/* ---- one pair of folds ---- */

/* The problems of one fold, or of all folds but two, into is_in. */
static const bool *problems_of(const struct run *r, uint32_t i, uint32_t j, bool is_rest,
                               bool *is_in)
{
    for (size_t p = 0; p < r->in->cells->n_problems; p++) {
        bool is_held = r->fold[p] == i || r->fold[p] == j;

        is_in[p] = r->is_sampled[p] && is_held != is_rest;
    }
    return is_in;
}

/* The losses of one fold after each round, until it has not gained for a while. */
struct course {
    float *curve, best;
    uint32_t n_since; /* rounds without a gain */
};

static int watch(const struct run *r, const struct ks_fit *f, size_t k,
                 const struct ks_fit_rows *held, uint32_t round, struct course *c,
                 struct ks_err *err)
{
    const float *scores = NULL;
    int rc = ks_booster_watch(f->booster, k, &scores, err);

    if (rc < 0)
        return rc;
    c->curve[round] = (float)ks_fit_rows_loss(r->in->cells, held, scores);
    c->n_since++;
    if (c->curve[round] < c->best) {
        c->best = c->curve[round];
        c->n_since = 0;
    }
    return 0;
}

/* Rounds, at least one, until neither fold has gained for a while or the time is used up; the last
 * losses stand for the rest. Each fold's losses end by themselves: those of one judge the other, so
 * how long they last must not follow from the other. */
static int grow(struct run *r, size_t pair, struct ks_fit *f, const struct ks_fit_rows *const *held,
                float *const *curves, struct ks_err *err)
{
    const uint32_t n_max = r->search->max_rounds, patience = r->options->patience;
    struct course c[2] = { { curves[0], INFINITY, 0 }, { curves[1], INFINITY, 0 } };
    uint32_t round = 0;
    int rc = 0;

    for (; rc == 0 && round < n_max && (c[0].n_since < patience || c[1].n_since < patience);
         round++) {
        if (round > 0 && is_used_up(r, pair))
            break;
        rc = ks_fit_rounds(f, 1, err);
        for (size_t k = 0; rc == 0 && k < 2; k++) {
            if (c[k].n_since < patience)
                rc = watch(r, f, k, held[k], round, &c[k], err);
            else
                curves[k][round] = curves[k][round - 1];
        }
    }
    for (; rc == 0 && round < n_max; round++)
        for (size_t k = 0; k < 2; k++)
            curves[k][round] = curves[k][round - 1];
    return rc;
}

/* is_in: [n_problems] scratch. */
static int fit_pair(struct run *r, size_t pair, uint32_t i, uint32_t j,
                    const struct ks_featurizer *features, bool *is_in, struct ks_err *err)
{
    struct ks_fit_rows train = { 0 }, held[2] = { { 0 }, { 0 } };
    const struct ks_fit_rows *const watched[2] = { &held[0], &held[1] };
    const uint32_t k = r->i_setting;
    /* What it does on fold i is for outer fold j. */
    float *const curves[2] = { curve(r->search, k, j, i), curve(r->search, k, i, j) };
    struct ks_fit f = { 0 };
    const struct ks_cells *c = r->in->cells;
    int rc = ks_fit_rows_make(c, features, problems_of(r, i, j, true, is_in), r->in->use_lost,
                              &train, err);

    if (rc == 0)
        rc =
            ks_fit_rows_make(c, features, problems_of(r, i, i, false, is_in), false, &held[0], err);
    if (rc == 0)
        rc =
            ks_fit_rows_make(c, features, problems_of(r, j, j, false, is_in), false, &held[1], err);
    if (rc == 0)
        rc = ks_fit_begin(&f, r->in, &settings[r->search->setting[k]], features, &train, watched, 2,
                          err);
    if (rc == 0)
        rc = grow(r, pair, &f, watched, curves, err);
    ks_fit_end(&f);
    ks_fit_rows_release(&train);
    ks_fit_rows_release(&held[0]);
    ks_fit_rows_release(&held[1]);
    return rc;
}

/* The pair of folds i < j that is number `pair`: 0 1, 0 2, .., 1 2, .. */
static void folds_of(size_t pair, uint32_t n_folds, uint32_t *i_out, uint32_t *j_out)
{
    uint32_t i = 0;

    for (; pair >= n_folds - 1 - i; i++)
        pair -= n_folds - 1 - i;
    *i_out = i;
    *j_out = i + 1 + (uint32_t)pair;
}

static int score_pair(void *ctx, size_t pair, struct ks_err *err)
{
    struct run *r = ctx;
    const struct ks_feature_source *source = r->in->source;
    bool *is_in = malloc(r->in->cells->n_problems + 1);
    struct ks_featurizer features;
    uint32_t i, j;
    int rc;

    folds_of(pair, r->search->n_folds, &i, &j);
    if (!is_in)
        return ks_fail(err, KS_ENOMEM, "out of memory for the search of settings");
    rc = source->fit(source->ctx, r->in->cells, problems_of(r, i, j, true, is_in), &features, err);
    if (rc == 0) {
        rc = fit_pair(r, pair, i, j, &features, is_in, err);
        source->release(&features);
    }
    free(is_in);
    return rc;
}

/* ---- all pairs ---- */

/* n: pairs of this setting. */
static void tell(void *ctx, size_t n)
{
    const struct run *r = ctx;
    size_t of_one = n_pairs(r->search->n_folds);

    if (r->options->progress)
        r->options->progress(r->options->ctx, "choosing settings",
                             (double)(r->i_setting * of_one + n) / (double)(of_one * r->n_planned));
}

/* The first settings, of the wanted target. */
static void list_settings(struct run *r)
{
    const struct ks_train_options *o = r->options;

    for (uint32_t k = 0; k < N_SETTINGS && r->n_planned < o->n_settings; k++)
        if (!o->has_target || settings[k].target == o->target)
            r->search->setting[r->n_planned++] = k;
}

static int score_all(struct run *r, uint32_t n_threads, struct ks_err *err)
{
    struct ks_search *s = r->search;
    const struct ks_parallel all = { .n_tasks = n_pairs(s->n_folds),
                                     .n_threads = n_threads,
                                     .ctx = r,
                                     .task = score_pair,
                                     .done = tell };
    int rc = 0;

    for (uint32_t k = 0; rc == 0 && k < r->n_planned; k++) {
        if (k > 0 && (r->is_cut || is_late(r, 1))) {
            r->is_cut = true;
            break;
        }
        r->i_setting = k;
        rc = ks_parallel_run(&all, err);
        s->n_settings = k + 1;
    }
    s->is_cut = r->is_cut;
    return rc;
}

int ks_search_run(struct ks_search *s_out, const struct ks_fit_input *in,
                  const struct ks_train_options *options, const uint8_t *fold, struct ks_err *err)
{
    size_t n_problems = in->cells->n_problems, n_folds = options->n_folds;
    struct ks_search s = { .n_folds = options->n_folds, .max_rounds = options->max_rounds };
    struct ks_fit_input each = *in;
    struct run r = { .search = &s,
                     .in = &each,
                     .options = options,
                     .fold = fold,
                     .is_sampled = malloc(n_problems + 1),
                     .started_ns = ks_train_now_ns(options) };
    int rc = 0;

    r.n_abreast = ks_parallel_width(n_pairs(s.n_folds), in->n_threads);
    each.n_threads /= r.n_abreast;
    s.loss = calloc(options->n_settings * n_folds * n_folds * options->max_rounds, sizeof(*s.loss));
    if (!s.loss || !r.is_sampled)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for the search of settings");
    if (rc == 0)
        rc = ks_folds_sample(in->cells, options->search_problems, in->seed, r.is_sampled, err);
    list_settings(&r);
    if (rc == 0)
        rc = score_all(&r, in->n_threads, err);
    free(r.is_sampled);
    if (rc < 0)
        ks_search_release(&s);
    else
        *s_out = s;
    return rc;
}

void ks_search_release(struct ks_search *s)
{
    free(s->loss);
    *s = (struct ks_search){ 0 };
}

/* ---- choosing ---- */

/* Mean loss after a round over the inner folds of an outer one, or over all. */
static double mean_loss(const struct ks_search *s, uint32_t k, uint32_t outer, uint32_t round)
{
    double sum = 0;
    size_t n = 0;

    for (uint32_t i = 0; i < s->n_folds; i++) {
        if (outer != KS_ALL_FOLDS && i != outer)
            continue;
        for (uint32_t j = 0; j < s->n_folds; j++) {
            if (j == i)
                continue;
            sum += curve(s, k, i, j)[round];
            n++;
        }
    }
    return sum / (double)n;
}

struct ks_tried ks_search_score(const struct ks_search *s, uint32_t i, uint32_t outer)
{
    struct ks_tried t = { .setting = s->setting[i],
                          .rounds = 1,
                          .depth = settings[s->setting[i]].depth,
                          .loss = INFINITY };

    for (uint32_t r = 0; r < s->max_rounds; r++) {
        double loss = mean_loss(s, i, outer, r);

        if (loss < t.loss) {
            t.loss = loss;
            t.rounds = r + 1;
        }
    }
    return t;
}

/* A node takes 75 to 90 bytes of JSON. */
double ks_tried_most_bytes(const struct ks_tried *t)
{
    return 90.0 * t->rounds * 2 * (t->leaves ? t->leaves : 1u << t->depth);
}

struct ks_tried ks_tried_scaled(struct ks_tried t, size_t n_problems, size_t n_sampled)
{
    const double ratio = n_sampled ? (double)n_problems / (double)n_sampled : 1;
    double n_rounds;

    if (ratio <= 1)
        return t;
    n_rounds = t.rounds * sqrt(ratio);
    for (uint32_t more = (uint32_t)lround(log2(ratio) / 2); more > 0; more--) {
        const uint32_t leaves = t.leaves ? 2 * t.leaves : 2u << t.depth;

        if (leaves > KS_LEAVES_MAX || n_rounds < 2)
            break;
        t.leaves = leaves;
        t.depth = KS_DEPTH_MAX;
        n_rounds /= 2;
    }
    t.rounds = (uint32_t)ceil(n_rounds);
    return t;
}

struct ks_tried ks_search_choose(const struct ks_search *s, uint32_t outer)
{
    struct ks_tried best = ks_search_score(s, 0, outer);

    for (uint32_t k = 1; k < s->n_settings; k++) {
        struct ks_tried t = ks_search_score(s, k, outer);

        if (t.loss < best.loss)
            best = t;
    }
    return best;
}
