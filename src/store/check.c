/* SPDX-License-Identifier: MIT */
/* check.c - checks a file's checksums, then each row against what the journals give */
#include "base/file.h"
#include "base/text.h"
#include "store/check_output.h"
#include "store/produce.h"
#include "store/store.h"
#include "store/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_MAX 50u /* of one kind; the rest is only counted */

struct object {
    char path[160];
    bool is_dataset;
};

struct check {
    struct ks_store_check *out;
    const char *path; /* of the HDF5 file */
    hid_t file;
    struct ks_table_reader tables[KS_T_COUNT];
    uint64_t next[KS_T_COUNT]; /* row that is compared next */
    uint8_t *packed;           /* one row as it should be */
    size_t packed_cap;
    hid_t samples;
    uint64_t n_samples, next_sample;
    float *held;
    struct ks_list objects; /* struct object: of the file */
    uint64_t n_different;
    enum ks_statistic *statistics; /* [runs of the file] of labels, which an older version chose */
};

/* One line, whatever names and paths of a foreign file hold. */
__attribute__((format(printf, 2, 0))) static void put_line(struct ks_buf *to, const char *fmt,
                                                           va_list ap)
{
    char line[1024];

    vsnprintf(line, sizeof(line), fmt, ap);
    ks_text_put(to, line, strlen(line), KS_LINES_NONE);
    ks_buf_u8(to, '\n');
}

__attribute__((format(printf, 2, 3))) static void find(struct ks_store_check *out, const char *fmt,
                                                       ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_line(&out->findings, fmt, ap);
    va_end(ap);
    out->n_findings++;
}

__attribute__((format(printf, 2, 3))) static void note(struct ks_store_check *out, const char *fmt,
                                                       ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_line(&out->notes, fmt, ap);
    va_end(ap);
    out->n_notes++;
}

/* ---- the file by itself ---- */

static herr_t visit(hid_t at, const char *name, const H5O_info_t *info, void *ctx)
{
    struct check *c = ctx;
    void *added;

    (void)at;
    if (ks_list_add(&c->objects, &added, NULL) < 0)
        return -1;
    ((struct object *)added)->is_dataset = info->type == H5O_TYPE_DATASET;
    snprintf(((struct object *)added)->path, sizeof(((struct object *)added)->path), "/%s",
             strcmp(name, ".") == 0 ? "" : name);
    return 0;
}

/* Its checksum is looked at when it is read. */
static herr_t read_attribute(hid_t at, const char *name, const H5A_info_t *info, void *ctx)
{
    hid_t attr = H5Aopen(at, name, H5P_DEFAULT), type = KS_H5_NONE;
    void *value = malloc(info->data_size ? (size_t)info->data_size : 1);
    herr_t rc = -1;

    (void)ctx;
    if (attr >= 0)
        type = H5Aget_type(attr);
    if (type >= 0 && value && H5Tget_size(type) <= info->data_size)
        rc = H5Aread(attr, type, value) < 0 ? -1 : 0;
    ks_h5_close(type);
    ks_h5_close(attr);
    free(value);
    return rc;
}

static void check_attributes(struct check *c, const char *path)
{
    hid_t object = H5Oopen(c->file, path, H5P_DEFAULT);

    if (object < 0 ||
        H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, read_attribute, NULL) < 0)
        find(c->out, "%s: attributes of '%s' cannot be read", c->path, path);
    ks_h5_close(object);
}

static void check_dataset(struct check *c, const char *path)
{
    struct ks_err err;
    uint64_t n, n_said, crc_said;
    uint32_t crc = 0;
    hid_t dataset;
    int rc = ks_dataset_digest(c->file, path, &n, &crc, &err);

    if (rc < 0) {
        find(c->out, "%s: %s", c->path, err.text);
        return;
    }
    dataset = H5Dopen2(c->file, path, H5P_DEFAULT);
    rc = ks_h5_get_u64(dataset, "n_rows", &n_said, &err);
    if (rc == 0)
        rc = ks_h5_get_u64(dataset, "crc32c", &crc_said, &err);
    ks_h5_close(dataset);
    if (rc < 0)
        find(c->out, "%s: '%s': %s", c->path, path, err.text);
    else if (n != n_said)
        find(c->out, "%s: '%s' has %" PRIu64 " rows, but its attribute says %" PRIu64, c->path,
             path, n, n_said);
    else if (crc != crc_said)
        find(c->out, "%s: the content of '%s' does not match its checksum", c->path, path);
}

/* Opens the file and reads everything in it once. */
static int check_file(struct check *c, struct ks_err *err)
{
    struct ks_store_file *f = NULL;
    struct ks_err why;
    int rc = ks_store_open(c->path, &f, &why);

    ks_store_close(f);
    if (rc == KS_ENOMEM || rc == KS_EUNSUPPORTED) /* of another schema: nobody can tell */
        return ks_fail(err, rc, "%s", why.text);
    if (rc < 0) {
        find(c->out, "%s", why.text);
        return 0;
    }
    c->file = ks_h5_open(c->path);
    if (c->file < 0 ||
        H5Ovisit2(c->file, H5_INDEX_NAME, H5_ITER_NATIVE, visit, c, H5O_INFO_BASIC) < 0) {
        find(c->out, "%s: the list of its datasets cannot be read", c->path);
        return 0;
    }
    for (size_t i = 0; i < c->objects.n; i++) {
        const struct object *o = ks_list_at(&c->objects, i);

        check_attributes(c, o->path);
        if (o->is_dataset)
            check_dataset(c, o->path);
    }
    return 0;
}

/* ---- the file against the journals ---- */

static bool is_volatile(enum ks_table_id t, const char *column)
{
    static const char *const names[] = { "dir", "n_damaged_places", "n_torn_tails",
                                         "n_unknown_frames" };

    for (size_t i = 0; t == KS_T_RUNS && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], column) == 0)
            return true;
    return false;
}

/* A text that does not fit would be cut by packing, and look equal. */
static bool is_too_long(const struct ks_column *col, uint32_t len, const void *row)
{
    const char *text = (const char *)row + col->offset;

    if (col->type == KS_COL_POINTER)
        memcpy(&text, text, sizeof(text));
    else if (col->type != KS_COL_TEXT)
        return false;
    return text && strlen(text) > len;
}

static const char *differing(const struct ks_packing *l, enum ks_table_id t, const void *row,
                             const uint8_t *want, const uint8_t *got)
{
    for (size_t k = 0; k < l->def->n_columns; k++) {
        const struct ks_column *col = &l->def->columns[k];

        if (l->at[k] == KS_NO_COLUMN || is_volatile(t, col->name))
            continue;
        if (memcmp(want + l->at[k], got + l->at[k], l->len[k]) != 0 ||
            is_too_long(col, l->len[k], row))
            return col->name;
    }
    return NULL;
}

static void report_row(struct check *c, const char *path, uint64_t i, const char *what)
{
    if (c->n_different++ < FINDINGS_MAX)
        find(c->out, "%s: '%s' row %" PRIu64 ": %s", c->path, path, i, what);
}

static int compare_row(void *ctx, enum ks_table_id t, const void *row, struct ks_err *err)
{
    struct check *c = ctx;
    struct ks_table_reader *r = &c->tables[t];
    const char *path = r->layout.def->path, *column;
    uint64_t i = c->next[t]++;
    const uint8_t *got;
    char what[128];
    int rc;

    if (i >= r->n_rows) {
        report_row(c, path, i, "is in the journal but not in the file");
        return 0;
    }
    if (r->layout.row_bytes > c->packed_cap) {
        uint8_t *packed = realloc(c->packed, r->layout.row_bytes);

        if (!packed)
            return ks_fail(err, KS_ENOMEM, "out of memory");
        c->packed = packed;
        c->packed_cap = r->layout.row_bytes;
    }
    rc = ks_table_row(r, i, &got, err);
    if (rc < 0)
        return rc;
    ks_packing_pack(&r->layout, row, c->packed);
    column = differing(&r->layout, t, row, c->packed, got);
    c->out->n_rows++;
    if (!column)
        return 0;
    snprintf(what, sizeof(what), "column '%s' differs from the journal", column);
    report_row(c, path, i, what);
    return 0;
}

static int compare_samples(void *ctx, const float *ns, size_t n, struct ks_err *err)
{
    struct check *c = ctx;
    uint64_t at = c->next_sample;
    int rc;

    c->next_sample += n;
    if (c->next_sample > c->n_samples) {
        report_row(c, KS_SAMPLES_PATH, at, "is in the journal but not in the file");
        return 0;
    }
    rc = ks_h5_read(c->samples, H5T_IEEE_F32LE, at, n, c->held, err);
    if (rc == 0 && memcmp(c->held, ns, n * sizeof(*ns)) != 0)
        report_row(c, KS_SAMPLES_PATH, at, "the samples differ from the journal");
    return rc;
}

static int open_tables(struct check *c, const struct ks_index *x, struct ks_err *err)
{
    int rc = 0;

    for (unsigned t = 0; rc == 0 && t < KS_T_COUNT; t++)
        rc = ks_table_open(&c->tables[t], c->file, &x->defs[t], err);
    if (rc < 0)
        return rc;
    c->held = malloc(KS_SAMPLES_MAX * sizeof(*c->held));
    if (!c->held)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    c->samples = H5Dopen2(c->file, KS_SAMPLES_PATH, H5P_DEFAULT);
    if (c->samples < 0)
        return ks_fail(err, KS_EFORMAT, "'%s' is missing", KS_SAMPLES_PATH);
    return ks_h5_extent(c->samples, &c->n_samples, err);
}

static int compare(struct check *c, const struct ks_index *x, struct ks_err *err)
{
    const struct ks_sink sink = { c, compare_row, compare_samples };
    int rc = open_tables(c, x, err);

    if (rc == 0)
        rc = ks_produce(x, &sink, err);
    if (rc < 0)
        return rc;
    for (unsigned t = 0; t < KS_T_COUNT; t++)
        if (c->next[t] < c->tables[t].n_rows)
            report_row(c, c->tables[t].layout.def->path, c->next[t],
                       "and later ones are in the file but not in the journal");
    if (c->next_sample < c->n_samples)
        report_row(c, KS_SAMPLES_PATH, c->next_sample,
                   "and later ones are in the file but not in the journal");
    if (c->n_different > FINDINGS_MAX)
        find(c->out, "%s: %" PRIu64 " more rows differ", c->path, c->n_different - FINDINGS_MAX);
    c->out->is_compared = true;
    return 0;
}

/* ---- journals ---- */

static void on_damage(void *ctx, const struct ks_journal_damage *d)
{
    struct check *c = ctx;

    if (d->copy_of)
        find(c->out, "%s: ignored, it is a copy of segment %" PRIu32 " of the same journal",
             d->path, d->copy_of);
    else if (d->is_tail)
        note(c->out,
             "%s: %" PRIu64 " bytes at offset %" PRIu64
             " are an incomplete end, as a kill leaves it",
             d->path, d->n_bytes, d->offset);
    else
        find(c->out, "%s: %" PRIu64 " bytes at offset %" PRIu64 " are damaged", d->path, d->n_bytes,
             d->offset);
}

static void report_runs(struct check *c, const struct ks_index *x)
{
    for (size_t i = 0; i < x->runs.n; i++) {
        const struct ks_run_row *r = ks_list_at(&x->runs, i);

        c->out->n_frames += r->n_frames;
        if (r->n_unreadable)
            find(c->out,
                 "%s/journal: %" PRIu64
                 " frames are intact but contain values that this version does not know",
                 r->dir, r->n_unreadable);
        if (r->n_unknown_frames)
            note(c->out, "%s/journal: %" PRIu64 " frames of unknown types were skipped", r->dir,
                 r->n_unknown_frames);
    }
    if (x->n_repeats)
        note(c->out, "%" PRIu64 " records are duplicates: the first of each counts", x->n_repeats);
    if (x->n_newer_frames)
        note(c->out,
             "%" PRIu64 " frames are newer than the file: run 'ksweep gather' to include them",
             x->n_newer_frames);
}

static void on_output(void *ctx, const char *why)
{
    struct check *c = ctx;

    find(c->out, "%s", why);
}

/* Only sweeps of programs keep outputs: no other journal is read a second time. */
static int check_outputs(struct check *c, const struct ks_index *x, struct ks_err *err)
{
    char output[1300];
    struct ks_err why;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < x->runs.n; i++) {
        const struct ks_run_row *r = ks_list_at(&x->runs, i);

        snprintf(output, sizeof(output), "%s/output", r->dir);
        if (r->n_found > 0 || ks_path_is_dir(output))
            rc = ks_check_outputs(r->dir, on_output, c, &why);
    }
    if (rc == KS_ENOMEM)
        return ks_fail(err, rc, "%s", why.text);
    if (rc < 0)
        find(c->out, "%s", why.text);
    return 0;
}

/* dirs and limits: one per run, in the file's order. */
static int check_journals(struct check *c, const struct ks_list *runs, struct ks_err *err)
{
    struct ks_index x;
    struct ks_err why;
    int rc = ks_index_init(&x, err);

    for (size_t i = 0; rc == 0 && i < runs->n; i++) {
        const struct ks_run_row *r = ks_list_at(runs, i);
        struct ks_index_limit limit = { r->end_segment, r->end_offset };

        rc = ks_index_add(&x, r->path, limit, on_damage, c, &why);
        if (rc == KS_ENOENT)
            note(c->out, "%s: the journal is missing", r->path);
        else if (rc < 0)
            find(c->out, "%s", why.text);
        else
            c->out->has_journal = true;
    }
    if (rc == 0)
        rc = ks_index_finish(&x, &why);
    if (rc == 0)
        report_runs(c, &x);
    if (rc == 0 && c->file >= 0) {
        x.statistics = x.runs.n == runs->n ? c->statistics : NULL;
        rc = compare(c, &x, &why);
        if (rc < 0)
            find(c->out, "%s: %s", c->path, why.text);
    }
    if (rc != KS_ENOMEM)
        rc = check_outputs(c, &x, &why);
    ks_index_release(&x);
    return rc == KS_ENOMEM ? ks_fail(err, rc, "%s", why.text) : 0;
}

/* ---- which file belongs to which directories ---- */

/* When they cannot be read, comparing says so. */
static int read_statistics(struct check *c, struct ks_store_file *f, struct ks_err *err)
{
    struct ks_err why;

    c->statistics = calloc(ks_store_info(f)->n_runs + 1u, sizeof(*c->statistics));
    if (!c->statistics)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    if (ks_store_statistics(f, c->statistics, &why) == 0)
        return 0;
    free(c->statistics);
    c->statistics = NULL;
    return 0;
}

static int runs_of_file(struct check *c, struct ks_list *runs, struct ks_err *err)
{
    struct ks_store_file *f = NULL;
    void *added;
    int rc;

    if (c->file < 0)
        return 0;
    rc = ks_store_open(c->path, &f, err);
    for (uint32_t i = 0; rc == 0 && i < ks_store_info(f)->n_runs; i++) {
        rc = ks_list_add(runs, &added, err);
        if (rc < 0)
            break;
        *(struct ks_run_row *)added = *ks_store_run(f, i);
        memcpy(((struct ks_run_row *)added)->path, ks_store_run(f, i)->dir, KS_PATH_BYTES);
        ((struct ks_run_row *)added)->job = NULL;
    }
    if (rc == 0)
        rc = read_statistics(c, f, err);
    ks_store_close(f);
    return rc;
}

static bool all_have_journals(const struct ks_list *runs)
{
    char journal[1300];

    for (size_t i = 0; i < runs->n; i++) {
        snprintf(journal, sizeof(journal), "%s/journal",
                 ((struct ks_run_row *)ks_list_at(runs, i))->path);
        if (!ks_path_is_dir(journal))
            return false;
    }
    return runs->n > 0;
}

static int check_both(struct check *c, const char *dir, struct ks_err *err)
{
    struct ks_list runs = { .size = sizeof(struct ks_run_row) };
    struct ks_run_row *only;
    void *added;
    int rc = runs_of_file(c, &runs, err);

    if (rc == 0 && runs.n == 0 && dir) {
        rc = ks_list_add(&runs, &added, err); /* a journal without a readable file */
        c->file = KS_H5_NONE;
    }
    if (rc == 0 && runs.n == 1 && dir) { /* the directory may have been moved */
        only = ks_list_at(&runs, 0);
        snprintf(only->path, sizeof(only->path), "%s", dir);
    }
    if (rc == 0 && all_have_journals(&runs))
        rc = check_journals(c, &runs, err);
    else if (rc == 0 && c->file >= 0)
        note(c->out, "%s: not compared, because the journals it was gathered from are missing",
             c->path);
    ks_list_release(&runs);
    return rc;
}

static void release(struct check *c)
{
    for (unsigned t = 0; t < KS_T_COUNT; t++)
        ks_table_close(&c->tables[t]);
    ks_h5_close(c->samples);
    ks_h5_close(c->file);
    ks_list_release(&c->objects);
    free(c->packed);
    free(c->held);
    free(c->statistics);
}

int ks_store_check(const char *path, struct ks_store_check *out, struct ks_err *err)
{
    struct check c = { .out = out,
                       .file = KS_H5_NONE,
                       .samples = KS_H5_NONE,
                       .objects = { .size = sizeof(struct object) } };
    bool is_dir = ks_path_is_dir(path);
    char file[1300], journal[1300];
    int rc = 0;

    if (!is_dir && ks_path_exists(path) && (rc = ks_file_check(path, err)) < 0)
        return rc;
    ks_h5_start();
    memset(out, 0, sizeof(*out));
    ks_buf_init(&out->findings);
    ks_buf_init(&out->notes);
    snprintf(file, sizeof(file), "%s%s", path, is_dir ? "/results.h5" : "");
    snprintf(journal, sizeof(journal), "%s/journal", path);
    c.path = file;
    out->has_file = ks_path_exists(file);
    if (!out->has_file && !ks_path_is_dir(journal))
        rc =
            ks_fail(err, KS_ENOENT,
                    "'%s' has neither a journal nor results.h5: name the directory of a run", path);
    if (rc == 0 && out->has_file)
        rc = check_file(&c, err);
    if (rc == 0)
        rc = check_both(&c, is_dir ? path : NULL, err);
    release(&c);
    if (rc == 0 && (!ks_buf_ok(&out->findings) || !ks_buf_ok(&out->notes)))
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    if (rc < 0) {
        ks_buf_release(&out->findings);
        ks_buf_release(&out->notes);
    }
    return rc;
}
