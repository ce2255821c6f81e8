/* SPDX-License-Identifier: MIT */
/* conv_work.c - FLOPs of a convolution without padding, and the elements that take part */
#include "op/conv_work.h"

#include "op/conv.h"
#include "op/dims.h"

/* One axis: output o and tap t meet at input o stride + t dilation - pad, where that is inside. */
struct axis {
    int64_t in, outputs, taps, stride, dilation, pad;
};

/* How often that happens, and how many of each take part. */
struct met {
    double pairs, inputs, outputs, taps;
};

static struct axis axis_of(const struct ks_problem *p, int i)
{
    const int64_t *d = p->dim + i;

    return (struct axis){ .in = d[KS_CONV_DI],
                          .outputs = ks_conv_out(p, i),
                          .taps = d[KS_CONV_Z],
                          .stride = d[KS_CONV_STRIDE_D],
                          .dilation = d[KS_CONV_DILATION_D],
                          .pad = d[KS_CONV_PAD_D_LO] };
}

/* Whole numbers x with 0 <= x < n and 0 <= x step + offset < room: from *first to before *end. */
static void inside(int64_t n, int64_t step, int64_t offset, int64_t room, int64_t *first,
                   int64_t *end)
{
    *first = offset < 0 ? (-offset + step - 1) / step : 0;
    *end = room > offset ? (room - offset + step - 1) / step : 0;
    *end = ks_min64(*end, n);
    *end = ks_max64(*end, *first);
}

/* The pairs that meet at one input lie (dilation / g) outputs and (stride / g) taps apart, g their
 * greatest common divisor; of those the one with the lowest tap counts. It has no other below it:
 * its tap is among the first stride / g, or the output there is too far. */
static struct met meet(const struct axis *x)
{
    int64_t g = ks_gcd64(x->stride, x->dilation);
    int64_t apart_t = x->stride / g, apart_o = x->dilation / g;
    struct met m = { 0 };
    int64_t first, end;

    for (int64_t t = 0; t < x->taps; t++) {
        inside(x->outputs, x->stride, t * x->dilation - x->pad, x->in, &first, &end);
        m.pairs += (double)(end - first);
        m.taps += end > first ? 1.0 : 0.0;
        if (t >= apart_t)
            first = ks_min64(ks_max64(first, x->outputs - apart_o), end);
        m.inputs += (double)(end - first);
    }
    for (int64_t o = 0; o < x->outputs; o++) {
        inside(x->taps, x->dilation, o * x->stride - x->pad, x->in, &first, &end);
        m.outputs += end > first ? 1.0 : 0.0;
    }
    return m;
}

/* Axes are independent: what is met is met on each of them. */
struct ks_work ks_conv_work(const struct ks_problem *p)
{
    const int64_t *d = p->dim;
    double images = (double)d[KS_CONV_N], c = (double)(d[KS_CONV_C_TOTAL] / d[KS_CONV_G]);
    double k_total = (double)d[KS_CONV_K_TOTAL], c_total = (double)d[KS_CONV_C_TOTAL];
    double input = images * c_total, output = images * k_total, weights = k_total * c;
    double flops = 2.0 * images * k_total * c;
    struct ks_extents e = ks_operator_grouped_conv.extents(p);

    for (int i = 0; i < 3; i++) {
        struct axis x = axis_of(p, i);
        struct met m = meet(&x);

        flops *= m.pairs;
        input *= m.inputs;
        output *= m.outputs;
        weights *= m.taps;
    }
    if (p->direction == KS_FORWARD)
        return (struct ks_work){ flops, input, weights, (double)e.c };
    if (p->direction == KS_BACKWARD_DATA)
        return (struct ks_work){ flops, output, weights, (double)e.c };
    return (struct ks_work){ flops, input, output, (double)e.c };
}
