/* SPDX-License-Identifier: MIT */
/* sealed.c - copies an object into a sealed memfd, so that nobody changes it after the check */
#include "worker/sealed.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 65536u
#define SEALS       (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#if !defined(MFD_EXEC)
#define MFD_EXEC 0x0010u
#endif

static int open_regular(const char *path, struct stat *st_out, struct ks_err *err)
{
    /* Not to wait for the writer of a pipe. */
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    /* That says nothing of the file: a kernel may have left descriptors open. */
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return ks_fail_errno(err, "opening '%s'", path);
    if (fd < 0 && errno == ELOOP)
        return ks_fail(err, KS_ELOAD, "'%s' is a symbolic link", path);
    if (fd < 0)
        return ks_fail(err, KS_ELOAD, "'%s': %s", path, strerror(errno));
    if (fstat(fd, st_out) == 0 && S_ISREG(st_out->st_mode))
        return fd;
    close(fd);
    return ks_fail(err, KS_ELOAD, "'%s' is not a regular file", path);
}

/* Kernels before 6.3 do not know the flag without which newer ones may refuse to run the content.
 */
static int make_memfd(struct ks_err *err)
{
    int fd = memfd_create("ksweep-object", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("ksweep-object", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd < 0 ? ks_fail_errno(err, "memfd for a sealed copy") : fd;
}

/* Returns the number of bytes copied. */
static int64_t copy(int from, int to, const char *path, uint8_t digest_out[32], struct ks_err *err)
{
    uint8_t chunk[CHUNK_BYTES];
    struct ks_sha256 h;
    int64_t total = 0;

    ks_sha256_init(&h);
    for (;;) {
        const ssize_t n = read(from, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail(err, KS_ELOAD, "reading '%s': %s", path, strerror(errno));
        if (n == 0)
            break;
        ks_sha256_add(&h, chunk, (size_t)n);
        if (ks_write_all(to, chunk, (size_t)n, NULL) < 0)
            return ks_fail(err, KS_ENOMEM, "no memory for a copy of '%s': %s", path,
                           strerror(errno));
        total += n;
    }
    ks_sha256_end(&h, digest_out);
    return total;
}

/* A debugger reads symbols through the name that the loader was given: it must mean the same to
 * another process. */
static bool is_traced(void)
{
    char text[4096];
    const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const char *at;

    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    at = strstr(text, "TracerPid:");
    return at != NULL && strtol(at + 10, NULL, 10) != 0;
}

/* Spelled as nobody else does: a runtime that loads through descriptors of its own would be given
 * this object by its name once the number is free again. */
static void name_it(struct ks_sealed *s)
{
    if (s->is_kept)
        snprintf(s->path, sizeof(s->path), "/proc/%d/fd/./%d", (int)getpid(), s->fd);
    else
        snprintf(s->path, sizeof(s->path), "/proc/self/fd/./%d", s->fd);
}

static bool is_name_taken(const char *path)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

    if (handle == NULL) {
        (void)dlerror();
        return false;
    }
    dlclose(handle);
    return true;
}

/* Numbers of descriptors are given out again while what was loaded through them stays. */
static int choose_name(struct ks_sealed *s, struct ks_err *err)
{
    s->is_kept = is_traced();
    name_it(s);
    while (is_name_taken(s->path)) {
        const int other = fcntl(s->fd, F_DUPFD_CLOEXEC, s->fd + 1);

        if (other < 0)
            return ks_fail_errno(err, "descriptor of a sealed copy");
        close(s->fd);
        s->fd = other;
        name_it(s);
    }
    return 0;
}

static int fill(int from, const struct stat *st, const char *path, struct ks_sealed *s,
                struct ks_err *err)
{
    const int64_t n = copy(from, s->fd, path, s->digest, err);

    if (n < 0)
        return (int)n;
    if (n != (int64_t)st->st_size)
        return ks_fail(err, KS_ELOAD, "'%s' changed while it was read", path);
    if (fcntl(s->fd, F_ADD_SEALS, SEALS) < 0 && !ks_process_is_bare())
        return ks_fail_errno(err, "sealing the copy of '%s'", path);
    return choose_name(s, err);
}

int ks_sealed_open(const char *path, struct ks_sealed *out, struct ks_err *err)
{
    struct ks_sealed s = { .fd = -1 };
    struct stat st;
    const int from = open_regular(path, &st, err);
    int rc;

    if (from < 0)
        return from;
    rc = s.fd = make_memfd(err);
    if (rc >= 0)
        rc = fill(from, &st, path, &s, err);
    close(from);
    if (rc < 0) {
        if (s.fd >= 0)
            close(s.fd);
        return rc;
    }
    *out = s;
    return 0;
}

void ks_sealed_blame(const struct ks_sealed *s, const char *path, struct ks_err *err)
{
    char text[sizeof(err->text)];
    char *at = err != NULL ? strstr(err->text, s->path) : NULL;

    if (at == NULL)
        return;
    memcpy(text, err->text, sizeof(text));
    snprintf(at, sizeof(err->text) - (size_t)(at - err->text), "%s%s", path,
             text + (at - err->text) + strlen(s->path));
}

void ks_sealed_close(struct ks_sealed *s)
{
    if (s->fd >= 0 && !s->is_kept)
        close(s->fd);
    s->fd = -1;
}
