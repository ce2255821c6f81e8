/* SPDX-License-Identifier: MIT */
/* elements.c - converts many elements at once, as element.c does */
/* Integer arithmetic on the bits: neither a rounding mode nor flushing of subnormals that a kernel
 * left behind can touch it. */
#include "op/clones.h"
#include "op/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 1024

KS_CLONES static void floats_from_bf16(const uint16_t *restrict src, int64_t n, float *restrict dst)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t word = (uint32_t)src[i] << 16;

        memcpy(&dst[i], &word, sizeof(word));
    }
}

/* The exponent is rebased by 112, twice where it means infinity or NaN. */
KS_CLONES static void floats_from_fp16(const uint16_t *restrict src, int64_t n, float *restrict dst)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t magnitude = src[i] & 0x7fffu;
        uint32_t word = (magnitude << 13) + (112u << 23);
        float subnormal = (float)(int32_t)magnitude * 0x1p-24F;
        uint32_t small;

        memcpy(&small, &subnormal, sizeof(small));
        word += magnitude >= 0x7c00 ? 112u << 23 : 0;
        word = magnitude < 0x400 ? small : word;
        word |= (src[i] & 0x8000u) << 16;
        memcpy(&dst[i], &word, sizeof(word));
    }
}

void ks_elements_to_floats(const void *base, int64_t n, uint32_t dtype, float *floats_out)
{
    if (dtype == KS_FP32)
        memcpy(floats_out, base, (size_t)n * sizeof(float));
    else if (dtype == KS_BF16)
        floats_from_bf16(base, n, floats_out);
    else
        floats_from_fp16(base, n, floats_out);
}

/* To the bits of fp32. False unless all are whole numbers that fp32 holds. */
KS_CLONES static bool whole_floats(const double *restrict src, int64_t n, uint32_t *restrict words)
{
    int64_t is_bad = 0;

    for (int64_t i = 0; i < n; i++) {
        double shifted = src[i] + 0x1.8p52; /* drops what is no whole number */
        float single = (float)src[i];

        memcpy(&words[i], &single, sizeof(single));
        is_bad |= shifted - 0x1.8p52 != src[i];
        is_bad |= !(fabs(src[i]) <= 0x1p24);
    }
    return is_bad == 0;
}

KS_CLONES static void whole_to_bf16(const uint32_t *restrict words, int64_t n,
                                    uint16_t *restrict dst)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = (uint16_t)((words[i] + 0x7fff + (words[i] >> 16 & 1)) >> 16);
}

KS_CLONES static void whole_to_fp16(const uint32_t *restrict words, int64_t n,
                                    uint16_t *restrict dst)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t magnitude = words[i] & 0x7fffffffu;
        uint32_t rounded = (magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13;
        uint32_t half = magnitude ? rounded - (112u << 10) : 0;

        half = half > 0x7c00 ? 0x7c00 : half;
        dst[i] = (uint16_t)(half | (words[i] >> 16 & 0x8000));
    }
}

void ks_elements_round(const double *src, int64_t n, uint32_t dtype, void *dst)
{
    uint32_t words[CHUNK];
    size_t bytes = ks_dtype_bytes(dtype);

    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t some = n - at < CHUNK ? n - at : CHUNK;
        char *to = (char *)dst + (size_t)at * bytes;

        if (!whole_floats(src + at, some, words))
            for (int64_t i = 0; i < some; i++)
                ks_element_set(to, i, dtype, src[at + i]);
        else if (dtype == KS_FP32)
            memcpy(to, words, (size_t)some * bytes);
        else if (dtype == KS_BF16)
            whole_to_bf16(words, some, (uint16_t *)(void *)to);
        else
            whole_to_fp16(words, some, (uint16_t *)(void *)to);
    }
}

int ks_operand_floats(const void *src, int64_t n, uint32_t dtype, float **owned_out,
                      const float **floats_out, struct ks_err *err)
{
    float *floats = NULL;

    if (dtype != KS_FP32) {
        floats = malloc((size_t)n * sizeof(float));
        if (!floats)
            return ks_fail(err, KS_ENOMEM, "no memory for an operand of the reference");
        ks_elements_to_floats(src, n, dtype, floats);
    }
    *owned_out = floats;
    *floats_out = floats ? floats : src;
    return 0;
}
