/* SPDX-License-Identifier: MIT */
#include "journal/segment.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 262144u

/* Only the one spelling of a number counts, so that no two files are the same segment. */
static uint32_t number_of(const char *name)
{
    char again[32];
    unsigned long v;
    char *end;

    if (name[0] < '0' || name[0] > '9')
        return 0;
    errno = 0;
    v = strtoul(name, &end, 10);
    if (errno || v == 0 || v > UINT32_MAX - 1)
        return 0;
    snprintf(again, sizeof(again), "%04lu.ksj", v);
    return strcmp(name, again) == 0 ? (uint32_t)v : 0;
}

static int add_number(struct ks_segment_list *l, uint32_t number, struct ks_err *err)
{
    uint32_t *more = l->number;

    if ((l->n & (l->n - 1)) == 0) /* a power of two: full */
        more = realloc(l->number, (l->n ? 2 * l->n : 1) * sizeof(*more));
    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu segments", l->n + 1);
    l->number = more;
    l->number[l->n++] = number;
    return 0;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* A network file system remembers the names in a directory for up to a minute: a new owner's
 * segment would not be seen. This asks the server; elsewhere it costs nothing. */
static int ask_server(DIR *d)
{
    struct statx now;

    return statx(dirfd(d), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &now);
}

int ks_segment_list(const char *dir, struct ks_segment_list *out, struct ks_err *err)
{
    struct ks_segment_list l = { .n = 0 };
    struct dirent *e;
    int rc = 0;
    DIR *d = opendir(dir);

    if (!d)
        return ks_fail_path(err, "journal '%s'", dir);
    /* Old kernels do not have the call, old containers forbid what they do not know. */
    if (ask_server(d) < 0 && errno != ENOSYS && errno != EPERM)
        rc = ks_fail_errno(err, "journal '%s'", dir);
    while (rc == 0 && (errno = 0, e = readdir(d))) {
        uint32_t number = number_of(e->d_name);

        if (number)
            rc = add_number(&l, number, err);
    }
    if (rc == 0 && errno)
        rc = ks_fail_errno(err, "journal '%s'", dir);
    closedir(d);
    if (rc < 0) {
        free(l.number);
        return rc;
    }
    if (l.n)
        qsort(l.number, l.n, sizeof(*l.number), compare_numbers);
    *out = l;
    return 0;
}

void ks_segment_list_release(struct ks_segment_list *l)
{
    free(l->number);
    *l = (struct ks_segment_list){ .n = 0 };
}

int ks_segment_path(char *out, size_t cap, const char *dir, uint32_t number, struct ks_err *err)
{
    char name[32];

    snprintf(name, sizeof(name), "%04" PRIu32 ".ksj", number);
    return ks_path_join(out, cap, dir, name, err);
}

int ks_segment_highest(const char *dir, uint32_t *number_out, struct ks_err *err)
{
    struct ks_segment_list l;
    int rc = ks_segment_list(dir, &l, err);

    if (rc < 0)
        return rc;
    *number_out = l.n ? l.number[l.n - 1] : 0;
    ks_segment_list_release(&l);
    return 0;
}

struct pass {
    const struct ks_scan *how;
    struct ks_frame_reader in;
    uint64_t expected; /* end of the last frame */
};

static int take_frames(struct pass *p, struct ks_err *err)
{
    struct ks_frame f;

    while (ks_frame_next(&p->in, &f)) {
        int rc = 0;

        if (f.offset > p->expected && p->how->on_gap)
            p->how->on_gap(p->how->ctx, p->expected, f.offset - p->expected, false);
        p->expected = f.offset + KS_FRAME_HEADER + f.n;
        if (p->how->on_frame)
            rc = p->how->on_frame(p->how->ctx, &f, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The whole file up to the limit; *n_out bytes. */
static int feed_file(int fd, struct pass *p, uint8_t *piece, uint64_t *n_out, struct ks_err *err)
{
    uint64_t seen = 0;

    while (seen < p->how->limit) {
        uint64_t left = p->how->limit - seen;
        ssize_t n = read(fd, piece, left < PIECE ? (size_t)left : PIECE);
        int rc;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, "reading");
        if (n == 0)
            break;
        seen += (uint64_t)n;
        rc = ks_frame_feed(&p->in, piece, (size_t)n, err);
        if (rc == 0)
            rc = take_frames(p, err);
        if (rc < 0)
            return rc;
    }
    *n_out = seen;
    return 0;
}

int ks_segment_scan(const char *path, const struct ks_scan *how, uint64_t *n_bytes_out,
                    struct ks_err *err)
{
    struct pass p = { .how = how };
    int fd = ks_file_open(path, err), rc;
    uint8_t *piece;
    uint64_t n = 0;

    if (fd < 0)
        return fd;
    piece = malloc(PIECE);
    ks_frame_reader_init(&p.in);
    if (!piece) {
        rc = ks_fail(err, KS_ENOMEM, "out of memory reading the journal");
        goto out;
    }
    rc = feed_file(fd, &p, piece, &n, err);
    if (rc < 0)
        goto out;
    ks_frame_finish(&p.in);
    rc = take_frames(&p, err);
    if (rc < 0)
        goto out;
    if (n > p.expected && how->on_gap)
        how->on_gap(how->ctx, p.expected, n - p.expected, true);
    if (n_bytes_out)
        *n_bytes_out = n;
out:
    close(fd);
    free(piece);
    ks_frame_reader_release(&p.in);
    return rc < 0 ? ks_err_context(err, rc, "'%s'", path) : 0;
}

/* Reading stops here once the first frame is known. */
#define STOP_AFTER_FIRST (-1000)

struct first {
    struct ks_segment segment;
    bool is_there;
};

static int look_at_first(void *ctx, const struct ks_frame *f, struct ks_err *err)
{
    struct first *first = ctx;

    if (f->offset == 0 && f->type == KS_F_SEGMENT)
        first->is_there = ks_segment_decode(f->body, f->n, &first->segment, err) == 0;
    return STOP_AFTER_FIRST;
}

int ks_segment_header(const char *path, struct ks_segment *out, struct ks_err *err)
{
    struct first first = { .is_there = false };
    struct ks_err ignored;
    /* Far more than a header can have. */
    struct ks_scan how = { .on_frame = look_at_first, .ctx = &first, .limit = 16384 };
    int rc = ks_segment_scan(path, &how, NULL, &ignored);

    if (rc < 0 && rc != STOP_AFTER_FIRST) {
        if (err)
            *err = ignored;
        return rc;
    }
    if (first.is_there)
        *out = first.segment;
    return first.is_there;
}

int ks_segment_size(const char *path, uint64_t *n_bytes_out, struct ks_err *err)
{
    struct stat st;
    /* Opening first makes network file systems ask the server instead of their cache. */
    int fd = ks_file_open(path, err);
    int rc;

    if (fd < 0)
        return fd;
    rc = fstat(fd, &st) < 0 ? ks_fail_errno(err, "'%s'", path) : 0;
    close(fd);
    if (rc == 0)
        *n_bytes_out = (uint64_t)st.st_size;
    return rc;
}
