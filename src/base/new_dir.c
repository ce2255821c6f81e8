/* SPDX-License-Identifier: MIT */
/* new_dir.c - writes a directory under a temporary name, syncs it, renames it into place */
#include "base/new_dir.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ks_new_dir_check(const char *dir, struct ks_err *err)
{
    return ks_path_exists(dir)
               ? ks_fail(err, KS_EEXIST,
                         "'%s' already exists; remove it, or choose another directory", dir)
               : 0;
}

/* The name without slashes at its end, behind which nothing can stand. */
static int base_length(const char *dir)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    return (int)n;
}

int ks_new_dir_begin(const char *dir, char *tmp_out, struct ks_err *err)
{
    int n, rc = ks_new_dir_check(dir, err);

    if (rc < 0)
        return rc;
    n = snprintf(tmp_out, KS_NEW_DIR_BYTES, "%.*s.XXXXXX", base_length(dir), dir);
    if (n < 0 || n >= KS_NEW_DIR_BYTES)
        return ks_fail(err, KS_EINVAL, "the name of the directory is too long");
    if (!mkdtemp(tmp_out))
        return ks_fail_path(err, "making the directory '%s'", dir);
    if (chmod(tmp_out, 0755) == 0)
        return 0;
    rc = ks_fail_errno(err, "making '%s'", tmp_out);
    (void)rmdir(tmp_out);
    return rc;
}

int ks_new_dir_put(const char *tmp, const char *name, const struct ks_buf *b, struct ks_err *err)
{
    char path[KS_NEW_DIR_BYTES];
    int rc = ks_buf_ok(b) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for '%s'", name);

    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), tmp, name, err);
    return rc == 0 ? ks_file_replace(path, b->data, b->len, err) : rc;
}

/* The files are synced, and with each of them the directory: what is left is its name. */
static int name_it(const char *dir, const char *tmp, struct ks_err *err)
{
    char parent[KS_NEW_DIR_BYTES];
    int rc;

    if (rename(tmp, dir) != 0)
        return ks_fail_path(err, "making the directory '%s'", dir);
    ks_path_dir(parent, sizeof(parent), tmp);
    rc = ks_file_sync_dir(parent, err);
    if (rc < 0)
        (void)rename(dir, tmp); /* back, to be removed */
    return rc;
}

int ks_new_dir_end(const char *dir, const char *tmp, int rc, struct ks_err *err)
{
    struct ks_err ignored;

    if (rc == 0)
        rc = name_it(dir, tmp, err);
    if (rc < 0)
        (void)ks_remove_tree(tmp, &ignored);
    return rc;
}
