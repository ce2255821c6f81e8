/* SPDX-License-Identifier: MIT */
/* source.h - the bytes of a trace: a plain or gzipped file, standard input, or memory, decompressed
 * and in order, as often as wanted. */
#ifndef KS_TRACE_SOURCE_H
#define KS_TRACE_SOURCE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_trace_source;

/* path "-": standard input, copied to an unlinked temporary file first, so that it can be read
 * again. Whether the bytes are gzip is decided by their first two bytes, not by the name.
 * KS_ENOENT, KS_EINVAL (not a regular file), KS_EIO, KS_ENOSPC, KS_ENOMEM. */
int ks_trace_source_open(const char *path, struct ks_trace_source **out, struct ks_err *err);
/* bytes [n] are borrowed until close. */
int ks_trace_source_memory(const void *bytes, size_t n, const char *name,
                           struct ks_trace_source **out, struct ks_err *err);
void ks_trace_source_close(struct ks_trace_source *s);

/* Decompressed bytes into buf [cap > 0].
 * @n_out [out] 0 at the end, which includes the end of a damaged gzip stream. KS_EIO, KS_ENOMEM. */
int ks_trace_source_read(struct ks_trace_source *s, void *buf, size_t cap, size_t *n_out,
                         struct ks_err *err);
int ks_trace_source_rewind(struct ks_trace_source *s, struct ks_err *err);

const char *ks_trace_source_name(const struct ks_trace_source *s); /* for messages */
bool ks_trace_source_is_gzip(const struct ks_trace_source *s);     /* known after the first read */
/* Why the bytes end before their time ("gzip data cut off", ...); NULL when they do not. Known at
 * the end. */
const char *ks_trace_source_damage(const struct ks_trace_source *s);

#endif
