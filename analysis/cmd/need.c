/* SPDX-License-Identifier: MIT */
/* need.c - ksweep-analyze need: problems that are worth measuring next, as a list for a job */
#include "analysis/learn/need.h"
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/evaluation.h"
#include "analysis/learn/class_order.h"
#include "base/command.h"
#include "base/file.h"
#include "base/text.h"
#include "grid/problem_class.h"
#include "grid/problems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INSTANCES = 4 };

struct config {
    const char *problems, *output;
    uint64_t n;
    bool use_counts;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "problems",
      .type = KS_OPT_STR,
      .offset = AT(problems),
      .arg = "LIST",
      .is_input = true,
      .help = "problem list to choose from, in any format that jobs can read; required" },
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "FILE",
      .is_output = true,
      .help = "write the chosen problems as a problem list (CSV); without it only the table is "
              "printed" },
    { .name = "n",
      .letter = 'n',
      .type = KS_OPT_U64,
      .offset = AT(n),
      .def = "50",
      .min = 1,
      .max = 1e6,
      .arg = "N",
      .help = "number of problems to choose" },
    { .name = "weigh-uses",
      .type = KS_OPT_BOOL,
      .offset = AT(use_counts),
      .def = "yes",
      .help = "weight problems by their use counts in the list" },
    KS_OPT_END
};
#undef AT

struct job {
    const struct config *config;
    struct ks_evaluation eval;
    struct ks_feature_spec spec;
    struct ks_problem_set set;
    struct ks_problem
        *pool; /* [n_pool] of the list: new to the model, and it can choose for them */
    size_t n_pool;
    size_t n_known, n_unfit; /* problems of the list that training has; that the model is not for */
    double *loss;            /* [training problems] */
    struct ks_needed *needed;
    size_t n_needed;
    struct ks_buf text; /* the table */
};

/* What the out-of-fold pick of each training problem loses; outside of the range of its fold's
 * training that is by the static order. */
static void fill_losses(struct job *j)
{
    const struct ks_model *m = &j->eval.model;
    const struct ks_cells *c = &m->cells;

    for (size_t i = 0; i < c->n_problems; i++) {
        const struct ks_cell_problem *p = &c->problems[i];

        j->loss[i] = 1 - c->cells[p->best].time_ns / c->cells[m->pick[i]].time_ns;
    }
}

/* As a selector: what computes the problem, of what training has measured. */
static bool offers(const struct job *j, const struct ks_problem *p, uint32_t i)
{
    return ks_feature_applies(&j->spec, p, i) &&
           ks_cells_find_instance(&j->eval.model.cells, j->spec.instances[i].id) != UINT32_MAX;
}

/* Whether training has a problem of the same operator, direction, data type and layout, and some
 * instance applies: for other problems the model has no choice, and its losses say nothing. */
static bool fits(const struct job *j, const struct ks_problem *p)
{
    const struct ks_cells *c = &j->eval.model.cells;
    bool is_seen = false, has_instance = false;

    for (size_t i = 0; i < c->n_problems && !is_seen; i++) {
        const struct ks_problem *t = &c->problems[i].problem;

        is_seen = t->op == p->op && t->direction == p->direction && t->dtype == p->dtype &&
                  t->layout == p->layout;
    }
    for (uint32_t i = 0; is_seen && i < j->spec.n_instances && !has_instance; i++)
        has_instance = offers(j, p, i);
    return has_instance;
}

static int read_pool(struct job *j, struct ks_err *err)
{
    const struct ks_cells *c = &j->eval.model.cells;
    int rc = ks_problem_set_read(&j->set, j->config->problems, "auto", false, err);

    if (rc < 0)
        return rc;
    j->pool = malloc((j->set.n + 1) * sizeof(*j->pool));
    if (!j->pool)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u problems", j->set.n);
    for (uint32_t i = 0; i < j->set.n; i++) {
        struct ks_problem p = ks_problem_table_get(&j->set.problems, i);

        if (ks_cells_find_problem(c, p.id) != UINT32_MAX)
            j->n_known++;
        else if (!fits(j, &p))
            j->n_unfit++;
        else
            j->pool[j->n_pool++] = p;
    }
    return j->n_pool ? 0
                     : ks_fail(err, KS_EINVAL,
                               "%s: nothing to choose from: of %u problems %zu are in training, "
                               "and %zu have an operator, direction, data type or layout that is "
                               "not in training, or no instance computes them",
                               j->config->problems, j->set.n, j->n_known, j->n_unfit);
}

static int choose(struct job *j, struct ks_err *err)
{
    const struct ks_model *m = &j->eval.model;

    j->n_needed = j->config->n < j->n_pool ? (size_t)j->config->n : j->n_pool;
    j->loss = malloc((m->cells.n_problems + 1) * sizeof(*j->loss));
    j->needed = malloc((j->n_needed + 1) * sizeof(*j->needed));
    if (!j->loss || !j->needed)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", m->cells.n_problems);
    fill_losses(j);
    return ks_need_choose(&m->cells, m->fold, j->loss, j->pool, j->n_pool, j->config->use_counts,
                          j->n_needed, j->needed, err);
}

static int write_list(const struct job *j, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    if (!j->config->output)
        return 0;
    ks_buf_init(&text);
    ks_problem_csv_header(j->pool[0].op, &text);
    for (size_t i = 0; i < j->n_needed; i++)
        ks_problem_csv_row(&j->pool[j->needed[i].i], &text);
    rc = ks_buf_ok(&text) ? ks_file_output(j->config->output, text.data, text.len, err)
                          : ks_fail(err, KS_ENOMEM, "out of memory for the list");
    ks_buf_release(&text);
    return rc;
}

/* ---- the instances for them ---- */

/* Room for the instances of a problem. */
struct ranking {
    struct ks_class_orders orders; /* of training */
    struct ks_matrix x;            /* a row per instance of the specification */
    float *scores;                 /* [the specification's instances] the lowest is the best */
    double *rank;                  /* [training's instances] */
};

/* By the model; outside of its range by the class's static order, as a selector. */
static int score(const struct job *j, const struct ks_problem *p, struct ranking *r,
                 struct ks_err *err)
{
    const struct ks_feature_spec *spec = &j->spec;

    if (!ks_feature_outside(spec, p)) {
        for (uint32_t i = 0; i < spec->n_instances; i++)
            ks_features_row(spec, p, i, ks_matrix_row(&r->x, i));
        return ks_booster_predict(j->eval.model.booster, &r->x, r->scores, err);
    }
    ks_class_orders_rank(&r->orders, ks_problem_class(p), r->rank);
    for (uint32_t i = 0; i < spec->n_instances; i++) {
        const uint32_t at = ks_cells_find_instance(&j->eval.model.cells, spec->instances[i].id);

        r->scores[i] = at == UINT32_MAX ? INFINITY : (float)r->rank[at];
    }
    return 0;
}

/* The first few instances that compute the problem. */
static int put_instances(const struct job *j, const struct ks_problem *p, struct ranking *r,
                         struct ks_buf *to, struct ks_err *err)
{
    const struct ks_feature_spec *spec = &j->spec;
    float *scores = r->scores;
    int rc = score(j, p, r, err);

    for (uint32_t i = 0; rc == 0 && i < spec->n_instances; i++)
        scores[i] = offers(j, p, i) ? scores[i] : INFINITY;
    for (uint32_t k = 0; rc == 0 && k < MOST_INSTANCES && k < spec->n_instances; k++) {
        size_t best = 0;

        for (size_t i = 1; i < spec->n_instances; i++)
            best = scores[i] < scores[best] ? i : best;
        if (isinf(scores[best]))
            break;
        ks_buf_printf(to, "%s", k ? ", " : "           instances: ");
        ks_text_put(to, spec->instances[best].name, strlen(spec->instances[best].name),
                    KS_LINES_NONE);
        scores[best] = INFINITY;
    }
    ks_buf_printf(to, "\n");
    return rc;
}

static int ranking_init(struct ranking *r, const struct job *j, struct ks_err *err)
{
    const struct ks_cells *c = &j->eval.model.cells;
    int rc = ks_matrix_init(&r->x, j->spec.n_instances, j->spec.n_features, err);

    r->scores = malloc((j->spec.n_instances + 1) * sizeof(*r->scores));
    r->rank = malloc((c->n_instances + 1) * sizeof(*r->rank));
    if (rc == 0 && (!r->scores || !r->rank))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu instances", j->spec.n_instances);
    return rc == 0 ? ks_class_orders_fit(&r->orders, c, NULL, NULL, err) : rc;
}

static void ranking_release(struct ranking *r)
{
    ks_class_orders_release(&r->orders);
    ks_matrix_release(&r->x);
    free(r->scores);
    free(r->rank);
}

static int put_table(struct job *j, struct ks_err *err)
{
    struct ks_buf *to = &j->text;
    struct ranking r = { 0 };
    int rc = ranking_init(&r, j, err);

    ks_buf_printf(to, "%zu of %zu new problems, most valuable first\n", j->n_needed, j->n_pool);
    ks_buf_printf(to, "   value     loss  distance  uses  class            problem\n");
    for (size_t i = 0; rc == 0 && i < j->n_needed; i++) {
        const struct ks_needed *n = &j->needed[i];
        const struct ks_problem *p = &j->pool[n->i];

        ks_buf_printf(to, "%8.4f %8.4f %9.2f %5lld  %-16s ", n->value, n->loss, n->distance,
                      (long long)p->count, ks_problem_class_name(ks_problem_class(p)));
        ks_problem_canonical(p, to);
        ks_buf_printf(to, "\n");
        rc = put_instances(j, p, &r, to, err);
    }
    ranking_release(&r);
    return rc;
}

static int need(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                struct ks_err *err)
{
    const struct config *c = cfg;
    struct job j = { .config = c };
    int rc;

    (void)n;
    if (!c->problems)
        return ks_fail(err, KS_EINVAL, "--problems LIST is missing: the problems to choose from");
    ks_problem_set_init(&j.set);
    ks_buf_init(&j.text);
    rc = ks_evaluation_open(&j.eval, operands[0], 1, err);
    if (rc == 0)
        rc = ks_model_read_spec(&j.eval.model, operands[0], &j.spec, err);
    if (rc == 0)
        rc = read_pool(&j, err);
    if (rc == 0)
        rc = choose(&j, err);
    if (rc == 0)
        rc = put_table(&j, err);
    if (rc == 0) /* after all that can be refused, which then leaves no list */
        rc = write_list(&j, err);
    if (rc == 0)
        rc = ks_emit(&j.text, NULL, err);
    if (rc == 0 && j.n_known + j.n_unfit > 0)
        ks_buf_printf(notes,
                      "ksweep-analyze need: of %u problems %zu are in training, and the model "
                      "cannot choose for %zu\n",
                      j.set.n, j.n_known, j.n_unfit);
    free(j.pool);
    free(j.loss);
    free(j.needed);
    ks_buf_release(&j.text);
    ks_problem_set_release(&j.set);
    ks_feature_spec_release(&j.spec);
    ks_evaluation_release(&j.eval);
    return rc;
}

const struct ks_analysis ks_analysis_need = {
    .name = "need",
    .summary = "Choose the problems that are worth measuring next, as a problem list for a job.",
    .usage = "need MODEL --problems LIST [-n N] [-o FILE]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = need,
};
