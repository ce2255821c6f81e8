/* SPDX-License-Identifier: MIT */
/* series.c - queue lengths and copy bandwidth of a trace as counter events */
#include "analysis/trace/series.h"

#include "trace/rows.h"
#include "json/json.h"

#include <math.h>
#include <stdlib.h>

/* Steps of one series each: the value changes by `by` at a time. */
struct steps {
    uint32_t n;
    uint64_t *at; /* order-preserving time */
    double *by;
    uint32_t *series; /* stream, or name of the copy */
    uint32_t *order, *spare;
    double *value; /* [n_series] */
};

static bool steps_init(struct steps *s, size_t n, size_t n_series)
{
    *s = (struct steps){ .at = calloc(n + 1, sizeof(*s->at)),
                         .by = calloc(n + 1, sizeof(*s->by)),
                         .series = calloc(n + 1, sizeof(*s->series)),
                         .order = calloc(n + 1, sizeof(*s->order)),
                         .spare = calloc(n + 1, sizeof(*s->spare)),
                         .value = calloc(n_series + 1, sizeof(*s->value)) };
    return s->at && s->by && s->series && s->order && s->spare && s->value;
}

static void steps_release(struct steps *s)
{
    free(s->at);
    free(s->by);
    free(s->series);
    free(s->order);
    free(s->spare);
    free(s->value);
}

static void add(struct steps *s, int64_t ns, double by, uint32_t series)
{
    s->at[s->n] = (uint64_t)ns ^ (uint64_t)1 << 63;
    s->by[s->n] = by;
    s->series[s->n] = series;
    s->order[s->n] = s->n;
    s->n++;
}

static void put_string(struct ks_buf *to, const char *text)
{
    struct ks_jw w;

    ks_jw_init(&w, to, false);
    ks_jw_str(&w, NULL, text);
}

static void put_point(const struct ks_trace *t, const struct steps *s, uint32_t i, bool is_queue,
                      struct ks_buf *to)
{
    const int64_t ns = (int64_t)(s->at[i] ^ (uint64_t)1 << 63);
    const uint32_t series = s->series[i];
    const long long us = ns / 1000, rest = llabs(ns % 1000);

    ks_buf_printf(to,
                  ", {\"ph\": \"C\", \"cat\": \"ksweep\", \"name\": \"%s\", \"pid\": %lld, "
                  "\"tid\": 0, \"ts\": %s%lld.%03lld, \"args\": {",
                  is_queue ? "Queue Length" : "Memory Bandwidth (GB/s)",
                  (long long)(is_queue ? t->devices[t->streams[series].device].id : 0),
                  ns < 0 && us == 0 ? "-" : "", us, rest);
    if (is_queue)
        ks_buf_printf(to, "\"stream %lld\"", (long long)t->streams[series].id);
    else
        put_string(to, ks_trace_name(t, series));
    ks_buf_printf(to, ": %.6g}}", fabs(s->value[series]) < 1e-9 ? 0 : s->value[series]);
}

static void put_all(const struct ks_trace *t, struct steps *s, bool is_queue, struct ks_buf *to)
{
    ks_rows_sort(s->order, s->spare, s->n, s->at);
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t at = s->order[i];

        s->value[s->series[at]] += s->by[at];
        put_point(t, s, at, is_queue, to);
    }
}

/* Launches come first, so that at equal times they count before beginnings. */
static void add_queue(const struct ks_trace *t, struct steps *s)
{
    for (uint32_t i = 0; i < t->gpu.n; i++)
        if (t->gpu.call[i] != KS_TRACE_NONE)
            add(s, t->calls.ts_ns[t->gpu.call[i]], 1, t->gpu.stream[i]);
    for (uint32_t i = 0; i < t->gpu.n; i++)
        if (t->gpu.call[i] != KS_TRACE_NONE)
            add(s, t->gpu.ts_ns[i], -1, t->gpu.stream[i]);
}

static void add_bandwidth(const struct ks_trace *t, struct steps *s)
{
    for (uint32_t i = 0; i < t->gpu.n; i++) {
        const double rate = t->gpu.gb_per_s[i];

        if (t->gpu.kind[i] == KS_TRACE_KERNEL || !isfinite(rate))
            continue;
        add(s, t->gpu.ts_ns[i], rate, t->gpu.name[i]);
        add(s, t->gpu.ts_ns[i] + t->gpu.dur_ns[i], -rate, t->gpu.name[i]);
    }
}

static int put_series(const struct ks_trace *t, bool is_queue, struct ks_buf *to,
                      struct ks_err *err)
{
    struct steps s;
    bool is_ok = steps_init(&s, 2 * (size_t)t->gpu.n, is_queue ? t->n_streams : t->names.n);

    if (is_ok) {
        if (is_queue)
            add_queue(t, &s);
        else
            add_bandwidth(t, &s);
        put_all(t, &s, is_queue, to);
    }
    steps_release(&s);
    return is_ok && ks_buf_ok(to) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for counters");
}

int ks_series_put(const struct ks_trace *t, struct ks_buf *to, struct ks_err *err)
{
    int rc = put_series(t, true, to, err);

    return rc == 0 ? put_series(t, false, to, err) : rc;
}
