/* SPDX-License-Identifier: MIT */
/* odd_fs.c - LD_PRELOAD: a file system that is not like the local one, under ODD_FS_DIR only.
 *
 *   ODD_FS_STALL=FILE  while FILE exists, write and fdatasync there hang, as on a frozen server
 *   ODD_FS_NFS=1       no shared mappings, no locks, no links, no files without a name: EOPNOTSUPP,
 *                      ENOLCK; what was tried is written to ODD_FS_LOG, a line each
 *   ODD_FS_STALE=1     the names of directories are those of the last time this process asked for
 *                      them with AT_STATX_FORCE_SYNC (first: of its start), as in the attribute
 *                      cache of a client; the names of *.ksj files, that is
 *   ODD_FS_FILTER=1    AT_STATX_FORCE_SYNC is refused: EPERM, as by a container's filter
 *
 * cc -shared -fPIC -O1 -o odd_fs.so odd_fs.c -ldl */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static int is_under(const char *path)
{
    const char *dir = getenv("ODD_FS_DIR");
    size_t n = dir ? strlen(dir) : 0;

    return n && strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static int is_ours(int fd)
{
    char link[64], path[PATH_MAX];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0)
        return 0;
    path[n] = '\0';
    return is_under(path);
}

static void stall(int fd)
{
    const char *gate = getenv("ODD_FS_STALL");

    while (gate && access(gate, F_OK) == 0 && is_ours(fd))
        usleep(10000);
}

/* 1: this is refused here, and noted. */
static int refuses(const char *what, int is_here)
{
    const char *nfs = getenv("ODD_FS_NFS"), *log = getenv("ODD_FS_LOG");
    int fd;

    if (!nfs || !is_here)
        return 0;
    fd = log ? REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd >= 0) {
        dprintf(fd, "%s\n", what);
        close(fd);
    }
    return 1;
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    stall(fd);
    return REAL(write)(fd, bytes, n);
}

int fdatasync(int fd)
{
    stall(fd);
    return REAL(fdatasync)(fd);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if ((flags & MAP_SHARED) && fd >= 0 && refuses("mmap", is_ours(fd))) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return REAL(mmap)(at, n, protection, flags, fd, offset);
}

int flock(int fd, int operation)
{
    if (refuses("flock", is_ours(fd))) {
        errno = ENOLCK;
        return -1;
    }
    return REAL(flock)(fd, operation);
}

static int is_lock(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
           command == F_OFD_SETLKW;
}

int fcntl(int fd, int command, ...)
{
    va_list rest;
    void *argument;

    va_start(rest, command);
    argument = va_arg(rest, void *);
    va_end(rest);
    if (is_lock(command) && refuses("fcntl lock", is_ours(fd))) {
        errno = ENOLCK;
        return -1;
    }
    return REAL(fcntl)(fd, command, argument);
}

void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));
int fcntl64(int, int, ...) __attribute__((alias("fcntl")));

int link(const char *from, const char *to)
{
    if (refuses("link", is_under(to))) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return REAL(link)(from, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    if (refuses("linkat", is_under(to) || (to_dir >= 0 && is_ours(to_dir)))) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return REAL(linkat)(from_dir, from, to_dir, to, flags);
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    mode_t mode = 0;

    if (flags & (O_CREAT | O_TMPFILE)) {
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    if ((flags & O_TMPFILE) == O_TMPFILE && refuses("O_TMPFILE", is_under(path))) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return REAL(open)(path, flags, mode);
}

int open64(const char *, int, ...) __attribute__((alias("open")));

/* ---- an attribute cache ---- */

static struct timespec asked; /* what is younger is not seen */

__attribute__((constructor)) static void begin(void)
{
    clock_gettime(CLOCK_REALTIME, &asked);
}

int statx(int dir, const char *path, int flags, unsigned mask, struct statx *out)
{
    int rc = 0;

    if ((flags & AT_STATX_FORCE_SYNC) && getenv("ODD_FS_FILTER")) {
        errno = EPERM;
        return -1;
    }
    rc = REAL(statx)(dir, path, flags, mask, out);
    if ((flags & AT_STATX_FORCE_SYNC) && rc == 0 && (path[0] ? is_under(path) : is_ours(dir)))
        clock_gettime(CLOCK_REALTIME, &asked);
    return rc;
}

static int is_hidden(DIR *d, const char *name)
{
    size_t n = strlen(name);
    struct statx s;

    if (!getenv("ODD_FS_STALE") || n < 4 || strcmp(name + n - 4, ".ksj") != 0 ||
        !is_ours(dirfd(d)) || REAL(statx)(dirfd(d), name, 0, STATX_BTIME, &s) < 0)
        return 0;
    return s.stx_btime.tv_sec != asked.tv_sec ? s.stx_btime.tv_sec > asked.tv_sec
                                              : (long)s.stx_btime.tv_nsec > asked.tv_nsec;
}

struct dirent *readdir(DIR *d)
{
    struct dirent *e;

    do
        e = REAL(readdir)(d);
    while (e && is_hidden(d, e->d_name));
    return e;
}

struct dirent64 *readdir64(DIR *) __attribute__((alias("readdir")));
