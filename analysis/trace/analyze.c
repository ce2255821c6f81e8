/* SPDX-License-Identifier: MIT */
/* analyze.c - where the time of a trace goes, and how far from the roof its kernels are. */
#include "analysis/out/result.h"
#include "analysis/trace/breakdown.h"
#include "analysis/trace/critical.h"
#include "analysis/trace/stragglers.h"
#include "analysis/trace/tables.h"
#include "analysis/trace/verbs.h"
#include "trace/output.h"

#include <stdlib.h>
#include <string.h>

enum {
    TABLE_ALL,
    TABLE_SUMMARY,
    TABLE_WORK,
    TABLE_KERNELS,
    TABLE_OPERATORS,
    TABLE_SHAPES,
    TABLE_IDLE,
    TABLE_LAUNCHES,
    TABLE_QUEUES,
    TABLE_COPIES,
    TABLE_ANNOTATIONS,
    TABLE_OWN,
    TABLE_CRITICAL,
    TABLE_PARTS,
    TABLE_STRAGGLERS,
    N_TABLES
};
static const char *const table_names[] = { "all",       "summary", "work",        "kernels",
                                           "operators", "shapes",  "idle",        "launches",
                                           "queues",    "copies",  "annotations", "own",
                                           "critical",  "parts",   "stragglers",  NULL };
static const char *const titles[] = { "",
                                      "devices",
                                      "kinds of work that ran at once",
                                      "kernels, copies and fills",
                                      "operators",
                                      "operators by shape",
                                      "gaps between the work of a stream",
                                      "launches by call",
                                      "queue length: kernels launched but not started",
                                      "GB/s of copies and fills",
                                      "annotations",
                                      "operators on the host, with and without those below them",
                                      "critical path",
                                      "critical path by name",
                                      "ranks, those that delay the others first" };
static const struct ks_table_column *const columns[] = { NULL,
                                                         ks_summary_columns,
                                                         ks_work_columns,
                                                         ks_kernel_columns,
                                                         ks_operator_columns,
                                                         ks_shape_columns,
                                                         ks_idle_columns,
                                                         ks_launch_columns,
                                                         ks_queue_columns,
                                                         ks_copy_columns,
                                                         ks_note_columns,
                                                         ks_own_columns,
                                                         ks_critical_columns,
                                                         ks_part_columns,
                                                         ks_straggler_columns };

static const char *const formats[] = { "text", "csv", "json", "markdown", NULL };
static const struct ks_format *const writers[] = { &ks_format_text, &ks_format_csv, &ks_format_json,
                                                   &ks_format_markdown };

struct config {
    const char *output;
    unsigned format, table;
    uint32_t top;
    bool halve_causal;
    const char *steps, *peaks;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    KS_OPT_RESULT(AT(output)),
    { .name = "format",
      .type = KS_OPT_ENUM,
      .offset = AT(format),
      .def = "text",
      .choices = formats,
      .arg = "NAME",
      .help = "text (aligned, 6 digits), csv, json, markdown" },
    { .name = "table",
      .type = KS_OPT_ENUM,
      .offset = AT(table),
      .def = "all",
      .choices = table_names,
      .arg = "NAME",
      .help = "print one table instead of all; required for csv" },
    { .name = "top",
      .type = KS_OPT_U32,
      .offset = AT(top),
      .def = "0",
      .arg = "N",
      .help = "lines per device and table; the rest is summed up in one line; 0: all lines" },
    { .name = "steps",
      .type = KS_OPT_STR,
      .offset = AT(steps),
      .arg = "A..B",
      .help = "use only what these steps of the profiler launched (ProfilerStep#A to #B)" },
    KS_OPT_PEAKS(AT(peaks)),
    KS_OPT_HALVE_CAUSAL(AT(halve_causal)),
    KS_OPT_END
};
#undef AT

/* path: where the tables of the critical path are wanted. */
static int put_rows(const struct ks_trace_view *v, const struct ks_path *path,
                    const struct config *c, int table, struct ks_table *to, struct ks_err *err)
{
    switch (table) {
    case TABLE_SUMMARY:
        ks_put_summary(v, to);
        return 0;
    case TABLE_WORK:
        ks_put_work(v, to);
        return 0;
    case TABLE_KERNELS:
        return ks_put_groups(v, KS_BY_KERNEL, c->top, to, err);
    case TABLE_OPERATORS:
        return ks_put_groups(v, KS_BY_OPERATOR, c->top, to, err);
    case TABLE_SHAPES:
        return ks_put_groups(v, KS_BY_SHAPE, c->top, to, err);
    case TABLE_IDLE:
        return ks_put_idle(v, to, err);
    case TABLE_LAUNCHES:
        return ks_put_launches(v, to, err);
    case TABLE_QUEUES:
        return ks_put_queues(v, to, err);
    case TABLE_COPIES:
        return ks_put_copies(v, to, err);
    case TABLE_ANNOTATIONS:
        return ks_put_notes(v, to, err);
    case TABLE_OWN:
        return ks_put_own(v, c->top, to, err);
    case TABLE_CRITICAL:
        ks_put_critical(v, path, to);
        return 0;
    case TABLE_PARTS:
        return ks_put_parts(v, path, c->top, to, err);
    default:
        return 0; /* of all traces: at the end */
    }
}

static bool is_wanted(const struct config *c, int table)
{
    return table != TABLE_ALL && (c->table == TABLE_ALL || (int)c->table == table);
}

/* stragglers: NULL: not wanted. */
static int add_file(const char *path, const struct config *c, struct ks_table tables[N_TABLES],
                    struct ks_stragglers *stragglers, struct ks_buf *notes, struct ks_err *err)
{
    const struct ks_view_options o = { .peaks = c->peaks,
                                       .steps = c->steps,
                                       .rules = { .halve_causal = c->halve_causal } };
    struct ks_path critical = { 0 };
    struct ks_trace_view v;
    int rc = ks_trace_view_open(path, &o, &v, notes, err);

    if (rc == 0)
        rc = ks_trace_view_busy(&v, err);
    if (rc == 0 && (is_wanted(c, TABLE_CRITICAL) || is_wanted(c, TABLE_PARTS)))
        rc = ks_path_of(&v, &critical, err);
    for (int i = 0; rc == 0 && i < N_TABLES; i++)
        if (is_wanted(c, i))
            rc = put_rows(&v, &critical, c, i, &tables[i], err);
    if (rc == 0 && stragglers)
        rc = ks_stragglers_add(stragglers, &v, err);
    ks_path_release(&critical);
    ks_trace_view_close(&v);
    return rc;
}

static int write_tables(const struct config *c, const struct ks_table tables[N_TABLES],
                        struct ks_err *err)
{
    struct ks_result result;
    struct ks_tables out = { .format = writers[c->format], .to = &result.sink };
    int rc = ks_result_open(&result, c->output, err);

    for (int i = 0; rc == 0 && i < N_TABLES; i++)
        if (is_wanted(c, i))
            rc = ks_tables_put(&out, table_names[i], titles[i], &tables[i], err);
    if (rc == 0)
        rc = ks_tables_end(&out, err);
    return ks_result_close(&result, rc, err);
}

static int analyze(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                   struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_table tables[N_TABLES] = { 0 };
    struct ks_stragglers stragglers = { 0 };
    struct ks_paths paths = { 0 };
    int rc = 0;

    if (writers[c->format] == &ks_format_csv && c->table == TABLE_ALL)
        return ks_fail(err, KS_EINVAL,
                       "--format csv writes one table: add --table kernels or "
                       "another (--help)");
    for (int i = 1; i < N_TABLES; i++)
        ks_table_init(&tables[i], columns[i]);
    rc = ks_paths_open(operands, n, &paths, err);
    if (rc == 0 && c->output)
        rc = ks_trace_output_check(c->output, (const char *const *)paths.path, paths.n, err);
    for (size_t i = 0; rc == 0 && i < paths.n; i++)
        rc = add_file(paths.path[i], c, tables,
                      paths.n > 1 && is_wanted(c, TABLE_STRAGGLERS) ? &stragglers : NULL, notes,
                      err);
    if (rc == 0)
        rc = ks_stragglers_put(&stragglers, &tables[TABLE_STRAGGLERS], err);
    if (rc == 0)
        rc = write_tables(c, tables, err);
    ks_stragglers_release(&stragglers);
    ks_paths_close(&paths);
    for (int i = 1; i < N_TABLES; i++)
        ks_table_release(&tables[i]);
    return rc;
}

const struct ks_analysis ks_trace_verb_analyze = {
    .name = "trace analyze",
    .summary = "Analyze a profiler's trace by kernel, operator and shape: time, FLOPs, bytes, and "
               "the share of the device's peaks.",
    .usage = "trace analyze FILE|DIR... [-o FILE] [--format text|csv|json|markdown] [--table NAME] "
             "[--top N] [--steps A..B] [--peaks FILE] [--halve-causal]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 0,
    .run = analyze,
};
