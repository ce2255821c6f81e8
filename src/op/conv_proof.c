/* SPDX-License-Identifier: MIT */
/* Proofs of the forward reference (DESIGN V3). Their loops follow the definition of the
 * convolution and share no index arithmetic and no summation with conv_reference.c. */
#include "op/clones.h"
#include "op/conv_reference.h"

#include "base/hash.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODULUS    (((uint64_t)1 << 61) - 1) /* a prime */
#define LOW_BITS   31
#define LOW_MASK   (((uint64_t)1 << LOW_BITS) - 1)
#define EXACT_MAX  3                  /* magnitude of exact data */
#define LENGTH_MAX ((int64_t)1 << 30) /* 3 2^31 LENGTH_MAX < 2^63: sums of pieces fit int64_t */
#define RESULT_MAX 0x1p24             /* magnitude of sums that are exact in fp32 */

/* Freivalds' check over the output channels of all groups at once. With v random modulo MODULUS,
 *     sum_gk v[g][k] R[pixel][g][k]  =  sum_tap,g,c input[pixel + tap][g][c] F[tap][g][c],
 *     F[tap][g][c] = sum_k v[g][k] weights[g][k][tap][c]
 * holds for a wrong row of R with probability 1 / MODULUS. F is kept as F = high 2^31 + low.
 * Source: Freivalds 1977. */
struct proof {
    struct ks_abi_problem q;
    const float *input, *weights;
    int64_t c_total, k_total, n_taps;
    uint64_t *v;                 /* [g][k] */
    int32_t *low, *high;         /* [z y x][g][c] */
    int32_t *image;              /* [d][h][w][g][c]: the input of one n */
    int64_t *sum_low, *sum_high; /* [z y x][c]: F of one group while it is summed up */
    int32_t *row;                /* [z y x][c]: weights of one output channel */
};

static int provable(const struct ks_problem *p, struct ks_err *err)
{
    if (p->direction != KS_FORWARD || p->layout != KS_NHWGC)
        return ks_fail(err, KS_EUNSUPPORTED, "no proof for %s, %s yet",
                       ks_direction_name(p->direction), ks_layout_name(p->layout));
    return 0;
}

/* Input coordinate that an output and a tap meet along an axis; negative: in the padding. */
static int64_t meet(const struct ks_abi_problem *q, int axis, int64_t out, int64_t tap)
{
    int64_t in = out * q->stride[axis] + tap * q->dilation[axis] - q->pad_lo[axis];

    return in < q->in[axis] ? in : -1;
}

static uint64_t modulo(__int128 value)
{
    unsigned __int128 m = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;

    m = (m & MODULUS) + (m >> 61);
    m = (m & MODULUS) + (m >> 61);
    if (m >= MODULUS)
        m -= MODULUS;
    return value < 0 && m ? MODULUS - (uint64_t)m : (uint64_t)m;
}

static __int128 join(int64_t high, int64_t low)
{
    return (__int128)high * ((__int128)1 << LOW_BITS) + low;
}

/* False when one is no integer of magnitude at most EXACT_MAX. */
KS_CLONES static bool to_integers(const float *restrict src, int64_t n, int32_t *restrict dst)
{
    int32_t n_bad = 0;

    for (int64_t i = 0; i < n; i++) {
        int is_small = fabsf(src[i]) <= EXACT_MAX;
        int32_t value = is_small ? (int32_t)src[i] : 0;

        n_bad += (float)value != src[i];
        dst[i] = value;
    }
    return n_bad == 0;
}

KS_CLONES static void add_scaled(int64_t *restrict low, int64_t *restrict high,
                                 const int32_t *restrict w, int64_t n, uint64_t v)
{
    int32_t v_low = (int32_t)(v & LOW_MASK), v_high = (int32_t)(v >> LOW_BITS);

    for (int64_t i = 0; i < n; i++) {
        low[i] += (int64_t)w[i] * v_low;
        high[i] += (int64_t)w[i] * v_high;
    }
}

/* sum x F over n terms */
KS_CLONES static __int128 dot(const int32_t *restrict x, const int32_t *restrict low,
                              const int32_t *restrict high, int64_t n)
{
    int64_t sum_low = 0, sum_high = 0;

    for (int64_t i = 0; i < n; i++) {
        sum_low += (int64_t)x[i] * low[i];
        sum_high += (int64_t)x[i] * high[i];
    }
    return join(sum_high, sum_low);
}

static int not_exact(struct ks_err *err)
{
    return ks_fail(err, KS_EINVAL, "operands are not exact data: integers up to %d", EXACT_MAX);
}

static int fold_group(struct proof *f, int64_t g, struct ks_err *err)
{
    const struct ks_abi_problem *q = &f->q;
    int64_t length = f->n_taps * q->c;

    memset(f->sum_low, 0, (size_t)length * sizeof(int64_t));
    memset(f->sum_high, 0, (size_t)length * sizeof(int64_t));
    for (int64_t k = g * q->k; k < (g + 1) * q->k; k++) {
        if (!to_integers(f->weights + k * length, length, f->row))
            return not_exact(err);
        add_scaled(f->sum_low, f->sum_high, f->row, length, f->v[k]);
    }
    for (int64_t i = 0; i < length; i++) {
        int64_t at = i / q->c * f->c_total + g * q->c + i % q->c;
        uint64_t folded = modulo(join(f->sum_high[i], f->sum_low[i]));

        f->low[at] = (int32_t)(folded & LOW_MASK);
        f->high[at] = (int32_t)(folded >> LOW_BITS);
    }
    return 0;
}

/* Taps along the width for one (z, y); undilated ones inside the input are one stretch. */
static __int128 sum_taps(const struct proof *f, const int32_t *row, int64_t tap_row, int64_t width)
{
    const struct ks_abi_problem *q = &f->q;
    __int128 sum = 0;
    int64_t n = 1;

    for (int64_t x = 0; x < q->filter[2]; x += n) {
        int64_t column = meet(q, 2, width, x);
        int64_t at = (tap_row * q->filter[2] + x) * f->c_total;

        n = 1;
        if (column < 0)
            continue;
        if (q->dilation[2] == 1)
            n = q->in[2] - column < q->filter[2] - x ? q->in[2] - column : q->filter[2] - x;
        sum += dot(row + column * f->c_total, f->low + at, f->high + at, n * f->c_total);
    }
    return sum;
}

static uint64_t right_side(const struct proof *f, int64_t depth, int64_t height, int64_t width)
{
    const struct ks_abi_problem *q = &f->q;
    __int128 sum = 0;

    for (int64_t z = 0; z < q->filter[0]; z++)
        for (int64_t y = 0; y < q->filter[1]; y++) {
            int64_t d = meet(q, 0, depth, z), h = meet(q, 1, height, y);

            if (d >= 0 && h >= 0)
                sum += sum_taps(f, f->image + (d * q->in[1] + h) * q->in[2] * f->c_total,
                                z * q->filter[1] + y, width);
        }
    return modulo(sum);
}

/* r: [g][k] of one pixel. False when one is no integer that fp32 holds exactly. */
static bool left_side(const struct proof *f, const double *r, uint64_t *sum_out)
{
    __int128 sum = 0;

    for (int64_t i = 0; i < f->k_total; i++) {
        if (!(fabs(r[i]) <= RESULT_MAX) || (double)(int64_t)r[i] != r[i])
            return false;
        sum += (__int128)(int64_t)r[i] * (int64_t)f->v[i];
    }
    *sum_out = modulo(sum);
    return true;
}

/* All pixels of image n; r: [d][h][w][g][k] of it. */
static int prove_image(const struct proof *f, int64_t n, const double *r, struct ks_err *err)
{
    const struct ks_abi_problem *q = &f->q;

    for (int64_t i = 0; i < q->out[0] * q->out[1] * q->out[2]; i++) {
        int64_t width = i % q->out[2], height = i / q->out[2] % q->out[1];
        int64_t depth = i / q->out[2] / q->out[1];
        uint64_t left = 0;

        if (left_side(f, r + i * f->k_total, &left) && left == right_side(f, depth, height, width))
            continue;
        return ks_fail(err, KS_EDEVICE,
                       "the exact reference is wrong at n %" PRId64 ", depth %" PRId64
                       ", height %" PRId64 ", width %" PRId64,
                       n, depth, height, width);
    }
    return 0;
}

static int prove(struct proof *f, const double *r, uint64_t seed, struct ks_err *err)
{
    const struct ks_abi_problem *q = &f->q;
    int64_t image_in = q->in[0] * q->in[1] * q->in[2] * f->c_total;
    int64_t image_out = q->out[0] * q->out[1] * q->out[2] * f->k_total;
    int rc = 0;

    for (int64_t i = 0; i < f->k_total; i++)
        f->v[i] = ks_rng_below(&seed, MODULUS);
    for (int64_t g = 0; rc == 0 && g < q->g; g++)
        rc = fold_group(f, g, err);
    for (int64_t n = 0; rc == 0 && n < q->n; n++) {
        if (!to_integers(f->input + n * image_in, image_in, f->image))
            return not_exact(err);
        rc = prove_image(f, n, r + n * image_out, err);
    }
    return rc;
}

static void *array(int64_t n, size_t size)
{
    return calloc((size_t)n, size);
}

static int proof_allocate(struct proof *f, struct ks_err *err)
{
    const struct ks_abi_problem *q = &f->q;

    f->v = array(f->k_total, sizeof(*f->v));
    f->low = array(f->n_taps * f->c_total, sizeof(*f->low));
    f->high = array(f->n_taps * f->c_total, sizeof(*f->high));
    f->image = array(q->in[0] * q->in[1] * q->in[2] * f->c_total, sizeof(*f->image));
    f->sum_low = array(f->n_taps * q->c, sizeof(*f->sum_low));
    f->sum_high = array(f->n_taps * q->c, sizeof(*f->sum_high));
    f->row = array(f->n_taps * q->c, sizeof(*f->row));
    if (!f->v || !f->low || !f->high || !f->image || !f->sum_low || !f->sum_high || !f->row)
        return ks_fail(err, KS_ENOMEM, "no memory to prove the reference");
    return 0;
}

static void proof_release(struct proof *f)
{
    free(f->v);
    free(f->low);
    free(f->high);
    free(f->image);
    free(f->sum_low);
    free(f->sum_high);
    free(f->row);
}

int ks_conv_prove_exact(const struct ks_problem *p, const void *a, const void *b, const double *r,
                        uint64_t seed, struct ks_err *err)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    struct proof f = { .v = NULL };
    float *input = NULL, *weights = NULL;
    int rc = provable(p, err);

    if (rc < 0)
        return rc;
    ks_operators[p->op]->to_abi(p, &f.q);
    f.c_total = f.q.c * f.q.g;
    f.k_total = f.q.k * f.q.g;
    f.n_taps = f.q.filter[0] * f.q.filter[1] * f.q.filter[2];
    if (f.q.filter[2] > LENGTH_MAX / f.c_total || f.k_total > LENGTH_MAX)
        return ks_fail(err, KS_EUNSUPPORTED, "more than 2^30 channels cannot be proved");
    rc = proof_allocate(&f, err);
    if (rc == 0)
        rc = ks_operand_floats(a, e.a, p->dtype, &input, &f.input, err);
    if (rc == 0)
        rc = ks_operand_floats(b, e.b, p->dtype, &weights, &f.weights, err);
    if (rc == 0)
        rc = prove(&f, r, seed, err);
    proof_release(&f);
    free(input);
    free(weights);
    return rc;
}

struct sums {
    long double r, abs;
};

/* One output element by its definition: channels outermost, then width, height, depth. */
static struct sums sum_directly(const struct ks_problem *p, const struct ks_abi_problem *q,
                                const void *a, const void *b, int64_t element)
{
    int64_t k = element % q->k, g = element / q->k % q->g, pixel = element / q->k / q->g;
    int64_t w = pixel % q->out[2], h = pixel / q->out[2] % q->out[1];
    int64_t d = pixel / q->out[2] / q->out[1] % q->out[0];
    int64_t n = pixel / q->out[2] / q->out[1] / q->out[0];
    const int64_t *filter = q->filter;
    struct sums sums = { 0, 0 };

    for (int64_t i = 0; i < q->c * filter[2] * filter[1] * filter[0]; i++) {
        int64_t z = i % filter[0], y = i / filter[0] % filter[1];
        int64_t x = i / filter[0] / filter[1] % filter[2];
        int64_t c = i / filter[0] / filter[1] / filter[2];
        int64_t id = meet(q, 0, d, z), ih = meet(q, 1, h, y), iw = meet(q, 2, w, x);
        long double product;

        if (id < 0 || ih < 0 || iw < 0)
            continue;
        iw += ((n * q->in[0] + id) * q->in[1] + ih) * q->in[2];
        x += (((g * q->k + k) * filter[0] + z) * filter[1] + y) * filter[2];
        product = (long double)ks_element_get(a, (iw * q->g + g) * q->c + c, p->dtype) *
                  (long double)ks_element_get(b, x * q->c + c, p->dtype);
        sums.r += product;
        sums.abs += fabsl(product);
    }
    return sums;
}

static int compare(const char *what, int64_t element, double got, long double want,
                   long double tolerance, struct ks_err *err)
{
    if (fabsl(got - want) <= tolerance)
        return 0;
    return ks_fail(err, KS_EDEVICE,
                   "the reference's %s[%" PRId64 "] is %.17g, directly summed %.17Lg, tolerance "
                   "%.3Lg",
                   what, element, got, want, tolerance);
}

int ks_conv_prove_real(const struct ks_problem *p, const void *a, const void *b, const double *r,
                       const double *abs, uint64_t seed, int n_sample, struct ks_err *err)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    struct ks_abi_problem q;
    /* Sums of L exact products: relative to sum |x||w| at most L u / (1 - L u), u = 2^-53 (Higham,
     * Accuracy and Stability, 4.2); L < 2^40, and long double adds less than the rest. */
    long double bound = 1.001L * 0x1p-53L * (long double)ks_operators[p->op]->reduction(p);
    int rc = provable(p, err);

    if (rc < 0)
        return rc;
    ks_operators[p->op]->to_abi(p, &q);
    for (int i = 0; rc == 0 && i < n_sample; i++) {
        int64_t element = (int64_t)ks_rng_below(&seed, (uint64_t)e.c);
        struct sums want = sum_directly(p, &q, a, b, element);

        rc = compare("R", element, r[element], want.r, bound * want.abs, err);
        if (rc == 0 && abs)
            rc = compare("A", element, abs[element], want.abs, bound * want.abs, err);
    }
    return rc;
}
