/* SPDX-License-Identifier: MIT */
/* aggregate.c - sums times, FLOPs and bytes of kernels by kernel, operator or shape, with rates */
#include "analysis/trace/aggregate.h"

#include "analysis/trace/spans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct builder {
    const struct ks_trace *t;
    const struct ks_charge *c;
    enum ks_group_by by;
    struct ks_names keys; /* 16 bytes: device, name, shape, kernel or not */
    struct ks_group *rows;
    uint32_t cap;
    uint8_t *is_seen; /* [ops.n] the call is counted: 1 for its kernels, 2 for its copies */
};

static struct ks_group *group_of(struct builder *b, uint32_t i)
{
    const struct ks_trace *t = b->t;
    const uint32_t op = t->gpu.kind[i] == KS_TRACE_KERNEL ? b->c->op[i] : t->gpu.op[i];
    const bool has_op = op != KS_TRACE_NONE;
    uint32_t key[4] = { t->streams[t->gpu.stream[i]].device, t->gpu.name[i], KS_TRACE_NONE,
                        t->gpu.kind[i] == KS_TRACE_KERNEL };
    const uint32_t n = b->keys.n;
    uint32_t at;

    if (b->by != KS_BY_KERNEL)
        key[1] = has_op ? t->ops.name[op] : KS_NAME_NONE;
    if (b->by == KS_BY_SHAPE && has_op)
        key[2] = t->ops.shape[op];
    at = ks_names_put(&b->keys, (const char *)key, sizeof(key));
    if (at == n && n == b->cap) {
        const uint32_t cap = b->cap ? 2 * b->cap : 128;
        struct ks_group *grown = realloc(b->rows, cap * sizeof(*grown));

        if (!grown)
            return NULL;
        b->rows = grown;
        b->cap = cap;
    }
    if (at == KS_NAME_NONE)
        return NULL;
    if (at == n)
        b->rows[at] = (struct ks_group){ .device = key[0],
                                         .name = key[1],
                                         .shape = key[2],
                                         .min_ns = INT64_MAX,
                                         .work = ks_work_of(t, i) };
    return &b->rows[at];
}

static bool is_new_call(struct builder *b, uint32_t i)
{
    const uint32_t op = b->t->gpu.kind[i] == KS_TRACE_KERNEL ? b->c->op[i] : b->t->gpu.op[i];

    const uint8_t bit = b->t->gpu.kind[i] == KS_TRACE_KERNEL ? 1 : 2;
    const bool is_new = op == KS_TRACE_NONE || !(b->is_seen[op] & bit);

    if (op != KS_TRACE_NONE)
        b->is_seen[op] |= bit;
    return is_new || b->by == KS_BY_KERNEL;
}

/* bytes < 0: unknown. */
static void add_bytes(struct ks_group *g, double bytes, int64_t ns, bool has_flop)
{
    if (bytes < 0)
        return;
    g->bytes += bytes;
    g->bytes_ns += ns;
    g->bytes_with_flop += has_flop ? bytes : 0;
}

static void add_row(struct builder *b, struct ks_group *g, uint32_t i)
{
    const struct ks_trace_gpu *gpu = &b->t->gpu;
    const struct ks_charge *c = b->c;
    const int64_t ns = gpu->dur_ns[i];
    const bool has_flop = c->flop_known[i] != KS_KNOWN_NOT;

    g->count += is_new_call(b, i);
    g->n_kernels++;
    g->ns += ns;
    g->min_ns = ns < g->min_ns ? ns : g->min_ns;
    g->max_ns = ns > g->max_ns ? ns : g->max_ns;
    g->sum2_ns += (double)ns * (double)ns;
    g->units_ns[c->units[i]] += ns;
    g->work = g->work == ks_work_of(b->t, i) ? g->work : 0;
    if (gpu->kind[i] != KS_TRACE_KERNEL) {
        add_bytes(g, (double)gpu->bytes[i], ns, false);
        return;
    }
    if (has_flop) {
        g->flop += c->flop[i];
        g->flop_ns += ns;
    }
    add_bytes(g, c->bytes_known[i] ? c->bytes[i] : -1, ns, has_flop);
    g->is_estimate |= c->bytes_known[i] == KS_KNOWN_TENSORS;
}

void ks_group_add(struct ks_group *a, const struct ks_group *b)
{
    a->count += b->count;
    a->n_kernels += b->n_kernels;
    a->ns += b->ns;
    a->min_ns = b->min_ns < a->min_ns ? b->min_ns : a->min_ns;
    a->max_ns = b->max_ns > a->max_ns ? b->max_ns : a->max_ns;
    a->sum2_ns += b->sum2_ns;
    a->flop += b->flop;
    a->bytes += b->bytes;
    a->bytes_with_flop += b->bytes_with_flop;
    a->flop_ns += b->flop_ns;
    a->bytes_ns += b->bytes_ns;
    for (int u = 0; u < KS_N_UNITS; u++)
        a->units_ns[u] += b->units_ns[u];
    a->work = a->work == b->work ? a->work : 0;
    a->is_estimate |= b->is_estimate;
}

/* Equal times in the order of appearance would depend on qsort: by name then. */
static int compare(const void *x, const void *y)
{
    const struct ks_group *a = x, *b = y;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->shape != b->shape)
        return a->shape < b->shape ? -1 : 1;
    return (a->work > b->work) - (a->work < b->work);
}

int ks_aggregate(const struct ks_trace *t, const struct ks_charge *c, enum ks_group_by by,
                 const uint8_t *keep, struct ks_groups *out, struct ks_err *err)
{
    struct builder b = { .t = t, .c = c, .by = by };
    bool is_ok;

    b.is_seen = calloc(t->ops.n + (size_t)1, 1);
    is_ok = b.is_seen != NULL;
    for (uint32_t i = 0; is_ok && i < t->gpu.n; i++) {
        struct ks_group *g;

        if (keep && !keep[i])
            continue;
        g = group_of(&b, i);
        is_ok = g != NULL;
        if (g)
            add_row(&b, g, i);
    }
    *out = (struct ks_groups){ .rows = b.rows, .n = b.keys.n };
    free(b.is_seen);
    ks_names_release(&b.keys);
    if (!is_ok) {
        ks_groups_release(out);
        return ks_fail(err, KS_ENOMEM, "out of memory for the tables of '%s'", t->path);
    }
    if (out->n)
        qsort(out->rows, out->n, sizeof(*out->rows), compare);
    return 0;
}

void ks_groups_release(struct ks_groups *g)
{
    free(g->rows);
    *g = (struct ks_groups){ 0 };
}

/* ---- rates ---- */

static enum ks_units main_units(const struct ks_group *g)
{
    enum ks_units best = KS_UNITS_UNKNOWN;

    for (int u = 1; u < KS_N_UNITS; u++)
        if (g->units_ns[u] > 0 && (best == KS_UNITS_UNKNOWN || g->units_ns[u] > g->units_ns[best]))
            best = (enum ks_units)u;
    return best;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

struct ks_rates ks_group_rates(const struct ks_group *g, const struct ks_peak *p)
{
    struct ks_rates r = { .units = main_units(g) };
    const double flop_peak = p ? p->flop_per_s[r.units] : 0, byte_peak = p ? p->bytes_per_s : 0;

    r.flop_per_s = g->flop_ns ? ratio(g->flop, (double)g->flop_ns * 1e-9) : (double)NAN;
    r.bytes_per_s = g->bytes_ns ? ratio(g->bytes, (double)g->bytes_ns * 1e-9) : (double)NAN;
    r.flop_per_byte = g->flop_ns ? ratio(g->flop, g->bytes_with_flop) : (double)NAN;
    r.compute_share = ratio(r.flop_per_s, flop_peak);
    r.bandwidth_share = ratio(r.bytes_per_s, byte_peak);
    if (isfinite(r.flop_per_byte) && flop_peak > 0 && byte_peak > 0)
        r.bound = r.flop_per_byte >= flop_peak / byte_peak ? "compute" : "memory";
    return r;
}
