/* SPDX-License-Identifier: MIT */
/* file.c - reads regular files, and replaces files by a temporary, fsync and rename */
#include "base/file.h"
#include "base/clock.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEASE_WAIT_NS 60000000000ull /* Linux breaks a lease after 45 s (lease-break-time) */

int ks_write_all(int fd, const void *bytes, size_t n, struct ks_err *err)
{
    const char *p = bytes;

    while (n) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return ks_fail_errno(err, "writing");
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

void ks_fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "not a file";
    }
}

static int check_regular(const char *path, const struct stat *st, struct ks_err *err)
{
    if (S_ISREG(st->st_mode))
        return 0;
    return ks_fail(err, KS_EINVAL, "'%s' is %s: name a regular file", path, kind_of(st->st_mode));
}

int ks_file_check(const char *path, struct ks_err *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return ks_fail_path(err, "'%s'", path);
    return check_regular(path, &st, err);
}

/* false: it is that late already. */
static bool pause_until(uint64_t until_ns)
{
    if (ks_now_ns() >= until_ns)
        return false;
    ks_sleep_ns(1000000);
    return true;
}

/* Not to wait for the writer of a pipe; but for whoever holds a lease on the file, as the server of
 * a network file system does for a client that writes it. */
static int open_without_waiting(const char *path)
{
    const uint64_t until_ns = ks_now_ns() + LEASE_WAIT_NS;
    int fd;

    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && (errno == EINTR || (errno == EWOULDBLOCK && pause_until(until_ns))));
    return fd;
}

/* Checked before it is opened, because opening a device may do something, and again afterwards,
 * because the name may have come to mean something else. */
static int open_regular(const char *path, struct stat *st_out, struct ks_err *err)
{
    int fd, rc = ks_file_check(path, err);

    if (rc < 0)
        return rc;
    fd = open_without_waiting(path);
    if (fd < 0)
        return ks_fail_path(err, "'%s'", path);
    rc =
        fstat(fd, st_out) < 0 ? ks_fail_errno(err, "'%s'", path) : check_regular(path, st_out, err);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return fd;
}

int ks_file_open(const char *path, struct ks_err *err)
{
    struct stat st;

    return open_regular(path, &st, err);
}

static int read_all(int fd, uint64_t most, struct ks_buf *b, struct ks_err *err)
{
    char chunk[16384];

    for (;;) {
        ssize_t k = read(fd, chunk, sizeof(chunk));

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return ks_fail_errno(err, "reading");
        if (k == 0)
            break;
        if (b->len + (size_t)k > most)
            return ks_fail(err, KS_EINVAL, "larger than %llu MiB, the limit for a file",
                           (unsigned long long)most >> 20);
        ks_buf_put(b, chunk, (size_t)k);
        if (!ks_buf_ok(b))
            return ks_fail(err, KS_ENOMEM, "out of memory after %zu bytes", b->len);
    }
    /* A file of no bytes also reads as a text. */
    ks_buf_put(b, NULL, 0);
    return ks_buf_ok(b) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

int ks_file_read(const char *path, struct ks_buf *buf_out, struct ks_err *err)
{
    struct stat st;
    struct ks_buf b;
    int fd = open_regular(path, &st, err), rc;

    if (fd < 0)
        return fd;
    ks_buf_init(&b);
    if ((uint64_t)st.st_size > KS_FILE_MAX) /* known before a byte of it is read */
        rc = ks_fail(err, KS_EINVAL, "larger than %llu MiB, the limit for a file",
                     KS_FILE_MAX >> 20);
    else
        rc = read_all(fd, st.st_size ? KS_FILE_MAX : KS_FILE_UNSIZED_MAX, &b, err);
    close(fd);
    if (rc < 0) {
        ks_buf_release(&b);
        return ks_err_context(err, rc, "'%s'", path);
    }
    ks_buf_release(buf_out);
    *buf_out = b;
    return 0;
}

int ks_file_sync_dir(const char *dir, struct ks_err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = 0;

    if (fd < 0)
        return ks_fail_errno(err, "directory '%s'", dir);
    /* Some network file systems cannot sync a directory; their renames are durable on return. */
    if (fsync(fd) < 0 && errno != EINVAL)
        rc = ks_fail_errno(err, "fsync of directory '%s'", dir);
    close(fd);
    return rc;
}

/* A new file beside `path`; mode as the umask has it, which mkstemp would not give. */
static int create_beside(const char *path, char *temp_out, size_t cap, struct ks_err *err)
{
    char suffix[17];
    int fd, k;

    ks_hex64(ks_id128_random().hi, suffix);
    k = snprintf(temp_out, cap, "%s.%s.tmp", path, suffix);
    if (k < 0 || (size_t)k >= cap)
        return ks_fail(err, KS_EINVAL, "'%.200s': path is too long", path);
    fd = open(temp_out, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd < 0 ? ks_fail_path(err, "creating '%s'", temp_out) : fd;
}

static int put_path(const char *path, struct ks_new_file *f, struct ks_err *err)
{
    const int k = snprintf(f->path, sizeof(f->path), "%s", path);

    return k < 0 || (size_t)k >= sizeof(f->path)
               ? ks_fail(err, KS_EINVAL, "'%.200s': path is too long", path)
               : 0;
}

int ks_file_begin(const char *path, struct ks_new_file *file_out, struct ks_err *err)
{
    int rc = put_path(path, file_out, err);

    if (rc < 0)
        return rc;
    file_out->fd = create_beside(path, file_out->temp, sizeof(file_out->temp), err);
    return file_out->fd < 0 ? file_out->fd : 0;
}

void ks_file_abandon(struct ks_new_file *f)
{
    ks_fd_close(&f->fd);
    if (f->temp[0])
        unlink(f->temp);
}

int ks_file_commit(struct ks_new_file *f, struct ks_err *err)
{
    char dir[4096];
    int rc = 0;

    if (f->temp[0] && fsync(f->fd) < 0)
        rc = ks_fail_errno(err, "fsync");
    if (close(f->fd) < 0 && rc == 0)
        rc = ks_fail_errno(err, "closing");
    f->fd = -1;
    if (rc == 0 && f->temp[0] && rename(f->temp, f->path) < 0)
        rc = ks_fail_errno(err, "renaming");
    if (rc < 0) {
        ks_file_abandon(f);
        return ks_err_context(err, rc, "'%s'", f->path);
    }
    if (!f->temp[0])
        return 0;
    ks_path_dir(dir, sizeof(dir), f->path);
    return ks_file_sync_dir(dir, err);
}

static int write_and_end(struct ks_new_file *f, const void *bytes, size_t n, struct ks_err *err)
{
    int rc = ks_write_all(f->fd, bytes, n, err);

    if (rc == 0)
        return ks_file_commit(f, err);
    ks_file_abandon(f);
    return ks_err_context(err, rc, "'%s'", f->path);
}

int ks_file_replace(const char *path, const void *bytes, size_t n, struct ks_err *err)
{
    struct ks_new_file f;
    int rc = ks_file_begin(path, &f, err);

    return rc < 0 ? rc : write_and_end(&f, bytes, n, err);
}

_Static_assert(sizeof(((struct ks_new_file *)0)->path) >= PATH_MAX, "realpath has room");

int ks_file_begin_output(const char *path, struct ks_new_file *file_out, struct ks_err *err)
{
    struct stat st;
    int rc;

    if (lstat(path, &st) < 0 && errno == ENOENT)
        return ks_file_begin(path, file_out, err);
    if (realpath(path, file_out->path) && stat(file_out->path, &st) == 0 && S_ISREG(st.st_mode)) {
        file_out->fd = create_beside(file_out->path, file_out->temp, sizeof(file_out->temp), err);
        return file_out->fd < 0 ? file_out->fd : 0;
    }
    rc = put_path(path, file_out, err);
    if (rc < 0)
        return rc;
    file_out->temp[0] = '\0';
    file_out->fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return file_out->fd < 0 ? ks_fail_path(err, "'%s'", path) : 0;
}

int ks_file_output(const char *path, const void *bytes, size_t n, struct ks_err *err)
{
    struct ks_new_file f;
    int rc = ks_file_begin_output(path, &f, err);

    return rc < 0 ? rc : write_and_end(&f, bytes, n, err);
}

void ks_file_first_line(const char *path, char *out, size_t cap)
{
    int fd = ks_file_open(path, NULL);
    ssize_t n;

    out[0] = '\0';
    if (fd < 0)
        return;
    do
        n = read(fd, out, cap - 1);
    while (n < 0 && errno == EINTR);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    close(fd);
}
