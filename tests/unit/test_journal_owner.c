/* SPDX-License-Identifier: MIT */
/* test_journal_owner.c - who owns a journal, who may take it over, what the next segment fences */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/clock.h"
#include "base/process.h"
#include "journal/journal.h"
#include "journal/segment.h"
#include "journal_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void beats_come_every_five_seconds(void **state)
{
    struct ks_journal_owner o;
    struct ks_journal *j;
    struct ks_err err;
    struct kit_dir d;
    uint64_t t0;

    (void)state;
    kit_dir_make(&d);
    j = kit_open_journal(d.journal);
    t0 = ks_journal_segment(j)->realtime_ns;
    assert_int_equal(ks_journal_beat(j, t0 + KS_JOURNAL_BEAT_NS - 1, &err), 0);
    assert_int_equal(ks_journal_pending(j), 0);
    assert_int_equal(ks_journal_owner(d.journal, &o, &err), 0);
    assert_true(o.last_beat_ns == t0);
    assert_int_equal(ks_journal_beat(j, t0 + KS_JOURNAL_BEAT_NS, &err), 0);
    assert_true(ks_journal_pending(j) > 0);
    assert_int_equal(ks_journal_sync(j, NULL, &err), 0);
    assert_int_equal(ks_journal_beat(j, t0 + KS_JOURNAL_BEAT_NS + 1, &err), 0);
    assert_int_equal(ks_journal_pending(j), 0);
    assert_int_equal(ks_journal_owner(d.journal, &o, &err), 0);
    assert_true(o.last_beat_ns == t0 + KS_JOURNAL_BEAT_NS);
    assert_true(o.is_same_host && o.is_alive && !o.is_closed);
    assert_int_equal(o.segment.pid, getpid());
    assert_int_equal(ks_journal_beat(j, t0 - 1, &err), 0); /* the clock was set back */
    assert_true(ks_journal_pending(j) > 0);
    assert_int_equal(ks_journal_close(j, &err), 0);
    assert_int_equal(ks_journal_owner(d.journal, &o, &err), 0);
    assert_true(o.is_closed && !o.is_alive);
    kit_dir_remove(&d);
}

static pid_t a_dead_pid(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

#define T0 1767225600000000000ull
#define S  1000000000ull

/* The segment of `s`, with a heartbeat and an end when wanted. */
static void craft(const char *dir, const struct ks_segment *s, uint64_t beat_ns, bool is_closed)
{
    struct ks_buf b, body;

    ks_buf_init(&b);
    ks_buf_init(&body);
    ks_segment_encode(s, &body);
    ks_frame_put(&b, KS_F_SEGMENT, body.data, body.len);
    ks_buf_clear(&body);
    ks_tag_u64(&body, KS_HEARTBEAT_TAG, beat_ns);
    if (beat_ns)
        ks_frame_put(&b, KS_F_HEARTBEAT, body.data, body.len);
    if (is_closed)
        ks_frame_put(&b, KS_F_CLOSE, NULL, 0);
    kit_write_file(dir, "0001.ksj", &b);
    ks_buf_release(&b);
    ks_buf_release(&body);
}

enum pid_kind { ME, DEAD, REUSED };
struct claim {
    const char *host, *boot_id; /* of the old owner; we are on "here", in boot "now" */
    enum pid_kind pid;
    uint64_t beat_s, now_s; /* after T0; beat 0 = only the header */
    bool is_closed, is_alive;
    const char *say;
    uint64_t space; /* of the old owner; ours is 7 */
};

static void craft_claim(const char *dir, const struct claim *c)
{
    struct ks_segment s = { .run_id = { 1, 2 }, .incarnation = 1, .realtime_ns = T0 };

    snprintf(s.host, sizeof(s.host), "%s", c->host);
    snprintf(s.boot_id, sizeof(s.boot_id), "%s", c->boot_id);
    s.pid = c->pid == DEAD ? a_dead_pid() : getpid();
    assert_true(ks_process_start(getpid(), &s.pid_start));
    s.pid_start += c->pid == REUSED;
    s.pid_space = c->space;
    craft(dir, &s, c->beat_s ? T0 + c->beat_s * S : 0, c->is_closed);
}

static void check_claim(const char *dir, const struct claim *c, struct ks_journal_open *how)
{
    struct ks_journal *j = NULL;
    struct ks_journal_owner o;
    struct ks_err err = { 0 };
    int rc;

    assert_int_equal(ks_journal_owner_from(dir, how->here, &o, &err), 0);
    assert_int_equal(o.is_alive, c->is_alive);
    assert_int_equal(o.is_closed, c->is_closed);
    assert_int_equal(o.is_same_host, strcmp(c->host, "here") == 0 && (!c->space || c->space == 7));
    rc = ks_journal_create(how, &j, &err);
    ks_journal_abandon(j);
    assert_int_equal(rc, c->is_alive ? KS_EOWNER : 0);
    if (rc < 0 && !strstr(err.text, c->say))
        fail_msg("'%s' does not say '%s'", err.text, c->say);
    how->take_over = true;
    assert_int_equal(ks_journal_create(how, &j, &err), 0);
    assert_string_equal(ks_journal_segment(j)->host, "here");
    assert_string_equal(ks_journal_segment(j)->boot_id, "now");
    assert_int_equal(ks_journal_segment(j)->pid_space, 7);
    assert_true(ks_journal_segment(j)->realtime_ns == how->here->now_ns);
    ks_journal_abandon(j);
}

static void who_may_take_over(void **state)
{
    static const struct claim rows[] = {
        { "here", "now", ME, 0, 1, false, true, "on this host", 0 },
        { "here", "now", ME, 0, 900, false, true, "900 s ago", 0 }, /* stopped, but there */
        { "here", "now", ME, 0, 1, true, false, NULL, 0 },
        { "here", "now", DEAD, 0, 1, false, false, NULL, 0 },
        { "here", "now", REUSED, 0, 1, false, false, NULL, 0 },
        { "here", "before", ME, 0, 1, false, false, NULL, 0 }, /* rebooted */
        { "there", "now", DEAD, 0, 59, false, true, "on host 'there'", 0 },
        { "there", "now", ME, 0, 60, false, false, NULL, 0 },
        { "there", "x", ME, 30, 89, false, true, "59 s ago", 0 },
        { "there", "x", ME, 30, 90, false, false, NULL, 0 },
        { "there", "x", ME, 30, 31, true, false, NULL, 0 },
        { "there", "x", ME, 5000, 0, false, true, "0 s ago", 0 }, /* its clock is ahead */
        /* the same host in another PID namespace: its process numbers mean nothing here */
        { "here", "now", DEAD, 0, 59, false, true, "in another container", 8 },
        { "here", "now", ME, 0, 60, false, false, NULL, 8 },
        { "here", "now", ME, 0, 1, false, true, "on this host", 7 },
        { "here", "now", DEAD, 0, 1, false, false, NULL, 7 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_journal_here here = { "here", "now", T0 + rows[i].now_s * S, 7 };
        struct kit_dir d;

        print_message("row %zu\n", i);
        kit_dir_make(&d);
        craft_claim(d.journal, &rows[i]);
        check_claim(d.journal, &rows[i],
                    &(struct ks_journal_open){ .dir = d.journal, .here = &here });
        kit_dir_remove(&d);
    }
}

static void a_zombie_does_not_run(void **state)
{
    uint64_t start;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    for (unsigned i = 0; i < 1000 && ks_process_start(pid, &start); i++)
        ks_sleep_ns(1000000);
    assert_false(ks_process_start(pid, &start));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(ks_process_start(getppid(), &start));
}

/* Killed while it was created: nobody owns it, and the run is still known from the one before. */
static void a_segment_without_a_header_has_no_owner(void **state)
{
    struct ks_journal_owner o;
    struct ks_id128 run_id;
    struct ks_journal *j;
    struct ks_err err;
    struct ks_buf torn;
    struct kit_dir d;

    (void)state;
    kit_dir_make(&d);
    ks_buf_init(&torn);
    kit_write_file(d.journal, "0001.ksj", &torn);
    assert_int_equal(ks_journal_owner(d.journal, &o, &err), 0);
    assert_int_equal(o.segment.incarnation, 1);
    assert_false(o.is_alive || o.is_closed || o.is_same_host);
    j = kit_open_journal(d.journal);
    run_id = ks_journal_segment(j)->run_id;
    assert_int_equal(ks_journal_segment(j)->n_fences, 0);
    kit_append(j, 0);
    assert_int_equal(ks_journal_close(j, &err), 0);
    kit_read_file(d.journal, "0002.ksj", &torn);
    torn.len = 30;
    kit_write_file(d.journal, "0003.ksj", &torn);
    j = kit_open_journal(d.journal);
    assert_int_equal(ks_journal_segment(j)->incarnation, 4);
    assert_true(ks_id128_eq(ks_journal_segment(j)->run_id, run_id));
    assert_int_equal(ks_journal_segment(j)->n_fences, 2); /* 3, torn, and 2 */
    assert_int_equal(ks_journal_segment(j)->fences[0].n_bytes, 30);
    assert_int_equal(ks_journal_segment(j)->fences[1].segment, 2);
    ks_journal_abandon(j);
    assert_int_equal(kit_read(d.journal)->n, 1);
    ks_buf_release(&torn);
    kit_dir_remove(&d);
}

/* Many torn starts in a row, as on a full disk: the segment that holds records is fenced still. */
static void the_fence_reaches_past_many_torn_starts(void **state)
{
    struct ks_journal *j;
    struct ks_err err;
    struct ks_buf torn;
    struct kit_dir d;
    const struct ks_segment *s;
    char name[32];

    (void)state;
    kit_dir_make(&d);
    kit_write_segment(d.journal, 0, 1);
    ks_buf_init(&torn);
    kit_read_file(d.journal, "0001.ksj", &torn);
    torn.len = 20;
    for (unsigned i = 2; i < 40; i++) {
        snprintf(name, sizeof(name), "%04u.ksj", i);
        kit_write_file(d.journal, name, &torn);
    }
    j = kit_open_journal(d.journal);
    s = ks_journal_segment(j);
    assert_int_equal(s->n_fences, KS_FENCES_MAX);
    assert_int_equal(s->fences[0].segment, 39);
    assert_int_equal(s->fences[KS_FENCES_MAX - 1].segment, 1);
    kit_append(j, 1);
    assert_int_equal(ks_journal_close(j, &err), 0);
    assert_int_equal(kit_read(d.journal)->n, 2);
    assert_int_equal(kit_read(d.journal)->totals.n_torn_tails, 38);
    ks_buf_release(&torn);
    kit_dir_remove(&d);
}

static void write_fence(const char *dir, uint32_t number, uint64_t n_bytes)
{
    struct ks_segment s = { .run_id = { 1, 2 }, .incarnation = number, .n_fences = 1 };
    struct ks_buf b, body;
    char name[32];

    s.fences[0] = (struct ks_fence){ 1, n_bytes };
    ks_buf_init(&b);
    ks_buf_init(&body);
    ks_segment_encode(&s, &body);
    ks_frame_put(&b, KS_F_SEGMENT, body.data, body.len);
    snprintf(name, sizeof(name), "%04u.ksj", number);
    kit_write_file(dir, name, &b);
    ks_buf_release(&b);
    ks_buf_release(&body);
}

/* What the first heir did not count must not come back with the second. */
static void the_lowest_fence_counts(void **state)
{
    struct ks_buf b, body;
    struct kit_dir d;
    uint64_t n_bytes;

    (void)state;
    kit_dir_make(&d);
    kit_write_segment(d.journal, 0, 1);
    ks_buf_init(&b);
    ks_buf_init(&body);
    kit_read_file(d.journal, "0001.ksj", &b);
    n_bytes = b.len;
    kit_body(1, &body);
    ks_frame_put(&b, KS_F_DONE, body.data, body.len);
    kit_write_file(d.journal, "0001.ksj", &b);
    assert_int_equal(kit_read(d.journal)->n, 2);
    write_fence(d.journal, 2, n_bytes);
    write_fence(d.journal, 3, b.len);
    assert_int_equal(kit_read(d.journal)->n, 1);
    assert_int_equal(kit_read(d.journal)->totals.n_late_bytes, b.len - n_bytes);
    ks_buf_release(&b);
    ks_buf_release(&body);
    kit_dir_remove(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beats_come_every_five_seconds),
        cmocka_unit_test(who_may_take_over),
        cmocka_unit_test(a_zombie_does_not_run),
        cmocka_unit_test(a_segment_without_a_header_has_no_owner),
        cmocka_unit_test(the_lowest_fence_counts),
        cmocka_unit_test(the_fence_reaches_past_many_torn_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
