/* SPDX-License-Identifier: MIT */
/* batch.h - many rows of /measurements at once, as packed bytes, in any order. Memory does not grow
 * with the number of rows.
 *
 * Chunks as ks_store_gather writes them are unpacked here, because HDF5 can only unpack a chunk
 * whole: the first columns of all rows cost a tenth of that. Other files go through HDF5. */
#ifndef KS_STORE_BATCH_H
#define KS_STORE_BATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_store_file;
struct ks_batch;

#define KS_NO_PLACE UINT32_MAX

/* A column of /measurements in a packed row. */
struct ks_place {
    uint8_t type;     /* enum ks_col_type (schema.h) */
    uint32_t at, len; /* bytes; at = KS_NO_PLACE: not in this file */
    bool has_missing; /* `missing` stands for "no value" */
    double missing;
    const char *units;
};

/* ks_batch_open() - a reader beside others of the same file, which must stay open.
 * @cache_bytes [in] unpacked chunks that are kept; at least one is. */
int ks_batch_open(struct ks_store_file *f, size_t cache_bytes, struct ks_batch **batch_out,
                  struct ks_err *err);
void ks_batch_close(struct ks_batch *b); /* NULL is fine */

size_t ks_batch_row_bytes(const struct ks_batch *b);
uint64_t ks_batch_n_rows(const struct ks_batch *b);
/* KS_EINVAL: the schema has no column of that name in /measurements. */
int ks_batch_place(const struct ks_batch *b, const char *column, struct ks_place *place_out,
                   struct ks_err *err);

/* ks_batch_rows() - rows by number.
 * @rows [in] [n] any order; ascending is fastest
 * @packed_out [out] [n] rows of ks_batch_row_bytes, in the order of `rows`
 * Returns 0; KS_EFORMAT damaged; KS_EIO; KS_ENOMEM; KS_EINVAL beyond the end. */
int ks_batch_rows(struct ks_batch *b, const uint64_t *rows, size_t n, uint8_t *packed_out,
                  struct ks_err *err);

/* What ks_batch_scan calls for each chunk: rows [first, first + n), `stride` bytes apart, of which
 * only the first bytes asked for hold anything. A negative result ends the scan. */
typedef int (*ks_batch_fn)(void *ctx, uint64_t first, size_t n, const uint8_t *packed,
                           size_t stride, struct ks_err *err);
/* ks_batch_scan() - the first n_bytes of every row, in the order of the file. Returns 0, an error
 * as above, or what the function returned. */
int ks_batch_scan(struct ks_batch *b, size_t n_bytes, ks_batch_fn fn, void *ctx,
                  struct ks_err *err);

#endif
