/* SPDX-License-Identifier: MIT */
/* op_grouped_conv.c - the operator grouped_conv: dims, checks, output extents, FLOPs, shapes */
#include "op/conv.h"
#include "op/conv_reference.h"
#include "op/conv_work.h"
#include "op/dims.h"
#include "op/signs.h"

#include <inttypes.h>

#define N_AXES   3
#define REQUIRED KS_DIM_REQUIRED

/* One row per dim: its column, what it is when nothing is said, and its least value. */
#define DIM_LIST(X)                                                                                \
    X(KS_CONV_NDIM, "ndim", 2, 1)                                                                  \
    X(KS_CONV_N, "n", 1, 1)                                                                        \
    X(KS_CONV_G, "g", 1, 1)                                                                        \
    X(KS_CONV_C_TOTAL, "c_total", REQUIRED, 1)                                                     \
    X(KS_CONV_K_TOTAL, "k_total", REQUIRED, 1)                                                     \
    X(KS_CONV_DI, "di", REQUIRED, 1)                                                               \
    X(KS_CONV_HI, "hi", REQUIRED, 1)                                                               \
    X(KS_CONV_WI, "wi", REQUIRED, 1)                                                               \
    X(KS_CONV_Z, "z", REQUIRED, 1)                                                                 \
    X(KS_CONV_Y, "y", REQUIRED, 1)                                                                 \
    X(KS_CONV_X, "x", REQUIRED, 1)                                                                 \
    X(KS_CONV_STRIDE_D, "stride_d", 1, 1)                                                          \
    X(KS_CONV_STRIDE_H, "stride_h", 1, 1)                                                          \
    X(KS_CONV_STRIDE_W, "stride_w", 1, 1)                                                          \
    X(KS_CONV_DILATION_D, "dilation_d", 1, 1)                                                      \
    X(KS_CONV_DILATION_H, "dilation_h", 1, 1)                                                      \
    X(KS_CONV_DILATION_W, "dilation_w", 1, 1)                                                      \
    X(KS_CONV_PAD_D_LO, "pad_d_lo", 0, 0)                                                          \
    X(KS_CONV_PAD_H_LO, "pad_h_lo", 0, 0)                                                          \
    X(KS_CONV_PAD_W_LO, "pad_w_lo", 0, 0)                                                          \
    X(KS_CONV_PAD_D_HI, "pad_d_hi", 0, 0)                                                          \
    X(KS_CONV_PAD_H_HI, "pad_h_hi", 0, 0)                                                          \
    X(KS_CONV_PAD_W_HI, "pad_w_hi", 0, 0)

#define X(dim, name, otherwise, least) [dim] = name,
static const char *const dim_names[KS_CONV_N_DIMS + 1] = { DIM_LIST(X) };
#undef X
#define X(dim, name, otherwise, least) [dim] = otherwise,
static const int64_t dim_defaults[KS_CONV_N_DIMS] = { DIM_LIST(X) };
#undef X
#define X(dim, name, otherwise, least) [dim] = least,
static const int64_t dim_least[KS_CONV_N_DIMS] = { DIM_LIST(X) };
#undef X

/* The first dim of each triple (depth, height, width). */
static const int triples[] = { KS_CONV_DI,         KS_CONV_Z,        KS_CONV_STRIDE_D,
                               KS_CONV_DILATION_D, KS_CONV_PAD_D_LO, KS_CONV_PAD_D_HI };
#define N_TRIPLES ((int)(sizeof(triples) / sizeof(triples[0])))

int64_t ks_conv_out(const struct ks_problem *p, int axis)
{
    const int64_t *d = p->dim + axis;
    int64_t reach = d[KS_CONV_DILATION_D] * (d[KS_CONV_Z] - 1) + 1;
    int64_t room = d[KS_CONV_DI] + d[KS_CONV_PAD_D_LO] + d[KS_CONV_PAD_D_HI] - reach;

    return room < 0 ? 0 : room / d[KS_CONV_STRIDE_D] + 1;
}

/* An unused leading axis must be what abi.h says: extents and steps 1, padding 0. Zero and nothing
 * are read as that; lists of 2-D problems carry zeros there. */
static int settle_unused_axis(struct ks_problem *p, int axis, struct ks_err *err)
{
    for (int i = 0; i < N_TRIPLES; i++) {
        int dim = triples[i] + axis;
        int64_t neutral = dim_least[dim];

        if (p->dim[dim] != 0 && p->dim[dim] != REQUIRED && p->dim[dim] != neutral)
            return ks_fail(err, KS_EINVAL,
                           "%s = %" PRId64 ", but with ndim = %" PRId64
                           " this axis is unused: it must be %" PRId64,
                           dim_names[dim], p->dim[dim], p->dim[KS_CONV_NDIM], neutral);
        p->dim[dim] = neutral;
    }
    return 0;
}

static int check_groups(const struct ks_problem *p, struct ks_err *err)
{
    static const int totals[] = { KS_CONV_C_TOTAL, KS_CONV_K_TOTAL };

    for (int i = 0; i < 2; i++)
        if (p->dim[totals[i]] % p->dim[KS_CONV_G])
            return ks_fail(err, KS_EINVAL, "%s = %" PRId64 " is not divisible by g = %" PRId64,
                           dim_names[totals[i]], p->dim[totals[i]], p->dim[KS_CONV_G]);
    return 0;
}

static int check_output(const struct ks_problem *p, struct ks_err *err)
{
    for (int axis = 0; axis < N_AXES; axis++) {
        const int64_t *d = p->dim + axis;

        if (ks_conv_out(p, axis) < 1)
            return ks_fail(err, KS_EINVAL,
                           "no output: %s = %" PRId64 " with dilation %" PRId64
                           " is larger than %s = %" PRId64 " with padding %" PRId64 " + %" PRId64,
                           dim_names[KS_CONV_Z + axis], d[KS_CONV_Z], d[KS_CONV_DILATION_D],
                           dim_names[KS_CONV_DI + axis], d[KS_CONV_DI], d[KS_CONV_PAD_D_LO],
                           d[KS_CONV_PAD_D_HI]);
    }
    return 0;
}

static int64_t input_elements(const struct ks_problem *p)
{
    const int64_t *d = p->dim;
    int64_t factors[] = { d[KS_CONV_N], d[KS_CONV_C_TOTAL], d[KS_CONV_DI], d[KS_CONV_HI],
                          d[KS_CONV_WI] };

    return ks_dims_product(factors, 5);
}

static int64_t weight_elements(const struct ks_problem *p)
{
    const int64_t *d = p->dim;
    int64_t factors[] = { d[KS_CONV_K_TOTAL], d[KS_CONV_C_TOTAL] / d[KS_CONV_G], d[KS_CONV_Z],
                          d[KS_CONV_Y], d[KS_CONV_X] };

    return ks_dims_product(factors, 5);
}

static int64_t output_elements(const struct ks_problem *p)
{
    int64_t factors[] = { p->dim[KS_CONV_N], p->dim[KS_CONV_K_TOTAL], ks_conv_out(p, 0),
                          ks_conv_out(p, 1), ks_conv_out(p, 2) };

    return ks_dims_product(factors, 5);
}

static const char *const operand_names[KS_N_DIRECTIONS][3] = {
    [KS_FORWARD] = { "input", "weights", "output" },
    [KS_BACKWARD_DATA] = { "output", "weights", "input" },
    [KS_BACKWARD_WEIGHT] = { "input", "output", "weights" },
};

static int conv_check(struct ks_problem *p, struct ks_err *err)
{
    int64_t ndim = p->dim[KS_CONV_NDIM];
    int rc = 0;

    if (ndim < 1 || ndim > N_AXES)
        return ks_fail(err, KS_EINVAL, "ndim = %" PRId64 ", must be 1, 2 or 3", ndim);
    for (int axis = 0; rc == 0 && axis < N_AXES - (int)ndim; axis++)
        rc = settle_unused_axis(p, axis, err);
    if (rc == 0)
        rc = ks_dims_check(p, dim_least, NULL, err);
    if (rc == 0)
        rc = check_groups(p, err);
    if (rc == 0)
        rc = check_output(p, err);
    if (rc == 0)
        rc = ks_dims_check_elements(p, operand_names[p->direction], err);
    return rc;
}

static struct ks_extents conv_extents(const struct ks_problem *p)
{
    int64_t input = input_elements(p), weights = weight_elements(p), output = output_elements(p);
    const struct ks_extents by_direction[KS_N_DIRECTIONS] = {
        [KS_FORWARD] = { input, weights, output },
        [KS_BACKWARD_DATA] = { output, weights, input },
        [KS_BACKWARD_WEIGHT] = { input, output, weights },
    };

    return by_direction[p->direction];
}

/* How many filter taps of one axis can meet one input element: output o and tap t meet input
 * o stride + t dilation - pad, so taps that meet the same element lie stride / gcd(stride,
 * dilation) apart, and each needs an output of its own. */
static int64_t taps_per_input(const struct ks_problem *p, int axis)
{
    const int64_t *d = p->dim + axis;
    int64_t apart = d[KS_CONV_STRIDE_D] / ks_gcd64(d[KS_CONV_STRIDE_D], d[KS_CONV_DILATION_D]);
    int64_t taps = (d[KS_CONV_Z] + apart - 1) / apart;
    int64_t outputs = ks_conv_out(p, axis);

    return taps < outputs ? taps : outputs;
}

static int64_t conv_reduction(const struct ks_problem *p)
{
    const int64_t *d = p->dim;
    int64_t c = d[KS_CONV_C_TOTAL] / d[KS_CONV_G], k = d[KS_CONV_K_TOTAL] / d[KS_CONV_G];
    const int64_t by_direction[KS_N_DIRECTIONS] = {
        [KS_FORWARD] = c * d[KS_CONV_Z] * d[KS_CONV_Y] * d[KS_CONV_X],
        [KS_BACKWARD_DATA] = k * taps_per_input(p, 0) * taps_per_input(p, 1) * taps_per_input(p, 2),
        [KS_BACKWARD_WEIGHT] = output_elements(p) / d[KS_CONV_K_TOTAL],
    };

    return by_direction[p->direction];
}

/* The three directions do the same multiply-adds. */
static double conv_flops(const struct ks_problem *p)
{
    const int64_t *d = p->dim;
    double taps = (double)d[KS_CONV_Z] * (double)d[KS_CONV_Y] * (double)d[KS_CONV_X];
    double c = (double)(d[KS_CONV_C_TOTAL] / d[KS_CONV_G]);

    return 2.0 * (double)output_elements(p) * c * taps;
}

static void conv_to_abi(const struct ks_problem *p, struct ks_abi_problem *out)
{
    const int64_t *d = p->dim;

    *out = (struct ks_abi_problem){ .bytes = sizeof(*out),
                                    .op = KS_ABI_GROUPED_CONV,
                                    .direction = p->direction,
                                    .dtype = p->dtype,
                                    .layout = p->layout,
                                    .n = d[KS_CONV_N],
                                    .g = d[KS_CONV_G],
                                    .c = d[KS_CONV_C_TOTAL] / d[KS_CONV_G],
                                    .k = d[KS_CONV_K_TOTAL] / d[KS_CONV_G] };
    for (int axis = 0; axis < N_AXES; axis++) {
        out->in[axis] = d[KS_CONV_DI + axis];
        out->filter[axis] = d[KS_CONV_Z + axis];
        out->out[axis] = ks_conv_out(p, axis);
        out->stride[axis] = d[KS_CONV_STRIDE_D + axis];
        out->dilation[axis] = d[KS_CONV_DILATION_D + axis];
        out->pad_lo[axis] = d[KS_CONV_PAD_D_LO + axis];
        out->pad_hi[axis] = d[KS_CONV_PAD_D_HI + axis];
    }
}

/* Images are [n][d][h][w][g][channel] or [n][g][channel][d][h][w], weights [g][k][z][y][x][c] or
 * [g][k][c][z][y][x]. */
static void image_shape(uint32_t layout, const struct ks_abi_problem *q, int64_t channels,
                        const int64_t extent[3], int64_t shape_out[6])
{
    int at_channels = layout == KS_NHWGC ? 4 : 1;
    int at_extent = layout == KS_NHWGC ? 1 : 3;

    shape_out[0] = q->n;
    shape_out[at_channels] = q->g;
    shape_out[at_channels + 1] = channels;
    for (int axis = 0; axis < N_AXES; axis++)
        shape_out[at_extent + axis] = extent[axis];
}

static void weight_shape(uint32_t layout, const struct ks_abi_problem *q, int64_t shape_out[6])
{
    int at_filter = layout == KS_NHWGC ? 2 : 3;

    shape_out[0] = q->g;
    shape_out[1] = q->k;
    shape_out[layout == KS_NHWGC ? 5 : 2] = q->c;
    for (int axis = 0; axis < N_AXES; axis++)
        shape_out[at_filter + axis] = q->filter[axis];
}

static int conv_shape_c(const struct ks_problem *p, int64_t shape_out[6])
{
    struct ks_abi_problem q;

    conv_to_abi(p, &q);
    if (p->direction == KS_FORWARD)
        image_shape(p->layout, &q, q.k, q.out, shape_out);
    else if (p->direction == KS_BACKWARD_DATA)
        image_shape(p->layout, &q, q.c, q.in, shape_out);
    else
        weight_shape(p->layout, &q, shape_out);
    return 6;
}

const struct ks_operator ks_operator_grouped_conv = {
    .name = "grouped_conv",
    .abi = KS_ABI_GROUPED_CONV,
    .dim_names = dim_names,
    .dim_defaults = dim_defaults,
    .check = conv_check,
    .extents = conv_extents,
    .reduction = conv_reduction,
    .flops = conv_flops,
    .work = ks_conv_work,
    .to_abi = conv_to_abi,
    .shape_c = conv_shape_c,
    .signs = ks_conv_signs,
    .reference = ks_conv_reference,
    .prove_exact = ks_conv_prove_exact,
    .prove_real = ks_conv_prove_real,
};
