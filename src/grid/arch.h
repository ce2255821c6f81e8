/* SPDX-License-Identifier: MIT */
/* arch.h - names of what instances run on: levels of x86-64, "gfx942" of AMD, "sm_90" of NVIDIA,
 * "emu": the emulator of GPUs, which runs on the CPU. */
#ifndef KS_GRID_ARCH_H
#define KS_GRID_ARCH_H

#include "base/backend.h"
#include "base/err.h"

#include <stdbool.h>

#define KS_ARCH_NATIVE   "native"
#define KS_ARCH_EMULATOR "emu"

bool ks_arch_is_amd(const char *arch);      /* "gfx" and digits or letters a to f */
bool ks_arch_is_nvidia(const char *arch);   /* "sm_" and digits, a letter perhaps */
bool ks_arch_is_emulator(const char *arch); /* "emu" */
/* One of the three above; every other name is a CPU's. */
bool ks_arch_is_gpu(const char *arch);
/* May a job on this backend name this arch? "native" is the arch of the device that measures.
 * KS_EINVAL, saying which would do. */
int ks_arch_check(const struct ks_backend *backend, const char *arch, struct ks_err *err);
/* An arch that such a backend takes, for messages: "gfx942"; "" where every name will do. */
const char *ks_arch_example(enum ks_archs archs);

#endif
