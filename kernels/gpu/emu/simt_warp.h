/* SPDX-License-Identifier: MIT */
/* simt_warp.h - what the lanes of a warp do together: matrix instructions and ldmatrix; those of a
 * group of warps are in simt_wgmma.h. Part of the emulator; kernels see simt.h only. */
#ifndef KS_SIMT_WARP_H
#define KS_SIMT_WARP_H

#include "simt.h"

#include <stdbool.h>

#define KS_SIMT_MAX_ELEMENTS 1024 /* of a matrix of one instruction */

/* What a lane wants of its warp. */
struct ks_simt_op {
    enum {
        KS_SIMT_OP_MATRIX,
        KS_SIMT_OP_LDMATRIX,
        KS_SIMT_OP_WGMMA, /* from here on operations of wgmma */
        KS_SIMT_OP_WGMMA_FENCE,
        KS_SIMT_OP_WGMMA_COMMIT,
        KS_SIMT_OP_WGMMA_WAIT
    } what;
    /* The same in all lanes. matrix: instruction, dtype; ldmatrix: count, turned; wgmma: columns,
     * dtype and what is turned; wait: groups that stay under way */
    int kind, form;
    void *out;
    const void *a, *b;
    uint64_t descriptor[2]; /* wgmma: of A, of B */
};

/* Where an instruction keeps its elements. All zero: none yet. */
struct ks_simt_maps {
    int kind;
    struct ks_simt_place {
        uint8_t lane, slot;
    } at_a[KS_SIMT_MAX_ELEMENTS],   /* [m][k] */
        at_b[KS_SIMT_MAX_ELEMENTS], /* [k][n] */
        at_c[KS_SIMT_MAX_ELEMENTS]; /* [m][n] */
};

/* An element of p, as a number. */
float ks_simt_element(const void *p, int i, int dtype);

/* Whether all lanes[n_lanes] want the same. */
bool ks_simt_is_one_op(const struct ks_simt_op *lanes, int n_lanes);

/* Does what all lanes[n_lanes] of a warp of `warp` lanes want, through their pointers; maps are
 * those of the last instruction. They want the same, and not wgmma. Returns enum ks_simt_status. */
int ks_simt_do_warp(struct ks_simt_maps *maps, const struct ks_simt_op *lanes, int n_lanes,
                    int warp);

#endif
