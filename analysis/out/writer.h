/* SPDX-License-Identifier: MIT */
/* writer.h - frames as text, batch by batch: memory does not grow with the number of rows.
 *
 * To add a format: 1. analysis/out/<name>.c with a `const struct ks_format`; 2. its declaration and
 * its row in analysis/cmd/table.c; 3. its end-to-end test and its line in docs/results.md. */
#ifndef KS_ANALYSIS_WRITER_H
#define KS_ANALYSIS_WRITER_H

#include "analysis/data/frame.h"
#include "analysis/out/sink.h"

/* Contract of the slots: columns [n_columns] of the frame are written, later ones are not; every
 * batch has the same columns in the same order. state: `state_size` zeroed bytes. */
struct ks_format {
    const char *name;
    size_t state_size;
    /* NULL; else the format must know all rows before it begins: it sees them once before. */
    int (*look)(void *state, const struct ks_df *f, size_t n_columns, struct ks_err *err);
    /* Before the first batch; f may have no rows. */
    int (*begin)(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err);
    int (*put)(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
               struct ks_err *err);
    /* After the last batch, not after a failure. */
    int (*end)(void *state, struct ks_sink *to, struct ks_err *err);
    void (*release)(void *state);
};

extern const struct ks_format ks_format_csv, ks_format_text, ks_format_markdown, ks_format_json,
    ks_format_parquet, ks_format_hdf5;

/* Number `at` of the column's values as CSV and tables show it.
 * @out [out] [KS_NUMBER_TEXT] (number.h), with a NUL. Returns the length. */
size_t ks_number_cell(const struct ks_df_column *c, size_t at, char *out);

#endif
