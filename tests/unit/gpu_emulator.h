/* SPDX-License-Identifier: MIT */
/* gpu_emulator.h - launches of the emulator's images, as a device gives them to a host half. */
#ifndef KS_TEST_GPU_EMULATOR_H
#define KS_TEST_GPU_EMULATOR_H

#include "kernels/abi.h"

struct gpu_emulator {
    struct ks_abi_gpu gpu; /* first: launch() and fill() get its address */
    void *device;          /* the loaded image */
    const char *kernels;   /* in it: <kernels>_kernel<j> */
    int order;             /* enum ks_simt_order */
    /* So many blocks of a launch, the first ones: along y, and along x of helpers; 0: all. */
    uint32_t y_most, helper_x_most;
    int n_launched;
};

/* An emulator of one instance's kernels. A launch that they are not made for fails the test. */
struct gpu_emulator gpu_emulator_of(void *device, const char *kernels);

#endif
