/* SPDX-License-Identifier: MIT */
/* cost.c - FLOPs and bytes of one call of an operator. */
#include "trace/operators.h"
#include "trace/text.h"

#include <string.h>

static double product(const int64_t *v, uint32_t n)
{
    double p = 1;

    for (uint32_t i = 0; i < n; i++)
        p *= (double)v[i];
    return p;
}

/* ---- convolutions ---- */

/* Each element of the output (transposed: of the input) meets the weights of one group. */
static void conv_cost(const struct ks_trace_conv *c, struct ks_trace_cost *out)
{
    const double x = (double)c->n * (double)c->c * product(c->in, c->n_spatial);
    const double y = (double)c->n * (double)c->k * product(c->out, c->n_spatial);
    const double taps = product(c->filter, c->n_spatial);
    const double w = (double)c->k * (double)(c->c / c->groups) * taps;
    const double one =
        2 * (c->is_transposed ? x * (double)(c->k / c->groups) : y * (double)(c->c / c->groups)) *
        taps;
    double n_elements = 0;

    if (c->direction == KS_TRACE_FORWARD) {
        out->flop = one;
        n_elements = x + w + y + (c->has_bias ? (double)c->k : 0) + (c->has_addend ? y : 0);
    } else {
        out->flop = one * (c->wants_input + c->wants_weight) + (c->wants_bias ? y : 0);
        n_elements = (x + w + y) * (c->wants_input + c->wants_weight) +
                     (c->wants_bias ? y + (double)c->k : 0);
    }
    out->bytes = n_elements * ks_trace_dtype_bytes(c->dtype);
    out->dtype = c->dtype;
}

/* ---- matrix products ---- */

/* Bytes of an element of the output; 0: unknown. */
static double output_size(const struct ks_trace_gemm *g, const struct ks_shape *s)
{
    /* Numbers of c10::ScalarType. */
    static const struct {
        int64_t number;
        enum ks_trace_dtype type;
    } types[] = { { 5, KS_TD_FP16 }, { 6, KS_TD_FP32 }, { 15, KS_TD_BF16 }, { 23, KS_TD_FP8 },
                  { 24, KS_TD_FP8 }, { 25, KS_TD_FP8 }, { 26, KS_TD_FP8 } };
    enum { OUT_DTYPE = 6 };
    int64_t number;

    if (!g->is_scaled)
        return g->dtype == KS_TD_INT8 ? 4 : ks_trace_dtype_bytes(g->dtype); /* _int_mm: int32 */
    if (s->n <= OUT_DTYPE || !s->in[OUT_DTYPE].concrete.p)
        return 0;
    if (s->in[OUT_DTYPE].concrete.n == 0)
        return ks_trace_dtype_bytes(g->dtype);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (ks_trace_int(s->in[OUT_DTYPE].concrete, &number) && types[i].number == number)
            return ks_trace_dtype_bytes(types[i].type);
    return 0;
}

static double input_bytes(const struct ks_shape *s, int i)
{
    return i >= 0 && (uint32_t)i < s->n && s->in[i].is_tensor
               ? s->in[i].n_elements * ks_trace_dtype_bytes(s->in[i].dtype)
               : 0;
}

static void gemm_cost(const struct ks_trace_gemm *g, const struct ks_shape *s,
                      struct ks_trace_cost *out)
{
    const double size = output_size(g, s);

    out->flop = 2 * g->n_c * (double)g->k;
    out->dtype = g->dtype;
    if (size == 0)
        return;
    out->bytes = input_bytes(s, g->i_a) + input_bytes(s, g->i_b) + input_bytes(s, g->i_addend) +
                 g->n_c * size;
    if (g->is_scaled)
        out->bytes += input_bytes(s, 2) + input_bytes(s, 3);
}

/* ---- einsum ---- */

/* Extents of the labels of one operand: "bij" with [8, 2, 3]. false: they do not fit. */
static bool add_labels(struct ks_span labels, struct ks_span dims, int64_t extent[128])
{
    struct ks_trace_walk w = ks_trace_walk(dims);
    struct ks_trace_member m;

    for (size_t i = 0; i < labels.n; i++) {
        const unsigned char label = (unsigned char)labels.p[i];
        int64_t n;

        if (label == ' ')
            continue;
        if (!((label | 32) >= 'a' && (label | 32) <= 'z') || !ks_trace_walk_next(&w, &m) ||
            !ks_trace_int(m.value, &n) || n < 0)
            return false;
        if (extent[label] >= 0 && extent[label] != 1 && n != 1 && extent[label] != n)
            return false;
        extent[label] = extent[label] < 0 || extent[label] == 1 ? n : extent[label];
    }
    return !ks_trace_walk_next(&w, &m) && !w.is_bad;
}

/* Two operands: 2 per combination of all labels. More have an order that the trace does not tell.
 * The products that einsum itself calls are charged instead where there are any. */
static const char *einsum_cost(const struct ks_shape *s, struct ks_trace_cost *out)
{
    const struct ks_span text = s->n > 1 ? s->in[0].concrete : (struct ks_span){ NULL, 0 };
    int64_t extent[128];
    struct ks_trace_walk w;
    struct ks_trace_member m;
    const char *p = text.p, *end = p ? p + text.n : p, *stop;
    int n_operands = 0;

    if (!text.n || !s->in[1].is_list)
        return NULL; /* PyTorch's profiler does not record the equation */
    memset(extent, -1, sizeof(extent));
    for (const char *arrow = p; arrow + 1 < end; arrow++)
        if (arrow[0] == '-' && arrow[1] == '>')
            end = arrow;
    w = ks_trace_walk(s->in[1].dims);
    for (; p <= end && ks_trace_walk_next(&w, &m); p = stop + 1, n_operands++) {
        for (stop = p; stop < end && *stop != ','; stop++)
            continue;
        if (!add_labels((struct ks_span){ p, (size_t)(stop - p) }, m.value, extent))
            return "the equation of einsum does not match the operands";
    }
    if (n_operands != 2 || p <= end || ks_trace_walk_next(&w, &m))
        return "einsum with more or fewer than two operands";
    out->flop = 2;
    for (int i = 0; i < 128; i++)
        out->flop *= extent[i] >= 0 ? (double)extent[i] : 1;
    return NULL;
}

/* ---- attention ---- */

enum order { HEADS_FIRST, SEQUENCE_FIRST }; /* [b, h, s, d] or [b, s, h, d] */

struct attention {
    const char *name;
    bool is_backward;
    enum order order;
    int q, k, v, causal, varlen; /* varlen: the lengths of packed sequences; -1: none */
};
static const struct attention attentions[] = {
    { "aten::_scaled_dot_product_flash_attention", false, HEADS_FIRST, 0, 1, 2, 4, -1 },
    { "aten::_scaled_dot_product_flash_attention_for_cpu", false, HEADS_FIRST, 0, 1, 2, 4, -1 },
    { "aten::_scaled_dot_product_efficient_attention", false, HEADS_FIRST, 0, 1, 2, 6, -1 },
    { "aten::_scaled_dot_product_cudnn_attention", false, HEADS_FIRST, 0, 1, 2, 6, -1 },
    { "aten::_scaled_dot_product_fused_attention_overrideable", false, HEADS_FIRST, 0, 1, 2, 5,
      -1 },
    { "aten::_flash_attention_forward", false, SEQUENCE_FIRST, 0, 1, 2, 8, 3 },
    { "aten::_efficient_attention_forward", false, SEQUENCE_FIRST, 0, 1, 2, -1, 4 },
    { "aten::_cudnn_attention_forward", false, HEADS_FIRST, 0, 1, 2, 10, 4 },
    { "aten::_scaled_dot_product_flash_attention_backward", true, HEADS_FIRST, 1, 2, 3, 11, 6 },
    { "aten::_scaled_dot_product_flash_attention_for_cpu_backward", true, HEADS_FIRST, 1, 2, 3, 7,
      -1 },
    { "aten::_scaled_dot_product_efficient_attention_backward", true, HEADS_FIRST, 1, 2, 3, 11,
      -1 },
    { "aten::_scaled_dot_product_cudnn_attention_backward", true, HEADS_FIRST, 1, 2, 3, 14, 9 },
    { "aten::_flash_attention_backward", true, SEQUENCE_FIRST, 1, 2, 3, 11, 6 },
    { "aten::_efficient_attention_backward", true, SEQUENCE_FIRST, 1, 2, 3, -1, 6 },
};

static const struct attention *attention_of(const char *name)
{
    for (size_t i = 0; i < sizeof(attentions) / sizeof(attentions[0]); i++)
        if (strcmp(attentions[i].name, name) == 0)
            return &attentions[i];
    return NULL;
}

static const char *attention_cost(const struct attention *a, const struct ks_shape *s,
                                  const struct ks_trace_rules *rules, struct ks_trace_cost *out)
{
    const uint32_t at_s = a->order == HEADS_FIRST ? 2 : 1, at_h = 3 - at_s;
    const struct ks_shape_input *q, *k, *v;
    double pairs, widths, n_output;

    if ((uint32_t)a->v >= s->n || !s->in[a->q].is_tensor)
        return "no shapes of query, key and value";
    q = &s->in[a->q];
    k = &s->in[a->k];
    v = &s->in[a->v];
    if (a->varlen >= 0 && (uint32_t)a->varlen < s->n && s->in[a->varlen].is_tensor)
        return "the lengths of packed sequences are not in the trace";
    if (q->n_dims != 4 || k->n_dims != 4 || v->n_dims != 4 || q->dim[3] != k->dim[3])
        return "query, key and value are not four-dimensional";
    pairs = (double)q->dim[0] * (double)q->dim[at_h] * (double)q->dim[at_s] * (double)k->dim[at_s];
    widths = a->is_backward ? 3.0 * (double)q->dim[3] + 2.0 * (double)v->dim[3]
                            : (double)q->dim[3] + (double)v->dim[3];
    out->flop = 2 * pairs * widths;
    if (rules->halve_causal && a->causal >= 0 && (uint32_t)a->causal < s->n &&
        ks_span_is(s->in[a->causal].concrete, "True"))
        out->flop /= 2;
    n_output = (double)q->dim[0] * (double)q->dim[1] * (double)q->dim[2] * (double)v->dim[3];
    out->bytes = (q->n_elements + k->n_elements + v->n_elements) * (a->is_backward ? 2 : 1);
    out->bytes =
        (out->bytes + n_output * (a->is_backward ? 2 : 1)) * ks_trace_dtype_bytes(q->dtype);
    out->dtype = q->dtype;
    return NULL;
}

/* ---- all ---- */

/* Operators that read a few rows of a large input: its size says nothing. */
static bool is_sparse(const char *name)
{
    static const char *const parts[] = { "index", "embedding",     "gather", "scatter",
                                         "take",  "masked_select", "paged",  "cache" };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

/* Elements in memory: a dim with stride 0 is repeated, not stored. */
static double n_stored(const struct ks_shape_input *in)
{
    double n = in->n_elements;

    for (uint32_t d = 0; in->has_strides && d < in->n_dims; d++)
        if (in->stride[d] == 0 && in->dim[d] > 0)
            n /= (double)in->dim[d];
    return n;
}

/* The size of the inputs; outputs are not in the trace. */
static void estimate(const struct ks_shape *s, struct ks_trace_cost *out)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const struct ks_shape_input *in = &s->in[i];

        if (in->is_list) { /* of tensors whose types are not in the trace */
            out->bytes = 0;
            return;
        }
        if (!in->is_tensor)
            continue;
        if (out->dtype == KS_TD_UNKNOWN)
            out->dtype = in->dtype;
        out->bytes += n_stored(in) * ks_trace_dtype_bytes(in->dtype);
    }
    out->has_bytes = out->bytes > 0 && !s->is_cut;
    out->is_estimate = out->has_bytes;
}

void ks_trace_cost_of(const char *name, const struct ks_shape *s,
                      const struct ks_trace_rules *rules, struct ks_trace_cost *out,
                      const char **reason_out)
{
    const struct attention *a = attention_of(name);
    const char *reason = NULL;
    struct ks_trace_conv conv;
    struct ks_trace_gemm gemm;
    int is_conv, is_gemm = 0;

    memset(out, 0, sizeof(*out));
    is_conv = ks_trace_conv_of(name, s, &conv, &reason);
    if (is_conv == 0 && !a)
        is_gemm = ks_trace_gemm_of(name, s, &gemm, &reason);
    if (is_conv > 0)
        conv_cost(&conv, out);
    else if (is_gemm > 0)
        gemm_cost(&gemm, s, out);
    else if (a)
        reason = attention_cost(a, s, rules, out);
    else if (strcmp(name, "aten::einsum") == 0)
        reason = einsum_cost(s, out);
    out->has_flop = out->is_matrix = out->flop > 0;
    out->has_bytes = out->has_flop && out->bytes > 0 && ks_trace_dtype_bytes(out->dtype) > 0;
    if (!out->has_flop) {
        memset(out, 0, sizeof(*out)); /* of a product without elements */
        if (!is_sparse(name))
            estimate(s, out);
    }
    if (reason_out)
        *reason_out = reason;
}

bool ks_trace_has_formula(const char *name)
{
    static const struct ks_shape empty;
    struct ks_trace_conv conv;
    struct ks_trace_gemm gemm;

    return attention_of(name) || strcmp(name, "aten::einsum") == 0 ||
           ks_trace_conv_of(name, &empty, &conv, NULL) != 0 ||
           ks_trace_gemm_of(name, &empty, &gemm, NULL) != 0;
}
