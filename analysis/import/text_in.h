/* SPDX-License-Identifier: MIT */
/* text_in.h - a text file read once from beginning to end, in pieces: lines or characters, and the
 * SHA-256 of all of it. Memory: a buffer, and the longest line. */
#ifndef KS_ANALYSIS_TEXT_IN_H
#define KS_ANALYSIS_TEXT_IN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_TEXT_IN_LINE_MAX ((size_t)16 << 20)

struct ks_text_in {
    const char *name; /* for messages; borrowed */
    int fd;
    struct ks_buf held; /* read, not yet taken from `at` on */
    size_t at;
    struct ks_buf text;     /* the line */
    uint64_t line, n_bytes; /* line: number of the last one that was taken or begun, from 1 */
    struct ks_sha256 sha;
};

/* KS_ENOENT, KS_EINVAL, KS_EIO. To be closed whatever is returned, if zero-initialised. */
int ks_text_in_open(struct ks_text_in *in, const char *path, struct ks_err *err);
/* Bytes instead of a file, for tests; borrowed. */
int ks_text_in_bytes(struct ks_text_in *in, const void *bytes, size_t n, const char *name,
                     struct ks_err *err);
void ks_text_in_close(struct ks_text_in *in);

/* The next line, NUL-terminated, without its end; may be changed; valid until the next call.
 * Returns 1; 0 at the end; KS_EFORMAT a NUL byte, or longer than KS_TEXT_IN_LINE_MAX; KS_EIO. */
int ks_text_in_line(struct ks_text_in *in, char **line_out, size_t *n_out, struct ks_err *err);
/* The next byte, or the same without taking it; -1 at the end; KS_EIO and KS_ENOMEM are below that.
 */
int ks_text_in_next(struct ks_text_in *in, struct ks_err *err);
int ks_text_in_peek(struct ks_text_in *in, struct ks_err *err);
/* The beginning of the file, before anything was taken: at most 64 KiB, NUL-terminated. */
int ks_text_in_head(struct ks_text_in *in, const char **head_out, size_t *n_out,
                    struct ks_err *err);

/* Whether a file begins as one of HDF5 does. Errors: as ks_text_in_open(), and KS_ENOMEM. */
int ks_text_in_is_hdf5(const char *path, bool *out, struct ks_err *err);

/* Reads what is left, and gives the digest of the whole as 64 hex digits. */
int ks_text_in_digest(struct ks_text_in *in, char hex_out[65], struct ks_err *err);

#endif
