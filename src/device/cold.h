/* SPDX-License-Identifier: MIT */
/* cold.h - take memory out of every cache level; private to src/device. */
#ifndef KS_DEVICE_COLD_H
#define KS_DEVICE_COLD_H

#include <stddef.h>

/* Whether ks_cold_evict works on this architecture; else the caller must sweep a large buffer. */
int ks_cold_can_evict(void);

/* Write back and drop every cache line that holds a byte of [ptr, ptr + bytes) from all levels
 * (x86-64 CLFLUSH); ptr may lie anywhere in its line.
 * Exact where a sweep is a guess: a virtual machine may see a last-level cache far larger than its
 * share, and the sweep's length says nothing about replacement. */
void ks_cold_evict(const void *ptr, size_t bytes);

#endif
