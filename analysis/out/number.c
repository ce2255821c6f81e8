/* SPDX-License-Identifier: MIT */
/* number.c - prints numbers with the fewest digits that read back */
/* A finite v = m 2^-s, with m < 2^53, is scaled by 10^p so that `digits` digits stand before the
 * point: X = m 10^p, in units of 2^-s. All of it fits 128 bits, so that rounding and the comparison
 * with the neighbours of v are exact. What does not fit goes to snprintf. */
#include "analysis/out/number.h"
#include "base/buf.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

#define MAX_POWER 22 /* 2^53 10^22 < 2^127 */
#define MAX_SHIFT 66 /* 10^17 2^66 < 2^123 */

struct scaled {
    uint64_t m;
    int s, p, k; /* k: 10^k <= v < 10^(k + 1) */
    bool is_power_of_two;
    u128 x;
    uint64_t whole; /* x >> s */
    u128 rest;      /* what is shifted out */
    u128 ulp;       /* from v to the next number, scaled: 10^p */
};

static uint64_t pow10_u64(int n)
{
    static const uint64_t powers[] = { 1ull,
                                       10ull,
                                       100ull,
                                       1000ull,
                                       10000ull,
                                       100000ull,
                                       1000000ull,
                                       10000000ull,
                                       100000000ull,
                                       1000000000ull,
                                       10000000000ull,
                                       100000000000ull,
                                       1000000000000ull,
                                       10000000000000ull,
                                       100000000000000ull,
                                       1000000000000000ull,
                                       10000000000000000ull,
                                       100000000000000000ull,
                                       1000000000000000000ull,
                                       10000000000000000000ull };

    return powers[n];
}

static u128 pow10_u128(int n)
{
    return n <= 19 ? pow10_u64(n) : (u128)pow10_u64(19) * pow10_u64(n - 19);
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

static size_t put_digits(uint64_t v, char *out)
{
    char text[24];
    char *at = text + sizeof(text);
    size_t n;

    for (; v >= 100; v /= 100) {
        at -= 2;
        memcpy(at, pairs + 2 * (v % 100), 2);
    }
    if (v >= 10) {
        at -= 2;
        memcpy(at, pairs + 2 * v, 2);
    } else {
        *--at = (char)('0' + v);
    }
    n = (size_t)(text + sizeof(text) - at);
    memcpy(out, at, n);
    out[n] = '\0';
    return n;
}

size_t ks_u64_text(uint64_t v, char text_out[KS_NUMBER_TEXT])
{
    return put_digits(v, text_out);
}

size_t ks_i64_text(int64_t v, char text_out[KS_NUMBER_TEXT])
{
    text_out[0] = '-';
    return v < 0 ? 1 + put_digits(0 - (uint64_t)v, text_out + 1)
                 : put_digits((uint64_t)v, text_out);
}

size_t ks_hex_text(uint64_t v, char text_out[KS_NUMBER_TEXT])
{
    for (int i = 15; i >= 0; i--, v >>= 4)
        text_out[i] = "0123456789abcdef"[v & 15];
    text_out[16] = '\0';
    return 16;
}

/* ---- scaling ---- */

/* An estimate of k for 2^e <= v < 2^(e + 1): right or one too small. */
static int magnitude(int e)
{
    return e >= 0 ? e * 78913 / (1 << 18) : -((-e * 78913 + (1 << 18) - 1) / (1 << 18));
}

static bool scale_by(struct scaled *z, int digits)
{
    z->p = digits - 1 - z->k;
    if (z->p < 0 || z->p > MAX_POWER)
        return false;
    z->ulp = pow10_u128(z->p);
    z->x = z->m * z->ulp;
    z->whole = (uint64_t)(z->x >> z->s);
    z->rest = z->x & (((u128)1 << z->s) - 1);
    return true;
}

/* v > 0 and not subnormal. mantissa: bits of it in the format that v came from. */
static bool scale(double v, int mantissa, int digits, struct scaled *z)
{
    uint64_t bits;
    int e;

    memcpy(&bits, &v, sizeof(bits));
    e = (int)(bits >> 52) - 1023;
    z->m = ((bits & ((1ull << 52) - 1)) | 1ull << 52) >> (53 - mantissa);
    z->s = mantissa - 1 - e;
    z->is_power_of_two = z->m == 1ull << (mantissa - 1);
    z->k = magnitude(e);
    if (z->s <= 0 || z->s > MAX_SHIFT || !scale_by(z, digits))
        return false;
    if (z->whole >= pow10_u64(digits))
        z->k++;
    else if (z->whole < pow10_u64(digits - 1))
        z->k--;
    else
        return true;
    return scale_by(z, digits) && z->whole < pow10_u64(digits) && z->whole >= pow10_u64(digits - 1);
}

/* ---- rounding ---- */

/* v cut to some digits: head, in units of `unit`, and what is cut off, in units of 2^-s. */
struct cut {
    uint64_t head, unit;
    u128 part, whole; /* of one unit of head */
};

static struct cut cut_to(const struct scaled *z, uint64_t head, uint64_t unit)
{
    return (struct cut){ .head = head,
                         .unit = unit,
                         .part = (u128)(z->whole - head * unit) << z->s | z->rest,
                         .whole = (u128)unit << z->s };
}

/* To the nearest, ties to even. */
static bool is_up(const struct cut *c)
{
    u128 twice = 2 * c->part;

    return twice > c->whole || (twice == c->whole && c->head % 2);
}

/* Does the rounded number read back as v? Its distance is less than that to halfway to the
 * neighbour. */
static bool reads_back(const struct scaled *z, const struct cut *c)
{
    u128 distance = is_up(c) ? c->whole - c->part : c->part;
    unsigned halves = z->is_power_of_two && !is_up(c) ? 4 : 2;

    return halves * distance < z->ulp || (halves * distance == z->ulp && z->m % 2 == 0);
}

/* ---- text, as %g lays it out ---- */

static size_t put_exponent(int k, char *out)
{
    size_t n = 0;

    out[n++] = 'e';
    out[n++] = k < 0 ? '-' : '+';
    if (abs(k) < 10)
        out[n++] = '0';
    return n + put_digits((uint64_t)abs(k), out + n);
}

static size_t put_fixed(const char *digits, size_t n_digits, int k, char *out)
{
    size_t n = 0, n_whole = k < 0 ? 0 : (size_t)k + 1;

    if (k < 0) {
        memcpy(out, "0.0000", 6);
        n = 2 + (size_t)(-k - 1);
    }
    for (size_t i = 0; i < n_digits || i < n_whole; i++) {
        if (n_whole && i == n_whole)
            out[n++] = '.';
        out[n++] = i < n_digits ? digits[i] : '0';
    }
    out[n] = '\0';
    return n;
}

static size_t lay_out(uint64_t rounded, int precision, int k, char *out)
{
    char digits[24];
    size_t n_digits, n = 0;

    if (rounded == pow10_u64(precision)) { /* 9.99 became 10.0 */
        rounded = pow10_u64(precision - 1);
        k++;
    }
    n_digits = put_digits(rounded, digits);
    while (n_digits > 1 && digits[n_digits - 1] == '0')
        n_digits--;
    if (k >= -4 && k < precision)
        return put_fixed(digits, n_digits, k, out);
    out[n++] = digits[0];
    if (n_digits > 1) {
        out[n++] = '.';
        memcpy(out + n, digits + 1, n_digits - 1);
        n += n_digits - 1;
    }
    return n + put_exponent(k, out + n);
}

/* If a number of some digits reads back, one of more digits does, too, being no farther away; only
 * below a power of two, where the interval is narrower, that need not be so. Measured times need
 * nearly all of the digits, so that the search starts there. */
static size_t shortest(const struct scaled *z, int least, int most, char *out)
{
    struct cut c = cut_to(z, z->whole, 1);
    uint64_t best = c.head + is_up(&c);
    int digits = most;

    for (int d = most - 1; d >= least; d--) {
        c = cut_to(z, c.head / 10, c.unit * 10);
        if (reads_back(z, &c)) {
            best = c.head + is_up(&c);
            digits = d;
        } else if (!z->is_power_of_two) {
            break;
        }
    }
    return lay_out(best, digits, z->k, out);
}

/* Whole numbers that %.<least>g shows with all of their digits. */
static bool is_small_whole(double v, double limit)
{
    return v < limit && !(v < (double)(uint64_t)v) && !(v > (double)(uint64_t)v);
}

size_t ks_f32_text(double v, char text_out[KS_NUMBER_TEXT])
{
    struct scaled z;

    if (!signbit(v) && is_small_whole(v, 1e6))
        return put_digits((uint64_t)v, text_out);
    if (v > 1e-30 && v < 1e10 && scale(v, 24, 9, &z))
        return shortest(&z, 6, 9, text_out);
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text_out, KS_NUMBER_TEXT, "%.*g", digits, v);
        if (strtof(text_out, NULL) == (float)v)
            break;
    }
    return strlen(text_out);
}

size_t ks_real_text(double v, char text_out[KS_NUMBER_TEXT])
{
    struct scaled z;

    if (!signbit(v) && is_small_whole(v, 1e15))
        return put_digits((uint64_t)v, text_out);
    if (v > 1e-5 && v < 1e17 && scale(v, 53, 17, &z))
        return shortest(&z, 15, 17, text_out);
    ks_f64_text(v, text_out);
    return strlen(text_out);
}
