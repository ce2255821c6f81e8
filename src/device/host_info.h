/* SPDX-License-Identifier: MIT */
/* host_info.h - what Linux says about this machine's CPU; private to src/device. */
#ifndef KS_DEVICE_HOST_INFO_H
#define KS_DEVICE_HOST_INFO_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of /proc/cpuinfo, as much as fits: the first processors' blocks are enough. "" when
 * it cannot be read. */
void ks_host_cpuinfo_read(char *out, size_t cap);

/* The value of the first line `key : value` of a /proc/cpuinfo text; "" when there is none. */
void ks_host_cpuinfo_value(const char *cpuinfo, const char *key, char *out, size_t cap);

uint64_t ks_host_size_from(const char *text); /* "2048K", "32M": bytes */

/* "0-3,8": the CPUs of a set in the kernel's list format, cut at cap. */
void ks_host_cpu_list(const cpu_set_t *set, char *out, size_t cap);

/* Model, architecture name, machine-id and last-level cache; what is unknown is "" or 0. */
struct ks_host_info {
    char model[64], arch[32], machine_id[40];
    uint64_t cache_bytes;
};
void ks_host_info_read(int cpu, struct ks_host_info *out);

#endif
