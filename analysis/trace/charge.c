/* SPDX-License-Identifier: MIT */
/* charge.c - charges the FLOPs and bytes of operators to their kernels */
#include "analysis/trace/charge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const ks_units_names[KS_N_UNITS] = {
    [KS_UNITS_UNKNOWN] = "unknown",
    [KS_UNITS_FP64] = "fp64",
    [KS_UNITS_FP64_MATRIX] = "fp64_matrix",
    [KS_UNITS_FP32] = "fp32",
    [KS_UNITS_FP32_MATRIX] = "fp32_matrix",
    [KS_UNITS_TF32] = "tf32",
    [KS_UNITS_FP16] = "fp16",
    [KS_UNITS_BF16] = "bf16",
    [KS_UNITS_FP8] = "fp8",
    [KS_UNITS_INT8] = "int8",
};

enum { DEPTH_MAX = 256 }; /* levels of operators that are looked at, as when they are linked */

/* Costs per name and shape: a model calls few different ones. */
struct costs {
    const struct ks_trace *t;
    const struct ks_trace_rules *rules;
    struct ks_names keys;
    struct ks_trace_cost *cost; /* [keys.n] */
    uint32_t cap;
    uint32_t *of_op;   /* [ops.n] index of cost + 1; 0: not looked up */
    uint8_t *is_outer; /* [ops.n] an operator with a formula is charged below it */
    bool is_ok;
    struct ks_charge *to;
};

static const struct ks_trace_cost no_cost;

static void look_up(struct costs *c, uint32_t i, uint32_t op)
{
    static const struct ks_shape empty;
    const struct ks_trace_ops *o = &c->t->ops;
    const char *reason = NULL;
    struct ks_shape *shape = malloc(sizeof(*shape));

    if (!shape) {
        c->is_ok = false;
        return;
    }
    if (o->shape[op] == KS_TRACE_NONE ||
        !ks_shape_read(ks_names_text(&c->t->shapes, o->shape[op]), shape))
        *shape = empty;
    ks_trace_cost_of(ks_trace_name(c->t, o->name[op]), shape, c->rules, &c->cost[i], &reason);
    if (reason && !c->to->refused_why)
        c->to->refused_why = reason;
    free(shape);
}

static const struct ks_trace_cost *cost_of(struct costs *c, uint32_t op)
{
    const struct ks_trace_ops *o = &c->t->ops;
    const uint32_t key[2] = { o->name[op], o->shape[op] };
    uint32_t i, n = c->keys.n;

    if (c->of_op[op])
        return &c->cost[c->of_op[op] - 1];
    i = ks_names_put(&c->keys, (const char *)key, sizeof(key));
    if (i != KS_NAME_NONE && i == n && n == c->cap) {
        const uint32_t cap = c->cap ? 2 * c->cap : 256;
        struct ks_trace_cost *grown = realloc(c->cost, cap * sizeof(*grown));

        c->cost = grown ? grown : c->cost;
        c->cap = grown ? cap : c->cap;
        c->is_ok &= grown != NULL;
    }
    if (i == KS_NAME_NONE || !c->is_ok) {
        c->is_ok = false;
        return &no_cost;
    }
    if (i == n)
        look_up(c, i, op);
    c->of_op[op] = i + 1;
    return &c->cost[i];
}

/* The operator itself or the nearest around it that has a formula; KS_TRACE_NONE. */
static uint32_t with_formula(struct costs *c, uint32_t op)
{
    for (int i = 0; i < DEPTH_MAX && op != KS_TRACE_NONE; i++, op = c->t->ops.parent[op])
        if (cost_of(c, op)->has_flop)
            return op;
    return KS_TRACE_NONE;
}

static void mark_outer(struct costs *c, uint32_t op)
{
    uint32_t outer = c->t->ops.parent[op];

    for (int i = 0; i < DEPTH_MAX && outer != KS_TRACE_NONE; i++) {
        if (c->is_outer[outer])
            return;
        if (cost_of(c, outer)->has_flop)
            c->is_outer[outer] = 1;
        outer = c->t->ops.parent[outer];
    }
}

static bool is_kernel(const struct ks_trace *t, uint32_t i)
{
    return t->gpu.kind[i] == KS_TRACE_KERNEL;
}

/* ---- units ---- */

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* cuBLAS and CUTLASS write the type of the multiply into a kernel's name. */
static enum ks_units units_of_fp32(const char *kernel)
{
    if (has(kernel, "tf32") || has(kernel, "TF32") || has(kernel, "s1688") || has(kernel, "xf32"))
        return KS_UNITS_TF32;
    return strncmp(kernel, "Cijk_", 5) == 0 && has(kernel, "_MI") ? KS_UNITS_FP32_MATRIX
                                                                  : KS_UNITS_FP32;
}

static enum ks_units units_of_fp64(const char *kernel)
{
    return has(kernel, "d884") || (strncmp(kernel, "Cijk_", 5) == 0 && has(kernel, "_MI"))
               ? KS_UNITS_FP64_MATRIX
               : KS_UNITS_FP64;
}

static enum ks_units units_of(enum ks_trace_dtype dtype, bool is_matrix, const char *kernel)
{
    switch (dtype) {
    case KS_TD_FP64:
        return is_matrix ? units_of_fp64(kernel) : KS_UNITS_FP64;
    case KS_TD_FP32:
        return is_matrix ? units_of_fp32(kernel) : KS_UNITS_FP32;
    case KS_TD_FP16:
        return is_matrix ? KS_UNITS_FP16 : KS_UNITS_UNKNOWN;
    case KS_TD_BF16:
        return is_matrix ? KS_UNITS_BF16 : KS_UNITS_UNKNOWN;
    case KS_TD_FP8:
        return is_matrix ? KS_UNITS_FP8 : KS_UNITS_UNKNOWN;
    case KS_TD_INT8:
        return is_matrix ? KS_UNITS_INT8 : KS_UNITS_UNKNOWN;
    default:
        return KS_UNITS_UNKNOWN;
    }
}

/* ---- operators ---- */

static void charge_op(struct costs *c, struct ks_charge *out, uint32_t op, bool is_charged)
{
    const struct ks_trace_cost *cost = cost_of(c, op);

    if (is_charged) {
        out->op_flop[op] = cost->flop;
        out->op_flop_known[op] = KS_KNOWN_FORMULA;
    }
    if (cost->has_bytes && cost->has_flop == is_charged) {
        out->op_bytes[op] = cost->bytes;
        out->op_bytes_known[op] = is_charged ? KS_KNOWN_FORMULA : KS_KNOWN_TENSORS;
    }
    if (c->t->ops.flop[op] > 0) {
        out->op_flop[op] = c->t->ops.flop[op];
        out->op_flop_known[op] = KS_KNOWN_FILE;
    }
    if (c->t->ops.gb[op] > 0) {
        out->op_bytes[op] = c->t->ops.gb[op] * 1e9;
        out->op_bytes_known[op] = KS_KNOWN_FILE;
    }
}

/* Fills op, and what the operators cost. */
static void charge_ops(struct costs *c, struct ks_charge *out)
{
    const struct ks_trace_gpu *g = &c->t->gpu;

    for (uint32_t i = 0; i < g->n; i++) {
        out->op[i] = is_kernel(c->t, i) ? with_formula(c, g->op[i]) : KS_TRACE_NONE;
        if (out->op[i] != KS_TRACE_NONE)
            mark_outer(c, out->op[i]);
    }
    for (uint32_t i = 0; i < g->n; i++) {
        const bool is_charged = out->op[i] != KS_TRACE_NONE && !c->is_outer[out->op[i]];

        if (!is_kernel(c->t, i))
            continue;
        if (!is_charged)
            out->op[i] = g->op[i];
        if (out->op[i] == KS_TRACE_NONE)
            continue;
        if (out->op_kernels[out->op[i]]++ == 0)
            charge_op(c, out, out->op[i], is_charged);
        out->op_ns[out->op[i]] += g->dur_ns[i];
    }
}

/* ---- kernels ---- */

/* The part of `whole` that falls to [from, to) of `total`, in whole units: all parts add up.
 * Without any time each of the n parts is the same. */
static double share(double whole, int64_t from, int64_t to, int64_t total, uint32_t n)
{
    if (total == 0)
        return whole / n;
    return floor(whole * ((double)to / (double)total)) -
           floor(whole * ((double)from / (double)total));
}

/* done_ns [ops.n]: time of the operator's kernels before this one. */
static void charge_kernel(struct costs *c, struct ks_charge *out, uint32_t i, int64_t *done_ns)
{
    const struct ks_trace_gpu *g = &c->t->gpu;
    const uint32_t op = out->op[i];

    if (op != KS_TRACE_NONE) {
        const int64_t from = done_ns[op], to = from + g->dur_ns[i];

        done_ns[op] = to;
        out->flop_known[i] = out->op_flop_known[op];
        out->flop[i] = share(out->op_flop[op], from, to, out->op_ns[op], out->op_kernels[op]);
        out->bytes_known[i] = out->op_bytes_known[op];
        out->bytes[i] = share(out->op_bytes[op], from, to, out->op_ns[op], out->op_kernels[op]);
        out->dtype[i] = (uint8_t)cost_of(c, op)->dtype;
        out->units[i] = (uint8_t)units_of(cost_of(c, op)->dtype, cost_of(c, op)->is_matrix,
                                          ks_trace_name(c->t, g->name[i]));
    }
    if (g->flop[i] > 0) {
        out->flop[i] = g->flop[i];
        out->flop_known[i] = KS_KNOWN_FILE;
    }
    if (g->gb[i] > 0) {
        out->bytes[i] = g->gb[i] * 1e9;
        out->bytes_known[i] = KS_KNOWN_FILE;
    }
}

static bool charge_init(struct ks_charge *c, uint32_t n_gpu, uint32_t n_ops)
{
    const size_t n = n_gpu + (size_t)1, m = n_ops + (size_t)1;

    *c = (struct ks_charge){ .n = n_gpu,
                             .op = malloc(n * sizeof(*c->op)),
                             .flop = calloc(n, sizeof(*c->flop)),
                             .bytes = calloc(n, sizeof(*c->bytes)),
                             .flop_known = calloc(n, 1),
                             .bytes_known = calloc(n, 1),
                             .units = calloc(n, 1),
                             .dtype = calloc(n, 1),
                             .op_flop = calloc(m, sizeof(*c->op_flop)),
                             .op_bytes = calloc(m, sizeof(*c->op_bytes)),
                             .op_flop_known = calloc(m, 1),
                             .op_bytes_known = calloc(m, 1),
                             .op_ns = calloc(m, sizeof(*c->op_ns)),
                             .op_kernels = calloc(m, sizeof(*c->op_kernels)) };
    return c->op && c->flop && c->bytes && c->flop_known && c->bytes_known && c->units &&
           c->dtype && c->op_flop && c->op_bytes && c->op_flop_known && c->op_bytes_known &&
           c->op_ns && c->op_kernels;
}

void ks_charge_release(struct ks_charge *c)
{
    free(c->op);
    free(c->flop);
    free(c->bytes);
    free(c->flop_known);
    free(c->bytes_known);
    free(c->units);
    free(c->dtype);
    free(c->op_flop);
    free(c->op_bytes);
    free(c->op_flop_known);
    free(c->op_bytes_known);
    free(c->op_ns);
    free(c->op_kernels);
    memset(c, 0, sizeof(*c));
}

int ks_charge(const struct ks_trace *t, const struct ks_trace_rules *rules, struct ks_charge *out,
              struct ks_err *err)
{
    struct costs c = { .t = t, .rules = rules, .is_ok = true, .to = out };
    int64_t *done_ns = calloc(t->ops.n + (size_t)1, sizeof(*done_ns));

    c.of_op = calloc(t->ops.n + (size_t)1, sizeof(*c.of_op));
    c.is_outer = calloc(t->ops.n + (size_t)1, 1);
    c.is_ok = charge_init(out, t->gpu.n, t->ops.n) && done_ns && c.of_op && c.is_outer;
    if (c.is_ok)
        charge_ops(&c, out);
    for (uint32_t i = 0; c.is_ok && i < t->gpu.n; i++)
        if (is_kernel(t, i))
            charge_kernel(&c, out, i, done_ns);
    free(done_ns);
    free(c.of_op);
    free(c.is_outer);
    free(c.cost);
    ks_names_release(&c.keys);
    if (c.is_ok)
        return 0;
    ks_charge_release(out);
    return ks_fail(err, KS_ENOMEM, "out of memory for the operators of '%s'", t->path);
}
