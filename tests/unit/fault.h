/* SPDX-License-Identifier: MIT */
/* fault.h - make the n-th allocation of the code under test fail. CMake: ks_test_faults(name) after
 * ks_test(name ...). It wraps the objects linked into that program, not shared libraries. */
#ifndef KS_TEST_FAULT_H
#define KS_TEST_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* From now on the n-th allocation (from 0) fails once; all later ones succeed. */
void fault_arm(unsigned n);
/* Stop; true when the armed failure happened. */
bool fault_disarm(void);

/* The same counter for a library that takes its allocator as functions. */
void *fault_malloc(size_t n);

#endif
