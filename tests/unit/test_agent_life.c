/* SPDX-License-Identifier: MIT */
/* test_agent_life.c - the agent over several leases and workers: order, drains, deaths */
/* Order, draining, acknowledgements, a missing worker, a dead warden. */
/* waits: yes */
#include "agent_bench.h"

#include "base/clock.h"
#include "mpi/agent_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

/* A lease of instances first .. first + n - 1 of problem 0. */
static struct ks_msg_lease part(uint64_t lease, uint32_t first, uint32_t n, bool opens, bool closes)
{
    struct ks_msg_lease m = {
        .lease = lease, .block_id = 7, .opens = opens, .closes = closes, .n = n
    };
    for (uint32_t i = 0; i < n; i++) {
        m.cells[i].i_instance = first + i;
        m.cells[i].attempt = 1;
    }
    return m;
}

static void many_names(char *out, size_t cap, const char *word, uint32_t n)
{
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s_%u ", word, i);
}

static uint32_t n_lines(const struct bench *b, const char *prefix)
{
    uint32_t n = 0;
    for (const char *s = ks_buf_text((struct ks_buf *)(uintptr_t)&b->log); s && *s;) {
        n += strncmp(s, prefix, strlen(prefix)) == 0;
        s = strchr(s, '\n');
        s += s != NULL;
    }
    return n;
}

static void test_batches(void **state)
{
    (void)state;
    struct ks_agent_totals t;
    char names[512], line[32];
    struct bench b;
    many_names(names, sizeof(names), "ok", 50);
    setenv("FAKE_SETUP", "limits", 1); /* the second and third worker get those of the first */
    bench_open(&b, names, 1, NULL);
    bench_lease_all(&b, 1, 7, 0);
    bench_run(&b);
    unsetenv("FAKE_SETUP");
    ks_agent_totals(b.agent, &t);
    assert_int_equal(t.n_workers, 3); /* 50 cells and two anchors, 20 a worker */
    assert_int_equal(t.n_cells, 50);
    assert_int_equal(t.n_records, 52);
    assert_int_equal(t.n_deaths, 0);
    assert_true(t.worker_ns > 0);
    for (uint32_t i = 0; i < 50; i++) {
        snprintf(line, sizeof(line), "done ok_%u a1 ok\n", i);
        assert_int_equal(n_lines(&b, line), 1);
    }
    assert_true(ks_agent_is_idle(b.agent));
    bench_close(&b);
}

/* What a lease holds is less than a worker may measure: the next one is streamed into it. */
static void test_batch_of_leases(void **state)
{
    (void)state;
    const uint32_t n = 150, first = KS_LEASE_CELLS, rest = n - 2 * first;
    struct ks_agent_totals t;
    struct bench b;
    char names[150 * 8];
    many_names(names, sizeof(names), "ok", n);
    bench_open(&b, names, 1, NULL);
    b.grid->job.isolate.batch = 100;
    const struct ks_msg_lease m[] = { part(1, 0, first, true, false),
                                      part(2, first, first, false, false),
                                      part(3, 2 * first, rest, false, true) };
    for (size_t i = 0; i < sizeof(m) / sizeof(*m); i++)
        bench_lease(&b, &m[i]);
    bench_run(&b);
    ks_agent_totals(b.agent, &t);
    assert_int_equal(t.n_cells, n);
    assert_int_equal(t.n_workers, 2);
    bench_close(&b);
}

/* A lease says which of its cells are aliases: each of their records does, too, whoever made it. */
static void test_controls(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "ok_a ok_b noisy crash ok_c", 1, NULL);
    struct ks_msg_lease m = part(1, 0, 5, true, true);
    for (uint32_t i = 1; i < 4; i++)
        m.cells[i].alias = 1; /* of the first instance */
    bench_lease(&b, &m);
    bench_run(&b);
    assert_int_equal(n_lines(&b, "done ok_a a1 ok\n"), 1);
    assert_int_equal(n_lines(&b, "done ok_b a1 ok aliased\n"), 1);
    assert_int_equal(n_lines(&b, "done noisy a1 ok contaminated|aliased\n"), 1);
    assert_int_equal(n_lines(&b, "done noisy a2 ok aliased\n"), 1);
    assert_int_equal(n_lines(&b, "done crash a1 crashed(11) aliased\n"), 1);
    assert_int_equal(n_lines(&b, "done crash a2 crashed(11) aliased\n"), 1);
    assert_int_equal(n_lines(&b, "done ok_c a1 ok\n"), 1);
    assert_int_equal(b.death->representative_id, b.grid->instances[0].id);
    assert_int_equal(n_lines(&b, "anchor ok_a ok\n"), 2);
    bench_close(&b);
}

static void test_two_leases_of_a_block(void **state)
{
    (void)state;
    static const struct {
        const char *names, *want;
    } rows[] = {
        { "ok_a ok_b noisy ok_c ok_d",
          "anchor ok_a ok\nblock 7 open ok_a n0\ndone ok_a a1 ok\ndone ok_b a1 ok\n"
          "start noisy a2 noise\ndone noisy a1 ok contaminated\ndone ok_c a1 ok\n"
          "done ok_d a1 ok\ndone noisy a2 ok\nend 1\n"
          "anchor ok_a ok\nblock 7 close ok_a n6\nend 2\n" },
        /* what needs no worker must not close the block before the anchor is known */
        { "slow_a slow_b slow_c lack_a lack_b",
          "anchor slow_a ok\nblock 7 open slow_a n0\n"
          "done lack_a a1 unsupported\ndone lack_b a1 unsupported\n"
          "done slow_a a1 ok\ndone slow_b a1 ok\ndone slow_c a1 ok\nend 1\n"
          "anchor slow_a ok\nblock 7 close slow_a n3\nend 2\n" },
        { "wrong ok_a ok_b ok_c ok_d",
          "anchor wrong wrong_result\nanchor ok_a ok\nblock 7 open ok_a n0\n"
          "start wrong a2 retry\ndone wrong a1 wrong_result\ndone wrong a2 wrong_result\n"
          "done ok_a a1 ok\ndone ok_b a1 ok\ndone ok_c a1 ok\n"
          "done ok_d a1 ok\nend 1\nanchor ok_a ok\nblock 7 close ok_a n5\nend 2\n" },
        { "ok_a crash ok_b ok_c ok_d",
          "anchor ok_a ok\nblock 7 open ok_a n0\ndone ok_a a1 ok\ncanary passed\n"
          "start crash a2 retry\ndone crash a1 crashed(11)\ndone crash a2 crashed(11)\n"
          "done ok_b a1 ok\ndone ok_c a1 ok\ndone ok_d a1 ok\nend 1\n"
          "anchor ok_a ok\nblock 7 close ok_a n5\nend 2\n" },
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct ks_msg_lease first = part(1, 0, 3, true, false), second = part(2, 3, 2, false, true);
        struct bench b;
        bench_open(&b, rows[i].names, 1, NULL);
        bench_lease(&b, &first);
        bench_lease(&b, &second);
        bench_run(&b);
        assert_string_equal(ks_buf_text(&b.log), rows[i].want);
        bench_close(&b);
    }
}

static void test_too_many_leases(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "ok_a ok_b", 1, NULL);
    for (uint32_t i = 0; i < KS_AGENT_LEASES; i++)
        bench_lease_all(&b, i + 1, i + 1, 0);
    struct ks_msg_lease more = part(9, 0, 1, true, true);
    assert_int_equal(ks_agent_lease(b.agent, &more, NULL), KS_EINVAL);
    assert_int_equal(ks_agent_n_leases(b.agent), KS_AGENT_LEASES);
    bench_run(&b);
    assert_int_equal(n_lines(&b, "done ok_a a1 ok\n"), KS_AGENT_LEASES);
    assert_int_equal(n_lines(&b, "block"), 2 * KS_AGENT_LEASES);
    bench_lease(&b, &more);
    bench_close(&b);
}

/* Every cell of every lease can be waiting for its repetition at once. */
static void test_all_contaminated(void **state)
{
    (void)state;
    char names[KS_LEASE_CELLS * KS_AGENT_LEASES * 16];
    struct bench b;
    const uint32_t n = KS_LEASE_CELLS * KS_AGENT_LEASES;
    many_names(names, sizeof(names), "noisy", n);
    bench_open(&b, names, 1, NULL);
    b.grid->job.isolate.batch = 150;
    for (uint32_t i = 0; i < KS_AGENT_LEASES; i++) {
        struct ks_msg_lease m =
            part(i + 1, i * KS_LEASE_CELLS, KS_LEASE_CELLS, i == 0, i + 1 == KS_AGENT_LEASES);
        bench_lease(&b, &m);
    }
    bench_run(&b);
    assert_int_equal(n_lines(&b, "start"), n);
    assert_int_equal(n_lines(&b, "done"), 2 * n);
    assert_int_equal(n_lines(&b, "end"), KS_AGENT_LEASES);
    bench_close(&b);
}

/* A lease without cells only closes; one after it begins another problem in another worker. */
static void test_close_and_go_on(void **state)
{
    (void)state;
    struct ks_msg_lease first = part(1, 0, 2, true, false), close = part(2, 0, 0, false, true);
    struct ks_agent_totals t;
    struct bench b;
    bench_open(&b, "ok_a ok_b", 2, NULL);
    bench_lease(&b, &first);
    bench_run(&b);
    assert_string_equal(ks_buf_text(&b.log),
                        "anchor ok_a ok\nblock 7 open ok_a n0\ndone ok_a a1 ok\ndone ok_b a1 ok\n"
                        "end 1\n");
    ks_buf_clear(&b.log);
    bench_lease(&b, &close);
    bench_lease_all(&b, 3, 8, 1);
    bench_run(&b);
    assert_string_equal(ks_buf_text(&b.log),
                        "anchor ok_a ok\nblock 7 close ok_a n2\nend 2\n"
                        "anchor ok_a ok\nblock 8 open ok_a n0\ndone ok_a a1 ok\ndone ok_b a1 ok\n"
                        "anchor ok_a ok\nblock 8 close ok_a n2\nend 3\n");
    ks_agent_totals(b.agent, &t);
    assert_int_equal(t.n_workers, 2);
    assert_true(t.wait_ns > 0);
    bench_close(&b);
}

/* ---- ending early ---- */

static bool has_two(const struct bench *b)
{
    return b->n_done >= 2;
}

static bool is_idle(const struct bench *b)
{
    return ks_agent_is_idle(b->agent);
}

static void test_drain(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "slow_a slow_b slow_c slow_d slow_e", 1, NULL);
    bench_lease_all(&b, 1, 7, 0);
    bench_run_until(&b, has_two); /* the anchor and a cell; the next is in flight */
    uint64_t was = b.n_done;
    ks_agent_drain(b.agent);
    ks_agent_drain(b.agent);
    bench_run_until(&b, is_idle);
    assert_true(b.n_done >= was + 1 && b.n_done < 7); /* all and two anchors would be 7 */
    assert_int_equal(n_lines(&b, "end 1\n"), 1);
    assert_int_equal(n_lines(&b, "block 7 close"), 0);
    assert_int_equal(n_lines(&b, "start"), 0);
    uint64_t after = b.n_done;
    bench_lease_all(&b, 2, 8, 0); /* too late: given back at once */
    bench_run(&b);
    assert_int_equal(b.n_done, after);
    assert_int_equal(n_lines(&b, "end 2\n"), 1);
    bench_close(&b);
}

static bool has_canary(const struct bench *b)
{
    return n_lines(b, "canary passed") > 0;
}

/* Nothing of a recovery under way is recorded, so that the cell is measured anew on resume. */
static void test_drain_in_recovery(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "ok_a hang", 1, NULL);
    bench_lease_all(&b, 1, 7, 0);
    bench_run_until(&b, has_canary);
    ks_agent_drain(b.agent);
    bench_run_until(&b, is_idle);
    assert_string_equal(ks_buf_text(&b.log),
                        "anchor ok_a ok\nblock 7 open ok_a n0\ndone ok_a a1 ok\ncanary passed\n"
                        "end 1\n");
    bench_close(&b);
}

static void test_stop(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "slow_a slow_b hang", 1, NULL);
    bench_lease_all(&b, 1, 7, 0);
    bench_run_until(&b, has_two);
    uint64_t was = b.n_done;
    ks_agent_stop(b.agent);
    bench_run_until(&b, is_idle);
    assert_true(b.n_done <= was + 1);
    assert_int_equal(n_lines(&b, "done hang"), 0);
    assert_int_equal(n_lines(&b, "end 1\n"), 1);
    bench_close(&b);
}

/* Records that are not acknowledged hold up nobody as long as they are young; then nothing is begun
 * beyond KS_AGENT_UNACKED of them. */
static void test_unacknowledged(void **state)
{
    (void)state;
    char names[1024];
    struct bench b;
    many_names(names, sizeof(names), "ok", 100);
    bench_open(&b, names, 1, NULL);
    struct ks_msg_lease first = part(1, 0, 50, true, false), second = part(2, 50, 25, false, false);
    struct ks_msg_lease third = part(3, 75, 25, false, true);
    b.holds_acks = true;
    bench_lease(&b, &first);
    bench_lease(&b, &second);
    while (b.n_done < 76) /* one is the anchor */
        bench_turn(&b);
    uint64_t was = b.n_done, until = ks_now_ns() + KS_AGENT_UNACKED_NS + 10000000u;
    while (ks_now_ns() < until)
        bench_turn(&b);
    bench_lease(&b, &third);
    until += 300000000u;
    while (ks_now_ns() < until)
        bench_turn(&b);
    assert_int_equal(b.n_done, was);
    ks_agent_acked(b.agent, b.n_done + 1000); /* nonsense is ignored */
    ks_agent_acked(b.agent, 0);
    bench_turn(&b);
    assert_int_equal(b.n_done, was);
    b.holds_acks = false;
    bench_run(&b);
    assert_int_equal(b.n_done, 102);
    bench_close(&b);
}

/* What the pace of the loop goes by, while slow cells run and after. */
static void test_load(void **state)
{
    struct ks_agent_load l;
    struct bench b;

    (void)state;
    bench_open(&b, "slow_a slow_b slow_c slow_d slow_e", 1, NULL);
    ks_agent_load(b.agent, &l);
    assert_true(!l.has_cells && !l.is_measuring && !l.cell_ns && l.supply_ns == UINT64_MAX);
    b.holds_acks = true;
    bench_lease_all(&b, 1, 7, 0);
    bench_run_until(&b, has_two); /* the anchor and a cell; four are left */
    ks_agent_load(b.agent, &l);
    assert_true(l.has_cells);
    assert_int_equal(l.n_unacked, b.n_done);
    const uint64_t left_ns = (6 - b.n_done) * l.cell_ns;
    assert_in_range(l.supply_ns, left_ns, left_ns + 6);
    const uint64_t waited_ns = l.waited_ns;
    ks_sleep_ns(1000000);
    ks_agent_load(b.agent, &l);
    assert_true(waited_ns > 0 && l.waited_ns >= waited_ns + 1000000);
    /* not for each of them, but for the last, or any when it is to end */
    assert_int_equal(ks_agent_wait_fd(b.agent, false), -1);
    assert_true(ks_agent_wait_fd(b.agent, true) >= 0);
    /* or where the pipe has no room for many: Linux limits all pipes of a user */
    b.agent->worker.pipe_bytes = 3 * b.agent->record_bytes;
    assert_true(ks_agent_wait_fd(b.agent, false) >= 0);
    b.agent->worker.pipe_bytes = 1 << 20;
    ks_buf_put(&b.agent->worker.out, "", 1); /* a request that waits for room */
    ks_agent_load(b.agent, &l);
    assert_in_range(l.supply_ns, l.cell_ns - 1, l.cell_ns + 1);
    ks_buf_clear(&b.agent->worker.out);
    ks_agent_drain(b.agent);
    assert_true(ks_agent_wait_fd(b.agent, false) >= 0);
    bench_run_until(&b, is_idle);
    ks_agent_acked(b.agent, b.n_done);
    ks_agent_load(b.agent, &l);
    assert_true(!l.has_cells && !l.n_unacked && l.supply_ns == UINT64_MAX);
    bench_close(&b);
}

/* ---- what the agent needs ---- */

static void test_no_worker_program(void **state)
{
    (void)state;
    const char *why = NULL;
    struct bench b;
    bench_open_with(&b, "ok_a ok_b", 1, "/nonexistent/worker");
    assert_false(ks_agent_is_broken(b.agent, &why));
    assert_null(why);
    bench_lease_all(&b, 1, 7, 0);
    bench_run(&b);
    assert_string_equal(ks_buf_text(&b.log), "end 1\n");
    assert_true(ks_agent_is_broken(b.agent, &why));
    assert_non_null(strstr(why, "/nonexistent/worker"));
    bench_close(&b);
}

static void test_set_up_fails(void **state)
{
    (void)state;
    struct bench b;
    setenv("FAKE_SETUP", "fail", 1);
    bench_open(&b, "ok_a ok_b", 1, NULL);
    bench_lease_all(&b, 1, 7, 0);
    bench_run(&b);
    unsetenv("FAKE_SETUP");
    assert_string_equal(ks_buf_text(&b.log), "anchor ok_a worker_lost\nevent worker_death\n"
                                             "event quarantine\nend 1\n");
    assert_true(ks_agent_is_broken(b.agent, NULL));
    bench_close(&b);
}

/* Whoever notices first says KS_ECHILD; the agent can be destroyed in any state. */
static void test_warden_dies(void **state)
{
    (void)state;
    struct bench b;
    struct ks_child_end end;
    struct ks_err err;
    bench_open(&b, "slow_a slow_b slow_c", 1, NULL);
    bench_lease_all(&b, 1, 7, 0);
    bench_run_until(&b, has_two);
    kill(ks_warden_pid(b.warden), SIGKILL);
    int rc = 0;
    uint64_t limit = ks_now_ns() + 10000000000u;
    while (rc == 0 && ks_now_ns() < limit) {
        rc = ks_warden_next(b.warden, &end, &err);
        if (rc == 0)
            rc = ks_agent_step(b.agent, &err);
    }
    assert_int_equal(rc, KS_ECHILD);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_many_leases),   cmocka_unit_test(test_all_contaminated),
        cmocka_unit_test(test_batches),           cmocka_unit_test(test_batch_of_leases),
        cmocka_unit_test(test_controls),          cmocka_unit_test(test_two_leases_of_a_block),
        cmocka_unit_test(test_close_and_go_on),   cmocka_unit_test(test_drain),
        cmocka_unit_test(test_drain_in_recovery), cmocka_unit_test(test_stop),
        cmocka_unit_test(test_unacknowledged),    cmocka_unit_test(test_load),
        cmocka_unit_test(test_no_worker_program), cmocka_unit_test(test_set_up_fails),
        cmocka_unit_test(test_warden_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
