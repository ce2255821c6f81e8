/* SPDX-License-Identifier: MIT */
/* test_agent.c - the agent with a real warden and a worker that misbehaves: all that it emits */
/* waits: yes */
#include "agent_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANY        UINT32_MAX /* it depends on who is faster */
#define N_ROWS(a)  (sizeof(a) / sizeof((a)[0]))
#define OPEN       "anchor ok_a ok\nblock 7 open ok_a n0\n"
#define CLOSE(n)   "anchor ok_a ok\nblock 7 close ok_a n" #n "\nend 1\n"
#define DONE(name) "done " #name " a1 ok\n"

struct row {
    const char *name, *instances, *canary;
    int retries; /* 0: as the kit has it, -1: none */
    const char *want;
    uint32_t n_workers, n_deaths;
};

static void run_row(const struct row *row, const char *backend)
{
    struct ks_agent_totals t;
    struct bench b;
    bench_open(&b, row->instances, 1, row->canary);
    if (row->retries)
        b.grid->job.isolate.retries = row->retries < 0 ? 0 : (uint32_t)row->retries;
    while (strcmp(ks_backend_names[b.grid->job.device.backend], backend) != 0)
        b.grid->job.device.backend++;
    snprintf(b.grid->families[0].backend, sizeof(b.grid->families[0].backend), "%s", backend);
    bench_lease_all(&b, 1, 7, 0);
    bench_run(&b);
    if (strcmp(ks_buf_text(&b.log), row->want) != 0)
        fail_msg("%s: have\n%s---- want\n%s", row->name, ks_buf_text(&b.log), row->want);
    ks_agent_totals(b.agent, &t);
    if (t.n_workers != row->n_workers || (row->n_deaths != ANY && t.n_deaths != row->n_deaths))
        fail_msg("%s: %u workers, %u deaths", row->name, (unsigned)t.n_workers,
                 (unsigned)t.n_deaths);
    bench_close(&b);
}

static void run_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        run_row(&rows[i], "host");
}

/* ---- cells that come to an end ---- */

static void test_ordinary(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "all is well", "ok_a ok_b ok_c", NULL, 0, OPEN DONE(ok_a) DONE(ok_b) DONE(ok_c) CLOSE(3),
          1, 0 },
        { "not ok, but alive", "ok_a wrong refuse ok_b", NULL, 0,
          OPEN DONE(ok_a) "start wrong a2 retry\ndone wrong a1 wrong_result\n"
                          "done wrong a2 wrong_result\ndone refuse a1 unsupported\n" DONE(ok_b)
                              CLOSE(4),
          3, 0 },
        { "what the CPU lacks needs no worker", "lack_a lack_b", NULL, 0,
          "block 7 open - n0\ndone lack_a a1 unsupported\ndone lack_b a1 unsupported\n"
          "block 7 close - n0\nend 1\n",
          0, 0 },
        { "and stands in the way of nothing", "lack ok_a ok_b", NULL, 0,
          OPEN "done lack a1 unsupported\n" DONE(ok_a) DONE(ok_b) CLOSE(2), 1, 0 },
        { "the status page cannot be cut off", "ok_a truncate", NULL, 0,
          OPEN DONE(ok_a) DONE(truncate) CLOSE(2), 1, 0 },
        { "nor its count be believed", "ok_a overcount ok_b", NULL, 0,
          OPEN DONE(ok_a) DONE(overcount) DONE(ok_b) CLOSE(3), 1, 0 },
        { "contaminated once", "ok_a noisy ok_b", NULL, 0,
          OPEN DONE(ok_a) "start noisy a2 noise\ndone noisy a1 ok contaminated\n" DONE(
              ok_b) "done noisy a2 ok\n" CLOSE(4),
          1, 0 },
        { "contaminated for ever", "ok_a noisyall", NULL, 0,
          OPEN DONE(ok_a) "start noisyall a2 noise\ndone noisyall a1 ok contaminated\n"
                          "start noisyall a3 noise\ndone noisyall a2 ok contaminated\n"
                          "done noisyall a3 ok contaminated\n" CLOSE(4),
          1, 0 },
    };
    run_rows(rows, N_ROWS(rows));
}

/* What a kernel prints is filed under its cell, the last 64 KiB of it. */
static void test_output(void **state)
{
    (void)state;
    struct ks_msg_lease m = { .lease = 1,
                              .block_id = 7,
                              .opens = 1,
                              .closes = 1,
                              .n = 2,
                              .cells = { { 1, 1, 0 }, { 0, 1, 0 } } };
    struct bench b;
    bench_open(&b, "ok_a print", 1, NULL);
    bench_lease(&b, &m);
    bench_run(&b);
    assert_string_equal(ks_buf_text(&b.log),
                        OPEN "output print a1 70700 kept 65536\n" DONE(print) DONE(ok_a) CLOSE(2));
    bench_close(&b);
}

/* ---- deaths ---- */

/* A sanitizer reserves terabytes of address space, which has no cap then. */
#if defined(KSWEEP_SANITIZED)
static const char at_cap[] = "crashed(11)";
#else
static const char at_cap[] = "out_of_memory";
#endif

static void test_deaths_that_repeat(void **state)
{
    (void)state;
    static const struct {
        const char *instance, *outcome;
    } rows[] = {
        { "crash", "crashed(11)" },
        { "abort", "crashed(6)" },
        { "exit_0", "exited(0)" },
        { "exit_3", "exited(3)" },
        { "hang", "timeout" },
        { "garbage", "worker_lost" },
        { "close", "worker_lost" },
        { "nonce", "worker_lost" },
        { "seq", "worker_lost" },
        { "other", "worker_lost" },
        { "mem", at_cap },
        { "exit_97", "exited(97)" },
        { "exit_90", "exited(90)" }, /* what the worker itself says where no kernel runs */
        { "exit_91", "exited(91)" },
        { "lost", "worker_lost" },
        { "scribble", "crashed(11) denied_calls" },
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const char *n = rows[i].instance, *o = rows[i].outcome;
        char names[64], want[512];
        snprintf(names, sizeof(names), "ok_a %s ok_b ok_c", n);
        snprintf(want, sizeof(want),
                 OPEN DONE(ok_a) "canary passed\nstart %s a2 retry\ndone %s a1 %s\n"
                                 "done %s a2 %s\n" DONE(ok_b) DONE(ok_c) CLOSE(4),
                 n, n, o, n, o);
        struct row row = { n, names, NULL, 0, want, 3, 2 };
        run_row(&row, "host");
    }
}

static void test_deaths_and_retries(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "no retry", "ok_a crash ok_b", NULL, -1,
          OPEN DONE(ok_a) "done crash a1 crashed(11)\ncanary passed\n" DONE(ok_b) CLOSE(3), 3, 1 },
        { "two retries", "ok_a crash ok_b", NULL, 2,
          OPEN DONE(ok_a) "canary passed\nstart crash a2 retry\ndone crash a1 crashed(11)\n"
                          "start crash a3 retry\ndone crash a2 crashed(11)\n"
                          "done crash a3 crashed(11)\n" DONE(ok_b) CLOSE(3),
          4, 3 },
        { "it was the last", "ok_a crash", NULL, 0,
          OPEN DONE(ok_a) "canary passed\nstart crash a2 retry\ndone crash a1 crashed(11)\n"
                          "done crash a2 crashed(11)\n" CLOSE(2),
          3, 2 },
        { "one after another", "ok_a crash abort ok_b", NULL, 0,
          OPEN DONE(ok_a) "canary passed\nstart crash a2 retry\ndone crash a1 crashed(11)\n"
                          "done crash a2 crashed(11)\n"
                          "canary passed\nstart abort a2 retry\ndone abort a1 crashed(6)\n"
                          "done abort a2 crashed(6)\n" DONE(ok_b) CLOSE(4),
          5, 4 },
    };
    run_rows(rows, N_ROWS(rows));
}

/* ---- suspects ---- */

static void test_suspects(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "nobody is convicted", "ok_a ok_b flaky ok_c", NULL, 0,
          OPEN DONE(ok_a) DONE(ok_b) "canary passed\nstart flaky a2 retry\n"
                                     "done flaky a1 crashed(11)\ndone flaky a2 ok\n"
                                     "start ok_a a2 suspect\ndone ok_a a2 ok suspect\n"
                                     "start ok_b a2 suspect\ndone ok_b a2 ok suspect\n" DONE(ok_c)
                                         CLOSE(4),
          5, 1 },
        { "a suspect is killed from outside", "ok_a shot flaky ok_c", NULL, 0,
          OPEN DONE(ok_a) DONE(shot) "canary passed\nstart flaky a2 retry\n"
                                     "done flaky a1 crashed(11)\ndone flaky a2 ok\n"
                                     "start ok_a a2 suspect\ndone ok_a a2 ok suspect\n"
                                     "start shot a2 suspect\ndone shot a2 ok suspect\n" DONE(ok_c)
                                         CLOSE(4),
          6, 2 },
        { "a sentinel is damaged", "ok_a poison ok_b victim ok_c", NULL, 0,
          OPEN DONE(ok_a) DONE(poison) DONE(
              ok_b) "canary passed\nstart victim a2 retry\ndone victim a1 crashed(11)\n"
                    "done victim a2 ok\ncontrol ok_a a2 ok\nstart poison a2 suspect\n"
                    "done poison a2 crashed(0) heap intermittent\ncontrol ok_b a2 ok\n" DONE(ok_c)
                        CLOSE(5),
          6, 1 },
        { "the allocator aborts", "ok_a venom victim", NULL, 0,
          OPEN DONE(ok_a)
              DONE(venom) "canary passed\nstart victim a2 retry\ndone victim a1 crashed(11)\n"
                          "done victim a2 ok\ncontrol ok_a a2 ok\nstart venom a2 suspect\n"
                          "done venom a2 crashed(6) heap intermittent\n" CLOSE(3),
          5, 2 },
        { "dead between two cells", "ok_a between ok_b ok_c", NULL, 0,
          OPEN DONE(ok_a) DONE(between) "canary passed\nstart ok_a a2 suspect\n"
                                        "done ok_a a2 ok suspect\nstart between a2 suspect\n"
                                        "done between a2 ok suspect\n" DONE(ok_b) DONE(ok_c)
                                            CLOSE(4),
          5, 1 },
        { "stopped between two cells", "ok_a pause ok_b ok_c", NULL, 0,
          OPEN DONE(ok_a) DONE(pause) "canary passed\nstart ok_a a2 suspect\n"
                                      "done ok_a a2 ok suspect\nstart pause a2 suspect\n"
                                      "done pause a2 ok suspect\n" DONE(ok_b) DONE(ok_c) CLOSE(4),
          5, 1 },
        { "attempts of contaminated suspects", "ok_a noisypoison victim", NULL, 0,
          OPEN DONE(ok_a) "start noisypoison a2 noise\ndone noisypoison a1 ok contaminated\n"
                          "canary passed\nstart victim a2 retry\ndone victim a1 crashed(11)\n"
                          "done victim a2 ok\ncontrol ok_a a2 ok\n"
                          "start noisypoison a3 suspect\ndone noisypoison a3 crashed(0) heap "
                          "intermittent\ndone noisypoison a2 ok\n" CLOSE(4),
          5, 1 },
    };
    run_rows(rows, N_ROWS(rows));
}

/* ---- whose doing it was ---- */

static void test_reported_then_ended_badly(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "closed the requests", "ok_a unread ok_b", NULL, 0,
          OPEN DONE(ok_a) DONE(
              unread) "canary passed\ncontrol ok_a a2 ok\n"
                      "start unread a2 suspect\ndone unread a2 worker_lost intermittent\n" DONE(
                          ok_b) CLOSE(3),
          5, 2 },
        { "seen at the exit only", "ok_a late", NULL, 0,
          OPEN DONE(ok_a) DONE(late) "anchor ok_a ok\noutput ok_a a1 29 kept 29\ncanary passed\n"
                                     "output late a2 29 kept 29\ncontrol ok_a a2 ok\n"
                                     "start late a2 suspect\n"
                                     "done late a2 crashed(6) heap intermittent\n"
                                     "block 7 close ok_a n2\nend 1\n",
          4, 2 },
        { "it dies alone, at its exit", "ok_a late crash", NULL, -1,
          OPEN DONE(ok_a) DONE(late) "done crash a1 crashed(11)\ncanary passed\n" CLOSE(3), 3, 1 },
        { "left an exit handler", "ok_a lateexit", NULL, 0,
          OPEN DONE(ok_a) DONE(lateexit) "anchor ok_a ok\ncanary passed\ncontrol ok_a a2 ok\n"
                                         "start lateexit a2 suspect\n"
                                         "done lateexit a2 exited(3) intermittent\n"
                                         "block 7 close ok_a n2\nend 1\n",
          4, 2 },
        { "left an exit handler that aborts", "ok_a lateabort", NULL, 0,
          OPEN DONE(ok_a) DONE(lateabort) "anchor ok_a ok\ncanary passed\ncontrol ok_a a2 ok\n"
                                          "start lateabort a2 suspect\n"
                                          "done lateabort a2 crashed(6) intermittent\n"
                                          "block 7 close ok_a n2\nend 1\n",
          4, 2 },
    };
    run_rows(rows, N_ROWS(rows));
}

/* No memory is left because of a cell before, or its data was overwritten: the one that met it is
 * run once more, alone. */
static void test_doubt(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "another one's doing", "ok_a hoard needy ok_b", NULL, 0,
          OPEN DONE(ok_a) DONE(hoard) "start needy a2 retry\ndone needy a1 out_of_memory\n"
                                      "done needy a2 ok\n" DONE(ok_b) CLOSE(4),
          3, 0 },
        { "its own", "ok_a greedy ok_b", NULL, 0,
          OPEN DONE(ok_a) "start greedy a2 retry\ndone greedy a1 out_of_memory\n"
                          "done greedy a2 out_of_memory\n" DONE(ok_b) CLOSE(3),
          3, 0 },
        { "a launch that fails", "refused ok_a refused_b", NULL, 0,
          "anchor refused launch_failed\n" OPEN "start refused a2 retry\n"
          "done refused a1 launch_failed\ndone refused a2 launch_failed\n" DONE(
              ok_a) "start refused_b a2 retry\n"
                    "done refused_b a1 launch_failed\ndone refused_b a2 launch_failed\n" CLOSE(3),
          5, 0 },
        { "wrong behind others only", "ok_a hoard misled ok_b", NULL, 0,
          OPEN DONE(ok_a) DONE(hoard) "start misled a2 retry\n"
                                      "done misled a1 wrong_result intermittent\n"
                                      "done misled a2 ok\nstart hoard a2 suspect\n"
                                      "done hoard a2 ok suspect\n" DONE(ok_b) CLOSE(4),
          4, 0 },
        { "wrong behind itself only", "ok_a noisywrong", NULL, 0,
          OPEN DONE(ok_a) "start noisywrong a2 noise\ndone noisywrong a1 ok contaminated\n"
                          "start noisywrong a3 retry\n"
                          "done noisywrong a2 wrong_result intermittent\n"
                          "done noisywrong a3 ok\n" CLOSE(3),
          3, 0 },
        { "wrong in another way", "ok_a hoard stray ok_b", NULL, 0,
          OPEN DONE(ok_a) DONE(hoard) "start stray a2 retry\ndone stray a1 out_of_bounds\n"
                                      "done stray a2 wrong_result\n" DONE(ok_b) CLOSE(4),
          3, 0 },
        { "wrong without anybody before it", "wrong", NULL, 0,
          "anchor wrong wrong_result\nblock 7 open - n0\nstart wrong a2 retry\n"
          "done wrong a1 wrong_result\ndone wrong a2 wrong_result\nblock 7 close - n1\nend 1\n",
          2, 0 },
        { "no retries", "ok_a hoard needy", NULL, -1,
          OPEN DONE(ok_a) DONE(hoard) "done needy a1 out_of_memory\n" CLOSE(3), 1, 0 },
        { "times that are not to be trusted", "ok_a doubted ok_b", NULL, -1,
          OPEN DONE(ok_a) "start doubted a2 retry\ndone doubted a1 untrusted\n"
                          "done doubted a2 untrusted\n" DONE(ok_b) CLOSE(3),
          3, 0 },
        { "times that were noise", "ok_a misjudged ok_b", NULL, 0,
          OPEN DONE(ok_a) "start misjudged a2 retry\ndone misjudged a1 untrusted\n"
                          "done misjudged a2 ok\n" DONE(ok_b) CLOSE(3),
          3, 0 },
        { "an anchor's times that were noise", "misjudged ok_a", NULL, 0,
          "anchor misjudged untrusted\n"
          "anchor misjudged ok\nblock 7 open misjudged n0\n" DONE(misjudged)
              DONE(ok_a) "anchor misjudged ok\nblock 7 close misjudged n2\nend 1\n",
          1, 0 },
    };
    run_rows(rows, N_ROWS(rows));
}

/* A GPU that a kernel has wronged is lost to the worker: it ends, and nobody is suspected. The next
 * one tests the device before it is given a cell. */
static void test_lost_devices(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "alone, too", "ok_a sticky ok_b", NULL, 0,
          OPEN DONE(ok_a) "canary passed\nstart sticky a2 retry\ndone sticky a1 launch_failed\n"
                          "done sticky a2 launch_failed\ncanary passed\n" DONE(ok_b) CLOSE(3),
          4, ANY },
        { "behind others only", "ok_a unlucky ok_b", NULL, 0,
          OPEN DONE(ok_a) "canary passed\nstart unlucky a2 retry\ndone unlucky a1 launch_failed\n"
                          "done unlucky a2 ok\n" DONE(ok_b) CLOSE(3),
          3, 0 },
        { "no retries", "ok_a sticky ok_b", NULL, -1,
          OPEN DONE(ok_a) "done sticky a1 launch_failed\ncanary passed\n" DONE(ok_b) CLOSE(3), 3,
          1 },
        { "the anchor", "sticky ok_a", NULL, -1,
          "anchor sticky launch_failed\ncanary passed\n" OPEN
          "done sticky a1 launch_failed\ncanary passed\n" DONE(ok_a) CLOSE(2),
          5, 2 },
        { "for ever", "ok_a sticky ok_b", "wrong", -1,
          OPEN DONE(ok_a) "done sticky a1 launch_failed\nevent worker_death\nevent quarantine\n"
                          "end 1\n",
          3, ANY },
        { "a status that a kernel has of its own", "ok_a exit_93 ok_b", NULL, -1,
          OPEN DONE(ok_a) "done exit_93 a1 exited(93)\ncanary passed\n" DONE(ok_b) CLOSE(3), 3, 1 },
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        run_row(&rows[i], i % 2 ? "cuda" : "hip");
}

/* Threads or timers left behind: the worker ends, in order, and nobody is suspected; like every
 * untrusted cell it is tried once more, alone. */
static void test_left_behind(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "by one that is blamed", "ok_a thread ok_b", NULL, 0,
          OPEN DONE(ok_a) "start thread a2 retry\ndone thread a1 untrusted\n"
                          "done thread a2 untrusted\n" DONE(ok_b) CLOSE(3),
          3, 0 },
        { "by one whose runtime may", "ok_a pool ok_b", NULL, 0,
          OPEN DONE(ok_a) DONE(pool) DONE(ok_b) CLOSE(3), 2, 0 },
        { "by the anchor", "pool_a ok_b", NULL, 0,
          "anchor pool_a ok\nblock 7 open pool_a n0\ndone pool_a a1 ok\n" DONE(
              ok_b) "anchor pool_a ok\nblock 7 close pool_a n2\nend 1\n",
          3, 0 },
        { "by one that is retried", "ok_a hoard misled ok_b pool", NULL, 0,
          OPEN DONE(ok_a) DONE(hoard) "start misled a2 retry\n"
                                      "done misled a1 wrong_result intermittent\n"
                                      "done misled a2 ok\nstart hoard a2 suspect\n"
                                      "done hoard a2 ok suspect\n" DONE(ok_b) DONE(pool) CLOSE(5),
          5, 0 },
        { "a status that a kernel has of its own", "ok_a exit_94 ok_b", NULL, -1,
          OPEN DONE(ok_a) "done exit_94 a1 exited(94)\ncanary passed\n" DONE(ok_b) CLOSE(3), 3, 1 },
    };
    run_rows(rows, N_ROWS(rows));
}

/* What a GPU's worker has resident is counted, not what its runtime reserves. */
static void test_memory_of_gpus(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "ok_a vast fat ok_b", 1, NULL);
    b.grid->job.isolate.retries = 0;
    b.grid->job.isolate.memory_mib = 256; /* a sanitizer has a part of it resident */
    while (strcmp(ks_backend_names[b.grid->job.device.backend], "hip") != 0)
        b.grid->job.device.backend++;
    snprintf(b.grid->families[0].backend, sizeof(b.grid->families[0].backend), "gpu");
    bench_lease_all(&b, 1, 7, 0);
    bench_run(&b);
    assert_string_equal(ks_buf_text(&b.log),
                        OPEN DONE(ok_a) DONE(vast) "done fat a1 out_of_memory\n"
                                                   "canary passed\n" DONE(ok_b) CLOSE(4));
    bench_close(&b);
}

/* The record of a death holds what is the cell's own, and nothing of the cells before it. */
static void test_evidence(void **state)
{
    (void)state;
    struct ks_msg_lease m = { .lease = 1, .block_id = 7, .opens = 1, .closes = 1, .n = 5 };
    struct bench b;
    bench_open(&b, "ok_a denied say crash ok_b", 1, NULL);
    b.grid->job.isolate.retries = 0;
    for (uint32_t i = 0; i < m.n; i++)
        m.cells[i].i_instance = i, m.cells[i].attempt = 1;
    bench_lease(&b, &m);
    bench_run(&b);
    assert_string_equal(
        ks_buf_text(&b.log),
        OPEN DONE(ok_a) "done denied a1 ok denied_calls\n"
                        "output say a1 3 kept 3\n" DONE(
                            say) "done crash a1 crashed(11)\ncanary passed\n" DONE(ok_b) CLOSE(5));
    assert_int_equal(b.death->outcome, KS_O_CRASHED);
    assert_int_equal(b.death->position, 4); /* the anchor is 0 */
    assert_int_equal(b.death->n_denied, 0);
    assert_int_equal(b.death->n_tail, 0);
    bench_close(&b);
}

/* ---- the canary ---- */

static void test_canary(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "wrong once", "ok_a crash ok_b", "wrong_once", 0,
          OPEN DONE(ok_a) "event worker_death\ncanary passed\nstart crash a2 retry\n"
                          "done crash a1 crashed(11)\ndone crash a2 crashed(11)\n" DONE(ok_b)
                              CLOSE(3),
          4, ANY },
        { "dead once", "ok_a crash ok_b", "dead_once", 0,
          OPEN DONE(ok_a) "event worker_death\ncanary passed\nstart crash a2 retry\n"
                          "done crash a1 crashed(11)\ndone crash a2 crashed(11)\n" DONE(ok_b)
                              CLOSE(3),
          4, 3 },
        { "wrong once, and the cell lives", "ok_a flaky", "wrong_once", 0,
          OPEN DONE(ok_a) "event worker_death\ncanary passed\nstart flaky a2 retry\n"
                          "done flaky a1 crashed(11)\ndone flaky a2 ok\n"
                          "start ok_a a2 suspect\ndone ok_a a2 ok suspect\n" CLOSE(2),
          5, ANY },
        { "what it said meanwhile is not believed", "ok_a flip ok_b", "wrong_once", 0,
          OPEN DONE(ok_a) "event worker_death\ncanary passed\nstart flip a2 retry\n"
                          "done flip a1 crashed(11)\ndone flip a2 crashed(11)\n" DONE(ok_b)
                              CLOSE(3),
          4, ANY },
        { "wrong twice", "ok_a crash ok_b", "wrong", 0,
          OPEN DONE(ok_a) "event worker_death\ndone crash a1 crashed(11)\n"
                          "event quarantine\nend 1\n",
          3, ANY },
        { "dead twice", "ok_a crash ok_b", "dead", 0,
          OPEN DONE(ok_a) "event worker_death\ndone crash a1 crashed(11)\n"
                          "event quarantine\nend 1\n",
          3, 3 },
    };
    run_rows(rows, N_ROWS(rows));
}

static void test_quarantine_is_final(void **state)
{
    (void)state;
    const char *why = NULL;
    struct bench b;
    bench_open(&b, "ok_a crash", 2, "dead_loud");
    bench_lease_all(&b, 1, 7, 0);
    bench_run(&b);
    assert_true(ks_agent_is_broken(b.agent, &why));
    assert_string_equal(why, "the canary failed twice: the canary is silent");
    ks_buf_clear(&b.log);
    bench_lease_all(&b, 2, 8, 1); /* on its way when rank 0 did not know yet */
    bench_run(&b);
    assert_string_equal(ks_buf_text(&b.log), "end 2\n");
    assert_true(ks_agent_is_idle(b.agent));
    bench_close(&b);
}

/* ---- anchors ---- */

static void test_anchors(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "the first that works", "wrong crash ok_a", NULL, -1,
          "anchor wrong wrong_result\nanchor crash crashed(11)\ncanary passed\n" OPEN
          "done wrong a1 wrong_result\ndone crash a1 crashed(11)\ncanary passed\n" DONE(ok_a)
              CLOSE(3),
          5, 2 },
        { "refusing one is no failure", "refuse_a refuse_b refuse_c refuse_d ok_a", NULL, 0,
          "anchor refuse_a unsupported\nanchor refuse_b unsupported\n"
          "anchor refuse_c unsupported\nanchor refuse_d unsupported\n" OPEN
          "done refuse_a a1 unsupported\ndone refuse_b a1 unsupported\n"
          "done refuse_c a1 unsupported\ndone refuse_d a1 unsupported\n" DONE(ok_a) CLOSE(5),
          1, 0 },
        { "after three failures without", "wrong_a wrong_b wrong_c ok_a", NULL, 0,
          "anchor wrong_a wrong_result\nanchor wrong_b wrong_result\n"
          "anchor wrong_c wrong_result\nblock 7 open - n0\n"
          "start wrong_a a2 retry\ndone wrong_a a1 wrong_result\ndone wrong_a a2 wrong_result\n"
          "done wrong_b a1 wrong_result\n" /* the first of its worker */
          "start wrong_c a2 retry\ndone wrong_c a1 wrong_result\ndone wrong_c a2 "
          "wrong_result\n" DONE(ok_a) "block 7 close - n4\nend 1\n",
          5, 0 },
    };
    run_rows(rows, N_ROWS(rows));
}

/* A block is compared with its anchor: a disturbed one is measured again, at both ends. */
static void test_noisy_anchors(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "once", "noisy ok_a", NULL, 0,
          "anchor noisy ok contaminated\nanchor noisy ok\nblock 7 open noisy n0\n"
          "start noisy a2 noise\ndone noisy a1 ok contaminated\n" DONE(
              ok_a) "done noisy a2 ok\n"
                    "anchor noisy ok contaminated\nanchor noisy ok\nblock 7 close noisy n3\nend "
                    "1\n",
          1, 0 },
        { "for ever", "noisyall", NULL, 0,
          "anchor noisyall ok contaminated\nanchor noisyall ok contaminated\n"
          "anchor noisyall ok contaminated\nblock 7 open noisyall n0\n"
          "start noisyall a2 noise\ndone noisyall a1 ok contaminated\n"
          "start noisyall a3 noise\ndone noisyall a2 ok contaminated\n"
          "done noisyall a3 ok contaminated\n"
          "anchor noisyall ok contaminated\nanchor noisyall ok contaminated\n"
          "anchor noisyall ok contaminated\nblock 7 close noisyall n3\nend 1\n",
          1, 0 },
    };
    run_rows(rows, N_ROWS(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_deaths_that_repeat),
        cmocka_unit_test(test_deaths_and_retries),
        cmocka_unit_test(test_suspects),
        cmocka_unit_test(test_canary),
        cmocka_unit_test(test_quarantine_is_final),
        cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_noisy_anchors),
        cmocka_unit_test(test_reported_then_ended_badly),
        cmocka_unit_test(test_doubt),
        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_lost_devices),
        cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_memory_of_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
