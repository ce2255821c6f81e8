/* SPDX-License-Identifier: MIT */
/* signs.h - other inputs of the same problem, whose reference follows from that of the first.
 *
 * Every operator is a contraction: an element of the output has a row i and a column j, and is the
 * sum over l of products a(i, l) b(l, j). With signs x, y, t of +-1 for each row, column and
 * summand, a(i, l) becomes x(i) t(l) a(i, l) and b(l, j) becomes t(l) y(j) b(l, j). Each product,
 * and so each partial sum in any order that is rounded to nearest or toward zero, is what it was
 * times x(i) y(j), bit for bit: R becomes x(i) y(j) R, and A = sum |a||b| stays what it is. */
#ifndef KS_OP_SIGNS_H
#define KS_OP_SIGNS_H

#include "op/op.h"

enum ks_sign_class { KS_SIGN_ROW, KS_SIGN_COLUMN, KS_SIGN_SUM, KS_SIGN_CLASSES };

#define KS_SIGN_AXES 4

/* Where the signs of an operand's elements stand: its elements as an array of up to four axes,
 * slowest first. An element's index within a class is the sum over the axes of its place times the
 * axis' step. Along the last axis one class at most has a step, and that is 1. */
struct ks_sign_axis {
    int64_t extent; /* 1: unused */
    int64_t step[KS_SIGN_CLASSES];
};
struct ks_sign_map {
    struct ks_sign_axis axis[KS_SIGN_AXES];
    bool has[KS_SIGN_CLASSES]; /* a: row and sum, b: column and sum, c: row and column */
};

/* Signs to be changed, a byte each: KS_SIGN_BIT or 0. */
#define KS_SIGN_BIT 0x80u
struct ks_signs {
    struct ks_sign_map map[3]; /* of a, b, c */
    int64_t n[KS_SIGN_CLASSES];
    uint8_t *byte[KS_SIGN_CLASSES]; /* [n] each; the first is owned, the others lie behind it */
    uint64_t n_set;                 /* how often they were set: a copy with this number is theirs */
};

/* No sign is changed at first. KS_ENOMEM; *out untouched then. */
int ks_signs_create(const struct ks_problem *p, struct ks_signs *out, struct ks_err *err);
void ks_signs_release(struct ks_signs *s); /* a zeroed one is fine */

/* Set what must be changed to get from one set of signs to another. A seed stands for a set, chosen
 * at random but for the seed 0: all plus. */
void ks_signs_between(struct ks_signs *s, uint64_t from, uint64_t to);
/* Whether the first element of the output has another sign in this set than in the set 0. */
bool ks_signs_first_is_minus(uint64_t seed);

/* ks_signs_flip() - change signs in place; twice is nothing.
 * @operand  'a', 'b' or 'c'
 * @elements [in,out] all elements of the operand, of a dtype */
void ks_signs_flip(const struct ks_signs *s, char operand, uint32_t dtype, void *elements);
/* Whether that changes the sign of one element. */
bool ks_signs_has(const struct ks_signs *s, char operand, int64_t index);

/* The slot `signs` of the operators. */
void ks_conv_signs(const struct ks_problem *p, char operand, struct ks_sign_map *out);
void ks_gemm_signs(const struct ks_problem *p, char operand, struct ks_sign_map *out);

#endif
