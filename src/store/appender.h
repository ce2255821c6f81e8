/* SPDX-License-Identifier: MIT */
/* appender.h - rows gathered to whole chunks and appended to a dataset, by the caller or by a
 * thread of its own, so that packing rows and compressing chunks overlap. Private to src/store.
 *
 * HDF5 need not be thread-safe: between ks_writer_start and ks_writer_stop only the writer calls
 * it. */
#ifndef KS_STORE_APPENDER_H
#define KS_STORE_APPENDER_H

#include "store/h5.h"

struct ks_writer;

struct ks_appender {
    hid_t dataset, type; /* owned; `type` as in the file */
    const char *path;    /* for messages; borrowed */
    size_t row_bytes, chunk_rows;
    uint8_t *held; /* [chunk_rows] rows not yet handed on; owned */
    size_t n_held;
    uint64_t n_rows;          /* on disk */
    uint32_t crc;             /* CRC-32C of the rows on disk */
    struct ks_writer *writer; /* NULL: the caller writes */
};

/* The dataset is made (ks_h5_dataset). Takes type. Safe to drop whether or not it succeeded. */
int ks_appender_create(struct ks_appender *a, hid_t file, const char *path, hid_t type,
                       size_t chunk_rows, struct ks_err *err);
/* Where the next row belongs; ks_appender_commit counts it in and hands on a full chunk. */
uint8_t *ks_appender_slot(const struct ks_appender *a);
int ks_appender_commit(struct ks_appender *a, struct ks_err *err);
/* n rows at once. */
int ks_appender_put(struct ks_appender *a, const void *rows, size_t n, struct ks_err *err);
/* Writes what is held, and the attributes n_rows and crc32c. The writer was stopped. */
int ks_appender_finish(struct ks_appender *a, struct ks_err *err);
void ks_appender_drop(struct ks_appender *a);

/* A thread that writes chunks in the order given, with all signals blocked. Not started when the
 * system has no more threads: *writer_out = NULL, and callers write. */
int ks_writer_start(struct ks_writer **writer_out, struct ks_err *err);
/* Everything given was written or has failed; NULL is fine. Returns the first failure. */
int ks_writer_stop(struct ks_writer *w, struct ks_err *err);

#endif
