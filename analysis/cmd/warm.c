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
    const struct ks_time_source *device = &w->model.device;
    const struct ks_cells *c = &d->cells;

    if (c->problems[0].problem.op != w->features.op)
        return ks_fail(err, KS_EINVAL, "--warm %s: it is for %s, but the results are for %s", dir,
                       ks_operators[w->features.op]->name,
                       ks_operators[c->problems[0].problem.op]->name);
    if (!is_mixed && (d->device_class != device->device_class || d->condition != device->condition))
        return ks_fail(err, KS_EINVAL,
                       "--warm %s: it is for %s (class %016llx, condition %016llx), but the "
                       "results are from %s (%016llx, %016llx); allow it with --mixed",
                       dir, ks_device_called(device->model, device->arch),
                       (unsigned long long)device->device_class,
                       (unsigned long long)device->condition, ks_device_called(d->model, d->arch),
                       (unsigned long long)d->device_class, (unsigned long long)d->condition);
    if (!is_mixed && d->mixed.sources[0].is_over_rounds != device->is_over_rounds)
        return ks_fail(err, KS_EINVAL,
                       "--warm %s: only one of the model's data and %s has times over rounds; "
                       "gather both again with one version, or allow it with --mixed",
                       dir, d->files[0].path);
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

/* Where a cell is in another table. */
static size_t cell_in(const struct ks_cells *to, const struct ks_cells *from, size_t cell)
{
    const struct ks_timed_cell *x = &from->cells[cell];
    const uint32_t p = ks_cells_find_problem(to, from->problems[x->problem].problem.id);
    const uint32_t i = ks_cells_find_instance(to, from->instances[x->instance].id);

    return p == UINT32_MAX || i == UINT32_MAX ? KS_NO_CELL : ks_cells_at(to, p, i);
}

static void fill_problem(const struct ks_warm *w, const struct ks_cells *fresh,
                         const struct ks_trained *t, uint32_t p, struct ks_warm_union *u)
{
    const uint64_t id = u->cells.problems[p].problem.id;
    const struct ks_model *m = &w->model;
    uint32_t i = ks_cells_find_problem(&m->cells, id);
    const bool is_old = i != UINT32_MAX;

    if (!is_old)
        i = ks_cells_find_problem(fresh, id);
    u->trained.fold[p] = is_old ? m->fold[i] : t->fold[i];
    u->trained.is_outside[p] = is_old ? m->is_outside[i] : t->is_outside[i];
    u->trained.picks[KS_BY_MODEL][p].cell =
        is_old ? cell_in(&u->cells, &m->cells, m->pick[i])
               : cell_in(&u->cells, fresh, t->picks[KS_BY_MODEL][i].cell);
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
    for (uint32_t p = 0; p < c->n_problems; p++)
        fill_problem(w, fresh, t, p, u);
}

/* Files of the model are none of the new ones. */
static int unite_sources(const struct ks_warm *w, const struct ks_mixed *fresh,
                         struct ks_mixed *both, struct ks_err *err)
{
    const size_t n_old = w->model.n_sources;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n_old + fresh->n_sources; i++) {
        struct ks_time_source s = i < n_old ? w->model.sources[i] : fresh->sources[i - n_old];
        const size_t n_problems = s.n_problems;
        uint32_t at;

        s.n_problems = 0;
        s.file = i < n_old ? SIZE_MAX - i : s.file;
        rc = ks_mixed_source(both, &s, &at, err);
        if (rc == 0)
            both->sources[at].n_problems += n_problems;
    }
    return rc;
}

int ks_warm_unite(const struct ks_warm *w, const struct ks_dataset *fresh,
                  const struct ks_trained *t, struct ks_warm_union *out, struct ks_err *err)
{
    struct ks_trained *both = &out->trained;
    size_t n;
    int rc = ks_cells_append(&out->cells, &w->model.cells, err);

    if (rc == 0)
        rc = ks_cells_append(&out->cells, &fresh->cells, err);
    if (rc == 0)
        rc = ks_cells_finish(&out->cells, err);
    if (rc == 0)
        rc = unite_sources(w, &fresh->mixed, &out->sources, err);
    if (rc < 0)
        return rc;
    n = out->cells.n_problems;
    *both = *t;
    both->fold = calloc(n + 1, sizeof(*both->fold));
    both->scores = calloc(out->cells.n + 1, sizeof(*both->scores));
    both->is_outside = calloc(n + 1, sizeof(*both->is_outside));
    both->picks[KS_BY_MODEL] = calloc(n + 1, sizeof(*both->picks[KS_BY_MODEL]));
    if (!both->fold || !both->scores || !both->is_outside || !both->picks[KS_BY_MODEL])
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);
    fill(w, &fresh->cells, t, out);
    return 0;
}

void ks_warm_union_release(struct ks_warm_union *u)
{
    ks_cells_release(&u->cells);
    ks_mixed_release(&u->sources);
    free(u->trained.fold);
    free(u->trained.scores);
    free(u->trained.is_outside);
    free(u->trained.picks[KS_BY_MODEL]);
    *u = (struct ks_warm_union){ 0 };
}
