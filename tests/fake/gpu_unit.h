/* SPDX-License-Identifier: MIT */
/* gpu_unit.h - how gpu_unit.k writes a kernel for each target. */
#ifndef KS_FAKE_GPU_UNIT_H
#define KS_FAKE_GPU_UNIT_H

#if KS_GPU_TARGET == 1
#define UNIT_CONSTANT  __attribute__((device)) const
#define UNIT_DATA      __attribute__((device, used))
#define UNIT_KERNEL(x) extern "C" __attribute__((global)) void KS_FN(x)(float *out, int n)
#elif KS_GPU_TARGET == 2
#define UNIT_CONSTANT  __constant__ const
#define UNIT_DATA      __device__
#define UNIT_KERNEL(x) extern "C" __global__ void KS_FN(x)(float *out, int n)
#else
#define UNIT_CONSTANT const
#define UNIT_DATA
#define UNIT_KERNEL(x)                                                                             \
    static void KS_FN(x)(float *out, int n);                                                       \
    extern const int KS_FN(x##_block), KS_FN(x##_lds), KS_FN(x##_warp), KS_FN(x##_args)[];         \
    const int KS_FN(x##_block) = 64, KS_FN(x##_lds) = 0, KS_FN(x##_warp) = 64,                     \
              KS_FN(x##_args)[] = { 8, 4, 0 };                                                     \
    void KS_FN(x##_entry)(void **args);                                                            \
    void KS_FN(x##_entry)(void **args)                                                             \
    {                                                                                              \
        KS_FN(x)(*(float **)args[0], *(int *)args[1]);                                             \
    }                                                                                              \
    static void KS_FN(x)(float *out, int n)
#endif

#endif
