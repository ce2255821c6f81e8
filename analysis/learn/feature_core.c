/* SPDX-License-Identifier: MIT */
/* feature_core.c - features of problems and pairs, and applicability, as compiled into selectors */
#include "analysis/learn/feature_core.h"

#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#ifdef __FAST_MATH__
#error "features need IEEE arithmetic: compile without -ffast-math"
#endif

/* Dimensions of the two operators, in the order of op/conv.h and op/gemm.h. */
enum { CONV, GEMM };
enum { NDIM, N, G, C_TOTAL, K_TOTAL, IN, FILTER = 8, STRIDE = 11, DILATION = 14, LO = 17, HI = 20 };
enum { BATCH, GEMM_M, GEMM_N, GEMM_K, TRANS_A, TRANS_B };
enum { FORWARD, BACKWARD_DATA, BACKWARD_WEIGHT };

static double fx_nan(void)
{
    const uint64_t bits = UINT64_C(0x7ff8000000000000);
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

static int fx_has(double x)
{
    return x == x;
}

/* x = 2^e m with m in [1/sqrt 2, sqrt 2); log2 m = 2 / ln 2 (s + s^3 / 3 + ...), s = (m - 1) /
 * (m + 1), |s| < 0.172: the term left out is below 1e-18. */
KS_FX_API double ks_fx_log2(double x)
{
    static const double terms[11] = { 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                      1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0 };
    uint64_t bits;
    int64_t e;
    double m, s, z, sum = 0;

    memcpy(&bits, &x, sizeof(bits));
    e = (int64_t)((bits >> 52) & 0x7ff) - 1023;
    bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);
    memcpy(&m, &bits, sizeof(m));
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    s = (m - 1) / (m + 1);
    z = s * s;
    for (int k = 0; k < 11; k++)
        sum = sum * z + terms[k];
    return (double)e + 2.8853900817779268 * s * sum;
}

static double fx_ceil(double x) /* 0 <= x < 2^62 */
{
    double whole = (double)(int64_t)x;

    return whole < x ? whole + 1 : whole;
}

static double fx_up(double x, double to)
{
    return fx_ceil(x / to) * to;
}

static double fx_align(double x)
{
    const int64_t v = (int64_t)x, a = v & -v;

    return a == 0 ? 1 : a > 64 ? 64 : (double)a;
}

static double fx_bytes_of(int32_t dtype)
{
    return dtype == 0 ? 4 : 2;
}

/* A division takes longer than all else here, and most are by 1. */
static int64_t fx_quotient(int64_t n, int64_t by)
{
    return by == 1 ? n : n / by;
}

static double fx_out(const int64_t *d, int axis)
{
    int64_t reach = d[DILATION + axis] * (d[FILTER + axis] - 1) + 1;
    int64_t room = d[IN + axis] + d[LO + axis] + d[HI + axis] - reach;

    return room < 0 ? 0 : (double)(fx_quotient(room, d[STRIDE + axis]) + 1);
}

/* The matrix product that a convolution is, per group. */
static void conv_product(int32_t direction, double in, double out, double taps, double *q)
{
    const double c = q[KS_FX_C], f = q[KS_FX_F];

    q[KS_FX_M] = direction == FORWARD ? out : direction == BACKWARD_DATA ? in : f;
    q[KS_FX_N] = direction == FORWARD ? f : direction == BACKWARD_DATA ? c : c * taps;
    q[KS_FX_K] = direction == FORWARD ? c * taps : direction == BACKWARD_DATA ? f * taps : out;
}

static void conv_is(const struct ks_fx_problem *p, double *q)
{
    const int64_t *d = p->dim;
    double reach = 0;
    int padding = 0, unit = 1;

    for (int i = 0; i < 3; i++) {
        double extent = (double)(d[DILATION + i] * (d[FILTER + i] - 1) + 1);
        double pads = (double)(d[LO + i] + d[HI + i]);

        unit &= d[STRIDE + i] == 1 && d[DILATION + i] == 1;
        if (pads == 0)
            continue;
        padding |= pads > 0;
        reach = pads / (extent + pads) > reach ? pads / (extent + pads) : reach;
    }
    q[KS_FX_REACH] = reach;
    q[KS_FX_IS_POINTWISE] = q[KS_FX_TAPS] == 1 && !padding;
    q[KS_FX_IS_DEPTHWISE] = d[G] > 1 && q[KS_FX_C] == 1;
    q[KS_FX_IS_UNIT] = unit;
}

static void conv_quantities(const struct ks_fx_problem *p, double *q)
{
    const int64_t *d = p->dim;
    const double n = (double)d[N], bytes = fx_bytes_of(p->dtype);
    double in = n, out = n, taps = 1;

    for (int i = 0; i < 3; i++) {
        q[KS_FX_OUT_D + i] = fx_out(d, i);
        in *= (double)d[IN + i];
        out *= q[KS_FX_OUT_D + i];
        taps *= (double)d[FILTER + i];
    }
    q[KS_FX_GROUPS] = (double)d[G];
    q[KS_FX_C] = (double)fx_quotient(d[C_TOTAL], d[G]);
    q[KS_FX_F] = (double)fx_quotient(d[K_TOTAL], d[G]);
    q[KS_FX_TAPS] = taps;
    conv_product(p->direction, in, out, taps, q);
    q[KS_FX_FLOPS] = 2 * out * (double)d[K_TOTAL] * q[KS_FX_C] * taps;
    q[KS_FX_BYTES_IN] = in * (double)d[C_TOTAL] * bytes;
    q[KS_FX_BYTES_WEIGHTS] = (double)d[K_TOTAL] * q[KS_FX_C] * taps * bytes;
    q[KS_FX_BYTES_OUT] = out * (double)d[K_TOTAL] * bytes;
    conv_is(p, q);
}

static void gemm_quantities(const struct ks_fx_problem *p, double *q)
{
    const int64_t *d = p->dim;
    const double batch = (double)d[BATCH], bytes = fx_bytes_of(p->dtype);

    q[KS_FX_M] = (double)d[GEMM_M];
    q[KS_FX_N] = (double)d[GEMM_N];
    q[KS_FX_K] = (double)d[GEMM_K];
    q[KS_FX_GROUPS] = batch;
    q[KS_FX_C] = q[KS_FX_K];
    q[KS_FX_F] = q[KS_FX_N];
    q[KS_FX_OUT_W] = q[KS_FX_N];
    q[KS_FX_FLOPS] = 2 * batch * q[KS_FX_M] * q[KS_FX_N] * q[KS_FX_K];
    q[KS_FX_BYTES_IN] = batch * q[KS_FX_M] * q[KS_FX_K] * bytes;
    q[KS_FX_BYTES_WEIGHTS] = batch * q[KS_FX_N] * q[KS_FX_K] * bytes;
    q[KS_FX_BYTES_OUT] = batch * q[KS_FX_M] * q[KS_FX_N] * bytes;
}

static void fx_alignment(double *q)
{
    const double c = q[KS_FX_C], f = q[KS_FX_F];

    q[KS_FX_ALIGN_C] = fx_align(c);
    q[KS_FX_ALIGN_F] = fx_align(f);
    q[KS_FX_ALIGN_W] = fx_align(q[KS_FX_OUT_W]);
    for (int i = 0; i < 3; i++) {
        const double to = (double)(8 << i);

        q[KS_FX_PAD_C8 + i] = fx_up(c, to) / c;
        q[KS_FX_PAD_F8 + i] = fx_up(f, to) / f;
    }
}

KS_FX_API void ks_fx_quantities(const struct ks_fx_problem *p, double *q)
{
    const double none = fx_nan();

    for (int i = 0; i < KS_FX_DIMS; i++)
        q[i] = (double)p->dim[i];
    for (int i = KS_FX_DIMS; i < KS_FX_N_QUANTITIES; i++)
        q[i] = none;
    q[KS_FX_DIRECTION] = p->direction;
    q[KS_FX_DTYPE] = p->dtype;
    q[KS_FX_LAYOUT] = p->layout;
    if (p->op == CONV)
        conv_quantities(p, q);
    else
        gemm_quantities(p, q);
    q[KS_FX_BYTES] = q[KS_FX_BYTES_IN] + q[KS_FX_BYTES_WEIGHTS] + q[KS_FX_BYTES_OUT];
    q[KS_FX_INTENSITY] = q[KS_FX_FLOPS] / q[KS_FX_BYTES];
    q[KS_FX_SHAPE] = q[KS_FX_M] / q[KS_FX_N];
    q[KS_FX_CHANNELS] = q[KS_FX_C] / q[KS_FX_F];
    fx_alignment(q);
}

/* ---- a pair ---- */

/* The value of a trait, or another one where the instance has none. */
static double fx_trait(const struct ks_fx_instance *i, int trait, double otherwise)
{
    return fx_has(i->trait[trait]) ? i->trait[trait] : otherwise;
}

static void fx_tiles(const double *q, const struct ks_fx_instance *i, const struct ks_fx_device *d,
                     double *x)
{
    const double merged = fx_trait(i, KS_FX_MERGED, 1), split = fx_trait(i, KS_FX_SPLIT_K, 1);
    const double groups = fx_ceil(q[KS_FX_GROUPS] / merged);
    const double m = q[KS_FX_M], n = q[KS_FX_N] * merged, k = q[KS_FX_K] * merged;
    const double tm = i->trait[KS_FX_TILE_M], tn = i->trait[KS_FX_TILE_N];
    const double tk = fx_trait(i, KS_FX_TILE_K, 1);

    x[KS_FX_TILES_M] = fx_ceil(m / tm);
    x[KS_FX_TILES_N] = fx_ceil(n / tn);
    x[KS_FX_STEPS_K] = fx_ceil(k / tk / split);
    x[KS_FX_TILES] = x[KS_FX_TILES_M] * x[KS_FX_TILES_N] * groups * split;
    x[KS_FX_WAVES] = x[KS_FX_TILES] / (d->units * fx_trait(i, KS_FX_RESIDENT, 1));
    x[KS_FX_TAIL] = fx_ceil(x[KS_FX_WAVES]) / x[KS_FX_WAVES];
    x[KS_FX_WASTE_M] = x[KS_FX_TILES_M] * tm / m;
    x[KS_FX_WASTE_N] = x[KS_FX_TILES_N] * tn / n;
    x[KS_FX_WASTE_K] = x[KS_FX_STEPS_K] * tk * split / k;
    x[KS_FX_LOOSE_G] = groups * merged / q[KS_FX_GROUPS];
    x[KS_FX_WASTE] =
        x[KS_FX_WASTE_M] * x[KS_FX_WASTE_N] * x[KS_FX_WASTE_K] * merged * x[KS_FX_LOOSE_G];
}

static void fx_tile_costs(const double *q, const struct ks_fx_instance *i,
                          const struct ks_fx_device *d, double *x)
{
    const double bytes = fx_bytes_of((int32_t)q[KS_FX_DTYPE]);
    const double tm = i->trait[KS_FX_TILE_M], tn = i->trait[KS_FX_TILE_N];
    const double tk = fx_trait(i, KS_FX_TILE_K, 1), k = x[KS_FX_STEPS_K] * tk;
    const double step = (tm + tn) * tk * bytes * fx_trait(i, KS_FX_BUFFERS, 1);
    const double held = fx_trait(i, KS_FX_LDS, step);

    x[KS_FX_TILE_FLOPS] = 2 * tm * tn * k;
    x[KS_FX_TILE_BYTES] = ((tm + tn) * k + tm * tn) * bytes;
    x[KS_FX_TILE_INTENSITY] = x[KS_FX_TILE_FLOPS] / x[KS_FX_TILE_BYTES];
    x[KS_FX_FOOTPRINT] = (held > 0 ? held : step) / d->fast_bytes;
    x[KS_FX_TRAFFIC] = x[KS_FX_TILES] * x[KS_FX_TILE_BYTES] / q[KS_FX_BYTES];
}

/* Elements beyond the last whole vector, as a part of all. */
static double fx_loose(double n, double vector)
{
    return (n - (fx_up(n + 1, vector) - vector)) / n;
}

/* Time of all waves: whole waves of the units at the calibrated rates, the slowest of the three
 * levels, and the launch. */
static void fx_model(const double *q, const struct ks_fx_instance *i, const struct ks_fx_device *d,
                     double *x)
{
    double level[3], slowest;
    int bound = 0;

    level[0] = q[KS_FX_FLOPS] / d->flops_per_ns;
    level[1] = q[KS_FX_BYTES] / d->bytes_per_ns;
    level[2] = 0;
    x[KS_FX_ROOF_NS] = level[0] > level[1] ? level[0] : level[1];
    if (fx_has(x[KS_FX_TILES])) {
        const double whole = x[KS_FX_TAIL] * x[KS_FX_TILES];

        level[0] = whole * x[KS_FX_TILE_FLOPS] / d->flops_per_ns;
        level[2] = x[KS_FX_TILES] * x[KS_FX_TILE_BYTES] / d->fast_per_ns;
    }
    for (int l = 1; l < 3; l++)
        bound = level[l] > level[bound] ? l : bound;
    slowest = level[bound];
    x[KS_FX_BOUND] = bound;
    x[KS_FX_MODEL_NS] = d->launch_ns + slowest;
    x[KS_FX_EXPECT] = ks_fx_log2(x[KS_FX_MODEL_NS]) + fx_trait(i, KS_FX_BIAS, 0);
}

KS_FX_API void ks_fx_pairs(const double *q, const struct ks_fx_instance *i,
                           const struct ks_fx_device *d, double *x)
{
    for (int k = 0; k < KS_FX_N_PAIRS; k++)
        x[k] = fx_nan();
    if (fx_has(i->trait[KS_FX_TILE_M]) && fx_has(i->trait[KS_FX_TILE_N])) {
        fx_tiles(q, i, d, x);
        fx_tile_costs(q, i, d, x);
    }
    if (fx_has(i->trait[KS_FX_VECTOR_A]))
        x[KS_FX_LOOSE_A] = fx_loose(q[KS_FX_C], i->trait[KS_FX_VECTOR_A]);
    if (fx_has(i->trait[KS_FX_VECTOR_B]))
        x[KS_FX_LOOSE_B] = fx_loose(q[KS_FX_C], i->trait[KS_FX_VECTOR_B]);
    if (fx_has(i->trait[KS_FX_VECTOR_C]))
        x[KS_FX_LOOSE_C] = fx_loose(q[KS_FX_F], i->trait[KS_FX_VECTOR_C]);
    if (d->flops_per_ns > 0)
        fx_model(q, i, d, x);
}

/* ---- values to features ---- */

KS_FX_API int ks_fx_is_log(int quantity)
{
    if (quantity < KS_FX_DIMS)
        return 0;
    return (quantity >= KS_FX_M && quantity <= KS_FX_INTENSITY) || quantity == KS_FX_SHAPE ||
           quantity == KS_FX_CHANNELS;
}

KS_FX_API int ks_fx_is_log_pair(int which)
{
    return which != KS_FX_BOUND && which != KS_FX_EXPECT && which != KS_FX_FOOTPRINT &&
           (which < KS_FX_LOOSE_A || which > KS_FX_LOOSE_G);
}

static float fx_feature(double v, int is_log)
{
    if (!is_log || !fx_has(v))
        return (float)v;
    return v > 0 ? (float)ks_fx_log2(v) : (float)fx_nan();
}

KS_FX_API float ks_fx_problem_feature(const double *q, int quantity)
{
    return fx_feature(q[quantity], ks_fx_is_log(quantity));
}

KS_FX_API float ks_fx_pair_feature(const double *pair, int which)
{
    return fx_feature(pair[which], ks_fx_is_log_pair(which));
}

/* ---- applicability ---- */

static int fx_meets(const double *q, const struct ks_fx_need *n)
{
    const double v = q[n->quantity];
    int64_t x;

    if (!fx_has(v))
        return 0;
    x = (int64_t)v * n->factor;
    switch (n->kind) {
    case KS_FX_NEED_MULTIPLE:
        return x % n->value == 0;
    case KS_FX_NEED_EQUAL:
        return x == n->value;
    case KS_FX_NEED_LEAST:
        return x >= n->value;
    default:
        return x <= n->value;
    }
}

static int fx_is_in_domain(const struct ks_fx_problem *p, const struct ks_fx_instance *i)
{
    const int64_t *d = p->dim;

    if (p->op != i->op || (i->direction >= 0 && p->direction != i->direction) ||
        (i->dtype >= 0 && p->dtype != i->dtype) || (i->layout >= 0 && p->layout != i->layout))
        return 0;
    for (int axis = 0; p->op == CONV && i->ndim > 0 && axis < 3 - i->ndim; axis++)
        if (d[IN + axis] != 1 || d[FILTER + axis] != 1 || d[LO + axis] || d[HI + axis])
            return 0;
    return 1;
}

KS_FX_API int ks_fx_applies(const struct ks_fx_problem *p, const double *q,
                            const struct ks_fx_instance *i)
{
    if (!fx_is_in_domain(p, i))
        return 0;
    for (int k = 0; k < KS_FX_NEEDS && i->need[k].kind != KS_FX_NEED_NONE; k++)
        if (!fx_meets(q, &i->need[k]))
            return 0;
    return 1;
}

KS_FX_API int ks_fx_is_outside(const double *q, const double *least, const double *most)
{
    for (int i = 0; i <= KS_FX_INTENSITY; i++)
        if (q[i] < least[i] || q[i] > most[i]) /* neither with a NaN */
            return 1;
    return 0;
}

/* ---- shape classes ---- */

static int fx_is_fully_connected(const int64_t *d)
{
    for (int axis = 1; axis < 3; axis++)
        if (d[IN + axis] != d[FILTER + axis] || d[LO + axis] || d[HI + axis] ||
            d[DILATION + axis] > 1)
            return 0;
    return d[G] == 1;
}

static int fx_has_dilation(const int64_t *d)
{
    for (int axis = 0; axis < 3; axis++)
        if (d[FILTER + axis] > 1 && d[DILATION + axis] > 1)
            return 1;
    return 0;
}

static int fx_class_of_2d(const int64_t *d)
{
    const int64_t y = d[FILTER + 1], x = d[FILTER + 2];

    if (fx_is_fully_connected(d))
        return KS_FX_CLASS_FULLY_CONNECTED;
    if (d[G] > 1)
        return d[G] == d[C_TOTAL] ? KS_FX_CLASS_DEPTHWISE : KS_FX_CLASS_GROUPED;
    if (d[C_TOTAL] <= 4)
        return KS_FX_CLASS_STEM;
    if (fx_has_dilation(d))
        return KS_FX_CLASS_DILATED;
    if (d[STRIDE + 1] > 1 || d[STRIDE + 2] > 1)
        return KS_FX_CLASS_STRIDED;
    if (y == 1 && x == 1)
        return KS_FX_CLASS_POINTWISE;
    if (y == 3 && x == 3)
        return KS_FX_CLASS_3X3;
    return y >= 5 || x >= 5 ? KS_FX_CLASS_LARGE_FILTER : KS_FX_CLASS_OTHER;
}

KS_FX_API int ks_fx_class(const struct ks_fx_problem *p)
{
    if (p->op != CONV)
        return KS_FX_CLASS_OTHER_OPERATOR;
    if (p->dim[NDIM] != 2)
        return p->dim[NDIM] == 3 ? KS_FX_CLASS_3D : KS_FX_CLASS_1D;
    return fx_class_of_2d(p->dim);
}
