/* SPDX-License-Identifier: MIT */
/* dataset.c - reads results files into the cells that a model is trained or tested on */
#include "analysis/cmd/dataset.h"
#include "analysis/data/reader.h"
#include "analysis/learn/label.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "grid/problem_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One file on its way into a data set. */
struct reading {
    struct ks_dataset *d;
    struct ks_dataset_file *file;
    const struct ks_dataset_rules *rules;
    const struct ks_store_file *f;
    struct ks_obs *rows; /* [cap] of one batch */
    size_t cap;
};

/* ---- filters ---- */

/* Whether the text is one of the list's words, "a,b". */
static bool is_among(const char *list, const char *text)
{
    size_t n = strlen(text);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, text, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

/* The value of a problem's property as text; KS_EINVAL: it has none of that name. */
static int property(const struct ks_problem *p, const char *name, char *out, size_t cap,
                    struct ks_err *err)
{
    int dim = ks_problem_dim(p->op, name);

    if (strcmp(name, "operator") == 0)
        snprintf(out, cap, "%s", ks_operators[p->op]->name);
    else if (strcmp(name, "direction") == 0)
        snprintf(out, cap, "%s", ks_direction_name(p->direction));
    else if (strcmp(name, "dtype") == 0)
        snprintf(out, cap, "%s", ks_dtype_name(p->dtype));
    else if (strcmp(name, "layout") == 0)
        snprintf(out, cap, "%s", ks_layout_name(p->layout));
    else if (strcmp(name, "class") == 0)
        snprintf(out, cap, "%s", ks_problem_class_name(ks_problem_class(p)));
    else if (dim >= 0)
        snprintf(out, cap, "%lld", (long long)p->dim[dim]);
    else
        return ks_fail(err, KS_EINVAL,
                       "--where %s: unknown property; known are operator, direction, dtype, "
                       "layout, class and the dimensions of %s",
                       name, ks_operators[p->op]->name);
    return 0;
}

/* One condition. 1 = it holds, 0 = not, or KS_E*. */
static int holds(const char *where, const struct ks_problem *p, struct ks_err *err)
{
    const char *equals = strchr(where, '=');
    char name[64], value[64];
    int rc;

    if (!equals || equals == where || (size_t)(equals - where) >= sizeof(name))
        return ks_fail(err, KS_EINVAL, "--where %s: write NAME=VALUE[,VALUE]", where);
    snprintf(name, sizeof(name), "%.*s", (int)(equals - where), where);
    rc = property(p, name, value, sizeof(value), err);
    return rc < 0 ? rc : is_among(equals + 1, value);
}

/* 1 = wanted, 0 = not, or KS_E*. The operator is asked first: another one does not have the
 * dimensions of the conditions behind. */
static int is_wanted(const struct ks_opt_list *where, const struct ks_problem *p,
                     struct ks_err *err)
{
    int rc = 1;

    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; rc == 1 && i < where->n; i++)
            if ((strncmp(where->text[i], "operator=", 9) == 0) == (turn == 0))
                rc = holds(where->text[i], p, err);
    return rc;
}

/* A model is for one operator. */
static int check_operator(const struct reading *r, const struct ks_problem *p, struct ks_err *err)
{
    const struct ks_cells *c = &r->d->cells;

    if (c->n_problems == 0 || c->problems[0].problem.op == p->op)
        return 0;
    return ks_fail(err, KS_EINVAL,
                   "%s: problems of %s together with those of %s, but a model is for one operator: "
                   "choose one with --where operator=%s",
                   r->file->path, ks_operators[p->op]->name,
                   ks_operators[c->problems[0].problem.op]->name,
                   ks_operators[c->problems[0].problem.op]->name);
}

/* ---- one device, one condition ---- */

const char *ks_device_called(const char *model, const char *arch)
{
    return model[0] ? model : arch[0] ? arch : "not known";
}

void ks_source_text(const struct ks_time_source *s, struct ks_buf *to)
{
    ks_buf_printf(to, "%s (class %016llx, condition %016llx%s)",
                  ks_device_called(s->model, s->arch), (unsigned long long)s->device_class,
                  (unsigned long long)s->condition,
                  s->is_over_rounds ? "" : ", times not over rounds");
}

static int check_device(struct reading *r, const struct ks_obs *row, struct ks_err *err)
{
    struct ks_dataset *d = r->d;
    const struct ks_device_row *device =
        row->device == KS_OBS_NONE ? NULL : ks_store_device(r->f, row->device);
    uint64_t device_class = device ? device->rec.device_class : 0;

    if (r->rules->is_mixed)
        return 0;
    if (!d->has_device) {
        d->has_device = true;
        d->device_class = device_class;
        snprintf(d->arch, sizeof(d->arch), "%s", device ? device->rec.arch : "");
        snprintf(d->model, sizeof(d->model), "%s", device ? device->rec.model : "");
        d->n_units = device ? device->rec.n_units : 0;
    }
    if (device_class != d->device_class)
        return ks_fail(err, KS_EINVAL,
                       "%s: rows of device class %016llx (%s) together with those of %016llx (%s); "
                       "a model is for one class: split the files, or allow it with --mixed",
                       r->file->path, (unsigned long long)device_class,
                       device ? ks_device_called(device->rec.model, device->rec.arch) : "unknown",
                       (unsigned long long)d->device_class, ks_device_called(d->model, d->arch));
    return 0;
}

static int check_condition(struct reading *r, const struct ks_obs *row, struct ks_err *err)
{
    struct ks_dataset *d = r->d;

    if (r->rules->is_mixed)
        return 0;
    if (!d->has_row) {
        d->has_row = true;
        d->condition = row->condition_id;
    }
    if (row->condition_id != d->condition)
        return ks_fail(err, KS_EINVAL,
                       "%s: rows of condition %016llx together with those of %016llx, whose times "
                       "cannot be compared: split the files, or allow it with --mixed",
                       r->file->path, (unsigned long long)row->condition_id,
                       (unsigned long long)d->condition);
    return 0;
}

/* ---- rows ---- */

/* The instance's own test refuses the problem, or its code is measured under another name: no
 * selector offers it. What pruning left out it does offer, like what failed. */
static bool is_refused(const struct ks_obs *row)
{
    return row->outcome == KS_O_UNSUPPORTED || row->outcome == KS_O_ALIASED;
}

static struct ks_time_source source_of(const struct reading *r, const struct ks_obs *row)
{
    const struct ks_device_row *device =
        row->device == KS_OBS_NONE ? NULL : ks_store_device(r->f, row->device);

    struct ks_time_source s = { .device_class = device ? device->rec.device_class : 0,
                                .condition = row->condition_id,
                                .is_over_rounds = r->file->schema_minor >= KS_ROUNDS_MINOR,
                                .has_device = device != NULL,
                                .file = (size_t)(r->file - r->d->files),
                                .n_units = device ? device->rec.n_units : 0 };

    snprintf(s.arch, sizeof(s.arch), "%s", device ? device->rec.arch : "");
    snprintf(s.model, sizeof(s.model), "%s", device ? device->rec.model : "");
    return s;
}

/* What a data set is of: the source that most problems keep. */
static void set_main(struct ks_dataset *d)
{
    const struct ks_time_source *s = &d->mixed.sources[0];

    d->device_class = s->device_class;
    d->condition = s->condition;
    d->n_units = s->n_units;
    snprintf(d->arch, sizeof(d->arch), "%s", s->arch);
    snprintf(d->model, sizeof(d->model), "%s", s->model);
}

/* The one source of rows that are not mixed. */
static int add_source(struct ks_dataset *d, struct ks_err *err)
{
    struct ks_time_source s = { .device_class = d->device_class,
                                .condition = d->condition,
                                .is_over_rounds = d->files[0].schema_minor >= KS_ROUNDS_MINOR,
                                .has_device = true,
                                .n_units = d->n_units,
                                .n_problems = d->cells.n_problems };
    uint32_t i;

    snprintf(s.arch, sizeof(s.arch), "%s", d->arch);
    snprintf(s.model, sizeof(s.model), "%s", d->model);
    return ks_mixed_source(&d->mixed, &s, &i, err);
}

/* Into the table; mixed rows when all are known. */
static int put_row(struct reading *r, const struct ks_obs *row, enum ks_mixed_kind kind,
                   const struct ks_timed_cell *cell, struct ks_err *err)
{
    struct ks_cells *c = &r->d->cells;
    struct ks_time_source source;

    if (r->rules->is_mixed) {
        source = source_of(r, row);
        return ks_mixed_add(&r->d->mixed, kind, cell, &source, err);
    }
    if (kind == KS_MIXED_TRUNCATED)
        ks_cells_truncate(c, cell->problem);
    return kind == KS_MIXED_CELL      ? ks_cells_add(c, cell, err)
           : kind == KS_MIXED_LOST    ? ks_cells_lose(c, cell->problem, cell->instance, err)
           : kind == KS_MIXED_REFUSED ? ks_cells_refuse(c, cell->problem, cell->instance, err)
                                      : 0;
}

static int add_row(struct reading *r, const struct ks_obs *row, uint32_t problem,
                   double reference_ns, struct ks_err *err)
{
    struct ks_cells *c = &r->d->cells;
    struct ks_timed t = ks_scaled_time(row, reference_ns);
    struct ks_timed_cell cell = { .problem = problem, .file = (uint32_t)(r->file - r->d->files) };
    int rc;

    if (row->kernel == KS_OBS_NONE ||
        (row->outcome == KS_O_SKIPPED && !ks_outcome_is_pruned(row->outcome, row->reason)))
        return 0;
    rc = ks_cells_instance(c, row->instance_id, ks_store_kernel(r->f, row->kernel)->instance_name,
                           &cell.instance, err);
    if (rc < 0)
        return rc;
    if (row->flags & KS_FL_TRUNCATED)
        rc = put_row(r, row, KS_MIXED_TRUNCATED, &cell, err);
    if (rc < 0)
        return rc;
    /* What fails on another device says nothing of this one; what was not built has no device. */
    if (ks_is_usable(row) || row->device != KS_OBS_NONE)
        rc = check_device(r, row, err);
    if (rc < 0)
        return rc;
    if (is_refused(row))
        return put_row(r, row, KS_MIXED_REFUSED, &cell, err);
    if (!ks_is_usable(row)) /* an untrusted time says nothing */
        return row->outcome == KS_O_UNTRUSTED ? 0 : put_row(r, row, KS_MIXED_LOST, &cell, err);
    rc = check_condition(r, row, err);
    if (rc < 0)
        return rc;
    cell.time_ns = t.stats.median;
    cell.se_ns = t.stats.se;
    cell.weight = ks_label_weight(cell.time_ns, cell.se_ns);
    r->file->n_usable++;
    r->d->n_times++;
    return put_row(r, row, KS_MIXED_CELL, &cell, err);
}

static void count_rows(struct reading *r, const struct ks_obs *rows, size_t n)
{
    r->d->n_rows += n;
    r->file->n_rows += n;
    for (size_t i = 0; i < n; i++)
        r->d->n_unusable += !ks_is_usable(&rows[i]);
}

/* 1 = taken, 0 = not wanted, or KS_E*. */
static int is_taken(struct reading *r, const struct ks_problem_row *p, size_t n_rows,
                    struct ks_err *err)
{
    bool is_known = false;
    uint32_t i_problem;
    int rc;

    if (!p || !p->has_problem)
        return 0;
    rc = is_wanted(&r->rules->where, &p->problem, err);
    if (rc == 1 && r->rules->only && ks_problem_set_find(r->rules->only, p->problem.id) < 0)
        rc = 0;
    if (rc == 0)
        r->d->n_filtered += n_rows;
    for (int i = 0; i < 2; i++) {
        const struct ks_cells *known = r->rules->leave_out[i];

        is_known = is_known || (known && ks_cells_find_problem(known, p->problem.id) != UINT32_MAX);
    }
    if (rc != 1 || !is_known)
        return rc;
    rc = ks_cells_problem(&r->d->left_out, &p->problem, &i_problem, err);
    if (rc < 0)
        return rc;
    if (r->d->left_out.n_problems == r->d->n_left_out)
        return 0; /* of another file */
    r->d->n_left_out++;
    if (r->rules->left_out)
        ks_buf_printf(r->rules->left_out, "%s\n", p->canonical);
    return 0;
}

static int add_problem(struct reading *r, const struct ks_obs *rows, size_t n, struct ks_err *err)
{
    const struct ks_problem_row *p =
        rows->problem == KS_OBS_NONE ? NULL : ks_store_problem(r->f, rows->problem);
    bool is_scaled = ks_needs_scaling(rows, n);
    struct ks_problem problem;
    double reference_ns = 0;
    uint32_t i_problem;
    int rc;

    count_rows(r, rows, n);
    rc = is_taken(r, p, n, err);
    if (rc != 1)
        return rc;
    problem = p->problem;
    problem.count = p->n_uses;
    rc = check_operator(r, &problem, err);
    if (rc == 0)
        rc = ks_cells_problem(&r->d->cells, &problem, &i_problem, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (is_scaled && reference_ns <= 0 && ks_is_usable(&rows[i]))
            reference_ns = rows[i].anchor_ns;
        rc = add_row(r, &rows[i], i_problem, reference_ns, err);
    }
    return rc;
}

static int add_batch(struct reading *r, const struct ks_df *f, struct ks_err *err)
{
    struct ks_obs_reader reader;
    size_t first = 0;
    int rc = ks_traits_add(&r->d->traits, f, err);

    if (rc == 0)
        rc = ks_obs_bind(f, &reader, err);
    if (rc == 0 && f->n_rows > r->cap) {
        free(r->rows);
        r->cap = f->n_rows;
        r->rows = malloc(r->cap * sizeof(*r->rows));
        if (!r->rows)
            rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", f->n_rows);
    }
    for (size_t i = 0; rc == 0 && i < f->n_rows; i++)
        ks_obs_read(&reader, i, &r->rows[i]);
    for (size_t i = 1; rc == 0 && i <= f->n_rows; i++) {
        if (i < f->n_rows && r->rows[i].problem == r->rows[first].problem)
            continue;
        rc = add_problem(r, &r->rows[first], i - first, err);
        first = i;
    }
    return rc;
}

static int add_batches(struct reading *r, struct ks_view *v, struct ks_err *err)
{
    struct ks_sources sources = { 0 };
    struct ks_reader *reader = NULL;
    struct ks_df *f;
    int rc = ks_obs_need(&sources, ks_view_file(v), err);

    if (rc == 0)
        rc = ks_features_need(&sources, ks_view_file(v), err);
    if (rc == 0)
        rc = ks_reader_open(v, &sources, 0, &reader, err);
    while (rc >= 0 && reader && (rc = ks_reader_next(reader, &f, err)) > 0)
        rc = add_batch(r, f, err);
    ks_reader_close(reader);
    ks_sources_release(&sources);
    return rc;
}

/* ---- files ---- */

static int digest_of(const char *path, char text_out[65], struct ks_err *err)
{
    struct ks_sha256 h;
    uint8_t block[65536], digest[32];
    ssize_t n;
    int fd = ks_file_open(path, err);

    if (fd < 0)
        return fd;
    ks_sha256_init(&h);
    while ((n = read(fd, block, sizeof(block))) > 0)
        ks_sha256_add(&h, block, (size_t)n);
    ks_fd_close(&fd);
    if (n < 0)
        return ks_fail_errno(err, "reading '%s'", path);
    ks_sha256_end(&h, digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(text_out + 2 * i, 3, "%02x", digest[i]);
    return 0;
}

static int check_schema(const struct ks_dataset *d, const struct ks_dataset_file *file,
                        const struct ks_dataset_rules *rules, struct ks_err *err)
{
    const struct ks_dataset_file *first = d->files;

    if (rules->is_mixed ||
        (file->schema_minor >= KS_ROUNDS_MINOR) == (first->schema_minor >= KS_ROUNDS_MINOR))
        return 0;
    return ks_fail(err, KS_EINVAL,
                   "%s has schema %llu.%llu, %s has %llu.%llu: only one of them has times over "
                   "rounds; gather both again with one version, or allow it with --mixed",
                   file->path, (unsigned long long)file->schema_major,
                   (unsigned long long)file->schema_minor, first->path,
                   (unsigned long long)first->schema_major,
                   (unsigned long long)first->schema_minor);
}

static int add_runs(struct ks_dataset *d, const struct ks_store_file *f, struct ks_err *err)
{
    for (uint32_t i = 0; i < ks_store_info(f)->n_runs; i++) {
        struct ks_dataset_run *run;
        int rc = ks_reserve(&d->runs, d->n_runs + 1, &d->cap_runs, sizeof(*d->runs), "runs", err);

        if (rc < 0)
            return rc;
        run = &d->runs[d->n_runs++];
        run->file = d->n_files - 1;
        snprintf(run->id, sizeof(run->id), "%s", ks_store_run(f, i)->run_id);
    }
    return 0;
}

static int read_file(struct ks_dataset *d, const char *path, const struct ks_dataset_rules *rules,
                     struct ks_err *err)
{
    char results[KS_PATH_BYTES];
    struct ks_dataset_file *file = &d->files[d->n_files++];
    struct reading r = { .d = d, .file = file, .rules = rules };
    struct ks_view *v = NULL;
    int rc;

    file->path = path;
    rc = ks_view_open(path, rules->merge, &v, err);
    if (rc == 0) {
        r.f = ks_view_file(v);
        file->schema_major = ks_store_info(r.f)->schema_major;
        file->schema_minor = ks_store_info(r.f)->schema_minor;
        rc = check_schema(d, file, rules, err);
    }
    if (rc == 0)
        rc = add_runs(d, r.f, err);
    if (rc == 0)
        rc = ks_results_path(path, results, sizeof(results), err);
    if (rc == 0)
        rc = digest_of(results, file->digest, err);
    if (rc == 0)
        rc = add_batches(&r, v, err);
    free(r.rows);
    ks_view_close(v);
    return rc;
}

int ks_dataset_read(struct ks_dataset *d_out, const char *const *paths, size_t n_paths,
                    const struct ks_dataset_rules *rules, struct ks_err *err)
{
    int rc = 0;

    *d_out = (struct ks_dataset){ 0 };
    d_out->files = calloc(n_paths + 1, sizeof(*d_out->files));
    if (!d_out->files)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n_paths; i++)
        rc = read_file(d_out, paths[i], rules, err);
    if (rc == 0 && d_out->n_times == 0)
        return ks_fail(err, KS_EINVAL,
                       "%s: no usable row: of %llu, %llu are not ok, the filters leave out %llu, "
                       "and %llu problems are known from training",
                       paths[0], (unsigned long long)d_out->n_rows,
                       (unsigned long long)d_out->n_unusable, (unsigned long long)d_out->n_filtered,
                       (unsigned long long)d_out->n_left_out);
    if (rc == 0)
        rc = ks_mixed_settle(&d_out->mixed, &d_out->cells, err);
    if (rc == 0)
        rc = ks_cells_finish(&d_out->cells, err);
    if (rc == 0 && rules->is_mixed)
        set_main(d_out);
    else if (rc == 0)
        rc = add_source(d_out, err);
    return rc;
}

const char *ks_dataset_first(const struct ks_dataset *d)
{
    size_t i = 0;

    while (i + 1 < d->n_files && d->files[i].n_usable == 0)
        i++;
    return d->files[i].path;
}

static bool has_run(const struct ks_dataset *d, const char *id)
{
    for (size_t i = 0; i < d->n_runs; i++)
        if (id[0] && strcmp(d->runs[i].id, id) == 0)
            return true;
    return false;
}

static bool has_content(const struct ks_dataset *d, const char *digest)
{
    for (size_t i = 0; i < d->n_files; i++)
        if (strcmp(d->files[i].digest, digest) == 0)
            return true;
    return false;
}

const char *ks_dataset_shared(const struct ks_dataset *d, const struct ks_dataset *with)
{
    for (size_t i = 0; i < d->n_runs; i++)
        if (has_run(with, d->runs[i].id))
            return d->files[d->runs[i].file].path;
    for (size_t i = 0; i < d->n_files; i++)
        if (has_content(with, d->files[i].digest))
            return d->files[i].path;
    return NULL;
}

void ks_dataset_release(struct ks_dataset *d)
{
    ks_cells_release(&d->cells);
    ks_cells_release(&d->left_out);
    ks_mixed_release(&d->mixed);
    ks_traits_release(&d->traits);
    free(d->files);
    free(d->runs);
    *d = (struct ks_dataset){ 0 };
}

void ks_dataset_note_mixed(const struct ks_dataset *d, const char *command, struct ks_buf *notes)
{
    if (d->mixed.n_rows)
        ks_buf_printf(
            notes,
            "ksweep-analyze %s: --mixed: %zu rows of %zu problems left out: a problem keeps the "
            "rows of one device class, condition and schema version, that with most of "
            "them\n",
            command, d->mixed.n_rows, d->mixed.n_problems);
    for (size_t i = 0; d->mixed.n_sources > 1 && i < d->mixed.n_sources; i++) {
        const struct ks_time_source *s = &d->mixed.sources[i];

        ks_buf_printf(notes, "ksweep-analyze %s: --mixed: %zu problems from ", command,
                      s->n_problems);
        ks_source_text(s, notes);
        ks_buf_printf(notes, "\n");
    }
}
