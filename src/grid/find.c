/* SPDX-License-Identifier: MIT */
#include "grid/find.h"

#include "base/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int ks_find_absolute(const char *path, char *out, size_t cap, struct ks_err *err)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return ks_fail_path(err, "'%s'", path);
    if (strlen(real) >= cap)
        return ks_fail(err, KS_EINVAL, "path longer than %zu characters: '%.300s'", cap - 1, real);
    memcpy(out, real, strlen(real) + 1);
    return 0;
}

/* Tries `name` below a directory of the installed data. */
static bool is_in_data(const char *below, const char *name, char *path_out, size_t cap)
{
    char dir[PATH_MAX];
    struct ks_err ignored;

    return ks_data_path(dir, sizeof dir, below, &ignored) == 0 &&
           ks_path_join(path_out, cap, dir, name, &ignored) == 0 && ks_path_exists(path_out);
}

int ks_find_file(const char *dir, const char *name, char *out, size_t cap, struct ks_err *err)
{
    char path[PATH_MAX], data[PATH_MAX];
    int rc = ks_path_join(path, sizeof path, dir, name, err);

    if (rc < 0)
        return rc;
    if (ks_path_exists(path))
        return ks_find_absolute(path, out, cap, err);
    if (name[0] == '/')
        return ks_fail(err, KS_ENOENT, "no file '%.400s'", name);
    if (is_in_data(".", name, data, sizeof data) || is_in_data("jobs", name, data, sizeof data))
        return ks_find_absolute(data, out, cap, err);
    return ks_fail(err, KS_ENOENT, "no file '%.300s', neither there nor in the installed data",
                   path);
}
