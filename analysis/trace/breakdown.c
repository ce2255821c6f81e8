/* SPDX-License-Identifier: MIT */
/* breakdown.c - tables of idle times, launches, queues, copies, annotations and own times */
#include "analysis/trace/breakdown.h"

#include "base/file.h"
#include "record/stats.h"
#include "trace/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KERNEL_WAIT_NS = 30000,
    KINDS_MAX = 256 /* of copies; real traces have a handful, what is beyond is one line */
};

#define SPREAD_COLUMNS                                                                             \
    { "count", KS_DF_F64 }, { "mean", KS_DF_F64 }, { "std", KS_DF_F64 }, { "min", KS_DF_F64 },     \
        { "p25", KS_DF_F64 }, { "median", KS_DF_F64 }, { "p75", KS_DF_F64 }, { "max", KS_DF_F64 }, \
    {                                                                                              \
        NULL, KS_DF_F64                                                                            \
    }
const struct ks_table_column ks_idle_columns[] = {
    { "trace", KS_DF_TEXT },  { "device", KS_DF_F64 }, { "stream", KS_DF_F64 },
    { "why", KS_DF_TEXT },    { "gaps", KS_DF_F64 },   { "time_us", KS_DF_F64 },
    { "percent", KS_DF_F64 }, { NULL, KS_DF_F64 }
};
const struct ks_table_column ks_launch_columns[] = { { "trace", KS_DF_TEXT },
                                                     { "call", KS_DF_TEXT },
                                                     { "launches", KS_DF_F64 },
                                                     { "call_mean_us", KS_DF_F64 },
                                                     { "work_mean_us", KS_DF_F64 },
                                                     { "delay_mean_us", KS_DF_F64 },
                                                     { "delay_max_us", KS_DF_F64 },
                                                     { "shorter_than_call", KS_DF_F64 },
                                                     { NULL, KS_DF_F64 } };
const struct ks_table_column ks_queue_columns[] = {
    { "trace", KS_DF_TEXT }, { "device", KS_DF_F64 }, { "stream", KS_DF_F64 }, SPREAD_COLUMNS
};
const struct ks_table_column ks_copy_columns[] = { { "trace", KS_DF_TEXT },
                                                   { "copy", KS_DF_TEXT },
                                                   SPREAD_COLUMNS };
const struct ks_table_column ks_note_columns[] = {
    { "trace", KS_DF_TEXT }, { "annotation", KS_DF_TEXT }, { "where", KS_DF_TEXT },
    { "count", KS_DF_F64 },  { "time_us", KS_DF_F64 },     { "mean_us", KS_DF_F64 },
    { "min_us", KS_DF_F64 }, { "max_us", KS_DF_F64 },      { NULL, KS_DF_F64 }
};
const struct ks_table_column ks_own_columns[] = { { "trace", KS_DF_TEXT },
                                                  { "operator", KS_DF_TEXT },
                                                  { "calls", KS_DF_F64 },
                                                  { "time_us", KS_DF_F64 },
                                                  { "own_us", KS_DF_F64 },
                                                  { "kernel_time_us", KS_DF_F64 },
                                                  { "kernels_shorter_than_own", KS_DF_F64 },
                                                  { NULL, KS_DF_F64 } };

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for a table");
}

static void put_trace(const struct ks_trace_view *v, struct ks_table *to)
{
    ks_table_text(to, ks_path_base(v->t->path));
}

static void put_stream(const struct ks_trace_view *v, uint32_t stream, struct ks_table *to)
{
    const struct ks_trace_stream *s = &v->t->streams[stream];

    put_trace(v, to);
    ks_table_number(to, (double)v->t->devices[s->device].id);
    ks_table_number(to, (double)s->id);
}

static bool is_kept(const struct ks_trace_view *v, uint32_t i)
{
    return !v->keep || v->keep[i];
}

/* Rows of the work by start; owned by the caller; NULL: no memory. */
static uint32_t *sorted_work(const struct ks_trace *t, struct ks_err *err)
{
    uint32_t *order = malloc((t->gpu.n + (size_t)1) * sizeof(*order));

    if (order && ks_trace_sort(t->gpu.ts_ns, t->gpu.dur_ns, t->gpu.n, order, err) == 0)
        return order;
    if (!order)
        (void)no_memory(err);
    free(order);
    return NULL;
}

/* ---- idle ---- */

enum { HOST_WAIT, KERNEL_WAIT, OTHER, N_WHYS };
struct idle {
    int64_t end_ns, ns[N_WHYS];
    uint64_t n[N_WHYS];
    bool has_begun;
};

static void add_gap(const struct ks_trace *t, uint32_t i, struct idle *s)
{
    const int64_t begin = t->gpu.ts_ns[i], end = begin + t->gpu.dur_ns[i];
    const int64_t gap = begin - s->end_ns;
    const uint32_t call = t->gpu.call[i];
    int why = OTHER;

    if (s->has_begun && gap > 0) {
        if (call != KS_TRACE_NONE && t->calls.ts_ns[call] > s->end_ns)
            why = HOST_WAIT;
        else if (gap < KERNEL_WAIT_NS)
            why = KERNEL_WAIT;
        s->ns[why] += gap;
        s->n[why]++;
    }
    s->end_ns = !s->has_begun || end > s->end_ns ? end : s->end_ns;
    s->has_begun = true;
}

static void put_idle(const struct ks_trace_view *v, const struct idle *s, uint32_t stream,
                     struct ks_table *to)
{
    static const char *const whys[] = { "host_wait", "kernel_wait", "other" };
    const double sum = (double)(s->ns[0] + s->ns[1] + s->ns[2]);

    for (int why = 0; s->has_begun && why < N_WHYS; why++) {
        put_stream(v, stream, to);
        ks_table_text(to, whys[why]);
        ks_table_number(to, (double)s->n[why]);
        ks_table_number(to, (double)s->ns[why] / 1e3);
        ks_table_number(to, sum > 0 ? 100 * (double)s->ns[why] / sum : (double)NAN);
    }
}

int ks_put_idle(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err)
{
    const struct ks_trace *t = v->t;
    struct idle *streams = calloc(t->n_streams + (size_t)1, sizeof(*streams));
    uint32_t *order = streams ? sorted_work(t, err) : NULL;

    for (uint32_t i = 0; order && i < t->gpu.n; i++)
        if (is_kept(v, order[i]))
            add_gap(t, order[i], &streams[t->gpu.stream[order[i]]]);
    for (uint32_t i = 0; order && i < t->n_streams; i++)
        put_idle(v, &streams[i], i, to);
    free(streams);
    if (!order)
        return streams ? KS_ENOMEM : no_memory(err);
    free(order);
    return 0;
}

/* ---- launches ---- */

struct launch {
    uint64_t n, n_short;
    int64_t work_ns, delay_max_ns;
    double call_ns, delay_ns; /* sums that may be beyond int64 */
};

static void add_launch(const struct ks_trace *t, uint32_t i, struct launch *l)
{
    const uint32_t call = t->gpu.call[i];
    const int64_t end = t->calls.ts_ns[call] + t->calls.dur_ns[call];
    const int64_t delay = t->gpu.ts_ns[i] > end ? t->gpu.ts_ns[i] - end : 0;

    l->n++;
    l->n_short += t->gpu.dur_ns[i] < t->calls.dur_ns[call];
    l->call_ns += (double)t->calls.dur_ns[call];
    l->work_ns += t->gpu.dur_ns[i];
    l->delay_ns += (double)delay;
    l->delay_max_ns = delay > l->delay_max_ns ? delay : l->delay_max_ns;
}

int ks_put_launches(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err)
{
    const struct ks_trace *t = v->t;
    struct launch *names = calloc(t->names.n + (size_t)1, sizeof(*names));

    if (!names)
        return no_memory(err);
    for (uint32_t i = 0; i < t->gpu.n; i++)
        if (is_kept(v, i) && t->gpu.call[i] != KS_TRACE_NONE)
            add_launch(t, i, &names[t->calls.name[t->gpu.call[i]]]);
    for (uint32_t i = 0; i < t->names.n; i++) {
        const struct launch *l = &names[i];

        if (l->n == 0)
            continue;
        put_trace(v, to);
        ks_table_text(to, ks_trace_name(t, i));
        ks_table_number(to, (double)l->n);
        ks_table_number(to, l->call_ns / (double)l->n / 1e3);
        ks_table_number(to, (double)l->work_ns / (double)l->n / 1e3);
        ks_table_number(to, l->delay_ns / (double)l->n / 1e3);
        ks_table_number(to, (double)l->delay_max_ns / 1e3);
        ks_table_number(to, (double)l->n_short);
    }
    free(names);
    return 0;
}

/* ---- distributions ---- */

/* values [n], n > 0: are sorted here. */
static void put_spread(double *values, size_t n, struct ks_table *to)
{
    double sum = 0, squares = 0;

    ks_stats_sort(values, n);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - sum / (double)n) * (values[i] - sum / (double)n);
    ks_table_number(to, (double)n);
    ks_table_number(to, sum / (double)n);
    ks_table_number(to, n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN);
    ks_table_number(to, values[0]);
    ks_table_number(to, ks_stats_quantile(values, n, 0.25));
    ks_table_number(to, ks_stats_quantile(values, n, 0.5));
    ks_table_number(to, ks_stats_quantile(values, n, 0.75));
    ks_table_number(to, values[n - 1]);
}

/* ---- queues ---- */

/* Launches and beginnings of one stream: times in at [2 * gpu.n], +1 and -1 in by. */
struct queue {
    uint64_t *at;
    double *by, *length;
    uint32_t *order, *spare, n;
    uint32_t *rows;  /* [gpu.n] by stream */
    uint32_t *first; /* [n_streams + 1] of rows */
};

static void add_point(struct queue *q, int64_t ns, double by)
{
    q->at[q->n] = (uint64_t)ns ^ (uint64_t)1 << 63;
    q->by[q->n] = by;
    q->order[q->n] = q->n;
    q->n++;
}

/* Rows of the work by stream, so that many streams cost no more than few. */
static void group_rows(const struct ks_trace *t, struct queue *q)
{
    for (uint32_t i = 0; i < t->gpu.n; i++)
        q->first[t->gpu.stream[i] + 1]++;
    for (uint32_t i = 0; i < t->n_streams; i++)
        q->first[i + 1] += q->first[i];
    for (uint32_t i = 0; i < t->gpu.n; i++)
        q->rows[q->first[t->gpu.stream[i]]++] = i;
    for (uint32_t i = t->n_streams; i > 0; i--)
        q->first[i] = q->first[i - 1];
    q->first[0] = 0;
}

/* Launches come first, so that at equal times they count before beginnings. */
static void add_points(const struct ks_trace_view *v, struct queue *q, uint32_t stream,
                       bool is_launch)
{
    const struct ks_trace *t = v->t;

    for (uint32_t k = q->first[stream]; k < q->first[stream + 1]; k++) {
        const uint32_t i = q->rows[k], call = t->gpu.call[i];

        if (call != KS_TRACE_NONE && is_kept(v, i))
            add_point(q, is_launch ? t->calls.ts_ns[call] : t->gpu.ts_ns[i], is_launch ? 1 : -1);
    }
}

static void put_queue(const struct ks_trace_view *v, struct queue *q, uint32_t stream,
                      struct ks_table *to)
{
    double length = 0;

    q->n = 0;
    add_points(v, q, stream, true);
    add_points(v, q, stream, false);
    if (q->n == 0)
        return;
    ks_rows_sort(q->order, q->spare, q->n, q->at);
    for (uint32_t i = 0; i < q->n; i++) {
        length += q->by[q->order[i]];
        q->length[i] = length;
    }
    put_stream(v, stream, to);
    put_spread(q->length, q->n, to);
}

int ks_put_queues(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err)
{
    const size_t n = 2 * (size_t)v->t->gpu.n + 1;
    struct queue q = { .at = calloc(n, sizeof(*q.at)),
                       .by = calloc(n, sizeof(*q.by)),
                       .length = calloc(n, sizeof(*q.length)),
                       .order = calloc(n, sizeof(*q.order)),
                       .spare = calloc(n, sizeof(*q.spare)),
                       .rows = calloc(n, sizeof(*q.rows)),
                       .first = calloc(v->t->n_streams + (size_t)2, sizeof(*q.first)) };
    const bool is_ok = q.at && q.by && q.length && q.order && q.spare && q.rows && q.first;

    if (is_ok)
        group_rows(v->t, &q);
    for (uint32_t i = 0; is_ok && i < v->t->n_streams; i++)
        put_queue(v, &q, i, to);
    free(q.at);
    free(q.by);
    free(q.length);
    free(q.order);
    free(q.spare);
    free(q.rows);
    free(q.first);
    return is_ok ? 0 : no_memory(err);
}

/* ---- copies ---- */

/* "Memcpy HtoD (Pinned -> Device)" is of the kind "Memcpy HtoD". */
static size_t kind_length(const char *name)
{
    const char *bracket = strstr(name, " (");

    return bracket ? (size_t)(bracket - name) : strlen(name);
}

int ks_put_copies(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err)
{
    const struct ks_trace *t = v->t;
    double *values = calloc(t->gpu.n + (size_t)1, sizeof(*values));
    uint32_t *kind = calloc(t->gpu.n + (size_t)1, sizeof(*kind));
    struct ks_names kinds;

    ks_names_init(&kinds);
    for (uint32_t i = 0; values && kind && i < t->gpu.n; i++) {
        const char *name = ks_trace_name(t, t->gpu.name[i]);

        kind[i] =
            t->gpu.kind[i] == KS_TRACE_KERNEL || !isfinite(t->gpu.gb_per_s[i]) || !is_kept(v, i)
                ? KS_NAME_NONE
            : kinds.n < KINDS_MAX ? ks_names_put(&kinds, name, kind_length(name))
                                  : ks_names_put(&kinds, "(others)", 8);
    }
    for (uint32_t k = 0; k < kinds.n; k++) {
        size_t n = 0;

        for (uint32_t i = 0; i < t->gpu.n; i++)
            if (kind[i] == k)
                values[n++] = t->gpu.gb_per_s[i];
        put_trace(v, to);
        ks_table_text(to, ks_names_text(&kinds, k));
        put_spread(values, n, to);
    }
    ks_names_release(&kinds);
    free(kind);
    free(values);
    return values && kind ? 0 : no_memory(err);
}

/* ---- annotations ---- */

struct total {
    uint64_t n, n_short;
    int64_t ns, own_ns, kernel_ns, min_ns, max_ns;
};

static void add_total(struct total *s, int64_t ns)
{
    s->min_ns = s->n == 0 || ns < s->min_ns ? ns : s->min_ns;
    s->max_ns = ns > s->max_ns ? ns : s->max_ns;
    s->ns += ns;
    s->n++;
}

int ks_put_notes(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err)
{
    const struct ks_trace *t = v->t;
    struct total *names = calloc(2 * (size_t)t->names.n + 1, sizeof(*names));

    if (!names)
        return no_memory(err);
    for (uint32_t i = 0; i < t->notes.n; i++)
        add_total(&names[2 * (size_t)t->notes.name[i] + !t->notes.is_gpu[i]], t->notes.dur_ns[i]);
    for (size_t i = 0; i < 2 * (size_t)t->names.n; i++) {
        const struct total *s = &names[i];

        if (s->n == 0)
            continue;
        put_trace(v, to);
        ks_table_text(to, ks_trace_name(t, (uint32_t)(i / 2)));
        ks_table_text(to, i % 2 ? "host" : "device");
        ks_table_number(to, (double)s->n);
        ks_table_number(to, (double)s->ns / 1e3);
        ks_table_number(to, (double)s->ns / (double)s->n / 1e3);
        ks_table_number(to, (double)s->min_ns / 1e3);
        ks_table_number(to, (double)s->max_ns / 1e3);
    }
    free(names);
    return 0;
}

/* ---- own time ---- */

struct own {
    int64_t *op_ns;    /* [ops.n] own time of each */
    struct total *sum; /* [names.n] */
    uint32_t *order;   /* [names.n] */
};

static void add_own(const struct ks_trace_view *v, struct own *o)
{
    const struct ks_trace_ops *ops = &v->t->ops;

    for (uint32_t i = 0; i < ops->n; i++)
        o->op_ns[i] += ops->dur_ns[i];
    for (uint32_t i = 0; i < ops->n; i++)
        if (ops->parent[i] != KS_TRACE_NONE)
            o->op_ns[ops->parent[i]] -= ops->dur_ns[i];
    for (uint32_t i = 0; i < ops->n; i++) {
        struct total *s = &o->sum[ops->name[i]];

        add_total(s, ops->dur_ns[i]);
        s->own_ns += o->op_ns[i];
        s->kernel_ns += v->charge.op_ns[i];
        s->n_short += v->charge.op_kernels[i] > 0 && v->charge.op_ns[i] < o->op_ns[i];
    }
}

static int compare_own(const void *x, const void *y, void *sums)
{
    const struct total *a = (const struct total *)sums + *(const uint32_t *)x;
    const struct total *b = (const struct total *)sums + *(const uint32_t *)y;

    if (a->own_ns != b->own_ns)
        return a->own_ns > b->own_ns ? -1 : 1;
    return (a > b) - (a < b);
}

static void put_own(const struct ks_trace_view *v, const char *name, const struct total *s,
                    struct ks_table *to)
{
    put_trace(v, to);
    ks_table_text(to, name);
    ks_table_number(to, (double)s->n);
    ks_table_number(to, (double)s->ns / 1e3);
    ks_table_number(to, (double)s->own_ns / 1e3);
    ks_table_number(to, (double)s->kernel_ns / 1e3);
    ks_table_number(to, (double)s->n_short);
}

static void put_sorted(const struct ks_trace_view *v, struct own *o, uint32_t n_top,
                       struct ks_table *to)
{
    const uint32_t n = v->t->names.n;
    struct total rest = { 0 };
    uint32_t n_shown = 0;

    for (uint32_t i = 0; i < n; i++)
        o->order[i] = i;
    if (n)
        qsort_r(o->order, n, sizeof(*o->order), compare_own, o->sum);
    for (uint32_t i = 0; i < n; i++) {
        const struct total *s = &o->sum[o->order[i]];

        if (s->n == 0)
            continue;
        if (n_top == 0 || n_shown < n_top) {
            put_own(v, ks_trace_name(v->t, o->order[i]), s, to);
            n_shown++;
            continue;
        }
        rest.n += s->n;
        rest.ns += s->ns;
        rest.own_ns += s->own_ns;
        rest.kernel_ns += s->kernel_ns;
        rest.n_short += s->n_short;
    }
    if (rest.n)
        put_own(v, "(others)", &rest, to);
}

int ks_put_own(const struct ks_trace_view *v, uint32_t n_top, struct ks_table *to,
               struct ks_err *err)
{
    struct own o = { .op_ns = calloc(v->t->ops.n + (size_t)1, sizeof(*o.op_ns)),
                     .sum = calloc(v->t->names.n + (size_t)1, sizeof(*o.sum)),
                     .order = calloc(v->t->names.n + (size_t)1, sizeof(*o.order)) };
    const bool is_ok = o.op_ns && o.sum && o.order;

    if (is_ok) {
        add_own(v, &o);
        put_sorted(v, &o, n_top, to);
    }
    free(o.op_ns);
    free(o.sum);
    free(o.order);
    return is_ok ? 0 : no_memory(err);
}
