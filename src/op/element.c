/* SPDX-License-Identifier: MIT */
/* element.c - converts single elements of fp32, fp16 and bf16 to and from double, bit by bit */
#include "op/op.h"

#include <math.h>
#include <string.h>

/* An IEEE-like binary format of 16 or 32 bits. */
struct format {
    int mantissa_bits; /* stored ones */
    int exponent_min;  /* of the smallest normal number */
    int exponent_max;
};
static const struct format formats[KS_N_DTYPES] = {
    [KS_FP32] = { 23, -126, 127 }, [KS_FP16] = { 10, -14, 15 }, [KS_BF16] = { 7, -126, 127 }
};
static const size_t format_bytes[KS_N_DTYPES] = { [KS_FP32] = 4, [KS_FP16] = 2, [KS_BF16] = 2 };

size_t ks_dtype_bytes(uint32_t dtype)
{
    return dtype < KS_N_DTYPES ? format_bytes[dtype] : 0;
}

static uint64_t double_bits(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* Round to nearest even on the integers, so that neither double rounding nor a rounding mode left
 * behind by a kernel can touch it. Returns the encoding without the sign. */
static uint32_t encode(const struct format *f, uint64_t bits)
{
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t fraction = bits & 0xfffffffffffff;
    uint32_t infinity = (uint32_t)(f->exponent_max - f->exponent_min + 2) << f->mantissa_bits;
    uint64_t q, rest, half;
    int shift = 52 - f->mantissa_bits;

    if (exponent == 1024)
        return fraction ? infinity | 1u << (f->mantissa_bits - 1) : infinity;
    if (exponent > f->exponent_max)
        return infinity;
    if (exponent < f->exponent_min)
        shift += f->exponent_min - exponent;
    if (shift > 53) /* below half of the smallest subnormal */
        return 0;
    fraction |= (uint64_t)1 << 52;
    q = fraction >> shift;
    rest = fraction & (((uint64_t)1 << shift) - 1);
    half = (uint64_t)1 << (shift - 1);
    if (rest > half || (rest == half && (q & 1)))
        q++;
    /* A carry out of the mantissa steps the exponent, up to infinity: the encodings are ordered. */
    if (exponent >= f->exponent_min)
        q += (uint64_t)(exponent - f->exponent_min) << f->mantissa_bits;
    return (uint32_t)q;
}

/* A normal double. */
static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static double decode(const struct format *f, uint32_t magnitude)
{
    uint32_t exponent = magnitude >> f->mantissa_bits;
    uint32_t fraction = magnitude & ((1u << f->mantissa_bits) - 1);
    uint32_t special = (uint32_t)(f->exponent_max - f->exponent_min + 2);

    if (exponent == special)
        return fraction ? (double)NAN : (double)INFINITY;
    if (exponent == 0)
        return fraction * power_of_two(f->exponent_min - f->mantissa_bits);
    fraction |= 1u << f->mantissa_bits;
    return fraction * power_of_two(f->exponent_min - f->mantissa_bits + (int)exponent - 1);
}

double ks_element_get(const void *base, int64_t i, uint32_t dtype)
{
    uint16_t half;
    float single;
    double magnitude;

    if (dtype == KS_FP32) {
        memcpy(&single, (const char *)base + 4 * i, sizeof(single));
        return single;
    }
    memcpy(&half, (const char *)base + 2 * i, sizeof(half));
    magnitude = decode(&formats[dtype], half & 0x7fff);
    return half & 0x8000 ? -magnitude : magnitude;
}

void ks_element_set(void *base, int64_t i, uint32_t dtype, double v)
{
    uint64_t bits = double_bits(v);
    uint32_t magnitude = encode(&formats[dtype], bits & INT64_MAX);
    uint32_t word = magnitude | (uint32_t)(bits >> 63) << 31;
    uint16_t half = (uint16_t)(magnitude | (uint32_t)(bits >> 63) << 15);

    if (dtype == KS_FP32)
        memcpy((char *)base + 4 * i, &word, sizeof(word));
    else
        memcpy((char *)base + 2 * i, &half, sizeof(half));
}
