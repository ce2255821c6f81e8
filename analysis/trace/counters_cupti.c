/* SPDX-License-Identifier: MIT */
/* counters_cupti.c - reads ranges of the CUPTI range profiler from a trace of PyTorch */
/* They are events of category cuda_profiler_range whose args are the counters. The n-th range is
 * the n-th launch of a kernel; its duration is that of a replay of the whole range, never the
 * kernel's. */
#include "analysis/trace/counter_join.h"
#include "analysis/trace/counter_read.h"
#include "trace/model.h"
#include "trace/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    int64_t ts_ns;
    uint32_t row;
};
struct ranges {
    struct range *at; /* [n] */
    size_t n, cap;
};

/* ---- ranges to rows ---- */

static int put_counters(struct ks_counter_table *t, struct ks_span args, uint32_t row,
                        struct ks_err *err)
{
    struct ks_trace_walk w = ks_trace_walk(args);
    struct ks_trace_member m;
    char name[256];
    uint32_t column;
    double value;
    int rc = 0;

    while (rc == 0 && ks_trace_walk_next(&w, &m)) {
        if (m.is_string || !ks_trace_f64(m.value, &value))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)m.key.n, m.key.p);
        rc = ks_counter_column(t, name, "", &column, err);
        if (rc == 0)
            rc = ks_counter_put(t, row, column, value, err);
    }
    return rc;
}

static int add_range(struct ranges *r, int64_t ts_ns, uint32_t row, struct ks_err *err)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct range *at = realloc(r->at, cap * sizeof(*at));

        if (!at)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu ranges", cap);
        r->at = at;
        r->cap = cap;
    }
    r->at[r->n++] = (struct range){ .ts_ns = ts_ns, .row = row };
    return 0;
}

static int take_range(struct ks_counter_table *t, struct ks_counter_file *f, struct ranges *r,
                      const struct ks_trace_event *ev, struct ks_err *err)
{
    struct ks_buf name;
    uint32_t row;
    int rc;

    ks_buf_init(&name);
    ks_trace_unescape(ev->name, &name);
    rc = ks_buf_ok(&name) ? ks_counter_file_row(f, (int64_t)r->n, ks_buf_text(&name), &row, err)
                          : ks_fail(err, KS_ENOMEM, "out of memory for a kernel's name");
    ks_buf_release(&name);
    if (rc < 0)
        return rc;
    t->rows[row].start_ns = ev->ts_ns;
    rc = add_range(r, ev->ts_ns, row, err);
    return rc == 0 && ev->args.p ? put_counters(t, ev->args, row, err) : rc;
}

static int read_ranges(struct ks_counter_table *t, struct ks_counter_file *f,
                       struct ks_trace_source *source, struct ranges *r, struct ks_err *err)
{
    struct ks_trace_reader *reader = NULL;
    struct ks_trace_item item;
    int rc = ks_trace_reader_create(source, &reader, err);

    while (rc >= 0 && (rc = ks_trace_reader_next(reader, &item, err)) > 0)
        if (item.type == KS_TRACE_ITEM_EVENT && item.event.kind == KS_TRACE_RANGE &&
            item.event.has_ts)
            rc = take_range(t, f, r, &item.event, err);
    if (rc == 0) {
        const struct ks_trace_dirt *d = ks_trace_reader_dirt(reader);

        t->n_damaged += d->damage || d->is_cut || d->n_bad || d->n_long;
    }
    ks_trace_reader_destroy(reader);
    return rc;
}

static int by_start(const void *a, const void *b)
{
    const struct range *l = a, *r = b;

    if (l->ts_ns != r->ts_ns)
        return l->ts_ns < r->ts_ns ? -1 : 1;
    return (l->row > r->row) - (l->row < r->row);
}

/* ---- launches and their operators ---- */

static bool is_launch(const char *name)
{
    static const char *const launches[] = {
        "cudaLaunchKernel",           "cuLaunchKernel",     "hipLaunchKernel",
        "hipModuleLaunchKernel",      "hipExtLaunchKernel", "hipExtModuleLaunchKernel",
        "cudaLaunchCooperativeKernel"
    };

    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
        if (strncmp(name, launches[i], strlen(launches[i])) == 0)
            return true;
    return false;
}

/* Rows of calls that launch kernels, in order of time. launches [calls.n] */
static int find_launches(const struct ks_trace *trace, uint32_t *launches, uint32_t *n_out,
                         struct ks_err *err)
{
    const struct ks_trace_calls *c = &trace->calls;
    uint32_t n = 0;
    int rc = ks_trace_sort(c->ts_ns, c->dur_ns, c->n, launches, err);

    for (uint32_t i = 0; rc == 0 && i < c->n; i++)
        if (is_launch(ks_trace_name(trace, c->name[launches[i]])))
            launches[n++] = launches[i];
    *n_out = n;
    return rc;
}

/* Devices differ in their compute capability only if the trace says so of several. */
static uint32_t trace_cc(const struct ks_trace *trace)
{
    uint32_t cc = 0;

    for (uint32_t i = 0; i < trace->n_devices; i++) {
        const struct ks_trace_device *d = &trace->devices[i];
        const uint32_t own = d->is_described && d->major > 0 && d->minor >= 0 && d->minor < 10
                                 ? (uint32_t)(10 * d->major + d->minor)
                                 : 0;

        if (own && cc && own != cc)
            return 0;
        cc = own ? own : cc;
    }
    return cc;
}

static int join_all(struct ks_counter_table *t, const struct ks_trace *trace,
                    const struct ranges *r, struct ks_err *err)
{
    uint32_t n_launches = 0, *launches = malloc((trace->calls.n + 1) * sizeof(*launches));
    int rc = launches ? find_launches(trace, launches, &n_launches, err)
                      : ks_fail(err, KS_ENOMEM, "out of memory for launches");
    const bool is_paired = rc == 0 && n_launches == r->n;

    for (size_t i = 0; rc == 0 && i < r->n; i++) {
        struct ks_counter_row *row = &t->rows[r->at[i].row];

        row->dispatch = (int64_t)i;
        row->cc = trace_cc(trace);
        if (trace->rank >= 0)
            row->rank = trace->rank;
        if (is_paired)
            rc = ks_counter_join_op(t, trace, trace->calls.op[launches[i]], r->at[i].row, err);
        else
            t->n_without_op++;
    }
    free(launches);
    return rc;
}

int ks_counter_trace_read(struct ks_counter_table *t, const char *path, int64_t rank,
                          struct ks_err *err)
{
    struct ks_counter_file f = { .path = path, .process = path, .rank = rank, .table = t };
    struct ks_trace_source *source = NULL;
    struct ks_trace *trace = NULL;
    struct ranges r = { 0 };
    int rc = ks_trace_source_open(path, &source, err);

    if (rc == 0)
        rc = ks_counter_text(t, path, &f.text, err);
    if (rc == 0)
        rc = read_ranges(t, &f, source, &r, err);
    if (rc == 0 && r.n > 0) {
        qsort(r.at, r.n, sizeof(r.at[0]), by_start);
        rc = ks_trace_source_rewind(source, err);
        if (rc == 0)
            rc = ks_trace_read(source, &trace, err);
        if (rc == 0)
            rc = join_all(t, trace, &r, err);
    }
    rc = rc < 0 ? rc : r.n > 0;
    ks_trace_release(trace);
    ks_trace_source_close(source);
    free(r.at);
    return rc;
}
