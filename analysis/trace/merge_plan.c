/* SPDX-License-Identifier: MIT */
/* merge_plan.c - plans the slices of a merge: operators, queues, and bounds of the latency */
#include "analysis/trace/merge_plan.h"

#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A synchronising call has waited when it took longer than this and twice the shortest one. */
#define WAIT_NS 20000

enum { DEPTH_MAX = 256 }; /* levels of operators that are looked at: made ones must not cost more */

/* ---- threads ---- */

struct threads {
    int64_t *tid; /* [n] sorted, distinct */
    uint32_t n;
};

static int by_number(const void *a, const void *b)
{
    const int64_t l = *(const int64_t *)a, r = *(const int64_t *)b;

    return (l > r) - (l < r);
}

static bool find_threads(const struct ks_trace *host, struct threads *out)
{
    bool *is_of_op = calloc(host->n_tracks + 1, sizeof(*is_of_op));
    struct threads t = { .tid = malloc((host->n_tracks + 1) * sizeof(*t.tid)) };
    uint32_t n = 0;

    if (is_of_op && t.tid) {
        for (uint32_t i = 0; i < host->ops.n; i++)
            is_of_op[host->ops.track[i]] = true;
        for (uint32_t i = 0; i < host->n_tracks; i++)
            if (is_of_op[i] && host->tracks[i].tid_number != INT64_MIN)
                t.tid[n++] = host->tracks[i].tid_number;
        qsort(t.tid, n, sizeof(t.tid[0]), by_number);
        for (uint32_t i = 0; i < n; i++)
            if (t.n == 0 || t.tid[t.n - 1] != t.tid[i])
                t.tid[t.n++] = t.tid[i];
    }
    free(is_of_op);
    *out = t;
    return is_of_op && t.tid;
}

/* From 1; 0: the thread has no number. */
static uint32_t thread_number(const struct threads *t, int64_t tid)
{
    const int64_t *found = t->n ? bsearch(&tid, t->tid, t->n, sizeof(tid), by_number) : NULL;

    return found ? (uint32_t)(found - t->tid) + 1 : 0;
}

/* ---- operators and their entries ---- */

/* KS_NAME_NONE: the file has no entry for it. key: scratch; without memory its failed flag is set.
 */
static uint32_t entry_of(const struct ks_trace *host, const struct ks_merge_kernels *k,
                         const struct threads *t, uint32_t op, struct ks_buf *key)
{
    const char *name = ks_trace_name(host, host->ops.name[op]);
    size_t n_id;

    if (host->ops.external[op] == KS_TRACE_NO_ID)
        return KS_NAME_NONE;
    ks_buf_clear(key);
    ks_buf_printf(key, "%s_%" PRId64, name, host->ops.external[op]);
    n_id = key->len;
    ks_buf_printf(key, "_%u", thread_number(t, host->tracks[host->ops.track[op]].tid_number));
    return ks_buf_ok(key) ? ks_merge_kernels_find(k, ks_buf_text(key), key->len, n_id)
                          : KS_NAME_NONE;
}

static bool is_dropped(const struct ks_merge_rules *rules, const char *name)
{
    for (uint32_t i = 0; i < rules->n_drop; i++)
        if (strcmp(rules->drop[i], name) == 0)
            return true;
    return false;
}

/* entry_out [ops.n]: that of each operator which takes part, else KS_NAME_NONE. */
static bool match(const struct ks_trace *host, struct ks_merge_kernels *k,
                  const struct ks_merge_rules *rules, uint32_t *entry_out, struct ks_merge_plan *p)
{
    struct threads threads;
    struct ks_buf key;
    bool is_ok = find_threads(host, &threads);

    ks_buf_init(&key);
    for (uint32_t op = 0; is_ok && op < host->ops.n; op++) {
        const uint32_t e = entry_of(host, k, &threads, op, &key);

        is_ok = ks_buf_ok(&key);

        entry_out[op] = KS_NAME_NONE;
        if (e == KS_NAME_NONE || k->at[e].is_used)
            continue;
        k->at[e].is_used = true;
        p->n_matched++;
        if (k->at[e].time_ns < rules->least_ns)
            p->n_short++;
        else if (is_dropped(rules, ks_trace_name(host, host->ops.name[op])))
            p->n_dropped++;
        else
            entry_out[op] = e;
    }
    free(threads.tid);
    ks_buf_release(&key);
    return is_ok;
}

/* ---- slices ---- */

/* inner_out [ops.n]: the times of the nearest operators within that take part. */
static void sum_inner(const struct ks_trace *host, const struct ks_merge_kernels *k,
                      const uint32_t *entry, int64_t *inner_out, bool *has_inner_out)
{
    for (uint32_t op = 0; op < host->ops.n; op++) {
        uint32_t outer = host->ops.parent[op];

        if (entry[op] == KS_NAME_NONE)
            continue;
        for (int depth = 0; outer != KS_TRACE_NONE && entry[outer] == KS_NAME_NONE; depth++)
            outer = depth < DEPTH_MAX ? host->ops.parent[outer] : KS_TRACE_NONE;
        if (outer == KS_TRACE_NONE)
            continue;
        inner_out[outer] = ks_ns_add(inner_out[outer], k->at[entry[op]].time_ns);
        has_inner_out[outer] = true;
    }
}

static void add_slice(const struct ks_trace *host, const struct ks_merge_kernels *k,
                      const struct ks_merge_rules *rules, uint32_t op, uint32_t entry,
                      int64_t inner_ns, bool has_inner, struct ks_merge_plan *p)
{
    const struct ks_merge_entry *e = &k->at[entry];
    const int64_t self_ns = e->time_ns - inner_ns;

    if (self_ns < 0) {
        p->n_excess++;
        p->excess_ns = ks_ns_add(p->excess_ns, -self_ns);
    }
    if (self_ns <= 0)
        return;
    if (self_ns < rules->least_ns) {
        p->n_short++;
        return;
    }
    p->at[p->n++] = (struct ks_merge_slice){ .op = op,
                                             .entry = entry,
                                             .launch_ns = host->ops.ts_ns[op],
                                             .dur_ns = self_ns,
                                             .device = e->device,
                                             .stream = e->stream,
                                             .is_self = has_inner };
    p->total_ns = ks_ns_add(p->total_ns, self_ns);
}

static int by_launch(const void *a, const void *b)
{
    const struct ks_merge_slice *l = a, *r = b;

    if (l->launch_ns != r->launch_ns)
        return l->launch_ns < r->launch_ns ? -1 : 1;
    return (l->op > r->op) - (l->op < r->op);
}

/* ---- queues ---- */

static int by_queue(const void *a, const void *b)
{
    const struct ks_merge_slice *l = a, *r = b;

    if (l->device != r->device)
        return l->device < r->device ? -1 : 1;
    if (l->stream != r->stream)
        return l->stream < r->stream ? -1 : 1;
    return by_launch(a, b);
}

static void run_queues(struct ks_merge_plan *p, int64_t latency_ns)
{
    int64_t end_ns = INT64_MIN;

    qsort(p->at, p->n, sizeof(p->at[0]), by_queue);
    for (uint32_t i = 0; i < p->n; i++) {
        struct ks_merge_slice *s = &p->at[i];
        const int64_t ready_ns = ks_ns_add(s->launch_ns, latency_ns);

        if (i == 0 || s->device != s[-1].device || s->stream != s[-1].stream)
            end_ns = INT64_MIN;
        s->start_ns = ready_ns > end_ns ? ready_ns : end_ns;
        end_ns = ks_ns_add(s->start_ns, s->dur_ns);
    }
    qsort(p->at, p->n, sizeof(p->at[0]), by_launch);
}

/* ---- what synchronising calls tell ---- */

static bool is_sync(const char *name)
{
    static const char *const names[] = { "cudaDeviceSynchronize",    "cudaStreamSynchronize",
                                         "cudaEventSynchronize",     "hipDeviceSynchronize",
                                         "hipStreamSynchronize",     "hipEventSynchronize",
                                         "aten::_local_scalar_dense" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* A call that waited found the queue busy at its begin: the last kernel launched before it must end
 * later than that. end_ns [n]: the latest end of the slices up to each. */
static void bound_by(struct ks_merge_plan *p, const int64_t *end_ns, int64_t begin_ns)
{
    uint32_t lo = 0, hi = p->n;

    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;

        if (p->at[middle].launch_ns < begin_ns)
            lo = middle + 1;
        else
            hi = middle;
    }
    p->n_waits++;
    if (lo > 0 && end_ns[lo - 1] < ks_ns_add(begin_ns, -p->latency_bound_ns))
        p->latency_bound_ns = ks_ns_add(begin_ns, -end_ns[lo - 1]);
}

static void bound_by_table(struct ks_merge_plan *p, const struct ks_trace *host,
                           const int64_t *end_ns, const int64_t *ts_ns, const int64_t *dur_ns,
                           const uint32_t *name, uint32_t n)
{
    int64_t shortest_ns = INT64_MAX;

    for (uint32_t i = 0; i < n; i++)
        if (is_sync(ks_trace_name(host, name[i])) && dur_ns[i] < shortest_ns)
            shortest_ns = dur_ns[i];
    for (uint32_t i = 0; i < n; i++)
        if (is_sync(ks_trace_name(host, name[i])) && dur_ns[i] > WAIT_NS &&
            dur_ns[i] / 2 >= shortest_ns)
            bound_by(p, end_ns, ts_ns[i]);
}

static bool bound_latency(struct ks_merge_plan *p, const struct ks_trace *host)
{
    int64_t *end_ns = malloc((p->n + 1) * sizeof(*end_ns)), latest_ns = INT64_MIN;

    if (!end_ns)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        const int64_t own_ns = ks_ns_add(p->at[i].start_ns, p->at[i].dur_ns);

        latest_ns = own_ns > latest_ns ? own_ns : latest_ns;
        end_ns[i] = latest_ns;
    }
    bound_by_table(p, host, end_ns, host->calls.ts_ns, host->calls.dur_ns, host->calls.name,
                   host->calls.n);
    bound_by_table(p, host, end_ns, host->ops.ts_ns, host->ops.dur_ns, host->ops.name, host->ops.n);
    free(end_ns);
    return true;
}

int ks_merge_plan_make(const struct ks_trace *host, struct ks_merge_kernels *kernels,
                       const struct ks_merge_rules *rules, struct ks_merge_plan *out,
                       struct ks_err *err)
{
    const uint32_t n = host->ops.n;
    struct ks_merge_plan p = { .n_entries = kernels->keys.n };
    uint32_t *entry = calloc(n + 1, sizeof(*entry));
    int64_t *inner = calloc(n + 1, sizeof(*inner));
    bool *has_inner = calloc(n + 1, sizeof(*has_inner));
    bool is_ok;

    p.at = calloc(n + 1, sizeof(*p.at));
    is_ok = entry && inner && has_inner && p.at && match(host, kernels, rules, entry, &p);
    if (is_ok) {
        sum_inner(host, kernels, entry, inner, has_inner);
        for (uint32_t op = 0; op < n; op++)
            if (entry[op] != KS_NAME_NONE)
                add_slice(host, kernels, rules, op, entry[op], inner[op], has_inner[op], &p);
        run_queues(&p, rules->latency_ns);
        is_ok = bound_latency(&p, host);
    }
    free(entry);
    free(inner);
    free(has_inner);
    if (!is_ok) {
        ks_merge_plan_release(&p);
        return ks_fail(err, KS_ENOMEM, "out of memory for %u operators", n);
    }
    *out = p;
    return 0;
}

void ks_merge_plan_release(struct ks_merge_plan *p)
{
    free(p->at);
    *p = (struct ks_merge_plan){ 0 };
}
