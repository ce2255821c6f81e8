/* SPDX-License-Identifier: MIT */
/* conv_weights.c - backward-weight reference of convolutions: R, A = sum |x||w| in double */
/* Lanes are output channels, rows of sums are input channels, steps are the pixels of a stretch of
 * one output line. Blocks of channels are small so that their sums stay in the cache while all
 * lines pass by. In a depthwise convolution the groups are the lanes and the x taps are the rows.
 * */
#include "op/conv_reference.h"
#include "op/conv_view.h"
#include "op/dims.h"
#include "op/sums.h"

#include <stdlib.h>
#include <string.h>

#define LANE_BLOCK 64  /* output channels at a time */
#define ROW_BLOCK  256 /* (x, input channel) at a time, about */
#define STRETCH    128 /* pixels of a line at a time */

struct work {
    const struct ks_abi_problem *q;
    struct ks_conv_image input, output;
    double *r, *abs; /* abs NULL: not wanted */
    struct ks_conv_strides to_at;
    int64_t to_lane, n_groups, n_lanes, n_channels; /* channels per group */
    bool is_depthwise;
};

/* Scratch, and which of the weights are being summed: those of one (z, y), and one block of
 * channels. */
struct block {
    int64_t g, first_lane, n_lanes, lanes; /* lanes: n_lanes rounded up to KS_SUM_LANES */
    int64_t first_channel, n_channels, pitch;
    int64_t z, y;
    double *line;  /* [columns][pitch] of the input */
    double *panel; /* [lanes / 8][STRETCH][8] of d_output */
    double *sums;  /* [2][x][n_channels][lanes]: R, then A */
};

static int64_t columns_of(const struct ks_abi_problem *q, int64_t n)
{
    return (n - 1) * q->stride[2] + (q->filter[2] - 1) * q->dilation[2] + 1;
}

static void load_panel(const struct work *v, const struct block *b, struct ks_conv_stretch *s)
{
    s->g = b->g;
    for (int64_t lane = 0; lane < b->n_lanes; lane += KS_SUM_LANES) {
        s->channel = b->first_lane + lane;
        s->n_channels = ks_min64(KS_SUM_LANES, b->n_lanes - lane);
        ks_conv_load(&v->output, s, b->panel + lane * STRETCH, KS_SUM_LANES);
    }
}

static void add_depthwise(const struct work *v, const struct block *b, struct ks_sums *sums)
{
    const struct ks_abi_problem *q = v->q;

    sums->x_row = q->dilation[2] * b->pitch;
    for (int64_t x = 0; x < q->filter[2]; x += KS_SUM_ROWS) {
        sums->n_rows = ks_min64(KS_SUM_ROWS, q->filter[2] - x);
        sums->x = b->line + x * sums->x_row;
        ks_sums_add_lanes(sums);
        sums->r += KS_SUM_ROWS * b->lanes;
        sums->s += sums->s ? KS_SUM_ROWS * b->lanes : 0;
    }
}

static void add_dense(const struct work *v, const struct block *b, struct ks_sums *sums)
{
    const struct ks_abi_problem *q = v->q;

    sums->x_row = 1;
    for (int64_t x = 0; x < q->filter[2]; x++)
        for (int64_t c = 0; c < b->n_channels; c += KS_SUM_ROWS) {
            sums->n_rows = ks_min64(KS_SUM_ROWS, b->n_channels - c);
            sums->x = b->line + x * q->dilation[2] * b->pitch + c;
            ks_sums_add(sums);
            sums->r += sums->n_rows * b->lanes;
            sums->s += sums->s ? sums->n_rows * b->lanes : 0;
        }
}

/* n pixels from column `first` of output line (n, d, h). */
static void add_stretch(const struct work *v, const struct block *b, struct ks_conv_stretch out)
{
    const struct ks_abi_problem *q = v->q;
    struct ks_conv_stretch in = { .n = out.n,
                                  .d = out.d * q->stride[0] + b->z * q->dilation[0] - q->pad_lo[0],
                                  .h = out.h * q->stride[1] + b->y * q->dilation[1] - q->pad_lo[1],
                                  .column = out.column * q->stride[2] - q->pad_lo[2],
                                  .n_columns = columns_of(q, out.n_columns),
                                  .g = b->g,
                                  .channel = v->is_depthwise ? b->first_lane : b->first_channel,
                                  .n_channels = v->is_depthwise ? b->n_lanes : b->n_channels };
    int64_t n_sums = q->filter[2] * b->n_channels * b->lanes;
    struct ks_sums sums = { .r = b->sums,
                            .s = v->abs ? b->sums + n_sums : NULL,
                            .x_step = q->stride[2] * b->pitch,
                            .w = b->panel,
                            .w_block = STRETCH * KS_SUM_LANES,
                            .n_steps = out.n_columns,
                            .n_lanes = b->lanes };

    if (in.d < 0 || in.d >= q->in[0] || in.h < 0 || in.h >= q->in[1])
        return;
    ks_conv_load(&v->input, &in, b->line, b->pitch);
    load_panel(v, b, &out);
    if (v->is_depthwise)
        add_depthwise(v, b, &sums);
    else
        add_dense(v, b, &sums);
}

static void store(const struct work *v, const struct block *b, const double *sums, double *to)
{
    struct ks_spread m = { .to_row = v->to_at.c,
                           .to_column = v->to_lane,
                           .from = sums,
                           .pitch = b->lanes,
                           .n_rows = b->n_channels,
                           .n_columns = b->n_lanes };

    to += b->g * v->to_at.g + b->first_lane * v->to_lane + b->first_channel * v->to_at.c +
          b->z * v->to_at.axis[0] + b->y * v->to_at.axis[1];
    for (int64_t x = 0; x < v->q->filter[2]; x++) {
        m.to = to + x * v->to_at.axis[2];
        ks_spread(&m);
        m.from += b->n_channels * b->lanes;
    }
}

static void do_block(const struct work *v, const struct block *b)
{
    const struct ks_abi_problem *q = v->q;
    int64_t n_sums = q->filter[2] * b->n_channels * b->lanes;
    struct ks_conv_stretch out = { .n = 0 };

    memset(b->sums, 0, (size_t)(2 * n_sums) * sizeof(double));
    for (int64_t i = 0; i < q->n * q->out[0] * q->out[1]; i++) {
        out.h = i % q->out[1];
        out.d = i / q->out[1] % q->out[0];
        out.n = i / q->out[1] / q->out[0];
        for (out.column = 0; out.column < q->out[2]; out.column += STRETCH) {
            out.n_columns = ks_min64(STRETCH, q->out[2] - out.column);
            add_stretch(v, b, out);
        }
    }
    store(v, b, b->sums, v->r);
    if (v->abs)
        store(v, b, b->sums + n_sums, v->abs);
}

static int block_allocate(const struct work *v, struct block *b, int64_t channels,
                          struct ks_err *err)
{
    const struct ks_abi_problem *q = v->q;
    int64_t columns = columns_of(q, ks_min64(STRETCH, q->out[2]));

    b->line = ks_conv_array(columns * b->pitch, sizeof(double));
    b->panel = ks_conv_array(STRETCH * b->lanes, sizeof(double));
    b->sums = ks_conv_array(2 * q->filter[2] * channels * b->lanes, sizeof(double));
    if (!b->line || !b->panel || !b->sums)
        return ks_fail(err, KS_ENOMEM, "no memory for the reference's scratch");
    return 0;
}

static void do_channels(const struct work *v, struct block *b, int64_t channels)
{
    int64_t n_lines = v->q->filter[0] * v->q->filter[1];

    for (b->first_channel = 0; b->first_channel < v->n_channels; b->first_channel += channels) {
        b->n_channels = ks_min64(channels, v->n_channels - b->first_channel);
        for (int64_t i = 0; i < n_lines; i++) {
            b->z = i / v->q->filter[1];
            b->y = i % v->q->filter[1];
            do_block(v, b);
        }
    }
}

static int do_all(const struct work *v, struct ks_err *err)
{
    int64_t lanes = ks_sum_lanes(ks_min64(v->n_lanes, LANE_BLOCK));
    int64_t channels = ROW_BLOCK / v->q->filter[2] / KS_SUM_ROWS * KS_SUM_ROWS;
    struct block b = { .lanes = lanes };
    int rc;

    channels = ks_min64(channels ? channels : KS_SUM_ROWS, v->n_channels);
    b.pitch = v->is_depthwise ? lanes : channels;
    rc = block_allocate(v, &b, channels, err);
    for (b.g = 0; rc == 0 && b.g < v->n_groups; b.g++)
        for (b.first_lane = 0; b.first_lane < v->n_lanes; b.first_lane += LANE_BLOCK) {
            b.n_lanes = ks_min64(LANE_BLOCK, v->n_lanes - b.first_lane);
            b.lanes = ks_sum_lanes(b.n_lanes);
            do_channels(v, &b, channels);
        }
    free(b.line);
    free(b.panel);
    ks_sums_free(b.sums);
    return rc;
}

int ks_conv_weights(const struct ks_abi_problem *q, const float *input, const float *d_output,
                    double *r, double *abs, struct ks_err *err)
{
    struct work v = { .q = q,
                      .input = { .at = input },
                      .output = { .at = d_output },
                      .r = r,
                      .abs = abs,
                      .n_groups = q->g,
                      .n_lanes = q->k,
                      .n_channels = q->c,
                      .is_depthwise = q->c == 1 && q->k == 1 };

    memcpy(v.input.extent, q->in, sizeof(v.input.extent));
    memcpy(v.output.extent, q->out, sizeof(v.output.extent));
    ks_conv_image_strides(q, q->c, q->in, &v.input.stride);
    ks_conv_image_strides(q, q->k, q->out, &v.output.stride);
    ks_conv_weight_strides(q, &v.to_at);
    v.to_lane = v.to_at.outer;
    if (v.is_depthwise) { /* the groups become the lanes of one group */
        v.n_lanes = q->g;
        v.n_groups = 1;
        v.input.stride.c = v.input.stride.g;
        v.output.stride.c = v.output.stride.g;
        v.to_lane = v.to_at.g;
    }
    return do_all(&v, err);
}
