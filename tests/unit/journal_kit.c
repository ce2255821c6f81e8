/* SPDX-License-Identifier: MIT */
/* journal_kit.c - a directory, numbered records, a reader, and system calls that fail on demand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "journal_kit.h"
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void kit_dir_make(struct kit_dir *d)
{
    temp_dir_make(d->root, sizeof(d->root));
    snprintf(d->journal, sizeof(d->journal), "%s/journal", d->root);
}

void kit_dir_remove(struct kit_dir *d)
{
    temp_dir_remove(d->root);
}

static void make_record(uint64_t number, struct ks_record *r)
{
    ks_record_init(r);
    r->cell = (struct ks_cell){ 1, number, 7 };
    r->outcome = KS_O_OK;
    r->n_samples = 1 + (uint32_t)number % 4;
    for (uint32_t i = 0; i < r->n_samples; i++)
        r->sample_ns[i] = 100.25 * (double)(number + 1) + i;
}

void kit_body(uint64_t number, struct ks_buf *body_out)
{
    static struct ks_record r;

    make_record(number, &r);
    ks_record_encode(&r, body_out);
    assert_true(ks_buf_ok(body_out));
}

int kit_try_append(struct ks_journal *j, uint64_t number, struct ks_err *err)
{
    struct ks_buf b;
    int rc;

    ks_buf_init(&b);
    kit_body(number, &b);
    rc = ks_journal_append(j, KS_F_DONE, b.data, b.len, NULL, err);
    ks_buf_release(&b);
    return rc;
}

uint64_t kit_append(struct ks_journal *j, uint64_t number)
{
    uint64_t position = 0;
    struct ks_err err;
    struct ks_buf b;

    ks_buf_init(&b);
    kit_body(number, &b);
    assert_int_equal(ks_journal_append(j, KS_F_DONE, b.data, b.len, &position, &err), 0);
    ks_buf_release(&b);
    return position;
}

struct ks_journal *kit_open_journal(const char *dir)
{
    struct ks_journal_open how = { .dir = dir };
    struct ks_journal *j = NULL;
    struct ks_err err = { 0 };

    if (ks_journal_create(&how, &j, &err) < 0)
        fail_msg("%s", err.text);
    return j;
}

void kit_write_segment(const char *dir, uint64_t first, uint64_t n)
{
    struct ks_journal *j = kit_open_journal(dir);
    struct ks_err err;

    for (uint64_t i = 0; i < n; i++)
        kit_append(j, first + i);
    assert_int_equal(ks_journal_close(j, &err), 0);
}

static int take_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    static struct ks_record got, want;
    struct kit_read *r = ctx;

    r->n_headers += f->type == KS_F_SEGMENT;
    r->n_closes += f->type == KS_F_CLOSE;
    if (f->type != KS_F_DONE) {
        r->n_others += f->type != KS_F_SEGMENT && f->type != KS_F_CLOSE;
        return 0;
    }
    assert_int_equal(ks_record_decode(f->body, f->n, &got, NULL, err), 0);
    make_record(got.cell.instance, &want);
    if (memcmp(&got, &want, sizeof(got)) != 0) /* assert_memory_equal() goes byte by byte */
        fail_msg("record %d is another one", (int)got.cell.instance);
    assert_true(r->n < KIT_MAX_RECORDS);
    r->number[r->n++] = got.cell.instance;
    return 0;
}

static void take_damage(void *ctx, const struct ks_journal_damage *d)
{
    struct kit_read *r = ctx;

    r->damage = *d;
    r->n_damage++;
}

const struct kit_read *kit_read(const char *dir)
{
    static struct kit_read r;
    struct ks_err err = { 0 };

    memset(&r, 0, sizeof(r));
    if (ks_journal_read(dir, take_frame, take_damage, &r, &r.totals, &err) < 0)
        fail_msg("%s", err.text);
    return &r;
}

/* Is this the call that does not go as asked? */
static bool strikes(struct kit_sys *k, enum kit_fault fault)
{
    return k->n_calls == k->at && k->fault == fault;
}

static void before_call(struct kit_sys *k)
{
    if (strikes(k, KIT_KILL_BEFORE))
        raise(SIGKILL);
    if (strikes(k, KIT_CALL))
        k->call(k->ctx);
}

static void after_call(struct kit_sys *k)
{
    if (strikes(k, KIT_KILL_AFTER))
        raise(SIGKILL);
    k->n_calls++;
}

static bool fails(struct kit_sys *k)
{
    if (!strikes(k, KIT_FAIL) && !strikes(k, KIT_FAIL_HALF))
        return false;
    k->n_calls++;
    errno = k->errnum;
    return true;
}

static int kit_open(void *ctx, const char *path, int flags, unsigned mode)
{
    struct kit_sys *k = ctx;
    int fd;

    before_call(k);
    if (fails(k))
        return -1;
    fd = open(path, flags, (mode_t)mode);
    after_call(k);
    return fd;
}

static long kit_write(void *ctx, int fd, const void *bytes, size_t n)
{
    struct kit_sys *k = ctx;
    long done;

    before_call(k);
    if (strikes(k, KIT_KILL_HALF) || strikes(k, KIT_FAIL_HALF))
        done = (long)write(fd, bytes, n / 2);
    if (strikes(k, KIT_KILL_HALF))
        raise(SIGKILL);
    if (fails(k))
        return -1;
    if (k->fault == KIT_SHORT && k->n_calls % 3 == 1) {
        k->n_calls++;
        errno = EINTR;
        return -1;
    }
    done = (long)write(fd, bytes, k->fault == KIT_SHORT && n > 5 ? 1 + k->n_calls % 5 : n);
    after_call(k);
    return done;
}

static int kit_fdatasync(void *ctx, int fd)
{
    struct kit_sys *k = ctx;
    int rc;

    before_call(k);
    if (fails(k))
        return -1;
    rc = fdatasync(fd);
    after_call(k);
    return rc;
}

void kit_sys_init(struct kit_sys *k, enum kit_fault fault, unsigned at, int errnum)
{
    *k = (struct kit_sys){ .fault = fault, .at = at, .errnum = errnum };
    k->sys = (struct ks_journal_sys){ kit_open, kit_write, kit_fdatasync, k };
}

void kit_write_file(const char *dir, const char *name, const struct ks_buf *b)
{
    char path[600];
    struct ks_err err;

    assert_int_equal(ks_mkdirs(dir, 0777, &err), 0);
    assert_int_equal(ks_path_join(path, sizeof(path), dir, name, &err), 0);
    assert_int_equal(ks_file_replace(path, b->data, b->len, &err), 0);
}

void kit_read_file(const char *dir, const char *name, struct ks_buf *b_out)
{
    char path[600];
    struct ks_err err;

    assert_int_equal(ks_path_join(path, sizeof(path), dir, name, &err), 0);
    assert_int_equal(ks_file_read(path, b_out, &err), 0);
}
