/* SPDX-License-Identifier: MIT */
/* code_image.h - code objects made by hand, a few hundred bytes each: what the readers of real ones
 * must see in them is in the comments below, for the tests; the fuzz target damages them. */
#ifndef KS_TEST_CODE_IMAGE_H
#define KS_TEST_CODE_IMAGE_H

#include "base/buf.h"

enum code_image {
    /* "plain": vgprs 24, sgprs 300, LDS 70000, scratch 0, kernarg 88, wave 32, max_threads 1024, 16
     * bytes of code, no word on spills and accumulators; "spills": vgprs 256, agprs 128,
     * vgpr_spills 288, sgpr_spills 2, scratch 420. For gfx90a, with values of every kind between.
     */
    CODE_AMD,
    /* "one": sm_90, 40 registers, frame 16, shared 256, parameters 28, max_threads 256, 128 bytes
     * of code; "two": 255 registers, frame 0, 49152 bytes that the launch adds. */
    CODE_CUDA,
    CODE_CUDA_OLD, /* the same for sm_80, as before CUDA 13 */
    CODE_EMULATOR, /* "k0_kernel0": LDS 4096, wave 64, max_threads 128 */
    CODE_BUNDLE,   /* the host's empty entry, then CODE_AMD */
    CODE_IMAGES
};

void code_image_make(enum code_image kind, struct ks_buf *out);

#endif
