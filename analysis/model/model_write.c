/* SPDX-License-Identifier: MIT */
/* model_write.c - writes a model directory under a temporary name, then renames it */
#include "analysis/model/model_dir.h"
#include "base/hash.h"
#include "base/new_dir.h"
#include "base/text.h"
#include "grid/problem_class.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    const struct ks_fit_input *in;
    const struct ks_train_options *options;
    const struct ks_trained *t;
    const struct ks_model_about *about;
    char dir[KS_NEW_DIR_BYTES]; /* a temporary one */
};

static int put_file(const struct writer *w, const char *name, const struct ks_buf *text,
                    struct ks_err *err)
{
    return ks_new_dir_put(w->dir, name, text, err);
}

/* ---- CSV ---- */

static int put_problems(const struct writer *w, struct ks_buf *to, struct ks_err *err)
{
    const struct ks_cells *c = w->in->cells;

    ks_buf_printf(to, "problem_id,fold,class,uses,is_outside,canonical\n");
    for (size_t i = 0; i < c->n_problems; i++) {
        const struct ks_cell_problem *p = &c->problems[i];

        ks_buf_printf(to, "%016llx,%u,%s,%lld,%d,", (unsigned long long)p->problem.id,
                      w->t->fold[i], ks_problem_class_name(p->class_id),
                      (long long)p->problem.count, w->t->is_outside[i]);
        ks_problem_canonical(&p->problem, to);
        ks_buf_printf(to, "\n");
    }
    return put_file(w, "problems.csv", to, err);
}

static int put_instances(const struct writer *w, struct ks_buf *to, struct ks_err *err)
{
    const struct ks_cells *c = w->in->cells;

    ks_buf_printf(to, "instance_id,n_cells,name\n");
    for (size_t i = 0; i < c->n_instances; i++) {
        ks_buf_printf(to, "%016llx,%zu,", (unsigned long long)c->instances[i].id,
                      c->instances[i].n_cells);
        ks_csv_put(to, c->instances[i].name);
        ks_buf_printf(to, "\n");
    }
    return put_file(w, "instances.csv", to, err);
}

static int put_oof(const struct writer *w, struct ks_buf *to, struct ks_err *err)
{
    const struct ks_cells *c = w->in->cells;

    ks_buf_printf(to, "problem_id,fold,instance_id,time_ns,se_ns,score,is_best,is_pick\n");
    for (size_t i = 0; i < c->n; i++) {
        const struct ks_timed_cell *cell = &c->cells[i];
        const struct ks_cell_problem *p = &c->problems[cell->problem];
        char time[32], se[32], score[32] = ""; /* empty: no model of another fold has one */

        ks_f64_text(cell->time_ns, time);
        ks_f64_text(cell->se_ns, se);
        if (!isnan(w->t->scores[i]))
            snprintf(score, sizeof(score), "%.9g", (double)w->t->scores[i]);
        ks_buf_printf(to, "%016llx,%u,%016llx,%s,%s,%s,%d,%d\n", (unsigned long long)p->problem.id,
                      w->t->fold[cell->problem],
                      (unsigned long long)c->instances[cell->instance].id, time, se, score,
                      i == p->best, i == w->t->picks[KS_BY_MODEL][cell->problem].cell);
    }
    return put_file(w, "oof.csv", to, err);
}

static int put_importances(const struct writer *w, struct ks_buf *to, struct ks_err *err)
{
    const struct ks_featurizer *f = &w->t->features;
    double *gain = malloc((f->n_cols + 1) * sizeof(*gain));
    int rc = gain ? ks_booster_gain(w->t->fit.booster, f->names, f->n_cols, gain, err)
                  : ks_fail(err, KS_ENOMEM, "out of memory for %zu features", f->n_cols);

    ks_buf_printf(to, "feature,total_gain\n");
    for (size_t i = 0; rc == 0 && i < f->n_cols; i++) {
        ks_csv_put(to, f->names[i]);
        ks_buf_printf(to, ",%.9g\n", gain[i]);
    }
    free(gain);
    return rc == 0 ? put_file(w, "importances.csv", to, err) : rc;
}

/* ---- manifest.json ---- */

static void put_data(const struct ks_model_about *a, struct ks_jw *w)
{
    ks_jw_open(w, "data", '[');
    for (size_t i = 0; i < a->n_files; i++) {
        const struct ks_model_file *f = &a->files[i];
        char schema[48];

        snprintf(schema, sizeof(schema), "%llu.%llu", (unsigned long long)f->schema_major,
                 (unsigned long long)f->schema_minor);
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "file", f->name);
        ks_jw_str(w, "sha256", f->digest);
        ks_jw_str(w, "schema", schema);
        ks_jw_u64(w, "n_rows", f->n_rows);
        ks_jw_u64(w, "n_usable", f->n_usable);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_jw_open(w, "where", '[');
    for (size_t i = 0; i < a->n_where; i++)
        ks_jw_str(w, NULL, a->where[i]);
    ks_jw_close(w, ']');
}

static void put_device(const struct ks_time_source *s, struct ks_jw *w)
{
    ks_jw_id(w, "class_id", s->device_class);
    ks_jw_str(w, "arch", s->arch);
    ks_jw_str(w, "model", s->model);
    ks_jw_u64(w, "n_units", s->n_units);
}

static void put_sources(const struct ks_model_about *a, struct ks_jw *w)
{
    ks_jw_open(w, "device", '{');
    put_device(a->device, w);
    ks_jw_bool(w, "is_mixed", a->is_mixed);
    ks_jw_u64(w, "n_rows_of_other_sources", a->n_other_sources);
    ks_jw_close(w, '}');
    ks_jw_id(w, "condition_id", a->device->condition);
    ks_jw_open(w, "sources", '[');
    for (size_t i = 0; i < a->n_sources; i++) {
        ks_jw_open(w, NULL, '{');
        put_device(&a->sources[i], w);
        ks_jw_id(w, "condition_id", a->sources[i].condition);
        ks_jw_bool(w, "is_over_rounds", a->sources[i].is_over_rounds);
        ks_jw_u64(w, "n_problems", a->sources[i].n_problems);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
}

static void put_start(const struct ks_model_about *a, struct ks_jw *w)
{
    if (!a->start_name)
        return;
    ks_jw_open(w, "continued", '{');
    ks_jw_str(w, "model", a->start_name);
    ks_jw_str(w, "model_sha256", a->start_digest);
    ks_jw_u64(w, "n_problems", a->start_problems);
    ks_jw_u64(w, "n_trees", a->start_trees);
    ks_jw_close(w, '}');
}

static void put_tried(struct ks_jw *w, const struct ks_tried *t)
{
    const struct ks_setting *settings, *s;

    ks_settings(&settings);
    s = &settings[t->setting];
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "target", ks_target_name(s->target));
    ks_jw_u64(w, "depth", t->depth);
    ks_jw_u64(w, "leaves", t->leaves ? t->leaves : 1u << t->depth);
    ks_jw_u64(w, "max_bin", s->max_bin);
    ks_jw_real(w, "eta", s->eta);
    ks_jw_real(w, "min_child_weight", s->min_child);
    ks_jw_real(w, "subsample", s->subsample);
    ks_jw_real(w, "colsample", s->colsample);
    ks_jw_real(w, "lambda", s->lambda);
    ks_jw_u64(w, "parallel_trees", s->n_parallel);
    ks_jw_u64(w, "rounds", t->rounds);
    ks_jw_real(w, "loss", t->loss);
    ks_jw_close(w, '}');
}

static void put_search(const struct writer *w, struct ks_jw *j)
{
    const struct ks_trained *t = w->t;

    ks_jw_u64(j, "n_folds", w->options->n_folds);
    ks_jw_u64(j, "patience", w->options->patience);
    ks_jw_u64(j, "max_rounds", w->options->max_rounds);
    ks_jw_u64(j, "search_problems", w->options->search_problems);
    ks_jw_bool(j, "is_search_cut_by_budget", t->is_cut);
    ks_jw_bool(j, "is_fit_cut_by_budget", t->is_fit_cut);
    ks_jw_open(j, "model", '[');
    put_tried(j, &t->last);
    ks_jw_close(j, ']');
    ks_jw_open(j, "folds", '[');
    for (uint32_t i = 0; i < w->options->n_folds; i++)
        put_tried(j, &t->chosen[i]);
    ks_jw_close(j, ']');
    ks_jw_open(j, "tried", '[');
    for (size_t i = 0; i < t->n_tried; i++)
        put_tried(j, &t->tried[i]);
    ks_jw_close(j, ']');
}

static int put_manifest(const struct writer *w, struct ks_buf *to, struct ks_err *err)
{
    const struct ks_setting *settings;
    const struct ks_cells *c = w->in->cells;
    size_t n_outside = 0;
    char version[32];
    struct ks_jw j;

    for (size_t i = 0; i < c->n_problems; i++)
        n_outside += w->t->is_outside[i];
    ks_settings(&settings);
    ks_booster_version(version);
    ks_jw_init(&j, to, true);
    ks_jw_open(&j, NULL, '{');
    ks_jw_u64(&j, "model_format", KS_MODEL_FORMAT);
    ks_jw_str(&j, "program", w->about->program);
    ks_jw_str(&j, "xgboost", version);
    ks_jw_str(&j, "target", ks_target_name(settings[w->t->last.setting].target));
    ks_jw_str(&j, "score", ks_target_meaning(settings[w->t->last.setting].target));
    ks_jw_u64(&j, "seed", w->in->seed);
    ks_jw_u64(&j, "n_threads", w->in->n_threads);
    ks_jw_bool(&j, "is_weighted_by_uses", w->in->use_counts);
    ks_jw_u64(&j, "n_problems", c->n_problems);
    ks_jw_u64(&j, "n_outside", n_outside);
    ks_jw_u64(&j, "n_instances", c->n_instances);
    ks_jw_u64(&j, "n_cells", c->n);
    put_start(w->about, &j);
    put_data(w->about, &j);
    put_sources(w->about, &j);
    put_search(w, &j);
    ks_jw_close(&j, '}');
    ks_buf_u8(to, '\n');
    return put_file(w, "manifest.json", to, err);
}

/* ---- the directory ---- */

static int put_model(const struct writer *w, struct ks_buf *to, struct ks_err *err)
{
    int rc = ks_booster_save(w->t->fit.booster, to, err);

    return rc == 0 ? put_file(w, "model.json", to, err) : rc;
}

static int put_all(const struct writer *w, struct ks_err *err)
{
    static int (*const parts[])(const struct writer *, struct ks_buf *,
                                struct ks_err *) = { put_model, put_problems,    put_instances,
                                                     put_oof,   put_importances, put_manifest };
    struct ks_buf text;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        ks_buf_init(&text);
        rc = parts[i](w, &text, err);
        ks_buf_release(&text);
    }
    return rc;
}

int ks_model_write(const char *dir, const struct ks_fit_input *in,
                   const struct ks_train_options *options, const struct ks_trained *t,
                   const struct ks_model_about *about, const struct ks_buf *feature_spec,
                   const struct ks_buf *metrics, struct ks_err *err)
{
    struct writer w = { in, options, t, about, "" };
    int rc = ks_new_dir_begin(dir, w.dir, err);

    if (rc < 0)
        return rc;
    rc = put_all(&w, err);
    if (rc == 0)
        rc = put_file(&w, "feature_spec.json", feature_spec, err);
    if (rc == 0)
        rc = put_file(&w, "metrics.json", metrics, err);
    return ks_new_dir_end(dir, w.dir, rc, err);
}
