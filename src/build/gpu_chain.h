/* SPDX-License-Identifier: MIT */
/* gpu_chain.h - private to src/build: the compiler of a GPU's half of a unit. */
#ifndef KS_BUILD_GPU_CHAIN_H
#define KS_BUILD_GPU_CHAIN_H

#include "build/toolchain.h"

#define KS_EMULATOR_SOURCES 8

/* What a source sees as KS_GPU_TARGET. */
enum ks_gpu_target { KS_GPU_NONE = 0, KS_GPU_AMD = 1, KS_GPU_CUDA = 2, KS_GPU_EMULATOR = 3 };

struct ks_gpu_chain {
    enum ks_gpu_target target;
    char command[512];  /* words split at blanks */
    char version[160];  /* the line of --version that tells one from another */
    char flags[512];    /* words split at blanks; part of every build_id */
    struct ks_id128 id; /* its version text, further words, flags, target; not its path */
    char include_dir[768];
    char emulator[KS_EMULATOR_SOURCES][800]; /* sources compiled along; "": no more */
};

/* @arch    [in] of a GPU: "gfx942", "sm_90", "emu"
 * @host    [in] the compiler of the host's half, which is the emulator's too
 * @missing [out] [cap] "" when it was found; else what was looked for and where, and what those
 * said that cannot build for this arch. AMD: $KSWEEP_HIPCC, else the first of amdclang, clang-20,
 * clang-19, clang, hipcc (in PATH, $ROCM_PATH/bin, /opt/rocm/bin) that builds an empty file for the
 * arch. NVIDIA: $KSWEEP_NVCC, else nvcc (gpu_places.h). Runs
 * compilers through the warden and waits for them. KS_ENOENT, KS_EINVAL: the one that the user
 * named is not there, or is none. */
int ks_gpu_chain_find(const char *arch, const struct ks_toolchain *host, struct ks_warden *w,
                      struct ks_gpu_chain *out, char *missing, size_t cap, struct ks_err *err);

/* device.c -> device.img, in the directory that the child starts in. */
int ks_gpu_chain_compile(const struct ks_gpu_chain *t, const char *extra_flags, struct ks_argv *out,
                         struct ks_err *err);

#endif
