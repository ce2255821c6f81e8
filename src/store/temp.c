/* SPDX-License-Identifier: MIT */
/* temp.c - an unnamed file, or a temporary name; fsync, linkat and rename publish it */
#include "store/temp.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int temporary_name(struct ks_temp *t, struct ks_err *err)
{
    char dir[1200];
    int n;

    ks_path_dir(dir, sizeof(dir), t->final_path);
    n = snprintf(t->name, sizeof(t->name), "%s/.%s.%ld.tmp", dir, ks_path_base(t->final_path),
                 (long)getpid());
    if (n >= (int)sizeof(t->name))
        return ks_fail(err, KS_EINVAL, "path '%.200s...' is too long", t->final_path);
    return 0;
}

static int open_named(struct ks_temp *t, struct ks_err *err)
{
    int rc = temporary_name(t, err);

    if (rc < 0) {
        t->name[0] = '\0';
        return rc;
    }
    t->fd = open(t->name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (t->fd < 0) {
        rc = ks_fail_path(err, "creating '%s'", t->name);
        t->name[0] = '\0';
        return rc;
    }
    return 0;
}

int ks_temp_open(struct ks_temp *t, const char *final_path, bool must_have_name, struct ks_err *err)
{
    char dir[1200];

    memset(t, 0, sizeof(*t));
    t->fd = -1;
    if (snprintf(t->final_path, sizeof(t->final_path), "%s", final_path) >=
        (int)sizeof(t->final_path))
        return ks_fail(err, KS_EINVAL, "path '%.200s...' is too long", final_path);
    ks_path_dir(dir, sizeof(dir), final_path);
    if (!must_have_name)
        t->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (t->fd < 0) /* whatever the reason: the named file will say it better */
        return open_named(t, err);
    return 0;
}

static int give_name(struct ks_temp *t, struct ks_err *err)
{
    char link[64];
    int rc;

    if (t->name[0])
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", t->fd);
    rc = temporary_name(t, err);
    if (rc == 0) {
        unlink(t->name); /* of an earlier process with this pid */
        if (linkat(AT_FDCWD, link, AT_FDCWD, t->name, AT_SYMLINK_FOLLOW) < 0)
            rc = ks_fail_errno(err, "naming '%s'", t->name);
    }
    if (rc < 0)
        t->name[0] = '\0';
    return rc;
}

int ks_temp_publish(struct ks_temp *t, struct ks_err *err)
{
    char dir[1200];
    int rc = 0;

    if (fsync(t->fd) < 0)
        rc = ks_fail_errno(err, "fsync for '%s'", t->final_path);
    if (rc == 0)
        rc = give_name(t, err);
    if (rc == 0 && rename(t->name, t->final_path) < 0)
        rc = ks_fail_errno(err, "renaming to '%s'", t->final_path);
    if (rc == 0) {
        t->name[0] = '\0';
        ks_path_dir(dir, sizeof(dir), t->final_path);
        rc = ks_file_sync_dir(dir, err);
    }
    ks_temp_drop(t);
    return rc;
}

void ks_temp_drop(struct ks_temp *t)
{
    if (t->fd >= 0)
        close(t->fd);
    if (t->name[0])
        unlink(t->name);
    t->fd = -1;
    t->name[0] = '\0';
}
