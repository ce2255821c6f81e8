/* SPDX-License-Identifier: MIT */
/* counters.c - trace counters: counters of profilers as one table */
#include "analysis/out/result.h"
#include "analysis/out/writer.h"
#include "analysis/trace/counter_join.h"
#include "analysis/trace/counter_lines.h"
#include "analysis/trace/counter_read.h"
#include "analysis/trace/verbs.h"
#include "analysis/trace/view.h"
#include "trace/output.h"

#include <stdlib.h>

static const char *const formats[] = { "csv", "text", "markdown", "json", NULL };
static const struct ks_format *const writers[] = { &ks_format_csv, &ks_format_text,
                                                   &ks_format_markdown, &ks_format_json };

struct config {
    const char *output, *trace;
    unsigned format, by;
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
      .help = "csv, text (aligned), markdown or json" },
    { .name = "by",
      .type = KS_OPT_ENUM,
      .offset = AT(by),
      .def = "launch",
      .choices = ks_counter_by_names,
      .arg = "WHAT",
      .help = "launch: one line per launch with all counters; others: sums per rank, device and "
              "kernel, outermost operator (top) or innermost operator (bottom)" },
    { .name = "trace",
      .type = KS_OPT_STR,
      .offset = AT(trace),
      .arg = "FILE",
      .is_input = true,
      .help = "trace of the same program, which adds operators to launches, and times where they "
              "have none" },
    KS_OPT_END
};
#undef AT

static int put_frame(const struct ks_df *df, const struct ks_format *w, struct ks_sink *to,
                     struct ks_err *err)
{
    void *state = calloc(1, w->state_size + 1);
    int rc = state ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = w->begin(state, df, df->n_columns, to, err);
    if (rc == 0)
        rc = w->put(state, df, df->n_columns, to, err);
    if (rc == 0)
        rc = w->end(state, to, err);
    if (state)
        w->release(state);
    free(state);
    return rc;
}

static int write_lines(const struct ks_counter_table *t, const struct ks_counter_lines *l,
                       const struct config *c, struct ks_err *err)
{
    struct ks_counter_frame *f = NULL;
    struct ks_result o;
    int rc = ks_counter_frame_create(t, l, &f, err), opened;

    if (rc < 0)
        return rc;
    opened = rc = ks_result_open(&o, c->output, err);
    if (opened == 0)
        rc = put_frame(ks_counter_frame_df(f), writers[c->format], &o.sink, err);
    rc = ks_result_close(&o, rc, err);
    ks_counter_frame_destroy(f);
    return rc;
}

/* ---- what the table does not say by itself ---- */

static void note_count(struct ks_buf *notes, uint64_t n, const char *what)
{
    if (n)
        ks_buf_printf(notes, "ksweep-analyze trace counters: %llu %s\n", (unsigned long long)n,
                      what);
}

/* A kind of FLOPs that no launch has is missing in the sum of all. */
static void note_flop(const struct ks_counter_lines *l, struct ks_buf *notes)
{
    size_t n_with[KS_N_QUANTITIES] = { 0 }, n_flop = 0;

    for (size_t i = 0; i < l->n; i++) {
        n_flop += l->at[i].q.has_flop;
        for (int q = 0; q < KS_N_QUANTITIES; q++)
            n_with[q] += l->at[i].q.has[q];
    }
    for (int q = KS_Q_FLOP_FP16; n_flop && q <= KS_Q_FLOP_MATRIX; q++)
        if (n_with[q] < l->n)
            ks_buf_printf(notes,
                          "ksweep-analyze trace counters: %s is unknown in %zu of %zu lines: "
                          "'flop' is a lower bound there\n",
                          ks_quantity_names[q], l->n - n_with[q], l->n);
    if (n_with[KS_Q_TIME_NS] == 0)
        ks_buf_printf(notes, "ksweep-analyze trace counters: kernel times are unknown, so there "
                             "are no rates (the duration of a range is not a kernel time)\n");
}

static void note(const struct ks_counter_table *t, const struct ks_counter_lines *l,
                 struct ks_buf *notes)
{
    note_count(notes, t->n_other, "lines are not launches: left out");
    note_count(notes, t->n_copies, "copies and fills: left out");
    note_count(notes, t->n_unjoined, "launches of a kernel trace have no counters: left out");
    note_count(notes, t->n_differing,
               "values differ between passes: those of the first pass are used");
    note_count(notes, t->n_damaged, "traces are damaged or truncated: ranges may be missing");
    note_count(notes, t->n_without_op,
               "ranges have no operators: their trace has another number of kernel launches");
    note_flop(l, notes);
}

static int join(struct ks_counter_table *t, const char *path, struct ks_buf *notes,
                struct ks_err *err)
{
    struct ks_trace *trace = NULL;
    uint32_t n_joined = 0;
    int rc = ks_trace_load(path, &trace, err);

    if (rc == 0)
        rc = ks_counter_join(t, trace, &n_joined, err);
    if (rc == 0)
        ks_trace_note_dirt(path, &trace->dirt, notes);
    ks_trace_release(trace);
    if (rc == 0 && n_joined < t->n_rows)
        ks_buf_printf(notes,
                      "ksweep-analyze trace counters: %u of %u launches have no matching kernel in "
                      "'%s': the name is missing, or occurs less often\n",
                      t->n_rows - n_joined, t->n_rows, path);
    return rc;
}

static int counters(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                    struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_counter_table t = { 0 };
    struct ks_counter_lines l = { 0 };
    int rc = c->output ? ks_trace_output_check(c->output, operands, (size_t)n, err) : 0;

    if (rc == 0)
        rc = ks_counter_paths_read(&t, operands, n, err);
    if (rc == 0 && c->trace)
        rc = join(&t, c->trace, notes, err);
    if (rc == 0)
        rc = ks_counter_lines_make(&t, (enum ks_counter_by)c->by, &l, err);
    if (rc == 0)
        rc = write_lines(&t, &l, c, err);
    if (rc == 0)
        note(&t, &l, notes);
    ks_counter_lines_release(&l);
    ks_counter_table_release(&t);
    return rc;
}

const struct ks_analysis ks_trace_verb_counters = {
    .name = "trace counters",
    .summary = "Collect hardware counters of kernels from profiler files into one table.",
    .usage = "trace counters FILE|DIR... [--by launch|kernel|top|bottom] "
             "[--trace FILE] [--format csv|text|markdown|json] [-o FILE]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 0,
    .run = counters,
};
