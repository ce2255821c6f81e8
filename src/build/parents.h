/* SPDX-License-Identifier: MIT */
/* parents.h - private to src/build: whether nobody else can put another directory where one of ours
 * is. Whoever may write a directory above the cache may rename the cache away. */
#ifndef KS_BUILD_PARENTS_H
#define KS_BUILD_PARENTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* ks_parents_resolve() - the real path of a directory, or of the nearest one above it that is
 * there. *is_there_out: it was the directory itself. ks_fail_path(). */
int ks_parents_resolve(const char *path, char *out, size_t cap, bool *is_there_out,
                       struct ks_err *err);
/* ks_parents_check() - as ssh does for its keys: the directory and each above it must belong to
 * this user or to root and be writable by nobody else. A directory that others may write is
 * accepted where it is sticky, as /tmp: what is in it can be renamed by its owner only, who is
 * checked next.
 * @path [in] real, absolute
 * @of   [in] what lies there, for the message: "build cache '/scratch/x'"
 * Returns 0; KS_EINVAL: names the directory, the danger and the way out. */
int ks_parents_check(const char *path, const char *of, struct ks_err *err);

#endif
