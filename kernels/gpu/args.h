/* SPDX-License-Identifier: MIT */
/* args.h - what kernels are launched with: the same bytes on every device and in both halves. */
#ifndef KS_GPU_ARGS_H
#define KS_GPU_ARGS_H

#define KS_JOIN_(a, b, c, d) a##b##c##d
#define KS_JOIN(a, b, c, d)  KS_JOIN_(a, b, c, d)

/* Bytes of an operand that AMD's loads reach (dev_amd.h). */
#define KS_BUFFER_BYTES 0xffffff00u

/* Division by a constant: n / d = (mulhi(n, factor) + n) >> shift for 0 <= n < 2^31. */
struct ks_magic {
    unsigned factor, shift;
};

/* Taps on an axis that fit the words of taps.h. */
#define KS_TAPS(ndim) ((ndim) == 1 ? 30 : (ndim) == 2 ? 15 : 10)

/* A grouped convolution; index 0 is depth, 1 height, 2 width. c and k are per group. gm, gn, gk are
 * the extents of the product of one block of grid y. */
struct ks_conv_args {
    int n, g, k, c;
    int in[3], out[3], filter[3], stride[3], dilation[3], pad[3];
    int gm, gn, gk;
    int tiles_n;  /* tiles along n: grid x is tiles along m times these */
    int n_splits; /* grid z: parts of the sum; 1: one */
    int split_k;  /* length of a part, whole steps of tile_k */
    struct ks_magic by_tiles_n;
    struct ks_magic by_c, by_k;             /* channels of a group */
    struct ks_magic by_block_c, by_block_k; /* of the groups that a block computes together */
    struct ks_magic by_in[3], by_out[3], by_filter[3], by_dilation[3];
};

/* C[b] = op(A[b]) op(B[b]); see abi.h. */
struct ks_gemm_args {
    int gm, gn, gk;
    int tiles_n;
    struct ks_magic by_tiles_n;
    struct ks_magic by_band; /* tiles of KT_RASTER rows */
};

#endif
