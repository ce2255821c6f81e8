/* SPDX-License-Identifier: MIT */
/* gpu_code.h - private to src/build: physical identity of kernels in a code object. */
#ifndef KS_BUILD_GPU_CODE_H
#define KS_BUILD_GPU_CODE_H

#include "base/err.h"
#include "base/hash.h"

#include <stddef.h>
#include <stdint.h>

/* ks_gpu_code() - all kernels of one instance of a unit: "k3_kernel0", "k3_kernel1" ...
 * @image       [in]  hsaco or cubin; a shared object of the emulator is measured only
 * @instance    [in]  the number behind "k"
 * @out         [out] digest of their code and of what it can reach; zero (equal to nothing) where
 *                    the object has data that may be written, or something that is not understood
 * @n_bytes_out [out] machine code of the kernels
 * Names and places are not part of it, unless a place matters: then equal code has two ids.
 * Different code never has one. Returns 0; KS_EFORMAT malformed, or not such an image; KS_ENOENT no
 * kernel0. Source: LLVM "User Guide for AMDGPU Backend" (code object, kernel descriptor); sections
 * of cubins as CUDA 11 to 13 write them. */
int ks_gpu_code(const void *image, size_t n, uint32_t instance, struct ks_id128 *out,
                uint64_t *n_bytes_out, struct ks_err *err);

#endif
