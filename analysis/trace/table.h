/* SPDX-License-Identifier: MIT */
/* table.h - a table that is filled cell by cell and written in any of ksweep-analyze's formats. */
#ifndef KS_ANALYSIS_TRACE_TABLE_H
#define KS_ANALYSIS_TRACE_TABLE_H

#include "analysis/out/writer.h"

enum { KS_TABLE_COLUMNS = 32 };

struct ks_table_column {
    const char *name;
    enum ks_df_type type; /* KS_DF_TEXT or KS_DF_F64; whole numbers are written without a point */
};

/* Cells are put row by row in the order of the columns. Failure is sticky: ks_table_write says so.
 */
struct ks_table {
    const struct ks_table_column *columns; /* borrowed; ends with a NULL name */
    size_t n_columns, n_cells, cap;
    struct ks_table_cell *cells; /* owned */
    bool has_failed;
};

void ks_table_init(struct ks_table *t, const struct ks_table_column *columns);
void ks_table_release(struct ks_table *t);
void ks_table_text(struct ks_table *t, const char *text); /* copied; NULL: missing */
void ks_table_number(struct ks_table *t, double v);       /* not finite: missing */
void ks_table_missing(struct ks_table *t);

/* digits: significant digits of numbers that are not whole, 0: all. KS_ENOMEM, or what writing
 * gives. */
int ks_table_write(const struct ks_table *t, const struct ks_format *format, int digits,
                   struct ks_sink *to, struct ks_err *err);

/* Several tables in one text: JSON as members of one object, Markdown and text below titles. */
struct ks_tables {
    const struct ks_format *format;
    struct ks_sink *to;
    bool has_one;
};
int ks_tables_put(struct ks_tables *s, const char *key, const char *title,
                  const struct ks_table *table, struct ks_err *err);
int ks_tables_end(struct ks_tables *s, struct ks_err *err);

#endif
