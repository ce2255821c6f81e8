/* SPDX-License-Identifier: MIT */
/* new_dir.c - makes a directory under a temporary name, and renames it when it is complete */
#include "analysis/cmd/new_dir.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int ks_new_dir_check(const char *dir, struct ks_err *err)
{
    return ks_path_exists(dir)
               ? ks_fail(err, KS_EEXIST,
                         "'%s' already exists; remove it, or choose another directory", dir)
               : 0;
}

int ks_new_dir_begin(const char *dir, char *tmp_out, struct ks_err *err)
{
    int n = snprintf(tmp_out, KS_NEW_DIR_BYTES, "%s.XXXXXX", dir);

    if (n < 0 || n >= KS_NEW_DIR_BYTES)
        return ks_fail(err, KS_EINVAL, "the name of the directory is too long");
    if (!mkdtemp(tmp_out))
        return ks_fail_path(err, "making the directory '%s'", dir);
    return chmod(tmp_out, 0755) ? ks_fail_errno(err, "making '%s'", tmp_out) : 0;
}

int ks_new_dir_put(const char *tmp, const char *name, struct ks_buf *b, struct ks_err *err)
{
    char path[KS_NEW_DIR_BYTES];
    int rc = ks_buf_ok(b) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for '%s'", name);

    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), tmp, name, err);
    if (rc == 0)
        rc = ks_file_replace(path, b->data, b->len, err);
    ks_buf_clear(b);
    return rc;
}

int ks_new_dir_end(const char *dir, const char *tmp, int rc, struct ks_err *err)
{
    struct ks_err ignored;

    if (rc == 0 && rename(tmp, dir) != 0)
        rc = ks_fail_path(err, "making the directory '%s'", dir);
    if (rc < 0)
        (void)ks_remove_tree(tmp, &ignored);
    return rc;
}
