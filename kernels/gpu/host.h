/* SPDX-License-Identifier: MIT */
/* host.h - what the host halves of all GPU sources share: reasons, magic divisors, launches. */
#ifndef KS_GPU_HOST_H
#define KS_GPU_HOST_H

#include "abi.h"
#include "args.h"

#include <stddef.h>

#define KS_HOST static inline __attribute__((unused))

#define KS_GPU_GRID_Y_MAX 65535              /* of CUDA; also of z */
#define KS_GPU_INT_MAX    (INT64_C(1) << 30) /* indices in kernels are int, with room for a tile */

/* See ks_div() in dev.h; 1 <= d < 2^31. Source: Granlund and Montgomery 1994, figure 4.1. */
KS_HOST struct ks_magic ks_magic(int d)
{
    struct ks_magic m = { 0, 0 };
    while (m.shift < 31 && (UINT64_C(1) << m.shift) < (uint64_t)d)
        m.shift++;
    m.factor =
        (unsigned)((UINT64_C(1) << 32) * ((UINT64_C(1) << m.shift) - (uint64_t)d) / (uint64_t)d + 1);
    return m;
}

KS_HOST int64_t ks_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

KS_HOST int64_t ks_volume(const int64_t extent[3])
{
    return extent[0] * extent[1] * extent[2];
}

/* Reason why a problem is not one of this operator, direction and type, or NULL. */
KS_HOST const char *ks_gpu_foreign(const struct ks_abi_problem *p, uint32_t op, uint32_t direction,
                                   uint32_t dtype)
{
    if (p->bytes < sizeof(*p))
        return "problem struct of an older ABI";
    if (p->op != op || p->direction != direction)
        return "computes another operator or direction";
    if (p->dtype != dtype)
        return "computes another data type";
    return p->layout != KS_ABI_NHWGC ? "computes another layout" : NULL;
}

/* Why no grid has that many tiles (x), groups or batches (y, z), or NULL. HIP wants fewer than 2^32
 * threads along x. */
KS_HOST const char *ks_gpu_grid_over(int64_t tiles, int64_t groups, int block)
{
    if (tiles * block >= INT64_C(1) << 31)
        return "more tiles than a grid holds";
    return groups > KS_GPU_GRID_Y_MAX ? "more groups or batches than a grid holds" : NULL;
}

/* Why AMD's loads do not reach all of an operand of n times so many elements, or NULL. */
KS_HOST const char *ks_gpu_operand_over(int64_t n, int64_t elements, uint32_t dtype)
{
    const int64_t limit = (int64_t)KS_BUFFER_BYTES / (dtype == KS_ABI_FP32 ? 4 : 2);
    return KS_GPU_TARGET == 1 && elements > limit / n ? "an operand of 4 GiB or more" : NULL;
}

/* Starts the main kernel; args is the kernel's struct, by value its last argument. */
KS_HOST int ks_gpu_start(const struct ks_abi_buffers *buf, struct ks_abi_launch l, const void *a,
                         const void *b, void *c, void *args)
{
    void *pointers[4] = { &a, &b, &c, args };
    l.args = pointers;
    return buf->gpu->launch(buf->gpu, &l);
}

#endif
