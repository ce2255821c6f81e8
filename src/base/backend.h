/* SPDX-License-Identifier: MIT */
/* backend.h - what can measure: one row per backend, and what the program may ask about it.
 *
 * To add a backend: 1. src/device/device_<name>.c with `const struct ks_device_ops
 * ks_device_<name>` (device/device.h says what it must do); 2. its row in KS_BACKENDS. The choices
 * of options, job files and kernel families, the table of devices and every decision that depends
 * on the backend follow from that row. Code asks for flags and archs, never for a name:
 * tests/lint/backends.sh rejects comparisons by name. */
#ifndef KS_BASE_BACKEND_H
#define KS_BASE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

enum ks_backend_flag {
    KS_BACKEND_VIRTUAL = 1, /* computes times and runs no kernel: nothing to verify or to disturb */
    KS_BACKEND_GPU = 2,     /* runs kernels on a GPU through its vendor's runtime */
    KS_BACKEND_COMPILES = 4, /* instances are compiled before they are measured */
    KS_BACKEND_DEVICES = 8,  /* a probe lists its devices, one rank each; else ranks take cores */
    /* CUDA_VISIBLE_DEVICES alone says which devices a process sees; else as AMD's runtimes filter
     * (topo/visible.h) */
    KS_BACKEND_CUDA_LIST = 16,
    /* disturbances only add time, as sweeps have shown: low quantiles of samples repeat better than
     * medians (record/rounds.h) */
    KS_BACKEND_LOW = 32
};

/* The archs that a job on this backend may name (grid/arch.h). */
enum ks_archs { KS_ARCHS_CPU, KS_ARCHS_AMD, KS_ARCHS_NVIDIA, KS_ARCHS_ANY, KS_N_ARCHS };

/* X(name, flags, archs, language that T1 files name for its kernels) */
#define KS_BACKENDS(X)                                                                             \
    X(host, KS_BACKEND_COMPILES | KS_BACKEND_LOW, KS_ARCHS_CPU, "C")                               \
    X(hip, KS_BACKEND_GPU | KS_BACKEND_COMPILES | KS_BACKEND_DEVICES, KS_ARCHS_AMD, "HIP")         \
    X(cuda, KS_BACKEND_GPU | KS_BACKEND_COMPILES | KS_BACKEND_DEVICES | KS_BACKEND_CUDA_LIST,      \
      KS_ARCHS_NVIDIA, "CUDA")                                                                     \
    X(sim, KS_BACKEND_VIRTUAL, KS_ARCHS_ANY, "C")

struct ks_backend {
    const char *name;
    uint32_t flags; /* enum ks_backend_flag */
    enum ks_archs archs;
    const char *language;
};

/* Indices of both are those of the job's device.backend. */
extern const struct ks_backend ks_backends[]; /* ends with a row whose name is NULL */
extern const char *const ks_backend_names[];  /* NULL-terminated: choices of an option */
const struct ks_backend *ks_backend_find(const char *name); /* NULL when unknown */

/* Does it have all of these flags? */
static inline bool ks_backend_is(const struct ks_backend *b, uint32_t flags)
{
    return (b->flags & flags) == flags;
}

#endif
