/* SPDX-License-Identifier: MIT */
/* order.h - what comparison functions of qsort are made of. */
#ifndef KS_BASE_ORDER_H
#define KS_BASE_ORDER_H

#include <stdint.h>

/* < 0, 0, > 0: a comes before, is equal to, comes after b. */
static inline int ks_compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}
static inline int ks_compare_f64(double a, double b)
{
    return (a > b) - (a < b);
}

#endif
