/* SPDX-License-Identifier: MIT */
#include "analysis/cmd/result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(((struct ks_result *)0)->path) >= PATH_MAX, "realpath has room");

/* A new file or an existing plain one, behind links. Renaming over anything else, such as a device
 * or a pipe, would destroy it. */
static bool may_replace(const char *file, char *path_out, size_t cap)
{
    struct stat st;

    if (lstat(file, &st) < 0) {
        snprintf(path_out, cap, "%s", file);
        return errno == ENOENT;
    }
    return realpath(file, path_out) && stat(path_out, &st) == 0 && S_ISREG(st.st_mode);
}

int ks_result_open(struct ks_result *o, const char *file, struct ks_err *err)
{
    int fd = -1, rc = 0;

    memset(o, 0, sizeof(*o));
    if (!file || strcmp(file, "-") == 0) {
        ks_sink_init(&o->sink, STDOUT_FILENO, "standard output");
        return 0;
    }
    if (may_replace(file, o->path, sizeof(o->path))) {
        rc = ks_file_begin(o->path, &o->file, err);
        o->is_file = rc == 0;
        fd = rc == 0 ? o->file.fd : -1;
    } else {
        fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
        o->is_open = fd >= 0;
        if (fd < 0)
            rc = ks_fail_path(err, "'%s'", file);
    }
    ks_sink_init(&o->sink, fd, file);
    return rc;
}

int ks_result_close(struct ks_result *o, int rc, struct ks_err *err)
{
    int failed = rc < 0 ? 0 : ks_sink_flush(&o->sink, err);

    if (o->is_file && rc >= 0 && failed == 0)
        failed = ks_file_commit(&o->file, err);
    else if (o->is_file)
        ks_file_abandon(&o->file);
    if (o->is_open && close(o->sink.fd) < 0 && rc >= 0 && failed == 0)
        failed = ks_fail_errno(err, "'%s'", o->sink.name);
    ks_sink_release(&o->sink);
    return failed < 0 ? failed : rc;
}
