/* SPDX-License-Identifier: MIT */
/* fit.c - trains a model on rows of problems, and scores all instances of problems */
#include "analysis/model/fit.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>

enum { SCORED_ROWS = 16384 };

/* ---- rows ---- */

/* Of the lost pairs of a problem at most about twice as many as it has cells are in training, by a
 * hash. */
static bool is_kept(const struct ks_cells *c, uint32_t problem, uint32_t instance)
{
    const struct ks_cell_problem *p = &c->problems[problem];
    uint64_t hash = ks_mix64(p->problem.id ^ ks_mix64(c->instances[instance].id));

    return ks_cells_is_lost(c, problem, instance) && hash % c->n_instances < 2 * p->n;
}

/* The rows of a problem: its cells, and the lost ones. */
static void list_problem(const struct ks_cells *c, uint32_t problem, bool use_lost,
                         struct ks_fit_rows *r)
{
    const struct ks_cell_problem *p = &c->problems[problem];

    for (size_t i = p->first; i < p->first + p->n; i++)
        r->at[r->n++] = (struct ks_pair_row){ problem, c->cells[i].instance, i };
    for (uint32_t i = 0; use_lost && i < c->n_instances; i++)
        if (is_kept(c, problem, i))
            r->at[r->n++] = (struct ks_pair_row){ problem, i, KS_NO_CELL };
}

static size_t count_rows(const struct ks_cells *c, const bool *is_in, bool use_lost)
{
    size_t n = 0;

    for (uint32_t i = 0; i < c->n_problems; i++) {
        n += is_in[i] ? c->problems[i].n : 0;
        for (uint32_t j = 0; is_in[i] && use_lost && j < c->n_instances; j++)
            n += is_kept(c, i, j);
    }
    return n;
}

int ks_fit_rows_make(const struct ks_cells *c, const struct ks_featurizer *f, const bool *is_in,
                     bool use_lost, struct ks_fit_rows *rows_out, struct ks_err *err)
{
    size_t n = count_rows(c, is_in, use_lost);
    struct ks_fit_rows r = { .at = malloc((n + 1) * sizeof(*r.at)) };
    int rc;

    if (!r.at)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    for (uint32_t i = 0; i < c->n_problems; i++) {
        if (!is_in[i])
            continue;
        list_problem(c, i, use_lost, &r);
        r.n_problems++;
    }
    rc = ks_matrix_init(&r.x, r.n, f->n_cols, err);
    for (size_t i = 0; rc == 0 && i < r.n; i++)
        f->fill(f->ctx, r.at[i].problem, r.at[i].instance, ks_matrix_row(&r.x, i));
    if (rc < 0)
        ks_fit_rows_release(&r);
    else
        *rows_out = r;
    return rc;
}

void ks_fit_rows_release(struct ks_fit_rows *r)
{
    free(r->at);
    ks_matrix_release(&r->x);
    *r = (struct ks_fit_rows){ 0 };
}

double ks_fit_rows_loss(const struct ks_cells *c, const struct ks_fit_rows *r, const float *scores)
{
    double sum = 0;
    size_t i = 0;

    while (i < r->n) {
        const struct ks_cell_problem *p = &c->problems[r->at[i].problem];
        size_t pick = i, end = i + p->n;

        for (; i < end; i++)
            if (scores[i] < scores[pick])
                pick = i;
        sum += 1 - c->cells[p->best].time_ns / c->cells[r->at[pick].cell].time_ns;
    }
    return r->n_problems ? sum / (double)r->n_problems : NAN;
}

/* ---- fits ---- */

static struct ks_booster_params params_of(const struct ks_fit_input *in, const struct ks_setting *s)
{
    return (struct ks_booster_params){ .depth = s->depth,
                                       .leaves = s->leaves,
                                       .n_parallel = s->n_parallel,
                                       .eta = s->eta,
                                       .min_child = s->min_child,
                                       .subsample = s->subsample,
                                       .colsample = s->colsample,
                                       .lambda = s->lambda,
                                       .max_bin = s->max_bin,
                                       .n_threads = in->n_threads,
                                       .seed = in->seed & 0x7fffffff,
                                       .start = in->start };
}

int ks_fit_begin(struct ks_fit *f_out, const struct ks_fit_input *in,
                 const struct ks_setting *setting, const struct ks_featurizer *features,
                 const struct ks_fit_rows *train, const struct ks_fit_rows *const *watched,
                 size_t n_watched, struct ks_err *err)
{
    struct ks_booster_params params = params_of(in, setting);
    const struct ks_matrix *matrices[2] = { NULL, NULL };
    int rc;

    *f_out = (struct ks_fit){ .setting = *setting };
    for (size_t i = 0; i < n_watched && i < 2; i++)
        matrices[i] = &watched[i]->x;
    rc = ks_objective_init(&f_out->objective, (enum ks_target)setting->target, in->cells, train->at,
                           train->n, in->use_counts, err);
    if (rc == 0)
        rc = ks_booster_create(&f_out->booster, &params, &train->x, features->names, matrices,
                               n_watched, err);
    return rc;
}

int ks_fit_rounds(struct ks_fit *f, uint32_t n, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = ks_booster_round(f->booster, &f->objective, err);
    return rc;
}

void ks_fit_end(struct ks_fit *f)
{
    ks_booster_destroy(f->booster);
    ks_objective_release(&f->objective);
    *f = (struct ks_fit){ 0 };
}

int ks_fit_whole(struct ks_fit *f_out, const struct ks_fit_input *in,
                 const struct ks_setting *setting, const bool *is_training, uint32_t *rounds_io,
                 const struct ks_deadline *deadline, struct ks_featurizer *features_out,
                 struct ks_err *err)
{
    struct ks_fit_rows train = { 0 };
    struct ks_fit f = { 0 };
    uint32_t n = 0;
    int rc = in->source->fit(in->source->ctx, in->cells, is_training, features_out, err);

    if (rc < 0)
        return rc;
    rc = ks_fit_rows_make(in->cells, features_out, is_training, in->use_lost, &train, err);
    if (rc == 0)
        rc = ks_fit_begin(&f, in, setting, features_out, &train, NULL, 0, err);
    for (; rc == 0 && n < *rounds_io && (n == 0 || !ks_deadline_is_over(deadline)); n++)
        rc = ks_fit_rounds(&f, 1, err);
    ks_fit_rows_release(&train);
    if (rc < 0) {
        ks_fit_end(&f);
        in->source->release(features_out);
        return rc;
    }
    *rounds_io = n;
    *f_out = f;
    return 0;
}

/* ---- scores of all instances ---- */

struct scorer {
    struct ks_booster *booster;
    const struct ks_featurizer *features;
    const struct ks_cells *cells;
    struct ks_matrix x;
    float *scores;      /* [x.n_rows] */
    double *row;        /* [n_instances] */
    uint32_t *problems; /* [x.n_rows / n_instances] of the rows */
    size_t n_problems;
    struct ks_pick *picks;
    float *cell_scores;
};

static void keep(struct scorer *s, size_t i)
{
    const struct ks_cells *c = s->cells;
    const struct ks_cell_problem *p = &c->problems[s->problems[i]];

    for (uint32_t j = 0; j < c->n_instances; j++)
        s->row[j] = ks_featurizer_offers(s->features, s->problems[i], j)
                        ? (double)s->scores[i * c->n_instances + j]
                        : NAN;
    ks_pick(c, s->problems[i], s->row, &s->picks[s->problems[i]]);
    for (size_t j = p->first; s->cell_scores && j < p->first + p->n; j++)
        s->cell_scores[j] = (float)s->row[c->cells[j].instance];
}

static int flush(struct scorer *s, struct ks_err *err)
{
    size_t n_instances = s->cells->n_instances;
    struct ks_matrix part = { s->n_problems * n_instances, s->x.n_cols, s->x.x };
    int rc;

    for (size_t i = 0; i < s->n_problems; i++)
        for (uint32_t j = 0; j < n_instances; j++)
            s->features->fill(s->features->ctx, s->problems[i], j,
                              ks_matrix_row(&part, i * n_instances + j));
    rc = ks_booster_predict(s->booster, &part, s->scores, err);
    for (size_t i = 0; rc == 0 && i < s->n_problems; i++)
        keep(s, i);
    s->n_problems = 0;
    return rc;
}

static int score(struct scorer *s, const bool *is_wanted, size_t cap, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < s->cells->n_problems; i++) {
        if (is_wanted[i])
            s->problems[s->n_problems++] = i;
        if (s->n_problems == cap)
            rc = flush(s, err);
    }
    return rc == 0 ? flush(s, err) : rc;
}

int ks_score_problems(struct ks_booster *b, const struct ks_featurizer *f, const struct ks_cells *c,
                      const bool *is_wanted, struct ks_pick *picks_out, float *scores_out,
                      struct ks_err *err)
{
    struct scorer s = {
        .booster = b, .features = f, .cells = c, .picks = picks_out, .cell_scores = scores_out
    };
    size_t cap = c->n_instances < SCORED_ROWS ? SCORED_ROWS / c->n_instances : 1;
    size_t n = cap * c->n_instances;
    int rc = ks_matrix_init(&s.x, n, f->n_cols, err);

    if (rc < 0)
        return rc;
    s.scores = malloc(n * sizeof(*s.scores));
    s.row = malloc(c->n_instances * sizeof(*s.row));
    s.problems = malloc(cap * sizeof(*s.problems));
    if (s.scores && s.row && s.problems)
        rc = score(&s, is_wanted, cap, err);
    else
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu scores", n);
    ks_matrix_release(&s.x);
    free(s.scores);
    free(s.row);
    free(s.problems);
    return rc;
}
