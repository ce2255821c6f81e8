/* SPDX-License-Identifier: MIT */
/* code_object.h - what a compiled GPU kernel needs, read from its code object: no compiler's log,
 * no vendor's library. Nothing in the image is trusted: it is only read inside its bounds. */
#ifndef KS_BUILD_CODE_OBJECT_H
#define KS_BUILD_CODE_OBJECT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* A number that the code object does not hold is -1: 0 is a number. */
struct ks_code_object {
    char name[128];  /* of the kernel; a longer one is cut */
    char target[32]; /* "gfx942", "sm_90", "emu" */
    int32_t vgprs;   /* of a lane; gfx90a and later: both kinds together; NVIDIA: its registers */
    int32_t agprs;   /* of them accumulators */
    int32_t sgprs;   /* of a wave */
    int32_t vgpr_spills, sgpr_spills; /* registers that went to memory */
    int64_t lds_bytes;                /* of a block; what a launch adds only where it is told */
    int64_t scratch_bytes;            /* of a lane: stack and spills */
    int64_t kernarg_bytes;            /* of a launch */
    int32_t wave;                     /* lanes */
    int32_t max_threads;              /* of a block */
    int64_t code_bytes;               /* machine code of the kernel */
};

/* Nothing known. */
void ks_code_object_init(struct ks_code_object *c);

/* ks_code_object_read() - one kernel of an image.
 * @image [in]  AMD code object (ELF with a MessagePack note, code object version 3 or later), clang
 *              offload bundle of them (its first code object for a GPU), cubin (ELF, format of CUDA
 *              11 to 13), or shared object of the emulator (kernels/gpu/emu)
 * @name  [in]  symbol of the kernel; NULL: the image's first one
 * @out   [out] untouched on failure
 * Returns 0; KS_EFORMAT not such an image, or malformed; KS_ENOENT it holds no such kernel.
 * Source: LLVM "User Guide for AMDGPU Backend", code object metadata; clang-offload-bundler;
 * MessagePack specification; records of .nv.info as CUDA 11 to 13 write them (found by comparing
 * with ptxas -v). */
int ks_code_object_read(const void *image, size_t n, const char *name, struct ks_code_object *out,
                        struct ks_err *err);

#endif
