/* SPDX-License-Identifier: MIT */
/* conv.h - the grouped convolution: names of its dims, for importers and reports. */
#ifndef KS_OP_CONV_H
#define KS_OP_CONV_H

#include "op/op.h"

/* Indices into ks_problem.dim, in the order of the CSV columns. c_total and k_total count the
 * channels of all groups; z, y, x are the extents of the filter (depth, height, width). */
enum ks_conv_dim {
    KS_CONV_NDIM, /* 1, 2 or 3: how many spatial dims the source spoke of */
    KS_CONV_N,
    KS_CONV_G,
    KS_CONV_C_TOTAL,
    KS_CONV_K_TOTAL,
    KS_CONV_DI,
    KS_CONV_HI,
    KS_CONV_WI,
    KS_CONV_Z,
    KS_CONV_Y,
    KS_CONV_X,
    KS_CONV_STRIDE_D,
    KS_CONV_STRIDE_H,
    KS_CONV_STRIDE_W,
    KS_CONV_DILATION_D,
    KS_CONV_DILATION_H,
    KS_CONV_DILATION_W,
    KS_CONV_PAD_D_LO,
    KS_CONV_PAD_H_LO,
    KS_CONV_PAD_W_LO,
    KS_CONV_PAD_D_HI,
    KS_CONV_PAD_H_HI,
    KS_CONV_PAD_W_HI,
    KS_CONV_N_DIMS
};

extern const struct ks_operator ks_operator_grouped_conv;

/* Extent of the convolution's output (d_output in the backward directions) along axis 0 depth,
 * 1 height, 2 width: (in + pad_lo + pad_hi - dilation (filter - 1) - 1) / stride + 1, rounded down;
 * 0 where the dilated filter is larger than the padded input. */
int64_t ks_conv_out(const struct ks_problem *p, int axis);

#endif
