/* SPDX-License-Identifier: MIT */
/* gpu_emulator.h - launches of the emulator's images, as a device gives them to a host half. The
 * emulator is the test program's own; images find it there. */
#ifndef KS_TEST_GPU_EMULATOR_H
#define KS_TEST_GPU_EMULATOR_H

#include "kernels/abi.h"
#include "kernels/gpu/emu/simt.h"

struct gpu_emulator {
    struct ks_abi_gpu gpu;     /* first: launch() and fill() get its address */
    void *device;              /* the loaded image */
    const char *kernels;       /* in it: <kernels>_kernel<j> */
    int order;                 /* enum ks_simt_order */
    struct ks_simt_pool *pool; /* NULL: no launch leaves anything to the next */
    /* So many blocks of a launch, the first ones: along y, and along x of helpers; 0: all. */
    uint32_t y_most, helper_x_most;
    int n_launched;
};

/* An emulator of one instance's kernels. A launch that they are not made for fails the test.
 * pool: the caller's, of one emulator at a time; may be NULL. */
struct gpu_emulator gpu_emulator_of(void *device, const char *kernels, struct ks_simt_pool *pool);

#endif
