/* SPDX-License-Identifier: MIT */
/* Forward reference, fast enough for one core: R and A = sum |x||w| in double.
 *
 * A product of two fp32 numbers is exact in double, so a fused and an unfused multiply-add give the
 * same bits, and the order of the sums is fixed here: every vector width gives the same result. */
#include "op/conv_reference.h"
#include "op/clones.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define K_BLOCK 128 /* output channels at a time */
#define K_LANES 8   /* blocks are padded to a multiple of this */
#define PIXELS  8   /* output pixels that share one pass over the weights */
#define STEPS   4   /* reduction steps between two visits of an accumulator */

struct conv {
    struct ks_abi_problem q;
    const float *input;   /* [n][d][h][w][g][c] */
    const float *weights; /* [g][k][z][y][x][c] */
    double *r, *abs;      /* [n][d][h][w][g][k]; abs NULL: not wanted */
};

/* Scratch for one block of output channels of one group, and for one row of output pixels. Each
 * (z, y) of the filter meets one input row; in it the x taps and channels lie side by side. */
struct block {
    int64_t g, k_first, n_k, k_lanes; /* lanes: n_k rounded up to K_LANES */
    int64_t row_width;                /* input columns that a row of outputs meets */
    double *rows;                     /* [z y][row_width][c], zero where the input is padded */
    bool *is_inside;                  /* [z y] false: nothing but padding */
    double *panel;                    /* [z y x c][k_lanes] weights */
    double *sums;                     /* [2][PIXELS][k_lanes]: R, then A */
};

int ks_conv_referable(const struct ks_problem *p, struct ks_err *err)
{
    if (p->direction != KS_FORWARD)
        return ks_fail(err, KS_EUNSUPPORTED, "no reference for direction %s yet",
                       ks_direction_name(p->direction));
    if (p->layout != KS_NHWGC)
        return ks_fail(err, KS_EUNSUPPORTED, "no reference for layout %s yet",
                       ks_layout_name(p->layout));
    return 0;
}

static int64_t n_filter_rows(const struct ks_abi_problem *q)
{
    return q->filter[0] * q->filter[1];
}

/* Visits accumulators once for `steps` reduction steps; both flags are constants where it is
 * inlined. */
static inline __attribute__((always_inline)) void update(double *restrict r, double *restrict s,
                                                         const double *restrict x,
                                                         const double *restrict w, int64_t lanes,
                                                         int steps, bool wants_abs)
{
    for (int64_t k = 0; k < lanes; k++) {
        double sum = r[k], magnitude = wants_abs ? s[k] : 0;

        for (int i = 0; i < steps; i++) {
            sum += x[i] * w[i * lanes + k];
            magnitude += fabs(x[i]) * fabs(w[i * lanes + k]);
        }
        r[k] = sum;
        if (wants_abs)
            s[k] = magnitude;
    }
}

/* A stretch of the reduction that is contiguous in the input row, for up to PIXELS outputs. */
struct run {
    double *r, *s;   /* [n_pixels][lanes] */
    const double *x; /* of the first pixel; the next one's lie x_step further */
    const double *w; /* [n_steps][lanes] */
    int64_t n_pixels, x_step, n_steps, lanes;
};

KS_CLONES static void add_run_both(const struct run *run)
{
    int64_t lanes = run->lanes, at = 0;

    for (; at + STEPS <= run->n_steps; at += STEPS)
        for (int64_t i = 0; i < run->n_pixels; i++)
            update(run->r + i * lanes, run->s + i * lanes, run->x + i * run->x_step + at,
                   run->w + at * lanes, lanes, STEPS, true);
    for (; at < run->n_steps; at++)
        for (int64_t i = 0; i < run->n_pixels; i++)
            update(run->r + i * lanes, run->s + i * lanes, run->x + i * run->x_step + at,
                   run->w + at * lanes, lanes, 1, true);
}

KS_CLONES static void add_run_r(const struct run *run)
{
    int64_t lanes = run->lanes, at = 0;

    for (; at + STEPS <= run->n_steps; at += STEPS)
        for (int64_t i = 0; i < run->n_pixels; i++)
            update(run->r + i * lanes, run->s + i * lanes, run->x + i * run->x_step + at,
                   run->w + at * lanes, lanes, STEPS, false);
    for (; at < run->n_steps; at++)
        for (int64_t i = 0; i < run->n_pixels; i++)
            update(run->r + i * lanes, run->s + i * lanes, run->x + i * run->x_step + at,
                   run->w + at * lanes, lanes, 1, false);
}

/* All of the reduction for n_pixels outputs from column `first` of the current row. */
static void sum_pixels(const struct conv *v, const struct block *b, int64_t first, int64_t n_pixels)
{
    const struct ks_abi_problem *q = &v->q;
    /* Undilated taps follow one another in the row: one run. Else one run for each tap. */
    int64_t n_runs = q->dilation[2] == 1 ? 1 : q->filter[2];
    int64_t n_steps = q->filter[2] / n_runs * q->c;
    struct run run = { .r = b->sums,
                       .s = b->sums + PIXELS * b->k_lanes,
                       .n_pixels = n_pixels,
                       .x_step = q->stride[2] * q->c,
                       .n_steps = n_steps,
                       .lanes = b->k_lanes };

    memset(b->sums, 0, (size_t)(2 * PIXELS * b->k_lanes) * sizeof(double));
    for (int64_t i = 0; i < n_filter_rows(q) * n_runs; i++) {
        int64_t row = i / n_runs, tap = i % n_runs;

        if (!b->is_inside[row])
            continue;
        run.x = b->rows + (row * b->row_width + first * q->stride[2] + tap * q->dilation[2]) * q->c;
        run.w = b->panel + i * n_steps * b->k_lanes;
        if (v->abs)
            add_run_both(&run);
        else
            add_run_r(&run);
    }
}

static void store_pixels(const struct conv *v, const struct block *b, int64_t pixel, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = ((pixel + i) * v->q.g + b->g) * v->q.k + b->k_first;
        const double *sums = b->sums + i * b->k_lanes;
        size_t bytes = (size_t)b->n_k * sizeof(double);

        memcpy(v->r + at, sums, bytes);
        if (v->abs)
            memcpy(v->abs + at, sums + PIXELS * b->k_lanes, bytes);
    }
}

static void load_row(const struct conv *v, const struct block *b, int64_t i_row, double *row)
{
    const struct ks_abi_problem *q = &v->q;
    const float *from = v->input + (i_row * q->in[2] * q->g + b->g) * q->c;

    for (int64_t i = 0; i < b->row_width; i++, row += q->c) {
        int64_t column = i - q->pad_lo[2];
        bool is_inside = column >= 0 && column < q->in[2];

        for (int64_t c = 0; c < q->c; c++)
            row[c] = is_inside ? from[column * q->g * q->c + c] : 0;
    }
}

/* i_out counts the rows of output: (n, depth, height). */
static void load_rows(const struct conv *v, const struct block *b, int64_t i_out)
{
    const struct ks_abi_problem *q = &v->q;
    int64_t height = i_out % q->out[1] * q->stride[1] - q->pad_lo[1];
    int64_t depth = i_out / q->out[1] % q->out[0] * q->stride[0] - q->pad_lo[0];
    int64_t n = i_out / q->out[1] / q->out[0];

    for (int64_t i = 0; i < n_filter_rows(q); i++) {
        int64_t h = height + i % q->filter[1] * q->dilation[1];
        int64_t d = depth + i / q->filter[1] * q->dilation[0];

        b->is_inside[i] = h >= 0 && h < q->in[1] && d >= 0 && d < q->in[0];
        if (b->is_inside[i])
            load_row(v, b, (n * q->in[0] + d) * q->in[1] + h, b->rows + i * b->row_width * q->c);
    }
}

/* Transposes in tiles of a cache line's worth of reduction steps. */
static void load_panel(const struct conv *v, const struct block *b)
{
    int64_t length = n_filter_rows(&v->q) * v->q.filter[2] * v->q.c;
    const float *from = v->weights + (b->g * v->q.k + b->k_first) * length;

    for (int64_t tile = 0; tile < length; tile += 16)
        for (int64_t k = 0; k < b->k_lanes; k++)
            for (int64_t i = tile; i < length && i < tile + 16; i++)
                b->panel[i * b->k_lanes + k] = k < b->n_k ? from[k * length + i] : 0;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void do_block(const struct conv *v, const struct block *b)
{
    const struct ks_abi_problem *q = &v->q;

    load_panel(v, b);
    for (int64_t i_out = 0; i_out < q->n * q->out[0] * q->out[1]; i_out++) {
        load_rows(v, b, i_out);
        for (int64_t w = 0; w < q->out[2]; w += PIXELS) {
            int64_t n = min64(PIXELS, q->out[2] - w);

            sum_pixels(v, b, w, n);
            store_pixels(v, b, i_out * q->out[2] + w, n);
        }
    }
}

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

static void *array(int64_t n, size_t size)
{
    return calloc((size_t)n, size);
}

static int do_dense(const struct conv *v, struct ks_err *err)
{
    const struct ks_abi_problem *q = &v->q;
    int64_t n_rows = n_filter_rows(q), lanes = round_up(min64(q->k, K_BLOCK), K_LANES);
    struct block b = { .row_width = (q->out[2] - 1) * q->stride[2] +
                                    (q->filter[2] - 1) * q->dilation[2] + 1 };
    int rc = 0;

    b.rows = array(n_rows * b.row_width * q->c, sizeof(double));
    b.is_inside = array(n_rows, sizeof(bool));
    b.panel = array(n_rows * q->filter[2] * q->c * lanes, sizeof(double));
    b.sums = array(2 * PIXELS * lanes, sizeof(double));
    if (!b.rows || !b.is_inside || !b.panel || !b.sums) {
        rc = ks_fail(err, KS_ENOMEM, "no memory for the reference's scratch");
        goto out;
    }
    for (b.g = 0; b.g < q->g; b.g++)
        for (b.k_first = 0; b.k_first < q->k; b.k_first += K_BLOCK) {
            b.n_k = min64(K_BLOCK, q->k - b.k_first);
            b.k_lanes = round_up(b.n_k, K_LANES);
            do_block(v, &b);
        }
out:
    free(b.rows);
    free(b.is_inside);
    free(b.panel);
    free(b.sums);
    return rc;
}

/* Depthwise: one tap of one pixel, all groups side by side. */
KS_CLONES static void add_tap(double *restrict r, double *restrict s, const float *restrict x,
                              const double *restrict w, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        r[i] += x[i] * w[i];
    if (s)
        for (int64_t i = 0; i < n; i++)
            s[i] += fabs((double)x[i]) * fabs(w[i]);
}

/* position: (n, depth, height, width) of the output, packed as an index. */
static void do_depthwise_pixel(const struct conv *v, const double *taps, int64_t pixel)
{
    const struct ks_abi_problem *q = &v->q;
    int64_t width = pixel % q->out[2] * q->stride[2] - q->pad_lo[2];
    int64_t height = pixel / q->out[2] % q->out[1] * q->stride[1] - q->pad_lo[1];
    int64_t depth = pixel / q->out[2] / q->out[1] % q->out[0] * q->stride[0] - q->pad_lo[0];
    int64_t n = pixel / q->out[2] / q->out[1] / q->out[0];
    double *r = v->r + pixel * q->g, *s = v->abs ? v->abs + pixel * q->g : NULL;

    memset(r, 0, (size_t)q->g * sizeof(double));
    if (s)
        memset(s, 0, (size_t)q->g * sizeof(double));
    for (int64_t i = 0; i < n_filter_rows(q) * q->filter[2]; i++) {
        int64_t w = width + i % q->filter[2] * q->dilation[2];
        int64_t h = height + i / q->filter[2] % q->filter[1] * q->dilation[1];
        int64_t d = depth + i / q->filter[2] / q->filter[1] * q->dilation[0];

        if (w < 0 || w >= q->in[2] || h < 0 || h >= q->in[1] || d < 0 || d >= q->in[0])
            continue;
        add_tap(r, s, v->input + (((n * q->in[0] + d) * q->in[1] + h) * q->in[2] + w) * q->g,
                taps + i * q->g, q->g);
    }
}

static int do_depthwise(const struct conv *v, struct ks_err *err)
{
    const struct ks_abi_problem *q = &v->q;
    int64_t n_taps = n_filter_rows(q) * q->filter[2];
    double *taps = array(n_taps * q->g, sizeof(double)); /* [z y x][g] */

    if (!taps)
        return ks_fail(err, KS_ENOMEM, "no memory for the reference's scratch");
    for (int64_t g = 0; g < q->g; g++)
        for (int64_t i = 0; i < n_taps; i++)
            taps[i * q->g + g] = v->weights[g * n_taps + i];
    for (int64_t pixel = 0; pixel < q->n * q->out[0] * q->out[1] * q->out[2]; pixel++)
        do_depthwise_pixel(v, taps, pixel);
    free(taps);
    return 0;
}

int ks_conv_floats(const struct ks_problem *p, const void *src, int64_t n, float **owned_out,
                   const float **floats_out, struct ks_err *err)
{
    *owned_out = NULL;
    *floats_out = src;
    if (p->dtype == KS_FP32)
        return 0;
    *owned_out = array(n, sizeof(float));
    if (!*owned_out)
        return ks_fail(err, KS_ENOMEM, "no memory for an operand of the reference");
    ks_elements_to_floats(src, n, p->dtype, *owned_out);
    *floats_out = *owned_out;
    return 0;
}

int ks_conv_reference(const struct ks_problem *p, const void *a, const void *b, double *r_out,
                      double *abs_out, struct ks_err *err)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    struct conv v = { .r = r_out, .abs = abs_out };
    float *input = NULL, *weights = NULL;
    int rc = ks_conv_referable(p, err);

    if (rc < 0)
        return rc;
    ks_operators[p->op]->to_abi(p, &v.q);
    rc = ks_conv_floats(p, a, e.a, &input, &v.input, err);
    if (rc == 0)
        rc = ks_conv_floats(p, b, e.b, &weights, &v.weights, err);
    if (rc == 0)
        rc = v.q.c == 1 && v.q.k == 1 ? do_depthwise(&v, err) : do_dense(&v, err);
    free(input);
    free(weights);
    return rc;
}
