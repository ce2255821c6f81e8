/* SPDX-License-Identifier: MIT */
/* floor.h - the least time in which a call can do its work, whatever the kernel does. Pure: numbers
 * in, a floor out. It is a lower bound: a kernel that computes is never below half of it. */
#ifndef KS_WORKER_FLOOR_H
#define KS_WORKER_FLOOR_H

#include "device/device.h"
#include "op/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_FLOOR_FAST                                                                              \
    4.0                     /* fast algorithms (Winograd's, ..) need a quarter of the direct FLOPs \
                             */
#define KS_FLOOR_BROKEN 0.5 /* a time below so much of the floor is refused */

/* What takes the longest: FLOPs by the device's peak, or bytes by the bandwidth of a level of its
 * memory. Bytes that all nearer levels can hold need not come from it. */
struct ks_floor {
    double ns;     /* < 0: not known */
    bool is_flops; /* else bytes */
    double amount; /* FLOPs, bytes */
    double per_s;
};

/* ks_floor_of() -
 * @work          [in] of the problem
 * @element_bytes [in] of its operands
 * @numerics      [in] enum ks_numerics of the instance: one that is held to exact bits computes
 *                     every product, any other may be a fast algorithm
 * @limits        [in] of the device */
struct ks_floor ks_floor_of(const struct ks_work *work, size_t element_bytes, uint32_t numerics,
                            const struct ks_device_limits *limits);

/* Whether no kernel that does the work can have taken call_ns (> 0). */
bool ks_floor_is_broken(const struct ks_floor *f, double call_ns);
/* "4 ns a call, but 14 GFLOP take at least 61 ms at 235 GFLOP/s". */
void ks_floor_reason(const struct ks_floor *f, double call_ns, char *out, size_t cap);

#endif
