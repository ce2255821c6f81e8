/* SPDX-License-Identifier: MIT */
/* simt_warp.h - what the lanes of a warp do together: matrix instructions and ldmatrix. Part of
 * the emulator; kernels see simt.h only. */
#ifndef KS_SIMT_WARP_H
#define KS_SIMT_WARP_H

#include "simt.h"

#define KS_SIMT_MAX_ELEMENTS 1024 /* of a matrix of one instruction */

/* What a lane wants of its warp. */
struct ks_simt_op {
    enum { KS_SIMT_OP_MATRIX, KS_SIMT_OP_LDMATRIX } what;
    int kind, form; /* matrix: instruction, dtype; ldmatrix: count, turned; the same in all lanes */
    void *out;
    const void *a, *b;
};

/* Where an instruction keeps its elements: lane * elements of a lane + slot. All zero: none yet. */
struct ks_simt_maps {
    int kind;
    uint16_t at_a[KS_SIMT_MAX_ELEMENTS]; /* [m][k] */
    uint16_t at_b[KS_SIMT_MAX_ELEMENTS]; /* [k][n] */
    uint16_t at_c[KS_SIMT_MAX_ELEMENTS]; /* [m][n] */
};

/* Does what all lanes[n_lanes] of a warp of `warp` lanes want, through their pointers; maps are
 * those of the last instruction. Returns enum ks_simt_status. */
int ks_simt_do_warp(struct ks_simt_maps *maps, const struct ks_simt_op *lanes, int n_lanes,
                    int warp);

#endif
