/* SPDX-License-Identifier: MIT */
/* test_sched_goals.c - how near the scheduler comes to what is possible, in virtual time */
/* sanitized: no; sched_sim is, which runs the same scheduler. */
/* The rows of tests/bench/bench_sched that have goals, with few devices. Costs are those of real
 * kernels and not known beforehand. */
#include "tests/bench/sched_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

static int set_up(void **state)
{
    struct costs *costs = malloc(sizeof(*costs));
    if (!costs)
        return -1;
    costs_read(KS_SOURCE_DIR "/tests/bench/data/costs.csv", costs);
    *state = costs;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

struct row {
    uint32_t n_devices, per_device, n_instances;
    bool has_faults;
};

static void test_goals(void **state)
{
    static const struct row rows[] = {
        { 8, 20, 1024, false }, { 8, 20, 1024, true },  { 16, 20, 1024, true },
        { 8, 100, 256, false }, { 16, 100, 256, true },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *x = &rows[i];
        struct work w =
            work_usual(x->n_devices, x->per_device, x->n_instances, x->has_faults, *state);
        struct result r = run_sched(&w), fixed = run_static(&w), fifo = run_fifo(&w);
        double ratio = r.makespan_s / work_bound_s(&w, r.lost_s);
        double split = (double)r.n_split / w.n_problems;
        print_message("%u devices: %.3f of the bound, %.1f %% split\n", w.n_devices, ratio,
                      100 * split);
        assert_true(ratio >= 1);
        assert_true(ratio <= (x->has_faults ? 1.12 : 1.05));
        assert_true(x->per_device < 100 || split <= 0.05);
        assert_true(r.makespan_s < fixed.makespan_s && r.makespan_s < fifo.makespan_s);
        assert_true(r.cells_s >= w.total_s * 0.999); /* nothing is left out */
        work_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
