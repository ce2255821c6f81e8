/* SPDX-License-Identifier: MIT */
/* dev.h - the one shim between the device half of a kernel source and its compilers.
 *
 *   KS_GPU_TARGET 1  AMD: clang -x hip --cuda-device-only, builtins only: no HIP header, no library
 *                 2  NVIDIA: nvcc -x cu or nvrtc, no CUDA header
 *                 3  the host's compiler over the emulator (emu/simt.h)
 *
 * Device halves are written in the common subset of C and C++. Each instance defines KS_PREFIX and
 * its traits (KT_...), includes the source, and names all it defines through KS_FN; what stands here
 * is shared by the instances of a unit. */
#ifndef KS_GPU_DEV_H
#define KS_GPU_DEV_H

#include "args.h"

/* Blocks that should fit a compute unit at a time: a limit of registers. */
#ifndef KT_BLOCKS_PER_CU
#define KT_BLOCKS_PER_CU 1
#endif

#if KS_GPU_TARGET == 1 /* AMD */

#include "dev_amd.h"

#elif KS_GPU_TARGET == 2 /* NVIDIA */

#define KS_DEV       static __device__ __forceinline__
#define KS_RESTRICT  __restrict__
#define KS_UNROLL    _Pragma("unroll")
#define KS_NO_UNROLL _Pragma("unroll 1")
/* Static shared memory ends at 48 KiB here: the launch says how much, and a constant beside the
 * kernel tells those who read the code object. */
#define KS_SHARED(name, bytes) extern __shared__ __align__(16) unsigned char name[]
/* Another array: all of one name have one alignment. */
#define KS_SHARED_1024(name, bytes)                                                                \
    extern __shared__ __align__(1024) unsigned char name##_1024[];                                 \
    unsigned char *const name = name##_1024
#define KS_KERNEL(x, block, lds, warp)                                                             \
    extern "C" __constant__ const int KS_FN(x##_lds) = (int)(lds);                                 \
    extern "C" __global__ void __launch_bounds__(block, KT_BLOCKS_PER_CU)                          \
        KS_FN(x)(const void *KS_RESTRICT a, const void *KS_RESTRICT b, void *KS_RESTRICT c,        \
                 const KS_ARGS p)

KS_DEV int ks_tid(void) { return (int)threadIdx.x; }
KS_DEV int ks_block_x(void) { return (int)blockIdx.x; }
KS_DEV int ks_block_y(void) { return (int)blockIdx.y; }
KS_DEV int ks_block_z(void) { return (int)blockIdx.z; }
KS_DEV void ks_sync(void) { __syncthreads(); }
#define ks_urgent(level)  ((void)0)
#define ks_in_order()     ((void)0)
#define ks_mix(n)         ((void)0)
#define ks_compute_now(x) ((void)0)
/* *to += x, indivisibly among all blocks. */
KS_DEV void ks_add_f32(float *to, float x) { atomicAdd(to, x); }
/* The pointer stays in registers: ptxas would rather compute it again in each step of a loop. */
#define ks_keep(pointer) asm volatile("" : "+l"(pointer))

/* Copies 4, 8 or 16 bytes, aligned to them, to shared memory without waiting, or zeros (sm_80): a
 * predicate says that the source is ignored. A size at run time would cost five instructions more. */
#define KS_CP_ASYNC(how, bytes)                                                                    \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\n"                                       \
                 "cp.async." how ".shared.global [%0], [%1], " bytes ", p;\n}" ::"r"(at),          \
                 "l"(from), "r"(is_zero)                                                           \
                 : "memory")
KS_DEV void ks_copy_async(void *to, const void *from, int bytes, int is_zero)
{
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    if (bytes == 16)
        KS_CP_ASYNC("cg", "16");
    else if (bytes == 8)
        KS_CP_ASYNC("ca", "8");
    else
        KS_CP_ASYNC("ca", "4");
}
#undef KS_CP_ASYNC
KS_DEV void ks_copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
/* Until at most n groups of this thread's copies are under way; n must be a constant. */
#define ks_copy_wait(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

/* Four 8x8 matrices of 16-bit elements; lane l brings the address of row l % 8 of matrix l / 8 and
 * gets of each two elements of row l / 4, or of column l / 4 where it is turned (sm_75). */
KS_DEV void ks_ldmatrix_x4(unsigned *w, const void *row, int is_turned)
{
    const unsigned at = (unsigned)__cvta_generic_to_shared(row);
    if (is_turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                     : "r"(at)
                     : "memory");
}

#elif KS_GPU_TARGET == 3 /* the emulator */

#include "emu/simt.h"

#define KS_DEV       static inline __attribute__((always_inline, unused))
#define KS_RESTRICT  restrict
#define KS_UNROLL
#define KS_NO_UNROLL
#define KS_SHARED(name, bytes) unsigned char *const name = (unsigned char *)ks_simt_shared(bytes)
/* The emulator's shared memory ends at a multiple of 1024. */
#define KS_SHARED_1024(name, bytes) KS_SHARED(name, bytes)
/* Beside the kernel what the emulator has to know of it. */
#define KS_KERNEL(x, block, lds, warp)                                                             \
    static void KS_FN(x)(const void *a, const void *b, void *c, const KS_ARGS p);                  \
    extern const int KS_FN(x##_block), KS_FN(x##_lds), KS_FN(x##_warp), KS_FN(x##_args)[];         \
    const int KS_FN(x##_block) = (block), KS_FN(x##_lds) = (int)(lds), KS_FN(x##_warp) = (warp);   \
    const int KS_FN(x##_args)[] = { 8, 8, 8, (int)sizeof(KS_ARGS), 0 };                            \
    void KS_FN(x##_entry)(void **args);                                                            \
    void KS_FN(x##_entry)(void **args)                                                             \
    {                                                                                              \
        KS_FN(x)(*(const void **)args[0], *(const void **)args[1], *(void **)args[2],              \
                 *(const KS_ARGS *)args[3]);                                                       \
    }                                                                                              \
    static void KS_FN(x)(const void *a, const void *b, void *c, const KS_ARGS p)

KS_DEV int ks_tid(void) { return ks_simt_tid(); }
KS_DEV int ks_block_x(void) { return ks_simt_cta.bid[0]; }
KS_DEV int ks_block_y(void) { return ks_simt_cta.bid[1]; }
KS_DEV int ks_block_z(void) { return ks_simt_cta.bid[2]; }
KS_DEV void ks_sync(void) { ks_simt_barrier(); }
#define ks_urgent(level)  ((void)0)
#define ks_in_order()     ((void)0)
#define ks_mix(n)         ((void)0)
#define ks_compute_now(x) ((void)0)
/* Nothing runs in parallel here; the order of blocks is that of the launch. */
KS_DEV void ks_add_f32(float *to, float x) { *to += x; }

#define ks_keep(pointer) ((void)0)
KS_DEV void ks_copy_async(void *to, const void *from, int bytes, int is_zero)
{
    ks_simt_copy_async(to, from, (size_t)bytes, is_zero);
}
KS_DEV void ks_copy_commit(void) { ks_simt_copy_commit(); }
#define ks_copy_wait(n) ks_simt_copy_wait(n)
KS_DEV void ks_ldmatrix_x4(unsigned *w, const void *row, int is_turned)
{
    ks_simt_ldmatrix(w, row, 4, is_turned);
}

#else
#error "KS_GPU_TARGET names no target"
#endif

/* to = the vector of that type at a spot (operand.k) of the operand at base, or zeros. */
#ifndef ks_load
#define ks_load(to, type, base, spot)                                                              \
    do {                                                                                           \
        const type ks_zero = { 0 };                                                                \
        const type *const ks_from = (const type *)((base) + (spot).row + (spot).col);              \
        (to) = ks_zero;                                                                            \
        if (!(spot).is_zero)                                                                       \
            (to) = *ks_from;                                                                       \
    } while (0)
#endif

/* Elements, by the numbers of abi.h: 0 fp32, 1 fp16, 2 bf16. 16-bit ones travel as raw bits; all
 * arithmetic is fp32. */
typedef float ks_el_0;
typedef unsigned short ks_el_1;
typedef unsigned short ks_el_2;

/* Vectors of elements: one assignment is one load or store of all of it. clang must see real
 * vectors: it copies structs with memcpy, which pins them in scratch (or, by promote-alloca, in
 * LDS). nvcc has none. */
#if KS_GPU_TARGET == 2
#define KS_VECTOR(d, n)                                                                            \
    typedef struct __align__(sizeof(ks_el_##d) * n)                                                \
    {                                                                                              \
        ks_el_##d v[n];                                                                            \
    }                                                                                              \
    ks_vec_##d##_##n;
#define KS_V(x, i) ((x).v[i])
#else
#define KS_VECTOR(d, n)                                                                            \
    typedef ks_el_##d ks_vec_##d##_##n                                                             \
        __attribute__((vector_size(sizeof(ks_el_##d) * n), may_alias));
#define KS_V(x, i) ((x)[i])
#endif
KS_VECTOR(0, 1) KS_VECTOR(0, 2) KS_VECTOR(0, 4) KS_VECTOR(0, 8) KS_VECTOR(0, 16)
KS_VECTOR(1, 1) KS_VECTOR(1, 2) KS_VECTOR(1, 4) KS_VECTOR(1, 8) KS_VECTOR(1, 16)
KS_VECTOR(2, 1) KS_VECTOR(2, 2) KS_VECTOR(2, 4) KS_VECTOR(2, 8) KS_VECTOR(2, 16)

/* Type of an element, of a vector of n of them. */
#define KS_ELEMENT(dtype) KS_JOIN(ks_el_, dtype, , )
#define KS_VEC(dtype, n)  KS_JOIN(ks_vec_, dtype, _, n)
#define KS_TO_F32(dtype)  KS_JOIN(ks_to_f32_, dtype, , )
#define KS_OF_F32(dtype)  KS_JOIN(ks_of_f32_, dtype, , )

#if KS_GPU_TARGET == 2
KS_DEV float ks_float_of(unsigned u) { return __uint_as_float(u); }
KS_DEV unsigned ks_bits_of(float f) { return __float_as_uint(f); }
KS_DEV float ks_to_f32_1(ks_el_1 e)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(e));
    return f;
}
KS_DEV ks_el_1 ks_of_f32_1(float f)
{
    unsigned short e;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(e) : "f"(f));
    return e;
}
#else
KS_DEV float ks_float_of(unsigned u)
{
    float f;
    __builtin_memcpy(&f, &u, 4);
    return f;
}
KS_DEV unsigned ks_bits_of(float f)
{
    unsigned u;
    __builtin_memcpy(&u, &f, 4);
    return u;
}
KS_DEV float ks_to_f32_1(ks_el_1 e)
{
    _Float16 h;
    __builtin_memcpy(&h, &e, 2);
    return (float)h;
}
KS_DEV ks_el_1 ks_of_f32_1(float f)
{
    const _Float16 h = (_Float16)f;
    ks_el_1 e;
    __builtin_memcpy(&e, &h, 2);
    return e;
}
#endif
KS_DEV float ks_to_f32_0(ks_el_0 e) { return e; }
KS_DEV ks_el_0 ks_of_f32_0(float f) { return f; }
KS_DEV float ks_to_f32_2(ks_el_2 e) { return ks_float_of((unsigned)e << 16); }
/* To nearest, ties to even; a NaN stays one. */
KS_DEV ks_el_2 ks_of_f32_2(float f)
{
    const unsigned u = ks_bits_of(f);
    const unsigned rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (ks_el_2)((u & 0x7fffffffu) > 0x7f800000u ? u >> 16 | 0x40u : rounded);
}

/* Dies of the GPU, each with an L2 of its own, that get blocks in turn: MI300X's and MI350X's XCDs. In
 * other partitions of one some share a die, which costs locality only. */
#if KS_GPU_TARGET == 1 && (defined(__gfx942__) || defined(__gfx950__)) || KS_GPU_TARGET == 3
#define KS_DIES 8
#else
#define KS_DIES 1
#endif

/* Which of n tiles a block takes, so that the tiles of a die are neighbours. A block behind the last
 * tile keeps its number. */
KS_DEV int ks_tile_of(int block, int n)
{
    const int die = block % KS_DIES, more = n % KS_DIES;
    const int tile = block / KS_DIES + die * (n / KS_DIES) + (die < more ? die : more);
    return block < n ? tile : block;
}

/* n / d for 0 <= n < 2^31, by a multiplication: see ks_magic() in args.h. */
KS_DEV int ks_div(int n, struct ks_magic d)
{
    const unsigned high = (unsigned)((unsigned long long)(unsigned)n * d.factor >> 32);
    return (int)((high + (unsigned)n) >> d.shift);
}

#endif
