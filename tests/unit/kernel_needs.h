/* SPDX-License-Identifier: MIT */
/* kernel_needs.h - what selectors know of kernels (analysis/learn/feature_instance.c) held against
 * the kernels' own tests. */
#ifndef KS_TEST_KERNEL_NEEDS_H
#define KS_TEST_KERNEL_NEEDS_H

#include "kernel_case.h"

/* Every instance that is built, on 400 random problems of the direction in all types, layouts and
 * dims: the selector says that it applies exactly where the kernel does. */
void kernel_needs_agree(const struct place *p, uint32_t direction);

#endif
