/* SPDX-License-Identifier: MIT */
/* table.h - rows of structs to and from a compound dataset with the HDF5 Table convention. Private
 * to src/store. */
#ifndef KS_STORE_TABLE_H
#define KS_STORE_TABLE_H

#include "store/appender.h"
#include "store/h5.h"
#include "store/schema.h"

#include <stdbool.h>

#define KS_NO_COLUMN UINT32_MAX

/* Where each column of a definition lies in a packed row of one file. */
struct ks_packing {
    const struct ks_table_def *def; /* borrowed */
    uint32_t *at, *len;             /* [n_columns] bytes; at = KS_NO_COLUMN: not in this file */
    size_t row_bytes;
};

/* The longest text of each column over n rows; text_len_io [n_columns] only grows. */
void ks_table_lengths(const struct ks_table_def *def, const void *rows, size_t n,
                      uint32_t *text_len_io);

/* Packed little-endian bytes of one row [row_bytes]. A longer text is cut. */
void ks_packing_pack(const struct ks_packing *l, const void *row, uint8_t *packed_out);
/* The opposite; columns the file lacks become their missing value. POINTER members become a copy
 * that the caller frees. KS_ENOMEM. */
int ks_packing_unpack(const struct ks_packing *l, const uint8_t *packed, void *row_out,
                      struct ks_err *err);

struct ks_table_writer {
    struct ks_packing layout;
    struct ks_appender rows;
};

/* n_rows: how many will come, for the chunk size; chunk_rows 0 = about 0.5 MiB. The writer is safe
 * to drop whether or not this succeeded, if it was zero-initialised. */
int ks_table_create(struct ks_table_writer *w, hid_t file, const struct ks_table_def *def,
                    const uint32_t *text_len, uint64_t n_rows, uint32_t chunk_rows,
                    struct ks_err *err);
int ks_table_put(struct ks_table_writer *w, const void *row, struct ks_err *err);
/* Writes what is held, and the attributes n_rows and crc32c. */
int ks_table_finish(struct ks_table_writer *w, struct ks_err *err);
void ks_table_drop(struct ks_table_writer *w); /* releases everything, finished or not */

struct ks_table_reader {
    struct ks_packing layout;
    hid_t dataset, type;
    uint8_t *held; /* [chunk_rows] */
    uint64_t first, n_held, n_rows;
    size_t chunk_rows;
};

/* Whether the columns of a file have the names of before KS_RENAMED_MINOR (record/columns.h).
 * Readers ask for present names all the same. */
bool ks_table_has_old_names(hid_t file);
/* KS_EFORMAT when the dataset is absent or is no table. Zero-initialise first. */
int ks_table_open(struct ks_table_reader *r, hid_t file, const struct ks_table_def *def,
                  struct ks_err *err);
/* Row i, packed as in the file; borrowed until the next call. KS_EINVAL beyond the end. */
int ks_table_row(struct ks_table_reader *r, uint64_t i, const uint8_t **packed_out,
                 struct ks_err *err);
void ks_table_close(struct ks_table_reader *r);

/* Reads a whole dataset, checksums and all: its length and the CRC-32C of its content. */
int ks_dataset_digest(hid_t file, const char *path, uint64_t *n_out, uint32_t *crc_out,
                      struct ks_err *err);

#endif
