/* SPDX-License-Identifier: MIT */
/* conv_view.c - strides and stretches of images and weights in both layouts */
#include "op/conv_view.h"
#include "op/dims.h"
#include "op/sums.h"

#include <stdlib.h>
#include <string.h>

void ks_conv_image_strides(const struct ks_abi_problem *q, int64_t channels,
                           const int64_t extent[3], struct ks_conv_strides *out)
{
    int64_t pixels = extent[0] * extent[1] * extent[2];
    bool is_last = q->layout == KS_ABI_NHWGC;

    out->c = is_last ? 1 : pixels;
    out->g = out->c * channels;
    out->axis[2] = is_last ? q->g * channels : 1;
    out->axis[1] = out->axis[2] * extent[2];
    out->axis[0] = out->axis[1] * extent[1];
    out->outer = q->g * channels * pixels;
}

void ks_conv_weight_strides(const struct ks_abi_problem *q, struct ks_conv_strides *out)
{
    int64_t taps = q->filter[0] * q->filter[1] * q->filter[2];
    bool is_last = q->layout == KS_ABI_NHWGC;

    out->c = is_last ? 1 : taps;
    out->axis[2] = is_last ? q->c : 1;
    out->axis[1] = out->axis[2] * q->filter[2];
    out->axis[0] = out->axis[1] * q->filter[1];
    out->outer = q->c * taps;
    out->g = out->outer * q->k;
}

/* Then there is no padding either. */
static bool is_plain(const struct ks_abi_problem *q, int axis)
{
    return q->filter[axis] == 1 && q->stride[axis] == 1 && q->in[axis] == q->out[axis];
}

void ks_conv_flatten(struct ks_abi_problem *q)
{
    for (int axis = 1; axis >= 0; axis--) {
        if (!is_plain(q, 2) || !is_plain(q, axis))
            return;
        q->in[2] *= q->in[axis];
        q->out[2] *= q->out[axis];
        q->in[axis] = q->out[axis] = 1;
    }
}

static void clear_columns(double *to, int64_t pitch, int64_t n)
{
    memset(to, 0, (size_t)(n * pitch) * sizeof(double));
}

void ks_conv_load(const struct ks_conv_image *image, const struct ks_conv_stretch *s, double *to,
                  int64_t pitch)
{
    const struct ks_conv_strides *stride = &image->stride;
    int64_t before = s->column < 0 ? ks_min64(-s->column, s->n_columns) : 0;
    int64_t first = s->column + before;
    int64_t room = image->extent[2] > first ? image->extent[2] - first : 0;
    int64_t inside = ks_min64(room, s->n_columns - before);
    const struct ks_widen m = { .to = to + before * pitch,
                                .pitch = pitch,
                                .from = image->at + s->n * stride->outer + s->d * stride->axis[0] +
                                        s->h * stride->axis[1] + first * stride->axis[2] +
                                        s->g * stride->g + s->channel * stride->c,
                                .from_row = stride->axis[2],
                                .from_column = stride->c,
                                .n_rows = inside,
                                .n_columns = s->n_channels };

    clear_columns(to, pitch, before);
    if (inside > 0)
        ks_widen(&m);
    clear_columns(to + (before + inside) * pitch, pitch, s->n_columns - before - inside);
}

void *ks_conv_array(int64_t n, size_t size)
{
    return calloc(n ? (size_t)n : 1, size);
}
