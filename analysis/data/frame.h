/* SPDX-License-Identifier: MIT */
/* frame.h - a data frame (df): a table in columns: numbers, texts, and which of them are missing.
 *
 * A column holds one value per row, or, where `code` is set, a list of values that rows refer to by
 * number: texts by their dictionary, columns of joined tables by the row of that table. Columns
 * that share a `code` array are of the same table. The values that codes refer to never change
 * while their reader lives; new ones are appended. */
#ifndef KS_ANALYSIS_FRAME_H
#define KS_ANALYSIS_FRAME_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ks_df_type { KS_DF_F64, KS_DF_I64, KS_DF_TEXT };

/* How a number becomes text. */
enum ks_df_show {
    KS_AS_NUMBER,   /* f64: exact, at most 17 digits; i64: signed */
    KS_AS_F32,      /* f64 that came from float32: the shortest text that is this float again */
    KS_AS_UNSIGNED, /* i64 that holds a uint64 */
    KS_AS_HEX       /* the same in 16 hex digits */
};

#define KS_DF_NONE UINT32_MAX /* a code: the row has no value */

struct ks_df_column {
    const char *name;
    const char *origin; /* its name in the column table, where `name` is another */
    const char *unit;   /* "" = none */
    uint8_t role;       /* enum ks_col_role (record/columns.h) */
    uint8_t type, show;
    const uint32_t *code; /* [n_rows] or NULL: value i is that of row i */
    size_t n_values;
    union {
        const double *f64;
        const int64_t *i64;
        const char *const *text;
    } values;
    const uint8_t *missing; /* [n_values] 1 = no value; NULL: all have one */
};

struct ks_df {
    struct ks_df_column *columns; /* [n_columns] */
    size_t n_columns, n_rows;
    uint64_t first_row; /* in the whole table, of this batch */
};

/* The column of that name, NULL when the frame has none. */
const struct ks_df_column *ks_df_find(const struct ks_df *f, const char *name);
/* The same; KS_EINVAL names the column that is not there or has another type. */
int ks_df_need(const struct ks_df *f, const char *name, enum ks_df_type type,
               const struct ks_df_column **column_out, struct ks_err *err);

static inline size_t ks_df_at(const struct ks_df_column *c, size_t row)
{
    return c->code ? c->code[row] : row;
}

static inline bool ks_df_has(const struct ks_df_column *c, size_t row)
{
    size_t at = ks_df_at(c, row);

    return at != KS_DF_NONE && !(c->missing && c->missing[at]);
}

/* The value of a row; `otherwise` when it is missing. */
static inline double ks_df_f64(const struct ks_df_column *c, size_t row, double otherwise)
{
    return ks_df_has(c, row) ? c->values.f64[ks_df_at(c, row)] : otherwise;
}

static inline int64_t ks_df_i64(const struct ks_df_column *c, size_t row, int64_t otherwise)
{
    return ks_df_has(c, row) ? c->values.i64[ks_df_at(c, row)] : otherwise;
}

/* Borrowed; NULL when missing. */
static inline const char *ks_df_text(const struct ks_df_column *c, size_t row)
{
    return ks_df_has(c, row) ? c->values.text[ks_df_at(c, row)] : NULL;
}

#endif
