/* SPDX-License-Identifier: MIT */
/* select.c - ksweep-analyze select: writes a model as C source with its header and test */
#include "analysis/cmd/analyze.h"
#include "analysis/learn/objective.h"
#include "analysis/model/model_dir.h"
#include "analysis/model/selector.h"
#include "base/file.h"
#include "base/new_dir.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Problems of training that the selector's own test holds. */
#define CASES 500

static const char *const sizes[] = { "full", "budgeted", "distilled", NULL }; /* ks_sel_size */

struct config {
    const char *output, *name;
    unsigned size;
    uint32_t smallest;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "DIR",
      .help = "directory for the source files; must not exist yet" },
    { .name = "size",
      .type = KS_OPT_ENUM,
      .offset = AT(size),
      .def = "full",
      .choices = sizes,
      .arg = "SIZE",
      .help = "full: all trees for every candidate; budgeted: a decision table selects a few "
              "candidates, and trees choose among them; distilled: only the decision table" },
    { .name = "smallest",
      .type = KS_OPT_U32,
      .offset = AT(smallest),
      .def = "0",
      .max = 4096,
      .arg = "K",
      .help = "use at most K instances: the smallest set whose best is at most 1 % slower than the "
              "best of all; 0: all instances" },
    { .name = "name",
      .type = KS_OPT_STR,
      .offset = AT(name),
      .def = "selector",
      .arg = "NAME",
      .help = "name of the files and prefix of the functions: a C identifier" },
    KS_OPT_END
};
#undef AT

/* ---- a model and its selector ---- */

struct job {
    const struct config *config;
    struct ks_model model;
    struct ks_feature_spec spec;
    struct ks_selector selector;
    char dir[KS_NEW_DIR_BYTES]; /* temporary, beside the result */
};

static void job_release(struct job *j)
{
    ks_selector_release(&j->selector);
    ks_feature_spec_release(&j->spec);
    ks_model_release(&j->model);
}

static int load(struct job *j, const char *dir, struct ks_err *err)
{
    const struct ks_selector_options o = { j->config->size, j->config->smallest };
    struct ks_forest forest = { 0 };
    char trees[4096];
    int rc = ks_model_read(dir, 1, &j->model, err);

    rc = rc == 0 ? ks_model_read_spec(&j->model, dir, &j->spec, err) : rc;
    rc = rc == 0 ? ks_path_join(trees, sizeof(trees), dir, "model.json", err) : rc;
    rc = rc == 0 ? ks_forest_read(trees, &forest, err) : rc;
    if (rc == 0)
        rc = ks_selector_create(&j->spec, &forest, j->model.target, &j->model.cells, j->model.fold,
                                &o, &j->selector, err);
    if (rc == 0)
        ks_selector_calibrate(&j->selector, &j->model.cells, j->model.scores);
    ks_forest_release(&forest);
    return rc < 0 ? ks_err_context(err, rc, "model '%s'", dir) : 0;
}

/* ---- report ---- */

static void put_line(struct ks_buf *to, const char *what, const struct ks_selector_line *l)
{
    ks_buf_printf(to, "%-44s %7.4f %7.4f   %7.4f %7.4f\n", what, l->mean[0], l->p10[0], l->mean[1],
                  l->mean[2]);
}

static int put_unseen(struct job *j, struct ks_buf *to, struct ks_err *err)
{
    const struct ks_selector *s = &j->selector;
    const struct ks_cells *c = &j->model.cells;
    struct ks_selector_line l;
    int rc = ks_selector_score(s, c, j->model.scores, j->model.is_outside, false, &l, err);

    if (rc == 0)
        put_line(to, "unseen problems, all trees (full)", &l);
    if (rc == 0 && s->model.size != KS_SEL_FULL) {
        rc = ks_selector_score(s, c, j->model.scores, j->model.is_outside, true, &l, err);
        if (rc == 0)
            put_line(to, "unseen problems, table and trees (budgeted)", &l);
    }
    if (rc == 0 && s->model.size != KS_SEL_FULL) {
        rc = ks_selector_score(s, c, NULL, j->model.is_outside, true, &l, err);
        if (rc == 0)
            put_line(to, "unseen problems, table only (distilled)", &l);
    }
    return rc;
}

static void put_smallest(const struct job *j, struct ks_buf *to)
{
    const struct ks_selector *s = &j->selector;

    if (s->n_smallest)
        ks_buf_printf(to, "\ninstances  efficiency of the best of them, instance added\n");
    for (uint32_t i = 0; i < s->n_smallest; i++)
        ks_buf_printf(to, "%9u  %.4f %s\n", i + 1, 1 - s->smallest_loss[i],
                      j->spec.instances[s->smallest[i]].name);
}

static int put_report(struct job *j, struct ks_buf *to, struct ks_err *err)
{
    const struct ks_selector *s = &j->selector;
    struct ks_selector_line l;
    int rc;

    ks_buf_printf(to, "%s selector: %u candidates", sizes[s->model.size], s->model.n_instances);
    if (s->model.size != KS_SEL_DISTILLED)
        ks_buf_printf(to, ", %u of %u trees, %zu features", s->model.n_trees, s->forest.n_trees,
                      j->spec.n_features);
    if (s->model.splits)
        ks_buf_printf(to, ", table of %zu leaves with %u candidates", s->table.n_lists,
                      s->table.width);
    ks_buf_printf(
        to,
        "\n\nefficiency among measured candidates of %zu problems; the best of the first k "
        "picks\n%-44s  mean 1   P10 1    mean 2  mean 4\n",
        j->model.cells.n_problems, "");
    rc = put_unseen(j, to, err);
    if (rc == 0)
        rc = ks_selector_try(s, &j->model.cells, true, &l, err);
    if (rc == 0)
        put_line(to, "training problems, this selector", &l);
    if (rc == 0)
        rc = ks_selector_try(s, &j->model.cells, false, &l, err);
    if (rc == 0)
        put_line(to, "training problems, all candidates, unmeasured = 0", &l);
    put_smallest(j, to);
    return rc;
}

/* ---- files ---- */

/* b is empty afterwards. */
static int put_file(const struct job *j, const char *before, const char *after, struct ks_buf *b,
                    struct ks_err *err)
{
    char name[256];
    int rc;

    snprintf(name, sizeof(name), "%s%s%s", before, j->config->name, after);
    rc = ks_new_dir_put(j->dir, name, b, err);
    ks_buf_clear(b);
    return rc;
}

static int put_exports(struct job *j, struct ks_buf *b, struct ks_err *err)
{
    const char **names = calloc(j->spec.n_features + 1, sizeof(*names));
    int rc;

    if (!names)
        return ks_fail(err, KS_ENOMEM, "out of memory for names of features");
    for (size_t i = 0; i < j->spec.n_features; i++)
        names[i] = j->spec.features[i].name;
    ks_forest_write_lightgbm(&j->selector.forest, names, b);
    rc = put_file(j, "", ".lightgbm.txt", b, err);
    if (rc == 0) {
        ks_forest_write_xgboost(&j->selector.forest, names, b);
        rc = put_file(j, "", ".xgboost.json", b, err);
    }
    free(names);
    return rc;
}

/* The problem with a dimension beyond the range of training. */
static struct ks_problem beyond(const struct ks_selector *s, struct ks_problem p)
{
    const int dim = ks_problem_dim(p.op, "n");

    if (dim >= 0 && s->most[dim] < 1e9)
        p.dim[dim] = 2 * (int64_t)s->most[dim] + 1;
    return p;
}

/* Of training, and every fourth of them once more, outside of its range. */
static int put_test(struct job *j, struct ks_buf *b, struct ks_err *err)
{
    const struct ks_cells *c = &j->model.cells;
    const size_t n = c->n_problems < CASES ? c->n_problems : CASES;
    struct ks_problem *problems = calloc(2 * n + 1, sizeof(*problems));
    size_t n_all = n;

    if (!problems)
        return ks_fail(err, KS_ENOMEM, "out of memory for the selector's test");
    for (size_t i = 0; i < n; i++) {
        problems[i] = c->problems[i * c->n_problems / n].problem;
        if (i % 4 == 0)
            problems[n_all++] = beyond(&j->selector, problems[i]);
    }
    ks_selector_write_test(&j->selector, j->config->name, problems, n_all, b);
    free(problems);
    return put_file(j, "test_", ".c", b, err);
}

static int put_all(struct job *j, const struct ks_buf *report, struct ks_err *err)
{
    struct ks_buf b;
    int rc;

    ks_buf_init(&b);
    ks_selector_write_header(&j->selector, j->config->name, &b);
    rc = put_file(j, "", ".h", &b, err);
    if (rc == 0) {
        ks_selector_write_source(&j->selector, j->config->name, &b);
        rc = put_file(j, "", ".c", &b, err);
    }
    rc = rc == 0 ? put_test(j, &b, err) : rc;
    rc = rc == 0 ? put_exports(j, &b, err) : rc;
    if (rc == 0) {
        ks_buf_put(&b, report->data, report->len);
        rc = put_file(j, "", ".report.txt", &b, err);
    }
    ks_buf_release(&b);
    return rc;
}

static int write_dir(struct job *j, const struct ks_buf *report, struct ks_err *err)
{
    const char *dir = j->config->output;
    int rc = ks_new_dir_begin(dir, j->dir, err);

    return rc == 0 ? ks_new_dir_end(dir, j->dir, put_all(j, report, err), err) : rc;
}

/* ---- the command ---- */

static int check(const struct config *c, struct ks_err *err)
{
    const char *p = c->name;
    bool is_name = isalpha((unsigned char)*p) || *p == '_';

    for (; is_name && *p; p++)
        is_name = isalnum((unsigned char)*p) || *p == '_';
    if (!is_name || strlen(c->name) > 48)
        return ks_fail(err, KS_EINVAL, "--name '%s' is not a C identifier of at most 48 characters",
                       c->name);
    if (!c->output || !*c->output)
        return ks_fail(err, KS_EINVAL, "-o DIR is missing: the directory for the source files");
    return ks_new_dir_check(c->output, err);
}

static int select_instances(const void *cfg, const char *const *operands, int n,
                            struct ks_buf *notes, struct ks_err *err)
{
    struct job j = { .config = cfg };
    struct ks_buf report;
    int rc = check(cfg, err);

    (void)n;
    (void)notes;
    ks_buf_init(&report);
    rc = rc == 0 ? load(&j, operands[0], err) : rc;
    rc = rc == 0 ? put_report(&j, &report, err) : rc;
    rc = rc == 0 ? write_dir(&j, &report, err) : rc;
    if (rc == 0)
        fputs(ks_buf_text(&report), stdout);
    ks_buf_release(&report);
    job_release(&j);
    return rc;
}

const struct ks_analysis ks_analysis_select = {
    .name = "select",
    .summary = "Write a model as C source that picks an instance, to link into a library.",
    .usage = "select MODEL -o DIR [--size full|budgeted|distilled] [--smallest K] [--name NAME]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = select_instances,
};
