/* SPDX-License-Identifier: MIT */
/* counter_join.c - joins rows of counters with the launches and operators of a trace */
#include "analysis/trace/counter_join.h"
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_MAX = 4096, MOST_OPS = 64 };

/* ---- one launch ---- */

/* One line of the four of a shape: Input Dims are line 0, Input type is line 1. */
static int put_line(struct ks_counter_table *t, const char *shape, int line, uint32_t *text_out,
                    struct ks_err *err)
{
    char text[STACK_MAX];

    while (line-- && shape)
        shape = strchr(shape, '\n') ? strchr(shape, '\n') + 1 : NULL;
    if (!shape || *shape == '\n' || !*shape)
        return 0;
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(shape, "\n"), shape);
    return ks_counter_text(t, text, text_out, err);
}

/* The operators around a launch, outermost first, as "a|b|c". Deeper than MOST_OPS: the innermost.
 */
static int put_stack(struct ks_counter_table *t, const struct ks_trace *trace, uint32_t op,
                     uint32_t *text_out, struct ks_err *err)
{
    uint32_t stack[MOST_OPS], n = 0;
    struct ks_buf text;
    int rc;

    for (; op != KS_TRACE_NONE && n < MOST_OPS; op = trace->ops.parent[op])
        stack[n++] = op;
    ks_buf_init(&text);
    while (n--)
        ks_buf_printf(&text, "%s%s", ks_trace_name(trace, trace->ops.name[stack[n]]), n ? "|" : "");
    rc = ks_buf_ok(&text) ? ks_counter_text(t, ks_buf_text(&text), text_out, err)
                          : ks_fail(err, KS_ENOMEM, "out of memory for an operator stack");
    ks_buf_release(&text);
    return rc;
}

int ks_counter_join_op(struct ks_counter_table *t, const struct ks_trace *trace, uint32_t op,
                       uint32_t at, struct ks_err *err)
{
    struct ks_counter_row *row = &t->rows[at];
    uint32_t top = op;
    int rc;

    if (op == KS_TRACE_NONE)
        return 0;
    while (trace->ops.parent[top] != KS_TRACE_NONE)
        top = trace->ops.parent[top];
    rc = put_stack(t, trace, op, &row->op_stack, err);
    if (rc == 0)
        rc = ks_counter_text(t, ks_trace_name(trace, trace->ops.name[top]), &row->top_op, err);
    if (rc == 0)
        rc = ks_counter_text(t, ks_trace_name(trace, trace->ops.name[op]), &row->bottom_op, err);
    if (rc == 0 && trace->ops.shape[op] != KS_TRACE_NONE) {
        const char *shape = ks_names_text(&trace->shapes, trace->ops.shape[op]);

        rc = put_line(t, shape, 0, &row->dims, err);
        if (rc == 0)
            rc = put_line(t, shape, 1, &row->types, err);
    }
    return rc;
}

/* ---- all launches of a table ---- */

/* A launch on either side, by kernel and then in the order of time. */
struct launch {
    uint32_t name; /* of the trace */
    int64_t order; /* dispatch, or the kernel's place by time */
    uint32_t row;  /* of the table or of trace->gpu */
};
struct launches {
    struct launch *at; /* [n] */
    uint32_t n;
};

static int by_kernel(const void *a, const void *b)
{
    const struct launch *l = a, *r = b;

    if (l->name != r->name)
        return l->name < r->name ? -1 : 1;
    if (l->order != r->order)
        return l->order < r->order ? -1 : 1;
    return (l->row > r->row) - (l->row < r->row);
}

/* rocprof-compute writes the code object's symbol: "k(int) [clone .kd]". */
static uint32_t name_in_trace(const struct ks_trace *trace, const char *kernel)
{
    static const char clone[] = " [clone .kd]";
    size_t n = strlen(kernel);

    if (n >= sizeof(clone) && strcmp(kernel + n - (sizeof(clone) - 1), clone) == 0)
        n -= sizeof(clone) - 1;
    return ks_names_find(&trace->names, kernel, n);
}

static struct launches of_table(const struct ks_counter_table *t, const struct ks_trace *trace)
{
    struct launches l = { .at = calloc(t->n_rows + 1, sizeof(*l.at)) };

    for (uint32_t i = 0; l.at && i < t->n_rows; i++) {
        const struct ks_counter_row *row = &t->rows[i];
        const uint32_t name = name_in_trace(trace, ks_counter_text_of(t, row->kernel));
        const bool is_other_rank = row->rank >= 0 && trace->rank >= 0 && row->rank != trace->rank;

        if (name != KS_NAME_NONE && row->op_stack == KS_TEXT_NONE && row->launches == 1 &&
            !is_other_rank)
            l.at[l.n++] = (struct launch){ .name = name, .order = row->dispatch, .row = i };
    }
    if (l.at)
        qsort(l.at, l.n, sizeof(l.at[0]), by_kernel);
    return l;
}

static struct launches of_trace(const struct ks_trace *trace)
{
    struct launches l = { .at = calloc(trace->gpu.n + 1, sizeof(*l.at)) };

    for (uint32_t i = 0; l.at && i < trace->gpu.n; i++)
        if (trace->gpu.kind[i] == KS_TRACE_KERNEL)
            l.at[l.n++] = (struct launch){ .name = trace->gpu.name[i],
                                           .order = trace->gpu.ts_ns[i],
                                           .row = i };
    if (l.at)
        qsort(l.at, l.n, sizeof(l.at[0]), by_kernel);
    return l;
}

/* How many launches from `at` on are of the same kernel. */
static uint32_t run_length(const struct launches *l, uint32_t at)
{
    uint32_t n = 0;

    while (at + n < l->n && l->at[at + n].name == l->at[at].name)
        n++;
    return n;
}

static int join_one(struct ks_counter_table *t, const struct ks_trace *trace, uint32_t row,
                    uint32_t gpu, struct ks_err *err)
{
    struct ks_counter_row *r = &t->rows[row];

    if (!r->has_time) {
        r->has_time = true;
        r->time_ns = (double)trace->gpu.dur_ns[gpu];
    }
    return ks_counter_join_op(t, trace, trace->gpu.op[gpu], row, err);
}

static int join_lists(struct ks_counter_table *t, const struct ks_trace *trace,
                      const struct launches *ours, const struct launches *theirs, uint32_t *n_out,
                      struct ks_err *err)
{
    uint32_t at = 0, other = 0, n_joined = 0;
    int rc = 0;

    while (rc == 0 && at < ours->n) {
        const uint32_t n = run_length(ours, at);

        while (other < theirs->n && theirs->at[other].name < ours->at[at].name)
            other++;
        if (other < theirs->n && theirs->at[other].name == ours->at[at].name &&
            run_length(theirs, other) == n) {
            for (uint32_t i = 0; rc == 0 && i < n; i++)
                rc = join_one(t, trace, ours->at[at + i].row, theirs->at[other + i].row, err);
            n_joined += n;
        }
        at += n;
    }
    *n_out = n_joined;
    return rc;
}

int ks_counter_join(struct ks_counter_table *t, const struct ks_trace *trace,
                    uint32_t *n_joined_out, struct ks_err *err)
{
    struct launches ours = of_table(t, trace), theirs = of_trace(trace);
    int rc = ours.at && theirs.at
                 ? join_lists(t, trace, &ours, &theirs, n_joined_out, err)
                 : ks_fail(err, KS_ENOMEM, "out of memory for %u launches", t->n_rows);

    free(ours.at);
    free(theirs.at);
    return rc;
}
