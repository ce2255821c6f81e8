/* SPDX-License-Identifier: MIT */
/* parquet_rle.h - Parquet's hybrid of run lengths and bit packing (Encodings.md, RLE). Private to
 * parquet*.c. */
#ifndef KS_ANALYSIS_PARQUET_RLE_H
#define KS_ANALYSIS_PARQUET_RLE_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* @values [in] [n] each below 2^width; width 0 to 32 */
void ks_pq_rle(struct ks_buf *to, const uint32_t *values, size_t n, unsigned width);

#endif
