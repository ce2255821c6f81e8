/* SPDX-License-Identifier: MIT */
/* link.c - which operator launched a kernel: correlation to the call, then the innermost operator
 * around the call's start on the same thread; the External id last, because in traces before 2024
 * it is the correlation and names an unrelated operator. */
#include "trace/load.h"
#include "trace/rows.h"

#include <stdlib.h>

/* Levels of operators that are looked at: real stacks have less, and made ones must not cost more
 * than linear time. */
enum { OVERLAPS_MAX = 256, SAME_ID_MAX = 64 };
enum { TIES_BY_INSERTION = 32 };

/* Scratch of one pass. */
struct linker {
    struct ks_trace *t;
    uint32_t *ops, *calls; /* orders: track, start, longest first, row */
    uint32_t *spare;
    uint64_t *key;
    uint32_t *stack;
};

static uint64_t bits(int64_t v)
{
    return (uint64_t)v ^ (uint64_t)1 << 63;
}

/* Rows of equal starts: the longest first, then by row. */
static void sort_ties(const int64_t *dur_ns, uint32_t n, uint32_t *order, uint32_t *spare,
                      uint64_t *key)
{
    for (uint32_t i = 1; n <= TIES_BY_INSERTION && i < n; i++) {
        const uint32_t row = order[i];
        uint32_t k = i;

        for (; k > 0 && dur_ns[order[k - 1]] < dur_ns[row]; k--)
            order[k] = order[k - 1];
        order[k] = row;
    }
    if (n <= TIES_BY_INSERTION)
        return;
    for (uint32_t i = 0; i < n; i++)
        key[order[i]] = ~bits(dur_ns[order[i]]);
    ks_rows_sort(order, spare, n, key);
}

/* key [n] and spare [n] are scratch. Starts are nearly sorted in most files, durations are not:
 * they are looked at within ties only. */
static void sort_rows(const int64_t *ts_ns, const int64_t *dur_ns, const uint32_t *track,
                      uint32_t n, uint32_t *order, uint32_t *spare, uint64_t *key)
{
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        key[i] = bits(ts_ns[i]);
    }
    ks_rows_sort(order, spare, n, key);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && ts_ns[order[end]] == ts_ns[order[i]]; end++)
            continue;
        if (end - i > 1)
            sort_ties(dur_ns, end - i, order + i, spare, key);
    }
    for (uint32_t i = 0; track && i < n; i++)
        key[i] = track[i];
    if (track)
        ks_rows_sort(order, spare, n, key);
}

int ks_trace_sort(const int64_t *ts_ns, const int64_t *dur_ns, uint32_t n, uint32_t *order,
                  struct ks_err *err)
{
    uint32_t *spare = malloc((n + (size_t)1) * sizeof(*spare));
    uint64_t *key = malloc((n + (size_t)1) * sizeof(*key));
    int rc = 0;

    if (spare && key)
        sort_rows(ts_ns, dur_ns, NULL, n, order, spare, key);
    else
        rc = ks_fail(err, KS_ENOMEM, "out of memory sorting %u events", n);
    free(spare);
    free(key);
    return rc;
}

/* ---- nesting ---- */

static int64_t op_end(const struct ks_trace_ops *o, uint32_t i)
{
    return o->ts_ns[i] + o->dur_ns[i];
}

/* The innermost operator of the stack that ends at end_ns or later. Those at its top that ended
 * before start_ns are dropped first. */
static uint32_t innermost(const struct linker *l, uint32_t *depth, int64_t start_ns, int64_t end_ns)
{
    const struct ks_trace_ops *o = &l->t->ops;

    while (*depth && op_end(o, l->stack[*depth - 1]) < start_ns)
        --*depth;
    for (uint32_t d = *depth; d > 0 && d + OVERLAPS_MAX > *depth; d--)
        if (op_end(o, l->stack[d - 1]) >= end_ns)
            return l->stack[d - 1];
    return KS_TRACE_NONE;
}

/* Operators and calls of all tracks in one sweep. An operator that begins with a call is around
 * it. */
static void nest(struct linker *l)
{
    struct ks_trace_ops *o = &l->t->ops;
    struct ks_trace_calls *c = &l->t->calls;
    uint32_t i = 0, k = 0, depth = 0, track = KS_TRACE_NONE;

    while (i < o->n || k < c->n) {
        const uint32_t op = i < o->n ? l->ops[i] : KS_TRACE_NONE;
        const uint32_t call = k < c->n ? l->calls[k] : KS_TRACE_NONE;
        const bool is_op = call == KS_TRACE_NONE ||
                           (op != KS_TRACE_NONE &&
                            (o->track[op] < c->track[call] ||
                             (o->track[op] == c->track[call] && o->ts_ns[op] <= c->ts_ns[call])));
        const uint32_t on = is_op ? o->track[op] : c->track[call];

        depth = on == track ? depth : 0;
        track = on;
        if (is_op) {
            o->parent[op] = innermost(l, &depth, o->ts_ns[op], op_end(o, op));
            l->stack[depth++] = op;
            i++;
        } else {
            c->op[call] = innermost(l, &depth, c->ts_ns[call], c->ts_ns[call]);
            k++;
        }
    }
}

/* ---- correlation ---- */

/* Rows of ids [n] to their first row, or among equal ids all of them: sorted rows. */
static uint32_t first_at_least(const uint32_t *order, uint32_t n, const int64_t *ids, int64_t id)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (ids[order[middle]] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sort_by_id(struct linker *l, const int64_t *ids, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        l->key[i] = bits(ids[i]);
    }
    ks_rows_sort(order, l->spare, n, l->key);
}

/* Several calls may carry one number, when files were combined: the last that began before the
 * kernel counts, else the first. */
static uint32_t call_of(const struct linker *l, uint32_t kernel)
{
    const struct ks_trace_calls *c = &l->t->calls;
    const int64_t id = l->t->gpu.correlation[kernel], ts_ns = l->t->gpu.ts_ns[kernel];
    uint32_t best = KS_TRACE_NONE;

    if (id == KS_TRACE_NO_ID)
        return KS_TRACE_NONE;
    for (uint32_t i = first_at_least(l->calls, c->n, c->correlation, id), n = 0;
         i < c->n && c->correlation[l->calls[i]] == id && n < SAME_ID_MAX; i++, n++) {
        const uint32_t call = l->calls[i];

        if (best == KS_TRACE_NONE || (c->ts_ns[call] <= ts_ns &&
                                      (c->ts_ns[call] > c->ts_ns[best] || c->ts_ns[best] > ts_ns)))
            best = call;
    }
    return best;
}

static uint32_t op_of_external(const struct linker *l, int64_t id)
{
    const struct ks_trace_ops *o = &l->t->ops;
    uint32_t i;

    if (id == KS_TRACE_NO_ID)
        return KS_TRACE_NONE;
    i = first_at_least(l->ops, o->n, o->external, id);
    return i < o->n && o->external[l->ops[i]] == id ? l->ops[i] : KS_TRACE_NONE;
}

static bool is_around(const struct ks_trace_ops *o, uint32_t outer, uint32_t op)
{
    for (int i = 0; i < OVERLAPS_MAX && op != KS_TRACE_NONE && op != outer; i++)
        op = o->parent[op];
    return op == outer;
}

static void link_kernel(struct linker *l, uint32_t i)
{
    struct ks_trace_gpu *g = &l->t->gpu;
    struct ks_trace_links *links = &l->t->links;
    const bool is_kernel = g->kind[i] == KS_TRACE_KERNEL;
    const uint32_t named = op_of_external(l, g->external[i]);

    g->call[i] = call_of(l, i);
    if (g->call[i] != KS_TRACE_NONE)
        g->op[i] = l->t->calls.op[g->call[i]];
    links->n_kernels += is_kernel;
    links->n_no_call += is_kernel && g->call[i] == KS_TRACE_NONE;
    links->n_by_call += is_kernel && g->op[i] != KS_TRACE_NONE;
    if (g->op[i] == KS_TRACE_NONE && g->external[i] != g->correlation[i]) {
        g->op[i] = named;
        links->n_by_external += is_kernel && named != KS_TRACE_NONE;
    }
    links->n_no_op += is_kernel && g->op[i] == KS_TRACE_NONE;
    links->n_external_wrong += is_kernel && named != KS_TRACE_NONE && g->op[i] != named &&
                               !is_around(&l->t->ops, named, g->op[i]);
}

static bool linker_init(struct linker *l, struct ks_trace *t)
{
    const size_t n = (t->ops.n > t->calls.n ? t->ops.n : t->calls.n) + (size_t)1;

    *l = (struct linker){ .t = t,
                          .ops = malloc(n * sizeof(*l->ops)),
                          .calls = malloc(n * sizeof(*l->calls)),
                          .spare = malloc(n * sizeof(*l->spare)),
                          .key = malloc(n * sizeof(*l->key)),
                          .stack = malloc(n * sizeof(*l->stack)) };
    return l->ops && l->calls && l->spare && l->key && l->stack;
}

static void linker_release(struct linker *l)
{
    free(l->ops);
    free(l->calls);
    free(l->spare);
    free(l->key);
    free(l->stack);
}

int ks_trace_link(struct ks_trace *t, struct ks_err *err)
{
    struct linker l;
    int rc = 0;

    if (linker_init(&l, t)) {
        const struct ks_trace_ops *o = &t->ops;
        const struct ks_trace_calls *c = &t->calls;

        sort_rows(o->ts_ns, o->dur_ns, o->track, o->n, l.ops, l.spare, l.key);
        sort_rows(c->ts_ns, c->dur_ns, c->track, c->n, l.calls, l.spare, l.key);
        nest(&l);
        sort_by_id(&l, o->external, o->n, l.ops);
        sort_by_id(&l, c->correlation, c->n, l.calls);
        for (uint32_t i = 0; i < t->gpu.n; i++)
            link_kernel(&l, i);
    } else {
        rc = ks_fail(err, KS_ENOMEM, "out of memory linking the events of '%s'", t->path);
    }
    linker_release(&l);
    return rc;
}
