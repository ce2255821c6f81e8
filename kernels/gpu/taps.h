/* SPDX-License-Identifier: MIT */
/* taps.h - which taps of a filter leave the image, as bits of a word: a row of the product finds
 * them once, and a step of k tests one bit per axis. KS_TAPS() bits an axis (args.h), and one that
 * stands for all. */
#ifndef KS_GPU_TAPS_H
#define KS_GPU_TAPS_H

#include "dev.h"

#define KS_TAPS_ALL 0x80000000u /* every row has this one */

/* Taps i of the n of an axis whose pixel, first + i step, is none of the axis' `extent`. */
KS_DEV unsigned ks_taps_out(int ndim, int axis, int n, int first, int step, int extent)
{
    unsigned out = 0;
    KS_NO_UNROLL
    for (int i = 0; i < n; i++)
        out |= (unsigned)((unsigned)(first + i * step) >= (unsigned)extent) << i;
    return out << (2 - axis) * KS_TAPS(ndim);
}

/* The bit of tap i of an axis. */
KS_DEV unsigned ks_tap(int ndim, int axis, int i)
{
    return 1u << ((2 - axis) * KS_TAPS(ndim) + i);
}

#endif
