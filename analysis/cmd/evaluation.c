/* SPDX-License-Identifier: MIT */
/* evaluation.c - a model's picks for test problems, beside those of baselines and the ceiling */
#include "analysis/cmd/evaluation.h"
#include "analysis/learn/class_order.h"
#include "analysis/model/source.h"

#include <math.h>
#include <stdlib.h>

int ks_evaluation_open(struct ks_evaluation *j_out, const char *dir, uint32_t n_threads,
                       struct ks_err *err)
{
    *j_out = (struct ks_evaluation){ 0 };
    return ks_model_read(dir, n_threads, &j_out->model, err);
}

static int out_of_memory(const struct ks_evaluation *j, struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", j->cells.n_problems);
}

static int reserve(struct ks_evaluation *j, struct ks_err *err)
{
    size_t n = j->cells.n_problems + 1;
    bool is_fine;

    j->is_training = calloc(n, sizeof(bool));
    j->is_wanted = calloc(n, sizeof(bool));
    j->outside = calloc(n, sizeof(*j->outside));
    is_fine = j->is_training && j->is_wanted && j->outside;
    for (int i = 0; i < KS_N_CHOOSERS; i++) {
        if (i == KS_BY_CEILING)
            continue;
        j->picks[i] = calloc(n, sizeof(*j->picks[i]));
        is_fine = is_fine && j->picks[i];
    }
    return is_fine ? 0 : out_of_memory(j, err);
}

/* Training and test in one table. */
static int unite(struct ks_evaluation *j, const struct ks_cells *test, struct ks_err *err)
{
    int rc = ks_cells_append(&j->cells, &j->model.cells, err);

    if (rc == 0)
        rc = ks_cells_append(&j->cells, test, err);
    if (rc == 0)
        rc = ks_cells_finish(&j->cells, err);
    if (rc == 0)
        rc = reserve(j, err);
    for (size_t i = 0; rc == 0 && i < j->cells.n_problems; i++) {
        uint64_t id = j->cells.problems[i].problem.id;

        j->is_training[i] = ks_cells_find_problem(&j->model.cells, id) != UINT32_MAX;
        j->is_wanted[i] = !j->is_training[i];
    }
    return rc;
}

static int open_features(struct ks_evaluation *j, const char *dir, struct ks_err *err)
{
    struct ks_feature_spec spec = { 0 };
    int rc = ks_model_read_spec(&j->model, dir, &spec, err);

    if (rc == 0)
        rc = ks_spec_featurizer(&spec, &j->cells, j->is_training, &j->features, err);
    ks_feature_spec_release(&spec);
    return rc;
}

static int check_operator(const struct ks_evaluation *j, const struct ks_cells *test,
                          struct ks_err *err)
{
    uint32_t op = j->model.cells.problems[0].problem.op;

    for (size_t i = 0; i < test->n_problems; i++)
        if (test->problems[i].problem.op != op)
            return ks_fail(err, KS_EINVAL,
                           "the model is for %s, but the results contain %s: filter them with "
                           "--where operator=%s",
                           ks_operators[op]->name, ks_operators[test->problems[i].problem.op]->name,
                           ks_operators[op]->name);
    return 0;
}

int ks_evaluation_run(struct ks_evaluation *j, const char *dir, const struct ks_cells *test,
                      struct ks_err *err)
{
    struct ks_choosers others = { 0 };
    int rc = check_operator(j, test, err);

    if (rc == 0)
        rc = unite(j, test, err);
    if (rc == 0)
        rc = open_features(j, dir, err);
    if (rc == 0)
        rc = ks_score_problems(j->model.booster, &j->features, &j->cells, j->is_wanted,
                               j->picks[KS_BY_MODEL], NULL, err);
    if (rc == 0)
        rc = ks_choosers_fit(&others, &j->cells, j->is_training, &j->features, j->model.seed, err);
    if (rc == 0 && !ks_choosers_has_analytic(&others)) {
        free(j->picks[KS_BY_ANALYTIC]);
        j->picks[KS_BY_ANALYTIC] = NULL;
    }
    if (rc == 0)
        rc = ks_choosers_pick(&others, j->is_wanted, j->picks, err);
    ks_choosers_release(&others);
    if (rc == 0)
        rc = ks_fall_back(&j->cells, &j->features, j->is_training, NULL, j->is_wanted,
                          j->picks[KS_BY_MODEL], j->outside, &j->n_outside, err);
    return rc;
}

/* ---- the ceiling ---- */

static void score_by(const struct ks_cells *sweep, uint32_t problem, const struct ks_cells *c,
                     double *scores)
{
    for (uint32_t i = 0; i < c->n_instances; i++) {
        uint32_t instance = ks_cells_find_instance(sweep, c->instances[i].id);
        size_t cell = instance == UINT32_MAX ? KS_NO_CELL : ks_cells_at(sweep, problem, instance);

        scores[i] = cell == KS_NO_CELL ? NAN : sweep->cells[cell].time_ns;
    }
}

int ks_evaluation_ceiling(struct ks_evaluation *j, const struct ks_cells *sweep, struct ks_err *err)
{
    const struct ks_cells *c = &j->cells;
    double *scores = malloc((c->n_instances + 1) * sizeof(*scores));
    size_t n = 0;

    j->picks[KS_BY_CEILING] = calloc(c->n_problems + 1, sizeof(struct ks_pick));
    j->has_ceiling = calloc(c->n_problems + 1, sizeof(bool));
    if (!scores || !j->picks[KS_BY_CEILING] || !j->has_ceiling) {
        free(scores);
        return out_of_memory(j, err);
    }
    for (uint32_t i = 0; i < c->n_problems; i++) {
        uint32_t problem = ks_cells_find_problem(sweep, c->problems[i].problem.id);

        if (!j->is_wanted[i] || problem == UINT32_MAX)
            continue;
        score_by(sweep, problem, c, scores);
        ks_pick(c, i, scores, &j->picks[KS_BY_CEILING][i]);
        j->has_ceiling[i] = true;
        n++;
    }
    free(scores);
    return n ? 0 : ks_fail(err, KS_EINVAL, "--ceiling: this sweep has none of the problems");
}

struct ks_scorecard_input ks_evaluation_input(const struct ks_evaluation *j, uint32_t n_bootstrap)
{
    return (struct ks_scorecard_input){ .cells = &j->cells,
                                        .is_wanted = j->is_wanted,
                                        .picks = j->picks,
                                        .has_ceiling = j->has_ceiling,
                                        .n_bootstrap = n_bootstrap,
                                        .seed = j->model.seed };
}

void ks_evaluation_release(struct ks_evaluation *j)
{
    if (j->features.ctx)
        ks_spec_release(&j->features);
    for (int i = 0; i < KS_N_CHOOSERS; i++)
        free(j->picks[i]);
    free(j->is_training);
    free(j->is_wanted);
    free(j->outside);
    free(j->has_ceiling);
    ks_cells_release(&j->cells);
    ks_model_release(&j->model);
    *j = (struct ks_evaluation){ 0 };
}
