/* SPDX-License-Identifier: MIT */
/* dev_amd.h - dev.h's part for AMD: clang's builtins. */
#ifndef KS_GPU_DEV_AMD_H
#define KS_GPU_DEV_AMD_H

#include "args.h"

#if KS_GPU_TARGET == 1

#define KS_DEV       static __attribute__((device, always_inline, unused)) inline
#define KS_RESTRICT  __restrict__
#define KS_UNROLL    _Pragma("unroll")
#define KS_NO_UNROLL _Pragma("unroll 1")
#define KS_SHARED(name, bytes)                                                                     \
    static __attribute__((shared, aligned(16))) unsigned char name[bytes]
#define KS_KERNEL(x, block, lds, warp)                                                             \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(block, block),                   \
                              amdgpu_waves_per_eu(((block)*KT_BLOCKS_PER_CU + 255) / 256))) void   \
    KS_FN(x)(const void *KS_RESTRICT a, const void *KS_RESTRICT b, void *KS_RESTRICT c,            \
             const KS_ARGS p)

KS_DEV int ks_tid(void) { return (int)__builtin_amdgcn_workitem_id_x(); }
KS_DEV int ks_block_x(void) { return (int)__builtin_amdgcn_workgroup_id_x(); }
KS_DEV int ks_block_y(void) { return (int)__builtin_amdgcn_workgroup_id_y(); }
KS_DEV int ks_block_z(void) { return (int)__builtin_amdgcn_workgroup_id_z(); }
/* Of LDS; on gfx11 and gfx12 clang would have the barrier wait for loads from memory, too. */
#if defined(__GFX12__)
#define KS_BARRIER() asm volatile("s_wait_dscnt 0\n\ts_barrier_signal -1\n\ts_barrier_wait -1" ::: "memory")
#elif defined(__GFX11__)
#define KS_BARRIER() asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory")
#else
#define KS_BARRIER() __builtin_amdgcn_s_barrier()
#endif
KS_DEV void ks_sync(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    KS_BARRIER();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/* Whether this wave goes first among those of its unit. The level must be a constant. */
#define ks_urgent(level) __builtin_amdgcn_s_setprio(level)
/* The compiler moves nothing across: else it reads all of a tile first, into registers that are
 * needed elsewhere. */
#define ks_in_order() __builtin_amdgcn_sched_barrier(0)
/* Before ks_in_order(): matrix instructions and loads, from memory and LDS, take turns as long as there
 * are both. */
#define ks_mix(n)                                                                                  \
    KS_UNROLL                                                                                      \
    for (int mix_i = 0; mix_i < (n); mix_i++) {                                                    \
        __builtin_amdgcn_sched_group_barrier(0x120, 1, 0);                                         \
        __builtin_amdgcn_sched_group_barrier(0x008, 1, 0);                                         \
    }
/* The value is computed here, and no memory is read ahead of it. */
#define ks_compute_now(x) asm volatile("" : "+v"(x) : : "memory")
/* *to += x, indivisibly among all blocks; only for memory of the device. clang has no builtin for
 * gfx908's instruction. */
KS_DEV void ks_add_f32(float *to, float x)
{
#ifdef __gfx908__
    (void)__hip_atomic_fetch_add(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
    (void)__builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float *)to, x);
#endif
}

/* Loads go through a descriptor of the operand: the hardware checks each offset against its range
 * and gives zeros beyond it, without a branch. Offsets have 32 bits, so that the host half refuses
 * operands that reach beyond KS_BUFFER_BYTES (host.h). The format does not matter for raw loads. */
#if defined(__GFX11__) || defined(__GFX12__)
#define KS_BUFFER_FORMAT 0x31004000
#else
#define KS_BUFFER_FORMAT 0x00020000
#endif
#if __has_builtin(__builtin_amdgcn_raw_buffer_load_b128)
template <class T> KS_DEV T ks_load_or_zero(const void *base, int offset)
{
    const __amdgpu_buffer_rsrc_t all = __builtin_amdgcn_make_buffer_rsrc(
        (void *)base, 0, (int)KS_BUFFER_BYTES, KS_BUFFER_FORMAT);
    if constexpr (sizeof(T) == 16)
        return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b128(all, offset, 0, 0));
    else if constexpr (sizeof(T) == 8)
        return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b64(all, offset, 0, 0));
    else if constexpr (sizeof(T) == 4)
        return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b32(all, offset, 0, 0));
    else
        return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b16(all, offset, 0, 0));
}
/* Where nothing is loaded the offset is beyond the range. */
#define ks_load(to, type, base, spot)                                                              \
    ((to) = ks_load_or_zero<type>(                                                                 \
         base, (spot).is_zero ? (int)KS_BUFFER_BYTES                                               \
                              : (int)(((spot).row + (spot).col) * (long)sizeof(*(base)))))
#endif

#endif
#endif
