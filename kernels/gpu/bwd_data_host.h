/* SPDX-License-Identifier: MIT */
/* bwd_data_host.h - host half of gconv_bwd_data.k: phases and what they are launched with. */
#ifndef KS_GPU_BWD_DATA_HOST_H
#define KS_GPU_BWD_DATA_HOST_H

#include "bwd_data_args.h"
#include "gconv_host.h"

/* One axis of a phase. */
struct ks_phase_axis {
    int first, count, tap, n_taps, origin;
};

/* Phases still to be launched, numbered by their first pixels, width fastest. */
struct ks_phases {
    int64_t next, n; /* n: how many are left */
};

#define KS_PHASES_MAX 4096 /* of a problem: 256 launches */

KS_HOST int ks_gcd(int a, int b)
{
    while (b) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Input pixels first, first + stride, ..., and the taps that reach them. */
KS_HOST struct ks_phase_axis ks_phase_axis(const struct ks_abi_problem *p, int axis, int first)
{
    const int stride = (int)p->stride[axis], dilation = (int)p->dilation[axis];
    const int in = (int)p->in[axis], filter = (int)p->filter[axis], pad = (int)p->pad_lo[axis];
    const int step = stride / ks_gcd(stride, dilation), remainder = (first + pad) % stride;
    struct ks_phase_axis x = { .first = first, .count = (in - first + stride - 1) / stride };
    while (x.tap < step && x.tap < filter && (int64_t)x.tap * dilation % stride != remainder)
        x.tap++;
    if (x.tap < step && x.tap < filter) {
        x.n_taps = (filter - x.tap + step - 1) / step;
        x.origin = (x.first + pad - x.tap * dilation) / stride;
    }
    return x;
}

/* Phases of an axis; each has pixels. */
KS_HOST int64_t ks_axis_phases(const struct ks_abi_problem *p, int axis)
{
    return p->stride[axis] < p->in[axis] ? p->stride[axis] : p->in[axis];
}

/* Number `i` of a problem's phases; without taps it writes zeros. */
KS_HOST struct ks_phase ks_phase(const struct ks_abi_problem *p, int64_t i, int merged)
{
    struct ks_phase f = { .gm = (int)p->n, .gk = (int)p->k * merged };
    for (int axis = 2; axis >= 0; axis--) {
        const int64_t n = ks_axis_phases(p, axis);
        const struct ks_phase_axis x = ks_phase_axis(p, axis, (int)(i % n));
        i /= n;
        f.first[axis] = x.first;
        f.count[axis] = x.count;
        f.tap[axis] = x.tap;
        f.n_taps[axis] = x.n_taps;
        f.origin[axis] = x.origin;
        f.gm *= x.count;
        f.gk *= x.n_taps;
        f.by_count[axis] = ks_magic(x.count);
        f.by_taps[axis] = ks_magic(x.n_taps > 0 ? x.n_taps : 1);
    }
    return f;
}

KS_HOST struct ks_phases ks_bwd_data_phases(const struct ks_abi_problem *p)
{
    const struct ks_phases all = { 0, ks_axis_phases(p, 0) * ks_axis_phases(p, 1) *
                                          ks_axis_phases(p, 2) };
    return all;
}

/* Whether the filter is one tap, every pixel is read and nothing is padded. */
KS_HOST int ks_gpu_is_dense(const struct ks_abi_problem *p)
{
    return ks_gpu_is_filter1x1_pad0(p) && ks_gpu_is_stride1(p);
}

/* The problem's numbers; a block computes `merged` groups together. */
KS_HOST struct ks_bwd_data_args ks_bwd_data_args(const struct ks_abi_problem *p, int merged,
                                                 int tile_n)
{
    struct ks_bwd_data_args a = { .n = (int)p->n, .g = (int)p->g, .k = (int)p->k, .c = (int)p->c };
    for (int i = 0; i < 3; i++) {
        const int both = ks_gcd((int)p->stride[i], (int)p->dilation[i]);
        a.in[i] = (int)p->in[i];
        a.out[i] = (int)p->out[i];
        a.filter[i] = (int)p->filter[i];
        a.stride[i] = (int)p->stride[i];
        a.tap_step[i] = a.stride[i] / both;
        a.lag[i] = (int)p->dilation[i] / both;
        a.by_lag[i] = ks_magic(a.lag[i]);
    }
    a.n_taps = (int)ks_volume(p->filter);
    a.gn = a.c * merged;
    a.tiles_n = (int)ks_up(a.gn, tile_n);
    a.by_tiles_n = ks_magic(a.tiles_n);
    a.by_c = ks_magic(a.c);
    a.by_k = ks_magic(a.k);
    a.by_block_k = ks_magic(a.k * merged);
    return a;
}

/* The next phases, as many as one launch takes. */
KS_HOST struct ks_abi_launch ks_bwd_data_launch(const struct ks_abi_problem *p,
                                                struct ks_phases *left, struct ks_bwd_data_args *a,
                                                int merged, int tile_m)
{
    struct ks_abi_launch l = { .grid = { 0, (uint32_t)(a->g / merged), 0 } };
    for (; left->n > 0 && l.grid[2] < KS_PHASES; left->n--) {
        const struct ks_phase f = ks_phase(p, left->next++, merged);
        const uint32_t tiles = (uint32_t)(ks_up(f.gm, tile_m) * a->tiles_n);
        a->phase[l.grid[2]++] = f;
        if (tiles > l.grid[0])
            l.grid[0] = tiles;
    }
    return l;
}

#endif
