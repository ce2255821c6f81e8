/* SPDX-License-Identifier: MIT */
/* conv_prove_exact.c - Freivalds' check of a convolution's exact reference (DESIGN V3) */
/* Loops follow the definition of the convolution: every output meets its taps, in all directions,
 * and adds what the direction wants. No index arithmetic and no summation is shared with the
 * references.
 *
 * Random v folds one channel away, modulo 2^61 - 1:
 *   forward          sum_gk v R[out][gk]      = sum_tap,gc input[out + tap][gc] F[tap][gc],
 *                    F[tap][gc] = sum_k v[gk] weights[gk][tap][c]
 *   backward data    sum_gc v R[in][gc]       = sum_tap,gk d_output[in - tap][gk] F[tap][gk],
 *                    F[tap][gk] = sum_c v[gc] weights[gk][tap][c]
 *   backward weight  sum_k v[gk] R[gk][tap][c] = sum_n,out input[out + tap][gc] U[out][g],
 *                    U[out][g] = sum_k v[gk] d_output[out][gk] */
#include "op/conv_reference.h"
#include "op/dims.h"
#include "op/freivalds.h"

#include <inttypes.h>
#include <stdlib.h>

struct proof {
    struct ks_abi_problem q;
    const float *a, *b;
    const double *r;
    int64_t c_total, k_total, n_taps, in_pixels, out_pixels;
    struct ks_residues v;        /* [folded channels of all groups] */
    struct ks_residues f;        /* [tap][summed channels of all groups]; backward weight: U */
    struct ks_residue_sums sums; /* [tap][c], backward weight: [tap][c_total] */
    uint64_t *left;              /* [tap][c_total]; backward weight */
    __int128 *right;             /* [pixel of the result] */
    int32_t *input, *output;     /* images of one n: [pixel][channel of all groups] */
    int32_t *row;                /* weights of one output channel: [tap][c] */
    int32_t *turned;             /* the largest of the three before it is turned */
};

static void *array(int64_t n, size_t size)
{
    return calloc((size_t)n, size);
}

/* Input coordinate that an output and a tap meet along an axis; negative: in the padding. */
static int64_t meet(const struct ks_abi_problem *q, int axis, int64_t out, int64_t tap)
{
    int64_t in = out * q->stride[axis] + tap * q->dilation[axis] - q->pad_lo[axis];

    return in < q->in[axis] ? in : -1;
}

/* Input pixel for an output pixel and a tap; -1: in the padding. */
static int64_t meet_pixel(const struct ks_abi_problem *q, int64_t out, int64_t tap)
{
    int64_t w = meet(q, 2, out % q->out[2], tap % q->filter[2]);
    int64_t h = meet(q, 1, out / q->out[2] % q->out[1], tap / q->filter[2] % q->filter[1]);
    int64_t d = meet(q, 0, out / q->out[2] / q->out[1], tap / q->filter[2] / q->filter[1]);

    return w < 0 || h < 0 || d < 0 ? -1 : (d * q->in[1] + h) * q->in[2] + w;
}

/* A matrix with the channels innermost, whatever the layout; where: [outer][channel]. */
static int take_data(const struct proof *f, const float *src, int64_t outer, int64_t channels,
                     int32_t *to, struct ks_err *err)
{
    bool is_turned = f->q.layout == KS_ABI_NGCHW;

    int rc = ks_exact_data(src, outer * channels, is_turned ? f->turned : to, err);

    if (rc == 0 && is_turned)
        ks_turn(f->turned, channels, outer, to);
    return rc;
}

/* The same for results; -1, or which of `to` cannot be one. */
static int64_t take_results(const struct proof *f, const double *src, int64_t outer,
                            int64_t channels, int32_t *to)
{
    bool is_turned = f->q.layout == KS_ABI_NGCHW;
    int64_t i = 0;

    if (!ks_exact_results(src, outer * channels, is_turned ? f->turned : to)) {
        while (ks_exact_results(src + i, 1, to))
            i++;
        return is_turned ? i % outer * channels + i / outer : i;
    }
    if (is_turned)
        ks_turn(f->turned, channels, outer, to);
    return -1;
}

/* F of the forward direction: one group after another. */
static int fold_outputs(struct proof *f, struct ks_err *err)
{
    const struct ks_abi_problem *q = &f->q;
    int64_t length = f->n_taps * q->c;
    int rc = 0;

    for (int64_t g = 0; g < q->g; g++) {
        ks_residue_sums_clear(&f->sums);
        for (int64_t k = g * q->k; rc == 0 && k < (g + 1) * q->k; k++) {
            rc = take_data(f, f->b + k * length, f->n_taps, q->c, f->row, err);
            ks_residue_sums_reserve(&f->sums, KS_EXACT_MAX);
            ks_residue_sums_add(&f->sums, f->row, ks_residue_get(&f->v, k));
        }
        for (int64_t i = 0; rc == 0 && i < length; i++)
            ks_residue_set(&f->f, i / q->c * f->c_total + g * q->c + i % q->c,
                           ks_residue_sums_get(&f->sums, i));
    }
    return rc;
}

/* F of the backward-data direction. */
static int fold_inputs(struct proof *f, struct ks_err *err)
{
    const struct ks_abi_problem *q = &f->q;
    int rc = 0;

    for (int64_t k = 0; rc == 0 && k < f->k_total; k++) {
        rc = take_data(f, f->b + k * f->n_taps * q->c, f->n_taps, q->c, f->row, err);
        for (int64_t tap = 0; rc == 0 && tap < f->n_taps; tap++)
            ks_residue_set(&f->f, tap * f->k_total + k,
                           ks_modulo(ks_residue_dot(f->row + tap * q->c, &f->v, k / q->k * q->c,
                                                    q->c, KS_EXACT_MAX)));
    }
    return rc;
}

/* How many taps from this one on meet neighbours in the input, all of them in the line. */
static int64_t neighbours(const struct ks_abi_problem *q, int64_t out, int64_t tap)
{
    int64_t column = meet(q, 2, out % q->out[2], tap % q->filter[2]);
    int64_t room = q->in[2] - column, n = q->filter[2] - tap % q->filter[2];

    if (q->dilation[2] != 1)
        return 1;
    return room < n ? room : n;
}

static void right_forward(const struct proof *f)
{
    const struct ks_abi_problem *q = &f->q;

    for (int64_t out = 0; out < f->out_pixels; out++) {
        __int128 sum = 0;
        int64_t n = 1;

        for (int64_t tap = 0; tap < f->n_taps; tap += n) {
            int64_t in = meet_pixel(q, out, tap);

            n = in < 0 ? 1 : neighbours(q, out, tap);
            if (in >= 0)
                sum += ks_residue_dot(f->input + in * f->c_total, &f->f, tap * f->c_total,
                                      n * f->c_total, KS_EXACT_MAX);
        }
        f->right[out] = sum;
    }
}

static void right_backward(const struct proof *f)
{
    for (int64_t in = 0; in < f->in_pixels; in++)
        f->right[in] = 0;
    for (int64_t out = 0; out < f->out_pixels; out++)
        for (int64_t tap = 0; tap < f->n_taps; tap++) {
            int64_t in = meet_pixel(&f->q, out, tap);

            if (in >= 0)
                f->right[in] += ks_residue_dot(f->output + out * f->k_total, &f->f,
                                               tap * f->k_total, f->k_total, KS_EXACT_MAX);
        }
}

/* Forward and backward data: the pixels of one image of the result. */
static int prove_image(const struct proof *f, int64_t n, struct ks_err *err)
{
    bool is_forward = f->q.direction == KS_ABI_FORWARD;
    int64_t pixels = is_forward ? f->out_pixels : f->in_pixels;
    int64_t channels = is_forward ? f->k_total : f->c_total;
    int32_t *result = is_forward ? f->output : f->input;
    const int64_t *extent = is_forward ? f->q.out : f->q.in;
    const double *r = f->r + n * pixels * channels;
    int64_t bad = take_results(f, r, pixels, channels, result);

    bad = bad < 0 ? bad : bad / channels;
    for (int64_t i = 0; bad < 0 && i < pixels; i++) {
        __int128 left = ks_residue_dot(result + i * channels, &f->v, 0, channels, KS_RESULT_MAX);

        if (ks_modulo(left) != ks_modulo(f->right[i]))
            bad = i;
    }
    if (bad < 0)
        return 0;
    return ks_fail(err, KS_EDEVICE,
                   "the exact reference is wrong at n %" PRId64 ", depth %" PRId64
                   ", height %" PRId64 ", width %" PRId64,
                   n, bad / extent[2] / extent[1], bad / extent[2] % extent[1], bad % extent[2]);
}

static int prove_images(struct proof *f, struct ks_err *err)
{
    bool is_forward = f->q.direction == KS_ABI_FORWARD;
    int64_t pixels = is_forward ? f->in_pixels : f->out_pixels;
    int64_t channels = is_forward ? f->c_total : f->k_total;
    int rc = is_forward ? fold_outputs(f, err) : fold_inputs(f, err);

    for (int64_t n = 0; rc == 0 && n < f->q.n; n++) {
        rc = take_data(f, f->a + n * pixels * channels, pixels, channels,
                       is_forward ? f->input : f->output, err);
        if (rc < 0)
            break;
        if (is_forward)
            right_forward(f);
        else
            right_backward(f);
        rc = prove_image(f, n, err);
    }
    return rc;
}

static int wrong_weight(const struct proof *f, int64_t tap, int64_t c, struct ks_err *err)
{
    const int64_t *filter = f->q.filter;

    return ks_fail(err, KS_EDEVICE,
                   "the exact reference is wrong at g %" PRId64 ", c %" PRId64 ", z %" PRId64
                   ", y %" PRId64 ", x %" PRId64,
                   c / f->q.c, c % f->q.c, tap / filter[2] / filter[1], tap / filter[2] % filter[1],
                   tap % filter[2]);
}

/* Left sides of the backward-weight check, one group after another. */
static int left_weights(const struct proof *f, struct ks_residue_sums *sums, struct ks_err *err)
{
    const struct ks_abi_problem *q = &f->q;

    for (int64_t g = 0; g < q->g; g++) {
        ks_residue_sums_clear(sums);
        for (int64_t k = g * q->k; k < (g + 1) * q->k; k++) {
            int64_t bad = take_results(f, f->r + k * sums->n, f->n_taps, q->c, f->row);

            if (bad >= 0)
                return wrong_weight(f, bad / q->c, g * q->c + bad % q->c, err);
            ks_residue_sums_reserve(sums, KS_RESULT_MAX);
            ks_residue_sums_add(sums, f->row, ks_residue_get(&f->v, k));
        }
        for (int64_t i = 0; i < sums->n; i++)
            f->left[i / q->c * f->c_total + g * q->c + i % q->c] = ks_residue_sums_get(sums, i);
    }
    return 0;
}

/* U of one output pixel, for each input channel of its group. Where a group has one output channel
 * there is nothing to fold: v is 1. */
static void fold_pixel(const struct proof *f, const int32_t *pixel)
{
    const struct ks_abi_problem *q = &f->q;

    for (int64_t c = 0; q->k == 1 && c < f->c_total; c++)
        f->f.low[c] = pixel[c / q->c];
    if (q->k == 1)
        return;

    for (int64_t g = 0; g < q->g; g++) {
        uint64_t u =
            ks_modulo(ks_residue_dot(pixel + g * q->k, &f->v, g * q->k, q->k, KS_EXACT_MAX));

        for (int64_t c = g * q->c; c < (g + 1) * q->c; c++)
            ks_residue_set(&f->f, c, u);
    }
}

static int right_weights(struct proof *f, int64_t n, struct ks_err *err)
{
    int rc =
        take_data(f, f->a + n * f->in_pixels * f->c_total, f->in_pixels, f->c_total, f->input, err);

    if (rc == 0)
        rc = take_data(f, f->b + n * f->out_pixels * f->k_total, f->out_pixels, f->k_total,
                       f->output, err);
    for (int64_t out = 0; rc == 0 && out < f->out_pixels; out++) {
        fold_pixel(f, f->output + out * f->k_total);
        ks_residue_sums_reserve(&f->sums, KS_EXACT_MAX);
        for (int64_t tap = 0; tap < f->n_taps; tap++) {
            int64_t in = meet_pixel(&f->q, out, tap);

            if (in >= 0)
                ks_residue_sums_add_each(&f->sums, tap * f->c_total, f->input + in * f->c_total,
                                         &f->f, f->c_total);
        }
    }
    return rc;
}

static int prove_weights(struct proof *f, struct ks_err *err)
{
    struct ks_residue_sums of_group = f->sums; /* borrowed before the right side needs them */
    int rc;

    for (int64_t k = 0; f->q.k == 1 && k < f->k_total; k++)
        ks_residue_set(&f->v, k, 1);
    of_group.n = f->n_taps * f->q.c;
    rc = left_weights(f, &of_group, err);
    ks_residue_sums_clear(&f->sums);
    for (int64_t n = 0; rc == 0 && n < f->q.n; n++)
        rc = right_weights(f, n, err);
    for (int64_t i = 0; rc == 0 && i < f->sums.n; i++)
        if (f->left[i] != ks_residue_sums_get(&f->sums, i))
            rc = wrong_weight(f, i / f->c_total, i % f->c_total, err);
    return rc;
}

/* What each array has room for follows from its use in the three directions. */
static int proof_allocate(struct proof *f, struct ks_err *err)
{
    int64_t channels = ks_max64(f->c_total, f->k_total);
    int64_t input = f->in_pixels * f->c_total, output = f->out_pixels * f->k_total;
    int64_t row = f->n_taps * f->q.c;

    f->sums.n = f->q.direction == KS_ABI_BACKWARD_WEIGHT ? f->n_taps * f->c_total : row;
    f->v.low = array(channels, sizeof(int32_t));
    f->v.high = array(channels, sizeof(int32_t));
    f->f.low = array(f->n_taps * channels, sizeof(int32_t));
    f->f.high = array(f->n_taps * channels, sizeof(int32_t));
    f->sums.low = array(f->sums.n, sizeof(int64_t));
    f->sums.high = array(f->sums.n, sizeof(int64_t));
    f->left = array(f->n_taps * f->c_total, sizeof(*f->left));
    f->right = array(ks_max64(f->in_pixels, f->out_pixels), sizeof(*f->right));
    f->input = array(input, sizeof(int32_t));
    f->output = array(output, sizeof(int32_t));
    f->row = array(row, sizeof(int32_t));
    f->turned = array(ks_max64(row, ks_max64(input, output)), sizeof(int32_t));
    if (!f->v.low || !f->v.high || !f->f.low || !f->f.high || !f->sums.low || !f->sums.high ||
        !f->left || !f->right || !f->input || !f->output || !f->row || !f->turned)
        return ks_fail(err, KS_ENOMEM, "no memory to prove the reference");
    return 0;
}

static void proof_release(struct proof *f)
{
    free(f->v.low);
    free(f->v.high);
    free(f->f.low);
    free(f->f.high);
    free(f->sums.low);
    free(f->sums.high);
    free(f->left);
    free(f->right);
    free(f->input);
    free(f->output);
    free(f->row);
    free(f->turned);
}

static void proof_init(struct proof *f, const struct ks_problem *p)
{
    struct ks_abi_problem *q = &f->q;

    ks_operators[p->op]->to_abi(p, q);
    f->c_total = q->c * q->g;
    f->k_total = q->k * q->g;
    f->n_taps = q->filter[0] * q->filter[1] * q->filter[2];
    f->in_pixels = q->in[0] * q->in[1] * q->in[2];
    f->out_pixels = q->out[0] * q->out[1] * q->out[2];
}

int ks_conv_prove_exact(const struct ks_problem *p, const void *a, const void *b, const double *r,
                        uint64_t seed, struct ks_err *err)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    struct proof f = { .r = r };
    float *a_owned = NULL, *b_owned = NULL;
    int rc;

    proof_init(&f, p);
    rc = proof_allocate(&f, err);
    if (rc == 0)
        rc = ks_operand_floats(a, e.a, p->dtype, &a_owned, &f.a, err);
    if (rc == 0)
        rc = ks_operand_floats(b, e.b, p->dtype, &b_owned, &f.b, err);
    if (rc == 0) {
        ks_residues_draw(&f.v, ks_max64(f.c_total, f.k_total), &seed);
        rc = p->direction == KS_BACKWARD_WEIGHT ? prove_weights(&f, err) : prove_images(&f, err);
    }
    proof_release(&f);
    free(a_owned);
    free(b_owned);
    return rc;
}
