/* SPDX-License-Identifier: MIT */
/* conv_view.h - where the elements of a convolution's operands lie, for the references. */
#ifndef KS_OP_CONV_VIEW_H
#define KS_OP_CONV_VIEW_H

#include "op/op.h"

/* Elements from one to the next; `outer` is n of an image and k of the weights. */
struct ks_conv_strides {
    int64_t outer, axis[3], g, c;
};

/* An image that is read: the input, or the output in the backward directions. */
struct ks_conv_image {
    const float *at;
    int64_t extent[3];
    struct ks_conv_strides stride;
};

void ks_conv_image_strides(const struct ks_abi_problem *q, int64_t channels,
                           const int64_t extent[3], struct ks_conv_strides *out);
void ks_conv_weight_strides(const struct ks_abi_problem *q, struct ks_conv_strides *out);

/* Axes that a 1x1 filter just walks along become one long width. The same elements lie in the same
 * places, and lines are longer. */
void ks_conv_flatten(struct ks_abi_problem *q);

/* A stretch of one line of an image, as doubles [n_columns][pitch]; zero outside the image. */
struct ks_conv_stretch {
    int64_t n, d, h;           /* the line; inside the image */
    int64_t column, n_columns; /* may reach beyond both ends */
    int64_t g, channel, n_channels;
};
void ks_conv_load(const struct ks_conv_image *image, const struct ks_conv_stretch *s, double *to,
                  int64_t pitch);

/* calloc of n elements; NULL is no memory also for none. */
void *ks_conv_array(int64_t n, size_t size);

#endif
