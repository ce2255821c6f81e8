/* SPDX-License-Identifier: MIT */
/* image.c - kernels of an image for tests/unit/test_fake_hip.c, as kernels/gpu/dev.h makes them. */
#include "kernels/gpu/emu/simt.h"

#define EXPORTS(name, block, lds, ...)                                                             \
    extern const int name##_block, name##_lds, name##_warp, name##_args[];                         \
    const int name##_block = (block), name##_lds = (lds), name##_warp = 32;                        \
    const int name##_args[] = { __VA_ARGS__, 0 };                                                  \
    void name##_entry(void **args);                                                                \
    void name##_entry(void **args)

EXPORTS(add, 64, 0, 8, 8, 8, 4)
{
    const float *a = *(const float **)args[0], *b = *(const float **)args[1];
    float *c = *(float **)args[2];
    int i = ks_simt_cta.bid[0] * 64 + ks_simt_tid();

    if (i < *(int *)args[3])
        c[i] = a[i] + b[i];
}

/* Half of the block waits for the other, which is gone. */
EXPORTS(tangle, 64, 0, 4)
{
    if (ks_simt_tid() < *(int *)args[0])
        ks_simt_barrier();
}

/* More shared memory than any device has. */
EXPORTS(vast, 64, 1 << 20, 4)
{
    (void)args;
}
