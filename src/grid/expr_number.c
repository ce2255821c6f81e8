/* SPDX-License-Identifier: MIT */
/* expr_number.c - Python's arithmetic and order of whole and real numbers, without overflow */
#include "grid/expr_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const out_of_range = "number out of range";
static const char *const by_zero = "division by zero";

static double real_of(const struct ks_expr_value *v)
{
    return v->kind == KS_EXPR_IS_INT ? (double)v->whole : v->real;
}

static const char *give_int(bool is_over, int64_t v, struct ks_expr_value *out)
{
    if (is_over)
        return out_of_range;
    *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_INT, .whole = v };
    return NULL;
}

static const char *give_real(double v, struct ks_expr_value *out)
{
    if (!isfinite(v))
        return out_of_range;
    *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_REAL, .real = v };
    return NULL;
}

/* Rounded once, as in Python, as long as both are exact as real numbers. */
static const char *divide_int(int64_t a, int64_t b, struct ks_expr_value *out)
{
    const int64_t most = (int64_t)1 << 53;

    if (b == 0)
        return by_zero;
    if (a < -most || a > most || b < -most || b > most)
        return "/ takes whole numbers up to 2^53 (write // to round down)";
    return give_real((double)a / (double)b, out);
}

/* Rounds down; the remainder has the divisor's sign. */
static const char *floor_int(enum ks_expr_op op, int64_t a, int64_t b, struct ks_expr_value *out)
{
    int64_t quotient, rest;

    if (b == 0)
        return by_zero;
    if (b == -1)
        return op == KS_EXPR_MOD ? give_int(false, 0, out)
                                 : give_int(a == INT64_MIN, a == INT64_MIN ? 0 : -a, out);
    quotient = a / b;
    rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return give_int(false, op == KS_EXPR_MOD ? rest : quotient, out);
}

/* b >= 0. Beyond 63 steps only -1, 0 and 1 stay in range. */
static const char *power_int(int64_t a, int64_t b, struct ks_expr_value *out)
{
    int64_t v = 1;

    if (b > 64)
        b = 64 + b % 2;
    for (; b > 0; b--)
        if (__builtin_mul_overflow(v, a, &v))
            return out_of_range;
    return give_int(false, v, out);
}

static const char *power_real(double a, double b, struct ks_expr_value *out)
{
    if (a == 0 && b < 0)
        return by_zero;
    if (a < 0 && b != floor(b))
        return "a negative number has no real power that is not whole";
    return give_real(pow(a, b), out);
}

/* As CPython's float_divmod: the quotient is that of a - rest, which divides without rounding. */
static const char *floor_real(enum ks_expr_op op, double a, double b, struct ks_expr_value *out)
{
    double rest, quotient, below;

    if (b == 0)
        return by_zero;
    rest = fmod(a, b);
    quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        quotient -= 1;
    }
    if (op == KS_EXPR_MOD)
        return give_real(rest, out);
    below = floor(quotient);
    return give_real(quotient - below > 0.5 ? below + 1 : below, out);
}

static const char *on_ints(enum ks_expr_op op, int64_t a, int64_t b, struct ks_expr_value *out)
{
    bool is_over;
    int64_t v;

    switch (op) {
    case KS_EXPR_ADD:
        is_over = __builtin_add_overflow(a, b, &v);
        return give_int(is_over, v, out);
    case KS_EXPR_SUB:
        is_over = __builtin_sub_overflow(a, b, &v);
        return give_int(is_over, v, out);
    case KS_EXPR_MUL:
        is_over = __builtin_mul_overflow(a, b, &v);
        return give_int(is_over, v, out);
    case KS_EXPR_DIV:
        return divide_int(a, b, out);
    case KS_EXPR_POW:
        return b < 0 ? power_real((double)a, (double)b, out) : power_int(a, b, out);
    default:
        return floor_int(op, a, b, out);
    }
}

static const char *on_reals(enum ks_expr_op op, double a, double b, struct ks_expr_value *out)
{
    switch (op) {
    case KS_EXPR_ADD:
        return give_real(a + b, out);
    case KS_EXPR_SUB:
        return give_real(a - b, out);
    case KS_EXPR_MUL:
        return give_real(a * b, out);
    case KS_EXPR_DIV:
        return b == 0 ? by_zero : give_real(a / b, out);
    case KS_EXPR_POW:
        return power_real(a, b, out);
    default:
        return floor_real(op, a, b, out);
    }
}

static const char *on_one(enum ks_expr_op op, const struct ks_expr_value *a,
                          struct ks_expr_value *out)
{
    bool is_turned = op == KS_EXPR_NEG || (op == KS_EXPR_ABS && real_of(a) < 0);

    if (!is_turned) {
        *out = *a;
        return NULL;
    }
    if (a->kind == KS_EXPR_IS_REAL)
        return give_real(-a->real, out);
    return on_ints(KS_EXPR_SUB, 0, a->whole, out);
}

const char *ks_expr_arithmetic(enum ks_expr_op op, const struct ks_expr_value *a,
                               const struct ks_expr_value *b, struct ks_expr_value *out)
{
    if (op == KS_EXPR_NEG || op == KS_EXPR_PLUS || op == KS_EXPR_ABS)
        return on_one(op, a, out);
    if (a->kind == KS_EXPR_IS_INT && b->kind == KS_EXPR_IS_INT)
        return on_ints(op, a->whole, b->whole, out);
    return on_reals(op, real_of(a), real_of(b), out);
}

/* Exact: 2^53 + 1 is above 2.0^53. */
static int order_mixed(int64_t a, double b)
{
    int64_t whole;

    if (b >= 0x1p63)
        return -1;
    if (b < -0x1p63)
        return 1;
    whole = (int64_t)b;
    if (a != whole)
        return a < whole ? -1 : 1;
    return b > (double)whole ? -1 : b < (double)whole;
}

int ks_expr_order(const struct ks_expr_value *a, const struct ks_expr_value *b)
{
    if (a->kind == KS_EXPR_IS_TEXT)
        return strcmp(a->text, b->text);
    if (a->kind == KS_EXPR_IS_INT && b->kind == KS_EXPR_IS_INT)
        return a->whole < b->whole ? -1 : a->whole > b->whole;
    if (a->kind == KS_EXPR_IS_INT)
        return order_mixed(a->whole, b->real);
    if (b->kind == KS_EXPR_IS_INT)
        return -order_mixed(b->whole, a->real);
    return a->real < b->real ? -1 : a->real > b->real;
}
