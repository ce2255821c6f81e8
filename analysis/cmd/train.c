/* SPDX-License-Identifier: MIT */
/* train.c - ksweep-analyze train: cross-validates settings, trains and writes a model */
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/dataset.h"
#include "analysis/cmd/warm.h"
#include "analysis/data/view.h"
#include "analysis/learn/scorecard.h"
#include "analysis/model/model_dir.h"
#include "analysis/model/source.h"
#include "analysis/out/quality.h"
#include "analysis/out/result.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/file.h"
#include "base/new_dir.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_BOOTSTRAP = 1000 };

struct config {
    const char *output, *problems, *warm;
    struct ks_opt_list where;
    unsigned merge;
    bool is_mixed, has_class_folds, use_counts, use_lost;
    uint32_t n_folds, n_threads, n_settings, max_rounds, budget_ms;
    uint64_t seed, search_problems;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "DIR",
      .help = "directory for the model; must not exist yet" },
    { .name = "warm",
      .type = KS_OPT_STR,
      .offset = AT(warm),
      .arg = "MODEL",
      .help = "continue training this model on new problems: its trees, target and "
              "feature_spec.json are kept (the new problems widen its range), further trees are "
              "fitted to the remaining error" },
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
          "accept rows of several device classes, conditions or schema versions; a problem that "
          "has several keeps the rows of the one with most rows" },
    { .name = "folds",
      .type = KS_OPT_U32,
      .offset = AT(n_folds),
      .def = "5",
      .min = 3,
      .max = KS_MAX_FOLDS,
      .arg = "N",
      .help = "number of cross-validation folds; the rows of a problem stay together" },
    { .name = "class-folds",
      .type = KS_OPT_BOOL,
      .offset = AT(has_class_folds),
      .def = "yes",
      .help = "also cross-validate by leaving out each shape class in turn" },
    { .name = "settings",
      .type = KS_OPT_U32,
      .offset = AT(n_settings),
      .def = "4",
      .min = 1,
      .max = 6,
      .arg = "N",
      .help = "number of settings (targets, depths) that inner folds choose from; the first 4 are "
              "one per target" },
    { .name = "rounds",
      .type = KS_OPT_U32,
      .offset = AT(max_rounds),
      .def = "500",
      .min = 1,
      .max = 10000,
      .arg = "N",
      .help = "maximum number of trees in the search" },
    { .name = "search-problems",
      .type = KS_OPT_U64,
      .offset = AT(search_problems),
      .def = "2000",
      .arg = "N",
      .help = "maximum number of problems in the sample on which settings are chosen; 0: all. With "
              "more problems than that the model has more and larger trees" },
    { .name = "budget",
      .type = KS_OPT_DURATION_MS,
      .offset = AT(budget_ms),
      .def = "0",
      .arg = "TIME",
      .help = "time limit for growing trees: the search of settings stops after half of it, the "
              "folds' models after three quarters, the model at its end, each with at least one "
              "tree; 0: no limit. Reading results, computing features and scoring are not "
              "limited. The result of a training that was stopped depends on the speed of the "
              "machine" },
    { .name = "weigh-uses",
      .type = KS_OPT_BOOL,
      .offset = AT(use_counts),
      .def = "no",
      .help = "weight problems by their use counts" },
    { .name = "lost",
      .type = KS_OPT_BOOL,
      .offset = AT(use_lost),
      .def = "yes",
      .help = "also train on instances that failed or that a truncated list leaves out, as ten "
              "times slower than the best" },
    { .name = "seed",
      .type = KS_OPT_U64,
      .offset = AT(seed),
      .def = "1",
      .arg = "N",
      .max = 2147483647,
      .help = "seed for folds and trees" },
    { .name = "threads",
      .type = KS_OPT_U32,
      .offset = AT(n_threads),
      .def = "2",
      .min = 1,
      .max = 1024,
      .arg = "N",
      .help = "number of threads; the same seed and number of threads give the same model, byte "
              "for byte" },
    KS_OPT_END
};
#undef AT

/* ---- progress ---- */

struct clock {
    uint64_t phase_ns, told_ns, called_ns;
    const char *phase;
};

static void tell(void *ctx, const char *phase, double done)
{
    struct clock *c = ctx;
    uint64_t now = ks_now_ns();
    double spent;

    if (phase != c->phase) {
        c->phase = phase;
        c->phase_ns = c->called_ns; /* the end of the phase before */
    }
    c->called_ns = now;
    spent = (double)(now - c->phase_ns) / 1e9;
    if (now - c->told_ns < 5000000000ull || done <= 0)
        return;
    c->told_ns = now;
    fprintf(stderr, "ksweep-analyze train: %s, %.0f %%, about %.0f s left of this phase\n", phase,
            100 * done, spent * (1 - done) / done);
}

/* ---- results ---- */

struct job {
    const struct config *config;
    struct ks_dataset data;
    struct ks_warm warm; /* of --warm */
    struct ks_spec_source from;
    struct ks_fx_device *devices; /* of from */
    uint32_t *device_of;          /* likewise */
    struct ks_feature_source source;
    struct ks_fit_input in;
    struct ks_train_options options;
    struct ks_trained trained;
    struct ks_scorecard card;
};

static int score(struct job *j, struct ks_err *err)
{
    const struct ks_cells *c = &j->data.cells;
    const struct ks_trained *t = &j->trained;
    struct ks_scorecard_input in = { .cells = c,
                                     .picks = t->picks,
                                     .class_picks = t->has_classes ? t->class_picks : NULL,
                                     .has_class_pick = t->has_class_pick,
                                     .n_bootstrap = N_BOOTSTRAP,
                                     .seed = j->in.seed };
    bool *all = malloc(c->n_problems + 1);
    int rc;

    if (!all)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);
    for (size_t i = 0; i < c->n_problems; i++)
        all[i] = true;
    in.is_wanted = all;
    rc = ks_scorecard_make(&in, &j->card, err);
    free(all);
    return rc;
}

static void put_report(const struct job *j, struct ks_buf *to)
{
    const struct ks_setting *settings;
    const struct ks_tried *last = &j->trained.last;

    ks_settings(&settings);
    ks_buf_printf(to, "cross-validated: %u folds by problem, settings chosen by inner folds\n",
                  j->options.n_folds);
    ks_buf_printf(
        to,
        "outside of the range of their fold's training: %zu problems, which get the first "
        "instance of their class's static order\n",
        j->trained.n_outside);
    if (j->config->warm)
        ks_buf_printf(
            to,
            "continues %s (%zu trees, %zu problems); evaluated on the new problems, beside "
            "baselines that know these only: validate tells whether the model beats "
            "them\n",
            j->config->warm, j->warm.n_trees, j->warm.model.cells.n_problems);
    ks_buf_printf(
        to,
        "model: target %s, %zu trees of up to %u leaves, %zu features, %zu instances, %zu "
        "cells; ",
        ks_target_name(settings[last->setting].target), j->warm.n_trees + last->rounds,
        last->leaves ? last->leaves : 1u << last->depth, j->trained.features.n_cols,
        j->data.cells.n_instances, j->data.cells.n);
    ks_quality_text(&j->card, to);
}

/* in, t: with the problems of the model that is continued. */
static int write_files(const struct job *j, const struct ks_model_about *about,
                       const struct ks_fit_input *in, const struct ks_trained *t,
                       struct ks_err *err)
{
    struct ks_buf spec, metrics;
    struct ks_jw w;
    int rc;

    ks_buf_init(&spec);
    ks_buf_init(&metrics);
    ks_feature_spec_write(ks_spec_of(&t->features), &spec);
    ks_jw_init(&w, &metrics, true);
    ks_quality_json(&j->card, NULL, &w);
    ks_buf_u8(&metrics, '\n');
    rc = ks_model_write(j->config->output, in, &j->options, t, about, &spec, &metrics, err);
    ks_buf_release(&spec);
    ks_buf_release(&metrics);
    return rc;
}

static int write_continued(const struct job *j, struct ks_model_about *about, struct ks_err *err)
{
    struct ks_fit_input in = j->in;
    struct ks_warm_union both = { 0 };
    int rc = ks_warm_unite(&j->warm, &j->data, &j->trained, &both, err);

    in.cells = &both.cells;
    about->device = &j->warm.model.device;
    about->sources = both.sources.sources;
    about->n_sources = both.sources.n_sources;
    about->start_name = ks_path_base(j->config->warm);
    about->start_digest = j->warm.digest;
    about->start_problems = j->warm.model.cells.n_problems;
    about->start_trees = j->warm.n_trees;
    if (rc == 0)
        rc = write_files(j, about, &in, &both.trained, err);
    ks_warm_union_release(&both);
    return rc;
}

static int write_model(struct job *j, struct ks_err *err)
{
    const struct config *c = j->config;
    struct ks_model_file *files = calloc(j->data.n_files + 1, sizeof(*files));
    struct ks_model_about about = { .files = files,
                                    .n_files = j->data.n_files,
                                    .program = "ksweep-analyze " KSWEEP_VERSION,
                                    .device = j->data.mixed.sources,
                                    .sources = j->data.mixed.sources,
                                    .n_sources = j->data.mixed.n_sources,
                                    .where = c->where.text,
                                    .n_where = c->where.n,
                                    .is_mixed = c->is_mixed,
                                    .n_other_sources = j->data.mixed.n_rows };
    int rc;

    if (!files)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; i < j->data.n_files; i++) {
        const struct ks_dataset_file *f = &j->data.files[i];

        files[i] = (struct ks_model_file){ ks_path_base(f->path), f->digest, f->schema_major,
                                           f->schema_minor,       f->n_rows, f->n_usable };
    }
    rc = c->warm ? write_continued(j, &about, err)
                 : write_files(j, &about, &j->in, &j->trained, err);
    free(files);
    return rc;
}

static int print(const struct job *j, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    put_report(j, &text);
    rc = ks_emit(&text, NULL, err);
    ks_buf_release(&text);
    return rc;
}

/* ---- the command ---- */

/* The devices of the sources; before them that of a model that is continued, whose class has its
 * specification. */
static int prepare_features(struct job *j, struct ks_err *err)
{
    const struct ks_mixed *m = &j->data.mixed;
    const bool is_warm = j->config->warm != NULL;
    uint32_t n = is_warm ? 1 : 0;

    j->devices = calloc(m->n_sources + 1, sizeof(*j->devices));
    j->device_of = calloc(m->n_sources + 1, sizeof(*j->device_of));
    if (!j->devices || !j->device_of)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu sources", m->n_sources);
    for (size_t i = 0; i < m->n_sources; i++) {
        const struct ks_time_source *s = &m->sources[i];

        if (is_warm && ks_time_source_is_same(s, &j->warm.model.device))
            continue;
        j->devices[n] = ks_feature_device(s->arch, s->n_units);
        j->device_of[i] = n++;
    }
    j->from = (struct ks_spec_source){ .traits = &j->data.traits,
                                       .given = is_warm ? &j->warm.spec : NULL,
                                       .known = is_warm ? &j->warm.model.cells : NULL,
                                       .devices = j->devices,
                                       .n_devices = n,
                                       .device_of = j->device_of };
    j->source = ks_spec_source(&j->from);
    return 0;
}

static void prepare(struct job *j, struct clock *clock)
{
    const struct config *c = j->config;

    j->in = (struct ks_fit_input){ .cells = &j->data.cells,
                                   .source = &j->source,
                                   .n_threads = c->n_threads,
                                   .seed = c->seed,
                                   .use_counts = c->use_counts,
                                   .use_lost = c->use_lost,
                                   .start = c->warm ? &j->warm.trees : NULL,
                                   .known = c->warm ? &j->warm.model.cells : NULL };
    j->options = (struct ks_train_options){ .n_folds = c->n_folds,
                                            .n_settings = c->n_settings,
                                            .max_rounds = c->max_rounds,
                                            .patience = 60,
                                            .search_problems = (size_t)c->search_problems,
                                            .budget_s = c->budget_ms / 1e3,
                                            .has_class_folds = c->has_class_folds && !c->warm,
                                            .has_target = c->warm != NULL,
                                            .target = j->warm.model.target,
                                            .ctx = clock,
                                            .progress = tell };
}

static void note(const struct job *j, struct ks_buf *notes)
{
    const struct ks_dataset *d = &j->data;

    ks_buf_printf(notes,
                  "ksweep-analyze train: %llu rows: %llu without a usable time, %llu filtered out, "
                  "%zu replaced by later ones; %zu problems, %zu instances\n",
                  (unsigned long long)d->n_rows, (unsigned long long)d->n_unusable,
                  (unsigned long long)d->n_filtered, d->cells.n_replaced, d->cells.n_problems,
                  d->cells.n_instances);
    ks_dataset_note_mixed(d, "train", notes);
    if (d->n_left_out)
        ks_buf_printf(notes,
                      "ksweep-analyze train: %llu problems left out: %s was trained on them\n",
                      (unsigned long long)d->n_left_out, j->config->warm);
    if (j->trained.is_cut)
        ks_buf_printf(notes,
                      "ksweep-analyze train: the time limit (--budget) ended the search after %zu "
                      "settings; another run may choose a different one\n",
                      j->trained.n_tried);
    if (j->trained.is_fit_cut)
        ks_buf_printf(notes,
                      "ksweep-analyze train: the time limit (--budget) ended the growth of trees; "
                      "the model has %u rounds of them, and another run may have more or fewer\n",
                      j->trained.last.rounds);
}

static int check(const struct config *c, struct ks_err *err)
{
    if (!c->output)
        return ks_fail(err, KS_EINVAL, "-o DIR is missing: the directory for the model");
    if (c->merge == KS_MERGE_ALL)
        return ks_fail(err, KS_EINVAL,
                       "--merge all: a model needs one time per cell; use newest or median");
    return ks_new_dir_check(c->output, err);
}

static int read_data(struct job *j, const char *const *files, size_t n, struct ks_err *err)
{
    const struct config *c = j->config;
    struct ks_dataset_rules rules = { .merge = c->merge,
                                      .where = c->where,
                                      .is_mixed = c->is_mixed };
    const struct ks_cells *cells = &j->data.cells;
    struct ks_problem_set only;
    int rc = 0;

    ks_problem_set_init(&only);
    if (c->warm) {
        rc = ks_warm_open(&j->warm, c->warm, c->n_threads, err);
        rules.leave_out[0] = &j->warm.model.cells;
    }
    if (rc == 0 && c->problems)
        rc = ks_problem_set_read(&only, c->problems, "auto", false, err);
    rules.only = c->problems ? &only : NULL;
    if (rc == 0)
        rc = ks_dataset_read(&j->data, files, n, &rules, err);
    if (rc == 0 && cells->n_instances < 2)
        rc = ks_fail(
            err, KS_EINVAL,
            "%s: all usable rows belong to one instance, '%s', so there is nothing to choose",
            files[0], cells->instances[0].name);
    if (rc == 0 && c->warm)
        rc = ks_warm_check(&j->warm, c->warm, &j->data, c->is_mixed, err);
    ks_problem_set_release(&only);
    return rc;
}

static void release(struct job *j)
{
    ks_scorecard_release(&j->card);
    ks_trained_release(&j->trained, &j->source);
    ks_dataset_release(&j->data);
    ks_warm_release(&j->warm);
    free(j->devices);
    free(j->device_of);
}

static int train(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                 struct ks_err *err)
{
    const uint64_t now = ks_now_ns();
    struct clock clock = { now, now, now, "" };
    struct job j = { .config = cfg };
    int rc = check(cfg, err);

    if (rc == 0)
        rc = read_data(&j, operands, (size_t)n, err);
    if (rc == 0)
        rc = prepare_features(&j, err);
    if (rc == 0) {
        prepare(&j, &clock);
        rc = ks_train(&j.in, &j.options, &j.trained, err);
    }
    if (rc == 0)
        rc = score(&j, err);
    if (rc == 0)
        rc = write_model(&j, err);
    if (rc == 0)
        rc = print(&j, err);
    if (rc == 0)
        note(&j, notes);
    if (rc == 0 && !j.card.is_useful)
        rc = KS_EXIT_LOOK;
    release(&j);
    return rc;
}

const struct ks_analysis ks_analysis_train = {
    .name = "train",
    .summary = "Train a model that picks an instance, and report cross-validated figures.",
    .usage = "train FILE|DIR... -o DIR [--warm MODEL] [--where NAME=VALUE]... [--folds N] "
             "[--settings N] [--seed N] [--threads N]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 0,
    .run = train,
};
