/* SPDX-License-Identifier: MIT */
/* test_simt_pool.c - what the emulator keeps from launch to launch */
#include "kernels/gpu/emu/simt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct trace {
    int n, at[64];
};

static void trace_body(void **args)
{
    struct trace *t = args[0];

    t->at[t->n++] = ks_simt_tid();
}

/* What one launch leaves in shared memory and on stacks is not there for the next. */
static void stain_body(void **args)
{
    unsigned char *shared = ks_simt_shared(*(size_t *)args[1]);

    ((int *)args[0])[ks_simt_tid()] += shared[ks_simt_tid()];
    shared[ks_simt_tid()] = 1;
}

static void test_a_pool_changes_nothing(void **state)
{
    static const int grid[3] = { 1, 1, 1 }, n_threads[] = { 64, 64, 32, 32, 64 };
    struct ks_simt_pool pool = { NULL };
    const struct ks_simt_run *first = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof n_threads / sizeof n_threads[0]; i++) {
        const int block[3] = { n_threads[i], 1, 1 };
        struct trace t = { 0 };
        int seen[64] = { 0 };
        size_t bytes = i % 2 == 0 ? 64 : 4096;
        void *stain[] = { seen, &bytes }, *trace[] = { &t };

        assert_int_equal(ks_simt_launch(stain_body, stain, grid, block, 16, KS_SIMT_FORWARD, &pool),
                         KS_SIMT_OK);
        first = i == 0 ? pool.run : first;
        if (i == 1)
            assert_ptr_equal(pool.run, first);
        assert_int_equal(ks_simt_launch(trace_body, trace, grid, block, 16, KS_SIMT_REVERSE, &pool),
                         KS_SIMT_OK);
        for (int k = 0; k < n_threads[i]; k++) {
            assert_int_equal(seen[k], 0xff);
            assert_int_equal(t.at[k], n_threads[i] - 1 - k);
        }
    }
    ks_simt_pool_release(&pool);
    assert_null(pool.run);
}

/* After a launch that failed nothing is kept: its threads stand wherever they were. */
static void lonely_body(void **args)
{
    (void)args;
    if (ks_simt_tid() == 0)
        ks_simt_barrier();
}

static void test_a_failed_launch_leaves_nothing(void **state)
{
    static const int grid[3] = { 1, 1, 1 }, block[3] = { 8, 1, 1 };
    struct ks_simt_pool pool = { NULL };
    struct trace t = { 0 };
    void *args[] = { &t };

    (void)state;
    assert_int_equal(ks_simt_launch(trace_body, args, grid, block, 8, KS_SIMT_FORWARD, &pool),
                     KS_SIMT_OK);
    assert_non_null(pool.run);
    assert_int_equal(ks_simt_launch(lonely_body, NULL, grid, block, 8, KS_SIMT_FORWARD, &pool),
                     KS_SIMT_DIVERGED);
    assert_null(pool.run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pool_changes_nothing),
        cmocka_unit_test(test_a_failed_launch_leaves_nothing),
    };

    return cmocka_run_group_tests_name("simt_pool", tests, NULL, NULL);
}
