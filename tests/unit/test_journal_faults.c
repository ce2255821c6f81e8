/* SPDX-License-Identifier: MIT */
/* test_journal_faults.c - a writer that is killed, refused, out of space or memory, replaced */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "fault.h"
#include "journal/journal.h"
#include "journal/segment.h"
#include "journal_kit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_BATCHES 5u
#define BATCH     3u

/* Writes batches of records from `first` on; after each sync their last number goes to ack_fd.
 * Returns 0, or the first error. */
static int write_batches(struct ks_journal *j, uint64_t first, int ack_fd, struct ks_err *err)
{
    for (uint64_t batch = 0; batch < N_BATCHES; batch++) {
        uint64_t last = first + batch * BATCH + BATCH - 1, durable;
        int rc = 0;

        for (uint64_t i = 0; rc == 0 && i < BATCH; i++)
            rc = kit_try_append(j, first + batch * BATCH + i, err);
        if (rc == 0)
            rc = ks_journal_sync(j, &durable, err);
        if (rc < 0)
            return rc;
        if (write(ack_fd, &last, sizeof(last)) != (ssize_t)sizeof(last))
            abort();
    }
    return 0;
}

static void write_and_exit(const char *dir, struct kit_sys *k, uint64_t first, int ack_fd)
{
    struct ks_journal_open how = { .dir = dir, .sys = &k->sys };
    struct ks_journal *j = NULL;
    struct ks_err err;

    if (ks_journal_create(&how, &j, &err) < 0 || write_batches(j, first, ack_fd, &err) < 0 ||
        ks_journal_close(j, &err) < 0)
        _exit(1);
    _exit(0);
}

/* Runs the writer in a child. Returns how many records it acknowledged; *killed says how it ended.
 */
static uint64_t run_writer(const char *dir, enum kit_fault fault, unsigned at, uint64_t first,
                           bool *killed)
{
    uint64_t n_acked = 0, last;
    struct kit_sys k;
    int fds[2], status;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        kit_sys_init(&k, fault, at, 0);
        write_and_exit(dir, &k, first, fds[1]);
    }
    close(fds[1]);
    while (read(fds[0], &last, sizeof(last)) == (ssize_t)sizeof(last))
        n_acked = last + 1 - first;
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    assert_true(*killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return n_acked;
}

/* Everything acknowledged is there once and in order, and at most one batch more. */
static uint64_t check_records(const char *dir, uint64_t n_acked)
{
    const struct kit_read *r = kit_read(dir);

    for (uint32_t i = 0; i < r->n; i++)
        assert_int_equal(r->number[i], i);
    assert_true(r->n >= n_acked);
    assert_true(r->n <= n_acked + BATCH);
    assert_int_equal(r->totals.n_damaged_places, 0);
    return r->n;
}

static void a_kill_at_any_call_loses_only_what_was_not_acknowledged(void **state)
{
    static const enum kit_fault kinds[] = { KIT_KILL_BEFORE, KIT_KILL_HALF, KIT_KILL_AFTER };
    unsigned n_kills = 0, n_torn = 0, n_extra = 0;

    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (unsigned at = 0;; at++) {
            uint64_t n_acked, n;
            struct kit_dir d;
            bool killed, again;

            kit_dir_make(&d);
            n_acked = run_writer(d.journal, kinds[k], at, 0, &killed);
            n = ks_path_exists(d.journal) && (at || kinds[k] != KIT_KILL_BEFORE)
                    ? check_records(d.journal, n_acked)
                    : 0;
            n_torn += n && kit_read(d.journal)->totals.n_torn_tails;
            n_extra += n > n_acked;
            /* The next owner goes on after what is there, at once: the old one is dead. */
            n_acked = run_writer(d.journal, KIT_NONE, 0, n, &again);
            assert_int_equal(n_acked, N_BATCHES * BATCH);
            assert_int_equal(check_records(d.journal, n + n_acked), n + n_acked);
            assert_true(kit_read(d.journal)->totals.is_closed);
            kit_dir_remove(&d);
            n_kills += killed;
            if (!killed && at > 2 * N_BATCHES + 4)
                break;
        }
    /* open, then write and fdatasync of the header, of each batch and of the end: 1 + 2 * 7 calls;
     * half a write is a write only. */
    assert_int_equal(n_kills, 15 + 7 + 15);
    assert_true(n_torn >= N_BATCHES);
    assert_true(n_extra >= N_BATCHES);
}

static void no_memory_is_an_error_and_nothing_else(void **state)
{
    unsigned n_failed = 0;

    (void)state;
    for (unsigned n = 0;; n++) {
        struct ks_journal *j = NULL;
        struct ks_err err = { 0 };
        uint64_t durable = 99;
        struct kit_dir d;
        bool armed;
        int rc;

        kit_dir_make(&d);
        fault_arm(n);
        rc = ks_journal_create(&(struct ks_journal_open){ .dir = d.journal }, &j, &err);
        if (rc == 0)
            rc = ks_journal_append(j, KS_F_EVENT, "", 0, NULL, &err);
        if (rc == 0)
            rc = ks_journal_sync(j, &durable, &err);
        armed = fault_disarm();
        if (rc < 0) {
            assert_int_equal(rc, KS_ENOMEM);
            assert_int_equal(err.code, KS_ENOMEM);
            assert_int_equal(durable, 99);
        }
        n_failed += rc < 0;
        ks_journal_abandon(j);
        kit_dir_remove(&d);
        if (!armed)
            break;
    }
    assert_true(n_failed >= 4);
}

static int skip_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    (void)ctx;
    (void)f;
    (void)err;
    return 0;
}

static void a_reader_without_memory_says_so(void **state)
{
    struct ks_journal_totals totals;
    struct ks_err err = { 0 };
    bool armed = true, killed;
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    run_writer(d.journal, KIT_NONE, 0, 0, &killed);
    run_writer(d.journal, KIT_NONE, 0, 15, &killed);
    for (unsigned n = 0; armed; n++) {
        int rc;

        fault_arm(n);
        totals.n_frames = 77;
        rc = ks_journal_read(d.journal, skip_frame, NULL, NULL, &totals, &err);
        armed = fault_disarm();
        assert_int_equal(rc, armed ? KS_ENOMEM : 0);
        assert_int_equal(totals.n_frames, armed ? 77 : 2 * (1 + N_BATCHES * BATCH + 1));
    }
    kit_dir_remove(&d);
}

/* After a failed call nothing is acknowledged any more, and what was stays. */
static void check_broken(struct ks_journal *j, int want, uint64_t durable)
{
    struct ks_err err = { 0 };
    uint64_t now = durable;

    assert_int_equal(ks_journal_sync(j, &now, &err), want);
    assert_int_equal(err.code, want);
    assert_int_equal(now, durable);
    assert_int_equal(kit_try_append(j, 500, &err), want);
    assert_int_equal(ks_journal_append_raw(j, "x", 1, NULL, &err), want);
    assert_int_equal(ks_journal_beat(j, UINT64_MAX, &err), want);
    assert_int_equal(ks_journal_beat(j, ks_journal_segment(j)->realtime_ns, &err), want);
    assert_int_equal(ks_journal_sync(j, &now, &err), want);
    assert_int_equal(ks_journal_close(j, &err), want);
    assert_int_equal(now, durable);
}

/* One writer whose call `at` fails. Returns whether one did. */
static bool fail_one_call(enum kit_fault fault, unsigned at, int errnum, int want)
{
    struct ks_journal *j = NULL;
    struct ks_err err = { 0 };
    struct kit_dir d;
    struct kit_sys k;
    uint64_t n_acked = 0, durable = 0;
    int rc;

    kit_dir_make(&d);
    kit_sys_init(&k, fault, at, errnum);
    rc = ks_journal_create(&(struct ks_journal_open){ .dir = d.journal, .sys = &k.sys }, &j, &err);
    for (uint64_t i = 0; rc == 0 && i < N_BATCHES; i++) {
        kit_append(j, i);
        rc = ks_journal_sync(j, &durable, &err);
        n_acked += rc == 0;
    }
    if (rc < 0) {
        assert_int_equal(rc, want);
        assert_non_null(strstr(err.text, "0001.ksj"));
        assert_non_null(strstr(err.text, strerror(errnum)));
        if (j)
            check_broken(j, want, durable);
    } else {
        rc = ks_journal_close(j, &err);
        assert_int_equal(rc, k.n_calls > at ? want : 0);
    }
    if (at > 0) {
        const struct kit_read *r = kit_read(d.journal);

        assert_true(r->n >= n_acked && r->n <= n_acked + 1);
        assert_int_equal(r->totals.n_damaged_places, 0);
    }
    kit_dir_remove(&d);
    return k.n_calls > at;
}

static void a_failed_call_breaks_the_journal(void **state)
{
    static const struct {
        enum kit_fault fault;
        int errnum, want;
    } rows[] = {
        { KIT_FAIL, EIO, KS_EIO },
        { KIT_FAIL, ENOSPC, KS_ENOSPC },
        { KIT_FAIL_HALF, ENOSPC, KS_ENOSPC },
        { KIT_FAIL, EDQUOT, KS_ENOSPC },
        { KIT_FAIL, EROFS, KS_EIO },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned at = 0;

        while (fail_one_call(rows[i].fault, at, rows[i].errnum, rows[i].want))
            at++;
        assert_int_equal(at, 1 + 2 * (N_BATCHES + 2));
    }
}

static void short_and_interrupted_writes_are_finished(void **state)
{
    struct ks_journal *j = NULL;
    struct ks_err err;
    struct kit_dir d;
    struct kit_sys k;
    uint64_t durable, at;

    (void)state;
    kit_dir_make(&d);
    kit_sys_init(&k, KIT_SHORT, 0, 0);
    assert_int_equal(
        ks_journal_create(&(struct ks_journal_open){ .dir = d.journal, .sys = &k.sys }, &j, &err),
        0);
    for (uint64_t i = 0; i < 10; i++) {
        at = kit_append(j, i);
        assert_int_equal(ks_journal_sync(j, &durable, &err), 0);
        assert_int_equal(durable, at);
    }
    assert_int_equal(ks_journal_close(j, &err), 0);
    assert_true(k.n_calls > 200);
    assert_int_equal(kit_read(d.journal)->n, 10);
    assert_int_equal(kit_read(d.journal)->n_damage, 0);
    kit_dir_remove(&d);
}

/* A directory that root could write as well is tried as nobody. */
static void a_read_only_directory_is_refused(void **state)
{
    struct kit_dir d;
    int status;
    pid_t pid;

    (void)state;
    kit_dir_make(&d);
    assert_int_equal(chmod(d.root, 0755), 0);
    assert_int_equal(mkdir(d.journal, 0555), 0);
    assert_int_equal(chmod(d.journal, 0555), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct ks_journal *j = NULL;
        struct ks_err err = { 0 };
        int rc;

        if (geteuid() == 0 && setuid(65534) < 0)
            _exit(9);
        rc = ks_journal_create(&(struct ks_journal_open){ .dir = d.journal }, &j, &err);
        _exit(rc == KS_EINVAL && !j && strstr(err.text, "Permission denied") &&
                      strstr(err.text, d.journal)
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    kit_dir_remove(&d);
}

static struct ks_journal *open_journal(const char *dir, bool take_over, const struct kit_sys *k)
{
    struct ks_journal_open how = { .dir = dir, .take_over = take_over, .sys = k ? &k->sys : NULL };
    struct ks_journal *j = NULL;
    struct ks_err err = { 0 };

    if (ks_journal_create(&how, &j, &err) < 0)
        fail_msg("%s", err.text);
    return j;
}

static void an_unlinked_directory_is_noticed(void **state)
{
    struct kit_dir d, other;
    struct ks_err err = { 0 };
    struct ks_journal *j;
    char aside[300];

    (void)state;
    kit_dir_make(&d);
    j = open_journal(d.journal, false, NULL);
    kit_append(j, 0);
    assert_int_equal(ks_remove_tree(d.journal, &err), 0);
    assert_int_equal(ks_journal_sync(j, NULL, &err), KS_EIO);
    assert_non_null(strstr(err.text, "journal directory disappeared"));
    check_broken(j, KS_EIO, 5);

    /* Another directory of the same name, with a segment of the same name. */
    kit_dir_make(&other);
    j = open_journal(d.journal, false, NULL);
    snprintf(aside, sizeof(aside), "%s/aside", d.root);
    ks_journal_abandon(open_journal(other.journal, false, NULL));
    assert_int_equal(rename(d.journal, aside), 0);
    assert_int_equal(rename(other.journal, d.journal), 0);
    kit_append(j, 0);
    assert_int_equal(ks_journal_sync(j, NULL, &err), KS_EIO);
    assert_non_null(strstr(err.text, "removed or replaced"));
    ks_journal_abandon(j);
    kit_dir_remove(&other);
    kit_dir_remove(&d);
}

struct unlink_ctx {
    const char *dir;
};

static void unlink_now(void *ctx)
{
    const struct unlink_ctx *u = ctx;
    struct ks_err err;

    assert_int_equal(ks_remove_tree(u->dir, &err), 0);
}

/* The name goes while the bytes are written: only the look after the sync can see it. */
static void a_directory_unlinked_during_the_sync_is_noticed(void **state)
{
    struct unlink_ctx u;
    struct ks_journal *j;
    struct ks_err err = { 0 };
    struct kit_dir d;
    struct kit_sys k;

    (void)state;
    kit_dir_make(&d);
    u.dir = d.journal;
    kit_sys_init(&k, KIT_CALL, 4, 0); /* open, write, sync; write, sync */
    k.call = unlink_now;
    k.ctx = &u;
    j = open_journal(d.journal, false, &k);
    kit_append(j, 0);
    assert_int_equal(ks_journal_sync(j, NULL, &err), KS_EIO);
    assert_non_null(strstr(err.text, "disappeared"));
    ks_journal_abandon(j);
    kit_dir_remove(&d);
}

/* ---- two owners ---- */

static void the_old_owner_stops_when_a_higher_segment_appears(void **state)
{
    struct ks_journal *old, *young;
    struct ks_err err = { 0 };
    uint64_t durable = 0, before;
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    old = open_journal(d.journal, false, NULL);
    kit_append(old, 0);
    assert_int_equal(ks_journal_sync(old, &durable, &err), 0);
    before = durable;
    kit_append(old, 1);
    young = open_journal(d.journal, true, NULL);
    assert_int_equal(ks_journal_sync(old, &durable, &err), KS_EOWNER);
    assert_int_equal(durable, before);
    assert_non_null(strstr(err.text, "taken over"));
    check_broken(old, KS_EOWNER, durable); /* and closes without writing */
    assert_int_equal(kit_read(d.journal)->totals.n_late_bytes, 0);
    kit_append(young, 1);
    assert_int_equal(ks_journal_close(young, &err), 0);
    assert_int_equal(check_records(d.journal, 2), 2);
    assert_int_equal(kit_read(d.journal)->n_closes, 1);
    kit_dir_remove(&d);
}

struct rival {
    const char *dir;
    struct ks_journal *j;
};

static void take_over_now(void *ctx)
{
    struct rival *r = ctx;

    r->j = open_journal(r->dir, true, NULL);
}

/* The takeover falls between the old owner's first look and its write (call 3), or between its
 * write and its second look (call 4): never acknowledged; read once, and only in the second case
 * the old owner's. */
static void a_takeover_in_mid_sync_doubles_nothing(void **state)
{
    (void)state;
    for (unsigned at = 3; at <= 4; at++) {
        struct rival rival = { .j = NULL };
        struct ks_err err = { 0 };
        struct ks_journal *old;
        uint64_t durable = 1;
        struct kit_dir d;
        struct kit_sys k;

        kit_dir_make(&d);
        rival.dir = d.journal;
        kit_sys_init(&k, KIT_CALL, at, 0);
        k.call = take_over_now;
        k.ctx = &rival;
        old = open_journal(d.journal, false, &k);
        kit_append(old, 0);
        assert_int_equal(ks_journal_sync(old, &durable, &err), KS_EOWNER);
        assert_int_equal(durable, 1);
        ks_journal_abandon(old);
        assert_non_null(rival.j);
        assert_int_equal(kit_read(d.journal)->n, at == 3 ? 0 : 1);
        assert_int_equal(kit_read(d.journal)->totals.n_late_bytes > 0, at == 3);
        if (at == 3)
            kit_append(rival.j, 0);
        assert_int_equal(ks_journal_close(rival.j, &err), 0);
        assert_int_equal(check_records(d.journal, 1), 1);
        assert_int_equal(kit_read(d.journal)->n_damage, 0);
        kit_dir_remove(&d);
    }
}

/* Both saw the same dead owner; the second to create the file loses. */
static void two_heirs_at_once(void **state)
{
    struct rival rival = { .j = NULL };
    struct ks_journal *j = NULL;
    struct ks_err err = { 0 };
    struct kit_dir d;
    struct kit_sys k;

    (void)state;
    kit_dir_make(&d);
    rival.dir = d.journal;
    for (unsigned at = 0; at < 3; at++) { /* before open, write, fdatasync */
        kit_sys_init(&k, KIT_CALL, at, 0);
        k.call = take_over_now;
        k.ctx = &rival;
        assert_int_equal(
            ks_journal_create(
                &(struct ks_journal_open){ .dir = d.journal, .take_over = true, .sys = &k.sys }, &j,
                &err),
            KS_EOWNER);
        assert_null(j);
        kit_append(rival.j, at);
        assert_int_equal(ks_journal_close(rival.j, &err), 0);
        assert_int_equal(check_records(d.journal, at + 1), at + 1);
    }
    kit_dir_remove(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_at_any_call_loses_only_what_was_not_acknowledged),
        cmocka_unit_test(no_memory_is_an_error_and_nothing_else),
        cmocka_unit_test(a_reader_without_memory_says_so),
        cmocka_unit_test(a_failed_call_breaks_the_journal),
        cmocka_unit_test(short_and_interrupted_writes_are_finished),
        cmocka_unit_test(a_read_only_directory_is_refused),
        cmocka_unit_test(an_unlinked_directory_is_noticed),
        cmocka_unit_test(a_directory_unlinked_during_the_sync_is_noticed),
        cmocka_unit_test(the_old_owner_stops_when_a_higher_segment_appears),
        cmocka_unit_test(a_takeover_in_mid_sync_doubles_nothing),
        cmocka_unit_test(two_heirs_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
