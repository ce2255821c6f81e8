/* SPDX-License-Identifier: MIT */
/* gpu_api.h - HIP's runtime or CUDA's driver as one table of functions; private to src/device. */
#ifndef KS_DEVICE_GPU_API_H
#define KS_DEVICE_GPU_API_H

#include "base/err.h"
#include "device/gpu_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ks_gpu_vendor { KS_GPU_HIP, KS_GPU_CUDA };

struct ks_gpu_uuid {
    char bytes[16];
};
typedef uint64_t ks_gpu_ptr;
typedef void (*ks_gpu_host_fn)(void *);

/* The types of gpu_table.h without a vendor's header. */
#define G_RC       int
#define G_DEV      int
#define G_DEVATTR  int
#define G_FUNCATTR int
#define G_CTX      void *
#define G_PTR      ks_gpu_ptr
#define G_HSRC     const void *
#define G_D32      unsigned
#define G_STREAM   void *
#define G_EVENT    void *
#define G_MODULE   void *
#define G_FUNC     void *
#define G_UUID     struct ks_gpu_uuid
#define G_HOSTFN   ks_gpu_host_fn

enum {
#define X(name, number, hip, cuda) KS_GPU_##name = number,
    KS_GPU_CODES(X) KS_GPU_NUMBERS(X)
#undef X
#define X(name, number, constant) KS_GPU_##name = number,
        KS_GPU_NUMBERS_HIP(X) KS_GPU_NUMBERS_HIP_LATER(X) KS_GPU_CODES_CUDA(X)
#undef X
};
enum ks_gpu_attr {
#define X(name, hip_number, cuda_number, hip, cuda) KS_GPU_ATTR_##name,
    KS_GPU_ATTRS(X)
#undef X
};

struct ks_gpu_api {
    enum ks_gpu_vendor vendor;
    char library[128]; /* what was loaded, as it was asked for */
#define X(slot, hip, cuda, args) G_RC(*slot) args;
    KS_GPU_CALLS(X)
    KS_GPU_CALLS_OPTIONAL(X)
#undef X
#define X(slot, name, result, args) result(*slot) args;
    KS_GPU_CALLS_HIP(X)  /* NULL with CUDA */
    KS_GPU_CALLS_CUDA(X) /* NULL with HIP */
#undef X
    int (*hip_props)(void *, int);
    size_t hip_arch_at; /* of gcnArchName in what hip_props writes */
};

/* ks_gpu_load() - find and load a vendor's runtime; starts nothing in it.
 * Order: $KSWEEP_HIP_LIBRARY or $KSWEEP_CUDA_LIBRARY alone where set, else libamdhip64.so.7, .6, .5
 * and libamdhip64.so, or libcuda.so.1. What was loaded stays: ROCm does not survive dlclose.
 * Returns 0; KS_ENODEVICE naming every place and what it said. */
int ks_gpu_load(enum ks_gpu_vendor vendor, struct ks_gpu_api *api_out, struct ks_err *err);

/* "hipErrorNotFound"; never NULL. */
const char *ks_gpu_error_name(const struct ks_gpu_api *api, int code);
/* Whether nothing will run in this process after it. */
bool ks_gpu_is_sticky(enum ks_gpu_vendor vendor, int code);
/* An attribute of a device; -1 where the runtime does not tell. */
int ks_gpu_attr(const struct ks_gpu_api *api, enum ks_gpu_attr attr, int dev);
/* "gfx90a", "sm_90"; "" where the runtime does not tell. */
void ks_gpu_arch(const struct ks_gpu_api *api, int dev, char *out, size_t cap);

#endif
