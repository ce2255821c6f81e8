/* SPDX-License-Identifier: MIT */
/* table.c - ksweep-analyze table: one row per cell, in any format; converts tables */
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/frames.h"
#include "analysis/cmd/input.h"
#include "analysis/data/reader.h"
#include "analysis/import/made.h"
#include "analysis/learn/chances.h"
#include "analysis/learn/join.h"
#include "analysis/out/ck_csv.h"
#include "analysis/out/ck_parquet.h"
#include "analysis/out/result.h"
#include "analysis/out/schema.h"
#include "analysis/out/writer.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN 0.005 /* of chance_near_best */

enum format {
    FORMAT_CSV,
    FORMAT_CK,
    FORMAT_TEXT,
    FORMAT_MARKDOWN,
    FORMAT_JSON,
    FORMAT_PARQUET,
    FORMAT_HDF5,
    FORMAT_CK_PARQUET
};
static const char *const formats[] = { "csv",     "ck",   "text",       "markdown", "json",
                                       "parquet", "hdf5", "ck-parquet", NULL };
static const struct ks_format *const writers[] = {
    [FORMAT_CSV] = &ks_format_csv,           [FORMAT_TEXT] = &ks_format_text,
    [FORMAT_MARKDOWN] = &ks_format_markdown, [FORMAT_JSON] = &ks_format_json,
    [FORMAT_PARQUET] = &ks_format_parquet,   [FORMAT_HDF5] = &ks_format_hdf5
};

static const char *const versions[] = { "v1", "v2", NULL }; /* enum ks_columns_version */

struct config {
    const char *output;
    unsigned format, merge, columns, statistic;
    bool is_schema, has_features, has_oracle;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    KS_OPT_RESULT(AT(output)),
    { .name = "format",
      .type = KS_OPT_ENUM,
      .offset = AT(format),
      .def = "csv",
      .choices = formats,
      .arg = "NAME",
      .help = "csv, text (aligned), markdown, json, parquet, hdf5: one row per cell, failures "
              "included; ck: Composable Kernel's 24 columns, ck-parquet: the columns of its "
              "training data, both with ok rows only" },
    { .name = "merge",
      .type = KS_OPT_ENUM,
      .offset = AT(merge),
      .def = "all",
      .choices = ks_merge_names,
      .arg = "HOW",
      .help = "if several runs have the same cell: all rows, the row of the newest run, or the row "
              "with the median time" },
    { .name = "columns",
      .type = KS_OPT_ENUM,
      .offset = AT(columns),
      .def = "v2",
      .choices = versions,
      .arg = "VERSION",
      .help = "names and order of the columns; v1: as in releases before schema 1.5" },
    { .name = "features",
      .type = KS_OPT_BOOL,
      .offset = AT(has_features),
      .def = "no",
      .help = "append the features that a model would see, for the first device of the file; those "
              "of the analytic model are missing, because only 'train' calibrates it" },
    { .name = "oracle",
      .type = KS_OPT_BOOL,
      .offset = AT(has_oracle),
      .def = "no",
      .help = "add the columns of 'oracle': chance_best, chance_near_best, expected_regret" },
    KS_OPT_STATISTIC(AT(statistic)),
    { .name = "schema",
      .type = KS_OPT_BOOL,
      .offset = AT(is_schema),
      .def = "no",
      .help = "print a description of the columns instead: type, unit, missing value, role and "
              "meaning; without FILE all columns that a file can have" },
    KS_OPT_END
};
#undef AT

static bool is_ck(const struct config *c)
{
    return c->format == FORMAT_CK || c->format == FORMAT_CK_PARQUET;
}

/* ---- what the oracle says ---- */

struct told {
    struct ks_input input;
    struct ks_oracle oracle;
    struct ks_chances *chances; /* NULL: not asked for */
};

static int ask_oracle(const char *path, const struct config *c, struct told *t, struct ks_err *err)
{
    int rc;

    *t = (struct told){ .chances = NULL };
    if (!c->has_oracle)
        return c->statistic == KS_INPUT_LABEL
                   ? 0
                   : ks_fail(err, KS_EINVAL, "--statistic needs --oracle");
    if (c->columns == KS_COLUMNS_V1 || is_ck(c))
        return ks_fail(
            err, KS_EINVAL,
            "--oracle adds columns, so it cannot be combined with --columns v1 or --format ck");
    rc = ks_input_load(&t->input, &path, 1, c->statistic, KS_LABEL_OVER, err);
    if (rc == 0)
        rc = ks_oracle_make(&t->input.trials, t->input.sweeps.n_domains, KS_LABEL_OVER, MARGIN,
                            &t->oracle, err);
    if (rc == 0)
        rc = ks_chances_create(&t->input.sweeps, &t->oracle, &t->chances, err);
    return rc;
}

static void forget(struct told *t)
{
    ks_chances_destroy(t->chances);
    ks_oracle_release(&t->oracle);
    ks_input_release(&t->input);
}

/* ---- a row per cell ---- */

static int look_ahead(struct ks_frames *r, const struct ks_format *w, void *state,
                      struct ks_err *err)
{
    size_t n_columns;
    struct ks_df *f;
    int rc = 0;

    (void)ks_frames_df(r, &n_columns);
    while (rc >= 0 && (rc = ks_frames_next(r, &f, err)) > 0)
        rc = w->look(state, f, n_columns, err);
    return rc == 0 ? ks_frames_rewind(r, err) : rc;
}

static int put_batches(struct ks_frames *r, const struct ks_format *w, void *state,
                       struct ks_sink *to, struct ks_err *err)
{
    const struct ks_df *columns;
    size_t n_columns;
    struct ks_df *f;
    int rc = w->look ? look_ahead(r, w, state, err) : 0;

    if (rc < 0)
        return rc;
    columns = ks_frames_df(r, &n_columns);
    rc = w->begin(state, columns, n_columns, to, err);
    while (rc >= 0 && (rc = ks_frames_next(r, &f, err)) > 0)
        rc = w->put(state, f, n_columns, to, err);
    return rc == 0 ? w->end(state, to, err) : rc;
}

static void note_unread(const struct ks_frames *r, struct ks_buf *notes)
{
    if (ks_frames_n_unread(r))
        ks_buf_printf(notes,
                      "ksweep-analyze table: %zu rows have no features: their problem cannot be "
                      "read\n",
                      ks_frames_n_unread(r));
}

/* v NULL: the table at `path`. */
static int put_table(struct ks_view *v, const char *path, const struct config *c,
                     struct ks_chances *chances, struct ks_sink *to, struct ks_buf *notes,
                     struct ks_err *err)
{
    const struct ks_frames_more more = { .chances = chances, .has_features = c->has_features };
    const struct ks_format *w = writers[c->format];
    struct ks_frames *r = NULL;
    void *state = calloc(1, w->state_size);
    int rc = state ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_frames_open(v, c->columns, path, &more, &r, err);
    if (rc == 0)
        rc = put_batches(r, w, state, to, err);
    if (rc == 0)
        note_unread(r, notes);
    if (state)
        w->release(state);
    free(state);
    ks_frames_close(r);
    return rc;
}

/* ---- Composable Kernel's columns ---- */

/* Rows in either form: parquet NULL = CSV. */
struct ck_rows {
    struct ks_ck_csv csv;
    struct ks_ck_parquet *parquet;
    struct ks_sink *to;
};

static int put_usable(struct ck_rows *c, const struct ks_df *f, struct ks_err *err)
{
    uint32_t *rows = malloc((f->n_rows + 1) * sizeof(*rows));
    size_t n;
    int rc = rows ? ks_usable_rows(f, rows, &n, err)
                  : ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", f->n_rows);

    if (rc == 0)
        rc = c->parquet ? ks_ck_parquet_put(c->parquet, &c->csv, f, rows, n, err)
                        : ks_ck_csv_put(&c->csv, f, rows, n, c->to, err);
    free(rows);
    return rc;
}

static int begin_ck(struct ck_rows *c, bool is_parquet, struct ks_err *err)
{
    if (is_parquet)
        return ks_ck_parquet_create(&c->parquet, c->to, err);
    ks_ck_csv_header(c->to);
    return 0;
}

static int put_ck(struct ks_view *v, bool is_parquet, struct ks_sink *to, struct ks_err *err)
{
    struct ks_sources sources = { 0 };
    struct ks_reader *r = NULL;
    struct ck_rows c = { .to = to };
    struct ks_df *f;
    int rc = ks_ck_csv_need(ks_view_file(v), &sources, err);

    if (rc == 0)
        rc = ks_obs_need(&sources, ks_view_file(v), err);
    if (rc == 0)
        rc = ks_reader_open(v, &sources, 0, &r, err);
    if (rc == 0)
        rc = begin_ck(&c, is_parquet, err);
    while (rc >= 0 && r && (rc = ks_reader_next(r, &f, err)) > 0)
        rc = put_usable(&c, f, err);
    if (rc == 0 && c.parquet)
        rc = ks_ck_parquet_end(c.parquet, err);
    ks_ck_parquet_destroy(c.parquet);
    ks_reader_close(r);
    ks_sources_release(&sources);
    return rc;
}

/* What is not in the table must be said: nobody would miss it. */
static void note(const struct ks_view *v, struct ks_buf *notes)
{
    const struct ks_store_info *info = ks_store_info(ks_view_file(v));

    if (ks_view_n_dropped(v))
        ks_buf_printf(notes, "ksweep-analyze table: merging left out %llu of %llu rows\n",
                      (unsigned long long)ks_view_n_dropped(v),
                      (unsigned long long)(ks_view_n_dropped(v) + ks_view_n_rows(v)));
    if (info->n_pending)
        ks_buf_printf(notes,
                      "ksweep-analyze table: %llu of %llu cells have no outcome yet, so no row\n",
                      (unsigned long long)info->n_pending, (unsigned long long)info->n_cells);
}

static int write_table(struct ks_view *v, const char *path, const struct config *c,
                       struct ks_chances *chances, struct ks_buf *notes, struct ks_err *err)
{
    struct ks_result o;
    int rc = ks_result_open(&o, c->output, err);

    if (rc == 0)
        rc = is_ck(c) ? put_ck(v, c->format == FORMAT_CK_PARQUET, &o.sink, err)
                      : put_table(v, path, c, chances, &o.sink, notes, err);
    return ks_result_close(&o, rc, err);
}

/* A CSV, or an HDF5 file with one table, is what `table` has written before. */
static bool is_made(const char *path)
{
    const char *end = strrchr(path, '.');

    return (end && strcmp(end, ".csv") == 0) || ks_made_is_hdf5_table(path);
}

static int convert(const char *path, const struct config *c, struct ks_buf *notes,
                   struct ks_err *err)
{
    if (is_ck(c) || c->merge != KS_MERGE_ALL || c->columns != KS_COLUMNS_V2 || c->has_features ||
        c->has_oracle)
        return ks_fail(err, KS_EINVAL,
                       "'%s' is a table, but --format ck, --merge, --columns, --features and "
                       "--oracle need a results file",
                       path);
    return write_table(NULL, path, c, NULL, notes, err);
}

static int read_and_write(const char *path, const struct config *c, struct ks_buf *notes,
                          struct ks_err *err)
{
    struct ks_view *v = NULL;
    struct told told;
    int rc;

    if (is_made(path))
        return convert(path, c, notes, err);
    rc = ask_oracle(path, c, &told, err);
    if (rc == 0)
        rc = ks_view_open(path, c->merge, &v, err);
    if (rc == 0)
        rc = write_table(v, path, c, told.chances, notes, err);
    if (rc == 0)
        note(v, notes);
    ks_view_close(v);
    forget(&told);
    return rc;
}

static int write_schema(const char *path, const struct config *c, struct ks_err *err)
{
    struct ks_store_file *f = NULL;
    struct ks_sources sources = { 0 };
    struct ks_result o;
    char file[KS_PATH_BYTES];
    int rc = path ? ks_results_path(path, file, sizeof(file), err) : 0;

    if (rc == 0 && path)
        rc = ks_store_open(file, &f, err);
    if (rc == 0)
        rc = ks_sources_training(&sources, f, c->columns, err);
    if (rc == 0 && c->has_oracle)
        rc = ks_sources_oracle(&sources, err);
    if (rc == 0) {
        rc = ks_result_open(&o, c->output, err);
        if (rc == 0)
            ks_schema_put(&sources, &o.sink.text);
        rc = ks_result_close(&o, rc, err);
    }
    ks_sources_release(&sources);
    ks_store_close(f);
    return rc;
}

static int table(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                 struct ks_err *err)
{
    const struct config *c = cfg;

    if (n == 0 && !c->is_schema)
        return ks_fail(err, KS_EINVAL, "missing argument; usage: ksweep-analyze %s",
                       ks_analysis_table.usage);
    if (is_ck(c) && c->has_features)
        return ks_fail(err, KS_EINVAL, "--format ck has fixed columns: leave out --features");
    return c->is_schema ? write_schema(n ? operands[0] : NULL, c, err)
                        : read_and_write(operands[0], c, notes, err);
}

const struct ks_analysis ks_analysis_table = {
    .name = "table",
    .summary = "Print one row per cell of a results file, for training or reading; also converts "
               "tables between formats.",
    .usage = "table FILE [-o FILE] [--format csv|ck|text|markdown|json|parquet|hdf5|ck-parquet] "
             "[--merge all|newest|median] [--columns v1|v2] [--features] [--oracle] "
             "[--statistic NAME] [--schema]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 0,
    .n_max = 1,
    .run = table,
};
