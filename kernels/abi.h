/* SPDX-License-Identifier: MIT */
/* abi.h - the one public header between the harness and a kernel.
 *
 * A kernel artefact is a shared object that exports `ks_kernel_table` (struct ks_abi_table). One
 * shared object usually holds many instances: compiling them together costs a fraction of compiling
 * them one by one. A user's plug-in exports the same table. The header is C and C++ and includes
 * nothing of the harness. */
#ifndef KS_KERNELS_ABI_H
#define KS_KERNELS_ABI_H

#include <stdint.h>

#define KS_ABI_MAJOR 1 /* a different major is refused at load; it is part of every instance_id */

enum ks_abi_operator { KS_ABI_GROUPED_CONV = 1, KS_ABI_GEMM = 2 };
enum ks_abi_direction { KS_ABI_FORWARD = 0, KS_ABI_BACKWARD_DATA = 1, KS_ABI_BACKWARD_WEIGHT = 2 };
enum ks_abi_dtype { KS_ABI_FP32 = 0, KS_ABI_FP16 = 1, KS_ABI_BF16 = 2 };
enum ks_abi_flags { KS_ABI_TRANS_A = 1, KS_ABI_TRANS_B = 2 };
enum ks_abi_layout { KS_ABI_NHWGC = 0, KS_ABI_NGCHW = 1 };

/* One problem. All convolutions are 3-D here: a 1-D or 2-D problem has leading ones (extent,
 * filter, stride, dilation 1; padding 0). Index 0 is depth, 1 height, 2 width. The layouts mean:
 *   NHWGC  input [n][d][h][w][g][c]  weights [g][k][z][y][x][c]  output [n][d][h][w][g][k]
 *   NGCHW  input [n][g][c][d][h][w]  weights [g][k][c][z][y][x]  output [n][g][k][d][h][w]
 *
 * A gemm is C[b] = op(A[b]) op(B[b]) for each b of a batch, row major and dense:
 *   n = batches, out[1] = rows of C, k = columns of C, c = length of the sums; g, all other extents
 *   and all steps 1, paddings 0, direction forward, layout NHWGC.
 *   a is [n][rows][c], or [n][c][rows] with KS_ABI_TRANS_A; b is [n][c][columns], or
 *   [n][columns][c] with KS_ABI_TRANS_B; c is [n][rows][columns]. */
struct ks_abi_problem {
    uint32_t bytes; /* sizeof(struct ks_abi_problem): later minors only append */
    uint32_t op, direction, dtype, layout;
    uint32_t flags; /* KS_ABI_TRANS_A and KS_ABI_TRANS_B; a convolution has none */
    int64_t n, g;
    int64_t c, k; /* channels PER GROUP */
    int64_t in[3], filter[3], out[3];
    int64_t stride[3], dilation[3], pad_lo[3], pad_hi[3];
};

struct ks_abi_gpu;

/* Operands in the order of the direction: forward a = input, b = weights, c = output;
 * backward_data a = d_output, b = weights, c = d_input; backward_weight a = input, b = d_output,
 * c = d_weights. Host: plain pointers, 64-byte aligned. GPU plug-in: device pointers. */
struct ks_abi_buffers {
    const void *a, *b;
    void *c;
    void *workspace; /* at least workspace_bytes(problem), 4096-byte aligned; NULL when 0 */
    void *stream;    /* host: NULL; HIP or CUDA: the stream to launch on */
    const struct ks_abi_gpu *gpu; /* of a table with an image (see below), else NULL */
};

struct ks_abi_entry {
    const char *name; /* the instance's name */
    /* NULL when the problem can be run, else the reason, static text. Runs before anything else. */
    const char *(*unsupported)(const struct ks_abi_problem *p);
    int64_t (*workspace_bytes)(const struct ks_abi_problem *p);
    /* Everything a caller needs done: packing, zero-fill, workspace set-up. Returns 0, else the
     * launch failed and the value is recorded. */
    int (*run)(const struct ks_abi_problem *p, const struct ks_abi_buffers *buf);
};

struct ks_abi_table {
    uint32_t abi_major, n_entries;
    const struct ks_abi_entry *entries; /* [n_entries] */
};

#define KS_ABI_SYMBOL "ks_kernel_table"

/* Kernels of a GPU. The shared object is the host's half: applicability, workspace and launches.
 * It carries the device's half as an image and exports it as `ks_kernel_image`; run() then starts
 * kernels of the image through buf->gpu and never calls a vendor's library. A plug-in that brings
 * launches of its own exports no image and uses buf->stream. */
struct ks_abi_launch {
    uint32_t kernel;       /* 0 is the entry's main kernel, 1.. are its helpers */
    uint32_t grid[3];      /* blocks */
    uint32_t block;        /* threads of a block, along x */
    uint32_t shared_bytes; /* dynamic shared memory of a block; 0 where the kernel's is static */
    void **args;           /* a pointer to each argument, read before launch() returns */
};
/* Both return 0 or the runtime's error, which run() returns in turn; both are in order with all
 * that runs on the stream and wait for nothing. */
struct ks_abi_gpu {
    int (*launch)(const struct ks_abi_gpu *gpu, const struct ks_abi_launch *l);
    /* `bytes` (a multiple of 4) of device memory become copies of a 4-byte pattern. */
    int (*fill)(const struct ks_abi_gpu *gpu, void *ptr, uint32_t pattern, uint64_t bytes);
};
struct ks_abi_image {
    const void *bytes; /* hsaco, cubin; an emulator's shared object */
    uint64_t n_bytes;
    const char *const *kernels; /* [n_entries] kernel j of entry i is "<kernels[i]>_kernel<j>" */
};
#define KS_ABI_IMAGE_SYMBOL "ks_kernel_image"

#endif
