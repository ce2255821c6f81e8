/* SPDX-License-Identifier: MIT */
/* warm.c - continues a model: its trees, its data and those that are new */
#include "analysis/cmd/warm.h"
#include "analysis/model/forest.h"
#include "base/file.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the model ---- */

static int read_text(const char *dir, const char *name, char *path, size_t cap, struct ks_buf *to,
                     struct ks_err *err)
{
    int rc = ks_path_join(path, cap, dir, name, err);

    ks_buf_init(to);
    return rc == 0 ? ks_file_read(path, to, err) : rc;
}

static void set_digest(struct ks_warm *w)
{
    struct ks_sha256 h;
    uint8_t digest[32];

    ks_sha256_init(&h);
    ks_sha256_add(&h, w->trees.data, w->trees.len);
    ks_sha256_end(&h, digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(w->digest + 2 * i, 3, "%02x", digest[i]);
}

int ks_warm_open(struct ks_warm *w_out, const char *dir, uint32_t n_threads, struct ks_err *err)
{
    struct ks_forest forest = { 0 };
    char trees[4200], spec[4200];
    int rc = ks_model_read(dir, n_threads, &w_out->model, err);

    if (rc == 0)
        rc = read_text(dir, "model.json", trees, sizeof(trees), &w_out->trees, err);
    if (rc == 0)
        rc = ks_forest_parse(ks_buf_text(&w_out->trees), w_out->trees.len, trees, &forest, err);
    if (rc == 0)
        rc = read_text(dir, "feature_spec.json", spec, sizeof(spec), &w_out->spec, err);
    if (rc == 0)
        rc = ks_feature_spec_parse(ks_buf_text(&w_out->spec), w_out->spec.len, spec,
                                   &w_out->features, err);
    if (rc == 0 && forest.n_features != w_out->features.n_features)
        rc = ks_fail(err, KS_EFORMAT,
                     "%s has %zu features, %s %u: the two files belong to different models", spec,
                     w_out->features.n_features, trees, forest.n_features);
    if (rc == 0) {
        w_out->n_trees = forest.n_trees;
        set_digest(w_out);
    }
    ks_forest_release(&forest);
    return rc;
}

int ks_warm_check(const struct ks_warm *w, const char *dir, const struct ks_dataset *d,
                  bool is_mixed, struct ks_err *err)
{
    const struct ks_model *m = &w->model;
    const struct ks_cells *c = &d->cells;

    if (c->problems[0].problem.op != w->features.op)
        return ks_fail(err, KS_EINVAL, "--warm %s: it is for %s, but the results are for %s", dir,
                       ks_operators[w->features.op]->name,
                       ks_operators[c->problems[0].problem.op]->name);
    if (!is_mixed && (d->device_class != m->device_class || d->condition != m->condition))
        return ks_fail(err, KS_EINVAL,
                       "--warm %s: it is for %s (class %016llx, condition %016llx), but the "
                       "results are from %s (%016llx, %016llx); allow it with --mixed",
                       dir, ks_device_called(m->device_model, m->arch),
                       (unsigned long long)m->device_class, (unsigned long long)m->condition,
                       ks_device_called(d->model, d->arch), (unsigned long long)d->device_class,
                       (unsigned long long)d->condition);
    for (size_t i = 0; i < c->n_instances; i++)
        if (ks_feature_spec_find(&w->features, c->instances[i].id) == UINT32_MAX)
            return ks_fail(err, KS_EINVAL,
                           "--warm %s: its feature_spec.json does not contain instance '%s': train "
                           "a new model on all results",
                           dir, c->instances[i].name);
    return 0;
}

void ks_warm_release(struct ks_warm *w)
{
    ks_model_release(&w->model);
    ks_buf_release(&w->trees);
    ks_buf_release(&w->spec);
    ks_feature_spec_release(&w->features);
    *w = (struct ks_warm){ 0 };
}

/* ---- both data ---- */

/* Where a cell of the union is from. */
static size_t cell_in(const struct ks_cells *from, const struct ks_cells *all, size_t cell)
{
    const struct ks_timed_cell *x = &all->cells[cell];
    const uint32_t p = ks_cells_find_problem(from, all->problems[x->problem].problem.id);
    const uint32_t i = ks_cells_find_instance(from, all->instances[x->instance].id);

    return p == UINT32_MAX || i == UINT32_MAX ? KS_NO_CELL : ks_cells_at(from, p, i);
}

static void fill(const struct ks_warm *w, const struct ks_cells *fresh, const struct ks_trained *t,
                 struct ks_warm_union *u)
{
    const struct ks_cells *c = &u->cells;

    for (size_t i = 0; i < c->n; i++) {
        const size_t old = cell_in(&w->model.cells, c, i);

        u->trained.scores[i] =
            old == KS_NO_CELL ? t->scores[cell_in(fresh, c, i)] : w->model.scores[old];
    }
    for (uint32_t p = 0; p < c->n_problems; p++) {
        const uint64_t id = c->problems[p].problem.id;
        const uint32_t old = ks_cells_find_problem(&w->model.cells, id);

        u->trained.fold[p] =
            old == UINT32_MAX ? t->fold[ks_cells_find_problem(fresh, id)] : w->model.fold[old];
    }
}

int ks_warm_unite(const struct ks_warm *w, const struct ks_cells *fresh, const struct ks_trained *t,
                  struct ks_warm_union *out, struct ks_err *err)
{
    struct ks_trained *both = &out->trained;
    int rc = ks_cells_append(&out->cells, &w->model.cells, err);

    if (rc == 0)
        rc = ks_cells_append(&out->cells, fresh, err);
    if (rc == 0)
        rc = ks_cells_finish(&out->cells, err);
    if (rc < 0)
        return rc;
    *both = *t;
    both->fold = calloc(out->cells.n_problems + 1, sizeof(*both->fold));
    both->scores = calloc(out->cells.n + 1, sizeof(*both->scores));
    if (!both->fold || !both->scores)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", out->cells.n_problems);
    fill(w, fresh, t, out);
    return 0;
}

void ks_warm_union_release(struct ks_warm_union *u)
{
    ks_cells_release(&u->cells);
    free(u->trained.fold);
    free(u->trained.scores);
    *u = (struct ks_warm_union){ 0 };
}
