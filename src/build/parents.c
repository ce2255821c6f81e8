/* SPDX-License-Identifier: MIT */
/* parents.c - checks that nobody else can replace a path through one of its parent directories */
#include "build/parents.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ks_parents_resolve(const char *path, char *out, size_t cap, bool *is_there_out,
                       struct ks_err *err)
{
    char at[4096];
    char *real;
    int rc = ks_path_join(at, sizeof(at), "", path, err);
    if (rc < 0)
        return rc;
    *is_there_out = true;
    while (!(real = realpath(at, NULL)) && errno == ENOENT && strcmp(at, "/") != 0) {
        char above[sizeof(at)];
        ks_path_dir(above, sizeof(above), at);
        memcpy(at, above, sizeof(at));
        *is_there_out = false;
    }
    if (!real)
        return ks_fail_path(err, "'%s'", path);
    rc = ks_path_join(out, cap, "", real, err);
    free(real);
    return rc;
}

static int check_one(const char *dir, const char *of, struct ks_err *err)
{
    struct stat st;
    if (lstat(dir, &st) < 0)
        return ks_fail_path(err, "'%s'", dir);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return ks_fail(err, KS_EINVAL,
                       "'%.200s' belongs to user %u, who could replace the %s: choose another "
                       "--cache, or give --trust-cache",
                       dir, (unsigned)st.st_uid, of);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))
        return ks_fail(err, KS_EINVAL,
                       "'%.200s' is writable by others, who could replace the %s: chmod go-w it, "
                       "choose another --cache, or give --trust-cache",
                       dir, of);
    return 0;
}

int ks_parents_check(const char *path, const char *of, struct ks_err *err)
{
    char dir[4096];
    int rc = ks_path_join(dir, sizeof(dir), "", path, err);
    while (rc == 0) {
        rc = check_one(dir, of, err);
        if (strcmp(dir, "/") == 0)
            break;
        char above[sizeof(dir)];
        ks_path_dir(above, sizeof(above), dir);
        memcpy(dir, above, sizeof(dir));
    }
    return rc;
}
