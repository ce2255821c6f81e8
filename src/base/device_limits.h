/* SPDX-License-Identifier: MIT */
/* device_limits.h - what no kernel on a device surpasses: upper bounds, on purpose generous. One
 * rate holds for all element types: whatever passes the verification may compute with the fastest
 * instructions, fp32 for example in parts of 16 bits. */
#ifndef KS_BASE_DEVICE_LIMITS_H
#define KS_BASE_DEVICE_LIMITS_H

#include <stdint.h>

#define KS_MEMORY_LEVELS 5u

struct ks_memory_level {
    uint64_t bytes;     /* that all units together can keep there; UINT64_MAX: everything */
    double bytes_per_s; /* of all units together; 0: not known, bounds nothing */
};

struct ks_device_limits {
    double flops_per_s;                             /* 2 per multiply-add; 0: not known */
    uint32_t n_levels;                              /* 0: not known */
    struct ks_memory_level level[KS_MEMORY_LEVELS]; /* the nearest first */
};

#endif
