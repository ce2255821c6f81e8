/* SPDX-License-Identifier: MIT */
/* critical.c - finds the critical path of a trace, from its end backwards */
#include "analysis/trace/critical.h"

#include "analysis/trace/host.h"
#include "base/array.h"
#include "trace/rows.h"

#include <stdlib.h>
#include <string.h>

struct walk {
    const struct ks_trace_view *v;
    const struct ks_trace *t;
    struct ks_host host;
    uint32_t *by_end;   /* [gpu.n] rows by their end */
    uint32_t *previous; /* [gpu.n] work before it on its stream; KS_TRACE_NONE */
    uint32_t *waits;    /* [gpu.n] work of another stream that it waited for; KS_TRACE_NONE */
    struct ks_path *path;
    int64_t at_ns; /* everything behind it is in the path */
    bool is_ok;
};

static int64_t work_end(const struct ks_trace *t, uint32_t i)
{
    return t->gpu.ts_ns[i] + t->gpu.dur_ns[i];
}

static bool is_kept(const struct walk *w, uint32_t i)
{
    return !w->v->keep || w->v->keep[i];
}

/* ---- what waits for what on the device ---- */

static uint64_t bits(int64_t ns)
{
    return (uint64_t)ns ^ (uint64_t)1 << 63;
}

/* spare and key [gpu.n] are scratch. */
static void order_work(struct walk *w, uint32_t *spare, uint64_t *key, uint32_t *last)
{
    const struct ks_trace *t = w->t;

    for (uint32_t i = 0; i < t->n_streams; i++)
        last[i] = KS_TRACE_NONE;
    for (uint32_t i = 0; i < t->gpu.n; i++) {
        w->by_end[i] = i;
        w->waits[i] = KS_TRACE_NONE;
        key[i] = bits(t->gpu.ts_ns[i]);
    }
    ks_rows_sort(w->by_end, spare, t->gpu.n, key);
    for (uint32_t k = 0; k < t->gpu.n; k++) {
        const uint32_t i = w->by_end[k];

        w->previous[i] = last[t->gpu.stream[i]];
        last[t->gpu.stream[i]] = i;
    }
    for (uint32_t i = 0; i < t->gpu.n; i++)
        key[i] = bits(work_end(t, i));
    ks_rows_sort(w->by_end, spare, t->gpu.n, key);
}

/* Rows of the work that has a launch, by stream, then launch; calls by their correlation. */
struct launches {
    uint32_t *rows, *calls, n_rows;
    uint32_t *first; /* [n_streams + 1] of rows */
};

static uint32_t call_of(const struct walk *w, const struct launches *l, int64_t id)
{
    const struct ks_trace_calls *c = &w->t->calls;
    uint32_t low = 0, high = c->n;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (c->correlation[l->calls[middle]] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->n && c->correlation[l->calls[low]] == id ? l->calls[low] : KS_TRACE_NONE;
}

static int64_t launch_ns(const struct ks_trace *t, uint32_t row)
{
    return t->calls.ts_ns[t->gpu.call[row]];
}

/* The first work of the stream that was launched at ns or later, or (is_before) the last one before
 * that. */
static uint32_t near_launch(const struct walk *w, const struct launches *l, uint32_t stream,
                            int64_t ns, bool is_before)
{
    const uint32_t begin = l->first[stream], end = l->first[stream + 1];
    uint32_t low = begin, high = end;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (launch_ns(w->t, l->rows[middle]) < ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (is_before)
        return low > begin ? l->rows[low - 1] : KS_TRACE_NONE;
    return low < end ? l->rows[low] : KS_TRACE_NONE;
}

static void add_waits(struct walk *w, const struct launches *l)
{
    const struct ks_trace_waits *waits = &w->t->waits;

    for (uint32_t i = 0; i < waits->n; i++) {
        const uint32_t wait = call_of(w, l, waits->correlation[i]);
        const uint32_t record = call_of(w, l, waits->record[i]);
        uint32_t next, source;

        if (wait == KS_TRACE_NONE || record == KS_TRACE_NONE)
            continue;
        next = near_launch(w, l, waits->stream[i], w->t->calls.ts_ns[wait], false);
        source = near_launch(w, l, waits->on[i], w->t->calls.ts_ns[record], true);
        if (next == KS_TRACE_NONE || source == KS_TRACE_NONE || next == source)
            continue;
        if (w->waits[next] == KS_TRACE_NONE ||
            work_end(w->t, w->waits[next]) < work_end(w->t, source))
            w->waits[next] = source;
    }
}

static void sort_launches(const struct ks_trace *t, struct launches *l, uint32_t *spare,
                          uint64_t *key)
{
    for (uint32_t i = 0; i < t->gpu.n; i++)
        if (t->gpu.call[i] != KS_TRACE_NONE) {
            l->rows[l->n_rows++] = i;
            l->first[t->gpu.stream[i] + 1]++;
            key[i] = bits(launch_ns(t, i));
        }
    ks_rows_sort(l->rows, spare, l->n_rows, key);
    for (uint32_t i = 0; i < t->gpu.n; i++)
        key[i] = t->gpu.stream[i];
    ks_rows_sort(l->rows, spare, l->n_rows, key);
    for (uint32_t i = 0; i < t->n_streams; i++)
        l->first[i + 1] += l->first[i];
    for (uint32_t i = 0; i < t->calls.n; i++) {
        l->calls[i] = i;
        key[i] = bits(t->calls.correlation[i]);
    }
    ks_rows_sort(l->calls, spare, t->calls.n, key);
}

static bool find_waits(struct walk *w, uint32_t *spare, uint64_t *key)
{
    const struct ks_trace *t = w->t;
    struct launches l = { .rows = malloc((t->gpu.n + (size_t)1) * sizeof(*l.rows)),
                          .calls = malloc((t->calls.n + (size_t)1) * sizeof(*l.calls)),
                          .first = calloc(t->n_streams + (size_t)2, sizeof(*l.first)) };
    const bool is_ok = l.rows && l.calls && l.first;

    if (is_ok) {
        sort_launches(t, &l, spare, key);
        add_waits(w, &l);
    }
    free(l.rows);
    free(l.calls);
    free(l.first);
    return is_ok;
}

static bool walk_init(struct walk *w)
{
    const struct ks_trace *t = w->t;
    const size_t n = (t->gpu.n > t->calls.n ? t->gpu.n : t->calls.n) + (size_t)1;
    uint32_t *spare = malloc(n * sizeof(*spare));
    uint64_t *key = malloc(n * sizeof(*key));
    uint32_t *last = malloc((t->n_streams + (size_t)1) * sizeof(*last));
    bool is_ok;

    w->by_end = malloc(n * sizeof(*w->by_end));
    w->previous = malloc(n * sizeof(*w->previous));
    w->waits = malloc(n * sizeof(*w->waits));
    is_ok = spare && key && last && w->by_end && w->previous && w->waits;
    if (is_ok)
        order_work(w, spare, key, last);
    if (is_ok && t->waits.n)
        is_ok = find_waits(w, spare, key);
    free(spare);
    free(key);
    free(last);
    return is_ok;
}

/* ---- the path ---- */

/* From from_ns to where the path begins so far. */
static void take(struct walk *w, enum ks_bound_by by, uint32_t name, int64_t from_ns)
{
    from_ns = from_ns > w->v->begin_ns ? from_ns : w->v->begin_ns;
    if (from_ns >= w->at_ns)
        return;
    if (ks_reserve(&w->path->parts, w->path->n + 1, &w->path->cap, sizeof(*w->path->parts),
                   "pieces", NULL) < 0) {
        w->is_ok = false;
        return;
    }
    w->path->parts[w->path->n++] =
        (struct ks_path_part){ .by = by, .name = name, .begin_ns = from_ns, .end_ns = w->at_ns };
    w->at_ns = from_ns;
}

static enum ks_bound_by by_of(const struct ks_trace *t, uint32_t i)
{
    switch (ks_work_of(t, i)) {
    case KS_WORK_COMMUNICATION:
        return KS_PATH_COMMUNICATION;
    case KS_WORK_MEMORY:
        return KS_PATH_MEMORY;
    default:
        return KS_PATH_COMPUTE;
    }
}

/* Where the path goes on: a piece of work, or a thread of the host; neither: it ends. */
struct place {
    uint32_t work, track;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Work began when its stream was free, its event had come and its launch had begun: the last of
 * them. */
static struct place before_work(struct walk *w, uint32_t i)
{
    const struct ks_trace_gpu *g = &w->t->gpu;
    const uint32_t rows[2] = { w->previous[i], w->waits[i] }, call = g->call[i];
    uint32_t source = KS_TRACE_NONE;
    int64_t source_ns = INT64_MIN, call_ns = INT64_MIN;

    take(w, by_of(w->t, i), g->name[i], g->ts_ns[i]);
    for (int k = 0; k < 2; k++)
        if (rows[k] != KS_TRACE_NONE && work_end(w->t, rows[k]) >= source_ns) {
            source = rows[k];
            source_ns = work_end(w->t, source);
        }
    if (call != KS_TRACE_NONE)
        call_ns = w->t->calls.ts_ns[call];
    if (source != KS_TRACE_NONE && source_ns >= call_ns) {
        take(w, KS_PATH_QUEUE, g->name[i], least(source_ns, w->at_ns));
        return (struct place){ source, KS_TRACE_NONE };
    }
    if (call == KS_TRACE_NONE)
        return (struct place){ KS_TRACE_NONE, KS_TRACE_NONE };
    take(w, KS_PATH_LAUNCH, g->name[i], least(call_ns, w->at_ns));
    return (struct place){ KS_TRACE_NONE, w->t->calls.track[call] };
}

static bool is_waiting(const struct ks_trace *t, uint32_t call)
{
    const char *name = ks_trace_name(t, t->calls.name[call]);

    return strstr(name, "Synchronize") || strcmp(name, "cudaMemcpy") == 0 ||
           strcmp(name, "hipMemcpy") == 0 || strcmp(name, "hipMemcpyWithStream") == 0;
}

/* The last work that ended in (from_ns, to_ns]. */
static uint32_t ended_within(const struct walk *w, int64_t from_ns, int64_t to_ns)
{
    uint32_t low = 0, high = w->t->gpu.n;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (work_end(w->t, w->by_end[middle]) <= to_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low > 0 && work_end(w->t, w->by_end[low - 1]) > from_ns; low--)
        if (is_kept(w, w->by_end[low - 1]))
            return w->by_end[low - 1];
    return KS_TRACE_NONE;
}

/* A thread is where a synchronising call found the work that it waited for, or goes on before; an
 * idle thread waited for the thread whose last operator or call ended last. */
static struct place before_host(struct walk *w, uint32_t track)
{
    const struct ks_host_piece *p = w->host.pieces;
    const uint32_t i = ks_host_before(&w->host, track, w->at_ns);

    if (i != KS_TRACE_NONE && p[i].end_ns >= w->at_ns) {
        const uint32_t call = p[i].call;
        const uint32_t work = call != KS_TRACE_NONE && is_waiting(w->t, call)
                                  ? ended_within(w, w->t->calls.ts_ns[call], w->at_ns)
                                  : KS_TRACE_NONE;

        take(w, KS_PATH_HOST, p[i].name,
             work != KS_TRACE_NONE ? work_end(w->t, work) : p[i].begin_ns);
        return (struct place){ work, work == KS_TRACE_NONE ? track : KS_TRACE_NONE };
    }
    {
        const uint32_t other = ks_host_ended(&w->host, w->at_ns);

        if (other == KS_TRACE_NONE)
            return (struct place){ KS_TRACE_NONE, KS_TRACE_NONE };
        take(w, KS_PATH_HOST_IDLE, KS_NAME_NONE, p[other].end_ns);
        return (struct place){ KS_TRACE_NONE, p[other].track };
    }
}

/* The end of the last work or of the last piece of the host, whichever is later. */
static struct place last_place(struct walk *w)
{
    struct place at = { KS_TRACE_NONE, KS_TRACE_NONE };
    const uint32_t i = ks_host_ended(&w->host, w->v->end_ns);

    w->at_ns = INT64_MIN;
    for (uint32_t k = w->t->gpu.n; k > 0 && at.work == KS_TRACE_NONE; k--)
        if (is_kept(w, w->by_end[k - 1]))
            at.work = w->by_end[k - 1];
    if (at.work != KS_TRACE_NONE)
        w->at_ns = work_end(w->t, at.work);
    if (i != KS_TRACE_NONE && w->host.pieces[i].end_ns > w->at_ns) {
        w->at_ns = w->host.pieces[i].end_ns;
        at = (struct place){ KS_TRACE_NONE, w->host.pieces[i].track };
    }
    return at;
}

int ks_path_of(const struct ks_trace_view *v, struct ks_path *out, struct ks_err *err)
{
    struct walk w = { .v = v, .t = v->t, .path = out };
    struct place at;
    int rc;

    *out = (struct ks_path){ .n = 0 };
    rc = ks_host_flatten(v->t, &w.host, err);
    w.is_ok = rc == 0 && walk_init(&w);
    if (w.is_ok) {
        /* Work without duration does not move the path: it cannot come by more often than this. */
        uint64_t n_left = 4 * ((uint64_t)v->t->gpu.n + w.host.n) + 16;

        at = last_place(&w);
        while (w.is_ok && n_left-- > 0 && w.at_ns > v->begin_ns &&
               (at.work != KS_TRACE_NONE || at.track != KS_TRACE_NONE))
            at = at.work != KS_TRACE_NONE ? before_work(&w, at.work) : before_host(&w, at.track);
    }
    ks_host_release(&w.host);
    free(w.by_end);
    free(w.previous);
    free(w.waits);
    return w.is_ok ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the critical path");
}

void ks_path_release(struct ks_path *p)
{
    free(p->parts);
    *p = (struct ks_path){ .n = 0 };
}
