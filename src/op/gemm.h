/* SPDX-License-Identifier: MIT */
/* gemm.h - the batched matrix product: names of its dims. */
#ifndef KS_OP_GEMM_H
#define KS_OP_GEMM_H

#include "op/op.h"

/* C[b] = op(A[b]) op(B[b]) for each b below batch. Indices into ks_problem.dim, in the order of the
 * CSV columns. op(A) is m x k, op(B) is k x n; with trans_a = 1 the k x m matrix is stored and used
 * transposed, with trans_b = 1 the n x k one. Row major, dense, direction forward, layout nhwgc. */
enum ks_gemm_dim {
    KS_GEMM_BATCH,
    KS_GEMM_M,
    KS_GEMM_N,
    KS_GEMM_K,
    KS_GEMM_TRANS_A,
    KS_GEMM_TRANS_B,
    KS_GEMM_N_DIMS
};

extern const struct ks_operator ks_operator_gemm;

#endif
