/* SPDX-License-Identifier: MIT */
/* find.c - finds the program of an adapter, by its path or by its names in a directory */
#include "profiler/find.h"

#include "base/file.h"

#include <stdio.h>
#include <unistd.h>

static int check(const char *path, struct ks_err *err)
{
    if (access(path, X_OK) == 0)
        return 0;
    return ks_fail(err, KS_EINVAL, "'%s' is not executable: run chmod +x, or name another program",
                   path);
}

int ks_profiler_find_program(const struct ks_profiler_setup *s, const struct ks_problem *p,
                             const char *path, char *out, size_t cap, struct ks_err *err)
{
    const char *adapter = ks_profiler_name(ks_profiler_of(s));
    struct ks_buf name, tried;
    int rc = KS_ENOENT;

    if (!ks_path_exists(path))
        return ks_fail(err, KS_ENOENT, "program '%s' does not exist", path);
    if (!ks_path_is_dir(path)) {
        rc = ks_path_join(out, cap, "/", path, err);
        return rc < 0 ? rc : check(out, err);
    }
    ks_buf_init(&name);
    ks_buf_init(&tried);
    for (unsigned i = 0; rc == KS_ENOENT && ks_profiler_program_name(s, p, i, &name); i++) {
        ks_buf_printf(&tried, "%s%s", i ? ", " : "", ks_buf_text(&name));
        rc = ks_path_join(out, cap, path, ks_buf_text(&name), err);
        if (rc == 0 && (!ks_path_exists(out) || ks_path_is_dir(out)))
            rc = KS_ENOENT;
    }
    if (rc == 0)
        rc = check(out, err);
    else if (rc == KS_ENOENT)
        rc = ks_fail(err, KS_ENOENT, "directory '%s' has no program for adapter %s: looked for %s",
                     path, adapter, tried.len ? ks_buf_text(&tried) : "nothing");
    ks_buf_release(&name);
    ks_buf_release(&tried);
    return rc;
}
