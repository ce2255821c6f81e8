/* SPDX-License-Identifier: MIT */
/* taps.h - which taps of a filter leave the image, as bits of a word: a row of the product finds
 * them once, and a step of k tests one bit per axis. KS_TAPS() bits an axis (args.h), and one that
 * stands for all. */
#ifndef KS_GPU_TAPS_H
#define KS_GPU_TAPS_H

#include "dev.h"

#define KS_TAPS_ALL 0x80000000u /* every row has this one */

/* All taps of an axis but first to end - 1; both may lie outside of what a word has. */
KS_DEV unsigned ks_taps_out(int ndim, int axis, int first, int end)
{
    const int n = KS_TAPS(ndim), a = first < n ? first : n, b = end < 0 ? 0 : end < n ? end : n;
    const unsigned before_end = (1u << b) - 1, before_first = (1u << a) - 1;
    return (((1u << n) - 1) & ~(before_end & ~before_first)) << (2 - axis) * n;
}

/* The bit of tap i of an axis. */
KS_DEV unsigned ks_tap(int ndim, int axis, int i)
{
    return 1u << ((2 - axis) * KS_TAPS(ndim) + i);
}

#endif
