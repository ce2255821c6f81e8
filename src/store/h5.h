/* SPDX-License-Identifier: MIT */
/* h5.h - small things around HDF5: errors, attributes, a table's layout, writing and reading rows
 * in chunks. Together with the files that include it the only place with hdf5.h. */
#ifndef KS_STORE_H5_H
#define KS_STORE_H5_H

#include "base/buf.h"
#include "base/err.h"
#include "store/schema.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#define KS_H5_NONE ((hid_t)-1)

/* Errors are reported by our own functions, and the library must not try at exit to flush a file
 * that a full disk refused (it loops, then complains). Idempotent; every entry point calls it. */
void ks_h5_start(void);

/* Opens a file for reading, without HDF5's lock on it: a network file system may have none, and
 * what is there is whole (it was renamed into place). < 0 on failure. */
hid_t ks_h5_open(const char *path);
/* Closes any HDF5 object; < 0 is fine. */
void ks_h5_close(hid_t id);

/* ks_fail with the innermost cause of HDF5's error stack appended; KS_ENOSPC when the disk or the
 * quota is full, else KS_EIO. */
int ks_h5_fail(struct ks_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int ks_h5_put_text(hid_t at, const char *name, const char *text, struct ks_err *err);
int ks_h5_put_u64(hid_t at, const char *name, uint64_t v, struct ks_err *err);
/* KS_EFORMAT when absent or of another kind. */
int ks_h5_get_u64(hid_t at, const char *name, uint64_t *out, struct ks_err *err);
bool ks_h5_get_text(hid_t at, const char *name, char *out, size_t cap); /* false: absent */

/* Chunked, shuffle, deflate 1, fletcher32; extent 0, may grow. A missing group (one level) is
 * made. No times are noted: the same rows give the same bytes. */
int ks_h5_dataset(hid_t file, const char *path, hid_t type, size_t chunk, hid_t *out,
                  struct ks_err *err);
/* Append n elements that lie at `from`; *extent_io grows. */
int ks_h5_append(hid_t dataset, hid_t type, const void *from, size_t n, uint64_t *extent_io,
                 struct ks_err *err);
/* Read elements [first, first + n). */
int ks_h5_read(hid_t dataset, hid_t type, uint64_t first, size_t n, void *to, struct ks_err *err);
int ks_h5_extent(hid_t dataset, uint64_t *n_out, struct ks_err *err);
size_t ks_h5_chunk(hid_t dataset); /* elements per chunk; 1 when not chunked */

#endif
