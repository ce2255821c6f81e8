/* SPDX-License-Identifier: MIT */
/* compat_cost.c - the script's formulas: they ignore padding, dilation and groups, count the bytes
 * of products twice and those of outputs not at all. src/trace/cost.c has the right ones.
 * Source: torch/_inductor/analysis/profile_analysis.py and torch/utils/flop_counter.py of 2025-07.
 */
#include "analysis/trace/compat.h"

#include "trace/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS = 16, DIMS = 8 };

struct arg {
    double product; /* of all numbers, those of nested lists too; 1 without any */
    bool is_flat;   /* a list of at most DIMS numbers */
    uint32_t n;
    int64_t dim[DIMS];
    double item_bytes;
    struct ks_span concrete;
};
struct args {
    struct ks_span dims, types, concrete; /* absent: not in the event */
    uint32_t n;                           /* of Input Dims, also those beyond ARGS */
    struct arg arg[ARGS];
};

/* ---- arguments ---- */

static double item_bytes(struct ks_span type)
{
    static const struct {
        const char *word;
        double bytes;
    } words[] = { { "float", 4 }, { "double", 8 }, { "int", 4 },     { "long", 8 },
                  { "short", 2 }, { "half", 2 },   { "bfloat16", 2 } };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (ks_span_is(type, words[i].word))
            return words[i].bytes;
    return 1; /* what torch has no attribute for: c10::Half, long int, Scalar, "" */
}

static double flat_product(struct ks_span text)
{
    const char *p = text.p, *end = text.p + text.n;
    double product = 1;

    while (p < end) {
        char *stop;

        if ((*p < '0' || *p > '9') && *p != '-') {
            p++;
            continue;
        }
        product *= strtod(p, &stop);
        p = stop > p ? stop : p + 1;
    }
    return product;
}

static void read_arg(struct ks_span text, struct arg *out)
{
    struct ks_trace_walk w = ks_trace_walk(text);
    struct ks_trace_member m;

    out->product = flat_product(text);
    out->is_flat = text.n >= 2 && text.p[0] == '[';
    while (out->is_flat && ks_trace_walk_next(&w, &m)) {
        out->is_flat = out->n < DIMS && ks_trace_int(m.value, &out->dim[out->n]);
        out->n++;
    }
    out->is_flat &= !w.is_bad;
}

static void read_args(const char *shape, struct args *out)
{
    struct ks_span *lines[] = { &out->dims, &out->types, &out->concrete };
    struct ks_trace_walk w;
    struct ks_trace_member m;

    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 3; i++) {
        lines[i]->p = shape;
        lines[i]->n = strcspn(shape, "\n");
        shape += lines[i]->n + (shape[lines[i]->n] == '\n');
    }
    w = ks_trace_walk(out->dims);
    for (; ks_trace_walk_next(&w, &m); out->n++)
        if (out->n < ARGS)
            read_arg(m.value, &out->arg[out->n]);
    w = ks_trace_walk(out->types);
    for (uint32_t i = 0; i < ARGS && ks_trace_walk_next(&w, &m); i++)
        out->arg[i].item_bytes = item_bytes(m.value);
    w = ks_trace_walk(out->concrete);
    for (uint32_t i = 0; i < ARGS && ks_trace_walk_next(&w, &m); i++)
        out->arg[i].concrete = m.value;
}

/* The argument has exactly n dims. */
static const int64_t *dims_of(const struct args *a, uint32_t i, uint32_t n)
{
    return i < a->n && i < ARGS && a->arg[i].is_flat && a->arg[i].n == n ? a->arg[i].dim : NULL;
}

/* ---- which formula ---- */

enum formula { NO_FORMULA, MM, ADDMM, BMM, BADDBMM, CONV, SLOW_CONV, ATTENTION, ATTENTION_BACK };

static enum formula formula_of(const char *name)
{
    static const struct {
        const char *op;
        enum formula formula;
    } ops[] = { { "mm", MM },
                { "_scaled_mm", MM },
                { "addmm", ADDMM },
                { "bmm", BMM },
                { "baddbmm", BADDBMM },
                { "convolution", CONV },
                { "_convolution", CONV },
                { "cudnn_convolution", CONV },
                { "_slow_conv2d_forward", SLOW_CONV },
                { "_scaled_dot_product_efficient_attention", ATTENTION },
                { "_scaled_dot_product_flash_attention", ATTENTION },
                { "_scaled_dot_product_cudnn_attention", ATTENTION },
                { "_scaled_dot_product_efficient_attention_backward", ATTENTION_BACK },
                { "_scaled_dot_product_flash_attention_backward", ATTENTION_BACK },
                { "_scaled_dot_product_cudnn_attention_backward", ATTENTION_BACK } };

    if (strncmp(name, "aten::", 6) != 0)
        return strstr(name, "conv")    ? CONV
               : strstr(name, "addmm") ? ADDMM
               : strstr(name, "bmm")   ? BMM
               : strstr(name, "_mm")   ? MM
                                       : NO_FORMULA;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (strcmp(name + 6, ops[i].op) == 0)
            return ops[i].formula;
    return NO_FORMULA;
}

/* ---- FLOPs ---- */

static double mm_flop(const struct args *a, uint32_t i)
{
    const int64_t *x = dims_of(a, i, 2), *y = dims_of(a, i + 1, 2);

    return x && y && x[1] == y[0] ? 2.0 * (double)x[0] * (double)x[1] * (double)y[1] : 0;
}

static double bmm_flop(const struct args *a, uint32_t i)
{
    const int64_t *x = dims_of(a, i, 3), *y = dims_of(a, i + 1, 3);

    return x && y && x[0] == y[0] && x[2] == y[1]
               ? 2.0 * (double)x[0] * (double)x[1] * (double)x[2] * (double)y[2]
               : 0;
}

/* The numbers of "[2, 2]"; n 0: something else, or too many. */
static uint32_t strides_of(struct ks_span text, int64_t out[DIMS])
{
    struct ks_trace_walk w;
    struct ks_trace_member m;
    uint32_t n = 0;

    if (text.p && ks_trace_int(text, &out[0]))
        return 1;
    w = ks_trace_walk(text);
    for (; ks_trace_walk_next(&w, &m); n++)
        if (n == DIMS || !ks_trace_int(m.value, &out[n]))
            return 0;
    return w.is_bad ? 0 : n;
}

/* Extents of the output as the script has them. Returns their number, 0: it stops here. */
static uint32_t conv_out(const struct args *a, bool is_slow, int64_t out[DIMS])
{
    int64_t stride[DIMS];
    const struct arg *x = &a->arg[0], *w = &a->arg[1];
    const uint32_t i_stride = is_slow ? 4 : 3;
    const uint32_t n_stride = i_stride < a->n ? strides_of(a->arg[i_stride].concrete, stride) : 0;
    uint32_t n = 0;

    if (a->n < 2 || !x->is_flat || !w->is_flat || x->n < 1 || w->n < 2 || n_stride == 0)
        return 0;
    for (; n < n_stride && n + 2 < x->n && n + 2 < w->n; n++) {
        if (stride[n] == 0)
            return 0;
        out[n] = (int64_t)floor((double)(x->dim[n + 2] - w->dim[n + 2]) / (double)stride[n]) + 1;
    }
    return n;
}

static double conv_flop(const struct args *a, bool is_slow)
{
    const uint32_t n_args = a->n + is_slow;
    const bool is_transposed = !is_slow && n_args > 6 && a->arg[6].n > 0;
    int64_t out[DIMS];
    uint32_t n_out;
    double flop;

    if (n_args <= 6)
        return 0;
    n_out = conv_out(a, is_slow, out);
    if (is_transposed) {
        if (!a->arg[0].is_flat || a->arg[0].n < 3 || !a->arg[1].is_flat || a->arg[1].n < 2)
            return 0;
        n_out = a->arg[0].n - 2;
        memcpy(out, &a->arg[0].dim[2], n_out * sizeof(*out));
    } else if (n_out == 0)
        return 0;
    flop = 2 * a->arg[1].product * (double)a->arg[0].dim[0];
    for (uint32_t i = 0; i < n_out; i++)
        flop *= (double)out[i];
    return flop;
}

static double attention_flop(const struct args *a, bool is_backward)
{
    const int64_t *q = dims_of(a, is_backward, 4), *k = dims_of(a, is_backward + 1u, 4);
    const int64_t *v = dims_of(a, is_backward + 2u, 4);
    double pairs;

    if (!q || !k || !v || q[0] != k[0] || q[0] != v[0] || q[1] != k[1] || q[1] != v[1] ||
        q[3] != k[3] || k[2] != v[2])
        return 0;
    pairs = (double)q[0] * (double)q[1] * (double)q[2] * (double)k[2];
    return 2 * pairs *
           (is_backward ? 3.0 * (double)q[3] + 2.0 * (double)v[3] : (double)q[3] + (double)v[3]);
}

double ks_compat_flop(const char *name, const char *shape)
{
    struct args a;

    read_args(shape, &a);
    if (a.dims.n == 0 || a.concrete.n == 0)
        return 0;
    switch (formula_of(name)) {
    case MM:
        return mm_flop(&a, 0);
    case ADDMM:
        return mm_flop(&a, 1);
    case BMM:
        return bmm_flop(&a, 0);
    case BADDBMM:
        return bmm_flop(&a, 1);
    case CONV:
        return conv_flop(&a, false);
    case SLOW_CONV:
        return conv_flop(&a, true);
    case ATTENTION:
        return attention_flop(&a, false);
    case ATTENTION_BACK:
        return attention_flop(&a, true);
    default:
        return 0;
    }
}

/* ---- bytes ---- */

static double default_bytes(const struct args *a)
{
    struct ks_trace_walk dims = ks_trace_walk(a->dims), types = ks_trace_walk(a->types);
    struct ks_trace_member d, t;
    double bytes = 0;

    while (ks_trace_walk_next(&dims, &d) && ks_trace_walk_next(&types, &t))
        bytes += item_bytes(t.value) * flat_product(d.value);
    return bytes;
}

/* 2 (MN + NK + MK), whose letters the script gives to other extents; i: the first factor. */
static double product_bytes(const struct args *a, uint32_t i, uint32_t n_dims)
{
    const int64_t *x = dims_of(a, i, n_dims), *y = dims_of(a, i + 1, n_dims);
    double m, n, k;

    if (!x || !y || (n_dims == 2 && x[1] != y[0]))
        return 0;
    m = (double)x[n_dims - 2];
    n = (double)x[n_dims - 1];
    k = (double)y[n_dims - 1];
    return 2 * (m * k + n * k + m * n) * a->arg[i].item_bytes;
}

static double first_bytes(const struct args *a)
{
    return a->arg[0].product * a->arg[0].item_bytes;
}

/* 0 for the batch where the factors do not fit, as for the whole. */
static double batched_bytes(const struct args *a, uint32_t i)
{
    const double bytes = product_bytes(a, i, 3);

    return bytes > 0 && a->arg[0].n > 0 ? (double)a->arg[0].dim[0] * bytes + first_bytes(a) : 0;
}

static double conv_bytes(const struct args *a, bool is_slow)
{
    const struct arg *x = &a->arg[0], *w = &a->arg[1];
    int64_t out[DIMS];

    if (conv_out(a, is_slow, out) < 2)
        return 0;
    return (double)x->dim[0] * (double)w->dim[0] * (double)out[0] * (double)out[1] *
               (double)x->dim[1] * (double)w->dim[2] * (double)w->dim[3] +
           (double)w->dim[0] * (double)w->dim[1] * (double)w->dim[2] * (double)w->dim[3];
}

double ks_compat_gb(const char *name, const char *shape)
{
    const enum formula formula = formula_of(name);
    struct args a;

    read_args(shape, &a);
    if (a.dims.n == 0 || a.types.n == 0)
        return 0;
    if (a.concrete.n == 0 || strcmp(name, "aten::_scaled_mm") == 0)
        return default_bytes(&a) / 1e9;
    switch (formula) {
    case MM:
        return product_bytes(&a, 0, 2) / 1e9;
    case ADDMM:
        return (product_bytes(&a, 1, 2) + first_bytes(&a)) / 1e9;
    case BMM:
        return batched_bytes(&a, 0) / 1e9;
    case BADDBMM:
        return batched_bytes(&a, 1) / 1e9;
    case CONV:
        return conv_bytes(&a, false) / 1e9;
    case SLOW_CONV:
        return conv_bytes(&a, true) / 1e9;
    default:
        return default_bytes(&a) / 1e9;
    }
}
