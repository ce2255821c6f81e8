/* SPDX-License-Identifier: MIT */
/* rows.h - a small table made in memory, as a frame that every writer takes. */
#ifndef KS_ANALYSIS_ROWS_H
#define KS_ANALYSIS_ROWS_H

#include "analysis/out/writer.h"

#include <stdbool.h>

struct ks_rows_column {
    const char *name, *unit;
    uint8_t type; /* enum ks_df_type */
    uint8_t show; /* enum ks_df_show */
};

struct ks_rows; /* opaque */

/* @columns [in] [n_columns] borrowed; n_rows: how many there will be at most. KS_ENOMEM. */
int ks_rows_create(const struct ks_rows_column *columns, size_t n_columns, size_t n_rows,
                   struct ks_rows **rows_out, struct ks_err *err);
void ks_rows_destroy(struct ks_rows *r); /* NULL is fine */

/* Begins the next row: all its values are missing. */
void ks_rows_next(struct ks_rows *r);
/* The value of the present row; texts are borrowed. Asserts the column's type. */
void ks_rows_text(struct ks_rows *r, size_t column, const char *text);
void ks_rows_f64(struct ks_rows *r, size_t column, double v); /* not finite: missing */
void ks_rows_i64(struct ks_rows *r, size_t column, int64_t v);

const struct ks_df *ks_rows_df(struct ks_rows *r);
/* The whole table. As the writer. */
int ks_rows_write(struct ks_rows *r, const struct ks_format *format, struct ks_sink *to,
                  struct ks_err *err);

#endif
