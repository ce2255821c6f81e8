/* SPDX-License-Identifier: MIT */
/* fit.h - whether a kernel can ever be launched on what it was compiled for. */
#ifndef KS_BUILD_FIT_H
#define KS_BUILD_FIT_H

#include "build/code_object.h"

/* ks_code_object_unfit() - why not one block of the kernel fits its target, static text; NULL: it
 * fits, as far as is known: numbers that the code object does not hold, and targets whose limits
 * are not known here (the emulator), refuse nothing. The device says the last word.
 * Source: LLVM "User Guide for AMDGPU Backend" and AMD's instruction set manuals (registers, LDS);
 * CUDA C++ programming guide, technical specifications per compute capability. */
const char *ks_code_object_unfit(const struct ks_code_object *c);

#endif
