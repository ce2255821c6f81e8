/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int read_all(int fd, struct ks_buf *b, struct ks_err *err)
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
    struct ks_buf b;
    int fd, rc;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ks_fail_errno(err, "'%s'", path);
    ks_buf_init(&b);
    rc = read_all(fd, &b, err);
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
        return ks_fail(err, KS_EINVAL, "'%s': path is too long", path);
    fd = open(temp_out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd < 0 ? ks_fail_errno(err, "creating '%s'", temp_out) : fd;
}

static int write_synced(int fd, const void *bytes, size_t n, struct ks_err *err)
{
    int rc = ks_write_all(fd, bytes, n, err);

    if (rc == 0 && fsync(fd) < 0)
        rc = ks_fail_errno(err, "fsync");
    if (close(fd) < 0 && rc == 0)
        rc = ks_fail_errno(err, "closing");
    return rc;
}

int ks_file_replace(const char *path, const void *bytes, size_t n, struct ks_err *err)
{
    char temp[4096], dir[4096];
    int fd, rc;

    fd = create_beside(path, temp, sizeof(temp), err);
    if (fd < 0)
        return fd;
    rc = write_synced(fd, bytes, n, err);
    if (rc == 0 && rename(temp, path) < 0)
        rc = ks_fail_errno(err, "renaming");
    if (rc < 0) {
        unlink(temp);
        return ks_err_context(err, rc, "'%s'", path);
    }
    ks_path_dir(dir, sizeof(dir), path);
    return ks_file_sync_dir(dir, err);
}

void ks_file_first_line(const char *path, char *out, size_t cap)
{
    FILE *f = fopen(path, "re");

    out[0] = '\0';
    if (f == NULL)
        return;
    if (fgets(out, (int)cap, f) == NULL)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}
