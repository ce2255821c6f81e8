/* SPDX-License-Identifier: MIT */
/* output.h - a trace that is written: plain, or gzip where the path ends in ".gz". The file is
 * replaced whole or not at all. */
#ifndef KS_TRACE_OUTPUT_H
#define KS_TRACE_OUTPUT_H

#include "base/err.h"

#include <stddef.h>

struct ks_trace_output;

/* KS_EINVAL when `path` is one of the files `inputs` [n] ("-": standard input). */
int ks_trace_output_check(const char *path, const char *const *inputs, size_t n,
                          struct ks_err *err);
/* The same check first. KS_EINVAL, KS_ENOENT, KS_EIO, KS_ENOMEM. */
int ks_trace_output_open(const char *path, const char *const *inputs, size_t n,
                         struct ks_trace_output **out, struct ks_err *err);
int ks_trace_output_put(struct ks_trace_output *o, const void *bytes, size_t n, struct ks_err *err);
/* rc >= 0: the file takes its place; else nothing changes. Returns rc, or the error of writing.
 * NULL is fine: rc. */
int ks_trace_output_close(struct ks_trace_output *o, int rc, struct ks_err *err);

#endif
