/* SPDX-License-Identifier: MIT */
/* trace_problems.c - makes problems of a trace's operators, and shares kernel times among them */
#include "grid/trace_problems.h"
#include "op/conv.h"
#include "op/gemm.h"

#include <inttypes.h>
#include <string.h>

/* ---- dtype and layout ---- */

static bool find_dtype(enum ks_trace_dtype t, uint32_t *out)
{
    switch (t) {
    case KS_TD_FP32:
        *out = KS_FP32;
        return true;
    case KS_TD_FP16:
        *out = KS_FP16;
        return true;
    case KS_TD_BF16:
        *out = KS_BF16;
        return true;
    default:
        return false;
    }
}

/* -1: the strides fit both layouts (extents of 1), or none, or are not recorded. */
static int layout_of(const struct ks_shape_input *in)
{
    const uint32_t last = in->n_dims ? in->n_dims - 1 : 0;
    int64_t n_spatial = 1;

    if (!in->has_strides || in->n_dims < 3)
        return -1;
    for (uint32_t i = 2; i <= last; i++)
        n_spatial *= in->dim[i] == 1 ? 1 : 2;
    if (in->dim[1] == 1 || n_spatial == 1)
        return -1;
    if (in->stride[1] == 1)
        return KS_NHWGC;
    return in->stride[last] == 1 || in->dim[last] == 1 ? KS_NGCHW : -1;
}

static void find_layout(const struct ks_shape *s, struct ks_trace_problem *out)
{
    const struct ks_trace_conv *c = &out->as.conv;
    const int inputs[] = { c->i_input, c->i_weight, c->i_grad };

    out->layout = KS_NGCHW;
    out->is_ambiguous = true;
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]) && out->is_ambiguous; i++) {
        const int layout = inputs[i] < 0 ? -1 : layout_of(&s->in[inputs[i]]);

        if (layout < 0)
            continue;
        out->layout = (uint32_t)layout;
        out->is_ambiguous = false;
    }
}

/* How a matrix, the last two dims of an argument, lies: 0 rows, 1 columns, -1 neither. */
static int order_of(const struct ks_shape_input *in, bool *is_ambiguous)
{
    const uint32_t n = in->n_dims;

    if (n < 2 || !in->has_strides) {
        *is_ambiguous |= n >= 2;
        return 0;
    }
    if (in->dim[n - 1] == 1 || in->dim[n - 2] == 1) {
        *is_ambiguous = true;
        return 0;
    }
    if (in->stride[n - 1] == 1)
        return 0;
    return in->stride[n - 2] == 1 ? 1 : -1;
}

static void find_order(const struct ks_shape *s, struct ks_trace_problem *out)
{
    const struct ks_trace_gemm *g = &out->as.gemm;
    const int a = order_of(&s->in[g->i_a], &out->is_ambiguous);
    const int b = order_of(&s->in[g->i_b], &out->is_ambiguous);

    if (a < 0 || b < 0) {
        out->kind = KS_TRACE_PROBLEM_REFUSED;
        out->why = "neither rows nor columns of a matrix are contiguous";
        return;
    }
    out->trans_a = a;
    out->trans_b = g->is_b_transposed ? !b : b;
}

/* ---- which operator it is ---- */

static void refuse(struct ks_trace_problem *out, const char *why)
{
    out->kind = KS_TRACE_PROBLEM_REFUSED;
    out->why = why ? why : "its arguments cannot be read";
}

void ks_trace_problem_of(const char *name, const char *shapes, struct ks_trace_problem *out)
{
    struct ks_trace_problem p = { .kind = KS_TRACE_PROBLEM_NONE };
    struct ks_shape s = { 0 };
    const char *why = NULL;
    const bool has_shapes = ks_shape_read(shapes, &s);
    int is_conv, is_gemm = 0;

    is_conv = ks_trace_conv_of(name, &s, &p.as.conv, &why);
    if (is_conv == 0)
        is_gemm = ks_trace_gemm_of(name, &s, &p.as.gemm, &why);
    if (is_conv < 0 || is_gemm < 0) {
        refuse(&p, has_shapes ? why : "no shapes were recorded (record_shapes=True)");
    } else if (is_conv || is_gemm) {
        p.kind = is_conv ? KS_TRACE_PROBLEM_CONV : KS_TRACE_PROBLEM_GEMM;
        if (!find_dtype(is_conv ? p.as.conv.dtype : p.as.gemm.dtype, &p.dtype))
            refuse(&p, "only fp32, fp16 and bf16 are supported");
        else if (is_conv)
            find_layout(&s, &p);
        else
            find_order(&s, &p);
    }
    *out = p;
}

/* ---- problems ---- */

static void set_axis(struct ks_problem *p, int first, int axis, int64_t value)
{
    p->dim[first + axis] = value;
}

/* The convolution whose gradient a transposed one computes has its input and output exchanged. */
static struct ks_problem conv_problem(const struct ks_trace_problem *t, uint32_t op,
                                      uint32_t direction)
{
    const struct ks_trace_conv *c = &t->as.conv;
    struct ks_problem p = ks_problem_blank(op);

    p.direction = direction;
    p.dtype = t->dtype;
    p.layout = t->layout;
    p.dim[KS_CONV_NDIM] = c->n_spatial;
    p.dim[KS_CONV_N] = c->n;
    p.dim[KS_CONV_G] = c->groups;
    p.dim[KS_CONV_C_TOTAL] = c->is_transposed ? c->k : c->c;
    p.dim[KS_CONV_K_TOTAL] = c->is_transposed ? c->c : c->k;
    for (int axis = 0; axis < 3; axis++) {
        const int i = axis - (3 - (int)c->n_spatial);

        set_axis(&p, KS_CONV_DI, axis, i < 0 ? 1 : c->is_transposed ? c->out[i] : c->in[i]);
        set_axis(&p, KS_CONV_Z, axis, i < 0 ? 1 : c->filter[i]);
        set_axis(&p, KS_CONV_STRIDE_D, axis, i < 0 ? 1 : c->stride[i]);
        set_axis(&p, KS_CONV_DILATION_D, axis, i < 0 ? 1 : c->dilation[i]);
        set_axis(&p, KS_CONV_PAD_D_LO, axis, i < 0 ? 0 : c->pad[i]);
        set_axis(&p, KS_CONV_PAD_D_HI, axis, i < 0 ? 0 : c->pad[i]);
    }
    return p;
}

static int check_extents(const struct ks_trace_conv *c, const struct ks_problem *p,
                         struct ks_err *err)
{
    const int64_t *out = c->is_transposed ? c->in : c->out;

    for (int i = 0; i < (int)c->n_spatial; i++) {
        const int64_t own = ks_conv_out(p, i + 3 - (int)c->n_spatial);

        if (own != out[i])
            return ks_fail(err, KS_EINVAL, "output extent %" PRId64 " is recorded as %" PRId64, own,
                           out[i]);
    }
    return 0;
}

static int make_conv(const struct ks_trace_problem *t, struct ks_problem *out, struct ks_err *err)
{
    const struct ks_trace_conv *c = &t->as.conv;
    const uint32_t data = c->is_transposed ? KS_FORWARD : KS_BACKWARD_DATA;
    const uint32_t forward = c->is_transposed ? KS_BACKWARD_DATA : KS_FORWARD;
    const bool is_forward = c->direction == KS_TRACE_FORWARD;
    uint32_t op;
    int n = 0, rc = ks_operator_find("grouped_conv", &op, err);

    if (rc == 0 && is_forward)
        out[n++] = conv_problem(t, op, forward);
    if (rc == 0 && !is_forward && c->wants_input)
        out[n++] = conv_problem(t, op, data);
    if (rc == 0 && !is_forward && c->wants_weight)
        out[n++] = conv_problem(t, op, KS_BACKWARD_WEIGHT);
    for (int i = 0; rc == 0 && i < n; i++) {
        struct ks_problem checked = out[i];

        rc = ks_problem_finish(&checked, err);
        if (rc == 0)
            rc = check_extents(c, &checked, err);
    }
    return rc < 0 ? rc : n;
}

static int make_gemm(const struct ks_trace_problem *t, struct ks_problem *out, struct ks_err *err)
{
    const struct ks_trace_gemm *g = &t->as.gemm;
    uint32_t op;
    int rc = ks_operator_find("gemm", &op, err);

    if (rc < 0)
        return rc;
    *out = ks_problem_blank(op);
    out->dtype = t->dtype;
    out->dim[KS_GEMM_BATCH] = g->batch;
    out->dim[KS_GEMM_M] = g->m;
    out->dim[KS_GEMM_N] = g->n;
    out->dim[KS_GEMM_K] = g->k;
    out->dim[KS_GEMM_TRANS_A] = t->trans_a;
    out->dim[KS_GEMM_TRANS_B] = t->trans_b;
    return 1;
}

int ks_trace_problem_make(const struct ks_trace_problem *t,
                          struct ks_problem problems_out[KS_TRACE_PROBLEMS_MAX], struct ks_err *err)
{
    return t->kind == KS_TRACE_PROBLEM_CONV ? make_conv(t, problems_out, err)
                                            : make_gemm(t, problems_out, err);
}

/* ---- time ---- */

/* Words of cuDNN, MIOpen, CUTLASS and Composable Kernel. */
static const char *const weight_words[] = { "wgrad",      "wrw",       "WrW",
                                            "bwd_weight", "BwdWeight", "backward_weight" };
static const char *const data_words[] = { "dgrad", "bwd_data", "BwdData", "backward_data",
                                          "igemm_bwd" };

static bool has_word(const char *kernel, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(kernel, words[i]))
            return true;
    return false;
}

void ks_trace_times_add(struct ks_trace_times *t, const char *kernel, int64_t ns)
{
    int64_t *to = &t->either_ns;

    if (has_word(kernel, weight_words, sizeof(weight_words) / sizeof(weight_words[0])))
        to = &t->weight_ns;
    else if (has_word(kernel, data_words, sizeof(data_words) / sizeof(data_words[0])))
        to = &t->data_ns;
    if (__builtin_add_overflow(*to, ns, to))
        *to = INT64_MAX;
}

void ks_trace_times_share(const struct ks_trace_times *t, const struct ks_problem *p, int n,
                          int64_t *ns_out)
{
    const double all = (double)t->data_ns + (double)t->weight_ns + (double)t->either_ns;

    for (int i = 0; i < n; i++) {
        const bool is_weight = p[i].direction == KS_BACKWARD_WEIGHT;
        const double own =
            n == 1 ? all
                   : (double)(is_weight ? t->weight_ns : t->data_ns) + (double)t->either_ns / n;

        ns_out[i] = own < 9e18 ? (int64_t)own : INT64_MAX;
    }
}
