/* SPDX-License-Identifier: MIT */
/* source.c - the bytes of a trace: a file, standard input or memory, unpacked if gzipped */
#include "trace/source.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PACKED_BYTES = 128 << 10, GZIP_WINDOW = 15 + 16 };

struct ks_trace_source {
    char *name;         /* owned */
    int fd;             /* -1: memory */
    const char *bytes;  /* of memory */
    size_t n_bytes, at; /* of memory */
    uint8_t *packed;    /* [PACKED_BYTES] owned, gzip only */
    z_stream z;
    bool has_z;    /* z is initialised */
    bool is_begun; /* is_gzip is known */
    bool is_gzip;
    bool is_inside; /* of a gzip member */
    bool is_over;
    const char *damage;
};

static int source_new(const char *name, struct ks_trace_source **out, struct ks_err *err)
{
    struct ks_trace_source *s = calloc(1, sizeof(*s));

    if (s)
        s->name = strdup(name);
    if (!s || !s->name) {
        free(s);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    s->fd = -1;
    *out = s;
    return 0;
}

/* ---- standard input ---- */

/* An unlinked file of this process: nothing is left behind, however it ends. */
static int open_temporary(struct ks_err *err)
{
    const char *dir = getenv("TMPDIR");
    int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd
                   : ks_fail_errno(err, "temporary file for standard input in '%s'",
                                   dir && *dir ? dir : "/tmp");
}

static int copy_all(int from, int to, struct ks_err *err)
{
    char block[64 << 10];
    ssize_t n;
    int rc = 0;

    do {
        n = read(from, block, sizeof(block));
        if (n > 0)
            rc = ks_write_all(to, block, (size_t)n, err);
        else if (n < 0 && errno != EINTR)
            rc = ks_fail_errno(err, "standard input");
    } while (rc == 0 && n != 0);
    return rc;
}

static int open_stdin(struct ks_err *err)
{
    struct stat st;
    int fd, rc;

    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)) {
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        return fd >= 0 ? fd : ks_fail_errno(err, "standard input");
    }
    fd = open_temporary(err);
    if (fd < 0)
        return fd;
    rc = copy_all(STDIN_FILENO, fd, err);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
        rc = ks_fail_errno(err, "temporary file for standard input");
    if (rc < 0)
        ks_fd_close(&fd);
    return rc < 0 ? rc : fd;
}

int ks_trace_source_open(const char *path, struct ks_trace_source **out, struct ks_err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? open_stdin(err) : ks_file_open(path, err), rc;

    if (fd < 0)
        return fd;
    rc = source_new(is_stdin ? "standard input" : path, out, err);
    if (rc < 0)
        ks_fd_close(&fd);
    else
        (*out)->fd = fd;
    return rc;
}

int ks_trace_source_memory(const void *bytes, size_t n, const char *name,
                           struct ks_trace_source **out, struct ks_err *err)
{
    const int rc = source_new(name, out, err);

    if (rc == 0) {
        (*out)->bytes = bytes;
        (*out)->n_bytes = n;
    }
    return rc;
}

void ks_trace_source_close(struct ks_trace_source *s)
{
    if (!s)
        return;
    if (s->has_z)
        inflateEnd(&s->z);
    ks_fd_close(&s->fd);
    free(s->packed);
    free(s->name);
    free(s);
}

/* ---- bytes as they are ---- */

static int read_raw(struct ks_trace_source *s, void *buf, size_t cap, size_t *n_out,
                    struct ks_err *err)
{
    ssize_t n;

    if (s->fd < 0) {
        *n_out = s->n_bytes - s->at < cap ? s->n_bytes - s->at : cap;
        if (*n_out)
            memcpy(buf, s->bytes + s->at, *n_out);
        s->at += *n_out;
        return 0;
    }
    do
        n = read(s->fd, buf, cap);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return ks_fail_errno(err, "%s", s->name);
    *n_out = (size_t)n;
    return 0;
}

static int rewind_raw(struct ks_trace_source *s, struct ks_err *err)
{
    s->at = 0;
    if (s->fd >= 0 && lseek(s->fd, 0, SEEK_SET) < 0)
        return ks_fail_errno(err, "%s", s->name);
    return 0;
}

/* ---- gzip ---- */

static int begin_gzip(struct ks_trace_source *s, struct ks_err *err)
{
    if (!s->packed)
        s->packed = malloc(PACKED_BYTES);
    if (!s->packed)
        return ks_fail(err, KS_ENOMEM, "out of memory reading '%s'", s->name);
    if (!s->has_z && inflateInit2(&s->z, GZIP_WINDOW) != Z_OK)
        return ks_fail(err, KS_ENOMEM, "out of memory decompressing '%s'", s->name);
    s->has_z = true;
    s->z.avail_in = 0;
    return 0;
}

static int begin(struct ks_trace_source *s, struct ks_err *err)
{
    uint8_t magic[2];
    size_t n = 0, more;
    int rc;

    do {
        rc = read_raw(s, magic + n, sizeof(magic) - n, &more, err);
        n += rc == 0 ? more : 0;
    } while (rc == 0 && more > 0 && n < sizeof(magic));
    if (rc == 0)
        rc = rewind_raw(s, err);
    if (rc < 0)
        return rc;
    s->is_begun = true;
    s->is_gzip = n == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    return s->is_gzip ? begin_gzip(s, err) : 0;
}

static void stop(struct ks_trace_source *s, const char *damage)
{
    s->is_over = true;
    s->damage = damage;
}

static int refill(struct ks_trace_source *s, struct ks_err *err)
{
    size_t n;
    int rc = read_raw(s, s->packed, PACKED_BYTES, &n, err);

    if (rc < 0)
        return rc;
    s->z.next_in = s->packed;
    s->z.avail_in = (unsigned)n;
    if (n == 0)
        stop(s, s->is_inside ? "the gzip data is truncated" : NULL);
    return 0;
}

/* One step of decompression; members may follow each other. */
static int step(struct ks_trace_source *s, struct ks_err *err)
{
    int z;

    if (s->z.avail_in == 0)
        return refill(s, err);
    s->is_inside = true;
    z = inflate(&s->z, Z_NO_FLUSH);
    if (z == Z_STREAM_END) {
        s->is_inside = false;
        z = inflateReset(&s->z);
        if (s->z.avail_in > 0 && *s->z.next_in != 0x1f)
            stop(s, "other data after the gzip data");
    }
    if (z == Z_MEM_ERROR)
        return ks_fail(err, KS_ENOMEM, "out of memory decompressing '%s'", s->name);
    if (z != Z_OK && z != Z_BUF_ERROR)
        stop(s, "the gzip data is damaged");
    return 0;
}

static int read_gzip(struct ks_trace_source *s, void *buf, size_t cap, size_t *n_out,
                     struct ks_err *err)
{
    const unsigned most = cap < (1u << 30) ? (unsigned)cap : 1u << 30;
    int rc = 0;

    s->z.next_out = buf;
    s->z.avail_out = most;
    while (rc == 0 && s->z.avail_out > 0 && !s->is_over)
        rc = step(s, err);
    *n_out = most - s->z.avail_out;
    return rc;
}

int ks_trace_source_read(struct ks_trace_source *s, void *buf, size_t cap, size_t *n_out,
                         struct ks_err *err)
{
    int rc = s->is_begun ? 0 : begin(s, err);

    if (rc < 0)
        return rc;
    return s->is_gzip ? read_gzip(s, buf, cap, n_out, err) : read_raw(s, buf, cap, n_out, err);
}

int ks_trace_source_rewind(struct ks_trace_source *s, struct ks_err *err)
{
    s->is_begun = s->is_over = s->is_inside = false;
    s->damage = NULL;
    if (s->has_z)
        (void)inflateReset(&s->z);
    return rewind_raw(s, err);
}

const char *ks_trace_source_name(const struct ks_trace_source *s)
{
    return s->name;
}

bool ks_trace_source_is_gzip(const struct ks_trace_source *s)
{
    return s->is_gzip;
}

const char *ks_trace_source_damage(const struct ks_trace_source *s)
{
    return s->damage;
}
