/* SPDX-License-Identifier: MIT */
/* gconv_host.h - host halves of the grouped convolutions. */
#ifndef KS_GPU_GCONV_HOST_H
#define KS_GPU_GCONV_HOST_H

#include "host.h"

/* Why a direction's operands are too large, or NULL; the result is none of them. */
KS_HOST const char *ks_gpu_conv_operands_over(const struct ks_abi_problem *p)
{
    const int64_t input = p->n * ks_volume(p->in) * p->c;
    const int64_t output = p->n * ks_volume(p->out) * p->k;
    const int64_t weights = ks_volume(p->filter) * p->k * p->c;
    const int64_t a = p->direction == KS_ABI_BACKWARD_DATA ? output : input;
    const int64_t b = p->direction == KS_ABI_BACKWARD_WEIGHT ? output : weights;
    return ks_gpu_operand_over(p->g, a > b ? a : b, p->dtype);
}

/* Why an instance of that direction, type and number of dimensions does not compute the problem
 * whatever its tiles, or NULL. */
KS_HOST const char *ks_gpu_conv_foreign(const struct ks_abi_problem *p, uint32_t direction,
                                        uint32_t dtype, int ndim)
{
    const char *why = ks_gpu_foreign(p, KS_ABI_GROUPED_CONV, direction, dtype);
    if (why)
        return why;
    for (int i = 0; i < 3 - ndim; i++)
        if (p->in[i] != 1 || p->filter[i] != 1 || p->out[i] != 1)
            return "the problem has more dimensions";
    if (p->n * ks_volume(p->in) > KS_GPU_INT_MAX || p->n * ks_volume(p->out) > KS_GPU_INT_MAX)
        return "more than 2^30 pixels";
    if (ks_volume(p->filter) * p->c * p->g > KS_GPU_INT_MAX ||
        ks_volume(p->filter) * p->k * p->g > KS_GPU_INT_MAX)
        return "more than 2^30 weights of a channel";
    for (int i = 0; i < 3; i++)
        if ((p->filter[i] - 1) * p->dilation[i] + p->in[i] + p->pad_lo[i] + p->stride[i] >
            KS_GPU_INT_MAX / 4)
            return "a window wider than 2^28 pixels";
    return ks_gpu_conv_operands_over(p);
}

/* Whether the filter is one tap and nothing is padded. */
KS_HOST int ks_gpu_is_filter1x1_pad0(const struct ks_abi_problem *p)
{
    int is_so = 1;
    for (int i = 0; i < 3; i++)
        is_so &= p->filter[i] == 1 && p->pad_lo[i] == 0 && p->pad_hi[i] == 0;
    return is_so;
}

KS_HOST int ks_gpu_is_stride1(const struct ks_abi_problem *p)
{
    return p->stride[0] == 1 && p->stride[1] == 1 && p->stride[2] == 1;
}

/* The most taps of the filter on an axis. */
KS_HOST int64_t ks_gpu_taps(const struct ks_abi_problem *p)
{
    int64_t n = 0;
    for (int i = 0; i < 3; i++)
        n = p->filter[i] > n ? p->filter[i] : n;
    return n;
}

/* The problem's numbers; a block computes `merged` groups together. gm, gn, gk and what follows
 * from the tiling are the direction's: ks_gpu_conv_tiles(). */
KS_HOST struct ks_conv_args ks_gpu_conv_args(const struct ks_abi_problem *p, int merged)
{
    struct ks_conv_args a = { .n = (int)p->n, .g = (int)p->g, .k = (int)p->k, .c = (int)p->c };
    for (int i = 0; i < 3; i++) {
        a.in[i] = (int)p->in[i];
        a.out[i] = (int)p->out[i];
        a.filter[i] = (int)p->filter[i];
        a.stride[i] = (int)p->stride[i];
        a.dilation[i] = (int)p->dilation[i];
        a.pad[i] = (int)p->pad_lo[i];
        a.by_in[i] = ks_magic(a.in[i]);
        a.by_out[i] = ks_magic(a.out[i]);
        a.by_filter[i] = ks_magic(a.filter[i]);
        a.by_dilation[i] = ks_magic(a.dilation[i]);
    }
    a.by_c = ks_magic(a.c);
    a.by_k = ks_magic(a.k);
    a.by_block_c = ks_magic(a.c * merged);
    a.by_block_k = ks_magic(a.k * merged);
    return a;
}

/* A product's extents, and the launch of all its tiles: tiles in x, groups in y. */
KS_HOST struct ks_abi_launch ks_gpu_conv_tiles(struct ks_conv_args *a, int64_t gm, int64_t gn,
                                               int64_t gk, int tile_m, int tile_n, int merged)
{
    struct ks_abi_launch l = { .grid = { 1, 1, 1 } };
    a->gm = (int)gm;
    a->gn = (int)gn;
    a->gk = (int)gk;
    a->tiles_n = (int)ks_up(gn, tile_n);
    a->by_tiles_n = ks_magic(a->tiles_n);
    a->n_splits = 1;
    a->split_k = (int)gk;
    l.grid[0] = (uint32_t)(ks_up(gm, tile_m) * a->tiles_n);
    l.grid[1] = (uint32_t)(a->g / merged);
    return l;
}

#endif
