/* SPDX-License-Identifier: MIT */
/* test_pace.c - when the loop of a rank turns next, and how often its bell is heard */
#include "mpi/bell.h"
#include "mpi/coord.h"
#include "mpi/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <unistd.h>

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define MS        1000000ull
#define NEVER     UINT64_MAX
#define NOW       (10000 * MS)

static void test_next(void **state)
{
    static const struct {
        const char *what;
        struct ks_pace p; /* now_ns and woke_ns are set below; due_ns is from then */
        uint64_t want_ms; /* from when the turn began, 2 ms ago */
    } rows[] = {
        { "idle", { .need_ns = NEVER, .due_ns = NEVER, .idle_ns = 5 * MS }, 7 },
        { "idle, whatever is due", { .need_ns = 0, .due_ns = 0, .idle_ns = 5 * MS }, 7 },
        { "idle, but busy", { .is_busy = true, .due_ns = NEVER, .idle_ns = 5 * MS }, 2 },
        { "many records",
          { .is_busy = true, .is_periodic = true, .due_ns = NEVER, .idle_ns = 5 * MS },
          5 },
        { "busy", { .is_busy = true, .is_quiet = true, .need_ns = NEVER, .due_ns = NEVER }, 2 },
        { "nothing is awaited", { .is_quiet = true, .need_ns = NEVER, .due_ns = NEVER }, 500 },
        { "records or acknowledgements are",
          { .is_quiet = true, .is_awaiting = true, .need_ns = NEVER, .due_ns = NEVER },
          300 },
        { "a heartbeat", { .is_quiet = true, .need_ns = NEVER, .due_ns = 400 * MS }, 400 },
        { "but not at once", { .is_quiet = true, .need_ns = NEVER, .due_ns = 100 * MS }, 300 },
        { "nor when it is late",
          { .is_quiet = true, .cell_ns = 90 * MS, .need_ns = NEVER, .due_ns = 0 },
          90 },
        { "a lease, in short cells",
          { .is_quiet = true, .cell_ns = 20 * MS, .need_ns = 98 * MS, .due_ns = NEVER },
          100 },
        { "a lease, once a cell",
          { .is_quiet = true, .cell_ns = 20 * MS, .need_ns = 0, .due_ns = NEVER },
          20 },
        { "very short cells",
          { .is_quiet = true, .cell_ns = MS, .need_ns = 0, .due_ns = NEVER },
          5 },
        { "long cells",
          { .is_quiet = true, .cell_ns = 9000 * MS, .need_ns = 0, .due_ns = NEVER },
          300 },
    };

    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct ks_pace p = rows[i].p;
        p.woke_ns = NOW;
        p.now_ns = NOW + 2 * MS;
        if (p.due_ns != NEVER)
            p.due_ns += NOW;
        if (ks_pace_next_ns(&p) != NOW + rows[i].want_ms * MS)
            fail_msg("%s: after %g ms", rows[i].what,
                     ((double)ks_pace_next_ns(&p) - (double)NOW) * 1e-6);
    }
}

/* A commit makes a process wait for its disk: for the data, for the file system's journal, for the
 * cache of the device. */
#define COMMIT_WAKES 3

/* Whatever is due, and with a bell that rings all the time: at most 10 wake-ups a second, or 2 a
 * cell, with a commit every KS_COORD_QUIET_NS. */
static void test_the_rule(void **state)
{
    static const uint64_t cells_ms[] = { 0, 1, 5, 7, 20, 99, 100, 101, 199, 250, 300, 301, 5000 };

    (void)state;
    for (size_t i = 0; i < N_ROWS(cells_ms); i++) {
        uint64_t cell_ns = cells_ms[i] * MS, free_ns = 0, n_turns = 0, n_bells = 0, t = NOW;
        while (t < NOW + 100000 * MS) {
            struct ks_pace p = { .woke_ns = t,
                                 .now_ns = t + MS / 10,
                                 .is_quiet = true,
                                 .is_awaiting = true,
                                 .cell_ns = cell_ns,
                                 .due_ns = t };
            uint64_t next = ks_pace_next_ns(&p);
            assert_true(next > t &&
                        ks_pace_takes_each(cell_ns) == (!cell_ns || cell_ns >= 300 * MS));
            t = next;
            n_turns++;
            if (!ks_bell_may_be_heard(free_ns, t))
                continue;
            ks_bell_was_heard(&free_ns, t, ks_pace_bell_ns(cell_ns));
            n_bells++;
        }
        double per_s =
            (double)(n_turns + n_bells) / 100 + COMMIT_WAKES * 1e9 / (double)KS_COORD_QUIET_NS;
        double most = cells_ms[i] && cells_ms[i] < 200 ? 2e3 / (double)cells_ms[i] + 3 : 10;
        if (per_s > most)
            fail_msg("cells of %g ms: %g wake-ups a second", (double)cell_ns * 1e-6, per_s);
    }
}

/* One cell takes much longer than those before it, as the first of another problem may, while
 * leases and the pipe, by what was learnt, want attention all the time. */
static void test_a_longer_cell(void **state)
{
    const uint64_t begun = NOW, end = NOW + 3000 * MS;
    uint64_t n = 0;

    (void)state;
    for (uint64_t t = begun; t < end; n++) {
        struct ks_pace p = { .woke_ns = t,
                             .now_ns = t,
                             .is_quiet = true,
                             .is_awaiting = true,
                             .cell_ns = ks_pace_cell_ns(5 * MS, t - begun),
                             .due_ns = NEVER };
        t = ks_pace_next_ns(&p);
    }
    assert_in_range(n, 10, 20); /* 10 per second, and some until it is noticed */
    assert_int_equal(ks_pace_cell_ns(0, 400 * MS), 0);
    assert_int_equal(ks_pace_cell_ns(500 * MS, 400 * MS), 500 * MS);
}

static void test_bell(void **state)
{
    uint64_t free_ns = 0, n = 0;
    struct pollfd p = { .fd = -1, .events = POLLIN };

    (void)state;
    for (uint64_t t = NOW; t < NOW + 60000 * MS; t += 10 * MS)
        if (ks_bell_may_be_heard(free_ns, t)) {
            ks_bell_was_heard(&free_ns, t, 300 * MS);
            n++;
        }
    assert_in_range(n, 200 + KS_BELL_BURST - 1, 200 + KS_BELL_BURST);

    assert_int_equal(ks_bell_open(&p.fd, NULL), 0);
    assert_int_equal(poll(&p, 1, 0), 0);
    ks_bell_ring(0); /* nobody, and not the process group */
    assert_int_equal(poll(&p, 1, 0), 0);
    ks_bell_ring(getpid());
    ks_bell_ring(getpid());
    assert_int_equal(poll(&p, 1, 1000), 1);
    ks_bell_clear(p.fd);
    assert_int_equal(poll(&p, 1, 0), 0);
    close(p.fd);
    ks_bell_clear(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_the_rule),
        cmocka_unit_test(test_a_longer_cell),
        cmocka_unit_test(test_bell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
