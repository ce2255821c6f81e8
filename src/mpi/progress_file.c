/* SPDX-License-Identifier: MIT */
/* progress_file.c - DIR/progress: keyed lines, replaced whole. */
#include "mpi/progress.h"

#include "base/file.h"
#include "base/lines.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KIND    "ksweep-progress"
#define VERSION 2u
#define NAME    "progress"
#define UNKNOWN (-1) /* a number that is not known, in thousandths */
#define MOST_MS ((int64_t)1 << 53)

/* Numbers by their keys, in the order of the file. */
#define NUMBERS(X)                                                                                 \
    X(uint64_t, realtime_ns)                                                                       \
    X(int32_t, pid)                                                                                \
    X(bool, is_measuring)                                                                          \
    X(bool, is_ending)                                                                             \
    X(uint64_t, n_cells)                                                                           \
    X(uint64_t, n_done)                                                                            \
    X(uint64_t, n_done_here)                                                                       \
    X(uint64_t, n_contaminated)                                                                    \
    X(uint32_t, n_problems)                                                                        \
    X(uint32_t, n_settled)                                                                         \
    X(bool, has_visits)                                                                            \
    X(uint32_t, n_instances)                                                                       \
    X(uint32_t, n_built)                                                                           \
    X(uint32_t, n_devices)                                                                         \
    X(uint64_t, n_failures)
#define TIMES(X)                                                                                   \
    X(rate)                                                                                        \
    X(left_s)                                                                                      \
    X(low_s)                                                                                       \
    X(high_s)                                                                                      \
    X(visited_each)

static int64_t thousandths(double v)
{
    return v < 0 || !isfinite(v) ? UNKNOWN : v * 1e3 > (double)MOST_MS ? MOST_MS : llrint(v * 1e3);
}

static double from_thousandths(int64_t v)
{
    return v < 0 ? -1 : (double)v * 1e-3;
}

static uint32_t n_kept(const struct ks_progress *p)
{
    return p->n_failures < KS_PROGRESS_FAILURES ? (uint32_t)p->n_failures : KS_PROGRESS_FAILURES;
}

static void put_device(const struct ks_progress_device *d, struct ks_buf *b)
{
    ks_lines_key(b, "device");
    ks_lines_number(b, d->rank);
    ks_lines_word(b, d->host);
    ks_lines_word(b, d->state);
    ks_lines_word(b, d->problem);
    ks_lines_number(b, (int64_t)d->n_cells);
    ks_lines_number(b, thousandths(d->silent_s));
    ks_lines_end_line(b);
}

static void put_failure(const struct ks_progress_failure *f, struct ks_buf *b)
{
    ks_lines_key(b, "failure");
    ks_lines_number(b, f->outcome);
    ks_lines_number(b, (int64_t)f->problem);
    ks_lines_number(b, (int64_t)f->instance);
    ks_lines_word(b, f->names);
    ks_lines_word(b, f->reason);
    ks_lines_end_line(b);
}

static void put_all(const struct ks_progress *p, struct ks_buf *b)
{
    ks_lines_begin(b, KIND, VERSION);
#define X(type, name) ks_lines_put_number(b, #name, (int64_t)p->name);
    NUMBERS(X)
#undef X
#define X(name) ks_lines_put_number(b, #name, thousandths(p->name));
    TIMES(X)
#undef X
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (p->outcome[o]) {
            ks_lines_key(b, "outcome");
            ks_lines_number(b, o);
            ks_lines_number(b, (int64_t)p->outcome[o]);
            ks_lines_end_line(b);
        }
    for (uint32_t i = 0; i < p->n_shown; i++)
        put_device(&p->device[i], b);
    for (uint32_t i = 0; i < n_kept(p); i++)
        put_failure(&p->failure[i], b);
    ks_lines_finish(b);
}

/* Renamed into place, but not synced. */
static int replace(const char *path, const struct ks_buf *b, struct ks_err *err)
{
    char temp[1200];
    int fd, rc;

    snprintf(temp, sizeof(temp), "%.1190s.new", path);
    fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return ks_fail_errno(err, "'%s'", temp);
    rc = ks_write_all(fd, b->data, b->len, err);
    close(fd);
    if (rc == 0 && rename(temp, path) < 0)
        rc = ks_fail_errno(err, "'%s'", path);
    if (rc < 0)
        unlink(temp);
    return rc;
}

int ks_progress_write(const struct ks_progress *p, const char *dir, struct ks_err *err)
{
    char path[1100];
    struct ks_buf b;
    int rc = ks_path_join(path, sizeof(path), dir, NAME, err);

    ks_buf_init(&b);
    put_all(p, &b);
    if (rc == 0 && !ks_buf_ok(&b))
        rc = ks_fail(err, KS_ENOMEM, "progress: out of memory");
    if (rc == 0)
        rc = replace(path, &b, err);
    ks_buf_release(&b);
    return rc;
}

/* --- reading --- */

static int64_t take_number(struct ks_lines *l, const char *key)
{
    int64_t v = 0;

    if (ks_lines_expect(l, key, 1))
        v = ks_lines_int(l, 0, INT64_MIN, INT64_MAX);
    ks_lines_next(l);
    return v;
}

static void take_device(struct ks_lines *l, struct ks_progress *p)
{
    struct ks_progress_device *d = &p->device[p->n_shown];

    if (p->n_shown == KS_PROGRESS_DEVICES) {
        ks_lines_fail(l, "more than %u devices", (unsigned)KS_PROGRESS_DEVICES);
        return;
    }
    d->rank = (uint32_t)ks_lines_int(l, 0, 0, UINT32_MAX);
    ks_lines_copy(l, 1, d->host, sizeof(d->host));
    ks_lines_copy(l, 2, d->state, sizeof(d->state));
    ks_lines_copy(l, 3, d->problem, sizeof(d->problem));
    d->n_cells = (uint64_t)ks_lines_int(l, 4, 0, INT64_MAX);
    d->silent_s = from_thousandths(ks_lines_int(l, 5, UNKNOWN, MOST_MS));
    p->n_shown++;
}

static void take_failure(struct ks_lines *l, struct ks_progress_failure *f)
{
    f->outcome = (uint32_t)ks_lines_int(l, 0, 0, UINT32_MAX);
    f->problem = (uint64_t)ks_lines_int(l, 1, INT64_MIN, INT64_MAX);
    f->instance = (uint64_t)ks_lines_int(l, 2, INT64_MIN, INT64_MAX);
    ks_lines_copy(l, 3, f->names, sizeof(f->names));
    ks_lines_copy(l, 4, f->reason, sizeof(f->reason));
}

static void take_lists(struct ks_lines *l, struct ks_progress *p)
{
    for (; ks_lines_is(l, "outcome"); ks_lines_next(l))
        if (ks_lines_expect(l, "outcome", 2))
            p->outcome[ks_lines_int(l, 0, 0, KS_O_LIMIT - 1)] =
                (uint64_t)ks_lines_int(l, 1, 0, INT64_MAX);
    for (; ks_lines_is(l, "device"); ks_lines_next(l))
        if (ks_lines_expect(l, "device", 6))
            take_device(l, p);
    for (uint32_t i = 0; i < n_kept(p); i++, ks_lines_next(l))
        if (ks_lines_expect(l, "failure", 5))
            take_failure(l, &p->failure[i]);
}

static int parse(const struct ks_buf *b, const char *path, struct ks_progress *out,
                 struct ks_err *err)
{
    struct ks_progress p = { .n_shown = 0 };
    struct ks_lines l;

    ks_lines_open(&l, ks_buf_text(b), b->len, path, KIND, VERSION, err);
#define X(type, name) p.name = (type)take_number(&l, #name);
    NUMBERS(X)
#undef X
#define X(name) p.name = from_thousandths(take_number(&l, #name));
    TIMES(X)
#undef X
    take_lists(&l, &p);
    if (l.rc == 0 && l.key)
        ks_lines_fail(&l, "'%s' is not expected here", l.key);
    int rc = l.rc;
    ks_lines_close(&l);
    if (rc == 0)
        *out = p;
    return rc;
}

int ks_progress_read(const char *dir, struct ks_progress *out, struct ks_err *err)
{
    char path[1100];
    struct ks_buf b;
    int rc = ks_path_join(path, sizeof(path), dir, NAME, err);

    ks_buf_init(&b);
    if (rc == 0)
        rc = ks_file_read(path, &b, err);
    if (rc == 0)
        rc = parse(&b, path, out, err);
    ks_buf_release(&b);
    return rc;
}
