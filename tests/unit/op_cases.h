/* SPDX-License-Identifier: MIT */
/* op_cases.h - problems for tests, from short text. */
#ifndef KS_TEST_OP_CASES_H
#define KS_TEST_OP_CASES_H

#include "op/op.h"

/* Sets "key=value key=value ..." (direction, dtype, layout or a dim) on *p without finishing it.
 * False when a key or value is unknown. */
bool op_case_set(struct ks_problem *p, const char *fields);

/* ks_problem_blank with n = g = 1 and a 2-D 3x3 of 4 to 4 channels over 5x6, pad 1, then `fields`,
 * finished. 0 or < 0 with err filled. */
int op_case(const char *fields, struct ks_problem *p_out, struct ks_err *err);

/* The same for gemm: 3 x 4 products of length 5, then `fields`. */
int op_case_gemm(const char *fields, struct ks_problem *p_out, struct ks_err *err);

/* A small valid forward problem in nhwgc chosen by the generator: 1 to 3 dims, groups, asymmetric
 * padding, strides, dilations; every fourth is depthwise. */
struct ks_problem op_case_random(uint64_t *rng, uint32_t dtype);

#endif
