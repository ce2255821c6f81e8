/* SPDX-License-Identifier: MIT */
/* host_limits.h - what the cores of a process do at most; private to src/device. */
#ifndef KS_DEVICE_HOST_LIMITS_H
#define KS_DEVICE_HOST_LIMITS_H

#include "device/device.h"

#include <sched.h>

/* FLOPs of a core in a cycle, 2 per multiply-add, by the densest instructions on operands of 16
 * bits and more that a CPU has; a text of /proc/cpuinfo. 0: not known, which is every other
 * architecture than x86-64. */
double ks_host_flops_per_cycle(const char *cpuinfo);

/* What Linux says of caches and clocks below `root` ("/sys/devices/system/cpu"), for the cores of
 * *cpus: 0 what it does not say. */
#define KS_HOST_CACHES 4
struct ks_host_memory {
    uint64_t
        cache_bytes[KS_HOST_CACHES]; /* of level i + 1, data and unified, all that they reach */
    double clock_hz;                 /* the highest of any; 0 unless it says all of them */
};
void ks_host_memory_read(const char *root, const cpu_set_t *cpus, struct ks_host_memory *out);

/* The bounds that follow for n_cores.
 * @measured_flops_per_s [in] of a core; counts where it is more than what is stated */
void ks_host_limits_of(double flops_per_cycle, double measured_flops_per_s,
                       const struct ks_host_memory *memory, uint32_t n_cores,
                       struct ks_device_limits *out);

/* The same for this process and its affinity mask. Measures for a few ms. */
void ks_host_limits_read(struct ks_device_limits *out);

#endif
