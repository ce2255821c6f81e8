/* SPDX-License-Identifier: MIT */
/* inputs.c - fills a problem's operands, exact or random, from a counter-based generator */
/* Element i is a function of (problem id, kind, operand, i) alone, in integer arithmetic, so every
 * machine and every vector width gives the same bits. */
#include "op/clones.h"
#include "op/op.h"

#include "base/hash.h"

#include <string.h>

#define CHUNK     1024
#define SUM_LIMIT ((int64_t)1 << 22) /* exact data: bound of every sum of magnitudes */
#define ALL_KEPT  0x80000000u        /* above every 31-bit number */

int ks_problem_exact_q(const struct ks_problem *p)
{
    int64_t length = ks_operators[p->op]->reduction(p);

    for (int q = 3; q > 0; q--)
        if (q * q * length < SUM_LIMIT)
            return q;
    return 0;
}

/* The numbers 2 first, 2 first + 1, ... of the generator: two of 32 bits from each ks_mix64 of the
 * splitmix64 sequence that starts at seed. Written out here so that the loop can be vectorised;
 * a unit test holds it against ks_mix64. */
KS_CLONES static void fill_words(uint32_t *restrict dst, uint64_t seed, uint64_t first)
{
    uint64_t state = seed + (first + 1) * 0x9e3779b97f4a7c15u;

    for (uint64_t i = 0; i < CHUNK / 2; i++) {
        uint64_t z = state + i * 0x9e3779b97f4a7c15u;

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        dst[2 * i] = (uint32_t)z;
        dst[2 * i + 1] = (uint32_t)(z >> 32);
    }
}

/* In place: random words to the bits of fp32 numbers +-[0.5, 1.5). Bit 23 chooses the binade,
 * [0.5, 1) with 23 mantissa bits or [1, 1.5) with 22: uniform, and every mantissa bit is used.
 * Cutting low mantissa bits off gives the same for shorter types. */
KS_CLONES static void words_to_random(uint32_t *words)
{
    for (int i = 0; i < CHUNK; i++) {
        uint32_t w = words[i];
        uint32_t binade = w >> 23 & 1;
        uint32_t mantissa = w & (0x7fffffu ^ binade << 22);

        words[i] = (w & 0x80000000u) | (0x3f000000u + (binade << 23) + mantissa);
    }
}

/* In place: random words to the bits of fp32 integers +-1..+-q, or 0 where the low 31 bits are not
 * below keep. */
KS_CLONES static void words_to_exact(uint32_t *words, uint32_t q, uint32_t keep)
{
    for (int i = 0; i < CHUNK; i++) {
        uint32_t w = words[i];
        float magnitude = (float)(int)(1 + ((w & 0xffff) * q >> 16));
        uint32_t bits;

        memcpy(&bits, &magnitude, sizeof(bits));
        bits |= w & 0x80000000u;
        words[i] = (w & 0x7fffffffu) < keep ? bits : 0;
    }
}

/* The low bits that the type lacks are zero or cut off; zero and normal numbers only. */
static void store_half(const uint32_t *words, size_t n, uint32_t dtype, uint16_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t magnitude = words[i] & 0x7fffffffu;
        uint32_t fp16 = magnitude ? (magnitude - (112u << 23)) >> 13 : 0;
        uint32_t half = dtype == KS_BF16 ? magnitude >> 16 : fp16;

        dst[i] = (uint16_t)(half | (words[i] >> 16 & 0x8000));
    }
}

/* Density of a sparse operand as a threshold for 31-bit numbers: sums of about 2^21 non-zero
 * products stay below 2^22 by more than a thousand standard deviations. */
static uint32_t keep_below(const struct ks_problem *p, int q, char operand)
{
    double length;

    if (q > 0 || operand != 'a')
        return ALL_KEPT;
    length = (double)ks_operators[p->op]->reduction(p);
    return (uint32_t)((double)ALL_KEPT * ((double)(SUM_LIMIT / 2) / length));
}

void ks_problem_inputs(const struct ks_problem *p, enum ks_data data, char operand, void *dst)
{
    struct ks_extents extents = ks_operators[p->op]->extents(p);
    int64_t n = operand == 'a' ? extents.a : extents.b;
    uint64_t seed = ks_mix64(p->id ^ ((uint64_t)data << 8 | (uint64_t)(unsigned char)operand));
    int q = ks_problem_exact_q(p);
    uint32_t keep = keep_below(p, q, operand);
    uint32_t words[CHUNK];

    for (int64_t at = 0; at < n; at += CHUNK) {
        size_t some = n - at < CHUNK ? (size_t)(n - at) : CHUNK;

        fill_words(words, seed, (uint64_t)at / 2);
        if (data == KS_DATA_RANDOM)
            words_to_random(words);
        else
            words_to_exact(words, q ? (uint32_t)q : 1, keep);
        if (p->dtype == KS_FP32)
            memcpy((float *)dst + at, words, some * sizeof(words[0]));
        else
            store_half(words, some, p->dtype, (uint16_t *)dst + at);
    }
}
