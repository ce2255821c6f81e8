/* SPDX-License-Identifier: MIT */
/* columns.h - the columns of training.csv. A value that does not exist is an empty cell. */
#ifndef KS_ANALYSIS_COLUMNS_H
#define KS_ANALYSIS_COLUMNS_H

#include "store/store.h"

struct ks_columns;

/* The fixed columns, with one per dimension and one per trait ("trait_...") of this file in their
 * places. f must stay open. */
int ks_columns_create(const struct ks_store_file *f, struct ks_columns **c_out, struct ks_err *err);
void ks_columns_destroy(struct ks_columns *c);                          /* NULL is fine */
void ks_columns_header(const struct ks_columns *c, struct ks_buf *out); /* with newline */
/* code: the row that says how this one's machine code did (join.h), NULL: none does. */
void ks_columns_row(const struct ks_columns *c, const struct ks_row *row, const struct ks_row *code,
                    struct ks_buf *out);

/* The shortest decimal text that is this float again. */
void ks_f32_text(double v, char text_out[32]);

#endif
