/* SPDX-License-Identifier: MIT */
/* chunk.h - unpacks chunks of a dataset as ks_h5_dataset makes them: shuffle, deflate, fletcher32.
 * Private to src/store. */
#ifndef KS_STORE_CHUNK_H
#define KS_STORE_CHUNK_H

#include "store/h5.h"

struct ks_chunks {
    hid_t dataset, type; /* borrowed */
    size_t row_bytes, chunk_rows;
    uint64_t n_rows;
    bool is_ours; /* the filters are ours, in our order */
    uint8_t *raw; /* [raw_cap] as on disk */
    size_t raw_cap;
    uint8_t *planes; /* [chunk_rows x row_bytes] byte 0 of all rows, then byte 1 ... */
};

/* KS_ENOMEM. Release whether or not it succeeded; zero-initialise first. */
int ks_chunks_init(struct ks_chunks *c, hid_t dataset, hid_t type, uint64_t n_rows,
                   struct ks_err *err);
void ks_chunks_release(struct ks_chunks *c);

/* Rows of chunk i in it; fewer than chunk_rows in the last. */
size_t ks_chunks_rows(const struct ks_chunks *c, uint64_t i);
/* ks_chunks_read() - chunk i, the first n_bytes of each row (all: row_bytes).
 * @rows_out [out] [chunk_rows x row_bytes]; bytes of a row behind the first n_bytes, rounded up to
 *   8, keep what they hold
 * Returns 0; KS_EFORMAT checksum or content damaged; KS_EIO; KS_ENOMEM. */
int ks_chunks_read(struct ks_chunks *c, uint64_t i, size_t n_bytes, uint8_t *rows_out,
                   struct ks_err *err);

/* The checksum of HDF5's fletcher32 filter. */
uint32_t ks_fletcher32(const uint8_t *bytes, size_t n);

#endif
