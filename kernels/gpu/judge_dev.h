/* SPDX-License-Identifier: MIT */
/* judge_dev.h - what the judge's kernels of all types share: doubles by the host's arithmetic, the
 * digest's mix, and a block's share of an answer. */
#ifndef KS_GPU_JUDGE_DEV_H
#define KS_GPU_JUDGE_DEV_H

#include "dev.h"
#include "judge_args.h"
#if KS_GPU_TARGET == 3
#include "emu/simt_clock.h"
#endif

typedef unsigned long long ks_u64;

#define KS_JUDGE_NOWHERE (~0ull)                /* KS_JUDGE_NONE */
#define KS_DOUBLE_MAX    0x1.fffffffffffffp1023 /* DBL_MAX */
#define KS_DOUBLE_INF    0x7ff0000000000000ull  /* bits of infinity; NaN has more */

/* Two doubles in one load. */
#if KS_GPU_TARGET == 2
typedef struct __align__(16)
{
    double v[2];
}
ks_two_doubles;
typedef struct __align__(16)
{
    unsigned v[4];
}
ks_four_words;
#else
typedef double ks_two_doubles __attribute__((vector_size(16), may_alias));
typedef unsigned ks_four_words __attribute__((vector_size(16), may_alias));
#endif

/* No product is fused with a sum: compilers are told to fuse wherever they can, and where -- they
 * do not heed a pragma then -- they must not see through. */
#if KS_GPU_TARGET == 2
KS_DEV double ks_mul_f64(double a, double b)
{
    return __dmul_rn(a, b);
}
KS_DEV double ks_add_f64(double a, double b)
{
    return __dadd_rn(a, b);
}
KS_DEV double ks_abs_f64(double v)
{
    return fabs(v);
}
KS_DEV double ks_div_f64(double a, double b)
{
    return __ddiv_rn(a, b);
}
KS_DEV ks_u64 ks_bits_of_f64(double v)
{
    return (ks_u64)__double_as_longlong(v);
}
KS_DEV double ks_f64_of(ks_u64 bits)
{
    return __longlong_as_double((long long)bits);
}
#else
KS_DEV double ks_mul_f64(double a, double b)
{
    double v = a * b;
#if KS_GPU_TARGET == 1
    asm("" : "+v"(v));
#else
    __asm__("" : "+m"(v));
#endif
    return v;
}
KS_DEV double ks_add_f64(double a, double b)
{
    return a + b;
}
KS_DEV double ks_abs_f64(double v)
{
    return __builtin_fabs(v);
}
KS_DEV double ks_div_f64(double a, double b)
{
    return a / b;
}
KS_DEV ks_u64 ks_bits_of_f64(double v)
{
    ks_u64 bits;
    __builtin_memcpy(&bits, &v, 8);
    return bits;
}
KS_DEV double ks_f64_of(ks_u64 bits)
{
    double v;
    __builtin_memcpy(&v, &bits, 8);
    return v;
}
#endif

/* Word i of the mask: judge.h says which. */
KS_DEV ks_u64 ks_judge_mask(const ks_u64 *key, ks_u64 i)
{
    ks_u64 x = key[0] + i * 0x9e3779b97f4a7c15ull;
    if ((key[0] | key[1]) == 0)
        return 0;
    x = ((x ^ (x >> 32)) * 0xbf58476d1ce4e5b9ull) ^ key[1];
    x = (x ^ (x >> 29)) * 0x94d049bb133111ebull;
    return x ^ (x >> 32);
}

/* Number i of a masked array: what to store for v, or what it was that is stored as v. A double may
 * have any bits then; moving it changes none. */
KS_DEV double ks_judge_turn(const ks_u64 *key, ks_u64 base, double v, long i)
{
    return ks_f64_of(ks_bits_of_f64(v) ^ ks_judge_mask(key, base + (ks_u64)i));
}

/* Whether a vector of so many bytes may be loaded from there. */
KS_DEV int ks_is_aligned(const void *at, int bytes)
{
    return ((unsigned long)at & (unsigned long)(bytes - 1)) == 0;
}

/* The next digit of an index. */
KS_DEV int ks_judge_take(ks_u64 *rest, int extent)
{
    const ks_u64 n = *rest;
    if (extent == 1)
        return 0;
    *rest = n >> 32 ? n / (unsigned)extent : (unsigned)n / (unsigned)extent;
    return (int)(n - *rest * (unsigned)extent);
}

/* Of an element of the output: offsets that its digits lead to, and its pixel (tap), x first. */
struct ks_judge_place {
    long a, b;
    int to[3];
};

KS_DEV struct ks_judge_place ks_judge_place(const struct ks_judge_sums *p, long element)
{
    struct ks_judge_place at = { 0 };
    ks_u64 rest = (ks_u64)element;
    KS_UNROLL
    for (int i = 0; i < KS_JUDGE_DIGITS; i++) {
        const int digit = ks_judge_take(&rest, p->digit[i].extent);
        at.a += digit * p->digit[i].a;
        at.b += digit * p->digit[i].b;
        if (i >= KS_JUDGE_X && i < KS_JUDGE_X + 3)
            at.to[i - KS_JUDGE_X] = digit;
    }
    return at;
}

/* A double's encoding in a type of `mantissa` stored bits whose smallest normal number has the
 * exponent `least`, to nearest, ties to even: encode() of src/op/element.c. On integers, so that a
 * double is rounded once. */
KS_DEV unsigned ks_judge_encode(ks_u64 bits, int mantissa, int least)
{
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023, most = 1 - least;
    const unsigned infinity = (unsigned)(most - least + 2) << mantissa;
    const ks_u64 fraction = (bits & 0xfffffffffffffull) | 1ull << 52;
    const int shift = 52 - mantissa + (exponent < least ? least - exponent : 0);
    if (exponent == 1024)
        return fraction != 1ull << 52 ? infinity | 1u << (mantissa - 1) : infinity;
    if (exponent > most)
        return infinity;
    if (shift > 53) /* below half of the smallest subnormal */
        return 0;
    const ks_u64 rest = fraction & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    ks_u64 q = fraction >> shift;
    q += rest > half || (rest == half && (q & 1));
    /* A carry out of the mantissa steps the exponent, up to infinity. */
    if (exponent >= least)
        q += (ks_u64)(exponent - least) << mantissa;
    return (unsigned)q;
}

/* ks_mix64() of src/base/hash.h, of word i. */
KS_DEV ks_u64 ks_judge_mix(ks_u64 i, unsigned word)
{
    ks_u64 x = (i << 32 | word) + 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Of the words of 16 bytes, of which there are v before. */
KS_DEV ks_u64 ks_judge_mix_four(ks_four_words w, long v)
{
    ks_u64 sum = 0;
    KS_UNROLL
    for (int i = 0; i < 4; i++)
        sum += ks_judge_mix((ks_u64)(4 * v + i), KS_V(w, i));
    return sum;
}

/* Of word i, of which there are n bytes, 1 to 3; the others are zeros. */
KS_DEV ks_u64 ks_judge_mix_last(const unsigned char *bytes, long i, long n)
{
    unsigned word = bytes[0];
    if (n > 1)
        word |= (unsigned)bytes[1] << 8;
    if (n > 2)
        word |= (unsigned)bytes[2] << 16;
    return ks_judge_mix((ks_u64)i, word);
}

KS_DEV struct ks_judge_share ks_judge_share_of_none(void)
{
    const struct ks_judge_share none = { 0, KS_JUDGE_NOWHERE, 0, 0, 0 };
    return none;
}

/* Bit i of `wrong`: element first + i is. */
KS_DEV void ks_judge_wrong(struct ks_judge_share *s, unsigned wrong, long first)
{
    KS_NO_UNROLL
    for (ks_u64 i = (ks_u64)first; wrong; wrong >>= 1, i++)
        if (wrong & 1) {
            s->n_wrong++;
            s->first = i < s->first ? i : s->first;
        }
}

KS_DEV void ks_judge_join(struct ks_judge_share *s, const struct ks_judge_share *t)
{
    s->n_wrong += t->n_wrong;
    s->first = t->first < s->first ? t->first : s->first;
    s->n_zero += t->n_zero;
    s->digest += t->digest;
    s->max_error = t->max_error > s->max_error ? t->max_error : s->max_error;
}

/* The shares of a block's threads become one, in out[block]. */
KS_DEV void ks_judge_reduce(struct ks_judge_share mine, void *lds, void *out)
{
    struct ks_judge_share *const all = (struct ks_judge_share *)lds;
    const int tid = ks_tid();
    all[tid] = mine;
    for (int half = KS_JUDGE_BLOCK / 2; half > 0; half /= 2) {
        ks_sync();
        if (tid < half) {
            const struct ks_judge_share other = all[tid + half];
            ks_judge_join(&mine, &other);
            all[tid] = mine;
        }
    }
    if (tid == 0)
        ((struct ks_judge_share *)out)[ks_block_x()] = mine;
}

/* Counters of the compute unit that runs this. AMD from gfx11 on has no 64-bit counter of cycles:
 * cycles 0. Its s_memrealtime counts at 100 MHz; HW_ID from bit 8 on tells a unit from the others
 * of its die. Source: AMD, CDNA 3 and RDNA 2 instruction set guides; NVIDIA, PTX special
 * registers. */
KS_DEV struct ks_judge_moment ks_judge_now(void)
{
    struct ks_judge_moment m = { 0, 0, 0 };
#if KS_GPU_TARGET == 2
    unsigned unit;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    asm volatile("mov.u64 %0, %%clock64;\n\tmov.u64 %1, %%globaltimer;"
                 : "=l"(m.cycles), "=l"(m.ns));
    m.unit = unit;
#elif KS_GPU_TARGET == 3
    m.unit = (ks_u64)ks_block_x();
    m.ns = ks_simt_ns();
    m.cycles = m.ns * KS_SIMT_MHZ / 1000;
#elif defined(__GFX9__) || defined(__GFX10__)
    m.cycles = __builtin_amdgcn_s_memtime();
    m.ns = __builtin_amdgcn_s_memrealtime() * 10;
#ifdef __GFX9__
    m.unit = (unsigned)__builtin_amdgcn_s_getreg(4 | 8 << 6 | 7 << 11);
#else
    m.unit = (unsigned)__builtin_amdgcn_s_getreg(23 | 8 << 6 | 11 << 11);
#endif
#if defined(__gfx942__) || defined(__gfx950__)
    m.unit |= (unsigned)__builtin_amdgcn_s_getreg(20 | 0 << 6 | 3 << 11) << 16; /* XCC_ID */
#endif
#endif
    return m;
}

#endif
