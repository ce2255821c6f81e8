/* SPDX-License-Identifier: MIT */
/* mma.h - matrix instructions: shapes, and which lane and slot holds which element.
 *
 * A is M x K, B is N x K, C is M x N. Of each lane l: slot i of A is element (a_row, a_k), of B
 * (b_col, b_k), of C (c_row, c_col). KS_MMAn_RUN slots of A and B lie side by side along K. n is
 * KT_MMA:
 *   1 MFMA 32x32x8    2 MFMA 16x16x16    5 MFMA 32x32x16    6 MFMA 16x16x32
 *   3 WMMA 16x16x16 (gfx11, gfx12, wave 32)   4 mma.sync m16n8k16 (sm_80)
 *   7 wgmma m64n64k16   8 wgmma m64n128k16   9 wgmma m64n256k16 (sm_90a): a wave is a group of four
 *     warps, A and B are in LDS
 * The maps of 10 are those of 3 on gfx12, where lanes do not hold each element twice.
 * Where the device has only shorter MFMAs (fp32; bf16 of gfx908; 5 and 6 before gfx950) several
 * make one: each takes a part of a lane's slots, and since A and B give the same k to the same slot,
 * the order of the sum is all that changes. */
#ifndef KS_GPU_MMA_H
#define KS_GPU_MMA_H

#include "args.h"

#define KS_MMA(what)   KS_JOIN(KS_MMA, KS_MAPS, _, what)
/* The maps of KT_MMA; without KS_JOIN, which does not nest. */
#define KS_MAPS        KS_MAPS_OF(KT_MMA)
#define KS_MAPS_OF(n)  KS_MAPS_OF_(n)
#define KS_MAPS_OF_(n) KS_MAPS_##n
#define KS_MAPS_0      0
#define KS_MAPS_1      1
#define KS_MAPS_2      2
#if defined(__GFX12__)
#define KS_MAPS_3      10
#elif KS_GPU_TARGET == 3 /* so that it checks both */
#define KS_MAPS_3      KS_MAPS_BY(KT_DTYPE)
#else
#define KS_MAPS_3      3
#endif
#define KS_MAPS_BY(n)  KS_MAPS_BY_(n)
#define KS_MAPS_BY_(n) KS_MAPS_3_##n
#define KS_MAPS_3_1    3
#define KS_MAPS_3_2    10
#define KS_MAPS_4      4
#define KS_MAPS_5      5
#define KS_MAPS_6      6
#define KS_MAPS_7      7
#define KS_MAPS_8      8
#define KS_MAPS_9      9

#define KS_MMA1_M           32
#define KS_MMA1_N           32
#define KS_MMA1_K           8
#define KS_MMA1_LANES       64
#define KS_MMA1_NA          4
#define KS_MMA1_NB          4
#define KS_MMA1_NC          16
#define KS_MMA1_RUN         4
#define KS_MMA1_a_row(l, i) ((l) & 31)
#define KS_MMA1_a_k(l, i)   (((l) >> 5) * 4 + (i))
#define KS_MMA1_b_col(l, i) ((l) & 31)
#define KS_MMA1_b_k(l, i)   (((l) >> 5) * 4 + (i))
#define KS_MMA1_c_row(l, i) (((i) >> 2) * 8 + ((l) >> 5) * 4 + ((i) & 3))
#define KS_MMA1_c_col(l, i) ((l) & 31)

#define KS_MMA2_M           16
#define KS_MMA2_N           16
#define KS_MMA2_K           16
#define KS_MMA2_LANES       64
#define KS_MMA2_NA          4
#define KS_MMA2_NB          4
#define KS_MMA2_NC          4
#define KS_MMA2_RUN         4
#define KS_MMA2_a_row(l, i) ((l) & 15)
#define KS_MMA2_a_k(l, i)   (((l) >> 4) * 4 + (i))
#define KS_MMA2_b_col(l, i) ((l) & 15)
#define KS_MMA2_b_k(l, i)   (((l) >> 4) * 4 + (i))
#define KS_MMA2_c_row(l, i) (((l) >> 4) * 4 + (i))
#define KS_MMA2_c_col(l, i) ((l) & 15)

#define KS_MMA3_M           16
#define KS_MMA3_N           16
#define KS_MMA3_K           16
#define KS_MMA3_LANES       32
#define KS_MMA3_NA          16
#define KS_MMA3_NB          16
#define KS_MMA3_NC          8
#define KS_MMA3_RUN         8
#define KS_MMA3_a_row(l, i) ((l) & 15)
#define KS_MMA3_a_k(l, i)   (i)
#define KS_MMA3_b_col(l, i) ((l) & 15)
#define KS_MMA3_b_k(l, i)   (i)
#define KS_MMA3_c_row(l, i) ((i) * 2 + ((l) >> 4))
#define KS_MMA3_c_col(l, i) ((l) & 15)

#define KS_MMA4_M           16
#define KS_MMA4_N           8
#define KS_MMA4_K           16
#define KS_MMA4_LANES       32
#define KS_MMA4_NA          8
#define KS_MMA4_NB          4
#define KS_MMA4_NC          4
#define KS_MMA4_RUN         2
#define KS_MMA4_a_row(l, i) (((l) >> 2) + ((i) >> 1 & 1) * 8)
#define KS_MMA4_a_k(l, i)   (((l) & 3) * 2 + ((i) & 1) + ((i) >> 2) * 8)
#define KS_MMA4_b_col(l, i) ((l) >> 2)
#define KS_MMA4_b_k(l, i)   (((l) & 3) * 2 + ((i) & 1) + ((i) >> 1) * 8)
#define KS_MMA4_c_row(l, i) (((l) >> 2) + ((i) >> 1) * 8)
#define KS_MMA4_c_col(l, i) (((l) & 3) * 2 + ((i) & 1))

#define KS_MMA5_M           32
#define KS_MMA5_N           32
#define KS_MMA5_K           16
#define KS_MMA5_LANES       64
#define KS_MMA5_NA          8
#define KS_MMA5_NB          8
#define KS_MMA5_NC          16
#define KS_MMA5_RUN         8
#define KS_MMA5_a_row(l, i) ((l) & 31)
#define KS_MMA5_a_k(l, i)   (((l) >> 5) * 8 + (i))
#define KS_MMA5_b_col(l, i) ((l) & 31)
#define KS_MMA5_b_k(l, i)   (((l) >> 5) * 8 + (i))
#define KS_MMA5_c_row(l, i) KS_MMA1_c_row(l, i)
#define KS_MMA5_c_col(l, i) KS_MMA1_c_col(l, i)

#define KS_MMA6_M           16
#define KS_MMA6_N           16
#define KS_MMA6_K           32
#define KS_MMA6_LANES       64
#define KS_MMA6_NA          8
#define KS_MMA6_NB          8
#define KS_MMA6_NC          4
#define KS_MMA6_RUN         8
#define KS_MMA6_a_row(l, i) ((l) & 15)
#define KS_MMA6_a_k(l, i)   (((l) >> 4) * 8 + (i))
#define KS_MMA6_b_col(l, i) ((l) & 15)
#define KS_MMA6_b_k(l, i)   (((l) >> 4) * 8 + (i))
#define KS_MMA6_c_row(l, i) KS_MMA2_c_row(l, i)
#define KS_MMA6_c_col(l, i) KS_MMA2_c_col(l, i)

#define KS_MMA10_M           16
#define KS_MMA10_N           16
#define KS_MMA10_K           16
#define KS_MMA10_LANES       32
#define KS_MMA10_NA          8
#define KS_MMA10_NB          8
#define KS_MMA10_NC          8
#define KS_MMA10_RUN         8
#define KS_MMA10_a_row(l, i) ((l) & 15)
#define KS_MMA10_a_k(l, i)   (((l) >> 4) * 8 + (i))
#define KS_MMA10_b_col(l, i) ((l) & 15)
#define KS_MMA10_b_k(l, i)   (((l) >> 4) * 8 + (i))
#define KS_MMA10_c_row(l, i) (((l) >> 4) * 8 + (i))
#define KS_MMA10_c_col(l, i) ((l) & 15)

#define KS_MMA7_M           64
#define KS_MMA7_N           64
#define KS_MMA7_K           16
#define KS_MMA7_LANES       128
#define KS_MMA7_NC          32
#define KS_MMA7_c_row(l, i) (((l) >> 5) * 16 + ((l) >> 2 & 7) + ((i) >> 1 & 1) * 8)
#define KS_MMA7_c_col(l, i) (((i) >> 2) * 8 + ((l) & 3) * 2 + ((i) & 1))

#define KS_MMA8_M           64
#define KS_MMA8_N           128
#define KS_MMA8_K           16
#define KS_MMA8_LANES       128
#define KS_MMA8_NC          64
#define KS_MMA8_c_row(l, i) KS_MMA7_c_row(l, i)
#define KS_MMA8_c_col(l, i) KS_MMA7_c_col(l, i)

#define KS_MMA9_M           64
#define KS_MMA9_N           256
#define KS_MMA9_K           16
#define KS_MMA9_LANES       128
#define KS_MMA9_NC          128
#define KS_MMA9_c_row(l, i) KS_MMA7_c_row(l, i)
#define KS_MMA9_c_col(l, i) KS_MMA7_c_col(l, i)

#endif
