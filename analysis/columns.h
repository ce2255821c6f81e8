/* SPDX-License-Identifier: MIT */
/* columns.h - the columns of training.csv: those of the column table (record/measured.h,
 * record/tables.h) that are marked for it, grouped by role. A value that does not exist is an empty
 * cell. */
#ifndef KS_ANALYSIS_COLUMNS_H
#define KS_ANALYSIS_COLUMNS_H

#include "store/store.h"

/* Names, order and format of the columns. */
enum ks_columns_version {
    KS_COLUMNS_V1, /* as before schema 1.5: old names, block_id decimal, durations in ms */
    KS_COLUMNS_V2
};

struct ks_columns;

/* The fixed columns, with one per dimension and one per trait ("trait_...") of this file in their
 * places. f must stay open; NULL: every dimension there is, and one column for all traits, to show
 * the schema. */
int ks_columns_create(const struct ks_store_file *f, enum ks_columns_version version,
                      struct ks_columns **c_out, struct ks_err *err);
void ks_columns_destroy(struct ks_columns *c);                          /* NULL is fine */
void ks_columns_header(const struct ks_columns *c, struct ks_buf *out); /* with newline */
/* code: the row that says how this one's machine code did (join.h), NULL: none does. */
void ks_columns_row(const struct ks_columns *c, const struct ks_row *row, const struct ks_row *code,
                    struct ks_buf *out);
/* One line per column as CSV: column, type, unit, missing, role, table, meaning. `missing` and
 * `table` tell of results.h5: there is the same column. */
void ks_columns_schema(const struct ks_columns *c, struct ks_buf *out);

/* The shortest decimal text that is this float again. */
void ks_f32_text(double v, char text_out[32]);

#endif
