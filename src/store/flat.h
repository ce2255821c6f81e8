/* SPDX-License-Identifier: MIT */
/* flat.h - one table of any columns as an HDF5 file of its own, with the HDF5 Table convention. */
#ifndef KS_STORE_FLAT_H
#define KS_STORE_FLAT_H

#include "base/err.h"
#include "record/columns.h"

#include <stddef.h>
#include <stdint.h>

#define KS_FLAT_PATH "/table"

/* In a row: int64_t, double (F64, F32), or char[text_len + 1]. */
struct ks_flat_column {
    const char *name, *unit; /* borrowed until ks_flat_close */
    uint8_t type;            /* KS_COL_I64, F64, F32, TEXT */
    uint32_t text_len;       /* bytes of the longest text */
    double no_real;          /* of F64 and F32: stands for no value */
};

#define KS_FLAT_NO_I64  INT64_MIN /* no value; also in the attribute FIELD_<n>_FILL */
#define KS_FLAT_NO_REAL (-1.0)    /* of columns without numbers below 0 */

struct ks_flat;

/* ks_flat_create() - an empty table.
 * @fd [in] open for reading and writing, borrowed until ks_flat_close; its content is thrown away
 * Returns 0; KS_EIO, KS_ENOSPC, KS_ENOMEM. */
int ks_flat_create(int fd, const char *title, const struct ks_flat_column *columns, size_t n,
                   struct ks_flat **flat_out, struct ks_err *err);
/* The row that ks_flat_put adds; at: of a column in it. */
void *ks_flat_at(struct ks_flat *f, size_t column);
int ks_flat_put(struct ks_flat *f, struct ks_err *err);
/* Writes what is held and closes the file; nothing more may follow. */
int ks_flat_finish(struct ks_flat *f, struct ks_err *err);
void ks_flat_close(struct ks_flat *f); /* NULL is fine */

/* ---- reading ---- */

struct ks_flat_reader;

/* KS_EFORMAT: not such a file. @columns_out [out] [*n_out] borrowed */
int ks_flat_open(const char *path, struct ks_flat_reader **reader_out,
                 const struct ks_flat_column **columns_out, size_t *n_out, uint64_t *n_rows_out,
                 struct ks_err *err);
/* Row i; columns are found with ks_flat_value. */
int ks_flat_read(struct ks_flat_reader *r, uint64_t i, struct ks_err *err);
const void *ks_flat_value(const struct ks_flat_reader *r, size_t column);
void ks_flat_reader_close(struct ks_flat_reader *r); /* NULL is fine */

#endif
