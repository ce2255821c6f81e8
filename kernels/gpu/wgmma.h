/* SPDX-License-Identifier: MIT */
/* wgmma.h - NVIDIA's matrix instructions of a group of four warps (sm_90a): descriptors of operands
 * in LDS, what orders instructions and memory, and lists of registers for assembly.
 *
 * A tile lies in lines of 128 bytes, along k or, turned, along rows (tile.h); eight lines are 1024
 * bytes, and in them the 16 bytes c of line i are at c ^ i % 8: the 128-byte swizzle, which the
 * instruction undoes by the bits of the address. So a tile begins at a multiple of 1024.
 * Source: PTX ISA 8.x, "Asynchronous Warpgroup Level Matrix Instructions". */
#ifndef KS_GPU_WGMMA_H
#define KS_GPU_WGMMA_H

#include "dev.h"

/* Offsets of a descriptor, in bytes: from eight lines to the next eight, and from a panel of lines
 * to the next one, which only turned operands have. */
#define KS_WGMMA_LINES 1024u
#define KS_WGMMA_DESCRIPTOR(address, panel)                                                        \
    ((unsigned long long)((address)&0x3ffffu) >> 4 |                                               \
     (unsigned long long)((unsigned)(panel) >> 4) << 16 |                                          \
     (unsigned long long)(KS_WGMMA_LINES >> 4) << 32 | 1ull << 62)

#if KS_GPU_TARGET == 2
/* What the lanes of a warp have in common, so that the compiler knows it. */
KS_DEV int ks_wgmma_common(int x)
{
    int y;
    asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, 0xffffffff;" : "=r"(y) : "r"(x));
    return y;
}
KS_DEV unsigned ks_wgmma_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}
/* Registers are as ordinary code left them. */
KS_DEV void ks_wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
KS_DEV void ks_wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Until at most n groups are under way; n must be a constant. */
#define ks_wgmma_wait(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
/* What this thread wrote to LDS is seen by instructions that follow a barrier. */
KS_DEV void ks_wgmma_show(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/* Ordinary code touches the register only before, or after, this. */
#define ks_wgmma_touch(x) asm volatile("" : "+f"(x)::"memory")
/* Barrier `id` (1 to 15), over when n threads have arrived there, whole warps of them; who arrives
 * goes on at once. */
KS_DEV void ks_barrier_sync(int id, int n)
{
    asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(n) : "memory");
}
KS_DEV void ks_barrier_arrive(int id, int n)
{
    asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "r"(n) : "memory");
}

#elif KS_GPU_TARGET == 3
KS_DEV int ks_wgmma_common(int x)
{
    return x;
}
KS_DEV unsigned ks_wgmma_address(const void *p)
{
    return ks_simt_address(p);
}
KS_DEV void ks_wgmma_fence(void)
{
    ks_simt_wgmma_fence();
}
KS_DEV void ks_wgmma_commit(void)
{
    ks_simt_wgmma_commit();
}
#define ks_wgmma_wait(n)  ks_simt_wgmma_wait(n)
KS_DEV void ks_wgmma_show(void)
{
    ks_simt_show_copies();
}
#define ks_wgmma_touch(x) ((void)0)
KS_DEV void ks_barrier_sync(int id, int n)
{
    ks_simt_named_sync(id, n);
}
KS_DEV void ks_barrier_arrive(int id, int n)
{
    ks_simt_named_arrive(id, n);
}
#endif

/* Elements of two sums at a time, x first. NVIDIA has instructions for that; its compiler, too,
 * makes them of two conversions, but then moves them to before the sums that wgmma has under way
 * are waited for. */
#define KS_PAIR_OF_F32(dtype) KS_JOIN(ks_pair_of_f32_, dtype, , )
#if KS_GPU_TARGET == 2
#define KS_PAIR(d, type)                                                                           \
    KS_DEV ks_vec_##d##_2 ks_pair_of_f32_##d(float x, float y)                                     \
    {                                                                                              \
        unsigned w;                                                                                \
        asm volatile("cvt.rn." type ".f32 %0, %1, %2;" : "=r"(w) : "f"(y), "f"(x));                \
        return *(const ks_vec_##d##_2 *)&w;                                                        \
    }
KS_PAIR(1, "f16x2")
KS_PAIR(2, "bf16x2")
#undef KS_PAIR
#else
KS_DEV ks_vec_1_2 ks_pair_of_f32_1(float x, float y)
{
    const ks_vec_1_2 v = { ks_of_f32_1(x), ks_of_f32_1(y) };
    return v;
}
KS_DEV ks_vec_2_2 ks_pair_of_f32_2(float x, float y)
{
    const ks_vec_2_2 v = { ks_of_f32_2(x), ks_of_f32_2(y) };
    return v;
}
#endif

/* Results as operands %0 .. of assembly. */
#define KS_WGMMA_PLACES_32                                                                         \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"                                        \
    ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define KS_WGMMA_PLACES_64                                                                         \
    KS_WGMMA_PLACES_32                                                                             \
    ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"                             \
    ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define KS_WGMMA_PLACES_128                                                                        \
    KS_WGMMA_PLACES_64                                                                             \
    ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"                             \
    ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"                             \
    ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"                 \
    ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define KS_WGMMA_4(v, i) "+f"((v)[i]), "+f"((v)[(i) + 1]), "+f"((v)[(i) + 2]), "+f"((v)[(i) + 3])
#define KS_WGMMA_16(v, i)                                                                          \
    KS_WGMMA_4(v, i), KS_WGMMA_4(v, (i) + 4), KS_WGMMA_4(v, (i) + 8), KS_WGMMA_4(v, (i) + 12)
#define KS_WGMMA_RESULTS_32(v) KS_WGMMA_16(v, 0), KS_WGMMA_16(v, 16)
#define KS_WGMMA_RESULTS_64(v) KS_WGMMA_RESULTS_32(v), KS_WGMMA_16(v, 32), KS_WGMMA_16(v, 48)
#define KS_WGMMA_RESULTS_128(v)                                                                    \
    KS_WGMMA_RESULTS_64(v), KS_WGMMA_16(v, 64), KS_WGMMA_16(v, 80), KS_WGMMA_16(v, 96),            \
        KS_WGMMA_16(v, 112)
/* A, B, what of them is turned: the operands behind the results. */
#define KS_WGMMA_REST_32  " %32, %33, 1, 1, 1, %34, %35;"
#define KS_WGMMA_REST_64  " %64, %65, 1, 1, 1, %66, %67;"
#define KS_WGMMA_REST_128 " %128, %129, 1, 1, 1, %130, %131;"

/* Text and operands of the instruction with n results in a lane. */
#define KS_WGMMA_TEXT(name, n)  KS_WGMMA_TEXT_(name, n)
#define KS_WGMMA_TEXT_(name, n) name " {" KS_WGMMA_PLACES_##n "}," KS_WGMMA_REST_##n
#define KS_WGMMA_RESULTS(v, n)  KS_WGMMA_RESULTS_(v, n)
#define KS_WGMMA_RESULTS_(v, n) KS_WGMMA_RESULTS_##n(v)

#endif
