/* SPDX-License-Identifier: MIT */
/* tile.h - sizes that follow from the traits of engine.k; both halves use them. */
#ifndef KS_GPU_TILE_H
#define KS_GPU_TILE_H

#include "mma.h"

#define KS_EL KS_FN(el)
#ifndef KS_C_DTYPE
#define KS_C_DTYPE KT_DTYPE
#endif
/* Whether an element of C is stored, and how (store.k). */
#ifndef KS_C_IS_OWN
#define KS_C_IS_OWN(p, m, n) 1
#endif
#ifndef KS_C_PUT
#define KS_C_PUT(to, x) (*(to) = (x))
#endif

/* Bytes of an element, as a number for #if. */
#define KS_BYTES_0      4
#define KS_BYTES_1      2
#define KS_BYTES_2      2
#define KS_BYTES_(d)    KS_BYTES__(d)
#define KS_BYTES__(d)   KS_BYTES_##d
#define KS_EL_BYTES     KS_BYTES_(KT_DTYPE)

#define KS_IF_MMA(yes, no) KS_JOIN(KS_IF_MMA_, KT_MMA, , )(yes, no)
#define KS_IF_MMA_0(yes, no)  no
#define KS_IF_MMA_1(yes, no)  yes
#define KS_IF_MMA_2(yes, no)  yes
#define KS_IF_MMA_3(yes, no)  yes
#define KS_IF_MMA_4(yes, no)  yes
#define KS_IF_MMA_5(yes, no) yes
#define KS_IF_MMA_6(yes, no) yes
#define KS_IF_MMA_7(yes, no) yes
#define KS_IF_MMA_8(yes, no) yes
#define KS_IF_MMA_9(yes, no) yes
/* Whether groups of four warps multiply, from LDS (wgmma.h). */
#define KS_IS_WGMMA          (KT_MMA >= 7)
#define KS_IF_WGMMA(yes, no) KS_JOIN(KS_IF_WGMMA_, KT_MMA, , )(yes, no)
#define KS_IF_WGMMA_0(yes, no) no
#define KS_IF_WGMMA_1(yes, no) no
#define KS_IF_WGMMA_2(yes, no) no
#define KS_IF_WGMMA_3(yes, no) no
#define KS_IF_WGMMA_4(yes, no) no
#define KS_IF_WGMMA_5(yes, no) no
#define KS_IF_WGMMA_6(yes, no) no
#define KS_IF_WGMMA_7(yes, no) yes
#define KS_IF_WGMMA_8(yes, no) yes
#define KS_IF_WGMMA_9(yes, no) yes

/* Whether tiles are copied to LDS asynchronously. */
#define KS_IS_ASYNC (KT_PIPE >= 4)

/* Whether threads keep the addresses of the rows that they copy, and announce copies late (sum_ws.k).
 * With wgmma, matrices without a window are faster otherwise (docs/gpu-kernels.md). */
#define KS_IS_KEPT (KS_IS_ASYNC && !(KS_IS_DENSE && KS_IS_WGMMA))

/* Threads of a block: those that multiply and, behind them, those that only copy (KT_PIPE 5); of them
 * those that load. Lanes of a wave where it matters. */
#define KS_WORKERS                                                                                 \
    KS_IF_MMA(KT_WAVE_M * KT_WAVE_N * KS_MMA(LANES),                                               \
              (KT_TILE_M / KT_THREAD_M) * (KT_TILE_N / KT_THREAD_N))
#define KS_COPIERS      (KT_PIPE == 5 ? 128 : 0)
#define KS_BLOCK        (KS_WORKERS + KS_COPIERS)
#define KS_LOADERS      (KT_PIPE == 5 ? KS_COPIERS : KS_WORKERS)
#define KS_FIRST_LOADER (KT_PIPE == 5 ? KS_WORKERS : 0)
#define KS_WARP (KS_IS_WGMMA ? 32 : KS_IF_MMA(KS_MMA(LANES), 32))

/* Whether the next tile is fetched in parts, between the products of a step: in-order issue makes the
 * first matrix instructions of AMD wait for all loads before them. */
#define KS_IS_SPLIT (KS_GPU_TARGET != 2 && KT_MMA && KT_MMA != 4 && KT_PIPE >= 1 && KT_PIPE <= 3)

/* Where element (row, k) of an operand is in a buffer of LDS: k runs along rows, but where copies
 * are asynchronous it lies as in memory. B's tile is behind A's. */
#define KS_A_IS_TURNED  (KS_IS_ASYNC && KS_A_ORDER == 1)
#define KS_B_IS_TURNED  (KS_IS_ASYNC && KS_B_ORDER == 1)
#define KS_PAD          (KT_LDS_PAD / KS_EL_BYTES)
#define KS_A_LD         ((KS_A_IS_TURNED ? KT_TILE_M : KT_TILE_K) + KS_PAD)
#define KS_B_LD         ((KS_B_IS_TURNED ? KT_TILE_N : KT_TILE_K) + KS_PAD)
#define KS_A_AT(row, k)                                                                            \
    KS_IF_WGMMA(                                                                                   \
        (KS_A_IS_TURNED ? KS_PANEL_AT(KT_TILE_K, k, row) : KS_PANEL_AT(KT_TILE_M, row, k)),        \
        (KS_A_IS_TURNED ? (k)*KS_A_LD + (row) : (row)*KS_A_LD + (k)))
#define KS_B_AT(row, k)                                                                            \
    (KS_A_SIZE +                                                                                   \
     KS_IF_WGMMA(                                                                                  \
         (KS_B_IS_TURNED ? KS_PANEL_AT(KT_TILE_K, k, row) : KS_PANEL_AT(KT_TILE_N, row, k)),       \
         (KS_B_IS_TURNED ? (k)*KS_B_LD + (row) : (row)*KS_B_LD + (k))))
#define KS_A_SIZE       (KS_A_LD * (KS_A_IS_TURNED ? KT_TILE_K : KT_TILE_M))
#define KS_B_SIZE       (KS_B_LD * (KS_B_IS_TURNED ? KT_TILE_K : KT_TILE_N))
#define KS_BUFFER       (KS_A_SIZE + KS_B_SIZE)
#define KS_N_BUFFERS    (KS_IS_ASYNC ? KT_PREFETCH : KT_PIPE == 2 ? 2 : 1)

/* Of wgmma: panels of lines of 64 elements, one panel behind the other; eight elements stay side by
 * side, and which place of its line they have depends on the line: see wgmma.h. */
#define KS_PANEL_AT(n_lines, line, at)                                                             \
    ((at) / 64 * (n_lines)*64 + (line)*64 + (((at) / 8 ^ (line)) & 7) * 8 + (at) % 8)
#define KS_PANEL_BYTES (KT_TILE_K * 128) /* of an operand that is turned */

/* C on its way through LDS, where KT_VC > 1: rows of results that each wave, or each thread, has
 * one of. */
#define KS_C_ROWS  KS_IF_MMA(KT_WAVE_M *KS_MMA(M), (KT_TILE_M / KT_THREAD_M))
#define KS_C_LD    (KT_TILE_N + 16 / KS_BYTES_(KS_C_DTYPE))
#define KS_C_BYTES (KT_VC > 1 ? KS_C_ROWS * KS_C_LD * KS_BYTES_(KS_C_DTYPE) : 0)

#define KS_AB_BYTES (KS_N_BUFFERS * KS_BUFFER * KS_EL_BYTES)
#define KS_ABC_BYTES (KS_AB_BYTES > KS_C_BYTES ? KS_AB_BYTES : KS_C_BYTES)
#define KS_LDS_BYTES KS_IF_WGMMA((KS_ABC_BYTES + 1023) / 1024 * 1024, KS_ABC_BYTES)
#define KS_TILE_LDS(name)                                                                          \
    KS_IF_WGMMA(KS_SHARED_1024, KS_SHARED)(name, KS_LDS_BYTES)
/* What a launch asks for: only NVIDIA's is dynamic. */
#define KS_LDS_LAUNCH (KS_GPU_TARGET == 2 ? KS_LDS_BYTES : 0)

/* Tiles of grid x, of an instance's arguments. */
#define KS_TILES(p, rows) (((rows) + KT_TILE_M - 1) / KT_TILE_M * (p).tiles_n)

/* The place of a block: first row and column of its tile, and its part of the sum. */
struct ks_place {
    int m, n;
    int y, z;           /* of the grid: group (batch), part of the sum */
    int k_begin, k_end; /* whole steps but for the end of the sum */
};

#endif
