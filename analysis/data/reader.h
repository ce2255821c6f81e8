/* SPDX-License-Identifier: MIT */
/* reader.h - fills frames from the rows of a view: some columns, batch by batch, in one pass.
 *
 * Memory: a batch of the columns asked for, each joined column once per row of its table, and the
 * distinct texts. Batches hold whole problems. */
#ifndef KS_ANALYSIS_READER_H
#define KS_ANALYSIS_READER_H

#include "analysis/data/catalogue.h"
#include "analysis/data/view.h"

#define KS_BATCH_ROWS ((size_t)8192)

struct ks_reader;

/* ks_reader_open() - a frame of these columns, in this order.
 * @sources [in] borrowed until the reader is closed
 * @batch_rows [in] at most so many rows at once unless one problem has more; 0 = KS_BATCH_ROWS
 * @reader_out [out] v must stay open
 * Returns 0; KS_EINVAL a column of a table that rows do not refer to; KS_ENOMEM. */
int ks_reader_open(struct ks_view *v, const struct ks_sources *sources, size_t batch_rows,
                   struct ks_reader **reader_out, struct ks_err *err);
void ks_reader_close(struct ks_reader *r); /* NULL is fine */
/* The columns, with no rows before the first batch. */
const struct ks_df *ks_reader_df(const struct ks_reader *r);

/* ks_reader_next() - the next batch. Columns that analysis/learn derives have no values yet.
 * @frame_out [out] borrowed until the next call; its columns may be given other values meanwhile
 * Returns 1; 0 = no more rows; KS_EFORMAT, KS_EIO, KS_ENOMEM. */
int ks_reader_next(struct ks_reader *r, struct ks_df **frame_out, struct ks_err *err);

/* ---- joined tables ---- */

/* ks_joined_open() - columns of one joined table, whole, as a frame of its rows.
 * @columns [in] [n_columns] names in that table, borrowed
 * Returns 0; KS_EINVAL the table has no such column; KS_ENOMEM. f must stay open. */
struct ks_joined;
int ks_joined_open(const struct ks_store_file *f, enum ks_table_id table,
                   const char *const *columns, size_t n_columns, struct ks_joined **joined_out,
                   struct ks_err *err);
const struct ks_df *ks_joined_df(const struct ks_joined *j);
void ks_joined_close(struct ks_joined *j); /* NULL is fine */

#endif
