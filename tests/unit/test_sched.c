/* SPDX-License-Identifier: MIT */
/* test_sched.c - the scheduler, step by step; test_sched_sim.c runs it with many devices */
#include "sched/cost.h"
#include "sched_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static void test_one_device_takes_problems_in_order(void **state)
{
    (void)state;
    struct table t = { 0 };
    struct ks_sched *s = make(&t, 3, 5, 2, ones);
    add(s, 7);
    uint64_t block = 0;
    for (uint32_t ip = 0; ip < 3; ip++) {
        uint32_t n = 0;
        while (n < 5) {
            struct ks_lease l = must_lease(s, 7);
            assert_int_equal(l.i_problem, ip);
            assert_int_equal(l.device, 7);
            assert_int_equal(l.opens, n == 0);
            assert_int_equal(l.closes, l.n + n == 5);
            assert_true(n == 0 ? l.block > block : l.block == block);
            assert_float_equal(l.expected_s, l.n + l.opens + l.closes, 1e-9);
            block = l.block;
            n += l.n;
            finish(s, &l);
        }
        assert_int_equal(counts(s).n_complete, ip + 1);
        assert_int_equal(counts(s).n_untouched, 2 - ip);
        assert_int_equal(t.n_asked[ip], 5);
    }
    must_not_lease(s, 7, INFINITY, KS_SCHED_OVER);
    assert_int_equal(counts(s).n_leases_open, 0);
    assert_int_equal(counts(s).n_split, 0);
    assert_float_equal(counts(s).remaining_s, 0, 1e-9);
    ks_sched_destroy(s);
}

/* Both orders of the same seed are the same, and they are not the config's. */
static void test_order_is_seeded(void **state)
{
    (void)state;
    uint32_t order[2][40];
    for (int run = 0; run < 2; run++) {
        struct table t = { 0 };
        struct ks_sched *s = make(&t, 2, 40, run ? 3 : 64, ones);
        add(s, 1);
        uint32_t n = 0;
        while (n < 40) {
            struct ks_lease l = must_lease(s, 1);
            assert_int_equal(l.i_problem, 0);
            memcpy(&order[run][n], l.i_instance, l.n * sizeof(order[0][0]));
            n += l.n;
        }
        ks_sched_destroy(s);
    }
    assert_memory_equal(order[0], order[1], sizeof(order[0]));
    uint32_t n_moved = 0;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < 40; i++) {
        n_moved += order[0][i] != i;
        seen |= 1ull << order[0][i];
    }
    assert_true(n_moved > 20);
    assert_true(seen == (1ull << 40) - 1);
}

static void test_split_only_when_worth_it(void **state)
{
    (void)state;
    static const struct {
        double cost[2];
        bool is_split;
    } rows[] = {
        { { 1, 10 }, true },   /* 8 + 10 s left, 6 per device, a quarter is 1.5: 8 s are more */
        { { 1, 300 }, false }, /* 308 s: 8 are nothing beside it */
        { { 1, 87 }, true },   /* 95 / 3 / 4 = 7.9 */
        { { 1, 89 }, false },  /* 97 / 3 / 4 = 8.1 */
        { { 10, 870 }, true }, /* the same in other units */
        { { 10, 890 }, false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct table t = { 0 };
        memset(&t.is_done[1][1], 1, 9); /* problem 1 has one cell left, which is soon given away */
        struct ks_sched *s = make(&t, 2, 10, 2, rows[i].cost);
        add(s, 0);
        struct ks_lease a = must_lease(s, 0);
        assert_int_equal(a.i_problem, 0);
        assert_int_equal(a.n, 2);
        add(s, 1);
        struct ks_lease b = must_lease(s, 1);
        assert_int_equal(b.i_problem, 1);
        assert_true(b.closes);
        for (uint32_t k = 0; k < a.n; k++)
            ks_sched_done(s, 0, a.i_instance[k], KS_NO_DEVICE, rows[i].cost[0]);
        ks_sched_lease_end(s, a.id);
        add(s, 2);
        struct ks_lease l;
        int rc = ks_sched_next(s, 2, 0, INFINITY, &l, NULL);
        assert_int_equal(rc, rows[i].is_split ? KS_SCHED_LEASE : KS_SCHED_WAIT);
        assert_int_equal(counts(s).n_split, rows[i].is_split);
        if (rows[i].is_split) {
            assert_int_equal(l.i_problem, 0);
            assert_true(l.opens);
            assert_true(l.block != a.block);
        }
        ks_sched_destroy(s);
    }
}

/* A problem whose device is gone is completed before a new one is begun. */
static void test_orphans_come_first(void **state)
{
    (void)state;
    struct table t = { 0 };
    uint32_t none[4][2];
    struct ks_sched *s = make(&t, 4, 4, 2, ones);
    add(s, 0);
    struct ks_lease a = must_lease(s, 0);
    assert_int_equal(ks_sched_device_lost(s, 0, true, none, 4), 0);
    assert_int_equal(counts(s).n_leased, 0);
    assert_int_equal(counts(s).n_leases_open, 0);
    add(s, 1);
    struct ks_lease b = must_lease(s, 1);
    assert_int_equal(b.i_problem, a.i_problem);
    assert_memory_equal(b.i_instance, a.i_instance, 2 * sizeof(a.i_instance[0]));
    assert_true(b.opens && b.block != a.block && b.id != a.id);
    assert_int_equal(counts(s).n_split, 0);
    ks_sched_lease_end(s, a.id); /* late: nothing comes back twice */
    assert_int_equal(counts(s).n_leased, 2);
    ks_sched_destroy(s);
}

static void test_closing_lease_without_cells(void **state)
{
    (void)state;
    struct table t = { 0 };
    struct ks_sched *s = make(&t, 1, 8, 2, ones);
    add(s, 0);
    add(s, 1);
    struct ks_lease a = must_lease(s, 0);
    assert_false(a.closes);
    struct ks_lease b = must_lease(s, 1);
    while (!b.closes) {
        finish(s, &b);
        b = must_lease(s, 1);
    }
    struct ks_lease c = must_lease(s, 0);
    assert_int_equal(c.n, 0);
    assert_true(c.closes && !c.opens && c.block == a.block && c.i_problem == 0);
    must_not_lease(s, 0, INFINITY, KS_SCHED_WAIT);
    ks_sched_destroy(s);
}

static void test_time_left(void **state)
{
    (void)state;
    static const double cost[PROBLEMS] = { 2, 1, 1 };
    struct table t = { 0 };
    struct ks_lease l;
    struct ks_sched *s = make(&t, 3, 20, 10, cost);
    add(s, 0);
    assert_int_equal(ks_sched_next(s, 0, 0, 13.5, &l, NULL), KS_SCHED_LEASE);
    assert_int_equal(l.n, 4);                  /* and both anchors */
    must_not_lease(s, 0, 13.5, KS_SCHED_WAIT); /* it holds 10 s already, and 2 s close the block */
    add(s, 1);
    for (int k = 0; k < 5; k++)
        must_not_lease(s, 1, 0.5, KS_SCHED_WAIT);
    assert_int_equal(counts(s).n_untouched, 1); /* asking opens one problem, not one each time */
    assert_int_equal(ks_sched_next(s, 1, 0, 3.5, &l, NULL), KS_SCHED_LEASE);
    assert_int_equal(l.n, 1);
    assert_true(l.opens && l.i_problem == 1);
    must_not_lease(s, 1, -1, KS_SCHED_WAIT);
    assert_int_equal(counts(s).n_split, 0);
    ks_sched_destroy(s);
}

/* What the first cells teach holds for problems that nobody has begun, too. */
static void test_guesses_are_corrected(void **state)
{
    (void)state;
    static const double guess[PROBLEMS] = { 1, 4 };
    struct table t = { 0 };
    struct ks_sched *s = make(&t, 2, 10, 1, guess);
    add(s, 0);
    add(s, 1);
    assert_float_equal(counts(s).remaining_s, 50, 1e-9);
    struct ks_lease l = must_lease(s, 0);
    ks_sched_done(s, 0, l.i_instance[0], KS_NO_DEVICE, 0.1);
    assert_true(fabs(counts(s).remaining_s - (9 * 0.1 + 10 * 0.4)) < 1e-9);
    l = must_lease(s, 1);
    assert_int_equal(l.i_problem, 1);
    assert_true(l.n > 0 && fabs(l.expected_s - 0.4 * (l.n + 1 + l.closes)) < 1e-9);
    assert_true(fabs(counts(s).remaining_s - (9 * 0.1 + 10 * 0.4)) < 1e-9);
    ks_sched_destroy(s);
}

/* Nor are cells expected to be run there, if as many have their outcome without; but what was done
 * in an earlier life says nothing. */
static void test_cells_that_are_not_run(void **state)
{
    (void)state;
    struct table t = { 0 };
    struct ks_sched *s;
    for (uint32_t i = 0; i < 10; i++)
        t.is_done[0][i] = i < 2 ? KS_CELL_DONE : i < 8 ? KS_CELL_SETTLED : KS_CELL_RUN;
    s = make(&t, 4, 10, 1, ones);
    add(s, 0);
    assert_float_equal(counts(s).remaining_s, 40, 1e-9);
    struct ks_lease l = must_lease(s, 0);
    assert_float_equal(counts(s).remaining_s, 2 + 30 * 0.25, 1e-9);
    assert_true(ks_sched_is_done(s, 0, 0) && ks_sched_is_done(s, 0, 2));
    assert_false(ks_sched_is_done(s, 0, 8) || ks_sched_is_done(s, 0, 9)); /* leased or not */
    assert_false(ks_sched_is_done(s, 1, 0));                              /* not opened */
    finish(s, &l);
    assert_true(ks_sched_is_done(s, 0, l.i_instance[0]));
    l = must_lease(s, 0);
    finish(s, &l);
    for (uint32_t i = 0; i < 10; i++)
        assert_true(ks_sched_is_done(s, 0, i)); /* all of a problem that is complete */
    assert_float_equal(counts(s).remaining_s, 30 * 0.25, 1e-9);
    assert_int_equal(ks_sched_reopen(s, 0, 3, NULL), 0);
    assert_false(ks_sched_is_done(s, 0, 3));
    assert_float_equal(counts(s).remaining_s, 1 + 30 * 0.25, 1e-9);
    ks_sched_destroy(s);
}

static void test_costs_are_learnt(void **state)
{
    (void)state;
    struct table t = { 0 };
    struct ks_sched *s = make(&t, 1, 10, 1, ones);
    add(s, 0);
    assert_float_equal(counts(s).remaining_s, 10, 1e-9);
    struct ks_lease l = must_lease(s, 0);
    ks_sched_done(s, 0, l.i_instance[0], KS_NO_DEVICE, 5);
    assert_float_equal(counts(s).remaining_s, 45, 1e-9);
    ks_sched_done(s, 0, l.i_instance[0], KS_NO_DEVICE, 500); /* repeated: ignored */
    assert_float_equal(counts(s).remaining_s, 45, 1e-9);
    l = must_lease(s, 0);
    ks_sched_done(s, 0, l.i_instance[0], KS_NO_DEVICE, 0); /* unknown */
    assert_float_equal(counts(s).remaining_s, 40, 1e-9);
    ks_sched_destroy(s);
}

static void test_repeated_losses(void **state)
{
    (void)state;
    struct table t = { 0 };
    uint32_t gone[8][2];
    struct ks_sched *s = make(&t, 2, 4, 4, ones);
    for (uint32_t d = 0; d < KS_LOSSES_ALONE; d++) {
        add(s, d);
        struct ks_lease l = must_lease(s, d);
        assert_int_equal(l.i_problem, 0);
        assert_int_equal(l.n, 4);
        assert_int_equal(ks_sched_device_lost(s, d, true, gone, 8), 0);
    }
    add(s, 8);
    struct ks_lease l = must_lease(s, 8); /* everything else comes first */
    assert_int_equal(l.i_problem, 1);
    assert_false(l.is_alone);
    while (!l.closes) {
        finish(s, &l);
        l = must_lease(s, 8);
    }
    finish(s, &l);
    add(s, 9);
    for (uint32_t k = 0; k < 4; k++) {
        must_not_lease(s, 8, 0.5, KS_SCHED_WAIT); /* one takes 1 s */
        l = must_lease(s, 8);
        assert_int_equal(l.i_problem, 0);
        assert_int_equal(l.n, 1);
        assert_true(l.is_alone && l.opens && l.closes);
        must_not_lease(s, 9, INFINITY, KS_SCHED_WAIT); /* never two at a time */
        must_not_lease(s, 8, INFINITY, KS_SCHED_WAIT);
        if (k == 1) {
            assert_int_equal(ks_sched_device_lost(s, 8, true, gone, 8), 1);
            assert_int_equal(gone[0][0], 0);
            assert_int_equal(gone[0][1], l.i_instance[0]);
            ks_sched_done(s, 0, l.i_instance[0], KS_NO_DEVICE, 0);
            add(s, 8);
        } else {
            finish(s, &l);
        }
    }
    must_not_lease(s, 8, INFINITY, KS_SCHED_OVER);
    ks_sched_destroy(s);
}

/* Leases that a broken or drained device gives back count no loss. */
static void test_giving_back_is_no_loss(void **state)
{
    (void)state;
    struct table t = { 0 };
    uint32_t gone[8][2];
    struct ks_sched *s = make(&t, 1, 4, 4, ones);
    for (uint32_t d = 0; d < 6; d++) {
        add(s, d);
        struct ks_lease l = must_lease(s, d);
        assert_int_equal(l.n, 4);
        assert_false(l.is_alone);
        if (d % 2) {
            assert_int_equal(ks_sched_device_lost(s, d, false, gone, 8), 0);
            continue;
        }
        ks_sched_device_drain(s, d);
        must_not_lease(s, d, INFINITY, KS_SCHED_WAIT);
        ks_sched_lease_end(s, l.id);
        assert_int_equal(counts(s).n_leased, 0);
        assert_int_equal(counts(s).n_leases_open, 0);
    }
    ks_sched_destroy(s);
}

static void test_resume(void **state)
{
    (void)state;
    struct table t = { 0 };
    memset(t.is_done[0], 1, sizeof(t.is_done[0]));
    t.is_done[1][2] = t.is_done[1][3] = 1;
    memset(t.is_done[2], 1, sizeof(t.is_done[2]));
    struct ks_sched *s = make(&t, 3, 5, 8, ones);
    add(s, 0);
    uint32_t n = 0;
    struct ks_lease l = { 0 };
    while (!l.closes) {
        l = must_lease(s, 0);
        assert_int_equal(l.i_problem, 1);
        for (uint32_t k = 0; k < l.n; k++)
            assert_true(l.i_instance[k] != 2 && l.i_instance[k] != 3);
        n += l.n;
        finish(s, &l);
    }
    assert_int_equal(n, 3);
    must_not_lease(s, 0, INFINITY, KS_SCHED_OVER);
    assert_int_equal(counts(s).n_complete, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(t.n_asked[i], 5);
    ks_sched_destroy(s);
}

static void test_reopen(void **state)
{
    (void)state;
    struct table t = { 0 };
    struct ks_sched *s = make(&t, 2, 2, 2, ones);
    add(s, 0);
    assert_int_equal(ks_sched_reopen(s, 1, 0, NULL), 0); /* not opened yet: nothing to do */
    assert_int_equal(counts(s).n_untouched, 2);
    struct ks_lease l = must_lease(s, 0);
    finish(s, &l);
    assert_int_equal(ks_sched_reopen(s, 0, 1, NULL), 0);
    assert_int_equal(ks_sched_reopen(s, 0, 1, NULL), 0); /* it is free already */
    assert_int_equal(counts(s).n_complete, 0);
    assert_int_equal(counts(s).n_partial, 1);
    l = must_lease(s, 0);
    assert_int_equal(l.i_problem, 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.i_instance[0], 1);
    assert_true(l.opens && l.closes);
    finish(s, &l);
    assert_int_equal(counts(s).n_complete, 1);
    do {
        l = must_lease(s, 0);
        finish(s, &l);
    } while (!l.closes);
    assert_int_equal(counts(s).n_complete, 2);
    assert_int_equal(t.n_asked[1], 2);
    must_not_lease(s, 0, INFINITY, KS_SCHED_OVER);
    ks_sched_destroy(s);
}

static void test_edges(void **state)
{
    (void)state;
    struct table t = { 0 };
    struct ks_err err;
    struct ks_sched *s = NULL;
    struct ks_sched_config c = { .cell_state = state_of, .ctx = &t };
    assert_int_equal(ks_sched_create(&c, &s, &err), KS_EINVAL);
    c.batch = KS_LEASE_CELLS + 1;
    assert_int_equal(ks_sched_create(&c, &s, &err), KS_EINVAL);
    assert_null(s);
    s = make(&t, 0, 5, 1, ones);
    add(s, 3);
    assert_int_equal(ks_sched_device_add(s, 3, &err), KS_EINVAL);
    must_not_lease(s, 3, INFINITY, KS_SCHED_OVER);
    must_not_lease(s, 4, INFINITY, KS_SCHED_WAIT); /* not a device */
    ks_sched_lease_end(s, 99);
    assert_int_equal(ks_sched_device_lost(s, 4, true, NULL, 0), 0);
    ks_sched_destroy(s);
    ks_sched_destroy(NULL);

    static const double nothing[PROBLEMS] = { 0 }; /* a prior of zero must not make anyone wait */
    s = make(&t, 1, 6, 2, nothing);
    add(s, 0);
    add(s, 1);
    struct ks_lease l = must_lease(s, 0);
    assert_int_equal(l.n, 2);
    assert_int_equal(must_lease(s, 1).n, 2);
    ks_sched_destroy(s);
}

/* As long as the worker lets a cell take that meets every deadline (test_measure.c), per try. */
static void test_patience(void **state)
{
    static const struct {
        uint32_t call_s, min_samples, retries;
        double want_s;
    } rows[] = { { 30, 5, 0, 30 * (5 + 18) + 2 * (0.02 + 2 + 0.5) + 10 },
                 { 30, 5, 2, 3 * (30 * (5 + 18) + 2 * (0.02 + 2 + 0.5) + 10) },
                 { 86400, 1000, 1, 2 * (86400.0 * (1000 + 18) + 2 * (0.02 + 2 + 0.5) + 10) } };
    struct ks_job *job = calloc(1, sizeof(*job));

    (void)state;
    assert_non_null(job);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        job->measure.sampling = (struct ks_sampling){ .warmup_ms = 20,
                                                      .max_ms = 500,
                                                      .min_samples = rows[i].min_samples };
        job->isolate.kernel_timeout_s = rows[i].call_s;
        job->isolate.retries = rows[i].retries;
        assert_true(fabs(ks_cost_silence_s(job) / rows[i].want_s - 1) < 1e-9);
    }
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_device_takes_problems_in_order),
        cmocka_unit_test(test_order_is_seeded),
        cmocka_unit_test(test_split_only_when_worth_it),
        cmocka_unit_test(test_orphans_come_first),
        cmocka_unit_test(test_closing_lease_without_cells),
        cmocka_unit_test(test_time_left),
        cmocka_unit_test(test_cells_that_are_not_run),
        cmocka_unit_test(test_costs_are_learnt),
        cmocka_unit_test(test_guesses_are_corrected),
        cmocka_unit_test(test_repeated_losses),
        cmocka_unit_test(test_giving_back_is_no_loss),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_reopen),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
