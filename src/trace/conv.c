/* SPDX-License-Identifier: MIT */
/* conv.c - convolutions: where each operator keeps its arguments, and what follows from them.
 * Source: aten/src/ATen/native/native_functions.yaml. */
#include "trace/operators.h"
#include "trace/text.h"

#include <string.h>

enum { NONE = -1 };

struct signature {
    const char *name;
    bool is_backward, is_transposed, is_depthwise;
    int8_t grad, input, weight, bias, stride, pad, dilation, transposed, out_pad, groups, mask;
};
static const struct signature signatures[] = {
    { "aten::convolution", false, false, false, NONE, 0, 1, 2, 3, 4, 5, 6, 7, 8, NONE },
    { "aten::_convolution", false, false, false, NONE, 0, 1, 2, 3, 4, 5, 6, 7, 8, NONE },
    { "aten::convolution_overrideable", false, false, false, NONE, 0, 1, 2, 3, 4, 5, 6, 7, 8,
      NONE },
    { "aten::cudnn_convolution", false, false, false, NONE, 0, 1, NONE, 3, 2, 4, NONE, NONE, 5,
      NONE },
    { "aten::cudnn_convolution_transpose", false, true, false, NONE, 0, 1, NONE, 4, 2, 5, NONE, 3,
      6, NONE },
    { "aten::miopen_convolution", false, false, false, NONE, 0, 1, 2, 4, 3, 5, NONE, NONE, 6,
      NONE },
    { "aten::miopen_depthwise_convolution", false, false, false, NONE, 0, 1, 2, 4, 3, 5, NONE, NONE,
      6, NONE },
    { "aten::miopen_convolution_transpose", false, true, false, NONE, 0, 1, 2, 5, 3, 6, NONE, 4, 7,
      NONE },
    { "aten::mkldnn_convolution", false, false, false, NONE, 0, 1, 2, 4, 3, 5, NONE, NONE, 6,
      NONE },
    { "aten::_slow_conv2d_forward", false, false, false, NONE, 0, 1, 3, 4, 5, NONE, NONE, NONE,
      NONE, NONE },
    { "aten::_conv_depthwise2d", false, false, true, NONE, 0, 1, 3, 4, 5, 6, NONE, NONE, NONE,
      NONE },
    { "aten::conv_depthwise3d", false, false, true, NONE, 0, 1, 3, 4, 5, 6, NONE, NONE, NONE,
      NONE },
    { "aten::cudnn_convolution_relu", false, false, false, NONE, 0, 1, 2, 3, 4, 5, NONE, NONE, 6,
      NONE },
    { "aten::miopen_convolution_relu", false, false, false, NONE, 0, 1, 2, 3, 4, 5, NONE, NONE, 6,
      NONE },
    { "aten::cudnn_convolution_add_relu", false, false, false, NONE, 0, 1, 4, 5, 6, 7, NONE, NONE,
      8, NONE },
    { "aten::miopen_convolution_add_relu", false, false, false, NONE, 0, 1, 4, 5, 6, 7, NONE, NONE,
      8, NONE },
    { "mkldnn::_convolution_pointwise", false, false, false, NONE, 0, 1, 2, 4, 3, 5, NONE, NONE, 6,
      NONE },
    { "aten::slow_conv3d_forward", false, false, false, NONE, 0, 1, 3, 4, 5, NONE, NONE, NONE, NONE,
      NONE },
    { "aten::slow_conv_dilated2d", false, false, false, NONE, 0, 1, 3, 4, 5, 6, NONE, NONE, NONE,
      NONE },
    { "aten::slow_conv_dilated3d", false, false, false, NONE, 0, 1, 3, 4, 5, 6, NONE, NONE, NONE,
      NONE },
    { "aten::slow_conv_transpose2d", false, true, false, NONE, 0, 1, 3, 4, 5, 7, NONE, 6, NONE,
      NONE },
    { "aten::slow_conv_transpose3d", false, true, false, NONE, 0, 1, 3, 4, 5, 7, NONE, 6, NONE,
      NONE },
    { "aten::convolution_backward", true, false, false, 0, 1, 2, NONE, 4, 5, 6, 7, 8, 9, 10 },
    { "aten::convolution_backward_overrideable", true, false, false, 0, 1, 2, NONE, 3, 4, 5, 6, 7,
      8, 9 },
};

static const struct signature *signature_of(const char *name)
{
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
        if (strcmp(signatures[i].name, name) == 0)
            return &signatures[i];
    return NULL;
}

/* ---- scalars, which are texts such as "[2, 2]", "False" and "1" ---- */

static struct ks_span concrete(const struct ks_shape *s, int i)
{
    return i >= 0 && (uint32_t)i < s->n ? s->in[i].concrete : (struct ks_span){ NULL, 0 };
}

/* One number for all dims, or one per dim; `otherwise` where the operator has no such argument. */
static bool read_dims(const struct ks_shape *s, int i, uint32_t n, int64_t otherwise,
                      int64_t out[3])
{
    struct ks_trace_walk w;
    struct ks_trace_member m;
    uint32_t k = 0;

    for (uint32_t d = 0; d < 3; d++)
        out[d] = otherwise;
    if (i == NONE)
        return true;
    w = ks_trace_walk(concrete(s, i));
    for (; ks_trace_walk_next(&w, &m); k++)
        if (k == 3 || !ks_trace_int(m.value, &out[k]))
            return false;
    for (uint32_t d = 1; k == 1 && d < n; d++)
        out[d] = out[0];
    return !w.is_bad && (k == n || k == 1);
}

static bool read_bool(struct ks_span text, bool *out)
{
    *out = ks_span_is(text, "True") || ks_span_is(text, "true");
    return *out || ks_span_is(text, "False") || ks_span_is(text, "false");
}

static bool read_mask(const struct ks_shape *s, int i, bool mask[3])
{
    struct ks_trace_walk w = ks_trace_walk(concrete(s, i));
    struct ks_trace_member m;
    int k = 0;

    for (; ks_trace_walk_next(&w, &m); k++)
        if (k == 3 || !read_bool(m.value, &mask[k]))
            return false;
    return !w.is_bad && k == 3;
}

/* ---- geometry ---- */

static bool is_tensor(const struct ks_shape *s, int i)
{
    return i >= 0 && (uint32_t)i < s->n && s->in[i].is_tensor && s->in[i].n_dims > 0;
}

static const char *read_scalars(const struct signature *g, const struct ks_shape *s,
                                struct ks_trace_conv *c)
{
    bool mask[3] = { true, true, true };
    int64_t groups = 1;

    c->is_transposed = g->is_transposed;
    if (g->transposed != NONE && !read_bool(concrete(s, g->transposed), &c->is_transposed))
        return "no Concrete Inputs";
    if (g->groups != NONE && !ks_trace_int(concrete(s, g->groups), &groups))
        return "no Concrete Inputs";
    if (!read_dims(s, g->stride, c->n_spatial, 1, c->stride) ||
        !read_dims(s, g->pad, c->n_spatial, 0, c->pad) ||
        !read_dims(s, g->dilation, c->n_spatial, 1, c->dilation) ||
        !read_dims(s, g->out_pad, c->n_spatial, 0, c->out_pad))
        return "no Concrete Inputs";
    if (g->mask != NONE && !read_mask(s, g->mask, mask))
        return "no output mask";
    c->groups = groups;
    c->wants_input = g->is_backward && mask[0];
    c->wants_weight = g->is_backward && mask[1];
    c->wants_bias = g->is_backward && mask[2];
    return NULL;
}

static int64_t forward_extent(const struct ks_trace_conv *c, uint32_t d)
{
    const int64_t reach = c->dilation[d] * (c->filter[d] - 1) + 1;

    if (c->is_transposed)
        return (c->in[d] - 1) * c->stride[d] - 2 * c->pad[d] + reach + c->out_pad[d];
    return c->in[d] + 2 * c->pad[d] < reach ? 0
                                            : (c->in[d] + 2 * c->pad[d] - reach) / c->stride[d] + 1;
}

static bool are_small(const int64_t *v, uint32_t n, int64_t least)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i] < least || v[i] > (int64_t)1 << 31)
            return false;
    return true;
}

static const char *check(const struct ks_trace_conv *c)
{
    const int64_t counts[] = { c->n, c->c, c->k, c->groups };

    if (!are_small(counts, 4, 1) || !are_small(c->in, c->n_spatial, 1) ||
        !are_small(c->filter, c->n_spatial, 1) || !are_small(c->stride, c->n_spatial, 1) ||
        !are_small(c->dilation, c->n_spatial, 1) || !are_small(c->pad, c->n_spatial, 0) ||
        !are_small(c->out_pad, c->n_spatial, 0))
        return "sizes out of range";
    return c->c % c->groups || c->k % c->groups ? "channels not divisible by the groups" : NULL;
}

static const char *read_tensors(const struct signature *g, const struct ks_shape *s,
                                struct ks_trace_conv *c)
{
    const struct ks_shape_input *x = &s->in[g->input], *w = &s->in[g->weight];
    const uint32_t at = x->n_dims == w->n_dims ? 2 : 1; /* unbatched: one dim less */

    if (!are_small(x->dim, x->n_dims, 0) || !are_small(w->dim, w->n_dims, 0) ||
        !are_small(&c->groups, 1, 1))
        return "sizes out of range";
    c->i_input = g->input;
    c->i_weight = g->weight;
    c->i_grad = g->grad;
    c->dtype = x->dtype;
    c->has_bias = is_tensor(s, g->bias);
    c->has_addend = strstr(g->name, "_add_relu") != NULL;
    c->n = at == 2 ? x->dim[0] : 1;
    c->c = x->dim[at - 1];
    for (uint32_t d = 0; d < c->n_spatial; d++) {
        c->in[d] = x->dim[at + d];
        c->filter[d] = w->dim[2 + d];
    }
    if (g->is_depthwise)
        c->groups = c->c;
    c->k = c->is_transposed ? w->dim[1] * c->groups : w->dim[0];
    if ((c->is_transposed ? w->dim[0] : w->dim[1] * c->groups) != c->c)
        return "the channels of input and weight differ";
    return NULL;
}

static const char *read_output(const struct signature *g, const struct ks_shape *s,
                               struct ks_trace_conv *c)
{
    const struct ks_shape_input *go = g->grad == NONE ? NULL : &s->in[g->grad];
    const uint32_t skip = go && go->n_dims == c->n_spatial + 2 ? 2 : 1;

    for (uint32_t d = 0; d < c->n_spatial; d++) {
        c->out[d] = forward_extent(c, d);
        if (c->out[d] < 1)
            return "the output would be empty";
        if (go && go->dim[skip + d] != c->out[d])
            return "the gradient does not match the input";
    }
    return NULL;
}

static const char *describe(const struct signature *g, const struct ks_shape *s,
                            struct ks_trace_conv *c)
{
    const char *reason = NULL;

    if (!is_tensor(s, g->input) || !is_tensor(s, g->weight) ||
        (g->is_backward && !is_tensor(s, g->grad)))
        return "no shapes of input and weight";
    c->n_spatial = s->in[g->weight].n_dims - 2;
    if (s->in[g->weight].n_dims < 3 || c->n_spatial > 3)
        return "not 1, 2 or 3 spatial dimensions";
    if (s->in[g->input].n_dims + 1 < s->in[g->weight].n_dims ||
        s->in[g->input].n_dims > s->in[g->weight].n_dims ||
        (g->is_backward && s->in[g->grad].n_dims != s->in[g->input].n_dims))
        return "input and weight differ in their number of dimensions";
    c->direction = g->is_backward ? KS_TRACE_BACKWARD : KS_TRACE_FORWARD;
    reason = read_scalars(g, s, c);
    if (!reason)
        reason = read_tensors(g, s, c);
    if (!reason)
        reason = check(c);
    return reason ? reason : read_output(g, s, c);
}

int ks_trace_conv_of(const char *name, const struct ks_shape *s, struct ks_trace_conv *out,
                     const char **reason_out)
{
    const struct signature *g = signature_of(name);
    const char *reason;

    if (!g)
        return 0;
    memset(out, 0, sizeof(*out));
    reason = describe(g, s, out);
    if (reason && reason_out)
        *reason_out = reason;
    return reason ? -1 : 1;
}
