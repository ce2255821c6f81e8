/* SPDX-License-Identifier: MIT */
/* gpu_limits.h - what a GPU does at most, stated by its architecture; private to src/device. */
#ifndef KS_DEVICE_GPU_LIMITS_H
#define KS_DEVICE_GPU_LIMITS_H

#include "device/device.h"

/* From the architecture, the units, the clock and the cache of *p. Nothing is known of an
 * architecture that is not in the table. */
void ks_gpu_limits_of(const struct ks_device_props *p, struct ks_device_limits *out);

#endif
