/* SPDX-License-Identifier: MIT */
/* test_rank.c - a rank on a virtual device, with a real warden and the fake worker */
/* src/mpi/net.c is replaced by what rank 0 would see. */
#include "agent_kit.h"

#include "base/clock.h"
#include "mpi/msg.h"
#include "mpi/rank.h"
#include "record/frame.h"
#include "record/record.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 20000000000ull
#define LOST_NS     3600000000000ull

struct ks_net {
    const struct ks_grid *grid;
    struct ks_buf log; /* lines of agent_kit.h, and the messages below */
    uint32_t n_beats;
};
struct bench {
    struct ks_net net;
    struct ks_grid *grid;
    struct ks_warden *warden;
    struct ks_rank *rank;
    struct ks_log to_nowhere;
    struct ks_rank_seat seat;
    char dir[TEMP_DIR_MAX];
};

uint32_t ks_net_rank(const struct ks_net *n)
{
    (void)n;
    return 3;
}

uint32_t ks_net_size(const struct ks_net *n)
{
    (void)n;
    return 4;
}

uint32_t ks_net_local_rank(const struct ks_net *n)
{
    (void)n;
    return 0;
}

uint32_t ks_net_n_local(const struct ks_net *n)
{
    (void)n;
    return 1;
}

const struct ks_bind_card *ks_net_cards(const struct ks_net *n)
{
    (void)n;
    return NULL;
}

const char *ks_net_text(const struct ks_net *n)
{
    (void)n;
    return "none";
}

bool ks_net_is_flushed(struct ks_net *n)
{
    (void)n;
    return true;
}

static void put_numbers(struct ks_net *n, const char *what, const void *body, size_t len)
{
    uint64_t a = 0, b = 0;
    assert_int_equal(ks_msg_numbers_get(body, len, &a, &b, NULL), 0);
    ks_buf_printf(&n->log, "%s %u %u\n", what, (unsigned)a, (unsigned)b);
}

int ks_net_send(struct ks_net *n, uint32_t to, uint16_t type, const void *body, size_t len,
                struct ks_err *err)
{
    struct ks_msg_hello h;
    (void)err;
    assert_int_equal(to, 0);
    switch (type) {
    case KS_F_MSG_HELLO:
        assert_int_equal(ks_msg_hello_get(body, len, &h, NULL), 0);
        ks_buf_printf(&n->log, "hello %u measures %u jobs %u\n", h.rank, h.measures, h.n_jobs > 0);
        assert_true(h.grid_digest == n->grid->digest && h.host[0] && h.pid == getpid());
        return 0;
    case KS_F_HOST:
    case KS_F_DEVICE:
        ks_buf_printf(&n->log, "%s\n", ks_frame_type_name(type));
        return 0;
    case KS_F_MSG_BUILD_END:
        put_numbers(n, "built", body, len);
        return 0;
    case KS_F_MSG_BYE:
        put_numbers(n, "bye", body, len);
        return 0;
    case KS_F_MSG_BEAT: /* as time goes by */
        n->n_beats++;
        return 0;
    default:
        kit_line(n->grid, type, body, len, &n->log);
        return 0;
    }
}

static void begin_on(struct bench *b, const char *instances, const char *unique, uint64_t nodes,
                     uint64_t lost_after_ns)
{
    struct ks_err err = { 0 };
    memset(b, 0, sizeof(*b));
    signal(SIGPIPE, SIG_IGN);
    temp_dir_make(b->dir, sizeof(b->dir));
    setenv("FAKE_DIR", b->dir, 1);
    setenv("KSWEEP_WORKER", KS_BINARY_DIR "/bin/fake_worker", 1);
    unsetenv("FAKE_CANARY");
    b->grid = kit_grid(instances, 1);
    while (strcmp(ks_backend_names[b->grid->job.device.backend], "sim") != 0)
        b->grid->job.device.backend++;
    b->net.grid = b->grid;
    ks_buf_init(&b->net.log);
    b->to_nowhere = (struct ks_log){ .to = fopen("/dev/null", "w"), .rank = 3 };
    assert_non_null(b->to_nowhere.to);
    assert_int_equal(ks_warden_start(&b->warden, &err), 0);
    b->seat.bind = (struct ks_bind_seat){ .seat = KS_SEAT_MEASURE, .i_device = -1, .nodes = nodes };
    snprintf(b->seat.device.unique, sizeof(b->seat.device.unique), "%s", unique);
    struct ks_rank_config c = { .grid = b->grid,
                                .net = &b->net,
                                .warden = b->warden,
                                .log = &b->to_nowhere,
                                .seat = &b->seat,
                                .lost_after_ns = lost_after_ns };
    if (ks_rank_create(&c, &b->rank, &err) < 0)
        fail_msg("%s", err.text);
    assert_null(ks_rank_build(b->rank));
}

static void begin(struct bench *b, const char *instances)
{
    begin_on(b, instances, "", 0, LOST_NS);
}

static void end(struct bench *b)
{
    ks_rank_destroy(b->rank);
    ks_warden_stop(b->warden);
    kit_grid_free(b->grid);
    ks_buf_release(&b->net.log);
    fclose(b->to_nowhere.to);
    assert_int_equal(rmdir(b->dir), 0);
}

static bool has(struct bench *b, const char *text)
{
    return strstr(ks_buf_text(&b->net.log), text) != NULL;
}

/* Steps until rank 0 has heard this. */
static void run_to(struct bench *b, const char *text)
{
    struct pollfd p = { .fd = ks_warden_fd(b->warden), .events = POLLIN };
    uint64_t limit = ks_now_ns() + PATIENCE_NS;
    struct ks_err err = { 0 };
    while (!has(b, text)) {
        if (ks_now_ns() > limit)
            fail_msg("'%s' does not come after\n%s", text, ks_buf_text(&b->net.log));
        if (ks_rank_step(b->rank, ks_now_ns(), &err) < 0)
            fail_msg("%s", err.text);
        (void)poll(&p, 1, 1);
    }
}

static int tell(struct bench *b, uint16_t type, uint64_t x, uint64_t y)
{
    struct ks_err err;
    struct ks_buf body;
    ks_buf_init(&body);
    ks_msg_numbers_put(x, y, &body);
    struct ks_frame f = { .type = type, .body = body.data, .n = body.len };
    int rc = ks_rank_frame(b->rank, &f, &err);
    ks_buf_release(&body);
    return rc;
}

static int lease(struct bench *b, uint64_t id)
{
    struct ks_msg_lease m = {
        .lease = id, .block_id = id, .opens = 1, .closes = 1, .n = b->grid->n_instances
    };
    struct ks_err err;
    struct ks_buf body;
    for (uint32_t i = 0; i < m.n; i++) {
        m.cells[i].i_instance = i;
        m.cells[i].attempt = 1;
    }
    ks_buf_init(&body);
    ks_msg_lease_put(&m, &body);
    struct ks_frame f = { .type = KS_F_MSG_LEASE, .body = body.data, .n = body.len };
    int rc = ks_rank_frame(b->rank, &f, &err);
    ks_buf_release(&body);
    return rc;
}

static void test_a_life(void **state)
{
    (void)state;
    struct bench b;
    begin(&b, "ok_a ok_b");
    run_to(&b, "built 0 0\n");
    assert_string_equal(ks_buf_text(&b.net.log),
                        "hello 3 measures 1 jobs 1\nhost\ndevice\nbuilt 0 0\n");
    ks_buf_clear(&b.net.log);
    assert_int_equal(tell(&b, KS_F_MSG_BUILD, 1, 0), 0); /* there is nothing to build: an answer */
    run_to(&b, "built 0 0\n");
    ks_buf_clear(&b.net.log);
    assert_int_equal(lease(&b, 7), 0);
    run_to(&b, "end 7\n");
    assert_string_equal(ks_buf_text(&b.net.log),
                        "anchor ok_a ok\nblock 7 open ok_a n0\ndone ok_a a1 ok\ndone ok_b a1 ok\n"
                        "anchor ok_a ok\nblock 7 close ok_a n2\nend 7\n");
    assert_int_equal(tell(&b, KS_F_MSG_ACK, 4, 0), 0);
    assert_int_equal(tell(&b, KS_F_MSG_BEAT, 0, 0), 0);
    assert_int_equal(tell(&b, KS_F_DONE, 0, 0), KS_EPROTO);
    assert_false(ks_rank_is_over(b.rank));
    assert_int_equal(tell(&b, KS_F_MSG_DRAIN, 1, 0), 0);
    run_to(&b, "bye 0 0\n");
    assert_false(ks_rank_is_over(b.rank)); /* it would end rank 0, which still writes the results */
    assert_false(ks_rank_is_clean(b.rank));
    assert_int_equal(tell(&b, KS_F_MSG_DRAIN, 2, 0), 0);
    assert_true(ks_rank_is_over(b.rank));
    assert_true(ks_rank_is_clean(b.rank));
    assert_false(ks_rank_is_abandoned(b.rank));
    end(&b);
}

/* It finishes the cell in flight, gives the rest back, and says goodbye last. */
static void test_leaving_early(void **state)
{
    (void)state;
    struct bench b;
    begin(&b, "slow_a slow_b slow_c slow_d");
    assert_int_equal(lease(&b, 7), 0);
    run_to(&b, "done slow_a");
    assert_int_equal(tell(&b, KS_F_MSG_DRAIN, 1, 0), 0);
    run_to(&b, "bye 0 0\n");
    assert_true(has(&b, "end 7\n"));
    assert_false(has(&b, "done slow_d"));
    assert_false(ks_rank_is_over(b.rank));
    assert_int_equal(tell(&b, KS_F_MSG_DRAIN, 2, 1), 0);
    assert_true(ks_rank_is_over(b.rank));
    assert_false(ks_rank_is_clean(b.rank)); /* somebody was lost: no MPI_Finalize */
    end(&b);
}

/* It dies while it writes the results: the others wait for --lost-after, not for ever. */
static void test_rank_0_is_gone_last(void **state)
{
    (void)state;
    struct bench b;
    begin(&b, "ok_a");
    assert_int_equal(tell(&b, KS_F_MSG_DRAIN, 1, 0), 0);
    run_to(&b, "bye 0 0\n");
    const uint64_t now = ks_now_ns();
    assert_int_equal(ks_rank_step(b.rank, now + LOST_NS / 2, NULL), 0);
    assert_false(ks_rank_is_over(b.rank));
    assert_int_equal(ks_rank_step(b.rank, now + LOST_NS + LOST_NS / 2, NULL), 0);
    assert_true(ks_rank_is_over(b.rank));
    assert_false(ks_rank_is_clean(b.rank));     /* MPI_Finalize would wait for it */
    assert_false(ks_rank_is_abandoned(b.rank)); /* which is no failure of this rank */
    end(&b);
}

/* It was lost and comes back while rank 0 writes the results: its cells are others' by now. */
static void test_released_while_a_worker_measures(void **state)
{
    (void)state;
    struct bench b;
    begin(&b, "slow_a slow_b slow_c slow_d");
    assert_int_equal(lease(&b, 7), 0);
    run_to(&b, "done slow_a");
    assert_int_equal(tell(&b, KS_F_MSG_DRAIN, 2, 1), 0);
    assert_false(ks_rank_is_over(b.rank));
    run_to(&b, "bye 0 0\n");
    assert_false(has(&b, "done slow_b a1 ok"));
    assert_true(ks_rank_is_over(b.rank));
    end(&b);
}

static void test_a_broken_device(void **state)
{
    (void)state;
    struct bench b;
    setenv("FAKE_SETUP", "fail", 1);
    begin(&b, "ok_a ok_b");
    assert_int_equal(lease(&b, 7), 0);
    run_to(&b, "bye");
    unsetenv("FAKE_SETUP");
    assert_true(has(&b, "end 7\nevent quarantine\nbye 1 1\n"));
    assert_false(has(&b, "done"));
    ks_buf_clear(&b.net.log);
    assert_int_equal(lease(&b, 8), 0); /* it was on its way */
    run_to(&b, "end 8\n");
    assert_int_equal(tell(&b, KS_F_MSG_DRAIN, 1, 0), 0);
    run_to(&b, "bye 0 0\n");
    end(&b);
}

/* The fake worker does not say that it got this device: nothing is measured on another. */
static void test_another_device(void **state)
{
    (void)state;
    struct bench b;
    begin_on(&b, "ok_a ok_b", "GPU-1", 0, LOST_NS);
    assert_int_equal(lease(&b, 7), 0);
    run_to(&b, "bye");
    assert_true(has(&b, "end 7\nevent quarantine\nbye 1 0\n"));
    assert_false(has(&b, "done"));
    end(&b);
}

/* Nor that its memory is bound, as under a container's rules: said once, and no reason to stop. */
static void test_memory_from_anywhere(void **state)
{
    (void)state;
    struct bench b;
    begin_on(&b, "ok_a ok_b ok_c", "", 1, LOST_NS);
    b.grid->job.isolate.batch = 1; /* a worker each */
    assert_int_equal(lease(&b, 7), 0);
    run_to(&b, "end 7\n");
    assert_true(has(&b, "done ok_c a1 ok\n"));
    const char *said = strstr(ks_buf_text(&b.net.log), "event info\n");
    assert_non_null(said);
    assert_null(strstr(said + 1, "event info\n"));
    end(&b);
}

/* The warden is killed while a worker measures: the rank goes on watching. */
static void test_the_warden_dies(void **state)
{
    (void)state;
    struct bench b;
    begin(&b, "slow_a slow_b slow_c slow_d");
    assert_int_equal(lease(&b, 7), 0);
    run_to(&b, "done slow_a");
    assert_int_equal(kill(ks_warden_pid(b.warden), SIGKILL), 0);
    run_to(&b, "bye");
    assert_true(has(&b, "event warden_lost\nbye 1 0\n"));
    struct ks_pace pace = { .now_ns = ks_now_ns() };
    ks_rank_pace(b.rank, &pace);
    assert_int_equal(ks_rank_wait_fd(b.rank, &pace), -1);
    ks_buf_clear(&b.net.log);
    assert_int_equal(lease(&b, 8), 0);
    assert_int_equal(tell(&b, KS_F_MSG_BUILD, 1, 0), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ks_rank_step(b.rank, ks_now_ns(), NULL), 0);
    assert_string_equal(ks_buf_text(&b.net.log), "");
    assert_int_equal(tell(&b, KS_F_MSG_DRAIN, 1, 0), 0);
    run_to(&b, "bye 0 0\n");
    end(&b);
}

static void test_rank_0_falls_silent(void **state)
{
    (void)state;
    struct bench b;
    begin(&b, "ok_a");
    uint64_t now = ks_now_ns();
    for (uint32_t s = 0; s < 3; s += 2) { /* it looks less often where nothing happens */
        struct ks_pace pace = { .now_ns = now + s * 1000000000ull };
        ks_rank_pace(b.rank, &pace);
        assert_int_equal(pace.idle_ns, (s ? 10 : 5) * 1000000);
    }
    assert_int_equal(ks_rank_step(b.rank, now + LOST_NS / 2, NULL), 0);
    assert_false(ks_rank_is_abandoned(b.rank));
    ks_rank_was_away(b.rank, LOST_NS * 2); /* its own silence */
    assert_int_equal(ks_rank_step(b.rank, now + LOST_NS * 2, NULL), 0);
    assert_false(ks_rank_is_abandoned(b.rank));
    assert_int_equal(ks_rank_step(b.rank, now + LOST_NS * 4, NULL), 0);
    assert_true(ks_rank_is_abandoned(b.rank));
    end(&b);
}

/* Where silence is not borne for long, it is heard of often enough not to be missed. */
static void test_beats(void **state)
{
    (void)state;
    struct bench b;
    begin_on(&b, "ok_a", "", 0, 1000000000u);
    uint64_t now = ks_now_ns();
    for (uint32_t ms = 0; ms < 900; ms++)
        assert_int_equal(ks_rank_step(b.rank, now + ms * 1000000u, NULL), 0);
    assert_in_range(b.net.n_beats, 3, 5);
    end(&b);
}

static void *wait_for_the_end(void *lock)
{
    pthread_mutex_lock(lock);
    return NULL;
}

/* Where a core is to spare, all threads of the rank go there, and its warden. */
static void test_settling(void **state)
{
    cpu_set_t all, one, have;
    pthread_mutex_t lock;
    pthread_t thread;
    struct bench b;
    unsigned cpu = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) < 2)
        skip();
    begin(&b, "ok_a");
    pthread_mutex_init(&lock, NULL);
    pthread_mutex_lock(&lock);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_the_end, &lock), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    b.seat.bind.spare = one;
    assert_int_equal(tell(&b, KS_F_MSG_BEAT, 0, 0), 0); /* nobody measures yet */
    assert_int_equal(sched_getaffinity(0, sizeof(have), &have), 0);
    assert_true(CPU_EQUAL(&have, &all));
    assert_int_equal(tell(&b, KS_F_MSG_BEAT, 1, 0), 0);
    assert_int_equal(sched_getaffinity(0, sizeof(have), &have), 0);
    assert_true(CPU_EQUAL(&have, &one));
    assert_int_equal(pthread_getaffinity_np(thread, sizeof(have), &have), 0);
    assert_true(CPU_EQUAL(&have, &one));
    assert_int_equal(sched_getaffinity(ks_warden_pid(b.warden), sizeof(have), &have), 0);
    assert_true(CPU_EQUAL(&have, &one));
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&lock);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_life),
        cmocka_unit_test(test_leaving_early),
        cmocka_unit_test(test_rank_0_is_gone_last),
        cmocka_unit_test(test_released_while_a_worker_measures),
        cmocka_unit_test(test_a_broken_device),
        cmocka_unit_test(test_another_device),
        cmocka_unit_test(test_memory_from_anywhere),
        cmocka_unit_test(test_the_warden_dies),
        cmocka_unit_test(test_rank_0_falls_silent),
        cmocka_unit_test(test_beats),
        cmocka_unit_test(test_settling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
