/* SPDX-License-Identifier: MIT */
/* dims.h - the checks that every operator makes of its dims, and arithmetic on them. */
#ifndef KS_OP_DIMS_H
#define KS_OP_DIMS_H

#include "op/op.h"

#define KS_DIM_MAX      INT32_MAX
#define KS_DIM_REQUIRED INT64_MIN /* as a default: must be given */
#define KS_ELEMENTS_MAX ((int64_t)1 << 40)

/* KS_EINVAL naming the first dim that is missing or not within least[i] and most[i]; most NULL:
 * KS_DIM_MAX for all. */
int ks_dims_check(const struct ks_problem *p, const int64_t *least, const int64_t *most,
                  struct ks_err *err);
/* Product of n factors >= 1; anything above KS_ELEMENTS_MAX comes back as KS_ELEMENTS_MAX + 1. */
int64_t ks_dims_product(const int64_t *factors, int n);
/* KS_EINVAL when one of the three operands has more than KS_ELEMENTS_MAX elements. */
int ks_dims_check_elements(const struct ks_problem *p, const char *const names[3],
                           struct ks_err *err);

static inline int64_t ks_min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ks_max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Greatest common divisor of numbers >= 1. */
static inline int64_t ks_gcd64(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

#endif
