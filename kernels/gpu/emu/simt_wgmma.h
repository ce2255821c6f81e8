/* SPDX-License-Identifier: MIT */
/* simt_wgmma.h - NVIDIA's matrix instructions of a group of four warps (wgmma, sm_90a). Part of the
 * emulator; kernels see simt.h only.
 *
 * Each warp does its quarter of the rows when it comes to the instruction, and no warp waits there
 * for the others of its group: what they need of each other wants a barrier. Operands are read when
 * the instruction is issued and again when it is waited for, and must be the same. Sums are NaN in
 * their registers from the issue until a wait that covers the last instruction on them.
 * Source: PTX ISA 8.x, "Asynchronous Warpgroup Level Matrix Instructions": matrix descriptor,
 * canonical layouts of shared memory, fragment of D, memory consistency. */
#ifndef KS_SIMT_WGMMA_H
#define KS_SIMT_WGMMA_H

#include "simt_async.h"
#include "simt_warp.h"

/* What the warps of a block have under way. */
struct ks_simt_wgmma;

struct ks_simt_wgmma *ks_simt_wgmma_create(int n_threads); /* NULL: no memory */
void ks_simt_wgmma_destroy(struct ks_simt_wgmma *w);       /* NULL: nothing */
/* A block begins. */
void ks_simt_wgmma_start(struct ks_simt_wgmma *w);
/* What all 32 lanes of a warp want, the same of them all: an operation of wgmma. */
int ks_simt_wgmma_do(struct ks_simt_wgmma *w, int warp, const struct ks_simt_op *lanes,
                     const struct ks_simt_memory *m);
/* All threads are at a barrier of the block or, is_last, done: did the warps of each group do the
 * same, and at the end, is nothing under way? All three return enum ks_simt_status. */
int ks_simt_wgmma_check(const struct ks_simt_wgmma *w, bool is_last);

#endif
