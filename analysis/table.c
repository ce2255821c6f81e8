/* SPDX-License-Identifier: MIT */
#include "analysis/analyze.h"
#include "analysis/ck_csv.h"
#include "analysis/columns.h"
#include "analysis/join.h"
#include "analysis/view.h"

enum format { FORMAT_CSV, FORMAT_CK };
static const char *const formats[] = { "csv", "ck", NULL };
static const char *const versions[] = { "v1", "v2", NULL }; /* enum ks_columns_version */

struct config {
    const char *output;
    unsigned format, merge, columns;
    bool is_schema;
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
      .help = "csv: a row per cell, failures included; ck: Composable Kernel's 24 columns, ok "
              "rows only" },
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
      .help = "names and order of the csv columns; v1: those of releases before schema 1.5" },
    { .name = "schema",
      .type = KS_OPT_BOOL,
      .offset = AT(is_schema),
      .def = "no",
      .help = "print the columns instead: type, unit, missing value, role and meaning; without "
              "FILE those that any file can have" },
    KS_OPT_END
};
#undef AT

static int put_csv(struct ks_view *v, enum ks_columns_version version, struct ks_buf *out,
                   struct ks_err *err)
{
    struct ks_columns *c = NULL;
    struct ks_join join = { 0 };
    const struct ks_row *rows;
    size_t n;
    int rc = ks_columns_create(ks_view_file(v), version, &c, err);

    if (rc < 0)
        return rc;
    ks_columns_header(c, out);
    while ((rc = ks_view_next(v, &rows, &n, err)) > 0) {
        rc = ks_join_problem(&join, rows, n, err);
        if (rc < 0)
            break;
        for (size_t i = 0; i < n; i++)
            ks_columns_row(c, &rows[i], ks_join_code(&join, &rows[i]), out);
    }
    ks_join_release(&join);
    ks_columns_destroy(c);
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

static int put_table(const struct config *c, const char *path, struct ks_analysis_out *out,
                     struct ks_err *err)
{
    struct ks_view *v = NULL;
    int rc = ks_view_open(path, c->merge, &v, err);

    if (rc == 0)
        rc = c->format == FORMAT_CK ? ks_ck_csv(v, &out->text, err)
                                    : put_csv(v, c->columns, &out->text, err);
    if (rc == 0)
        note(v, &out->notes);
    ks_view_close(v);
    return rc;
}

static int put_schema(const struct config *c, const char *path, struct ks_analysis_out *out,
                      struct ks_err *err)
{
    struct ks_store_file *f = NULL;
    struct ks_columns *columns = NULL;
    int rc = path ? ks_store_open(path, &f, err) : 0;

    if (rc == 0)
        rc = ks_columns_create(f, c->columns, &columns, err);
    if (rc == 0)
        ks_columns_schema(columns, &out->text);
    ks_columns_destroy(columns);
    ks_store_close(f);
    return rc;
}

static int table(const void *cfg, const char *const *operands, int n, struct ks_analysis_out *out,
                 struct ks_err *err)
{
    const struct config *c = cfg;

    if (n == 0 && !c->is_schema)
        return ks_fail(err, KS_EINVAL, "missing argument; usage: ksweep-analyze %s",
                       ks_analysis_table.usage);
    out->file = c->output;
    return c->is_schema ? put_schema(c, n ? operands[0] : NULL, out, err)
                        : put_table(c, operands[0], out, err);
}

const struct ks_analysis ks_analysis_table = {
    .name = "table",
    .summary = "One row per cell of a results file, for training and for people.",
    .usage = "table FILE [-o FILE] [--format csv|ck] [--merge all|newest|median] [--columns v1|v2] "
             "[--schema]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 0,
    .n_max = 1,
    .run = table,
};
