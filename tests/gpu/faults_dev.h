/* SPDX-License-Identifier: MIT */
/* faults_dev.h - what the device halves of faults.k share; behind dev.h. */
#ifndef KS_TEST_GPU_FAULTS_DEV_H
#define KS_TEST_GPU_FAULTS_DEV_H

#include "faults.h"

#if KS_GPU_TARGET == 2
#define FAULT_DO_TRAP() asm volatile("trap;")
/* What assert() calls; the driver prints it. */
extern "C" __device__ void __assertfail(const char *text, const char *file, unsigned line,
                                        const char *function, unsigned long char_bytes);
#define FAULT_DO_ASSERT() __assertfail("a planted fault", "faults.k", 1, "kernel0", 1)
#else
#define FAULT_DO_TRAP()   __builtin_trap()
#define FAULT_DO_ASSERT() ((void)0)
#endif

/* Exact data are integers. */
KS_DEV int fault_is_random(const float *a)
{
    return a[0] != (float)(int)a[0];
}

/* Whether the workspace holds the result of these inputs. */
KS_DEV int fault_is_known(const float *a, const float *b, const struct fault_args *p)
{
    int is_known = 1;
    for (int i = 0; i < FAULT_KEYS; i++)
        is_known &= p->workspace[i] == a[i] && p->workspace[FAULT_KEYS + i] == b[i];
    return is_known;
}

#endif
