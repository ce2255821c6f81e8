/* SPDX-License-Identifier: MIT */
/* freivalds.c - sums and products modulo 2^61 - 1 in vectorised pieces, for the exact proofs */
#include "op/freivalds.h"
#include "op/clones.h"

#include "base/hash.h"

#include <math.h>
#include <string.h>

#define LOW_BITS 31
#define LOW_MASK (((uint64_t)1 << LOW_BITS) - 1)
/* Sum of the magnitudes that may meet a 31-bit piece: 2^62, and settled sums, fit int64_t. */
#define ROOM ((int64_t)1 << 31)
#define TILE 16

uint64_t ks_modulo(__int128 value)
{
    unsigned __int128 m = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;

    m = (m & KS_MODULUS) + (m >> 61);
    m = (m & KS_MODULUS) + (m >> 61);
    if (m >= KS_MODULUS)
        m -= KS_MODULUS;
    return value < 0 && m ? KS_MODULUS - (uint64_t)m : (uint64_t)m;
}

static __int128 join(int64_t high, int64_t low)
{
    return (__int128)high * ((__int128)1 << LOW_BITS) + low;
}

void ks_residue_set(const struct ks_residues *r, int64_t i, uint64_t value)
{
    r->low[i] = (int32_t)(value & LOW_MASK);
    r->high[i] = (int32_t)(value >> LOW_BITS);
}

uint64_t ks_residue_get(const struct ks_residues *r, int64_t i)
{
    return (uint64_t)r->low[i] + ((uint64_t)r->high[i] << LOW_BITS);
}

void ks_residues_draw(const struct ks_residues *r, int64_t n, uint64_t *rng)
{
    for (int64_t i = 0; i < n; i++)
        ks_residue_set(r, i, ks_rng_below(rng, KS_MODULUS));
}

/* A whole number plus one of these has its value in the low mantissa bits; another does not come
 * back when it is taken away. Nothing here branches, so that it vectorises. */
#define SHIFT_FLOAT  0x1.8p23F
#define SHIFT_DOUBLE 0x1.8p52

KS_CLONES static bool is_exact_data(const float *restrict src, int64_t n, int32_t *restrict dst)
{
    const float shift = SHIFT_FLOAT;
    int32_t is_bad = 0, zero;

    memcpy(&zero, &shift, sizeof(zero));
    for (int64_t i = 0; i < n; i++) {
        float shifted = src[i] + shift;
        int32_t bits;

        memcpy(&bits, &shifted, sizeof(bits));
        dst[i] = bits - zero;
        is_bad |= shifted - shift != src[i];
        is_bad |= !(fabsf(src[i]) <= KS_EXACT_MAX);
    }
    return is_bad == 0;
}

KS_CLONES static bool is_exact_result(const double *restrict src, int64_t n, int32_t *restrict dst)
{
    const double shift = SHIFT_DOUBLE;
    int64_t is_bad = 0;

    for (int64_t i = 0; i < n; i++) {
        double shifted = src[i] + shift;
        uint64_t bits;

        memcpy(&bits, &shifted, sizeof(bits));
        dst[i] = (int32_t)(uint32_t)bits; /* the low half of the shift is zero */
        is_bad |= shifted - shift != src[i];
        is_bad |= !(fabs(src[i]) <= (double)KS_RESULT_MAX);
    }
    return is_bad == 0;
}

int ks_exact_data(const float *src, int64_t n, int32_t *dst, struct ks_err *err)
{
    if (is_exact_data(src, n, dst))
        return 0;
    return ks_fail(err, KS_EINVAL, "operands are not exact data: integers up to %d", KS_EXACT_MAX);
}

bool ks_exact_results(const double *src, int64_t n, int32_t *dst)
{
    return is_exact_result(src, n, dst);
}

void ks_turn(const int32_t *from, int64_t n_rows, int64_t n_columns, int32_t *to)
{
    for (int64_t first = 0; first < n_rows; first += TILE)
        for (int64_t column = 0; column < n_columns; column++)
            for (int64_t row = first; row < n_rows && row < first + TILE; row++)
                to[column * n_rows + row] = from[row * n_columns + column];
}

KS_CLONES static void dot(const int32_t *restrict x, const int32_t *restrict low,
                          const int32_t *restrict high, int64_t n, int64_t sums_out[2])
{
    int64_t sum_low = 0, sum_high = 0;

    for (int64_t i = 0; i < n; i++) {
        sum_low += (int64_t)x[i] * low[i];
        sum_high += (int64_t)x[i] * high[i];
    }
    sums_out[0] = sum_low;
    sums_out[1] = sum_high;
}

__int128 ks_residue_dot(const int32_t *x, const struct ks_residues *r, int64_t first, int64_t n,
                        int64_t max)
{
    __int128 sum = 0;

    for (int64_t at = 0; at < n; at += ROOM / max) {
        int64_t some = n - at < ROOM / max ? n - at : ROOM / max;
        int64_t sums[2];

        dot(x + at, r->low + first + at, r->high + first + at, some, sums);
        sum += join(sums[1], sums[0]);
    }
    return sum;
}

void ks_residue_sums_clear(struct ks_residue_sums *s)
{
    memset(s->low, 0, (size_t)s->n * sizeof(*s->low));
    memset(s->high, 0, (size_t)s->n * sizeof(*s->high));
    s->room = ROOM;
}

uint64_t ks_residue_sums_get(const struct ks_residue_sums *s, int64_t i)
{
    return ks_modulo(join(s->high[i], s->low[i]));
}

void ks_residue_sums_reserve(struct ks_residue_sums *s, int64_t max)
{
    if (s->room < max) {
        for (int64_t i = 0; i < s->n; i++) {
            uint64_t settled = ks_residue_sums_get(s, i);

            s->low[i] = (int64_t)(settled & LOW_MASK);
            s->high[i] = (int64_t)(settled >> LOW_BITS);
        }
        s->room = ROOM;
    }
    s->room -= max;
}

KS_CLONES static void add_scaled(int64_t *restrict low, int64_t *restrict high,
                                 const int32_t *restrict x, int64_t n, int32_t v_low,
                                 int32_t v_high)
{
    for (int64_t i = 0; i < n; i++) {
        low[i] += (int64_t)x[i] * v_low;
        high[i] += (int64_t)x[i] * v_high;
    }
}

void ks_residue_sums_add(struct ks_residue_sums *s, const int32_t *x, uint64_t v)
{
    add_scaled(s->low, s->high, x, s->n, (int32_t)(v & LOW_MASK), (int32_t)(v >> LOW_BITS));
}

KS_CLONES static void add_each(int64_t *restrict low, int64_t *restrict high,
                               const int32_t *restrict x, const int32_t *restrict v_low,
                               const int32_t *restrict v_high, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        low[i] += (int64_t)x[i] * v_low[i];
        high[i] += (int64_t)x[i] * v_high[i];
    }
}

void ks_residue_sums_add_each(struct ks_residue_sums *s, int64_t first, const int32_t *x,
                              const struct ks_residues *r, int64_t n)
{
    add_each(s->low + first, s->high + first, x, r->low, r->high, n);
}
