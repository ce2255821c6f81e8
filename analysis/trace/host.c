/* SPDX-License-Identifier: MIT */
/* host.c - cuts each thread's nested operators and calls into pieces that do not overlap */
#include "analysis/trace/host.h"

#include "trace/rows.h"

#include <stdlib.h>

/* Operators and calls in one list; the row of a call is index - ops.n. */
struct flattener {
    const struct ks_trace *t;
    uint32_t n;
    int64_t *ts_ns, *dur_ns;
    uint64_t *key;
    uint32_t *order, *spare, *stack;
    struct ks_host *to;
};

static int64_t end_of(const struct flattener *f, uint32_t i)
{
    return f->ts_ns[i] + f->dur_ns[i];
}

static uint32_t track_of(const struct flattener *f, uint32_t i)
{
    return i < f->t->ops.n ? f->t->ops.track[i] : f->t->calls.track[i - f->t->ops.n];
}

static bool init(struct flattener *f, struct ks_host *to)
{
    const uint32_t n_ops = f->t->ops.n;
    const size_t n = n_ops + (size_t)f->t->calls.n;

    f->ts_ns = malloc((n + 1) * sizeof(*f->ts_ns));
    f->dur_ns = malloc((n + 1) * sizeof(*f->dur_ns));
    f->key = malloc((n + 1) * sizeof(*f->key));
    f->order = malloc((n + 1) * sizeof(*f->order));
    f->spare = malloc((2 * n + 1) * sizeof(*f->spare));
    f->stack = malloc((n + 1) * sizeof(*f->stack));
    /* Each event ends one piece and cuts another one at most. */
    to->pieces = malloc((2 * n + 1) * sizeof(*to->pieces));
    to->first = calloc(f->t->n_tracks + (size_t)2, sizeof(*to->first));
    to->ends = malloc((2 * n + 1) * sizeof(*to->ends));
    if (!f->ts_ns || !f->dur_ns || !f->key || !f->order || !f->spare || !f->stack || !to->pieces ||
        !to->first || !to->ends || 2 * n >= UINT32_MAX)
        return false;
    f->n = (uint32_t)n;
    f->to = to;
    for (uint32_t i = 0; i < n_ops; i++) {
        f->ts_ns[i] = f->t->ops.ts_ns[i];
        f->dur_ns[i] = f->t->ops.dur_ns[i];
    }
    for (uint32_t i = 0; i < f->t->calls.n; i++) {
        f->ts_ns[n_ops + i] = f->t->calls.ts_ns[i];
        f->dur_ns[n_ops + i] = f->t->calls.dur_ns[i];
    }
    return true;
}

static void release(struct flattener *f)
{
    free(f->ts_ns);
    free(f->dur_ns);
    free(f->key);
    free(f->order);
    free(f->spare);
    free(f->stack);
}

static void put_piece(struct flattener *f, uint32_t i, int64_t begin_ns, int64_t end_ns)
{
    const bool is_call = i >= f->t->ops.n;
    const uint32_t call = is_call ? i - f->t->ops.n : KS_TRACE_NONE;

    if (begin_ns < end_ns)
        f->to->pieces[f->to->n++] =
            (struct ks_host_piece){ .begin_ns = begin_ns,
                                    .end_ns = end_ns,
                                    .name = is_call ? f->t->calls.name[call] : f->t->ops.name[i],
                                    .track = track_of(f, i),
                                    .call = call };
}

static int64_t pop(struct flattener *f, uint32_t *depth, int64_t cursor)
{
    const uint32_t top = f->stack[--*depth];
    const int64_t end = end_of(f, top);

    put_piece(f, top, cursor, end);
    return end > cursor ? end : cursor;
}

static void cut(struct flattener *f)
{
    uint32_t depth = 0, track = KS_TRACE_NONE;
    int64_t cursor = INT64_MIN;

    for (uint32_t k = 0; k <= f->n; k++) {
        const uint32_t i = k < f->n ? f->order[k] : KS_TRACE_NONE;
        const bool is_new = k == f->n || track_of(f, i) != track;

        while (depth && (is_new || end_of(f, f->stack[depth - 1]) <= f->ts_ns[i]))
            cursor = pop(f, &depth, cursor);
        if (k == f->n)
            return;
        if (depth) {
            put_piece(f, f->stack[depth - 1], cursor, f->ts_ns[i]);
            cursor = f->ts_ns[i] > cursor ? f->ts_ns[i] : cursor;
        } else {
            cursor = is_new || f->ts_ns[i] > cursor ? f->ts_ns[i] : cursor;
        }
        track = track_of(f, i);
        f->stack[depth++] = i;
    }
}

static void find_ends(struct flattener *f)
{
    struct ks_host *h = f->to;

    for (uint32_t i = 0; i < h->n; i++)
        h->first[h->pieces[i].track + 1]++;
    for (uint32_t i = 0; i < f->t->n_tracks; i++)
        h->first[i + 1] += h->first[i];
    for (uint32_t i = 0; i < h->n; i++)
        if (i + 1 == h->n || h->pieces[i + 1].track != h->pieces[i].track ||
            h->pieces[i + 1].begin_ns > h->pieces[i].end_ns)
            h->ends[h->n_ends++] = i;
}

static bool sort_ends(struct ks_host *h)
{
    uint64_t *key = malloc((h->n + (size_t)1) * sizeof(*key));
    uint32_t *spare = malloc((h->n + (size_t)1) * sizeof(*spare));

    for (uint32_t i = 0; key && i < h->n; i++)
        key[i] = (uint64_t)h->pieces[i].end_ns ^ (uint64_t)1 << 63;
    if (key && spare)
        ks_rows_sort(h->ends, spare, h->n_ends, key);
    free(key);
    free(spare);
    return key && spare;
}

int ks_host_flatten(const struct ks_trace *t, struct ks_host *out, struct ks_err *err)
{
    struct flattener f = { .t = t };
    bool is_ok;

    *out = (struct ks_host){ .n = 0 };
    is_ok = init(&f, out);
    if (is_ok && ks_trace_sort(f.ts_ns, f.dur_ns, f.n, f.order, err) < 0)
        is_ok = false;
    for (uint32_t i = 0; is_ok && i < f.n; i++)
        f.key[i] = track_of(&f, i);
    if (is_ok) {
        ks_rows_sort(f.order, f.spare, f.n, f.key);
        cut(&f);
        find_ends(&f);
        is_ok = sort_ends(out);
    }
    release(&f);
    return is_ok ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the host's time line");
}

void ks_host_release(struct ks_host *h)
{
    free(h->pieces);
    free(h->first);
    free(h->ends);
    *h = (struct ks_host){ .n = 0 };
}

uint32_t ks_host_before(const struct ks_host *h, uint32_t track, int64_t ns)
{
    uint32_t low = h->first[track], high = h->first[track + 1];

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (h->pieces[middle].begin_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > h->first[track] ? low - 1 : KS_TRACE_NONE;
}

uint32_t ks_host_ended(const struct ks_host *h, int64_t ns)
{
    uint32_t low = 0, high = h->n_ends;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (h->pieces[h->ends[middle]].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? h->ends[low - 1] : KS_TRACE_NONE;
}
