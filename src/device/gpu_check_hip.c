/* SPDX-License-Identifier: MIT */
/* gpu_check_hip.c - holds gpu_api.h against HIP's headers at compile time, where they are found */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#define G_RC                   hipError_t
#define G_DEV                  hipDevice_t
#define G_DEVATTR              hipDeviceAttribute_t
#define G_FUNCATTR             hipFunction_attribute
#define G_CTX                  hipCtx_t
#define G_PTR                  hipDeviceptr_t
#define G_D32                  int
#define G_STREAM               hipStream_t
#define G_EVENT                hipEvent_t
#define G_MODULE               hipModule_t
#define G_FUNC                 hipFunction_t
#define G_UUID                 hipUUID
#define G_HOSTFN               hipHostFn_t
#define KS_GPU_PICK(hip, cuda) hip
#include "device/gpu_check.h"

#define X(slot, name, result, args) _Static_assert(SAME_TYPE(name, result, args), #slot);
KS_GPU_CALLS_HIP(X)
#undef X
#define X(name, number, constant) _Static_assert((int)(constant) == (number), #name);
KS_GPU_STICKY_HIP(X)
KS_GPU_NUMBERS_HIP(X)
#ifdef hipEventDisableSystemFence
KS_GPU_NUMBERS_HIP_LATER(X)
#endif
#undef X

/* Younger than the rest; the runtime may lack them, so may a header. */
#if HIP_VERSION_MAJOR > 5 || (HIP_VERSION_MAJOR == 5 && HIP_VERSION_MINOR >= 2)
#define X(slot, hip, cuda, args) _Static_assert(SAME_TYPE(hip, G_RC, args), #slot);
KS_GPU_CALLS_OPTIONAL(X)
#undef X
#endif

/* From release 6 on the header renames the call and the struct to their newest form. */
enum {
#define X(name, bytes, arch_at) bytes_of_##name = bytes, arch_at_of_##name = arch_at,
    KS_GPU_HIP_PROPS(X)
#undef X
#ifdef hipGetDeviceProperties
        bytes_here = bytes_of_hipGetDevicePropertiesR0600,
    arch_at_here = arch_at_of_hipGetDevicePropertiesR0600
#else
        bytes_here = bytes_of_hipGetDeviceProperties,
    arch_at_here = arch_at_of_hipGetDeviceProperties
#endif
};
_Static_assert(sizeof(hipDeviceProp_t) == bytes_here, "size of the properties");
_Static_assert(offsetof(hipDeviceProp_t, gcnArchName) == arch_at_here, "gcnArchName");
_Static_assert(SAME_TYPE(hipGetDeviceProperties, hipError_t, (hipDeviceProp_t *, int)), "props");
