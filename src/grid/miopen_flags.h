/* SPDX-License-Identifier: MIT */
/* miopen_flags.h - the flags of `MIOpenDriver conv`: one table of long names, letters, defaults. */
#ifndef KS_GRID_MIOPEN_FLAGS_H
#define KS_GRID_MIOPEN_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Triples are in the order depth, height, width. Those behind KS_MIO_N_USED are read and ignored.
 */
enum ks_miopen_flag {
    KS_MIO_SPATIAL,
    KS_MIO_FORW,
    KS_MIO_N,
    KS_MIO_C,
    KS_MIO_K,
    KS_MIO_GROUPS,
    KS_MIO_TENSOR_VECT,
    KS_MIO_IN_D,
    KS_MIO_IN_H,
    KS_MIO_IN_W,
    KS_MIO_FIL_D,
    KS_MIO_FIL_H,
    KS_MIO_FIL_W,
    KS_MIO_STRIDE_D,
    KS_MIO_STRIDE_H,
    KS_MIO_STRIDE_W,
    KS_MIO_DILATION_D,
    KS_MIO_DILATION_H,
    KS_MIO_DILATION_W,
    KS_MIO_PAD_D,
    KS_MIO_PAD_H,
    KS_MIO_PAD_W,
    KS_MIO_TRANS_PAD_D,
    KS_MIO_TRANS_PAD_H,
    KS_MIO_TRANS_PAD_W,
    KS_MIO_N_NUMBERS,
    KS_MIO_MODE = KS_MIO_N_NUMBERS,
    KS_MIO_PAD_MODE,
    KS_MIO_IN_LAYOUT,
    KS_MIO_FIL_LAYOUT,
    KS_MIO_OUT_LAYOUT,
    KS_MIO_IN_CAST,
    KS_MIO_OUT_CAST,
    KS_MIO_WEI_CAST,
    KS_MIO_N_USED
};

struct ks_miopen_flags {
    int64_t value[KS_MIO_N_NUMBERS]; /* |v| < 2^31 */
    char text[KS_MIO_N_USED][24];    /* texts, by the same index */
};

/* Reads "-n 128 --in_channels 3 --in_h=32 ..." (changed on the way) over the driver's defaults; the
 * last one of a flag counts. Zero depth strides and dilations and a zero group count mean 1. Shell
 * variables behind the last flag, such as $EXTRA, are skipped. false: `why_out` says which flag is
 * unknown, lacks its value or has a wrong one, or which variable stands before a flag. */
bool ks_miopen_flags_parse(char *args, struct ks_miopen_flags *out, char *why_out, size_t cap);

#endif
