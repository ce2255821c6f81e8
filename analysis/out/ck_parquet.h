/* SPDX-License-Identifier: MIT */
/* ck_parquet.h - the columns of Composable Kernel's training data as Parquet: what its converter
 * makes of the CSV of its benchmark (convert_csv_to_parquet in tile_engine/ops/grouped_conv).
 *
 * Its converter stores the tile as `block_size` (tile_m), `gemm_m_per_block` (tile_n) and
 * `gemm_n_per_block` (tile_k): so do we. What nobody has measured is null: all hw_ columns but
 * hw_num_cus. */
#ifndef KS_ANALYSIS_CK_PARQUET_H
#define KS_ANALYSIS_CK_PARQUET_H

#include "analysis/out/ck_csv.h"

struct ks_ck_parquet;

int ks_ck_parquet_create(struct ks_ck_parquet **p_out, struct ks_sink *to, struct ks_err *err);
void ks_ck_parquet_destroy(struct ks_ck_parquet *p); /* NULL is fine */
/* Rows of a batch, as ks_ck_csv_put. */
int ks_ck_parquet_put(struct ks_ck_parquet *p, struct ks_ck_csv *c, const struct ks_df *f,
                      const uint32_t *rows, size_t n, struct ks_err *err);
/* After the last batch. */
int ks_ck_parquet_end(struct ks_ck_parquet *p, struct ks_err *err);

#endif
