/* SPDX-License-Identifier: MIT */
/* bwd_data_args.h - what the backward data kernels are launched with.
 *
 * With a stride, taps reach only input pixels of their own remainder: pixel i gets from tap y where
 * (i + pad - y dilation) is a multiple of the stride. Pixels of one remainder on each axis are a
 * phase: a dense convolution over d_output with the taps that fit, every (stride / gcd)-th, that
 * walks backwards. One launch does several phases, along grid z. */
#ifndef KS_GPU_BWD_DATA_ARGS_H
#define KS_GPU_BWD_DATA_ARGS_H

#include "args.h"

#define KS_PHASES 16 /* of a launch; bounded by what a launch may take: 4 KiB */

struct ks_phase {
    int first[3], count[3]; /* input pixels: the first, every stride-th from there */
    int tap[3], n_taps[3];  /* taps: the first, every tap_step-th from there; none: 0 */
    int origin[3];          /* output pixel of the first tap at the first input pixel */
    int gm, gk;
    struct ks_magic by_count[3], by_taps[3];
};

struct ks_bwd_data_args {
    int n, g, k, c;
    int in[3], out[3], filter[3], stride[3];
    int tap_step[3], lag[3]; /* stride and dilation, without their greatest common divisor */
    int n_taps;              /* of the filter */
    int gn, tiles_n;
    struct ks_magic by_lag[3];
    struct ks_magic by_tiles_n, by_c, by_k, by_block_k; /* block: the groups that one computes */
    struct ks_phase phase[KS_PHASES];
};

#endif
