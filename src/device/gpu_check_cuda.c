/* SPDX-License-Identifier: MIT */
/* gpu_check_cuda.c - holds gpu_api.h against cuda.h at compile time, where that is found */
#include <cuda.h>

#define G_RC                   CUresult
#define G_DEV                  CUdevice
#define G_DEVATTR              CUdevice_attribute
#define G_FUNCATTR             CUfunction_attribute
#define G_CTX                  CUcontext
#define G_PTR                  CUdeviceptr
#define G_D32                  unsigned
#define G_STREAM               CUstream
#define G_EVENT                CUevent
#define G_MODULE               CUmodule
#define G_FUNC                 CUfunction
#define G_UUID                 CUuuid
#define G_HOSTFN               CUhostFn
#define KS_GPU_PICK(hip, cuda) cuda
#include "device/gpu_check.h"

#define X(slot, hip, cuda, args) _Static_assert(SAME_TYPE(cuda, G_RC, args), #slot);
KS_GPU_CALLS_OPTIONAL(X)
#undef X
#define X(slot, name, result, args) _Static_assert(SAME_TYPE(name, result, args), #slot);
KS_GPU_CALLS_CUDA(X)
#undef X
#define X(name, number, constant) _Static_assert((int)(constant) == (number), #name);
KS_GPU_CODES_CUDA(X)
KS_GPU_STICKY_CUDA(X)
#if CUDA_VERSION >= 12090
KS_GPU_STICKY_CUDA_LATER(X)
#endif
#undef X
