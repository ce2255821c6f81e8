/* SPDX-License-Identifier: MIT */
/* validate.c - ksweep-analyze validate: a model's figures on unseen problems, and a gate */
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/retime_job.h"
#include "analysis/cmd/validate_report.h"
#include "analysis/data/view.h"
#include "analysis/learn/networks.h"
#include "analysis/learn/retime.h"
#include "base/command.h"

#include <stdlib.h>

enum { N_BOOTSTRAP = 1000, MOST_WORST = 10 };

struct config {
    const char *ceiling, *against, *problems, *write_retime;
    struct ks_opt_list where, retime, network;
    unsigned merge;
    bool is_mixed, json;
    uint32_t n_threads;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "ceiling",
      .type = KS_OPT_STR,
      .offset = AT(ceiling),
      .arg = "FILE",
      .help = "independent sweep of the same problems; the efficiency of its best instances is the "
              "upper limit for any model" },
    { .name = "against",
      .type = KS_OPT_STR,
      .offset = AT(against),
      .arg = "MODEL",
      .help = "regression gate: exit status 1 if the mean is lower than that of MODEL by more than "
              "0.005, P10 by more than 0.02, or a problem is more than 10 % slower" },
    { .name = "write-retime",
      .type = KS_OPT_STR,
      .offset = AT(write_retime),
      .arg = "DIR",
      .help = "write a job for --retime that measures the picks of the model, those of the best "
              "baseline and the best measured instances again, where they differ; DIR must not "
              "exist yet" },
    { .name = "retime",
      .type = KS_OPT_LIST,
      .offset = AT(retime),
      .arg = "FILE|DIR",
      .help = "results of the job from --write-retime: adds the efficiency by times measured after "
              "the best was chosen; can be repeated" },
    { .name = "network",
      .type = KS_OPT_LIST,
      .offset = AT(network),
      .arg = "LIST",
      .help = "problem list of a network with use counts, in any format that jobs can read: adds "
              "the regret of the picks for it; can be repeated" },
    KS_OPT_WHERE(AT(where)),
    KS_OPT_PROBLEMS(AT(problems)),
    { .name = "merge",
      .type = KS_OPT_ENUM,
      .offset = AT(merge),
      .def = "newest",
      .choices = ks_merge_names,
      .arg = "HOW",
      .help = "if several runs have the same cell: the row of the newest run, or the row with the "
              "median time" },
    { .name = "mixed",
      .type = KS_OPT_BOOL,
      .offset = AT(is_mixed),
      .def = "no",
      .help =
          "accept rows whose device class, condition or schema version differs from the model's; a "
          "problem that has several keeps the rows of the one with most rows" },
    { .name = "json",
      .type = KS_OPT_BOOL,
      .offset = AT(json),
      .def = "no",
      .help = "print the figures as JSON" },
    { .name = "threads",
      .type = KS_OPT_U32,
      .offset = AT(n_threads),
      .def = "2",
      .min = 1,
      .max = 1024,
      .arg = "N",
      .help = "number of threads" },
    KS_OPT_END
};
#undef AT

struct job {
    const struct config *config;
    const char *dir; /* of the model */
    size_t n_files;  /* of v.files */
    struct ks_problem_set only;
    struct ks_validation v;
};

/* ---- the gate ---- */

static void compare(struct ks_validation *v)
{
    const struct ks_cells *c = &v->eval.cells, *d = &v->other.cells;
    struct ks_gate *g = &v->gate;

    *g = (struct ks_gate){ .slowest = UINT32_MAX };
    g->mean = v->card.by[KS_BY_MODEL].measured.mean - v->other_card.by[KS_BY_MODEL].measured.mean;
    g->p10 = v->card.by[KS_BY_MODEL].measured.p10 - v->other_card.by[KS_BY_MODEL].measured.p10;
    for (uint32_t i = 0; i < c->n_problems; i++) {
        uint32_t k = ks_cells_find_problem(d, c->problems[i].problem.id);
        double ratio;

        if (!v->eval.is_wanted[i] || k == UINT32_MAX || !v->other.is_wanted[k])
            continue;
        ratio = v->other.picks[KS_BY_MODEL][k].eff / v->eval.picks[KS_BY_MODEL][i].eff;
        g->n_slower += ratio > 1.1;
        if (ratio > g->ratio) {
            g->ratio = ratio;
            g->slowest = i;
        }
    }
    g->is_passed = g->mean >= -0.005 && g->p10 >= -0.02 && g->n_slower == 0;
}

static int print(const struct job *j, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    if (j->config->json)
        ks_validation_json(&j->v, &text);
    else
        ks_validation_text(&j->v, &text);
    rc = ks_emit(&text, NULL, err);
    ks_buf_release(&text);
    return rc;
}

/* ---- the command ---- */

/* Results: those to evaluate with, or those of --ceiling. */
static int check_device(const struct job *j, const struct ks_dataset *d, struct ks_err *err)
{
    const struct ks_time_source *m = &j->v.eval.model.device;
    const char *file = ks_dataset_first(d);

    if (j->config->is_mixed)
        return 0;
    if (d->device_class != m->device_class)
        return ks_fail(err, KS_EINVAL,
                       "%s was measured on %s (class %016llx), but the model is for %s (%016llx); "
                       "allow it with --mixed",
                       file, ks_device_called(d->model, d->arch),
                       (unsigned long long)d->device_class, ks_device_called(m->model, m->arch),
                       (unsigned long long)m->device_class);
    if (d->condition != m->condition)
        return ks_fail(err, KS_EINVAL,
                       "%s was measured under condition %016llx, but the model's data under "
                       "%016llx; allow it with --mixed",
                       file, (unsigned long long)d->condition, (unsigned long long)m->condition);
    if (d->mixed.sources[0].is_over_rounds != m->is_over_rounds)
        return ks_fail(err, KS_EINVAL,
                       "only one of %s and the model's data has times over rounds; gather both "
                       "again with one version, or allow it with --mixed",
                       file);
    return 0;
}

static int check_other(const struct job *j, struct ks_err *err)
{
    const struct ks_time_source *m = &j->v.eval.model.device, *other = &j->v.other.model.device;
    struct ks_buf text;
    int rc;

    if (j->config->is_mixed || ks_source_is_of(other, m))
        return 0;
    ks_buf_init(&text);
    ks_buf_printf(&text, "--against %s: it is for ", j->config->against);
    ks_source_text(other, &text);
    ks_buf_printf(&text, ", but this model is for ");
    ks_source_text(m, &text);
    rc = ks_fail(err, KS_EINVAL, "%s; allow it with --mixed", ks_buf_text(&text));
    ks_buf_release(&text);
    return rc;
}

static int read_again(struct job *j, const struct ks_dataset_rules *rules, struct ks_err *err)
{
    const struct ks_opt_list *files = &j->config->retime;
    const char *shared;
    int rc = ks_dataset_read(&j->v.again, files->text, files->n, rules, err);

    if (rc == 0)
        rc = check_device(j, &j->v.again, err);
    if (rc < 0)
        return rc;
    shared = ks_dataset_shared(&j->v.again, &j->v.data);
    return shared ? ks_fail(err, KS_EINVAL,
                            "--retime %s: its times are those that chose the best: measure the job "
                            "of --write-retime",
                            shared)
                  : 0;
}

static int read_ceiling(struct job *j, const struct ks_dataset_rules *rules, struct ks_err *err)
{
    int rc = ks_dataset_read(&j->v.sweep, &j->config->ceiling, 1, rules, err);

    if (rc == 0)
        rc = check_device(j, &j->v.sweep, err);
    if (rc == 0)
        j->v.shared = ks_dataset_shared(&j->v.sweep, &j->v.data);
    return rc;
}

static int read_all(struct job *j, struct ks_err *err)
{
    const struct config *c = j->config;
    struct ks_validation *v = &j->v;
    struct ks_dataset_rules rules = {
        .merge = c->merge, .where = c->where, .is_mixed = c->is_mixed, .left_out = &v->left_out
    };
    int rc = ks_evaluation_open(&v->eval, j->dir, c->n_threads, err);

    if (rc == 0 && c->against)
        rc = ks_evaluation_open(&v->other, c->against, c->n_threads, err);
    if (rc == 0 && c->against)
        rc = check_other(j, err);
    if (rc == 0 && c->problems)
        rc = ks_problem_set_read(&j->only, c->problems, "auto", false, err);
    rules.only = c->problems ? &j->only : NULL;
    rules.leave_out[0] = &v->eval.model.cells;
    rules.leave_out[1] = c->against ? &v->other.model.cells : NULL;
    if (rc == 0)
        rc = ks_dataset_read(&v->data, v->files, j->n_files, &rules, err);
    if (rc == 0)
        rc = check_device(j, &v->data, err);
    rules =
        (struct ks_dataset_rules){ .merge = c->merge, .where = c->where, .is_mixed = c->is_mixed };
    if (rc == 0 && c->retime.n)
        rc = read_again(j, &rules, err);
    if (rc == 0 && c->ceiling)
        rc = read_ceiling(j, &rules, err);
    return rc;
}

static int weigh_networks(struct job *j, const struct ks_scorecard_input *in, struct ks_err *err)
{
    const struct ks_opt_list *lists = &j->config->network;
    int rc;

    j->v.networks = calloc(lists->n + 1, sizeof(*j->v.networks));
    j->v.n_networks = lists->n;
    rc = j->v.networks ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; rc == 0 && i < lists->n; i++) {
        struct ks_problem_set list;

        ks_problem_set_init(&list);
        rc = ks_problem_set_read(&list, lists->text[i], "auto", false, err);
        if (rc == 0)
            rc = ks_network_weigh(in, &list, lists->text[i], &j->v.networks[i], err);
        ks_problem_set_release(&list);
    }
    return rc;
}

/* Results of a job that measured the model's picks only say little of the baseline's: the two are
 * compared on the problems for which both have new times. */
static int retime(struct ks_validation *v, const struct ks_scorecard_input *in, struct ks_err *err)
{
    const struct ks_cells *again = &v->again.cells;
    const struct ks_pick *model = in->picks[KS_BY_MODEL];
    const struct ks_pick *baseline = in->picks[v->card.i_best_baseline];
    int rc = ks_retime(in->cells, in->is_wanted, model, NULL, again, N_BOOTSTRAP, in->seed,
                       &v->retimed, err);

    if (rc < 0)
        return rc;
    rc = ks_retime(in->cells, in->is_wanted, model, baseline, again, N_BOOTSTRAP, in->seed,
                   &v->pair.model, err);
    if (rc == 0)
        rc = ks_retime(in->cells, in->is_wanted, baseline, model, again, N_BOOTSTRAP, in->seed,
                       &v->pair.baseline, err);
    return rc == KS_EINVAL ? 0 : rc;
}

static int find_worst(struct ks_validation *v, const struct ks_scorecard_input *in,
                      struct ks_err *err)
{
    int n;

    v->worst = calloc(MOST_WORST, sizeof(*v->worst));
    if (!v->worst)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    n = ks_worst_find(in, v->eval.is_training, v->eval.outside, v->worst, MOST_WORST, err);
    if (n < 0)
        return n;
    v->n_worst = (size_t)n;
    return 0;
}

static int evaluate_other(struct job *j, struct ks_err *err)
{
    struct ks_validation *v = &j->v;
    struct ks_scorecard_input in;
    int rc = ks_evaluation_run(&v->other, j->config->against, &v->data.cells, err);

    if (rc < 0)
        return rc;
    in = ks_evaluation_input(&v->other, 0);
    rc = ks_scorecard_make(&in, &v->other_card, err);
    if (rc == 0)
        compare(v);
    return rc;
}

static int evaluate_all(struct job *j, struct ks_err *err)
{
    const struct config *c = j->config;
    struct ks_validation *v = &j->v;
    struct ks_scorecard_input in;
    int rc = ks_evaluation_run(&v->eval, j->dir, &v->data.cells, err);

    if (rc == 0 && c->ceiling)
        rc = ks_evaluation_ceiling(&v->eval, &v->sweep.cells, err);
    in = ks_evaluation_input(&v->eval, N_BOOTSTRAP);
    if (rc == 0)
        rc = ks_scorecard_make(&in, &v->card, err);
    if (rc == 0)
        rc = weigh_networks(j, &in, err);
    if (rc == 0 && c->retime.n)
        rc = retime(v, &in, err);
    if (rc == 0)
        rc = find_worst(v, &in, err);
    return rc == 0 && c->against ? evaluate_other(j, err) : rc;
}

static void release(struct job *j)
{
    struct ks_validation *v = &j->v;

    ks_scorecard_release(&v->card);
    ks_scorecard_release(&v->other_card);
    ks_evaluation_release(&v->eval);
    ks_evaluation_release(&v->other);
    ks_dataset_release(&v->data);
    ks_dataset_release(&v->sweep);
    ks_dataset_release(&v->again);
    ks_buf_release(&v->left_out);
    free(v->networks);
    free(v->worst);
    ks_problem_set_release(&j->only);
}

static int write_retime(const struct job *j, struct ks_buf *notes, struct ks_err *err)
{
    const struct ks_evaluation *eval = &j->v.eval;
    const struct ks_retime_want want = { .cells = &eval->cells,
                                         .is_wanted = eval->is_wanted,
                                         .picks = { eval->picks[KS_BY_MODEL],
                                                    eval->picks[j->v.card.i_best_baseline] },
                                         .files = j->v.files,
                                         .n_files = j->n_files };

    return ks_retime_job_write(j->config->write_retime, &want, notes, err);
}

static void note_mixed(const struct ks_validation *v, struct ks_buf *notes)
{
    struct ks_source_input inputs[KS_VALIDATION_INPUTS];

    ks_validation_inputs(v, inputs);
    for (int k = 0; k < KS_VALIDATION_INPUTS; k++)
        ks_dataset_note_mixed(inputs[k].data, inputs[k].command, notes);
}

static int validate(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                    struct ks_err *err)
{
    const struct config *c = cfg;
    struct job j = {
        .config = c,
        .dir = operands[0],
        .n_files = (size_t)n - 1,
        .v = { .files = operands + 1, .against = c->against, .gate = { .is_passed = true } }
    };
    int rc;

    if (c->merge == KS_MERGE_ALL)
        return ks_fail(err, KS_EINVAL,
                       "--merge all: validation needs one time per cell; use newest or median");
    ks_buf_init(&j.v.left_out);
    ks_problem_set_init(&j.only);
    rc = read_all(&j, err);
    if (rc == 0)
        rc = evaluate_all(&j, err);
    if (rc == 0 && c->write_retime)
        rc = write_retime(&j, notes, err);
    if (rc == 0)
        rc = print(&j, err);
    if (rc == 0)
        note_mixed(&j.v, notes);
    if (rc == 0 && !(j.v.card.is_useful && j.v.gate.is_passed))
        rc = KS_EXIT_LOOK;
    release(&j);
    return rc;
}

const struct ks_analysis ks_analysis_validate = {
    .name = "validate",
    .summary =
        "Evaluate a model on problems that it was not trained on, and compare it with baselines.",
    .usage = "validate MODEL FILE|DIR... [--ceiling FILE] [--against MODEL] [--write-retime DIR] "
             "[--retime FILE|DIR]... [--network LIST]... [--where NAME=VALUE]... [--json]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 2,
    .n_max = 0,
    .run = validate,
};
