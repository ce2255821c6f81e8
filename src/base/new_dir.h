/* SPDX-License-Identifier: MIT */
/* new_dir.h - a directory of results that is made whole or not at all, and that stays after a power
 * cut once it has its name. */
#ifndef KS_BASE_NEW_DIR_H
#define KS_BASE_NEW_DIR_H

#include "base/buf.h"
#include "base/err.h"

#define KS_NEW_DIR_BYTES 4096

/* KS_EEXIST: there is something of that name. */
int ks_new_dir_check(const char *dir, struct ks_err *err);
/* ks_new_dir_begin() - an empty directory beside `dir`, which must not exist (KS_EEXIST).
 * @tmp_out [out] [KS_NEW_DIR_BYTES] its name */
int ks_new_dir_begin(const char *dir, char *tmp_out, struct ks_err *err);
/* A file in it, synced. `b` failed: KS_ENOMEM. */
int ks_new_dir_put(const char *tmp, const char *name, const struct ks_buf *b, struct ks_err *err);
/* ks_new_dir_end() - gives it its name and syncs the directory around it; rc < 0: removes it
 * instead. Returns rc, or why it failed: then nothing has the name. */
int ks_new_dir_end(const char *dir, const char *tmp, int rc, struct ks_err *err);

#endif
