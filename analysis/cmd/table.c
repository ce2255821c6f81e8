/* SPDX-License-Identifier: MIT */
#include "analysis/cmd/analyze.h"
#include "analysis/cmd/input.h"
#include "analysis/cmd/result.h"
#include "analysis/data/reader.h"
#include "analysis/learn/chances.h"
#include "analysis/learn/derive.h"
#include "analysis/out/ck_csv.h"
#include "analysis/out/schema.h"
#include "analysis/out/writer.h"

#include <stdlib.h>

#define MARGIN 0.005 /* of chance_near_best */

enum format { FORMAT_CSV, FORMAT_CK, FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON };
static const char *const formats[] = { "csv", "ck", "text", "markdown", "json", NULL };
static const struct ks_format *const writers[] = { [FORMAT_CSV] = &ks_format_csv,
                                                   [FORMAT_TEXT] = &ks_format_text,
                                                   [FORMAT_MARKDOWN] = &ks_format_markdown,
                                                   [FORMAT_JSON] = &ks_format_json };

static const char *const versions[] = { "v1", "v2", NULL }; /* enum ks_columns_version */

struct config {
    const char *output;
    unsigned format, merge, columns;
    bool is_schema, has_oracle;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "FILE",
      .help = "write there, whole or not at all, instead of to standard output" },
    { .name = "format",
      .type = KS_OPT_ENUM,
      .offset = AT(format),
      .def = "csv",
      .choices = formats,
      .arg = "NAME",
      .help = "csv, text (aligned), markdown, json: a row per cell, failures included; ck: "
              "Composable Kernel's 24 columns, ok rows only" },
    { .name = "merge",
      .type = KS_OPT_ENUM,
      .offset = AT(merge),
      .def = "all",
      .choices = ks_merge_names,
      .arg = "HOW",
      .help = "of several runs with the same cell: every row, that of the newest run, or the one "
              "with the median time" },
    { .name = "columns",
      .type = KS_OPT_ENUM,
      .offset = AT(columns),
      .def = "v2",
      .choices = versions,
      .arg = "VERSION",
      .help = "names and order of the columns; v1: those of releases before schema 1.5" },
    { .name = "oracle",
      .type = KS_OPT_BOOL,
      .offset = AT(has_oracle),
      .def = "no",
      .help =
          "add what `oracle` says of each row: chance_best, chance_near_best, expected_regret" },
    { .name = "schema",
      .type = KS_OPT_BOOL,
      .offset = AT(is_schema),
      .def = "no",
      .help = "print the columns instead: type, unit, missing value, role and meaning; without "
              "FILE those that any file can have" },
    KS_OPT_END
};
#undef AT

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
        return 0;
    if (c->columns == KS_COLUMNS_V1 || c->format == FORMAT_CK)
        return ks_fail(err, KS_EINVAL,
                       "--oracle adds columns that --columns v1 and --format ck "
                       "do not have");
    rc = ks_input_load(&t->input, &path, 1, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, err);
    if (rc == 0)
        rc = ks_oracle_make(&t->input.trials, t->input.sweeps.n_domains, KS_OVER_MEDIAN, MARGIN,
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

static int put_batches(struct ks_reader *r, const struct ks_format *w, void *state,
                       size_t n_columns, struct ks_chances *chances, struct ks_sink *to,
                       struct ks_err *err)
{
    struct ks_derive *d = NULL;
    struct ks_df *f;
    int rc = ks_derive_create(&d, err);

    if (rc == 0)
        rc = w->begin(state, ks_reader_df(r), n_columns, to, err);
    while (rc >= 0 && (rc = ks_reader_next(r, &f, err)) > 0) {
        rc = ks_derive(d, f, err);
        if (rc == 0 && chances)
            rc = ks_chances_fill(chances, f, err);
        if (rc == 0)
            rc = w->put(state, f, n_columns, to, err);
    }
    if (rc == 0)
        rc = w->end(state, to, err);
    ks_derive_destroy(d);
    return rc;
}

static int put_table(struct ks_view *v, const struct config *c, struct ks_chances *chances,
                     struct ks_sink *to, struct ks_err *err)
{
    const struct ks_format *w = writers[c->format];
    const struct ks_store_file *f = ks_view_file(v);
    struct ks_sources sources = { 0 };
    struct ks_reader *r = NULL;
    void *state = calloc(1, w->state_size);
    size_t n_columns;
    int rc = state ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_sources_training(&sources, f, c->columns, err);
    if (rc == 0 && chances)
        rc = ks_sources_oracle(&sources, err);
    n_columns = sources.n;
    if (rc == 0)
        rc = ks_derive_need(&sources, f, err);
    if (rc == 0)
        rc = ks_reader_open(v, &sources, 0, &r, err);
    if (rc == 0)
        rc = put_batches(r, w, state, n_columns, chances, to, err);
    ks_reader_close(r);
    if (state)
        w->release(state);
    free(state);
    ks_sources_release(&sources);
    return rc;
}

/* ---- Composable Kernel's columns ---- */

static int put_usable(struct ks_ck_csv *c, const struct ks_df *f, struct ks_sink *to,
                      struct ks_err *err)
{
    uint32_t *rows = malloc((f->n_rows + 1) * sizeof(*rows));
    size_t n;
    int rc = rows ? ks_usable_rows(f, rows, &n, err)
                  : ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", f->n_rows);

    if (rc == 0)
        rc = ks_ck_csv_put(c, f, rows, n, to, err);
    free(rows);
    return rc;
}

static int put_ck(struct ks_view *v, struct ks_sink *to, struct ks_err *err)
{
    struct ks_sources sources = { 0 };
    struct ks_reader *r = NULL;
    struct ks_ck_csv c = { 0 };
    struct ks_df *f;
    int rc = ks_ck_csv_need(ks_view_file(v), &sources, err);

    if (rc == 0)
        rc = ks_obs_need(&sources, ks_view_file(v), err);
    if (rc == 0)
        rc = ks_reader_open(v, &sources, 0, &r, err);
    if (rc == 0)
        ks_ck_csv_header(to);
    while (rc >= 0 && r && (rc = ks_reader_next(r, &f, err)) > 0)
        rc = put_usable(&c, f, to, err);
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

static int write_table(struct ks_view *v, const struct config *c, struct ks_chances *chances,
                       struct ks_err *err)
{
    struct ks_result o;
    int rc = ks_result_open(&o, c->output, err);

    if (rc == 0)
        rc = c->format == FORMAT_CK ? put_ck(v, &o.sink, err)
                                    : put_table(v, c, chances, &o.sink, err);
    return ks_result_close(&o, rc, err);
}

static int read_and_write(const char *path, const struct config *c, struct ks_buf *notes,
                          struct ks_err *err)
{
    struct ks_view *v = NULL;
    struct told told;
    int rc = ask_oracle(path, c, &told, err);

    if (rc == 0)
        rc = ks_view_open(path, c->merge, &v, err);
    if (rc == 0)
        rc = write_table(v, c, told.chances, err);
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
    int rc = path ? ks_store_open(path, &f, err) : 0;

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
    return c->is_schema ? write_schema(n ? operands[0] : NULL, c, err)
                        : read_and_write(operands[0], c, notes, err);
}

const struct ks_analysis ks_analysis_table = {
    .name = "table",
    .summary = "One row per cell of a results file, for training and for people.",
    .usage = "table FILE [-o FILE] [--format csv|ck|text|markdown|json] "
             "[--merge all|newest|median] [--columns v1|v2] [--oracle] [--schema]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 0,
    .n_max = 1,
    .run = table,
};
