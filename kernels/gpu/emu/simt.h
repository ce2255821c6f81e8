/* SPDX-License-Identifier: MIT */
/* simt.h - runs a GPU kernel's source on the CPU, one fibre for each thread of a block.
 *
 * Blocks run one after another, the warps of a block in turn up to the next barrier, the lanes of a
 * warp in turn up to the next operation of the whole warp. Nothing runs in parallel, so a result
 * that depends on the order (enum ks_simt_order) shows a race, and what a GPU leaves undefined is
 * an error here: a barrier that part of a block never reaches, an operation that part of a warp
 * does not take part in. */
#ifndef KS_SIMT_H
#define KS_SIMT_H

#include <stddef.h>
#include <stdint.h>

#define KS_SIMT_MAX_THREADS 1024                /* of a block */
#define KS_SIMT_MAX_SHARED  ((size_t)256 << 10) /* of a block; more than any GPU here has */

enum ks_simt_status {
    KS_SIMT_OK = 0,
    KS_SIMT_DIVERGED,   /* threads wait at a barrier that others of the block never reach */
    KS_SIMT_SPLIT_WARP, /* lanes do an operation of the warp that others of it do not */
    KS_SIMT_BAD_WARP,   /* a matrix instruction in a warp of another size, or in a part of one */
    KS_SIMT_BAD_SHARED, /* shared memory over the limit, or asked for in two sizes, or a copy to
                           what is none of it */
    KS_SIMT_BAD_ALIGN,  /* an asynchronous copy or a row of ldmatrix that is not aligned to its size
                         */
    KS_SIMT_BAD_LAUNCH, /* no thread, more than KS_SIMT_MAX_THREADS, or an unknown order */
    KS_SIMT_NOMEM,
    /* of wgmma */
    KS_SIMT_SPLIT_GROUP,    /* the lanes or warps of a group do not do the same */
    KS_SIMT_BAD_DESCRIPTOR, /* of no matrix in the block's shared memory, or crookedly aligned */
    KS_SIMT_NO_FENCE,       /* registers that ordinary code may have written last */
    KS_SIMT_CHANGED,        /* operands or sums that changed while it was under way */
    KS_SIMT_UNDER_WAY,      /* never waited for when its thread ends, or too many at a time */
};
const char *ks_simt_status_text(int status);

/* In which order blocks, warps and lanes run. All of them must give the same bits. */
enum ks_simt_order { KS_SIMT_FORWARD, KS_SIMT_REVERSE, KS_SIMT_SHUFFLE, KS_SIMT_N_ORDERS };

/* Numbered as in kernels/abi.h. */
enum ks_simt_dtype { KS_SIMT_FP32, KS_SIMT_FP16, KS_SIMT_BF16 };

/* Matrix instructions, C += A B with C in fp32: name, number, shape, lanes that work together,
 * elements of A, B and C in each lane. Here all take elements of all types. */
#define KS_SIMT_MATRIX(X)                                                                          \
    /* name, kind, m, n, k, lanes, na, nb, nc */                                                   \
    X(MFMA_32X32X8, 1, 32, 32, 8, 64, 4, 4, 16)    /* fp16, bf16 */                                \
    X(MFMA_16X16X16, 2, 16, 16, 16, 64, 4, 4, 4)   /* fp16, bf16 */                                \
    X(WMMA_16X16X16, 3, 16, 16, 16, 32, 16, 16, 8) /* gfx11, wave 32; fp16, bf16 */                \
    X(MMA_M16N8K16, 4, 16, 8, 16, 32, 8, 4, 4)     /* mma.sync, sm_80; fp16, bf16 */               \
    X(MFMA_32X32X2, 5, 32, 32, 2, 64, 1, 1, 16)    /* fp32 */                                      \
    X(MFMA_16X16X4, 6, 16, 16, 4, 64, 1, 1, 4)     /* fp32 */                                      \
    X(MFMA_32X32X16, 9, 32, 32, 16, 64, 8, 8, 16)  /* gfx950; fp16, bf16 */                        \
    X(MFMA_16X16X32, 10, 16, 16, 32, 64, 8, 8, 4)  /* gfx950; fp16, bf16 */                        \
    X(WMMA_GFX12, 11, 16, 16, 16, 32, 8, 8, 8)     /* WMMA 16x16x16 of gfx12, wave 32 */
enum ks_simt_matrix {
#define X(name, kind, m, n, k, lanes, na, nb, nc) KS_SIMT_##name = kind,
    KS_SIMT_MATRIX(X)
#undef X
};

/* The block that runs, and the thread of it. */
struct ks_simt_cta {
    int bid[3], gdim[3]; /* blocks: this one, and how many */
    int bdim[3];         /* threads */
    int tid;             /* of the thread that runs, x fastest */
    struct ks_simt_run *run;
};
extern _Thread_local struct ks_simt_cta ks_simt_cta;

typedef void (*ks_simt_body)(void **args);

/* Stacks and shared memory that a launch leaves to the next of as many threads: mapping them costs
 * more than most kernels. Zero-initialise, release. */
struct ks_simt_pool {
    struct ks_simt_run *run; /* owned; NULL: nothing is kept */
};
void ks_simt_pool_release(struct ks_simt_pool *pool);

/* ks_simt_launch() - runs a kernel to its end.
 * @body   [in] one thread's work; @args are the kernel's, handed on
 * @grid   [in] [3] blocks   @block [in] [3] threads of a block
 * @warp   lanes of a warp, 1 to KS_SIMT_MAX_THREADS; the last warp of a block may be a part
 * @order  enum ks_simt_order
 * @pool   of one launch at a time; NULL: nothing is kept
 * Returns enum ks_simt_status; after an error the kernel's results are void.
 * Any thread of the host may launch; each runs its own. Kernels do not launch kernels. */
int ks_simt_launch(ks_simt_body body, void **args, const int grid[3], const int block[3], int warp,
                   int order, struct ks_simt_pool *pool);

/* What follows is for kernels. */
static inline int ks_simt_tid(void)
{
    return ks_simt_cta.tid;
}

void ks_simt_barrier(void); /* all threads of the block */

/* NVIDIA's barriers with a name, 1 to KS_SIMT_NAMED - 1: over when n threads, a multiple of a warp,
 * have arrived; arrive does not wait. A block that ends with some at one has diverged. */
#define KS_SIMT_NAMED 16
void ks_simt_named_sync(int id, int n);
void ks_simt_named_arrive(int id, int n);

/* The block's shared memory, `bytes` of it, 16-byte aligned. Its bytes are 0xff (NaN) when a block
 * starts, and what lies behind it cannot be touched. */
void *ks_simt_shared(size_t bytes);

/* A matrix instruction by all `lanes` lanes: this lane's elements, in registers' order. */
void ks_simt_mma(float *c, const void *a, const void *b, int kind, int dtype);

/* NVIDIA's ldmatrix .x<n>, n = 1, 2, 4, 8x8 elements of 16 bits: `row` is the 16 bytes that this
 * lane brings (lanes under 8 n), regs_out [n]. Trans: each matrix is turned. */
void ks_simt_ldmatrix(uint32_t *regs_out, const void *row, int n, int is_turned);

/* NVIDIA's wgmma.mma_async, D += A B by four warps from one that is a multiple of four: M = 64,
 * K = 16, n columns (8 to 256). d: this lane's n / 2 results, which ordinary code must leave alone
 * until they are waited for. Descriptors as of the PTX ISA, addresses as of ks_simt_address().
 * form: fp16 or bf16, and what lies along its rows instead of along k. */
#define KS_SIMT_WGMMA_TURN_A 4
#define KS_SIMT_WGMMA_TURN_B 8
void ks_simt_wgmma(float *d, uint64_t a, uint64_t b, int n, int form);
void ks_simt_wgmma_fence(void);         /* registers are as ordinary code left them */
void ks_simt_wgmma_commit(void);        /* a group ends */
void ks_simt_wgmma_wait(int n_pending); /* until at most so many groups are under way */
void ks_simt_show_copies(void);         /* fence.proxy.async: to wgmma, what this thread copied, and
                                           others before a barrier that both were at */
uint32_t
ks_simt_address(const void *p); /* of shared memory, 18 bits; the block's end at the last */

/* Copies to shared memory that may land late, until they are waited for: by order of the launch
 * at once, at the wait, or either. Groups as with cp.async: wait(n) leaves the last n pending.
 * Zeros instead of src where is_zero; it is not touched then. What is not waited for, or not yet
 * shown to wgmma, is 0xff. */
void ks_simt_copy_async(void *dst, const void *src, size_t bytes, int is_zero);
void ks_simt_copy_commit(void);
void ks_simt_copy_wait(int n_pending);

#endif
