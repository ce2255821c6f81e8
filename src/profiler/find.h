/* SPDX-License-Identifier: MIT */
/* find.h - the program that a job's "path" means for a problem. */
#ifndef KS_PROFILER_FIND_H
#define KS_PROFILER_FIND_H

#include "profiler/adapter.h"

/* ks_profiler_find_program() - `path` itself, or the first of the adapter's names in it that
 * exists.
 * @path [in] absolute: a program, or a directory
 * Returns 0; KS_ENOENT nothing is there, or none of the names: the text lists them; KS_EINVAL it
 * may not be executed, or the path is too long. */
int ks_profiler_find_program(const struct ks_profiler_setup *s, const struct ks_problem *p,
                             const char *path, char *out, size_t cap, struct ks_err *err);

#endif
