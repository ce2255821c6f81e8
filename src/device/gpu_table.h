/* SPDX-License-Identifier: MIT */
/* gpu_table.h - what is used of the vendors' runtimes, listed once; private to src/device.
 *
 * The parameter types are macros (G_*). gpu_api.h spells them without any vendor's header and makes
 * the table of functions; gpu_check_hip.c and gpu_check_cuda.c spell them as the vendor does and
 * hold every line against its header. Nothing here may include anything.
 *
 * Library names need their version suffix: the plain cuMemAlloc and its like exist too, and are the
 * 32-bit interface. */
#ifndef KS_DEVICE_GPU_TABLE_H
#define KS_DEVICE_GPU_TABLE_H

/* X(slot, HIP's name, CUDA's name, (parameters)): both have it and must have it. */
#define KS_GPU_CALLS(X)                                                                            \
    X(init, hipInit, cuInit, (unsigned))                                                           \
    X(driver_version, hipDriverGetVersion, cuDriverGetVersion, (int *))                            \
    X(device_count, hipGetDeviceCount, cuDeviceGetCount, (int *))                                  \
    X(device_get, hipDeviceGet, cuDeviceGet, (G_DEV *, int))                                       \
    X(device_name, hipDeviceGetName, cuDeviceGetName, (char *, int, G_DEV))                        \
    X(device_attr, hipDeviceGetAttribute, cuDeviceGetAttribute, (int *, G_DEVATTR, G_DEV))         \
    X(device_mem, hipDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, G_DEV))                       \
    X(device_pci, hipDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *, int, G_DEV))                 \
    X(ctx_sync, hipDeviceSynchronize, cuCtxSynchronize, (void))                                    \
    X(mem_info, hipMemGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))                              \
    X(mem_alloc, hipMalloc, cuMemAlloc_v2, (G_PTR *, size_t))                                      \
    X(mem_free, hipFree, cuMemFree_v2, (G_PTR))                                                    \
    X(h2d, hipMemcpyHtoD, cuMemcpyHtoD_v2, (G_PTR, G_HSRC, size_t))                                \
    X(d2h, hipMemcpyDtoH, cuMemcpyDtoH_v2, (void *, G_PTR, size_t))                                \
    X(d2d, hipMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (G_PTR, G_PTR, size_t, G_STREAM))             \
    X(set32, hipMemsetD32Async, cuMemsetD32Async, (G_PTR, G_D32, size_t, G_STREAM))                \
    X(stream_create, hipStreamCreateWithFlags, cuStreamCreate, (G_STREAM *, unsigned))             \
    X(stream_destroy, hipStreamDestroy, cuStreamDestroy_v2, (G_STREAM))                            \
    X(stream_sync, hipStreamSynchronize, cuStreamSynchronize, (G_STREAM))                          \
    X(event_create, hipEventCreateWithFlags, cuEventCreate, (G_EVENT *, unsigned))                 \
    X(event_destroy, hipEventDestroy, cuEventDestroy_v2, (G_EVENT))                                \
    X(event_record, hipEventRecord, cuEventRecord, (G_EVENT, G_STREAM))                            \
    X(event_sync, hipEventSynchronize, cuEventSynchronize, (G_EVENT))                              \
    X(event_ms, hipEventElapsedTime, cuEventElapsedTime, (float *, G_EVENT, G_EVENT))              \
    X(module_load, hipModuleLoadData, cuModuleLoadData, (G_MODULE *, const void *))                \
    X(module_unload, hipModuleUnload, cuModuleUnload, (G_MODULE))                                  \
    X(module_func, hipModuleGetFunction, cuModuleGetFunction, (G_FUNC *, G_MODULE, const char *))  \
    X(func_attr, hipFuncGetAttribute, cuFuncGetAttribute, (int *, G_FUNCATTR, G_FUNC))             \
    X(occupancy, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,                               \
      cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, G_FUNC, int, size_t))                   \
    X(launch, hipModuleLaunchKernel, cuLaunchKernel,                                               \
      (G_FUNC, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, G_STREAM,     \
       void **, void **))

/* As above, but NULL where a release lacks it. */
#define KS_GPU_CALLS_OPTIONAL(X)                                                                   \
    X(device_uuid, hipDeviceGetUuid, cuDeviceGetUuid_v2, (G_UUID *, G_DEV))                        \
    X(host_func, hipLaunchHostFunc, cuLaunchHostFunc, (G_STREAM, G_HOSTFN, void *))

/* X(slot, name, result, (parameters)): one vendor's own. HIP's context calls are deprecated, a
 * device is set instead; its function attributes cannot be set for a function of a module. */
#define KS_GPU_CALLS_HIP(X)                                                                        \
    X(set_device, hipSetDevice, G_RC, (int))                                                       \
    X(error_name, hipGetErrorName, const char *, (G_RC))
#define KS_GPU_CALLS_CUDA(X)                                                                       \
    X(ctx_retain, cuDevicePrimaryCtxRetain, G_RC, (G_CTX *, G_DEV))                                \
    X(ctx_release, cuDevicePrimaryCtxRelease_v2, G_RC, (G_DEV))                                    \
    X(ctx_set, cuCtxSetCurrent, G_RC, (G_CTX))                                                     \
    X(error_text, cuGetErrorName, G_RC, (G_RC, const char **))                                     \
    X(func_set, cuFuncSetAttribute, G_RC, (G_FUNC, G_FUNCATTR, int))

/* X(name, bytes of the struct it fills, offset of gcnArchName there), newest first. */
#define KS_GPU_HIP_PROPS(X)                                                                        \
    X(hipGetDevicePropertiesR0600, 1472, 1160)                                                     \
    X(hipGetDeviceProperties, 792, 396)

/* X(our name, HIP's number, CUDA's number, HIP's constant, CUDA's constant). */
#define KS_GPU_ATTRS(X)                                                                            \
    X(CLOCK_KHZ, 5, 13, hipDeviceAttributeClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)               \
    X(MEMORY_CLOCK_KHZ, 60, 36, hipDeviceAttributeMemoryClockRate,                                 \
      CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)                                                       \
    X(CC_MAJOR, 23, 75, hipDeviceAttributeComputeCapabilityMajor,                                  \
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)                                                \
    X(CC_MINOR, 61, 76, hipDeviceAttributeComputeCapabilityMinor,                                  \
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)                                                \
    X(L2_BYTES, 19, 38, hipDeviceAttributeL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)          \
    X(MAX_THREADS, 56, 1, hipDeviceAttributeMaxThreadsPerBlock,                                    \
      CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)                                                   \
    X(UNITS, 63, 16, hipDeviceAttributeMultiprocessorCount,                                        \
      CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)                                                    \
    X(SHARED_BLOCK, 74, 8, hipDeviceAttributeMaxSharedMemoryPerBlock,                              \
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)                                             \
    X(SHARED_OPTIN, 75, 97, hipDeviceAttributeSharedMemPerBlockOptin,                              \
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                                       \
    X(WAVE, 87, 10, hipDeviceAttributeWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE)

/* X(our name, the number of both, HIP's constant, CUDA's constant). */
#define KS_GPU_CODES(X)                                                                            \
    X(OK, 0, hipSuccess, CUDA_SUCCESS)                                                             \
    X(EINVALID, 1, hipErrorInvalidValue, CUDA_ERROR_INVALID_VALUE)                                 \
    X(EMEMORY, 2, hipErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)                                   \
    X(ENODEVICE, 100, hipErrorNoDevice, CUDA_ERROR_NO_DEVICE)                                      \
    X(EBADDEVICE, 101, hipErrorInvalidDevice, CUDA_ERROR_INVALID_DEVICE)                           \
    X(ERESOURCES, 701, hipErrorLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)

/* As above, CUDA alone: another process holds a device in the mode EXCLUSIVE_PROCESS. */
#define KS_GPU_CODES_CUDA(X) X(EBUSY, 46, CUDA_ERROR_DEVICE_UNAVAILABLE)

/* The sticky ones: after such an error every later call of the process fails. */
#define KS_GPU_STICKY(X)                                                                           \
    X(ECC, 214, hipErrorECCNotCorrectable, CUDA_ERROR_ECC_UNCORRECTABLE)                           \
    X(ADDRESS, 700, hipErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS)                            \
    X(TIMEOUT, 702, hipErrorLaunchTimeOut, CUDA_ERROR_LAUNCH_TIMEOUT)                              \
    X(CONTEXT_GONE, 709, hipErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED)              \
    X(ASSERT, 710, hipErrorAssert, CUDA_ERROR_ASSERT)                                              \
    X(LAUNCH, 719, hipErrorLaunchFailure, CUDA_ERROR_LAUNCH_FAILED)                                \
    X(UNKNOWN, 999, hipErrorUnknown, CUDA_ERROR_UNKNOWN)
/* X(our name, number, constant) */
#define KS_GPU_STICKY_CUDA(X)                                                                      \
    X(NVLINK, 220, CUDA_ERROR_NVLINK_UNCORRECTABLE)                                                \
    X(STACK, 714, CUDA_ERROR_HARDWARE_STACK_ERROR)                                                 \
    X(INSTRUCTION, 715, CUDA_ERROR_ILLEGAL_INSTRUCTION)                                            \
    X(MISALIGNED, 716, CUDA_ERROR_MISALIGNED_ADDRESS)                                              \
    X(ADDRESS_SPACE, 717, CUDA_ERROR_INVALID_ADDRESS_SPACE)                                        \
    X(PC, 718, CUDA_ERROR_INVALID_PC)
/* As above, but unknown to the headers of older releases: held against those of 12.9 and later. Of
 * all these cuda.h says that the process must be terminated and relaunched. Not so of the failure
 * of a call to an MPS server (806), nor of the update of a graph (910). */
#define KS_GPU_STICKY_CUDA_LATER(X)                                                                \
    X(CONTAINED, 226, CUDA_ERROR_CONTAINED)                                                        \
    X(TENSOR_MEMORY, 721, CUDA_ERROR_TENSOR_MEMORY_LEAK)                                           \
    X(MPS_CLIENT, 810, CUDA_ERROR_MPS_CLIENT_TERMINATED)                                           \
    X(EXTERNAL, 911, CUDA_ERROR_EXTERNAL_DEVICE)
#define KS_GPU_STICKY_HIP(X)                                                                       \
    X(RUNTIME_MEMORY, 1052, hipErrorRuntimeMemory)                                                 \
    X(RUNTIME_OTHER, 1053, hipErrorRuntimeOther)

/* Flags of HIP alone. */
#define KS_GPU_NUMBERS_HIP(X) X(EVENT_DEVICE_RELEASE, 0x40000000, hipEventReleaseToDevice)
/* As above, but unknown to older headers (5.2 lacks it). */
#define KS_GPU_NUMBERS_HIP_LATER(X) X(EVENT_NO_SYSTEM_FENCE, 0x20000000, hipEventDisableSystemFence)

/* Attributes of a function and flags: X(our name, the number of both, HIP's, CUDA's). */
#define KS_GPU_NUMBERS(X)                                                                          \
    X(FUNC_MAX_THREADS, 0, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,                               \
      CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)                                                     \
    X(FUNC_SHARED, 1, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)   \
    X(FUNC_REGISTERS, 4, HIP_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_NUM_REGS)                  \
    X(FUNC_DYNAMIC_SHARED, 8, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,                    \
      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)                                             \
    X(STREAM_NON_BLOCKING, 1, hipStreamNonBlocking, CU_STREAM_NON_BLOCKING)

#endif
