/* SPDX-License-Identifier: MIT */
#include "analysis/out/report.h"
#include "analysis/cmd/analyze.h"
#include "analysis/data/reader.h"
#include "analysis/learn/summary.h"
#include "analysis/out/result.h"
#include "base/text.h"

struct config {
    bool json;
    unsigned merge;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "json", .type = KS_OPT_BOOL, .offset = AT(json), .def = "no", .help = "print JSON" },
    { .name = "merge",
      .type = KS_OPT_ENUM,
      .offset = AT(merge),
      .def = "newest",
      .choices = ks_merge_names,
      .arg = "HOW",
      .help = "of several runs with the same cell: every row, that of the newest run, or the one "
              "with the median time" },
    KS_OPT_END
};
#undef AT

/* ---- input ---- */

struct joined {
    struct ks_joined *problems, *instances, *devices;
};

static int open_joined(const struct ks_store_file *f, enum ks_table_id from,
                       const char *const *columns, struct ks_joined **out, struct ks_err *err)
{
    size_t n = 0;

    while (columns[n])
        n++;
    return ks_joined_open(f, from, columns, n, out, err);
}

static int open_tables(const struct ks_store_file *f, struct joined *j, struct ks_tables *t,
                       struct ks_err *err)
{
    int rc = open_joined(f, KS_T_PROBLEMS, ks_tables_problems, &j->problems, err);

    if (rc == 0)
        rc = open_joined(f, KS_T_KERNELS, ks_tables_instances, &j->instances, err);
    if (rc == 0)
        rc = open_joined(f, KS_T_DEVICES, ks_tables_devices, &j->devices, err);
    if (rc == 0)
        rc = ks_tables_init(t, ks_joined_df(j->problems), ks_joined_df(j->instances),
                            ks_joined_df(j->devices), err);
    return rc;
}

static void close_tables(struct joined *j, struct ks_tables *t)
{
    ks_tables_release(t);
    ks_joined_close(j->problems);
    ks_joined_close(j->instances);
    ks_joined_close(j->devices);
}

static int add_batches(struct ks_view *v, struct ks_summarizer *c, struct ks_err *err)
{
    struct ks_sources sources = { 0 };
    struct ks_reader *r = NULL;
    struct ks_df *f;
    int rc = ks_obs_need(&sources, ks_view_file(v), err);

    if (rc == 0)
        rc = ks_reader_open(v, &sources, 0, &r, err);
    while (rc >= 0 && r && (rc = ks_reader_next(r, &f, err)) > 0)
        rc = ks_summarizer_add(c, f, err);
    ks_reader_close(r);
    ks_sources_release(&sources);
    return rc;
}

static int summarize(struct ks_view *v, const struct ks_tables *t, struct ks_summary *out,
                     struct ks_err *err)
{
    const struct ks_store_info *info = ks_store_info(ks_view_file(v));
    struct ks_summarizer *c = NULL;
    int rc = ks_summarizer_create(t, &c, err);

    if (rc == 0)
        rc = add_batches(v, c, err);
    if (rc == 0)
        rc = ks_summarizer_end(c, out, err);
    ks_summarizer_destroy(c);
    if (rc < 0)
        return rc;
    out->n_cells = info->n_cells;
    out->n_pending = info->n_pending;
    out->n_dropped = ks_view_n_dropped(v);
    return 0;
}

/* ---- output ---- */

static int print(const struct ks_summary *s, const char *file, bool is_json, struct ks_err *err)
{
    struct ks_buf text;
    struct ks_result o;
    int rc = ks_result_open(&o, NULL, err);

    ks_buf_init(&text);
    if (is_json)
        ks_report_json(s, file, &text);
    else
        ks_report_text(s, &text);
    if (rc == 0 && !ks_buf_ok(&text))
        rc = ks_fail(err, KS_ENOMEM, "no memory for the result");
    if (rc == 0)
        ks_text_put(&o.sink.text, ks_buf_text(&text), text.len, KS_LINES_KEEP);
    ks_buf_release(&text);
    return ks_result_close(&o, rc, err);
}

static int report(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                  struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_view *v = NULL;
    struct ks_tables t = { 0 };
    struct joined j = { 0 };
    struct ks_summary s = { 0 };
    int rc;

    (void)n;
    (void)notes;
    rc = ks_view_open(operands[0], c->merge, &v, err);
    if (rc == 0)
        rc = open_tables(ks_view_file(v), &j, &t, err);
    if (rc == 0)
        rc = summarize(v, &t, &s, err);
    if (rc == 0)
        rc = print(&s, operands[0], c->json, err);
    ks_summary_release(&s);
    close_tables(&j, &t);
    ks_view_close(v);
    return rc;
}

const struct ks_analysis ks_analysis_report = {
    .name = "report",
    .summary = "The best instance of every problem, every outcome counted, and who measured.",
    .usage = "report FILE [--json] [--merge all|newest|median]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = report,
};
