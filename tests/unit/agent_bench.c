/* SPDX-License-Identifier: MIT */
/* agent_bench.c - drives an agent with a real warden and the fake worker until leases are over */
#include "agent_bench.h"

#include "base/clock.h"
#include "spawn_util.h"

#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 20000000000ull

static int emit(void *ctx, uint16_t type, const void *body, size_t n, struct ks_err *err)
{
    struct bench *b = ctx;
    (void)err;
    if (type == KS_F_DONE) {
        static struct ks_record r;
        b->n_done++;
        assert_int_equal(ks_record_decode(body, n, &r, NULL, NULL), 0);
        if (r.outcome == KS_O_OK && r.role != KS_ROLE_CANARY) {
            assert_true(r.disturbance >= 0);
            assert_int_equal(r.disturbance > 1, (r.outcome_flags & KS_FL_CONTAMINATED) != 0);
        }
        if (ks_outcome_is_abnormal(r.outcome))
            *b->death = r;
        if (r.role == KS_ROLE_CELL && r.n_visit)
            b->n_visit = r.n_visit;
    }
    kit_line(b->grid, type, body, n, &b->log);
    return 0;
}

void bench_open_with(struct bench *b, const char *instances, uint32_t n_problems,
                     const char *worker)
{
    struct ks_err err;
    memset(b, 0, sizeof(*b));
    signal(SIGPIPE, SIG_IGN);
    b->n_fds = count_fds(getpid());
    temp_dir_make(b->dir, sizeof(b->dir));
    setenv("FAKE_DIR", b->dir, 1); /* the warden hands its environment on */
    b->grid = kit_grid(instances, n_problems);
    b->death = calloc(1, sizeof(*b->death));
    assert_non_null(b->death);
    ks_buf_init(&b->log);
    if (ks_warden_start(&b->warden, &err) < 0)
        fail_msg("%s", err.text);
    struct ks_agent_config c = {
        .grid = b->grid,
        .warden = b->warden,
        .worker_path = worker,
        .rank = 2,
        .device_id = 55,
        .noise = { .switches_per_s = 1e9, .stolen = 1, .canary = 0.5 },
        .emit = emit,
        .ctx = b,
    };
    assert_int_equal(ks_agent_create(&c, &b->agent, &err), 0);
}

void bench_open(struct bench *b, const char *instances, uint32_t n_problems, const char *canary)
{
    if (canary)
        setenv("FAKE_CANARY", canary, 1);
    else
        unsetenv("FAKE_CANARY");
    bench_open_with(b, instances, n_problems, KS_BINARY_DIR "/bin/fake_worker");
}

void bench_lease(struct bench *b, const struct ks_msg_lease *m)
{
    assert_int_equal(ks_agent_lease(b->agent, m, NULL), 0);
}

void bench_lease_all(struct bench *b, uint64_t lease, uint64_t block, uint32_t i_problem)
{
    struct ks_msg_lease m = { .lease = lease,
                              .block_id = block,
                              .i_problem = i_problem,
                              .opens = 1,
                              .closes = 1,
                              .n = b->grid->n_instances };
    for (uint32_t i = 0; i < m.n; i++) {
        m.cells[i].i_instance = i;
        m.cells[i].attempt = 1;
    }
    bench_lease(b, &m);
}

void bench_turn(struct bench *b)
{
    struct pollfd p = { .fd = ks_warden_fd(b->warden), .events = POLLIN };
    struct ks_child_end end;
    struct ks_err err = { 0 };
    int rc = ks_agent_step(b->agent, &err);
    while (rc == 0 && ks_warden_next(b->warden, &end, &err) == 1) {
        rc = ks_agent_child_ended(b->agent, &end, &err);
        assert_int_not_equal(rc, 0); /* there are no other children */
        rc = rc < 0 ? rc : 0;
    }
    if (rc < 0)
        fail_msg("%s", err.text);
    if (!b->holds_acks)
        ks_agent_acked(b->agent, b->n_done);
    (void)poll(&p, 1, 1);
}

static bool is_over(const struct bench *b)
{
    return !ks_agent_n_leases(b->agent);
}

void bench_run_until(struct bench *b, bool (*is_enough)(const struct bench *b))
{
    uint64_t limit = ks_now_ns() + PATIENCE_NS;
    while (!is_enough(b)) {
        if (ks_now_ns() > limit)
            fail_msg("nothing more happens after\n%s", ks_buf_text(&b->log));
        bench_turn(b);
    }
}

void bench_run(struct bench *b)
{
    bench_run_until(b, is_over);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void bench_close(struct bench *b)
{
    ks_agent_destroy(b->agent);
    ks_warden_stop(b->warden);
    kit_grid_free(b->grid);
    free(b->death);
    ks_buf_release(&b->log);
    assert_int_equal(nftw(b->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(count_fds(getpid()), b->n_fds);
}
