/* SPDX-License-Identifier: MIT */
/* conv_gather.c - forward and backward-data references of convolutions: R, A = sum |x||w| */
/* Both gather. Forward, an output meets its inputs at out stride - pad + tap dilation. Backward,
 * the inputs of one phase (index modulo the stride, along each axis) meet the same taps, and the
 * outputs those taps lead to lie as in a forward convolution of stride 1, walked through from the
 * last tap. So there is one inner convolution: once forward, once for each phase backward. */
#include "op/conv_reference.h"
#include "op/conv_view.h"
#include "op/dims.h"
#include "op/sums.h"

#include <stdlib.h>
#include <string.h>

#define LANES_LEAST  64 /* channels of the result at a time: */
#define LANES_MOST   256
#define PANEL        (1 << 17) /* as many as make a panel of about this many weights */
#define ROW_ELEMENTS (1 << 14) /* of a stretch of one source line, about */

/* One axis of the inner convolution: result i, tap t meet source first + i step + t tap_step. */
struct axis {
    int64_t n_results, step, n_taps, tap_step, first;
    int64_t to_first, to_step;         /* where result i belongs */
    int64_t filter_first, filter_step; /* which of the filter's taps t is */
};

struct gather {
    struct ks_conv_image source;
    const float *weights;
    struct ks_conv_strides weight_at;
    int64_t w_summed, w_lane; /* strides of the weights along summed channels and lanes */
    double *r, *abs;          /* abs NULL: not wanted */
    struct ks_conv_strides to_at;
    int64_t n_images, n_groups, n_summed, n_lanes; /* channels per group */
    bool is_depthwise;                             /* the groups are the lanes of a single group */
    struct axis axis[3];
};

struct line {
    int64_t id;     /* of the source line that it holds; -1: none */
    double *at;     /* [n_columns][pitch] */
    bool is_inside; /* false: nothing but padding, nothing loaded */
};

/* Scratch for one block of lanes of one group. Each (z, y) of the taps meets one source line. */
struct block {
    int64_t g, first_lane, n_lanes, lanes; /* lanes: n_lanes rounded up to KS_SUM_LANES */
    int64_t first_result, n_results;       /* along the width */
    int64_t pitch, n_columns, n_lines, n_steps;
    struct line *lines; /* [z y] */
    double *panel;      /* weights, [lanes / 8][z y x summed][8] */
    double *sums;       /* [2][KS_SUM_ROWS][lanes]: R, then A */
    struct {
        int64_t n_lines, line, panel, lanes;
    } room; /* the most of any pass; line, panel: doubles of one */
};

static void forward_axis(const struct ks_abi_problem *q, int axis, struct axis *out)
{
    *out = (struct axis){ .n_results = q->out[axis],
                          .step = q->stride[axis],
                          .n_taps = q->filter[axis],
                          .tap_step = q->dilation[axis],
                          .first = -q->pad_lo[axis],
                          .to_step = 1,
                          .filter_step = 1 };
}

/* Input i = phase + j stride meets tap t at output (i + pad - t dilation) / stride where that is
 * whole: for every apart-th tap, if for any. The last of them is the inner convolution's first. */
static void backward_axis(const struct ks_abi_problem *q, int axis, int64_t phase, struct axis *out)
{
    int64_t stride = q->stride[axis], dilation = q->dilation[axis];
    int64_t apart = stride / ks_gcd64(stride, dilation), n_first = ks_min64(apart, q->filter[axis]);
    int64_t tap = 0, start = phase + q->pad_lo[axis];

    *out = (struct axis){ .n_results = (q->in[axis] - phase + stride - 1) / stride,
                          .step = 1,
                          .tap_step = apart * dilation / stride,
                          .to_first = phase,
                          .to_step = stride,
                          .filter_step = -apart };
    while (tap < n_first && (start - tap * dilation) % stride)
        tap++;
    if (tap == n_first)
        return;
    out->n_taps = (q->filter[axis] - 1 - tap) / apart + 1;
    out->filter_first = tap + (out->n_taps - 1) * apart;
    out->first = (start - out->filter_first * dilation) / stride;
}

/* i counts the passes: the phases of all axes, n of each; one forward. */
static void set_pass(struct gather *v, const struct ks_abi_problem *q, const int64_t n[3],
                     int64_t i)
{
    const int64_t phase[3] = { i / n[2] / n[1], i / n[2] % n[1], i % n[2] };

    for (int axis = 0; axis < 3; axis++)
        if (q->direction == KS_ABI_FORWARD)
            forward_axis(q, axis, &v->axis[axis]);
        else
            backward_axis(q, axis, phase[axis], &v->axis[axis]);
}

static int64_t columns_of(const struct axis *x, int64_t n_results)
{
    return (n_results - 1) * x->step + (x->n_taps ? x->n_taps - 1 : 0) * x->tap_step + 1;
}

/* Results along the width at a time. */
static int64_t stretch_of(const struct gather *v, const struct block *b)
{
    int64_t n = ROW_ELEMENTS / b->pitch / v->axis[2].step / KS_SUM_ROWS * KS_SUM_ROWS;

    return ks_min64(n > KS_SUM_ROWS ? n : KS_SUM_ROWS, v->axis[2].n_results);
}

static void load_panel(const struct gather *v, const struct block *b)
{
    const struct axis *x = v->axis;
    struct ks_widen m = { .pitch = KS_SUM_LANES,
                          .from_row = v->w_summed,
                          .from_column = v->w_lane,
                          .n_rows = v->n_summed };

    if (b->n_lanes < b->lanes)
        memset(b->panel, 0, (size_t)(b->lanes * b->n_steps) * sizeof(double));
    for (int64_t lane = 0; lane < b->n_lanes; lane += KS_SUM_LANES)
        for (int64_t i = 0; i < b->n_lines * x[2].n_taps; i++) {
            int64_t tap[3] = { i / x[2].n_taps / x[1].n_taps, i / x[2].n_taps % x[1].n_taps,
                               i % x[2].n_taps };

            m.n_columns = ks_min64(KS_SUM_LANES, b->n_lanes - lane);
            m.to = b->panel + lane * b->n_steps + i * v->n_summed * KS_SUM_LANES;
            m.from = v->weights + b->g * v->weight_at.g + (b->first_lane + lane) * v->w_lane;
            for (int k = 0; k < 3; k++)
                m.from += (x[k].filter_first + tap[k] * x[k].filter_step) * v->weight_at.axis[k];
            ks_widen(&m);
        }
}

/* Holds source line (n, d, h) in slot i; the line may lie in a later slot from the result before.
 */
static void hold_line(const struct gather *v, const struct block *b, int64_t i, int64_t n,
                      int64_t d, int64_t h)
{
    const int64_t *extent = v->source.extent;
    const struct ks_conv_stretch s = { .n = n,
                                       .d = d,
                                       .h = h,
                                       .column =
                                           v->axis[2].first + b->first_result * v->axis[2].step,
                                       .n_columns = b->n_columns,
                                       .g = b->g,
                                       .channel = v->is_depthwise ? b->first_lane : 0,
                                       .n_channels = v->is_depthwise ? b->n_lanes : v->n_summed };
    struct line *line = b->lines + i;

    line->is_inside = d >= 0 && d < extent[0] && h >= 0 && h < extent[1];
    if (!line->is_inside)
        return;
    for (int64_t k = i; k < b->n_lines; k++) {
        struct line found = b->lines[k];

        if (found.id != (n * extent[0] + d) * extent[1] + h)
            continue;
        found.is_inside = true;
        b->lines[k] = *line;
        *line = found;
        return;
    }
    ks_conv_load(&v->source, &s, line->at, b->pitch);
    line->id = (n * extent[0] + d) * extent[1] + h;
}

/* All of the reduction for the results from `first` of the stretch. */
static void sum_results(const struct gather *v, const struct block *b, int64_t first, int64_t n)
{
    const struct axis *x = &v->axis[2];
    /* Taps that follow one another in the line are one run, others one run each. */
    int64_t n_runs = v->is_depthwise || x->tap_step == 1 ? 1 : x->n_taps;
    struct ks_sums sums = { .r = b->sums,
                            .s = v->abs ? b->sums + KS_SUM_ROWS * b->lanes : NULL,
                            .x_row = x->step * b->pitch,
                            .x_step = v->is_depthwise ? x->tap_step * b->pitch : 1,
                            .w_block = b->n_steps * KS_SUM_LANES,
                            .n_rows = n,
                            .n_steps = x->n_taps * v->n_summed / (n_runs ? n_runs : 1),
                            .n_lanes = b->lanes,
                            .is_first = true };

    for (int64_t i = 0; i < b->n_lines * n_runs; i++) {
        const struct line *line = b->lines + i / n_runs;
        int64_t tap = i % n_runs;

        if (!line->is_inside)
            continue;
        sums.x = line->at + (first * x->step + tap * x->tap_step) * b->pitch;
        sums.w = b->panel + i * sums.n_steps * KS_SUM_LANES;
        if (v->is_depthwise)
            ks_sums_add_lanes(&sums);
        else
            ks_sums_add(&sums);
        sums.is_first = false;
    }
    if (sums.is_first) /* nothing but padding */
        memset(b->sums, 0, (size_t)(2 * KS_SUM_ROWS * b->lanes) * sizeof(double));
}

/* to: offset of the first of n results along the width. */
static void store_results(const struct gather *v, const struct block *b, int64_t to, int64_t n)
{
    struct ks_spread m = { .to = v->r + to,
                           .to_row = v->axis[2].to_step * v->to_at.axis[2],
                           .to_column = v->to_at.c,
                           .from = b->sums,
                           .pitch = b->lanes,
                           .n_rows = n,
                           .n_columns = b->n_lanes };

    ks_spread(&m);
    if (!v->abs)
        return;
    m.to = v->abs + to;
    m.from = b->sums + KS_SUM_ROWS * b->lanes;
    ks_spread(&m);
}

/* A stretch of results of one line; i_line counts (n, depth, height). */
static void do_line(const struct gather *v, const struct block *b, int64_t i_line)
{
    const struct axis *x = v->axis;
    int64_t height = i_line % x[1].n_results, depth = i_line / x[1].n_results % x[0].n_results;
    int64_t n = i_line / x[1].n_results / x[0].n_results;
    int64_t to = n * v->to_at.outer + (x[0].to_first + depth * x[0].to_step) * v->to_at.axis[0] +
                 (x[1].to_first + height * x[1].to_step) * v->to_at.axis[1] +
                 (x[2].to_first + b->first_result * x[2].to_step) * v->to_at.axis[2] +
                 b->g * v->to_at.g + b->first_lane * v->to_at.c;

    for (int64_t i = 0; i < b->n_lines; i++)
        hold_line(v, b, i, n, x[0].first + depth * x[0].step + i / x[1].n_taps * x[0].tap_step,
                  x[1].first + height * x[1].step + i % x[1].n_taps * x[1].tap_step);
    for (int64_t i = 0; i < b->n_results; i += KS_SUM_ROWS) {
        int64_t some = ks_min64(KS_SUM_ROWS, b->n_results - i);

        sum_results(v, b, i, some);
        store_results(v, b, to + i * x[2].to_step * v->to_at.axis[2], some);
    }
}

static void do_block(const struct gather *v, struct block *b)
{
    const struct axis *x = v->axis;
    int64_t stretch = stretch_of(v, b);

    load_panel(v, b);
    for (b->first_result = 0; b->first_result < x[2].n_results; b->first_result += stretch) {
        b->n_results = ks_min64(stretch, x[2].n_results - b->first_result);
        b->n_columns = columns_of(&x[2], b->n_results);
        for (int64_t i = 0; i < b->n_lines; i++)
            b->lines[i].id = -1;
        for (int64_t i = 0; i < v->n_images * x[0].n_results * x[1].n_results; i++)
            do_line(v, b, i);
    }
}

static void block_shape(const struct gather *v, struct block *b)
{
    int64_t lanes;

    b->n_lines = v->axis[0].n_taps * v->axis[1].n_taps;
    b->n_steps = b->n_lines * v->axis[2].n_taps * v->n_summed;
    lanes = ks_min64(ks_max64(PANEL / ks_max64(b->n_steps, 1), LANES_LEAST), LANES_MOST);
    b->lanes = ks_sum_lanes(ks_min64(v->n_lanes, lanes));
    b->pitch = v->is_depthwise ? b->lanes : v->n_summed;
    if (b->n_steps == 0) /* no tap leads here: zeros are stored */
        b->n_lines = 0;
}

/* Room for the pass that v->axis describes. */
static void block_grow(const struct gather *v, struct block *b)
{
    block_shape(v, b);
    b->room.n_lines = ks_max64(b->room.n_lines, b->n_lines);
    b->room.lanes = ks_max64(b->room.lanes, b->lanes);
    b->room.panel = ks_max64(b->room.panel, b->lanes * b->n_steps);
    b->room.line = ks_max64(b->room.line, columns_of(&v->axis[2], stretch_of(v, b)) * b->pitch);
}

static int block_allocate(struct block *b, struct ks_err *err)
{
    bool is_complete;

    b->lines = ks_conv_array(b->room.n_lines, sizeof(*b->lines));
    b->panel = ks_conv_array(b->room.panel, sizeof(double));
    b->sums = ks_conv_array(2 * KS_SUM_ROWS * b->room.lanes, sizeof(double));
    is_complete = b->lines && b->panel && b->sums;
    for (int64_t i = 0; is_complete && i < b->room.n_lines; i++) {
        b->lines[i].at = ks_conv_array(b->room.line, sizeof(double));
        is_complete = b->lines[i].at != NULL;
    }
    return is_complete ? 0 : ks_fail(err, KS_ENOMEM, "no memory for the reference's scratch");
}

static void block_release(struct block *b)
{
    for (int64_t i = 0; b->lines && i < b->room.n_lines; i++)
        free(b->lines[i].at);
    free(b->lines);
    free(b->panel);
    ks_sums_free(b->sums);
}

/* The inner convolution that v->axis describes. */
static void do_pass(const struct gather *v, struct block *b)
{
    int64_t most;

    block_shape(v, b);
    most = b->lanes;
    for (b->g = 0; b->g < v->n_groups; b->g++)
        for (b->first_lane = 0; b->first_lane < v->n_lanes; b->first_lane += most) {
            b->n_lanes = ks_min64(most, v->n_lanes - b->first_lane);
            b->lanes = ks_sum_lanes(b->n_lanes);
            do_block(v, b);
        }
}

/* Everything is allocated for the largest of the passes before the first one writes. */
static int do_passes(struct gather *v, const struct ks_abi_problem *q, struct ks_err *err)
{
    struct block b = { .lanes = 0 };
    int64_t n[3] = { 1, 1, 1 };
    int rc;

    for (int axis = 0; axis < 3; axis++)
        if (q->direction != KS_ABI_FORWARD) /* phases beyond the input have no inputs */
            n[axis] = ks_min64(q->stride[axis], q->in[axis]);
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        set_pass(v, q, n, i);
        block_grow(v, &b);
    }
    rc = block_allocate(&b, err);
    for (int64_t i = 0; rc == 0 && i < n[0] * n[1] * n[2]; i++) {
        set_pass(v, q, n, i);
        do_pass(v, &b);
    }
    block_release(&b);
    return rc;
}

static void merge_groups(struct gather *v)
{
    v->is_depthwise = true;
    v->n_lanes = v->n_groups;
    v->n_groups = 1;
    v->source.stride.c = v->source.stride.g;
    v->to_at.c = v->to_at.g;
    v->w_lane = v->weight_at.g;
}

int ks_conv_gather(const struct ks_abi_problem *q, const float *a, const float *b, double *r,
                   double *abs, struct ks_err *err)
{
    bool is_forward = q->direction == KS_ABI_FORWARD;
    struct gather v = { .source = { .at = a },
                        .weights = b,
                        .r = r,
                        .abs = abs,
                        .n_images = q->n,
                        .n_groups = q->g,
                        .n_summed = is_forward ? q->c : q->k,
                        .n_lanes = is_forward ? q->k : q->c };

    memcpy(v.source.extent, is_forward ? q->in : q->out, sizeof(v.source.extent));
    ks_conv_image_strides(q, v.n_summed, v.source.extent, &v.source.stride);
    ks_conv_image_strides(q, v.n_lanes, is_forward ? q->out : q->in, &v.to_at);
    ks_conv_weight_strides(q, &v.weight_at);
    v.w_summed = is_forward ? v.weight_at.c : v.weight_at.outer;
    v.w_lane = is_forward ? v.weight_at.outer : v.weight_at.c;
    if (q->c == 1 && q->k == 1)
        merge_groups(&v);
    return do_passes(&v, q, err);
}
