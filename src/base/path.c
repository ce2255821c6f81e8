/* SPDX-License-Identifier: MIT */
/* path.c - paths: joining and splitting, making and removing trees, finding installed data */
#include "base/file.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ks_path_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool ks_path_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool ks_path_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

static int make_dir(const char *path, mode_t mode, struct ks_err *err)
{
    /* Whoever made it first is welcome: several ranks may create one tree together. */
    if (mkdir(path, mode) == 0)
        return 0;
    int why = errno;
    /* A read-only parent answers EROFS or EACCES even for a directory that is there. */
    if (ks_path_is_dir(path))
        return 0;
    errno = why;
    return ks_fail_path(err, "directory '%s'", path);
}

int ks_mkdirs(const char *path, mode_t mode, struct ks_err *err)
{
    char part[4096];
    size_t n = strlen(path);

    if (!n || n >= sizeof(part))
        return ks_fail(err, KS_EINVAL, "'%.200s': path is empty or too long", path);
    memcpy(part, path, n + 1);
    for (char *p = part + 1; *p; p++) {
        int rc;

        if (*p != '/')
            continue;
        *p = '\0';
        rc = make_dir(part, mode, err);
        if (rc < 0)
            return rc;
        *p = '/';
    }
    return make_dir(part, mode, err);
}

int ks_path_join(char *out, size_t cap, const char *dir, const char *name, struct ks_err *err)
{
    bool is_alone = name[0] == '/' || !dir[0];
    size_t n_dir = is_alone ? 0 : strlen(dir);
    size_t n_name = strlen(name);
    bool has_slash = n_dir && dir[n_dir - 1] == '/';
    size_t n_joint = is_alone || has_slash ? 0 : 1;

    if (n_dir + n_joint + n_name >= cap)
        return ks_fail(err, KS_EINVAL, "'%.200s/%.100s': path is too long", dir, name);
    /* `name` first: out may be the same storage as dir, never as name. */
    memmove(out + n_dir + n_joint, name, n_name + 1);
    memmove(out, dir, n_dir);
    if (n_joint)
        out[n_dir] = '/';
    return 0;
}

void ks_path_dir(char *out, size_t cap, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;

    if (!slash)
        snprintf(out, cap, ".");
    else
        snprintf(out, cap, "%.*s", (int)n, path);
}

const char *ks_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int ks_remove_tree(const char *path, struct ks_err *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
        return ks_fail_errno(err, "removing '%s'", path);
    return 0;
}

int ks_program_dir(char *out, size_t cap, struct ks_err *err)
{
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    size_t len;

    if (n < 0)
        return ks_fail_errno(err, "/proc/self/exe");
    program[n] = '\0';
    len = (size_t)(ks_path_base(program) - program);
    if (len > 1)
        len--;
    if (len >= cap)
        return ks_fail(err, KS_EINVAL, "'%.200s': path is too long", program);
    memcpy(out, program, len);
    out[len] = '\0';
    return 0;
}

int ks_data_path(char *out, size_t cap, const char *name, struct ks_err *err)
{
    const char *chosen = getenv("KSWEEP_DATA_DIR");
    char dir[4096], share[4096], found[4096];
    int rc;

    if (chosen && *chosen) {
        rc = ks_path_join(found, sizeof(found), chosen, name, err);
        if (rc == 0 && !ks_path_exists(found))
            rc = ks_fail(err, KS_ENOENT, "'%s' does not exist (KSWEEP_DATA_DIR)", found);
        return rc < 0 ? rc : ks_path_join(out, cap, "", found, err);
    }
    rc = ks_program_dir(dir, sizeof(dir), err);
    if (rc == 0)
        rc = ks_path_join(share, sizeof(share), dir, "../share/ksweep", err);
    if (rc == 0)
        rc = ks_path_join(found, sizeof(found), share, name, err);
    if (rc == 0 && !ks_path_exists(found))
        rc = ks_path_join(found, sizeof(found), KS_SOURCE_DIR, name, err);
    if (rc < 0)
        return rc;
    if (!ks_path_exists(found))
        return ks_fail(err, KS_ENOENT, "'%s' is neither in '%s' nor in '%s'; set KSWEEP_DATA_DIR",
                       name, share, KS_SOURCE_DIR);
    return ks_path_join(out, cap, "", found, err);
}
