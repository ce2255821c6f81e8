/* SPDX-License-Identifier: MIT */
/* validate.c - ksweep-analyze validate: a model's figures on unseen problems, and a gate */
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/evaluation.h"
#include "analysis/cmd/retime_job.h"
#include "analysis/cmd/source_report.h"
#include "analysis/data/view.h"
#include "analysis/learn/networks.h"
#include "analysis/learn/retime.h"
#include "analysis/out/quality.h"
#include "base/command.h"
#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_BOOTSTRAP = 1000, MOST_WORST = 10, MOST_LEAKED = 20 };

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
    const char *dir, *file;
    struct ks_evaluation eval, other;
    const char *const *files; /* [n_files] */
    size_t n_files;
    struct ks_dataset data, sweep, again; /* again: of --retime */
    struct ks_retimed retimed;
    struct ks_retimed_pair pair; /* of --retime: beside the best baseline */
    struct ks_problem_set only;
    struct ks_buf left_out; /* canonical texts of problems that training has seen, a line each */
    struct ks_scorecard card, other_card;
    struct ks_network *networks; /* [config->network.n] */
};

/* ---- the gate ---- */

struct gate {
    double mean, p10; /* this model's less the other's */
    size_t n_slower;
    uint32_t slowest; /* problem */
    double ratio;     /* its time over the other model's */
    bool is_passed;
};

static void compare(const struct job *j, struct gate *g)
{
    const struct ks_cells *c = &j->eval.cells, *d = &j->other.cells;

    *g = (struct gate){ .slowest = UINT32_MAX };
    g->mean = j->card.by[KS_BY_MODEL].measured.mean - j->other_card.by[KS_BY_MODEL].measured.mean;
    g->p10 = j->card.by[KS_BY_MODEL].measured.p10 - j->other_card.by[KS_BY_MODEL].measured.p10;
    for (uint32_t i = 0; i < c->n_problems; i++) {
        uint32_t k = ks_cells_find_problem(d, c->problems[i].problem.id);
        double ratio;

        if (!j->eval.is_wanted[i] || k == UINT32_MAX || !j->other.is_wanted[k])
            continue;
        ratio = j->other.picks[KS_BY_MODEL][k].eff / j->eval.picks[KS_BY_MODEL][i].eff;
        g->n_slower += ratio > 1.1;
        if (ratio > g->ratio) {
            g->ratio = ratio;
            g->slowest = i;
        }
    }
    g->is_passed = g->mean >= -0.005 && g->p10 >= -0.02 && g->n_slower == 0;
}

static void put_gate(const struct job *j, const struct gate *g, struct ks_buf *to)
{
    ks_buf_printf(to, "\nagainst %s: mean %+.4f (at least -0.0050), P10 %+.4f (at least -0.0200), ",
                  j->config->against, g->mean, g->p10);
    ks_buf_printf(to, "%zu problems more than 10 %% slower", g->n_slower);
    if (g->slowest != UINT32_MAX && g->ratio > 1) {
        ks_buf_printf(to, ", the most by %.1f %%: ", 100 * (g->ratio - 1));
        ks_problem_canonical(&j->eval.cells.problems[g->slowest].problem, to);
    }
    ks_buf_printf(to, "\n%s\n", g->is_passed ? "passed" : "FAILED");
}

/* ---- the report ---- */

/* Of the instances of the evaluated problems those that the model can pick, and how often the best
 * is one of them: what another device's or an older model can reach at most. */
static void put_coverage(const struct ks_evaluation *eval, struct ks_buf *to)
{
    const struct ks_cells *c = &eval->cells;
    const struct ks_featurizer *f = &eval->features;
    bool *is_there = calloc(c->n_instances + 1, sizeof(*is_there));
    size_t n = 0, n_known = 0, n_problems = 0, n_best = 0;

    for (size_t i = 0; is_there && i < c->n; i++)
        if (eval->is_wanted[c->cells[i].problem])
            is_there[c->cells[i].instance] = true;
    for (uint32_t i = 0; is_there && i < c->n_instances; i++) {
        n += is_there[i];
        n_known += is_there[i] && (!f->knows || f->knows(f->ctx, i));
    }
    for (size_t i = 0; i < c->n_problems; i++) {
        const uint32_t best = c->cells[c->problems[i].best].instance;

        n_problems += eval->is_wanted[i];
        n_best += eval->is_wanted[i] && (!f->knows || f->knows(f->ctx, best));
    }
    if (is_there)
        ks_buf_printf(to,
                      "coverage: the model knows %zu of the %zu instances; the best is one of them "
                      "on %.1f %% of the problems\n",
                      n_known, n, 100 * (double)n_best / (double)(n_problems ? n_problems : 1));
    else
        to->failed = true;
    free(is_there);
}

static void put_more(size_t n, struct ks_buf *to)
{
    if (n > MOST_LEAKED)
        ks_buf_printf(to, "  and %zu more: --json lists all\n", n - MOST_LEAKED);
}

enum { N_INPUTS = 3 };

/* The data that a report rests on. */
static void list_inputs(const struct job *j, struct ks_source_input inputs_out[N_INPUTS])
{
    inputs_out[0] = (struct ks_source_input){ "results", "validate", &j->data };
    inputs_out[1] = (struct ks_source_input){ "--ceiling", "validate --ceiling", &j->sweep };
    inputs_out[2] = (struct ks_source_input){ "--retime", "validate --retime", &j->again };
}

/* With --mixed: whatever was not measured as the model's training. */
static void put_others(const struct job *j, struct ks_buf *to)
{
    const struct ks_time_source *model = &j->eval.model.device, *other = &j->other.model.device;
    struct ks_source_input inputs[N_INPUTS];

    list_inputs(j, inputs);
    ks_sources_text(inputs, N_INPUTS, model, to);
    if (j->config->against && !ks_source_is_of(other, model)) {
        ks_buf_printf(to, "NOT OF THE MODEL'S SOURCE: --against %s is for ", j->config->against);
        ks_source_text(other, to);
        ks_buf_printf(to, "\n");
    }
}

static size_t count_outside(const struct ks_model *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->cells.n_problems; i++)
        n += m->is_outside[i];
    return n;
}

static void put_leaks(const struct job *j, struct ks_buf *to)
{
    const char *line = ks_buf_text(&j->left_out);

    ks_buf_printf(
        to,
        "leakage: %llu problems are also in the training data; they are left out of all figures\n",
        (unsigned long long)j->data.n_left_out);
    for (int i = 0; i < MOST_LEAKED && *line; i++) {
        size_t n = strcspn(line, "\n");

        ks_buf_printf(to, "  %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    put_more(j->data.n_left_out, to);
    put_others(j, to);
    put_coverage(&j->eval, to);
    ks_buf_printf(to,
                  "outside of the training range: %zu problems, which get the first instance of "
                  "their class's static order, as in a selector\n",
                  j->eval.n_outside);
    for (size_t i = 0, n = 0; i < j->eval.cells.n_problems && n < MOST_LEAKED; i++) {
        if (!j->eval.outside[i])
            continue;
        ks_buf_printf(to, "  %s: ", j->eval.outside[i]);
        ks_problem_canonical(&j->eval.cells.problems[i].problem, to);
        ks_buf_printf(to, "\n");
        n++;
    }
    put_more(j->eval.n_outside, to);
    if (j->eval.model.format >= 3)
        ks_buf_printf(to,
                      "in the cross-validation of the model: %zu of its %zu training problems\n",
                      count_outside(&j->eval.model), j->eval.model.cells.n_problems);
    ks_buf_printf(to, "\n");
}

static int put_text(const struct job *j, const struct gate *g, struct ks_buf *to,
                    struct ks_err *err)
{
    struct ks_scorecard_input in = ks_evaluation_input(&j->eval, 0);
    struct ks_worst *worst = calloc(MOST_WORST, sizeof(*worst));
    int n;

    if (!worst)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    n = ks_worst_find(&in, j->eval.is_training, j->eval.outside, worst, MOST_WORST, err);
    if (n >= 0) {
        put_leaks(j, to);
        ks_quality_text(&j->card, to);
        ks_networks_text(j->networks, j->config->network.n, to);
        if (j->config->retime.n)
            ks_retimed_text(&j->retimed, ks_chooser_name(j->card.i_best_baseline), &j->pair, to);
        ks_worst_text(worst, (size_t)n, j->file, to);
        if (j->config->against)
            put_gate(j, g, to);
    }
    free(worst);
    return n < 0 ? n : 0;
}

static void put_leaks_json(const struct job *j, struct ks_jw *w)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_jw_open(w, "leaked", '[');
    for (const char *line = ks_buf_text(&j->left_out); *line; line += *line == '\n') {
        const size_t n = strcspn(line, "\n");

        ks_buf_clear(&text);
        ks_buf_put(&text, line, n);
        ks_jw_str(w, NULL, ks_buf_text(&text));
        line += n;
    }
    ks_jw_close(w, ']');
    ks_jw_open(w, "outside", '[');
    for (size_t i = 0; i < j->eval.cells.n_problems; i++) {
        if (!j->eval.outside[i])
            continue;
        ks_buf_clear(&text);
        ks_problem_canonical(&j->eval.cells.problems[i].problem, &text);
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "problem", ks_buf_text(&text));
        ks_jw_str(w, "why", j->eval.outside[i]);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_buf_release(&text);
}

static int put_json(const struct job *j, const struct gate *g, struct ks_buf *to)
{
    struct ks_source_input inputs[N_INPUTS];
    struct ks_jw w;

    ks_jw_init(&w, to, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_u64(&w, "n_leaked", j->data.n_left_out);
    ks_jw_u64(&w, "n_outside", j->eval.n_outside);
    if (j->eval.model.format >= 3)
        ks_jw_u64(&w, "n_outside_in_training", count_outside(&j->eval.model));
    list_inputs(j, inputs);
    ks_sources_json(inputs, N_INPUTS, &j->eval.model.device, &w);
    put_leaks_json(j, &w);
    ks_quality_json(&j->card, "validation", &w);
    ks_networks_json(j->networks, j->config->network.n, "networks", &w);
    if (j->config->retime.n) {
        ks_retimed_json(&j->retimed, "retimed", &w);
        ks_retimed_json(&j->pair.model, "retimed_beside_baseline", &w);
        ks_retimed_json(&j->pair.baseline, "retimed_baseline", &w);
    }
    if (j->config->against) {
        ks_jw_open(&w, "against", '{');
        ks_jw_real(&w, "mean", g->mean);
        ks_jw_real(&w, "p10", g->p10);
        ks_jw_u64(&w, "n_slower", g->n_slower);
        ks_jw_bool(&w, "is_passed", g->is_passed);
        ks_jw_close(&w, '}');
    }
    ks_jw_close(&w, '}');
    ks_buf_u8(to, '\n');
    return 0;
}

static int print(const struct job *j, const struct gate *g, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = j->config->json ? put_json(j, g, &text) : put_text(j, g, &text, err);
    if (rc == 0)
        rc = ks_emit(&text, NULL, err);
    ks_buf_release(&text);
    return rc;
}

/* ---- the command ---- */

/* Results: those to evaluate with, or those of --ceiling. */
static int check_device(const struct job *j, const struct ks_dataset *d, const char *file,
                        struct ks_err *err)
{
    const struct ks_time_source *m = &j->eval.model.device;

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
    const struct ks_time_source *m = &j->eval.model.device, *other = &j->other.model.device;
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
    int rc = ks_dataset_read(&j->again, files->text, files->n, rules, err);

    return rc == 0 ? check_device(j, &j->again, files->text[0], err) : rc;
}

static int read_all(struct job *j, struct ks_err *err)
{
    const struct config *c = j->config;
    struct ks_dataset_rules rules = {
        .merge = c->merge, .where = c->where, .is_mixed = c->is_mixed, .left_out = &j->left_out
    };
    int rc = ks_evaluation_open(&j->eval, j->dir, c->n_threads, err);

    if (rc == 0 && c->against)
        rc = ks_evaluation_open(&j->other, c->against, c->n_threads, err);
    if (rc == 0 && c->against)
        rc = check_other(j, err);
    if (rc == 0 && c->problems)
        rc = ks_problem_set_read(&j->only, c->problems, "auto", false, err);
    rules.only = c->problems ? &j->only : NULL;
    rules.leave_out[0] = &j->eval.model.cells;
    rules.leave_out[1] = c->against ? &j->other.model.cells : NULL;
    if (rc == 0)
        rc = ks_dataset_read(&j->data, j->files, j->n_files, &rules, err);
    if (rc == 0)
        rc = check_device(j, &j->data, j->file, err);
    rules =
        (struct ks_dataset_rules){ .merge = c->merge, .where = c->where, .is_mixed = c->is_mixed };
    if (rc == 0 && c->retime.n)
        rc = read_again(j, &rules, err);
    if (rc == 0 && c->ceiling) {
        rc = ks_dataset_read(&j->sweep, &c->ceiling, 1, &rules, err);
        if (rc == 0)
            rc = check_device(j, &j->sweep, c->ceiling, err);
    }
    return rc;
}

static int weigh_networks(struct job *j, const struct ks_scorecard_input *in, struct ks_err *err)
{
    const struct ks_opt_list *lists = &j->config->network;
    int rc;

    j->networks = calloc(lists->n + 1, sizeof(*j->networks));
    rc = j->networks ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; rc == 0 && i < lists->n; i++) {
        struct ks_problem_set list;

        ks_problem_set_init(&list);
        rc = ks_problem_set_read(&list, lists->text[i], "auto", false, err);
        if (rc == 0)
            rc = ks_network_weigh(in, &list, lists->text[i], &j->networks[i], err);
        ks_problem_set_release(&list);
    }
    return rc;
}

/* Results of a job that measured the model's picks only say little of the baseline's: the two are
 * compared on the problems for which both have new times. */
static int retime(struct job *j, const struct ks_scorecard_input *in, struct ks_err *err)
{
    const struct ks_pick *model = in->picks[KS_BY_MODEL];
    const struct ks_pick *baseline = in->picks[j->card.i_best_baseline];
    int rc = ks_retime(in->cells, in->is_wanted, model, NULL, &j->again.cells, N_BOOTSTRAP,
                       in->seed, &j->retimed, err);

    if (rc < 0)
        return rc;
    rc = ks_retime(in->cells, in->is_wanted, model, baseline, &j->again.cells, N_BOOTSTRAP,
                   in->seed, &j->pair.model, err);
    if (rc == 0)
        rc = ks_retime(in->cells, in->is_wanted, baseline, model, &j->again.cells, N_BOOTSTRAP,
                       in->seed, &j->pair.baseline, err);
    return rc == KS_EINVAL ? 0 : rc;
}

static int evaluate_all(struct job *j, struct ks_err *err)
{
    const struct config *c = j->config;
    struct ks_scorecard_input in;
    int rc = ks_evaluation_run(&j->eval, j->dir, &j->data.cells, err);

    if (rc == 0 && c->ceiling)
        rc = ks_evaluation_ceiling(&j->eval, &j->sweep.cells, err);
    in = ks_evaluation_input(&j->eval, N_BOOTSTRAP);
    if (rc == 0)
        rc = ks_scorecard_make(&in, &j->card, err);
    if (rc == 0)
        rc = weigh_networks(j, &in, err);
    if (rc == 0 && c->retime.n)
        rc = retime(j, &in, err);
    if (rc == 0 && c->against)
        rc = ks_evaluation_run(&j->other, c->against, &j->data.cells, err);
    in = ks_evaluation_input(&j->other, 0);
    if (rc == 0 && c->against)
        rc = ks_scorecard_make(&in, &j->other_card, err);
    return rc;
}

static void release(struct job *j)
{
    ks_scorecard_release(&j->card);
    ks_scorecard_release(&j->other_card);
    ks_evaluation_release(&j->eval);
    ks_evaluation_release(&j->other);
    ks_dataset_release(&j->data);
    ks_dataset_release(&j->sweep);
    ks_dataset_release(&j->again);
    ks_buf_release(&j->left_out);
    ks_problem_set_release(&j->only);
    free(j->networks);
}

static int write_retime(const struct job *j, struct ks_buf *notes, struct ks_err *err)
{
    const struct ks_retime_want want = { .cells = &j->eval.cells,
                                         .is_wanted = j->eval.is_wanted,
                                         .picks = { j->eval.picks[KS_BY_MODEL],
                                                    j->eval.picks[j->card.i_best_baseline] },
                                         .files = j->files,
                                         .n_files = j->n_files };

    return ks_retime_job_write(j->config->write_retime, &want, notes, err);
}

static void note_mixed(const struct job *j, struct ks_buf *notes)
{
    struct ks_source_input inputs[N_INPUTS];

    list_inputs(j, inputs);
    for (int k = 0; k < N_INPUTS; k++)
        ks_dataset_note_mixed(inputs[k].data, inputs[k].command, notes);
}

static int validate(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                    struct ks_err *err)
{
    const struct config *c = cfg;
    struct job j = { .config = c,
                     .dir = operands[0],
                     .file = operands[1],
                     .files = operands + 1,
                     .n_files = (size_t)n - 1 };
    struct gate g = { .is_passed = true };
    int rc;

    if (c->merge == KS_MERGE_ALL)
        return ks_fail(err, KS_EINVAL,
                       "--merge all: validation needs one time per cell; use newest or median");
    ks_buf_init(&j.left_out);
    ks_problem_set_init(&j.only);
    rc = read_all(&j, err);
    if (rc == 0)
        rc = evaluate_all(&j, err);
    if (rc == 0 && c->against)
        compare(&j, &g);
    if (rc == 0 && c->write_retime)
        rc = write_retime(&j, notes, err);
    if (rc == 0)
        rc = print(&j, &g, err);
    if (rc == 0)
        note_mixed(&j, notes);
    if (rc == 0 && !(j.card.is_useful && g.is_passed))
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
