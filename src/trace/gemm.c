/* SPDX-License-Identifier: MIT */
/* gemm.c - matrix products. */
#include "trace/operators.h"

#include <string.h>

struct product {
    const char *name;
    int a, b, addend; /* arguments; addend -1: none */
    bool is_linear;   /* the weight is [n][k], the input has any dims before its last */
};
static const struct product products[] = {
    { "aten::mm", 0, 1, -1, false },          { "aten::addmm", 1, 2, 0, false },
    { "aten::addmm_", 1, 2, 0, false },       { "aten::_addmm_activation", 1, 2, 0, false },
    { "aten::bmm", 0, 1, -1, false },         { "aten::baddbmm", 1, 2, 0, false },
    { "aten::baddbmm_", 1, 2, 0, false },     { "aten::_scaled_mm", 0, 1, 4, false },
    { "aten::_int_mm", 0, 1, -1, false },     { "aten::mv", 0, 1, -1, false },
    { "aten::addmv", 1, 2, 0, false },        { "aten::addmv_", 1, 2, 0, false },
    { "aten::matmul", 0, 1, -1, false },      { "aten::linear", 0, 1, 2, true },
    { "aten::mkldnn_linear", 0, 1, 2, true },
};

static const struct product *product_of(const char *name)
{
    for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++)
        if (strcmp(products[i].name, name) == 0)
            return &products[i];
    return NULL;
}

static const struct ks_shape_input *tensor(const struct ks_shape *s, int i)
{
    return i >= 0 && (uint32_t)i < s->n && s->in[i].is_tensor && s->in[i].n_dims > 0 ? &s->in[i]
                                                                                     : NULL;
}

/* Extents of the dims before the last `n_last`, which must agree or be 1 (broadcast). -1: they do
 * not. */
static int64_t batch_of(const struct ks_shape_input *a, const struct ks_shape_input *b,
                        uint32_t n_last_a, uint32_t n_last_b)
{
    const uint32_t na = a->n_dims - n_last_a, nb = b->n_dims - n_last_b;
    const uint32_t n = na > nb ? na : nb;
    int64_t batch = 1;

    for (uint32_t i = 0; i < n; i++) {
        const int64_t x = i < na ? a->dim[na - 1 - i] : 1, y = i < nb ? b->dim[nb - 1 - i] : 1;

        if ((x != y && x != 1 && y != 1) || __builtin_mul_overflow(batch, x > y ? x : y, &batch))
            return -1;
    }
    return batch;
}

/* Vectors are rows on the left and columns on the right, as in numpy. */
static const char *multiply(const struct ks_shape_input *a, const struct ks_shape_input *b,
                            struct ks_trace_gemm *out)
{
    const bool is_row = a->n_dims == 1, is_column = b->n_dims == 1;
    const int64_t depth = b->dim[is_column ? 0 : b->n_dims - 2];

    out->m = is_row ? 1 : a->dim[a->n_dims - 2];
    out->k = a->dim[a->n_dims - 1];
    out->n = is_column ? 1 : b->dim[b->n_dims - 1];
    out->batch = batch_of(a, b, is_row ? 1 : 2, is_column ? 1 : 2);
    if (out->batch < 0)
        return "the batches differ";
    return depth == out->k ? NULL : "the inner dimensions differ";
}

static const char *apply_linear(const struct ks_shape_input *x, const struct ks_shape_input *w,
                                struct ks_trace_gemm *out)
{
    if (w->n_dims > 2)
        return "the weight is not a matrix";
    out->is_b_transposed = true;
    out->batch = 1;
    out->k = x->dim[x->n_dims - 1];
    out->n = w->n_dims == 2 ? w->dim[0] : 1;
    out->m = 1;
    for (uint32_t i = 0; i + 1 < x->n_dims; i++)
        if (__builtin_mul_overflow(out->m, x->dim[i], &out->m))
            return "sizes out of range";
    return w->dim[w->n_dims - 1] == out->k ? NULL : "the inner dimensions differ";
}

int ks_trace_gemm_of(const char *name, const struct ks_shape *s, struct ks_trace_gemm *out,
                     const char **reason_out)
{
    const struct product *p = product_of(name);
    const struct ks_shape_input *a, *b, *addend;
    const char *reason = "no shapes of the factors";

    if (!p)
        return 0;
    memset(out, 0, sizeof(*out));
    a = tensor(s, p->a);
    b = tensor(s, p->b);
    addend = tensor(s, p->addend);
    if (a && b) {
        out->dtype = a->dtype;
        out->i_a = p->a;
        out->i_b = p->b;
        out->i_addend = addend ? p->addend : -1;
        out->is_scaled = strcmp(name, "aten::_scaled_mm") == 0;
        out->has_addend = addend != NULL;
        out->addend = addend ? addend->n_elements : 0;
        reason = p->is_linear ? apply_linear(a, b, out) : multiply(a, b, out);
        out->n_c = (double)out->batch * (double)out->m * (double)out->n;
    }
    if (reason && reason_out)
        *reason_out = reason;
    return reason ? -1 : 1;
}
