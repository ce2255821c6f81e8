/* SPDX-License-Identifier: MIT */
/* test_sched_policy.c - the scheduler's policies: batches, order, deadlines, doubts, memory */
/* How much at once, what comes last, deadlines, confirmations, doubted and slow devices, memory. */
#include "sched_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdlib.h>

/* A device never holds more than a quarter of its share of what is left, but one cell at least. */
static void test_batches_shrink(void **state)
{
    (void)state;
    static const double cost[PROBLEMS] = { 0.01 };
    struct table t = { 0 };
    struct ks_sched *s = make(&t, 1, 50, 20, cost);
    struct ks_lease l[2] = { 0 };
    uint32_t left = 50, n_full = 0;
    add(s, 0);
    add(s, 1);
    for (uint32_t i = 0; left > 0; i = !i) {
        uint32_t known = FIRST * (1 + 50 - left), want = left / 8 > 1 ? left / 8 : 1;
        l[i] = must_lease(s, i);
        assert_int_equal(l[i].n, want < known ? want : known);
        n_full += want <= known;
        if (want <= known)
            must_not_lease(s, i, INFINITY, KS_SCHED_WAIT);
        left -= l[i].n;
        for (uint32_t k = 0; k < l[i].n; k++)
            ks_sched_done(s, 0, l[i].i_instance[k], i, 0.01);
        ks_sched_lease_end(s, l[i].id);
    }
    assert_true(n_full > 10);
    ks_sched_destroy(s);
    s = make(&t, 1, 40, 20, ones); /* alone it need not wait for anyone */
    add(s, 0);
    assert_int_equal(must_lease(s, 0).n, 20);
    assert_int_equal(must_lease(s, 0).n, 20);
    ks_sched_destroy(s);
}

/* Near the end it holds as much as lasts until the next lease, whatever its share is. */
static void test_what_is_held_lasts(void **state)
{
    static const double reach_s[] = { 0, 0.05 };
    static const double cost[PROBLEMS] = { 0.01 };

    (void)state;
    for (size_t i = 0; i < sizeof(reach_s) / sizeof(reach_s[0]); i++) {
        struct table t = { 0 };
        const uint64_t seed[1] = { 1 };
        struct ks_sched_config c = { .n_problems = 1,
                                     .n_instances = 12,
                                     .cost_s = cost,
                                     .seed = seed,
                                     .batch = 20,
                                     .reach_s = reach_s[i],
                                     .patience_s = 1e6,
                                     .cell_state = state_of,
                                     .ctx = &t };
        struct ks_sched *s;
        assert_int_equal(ks_sched_create(&c, &s, NULL), 0);
        add(s, 0);
        add(s, 1);
        struct ks_lease l = must_lease(s, 0);
        for (uint32_t k = 0; k < l.n; k++)
            ks_sched_done(s, 0, l.i_instance[k], 0, 0.01);
        ks_sched_lease_end(s, l.id);
        assert_int_equal(must_lease(s, 0).n, i ? 5 : 1); /* of ten that are left, for two devices */
        ks_sched_destroy(s);
    }
}

/* Where a device could be caught in cells that take long, its leases are short. */
static void test_leases_are_not_too_long(void **state)
{
    (void)state;
    static const struct {
        double cost, overhead;
        uint32_t want;
    } rows[] = { { 0.05, 0, 20 }, { 0.39, 0, 10 }, { 3, 0, 1 }, { 30, 0, 1 }, { 0.39, 0.06, 15 } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct table t = { 0 };
        double cost[PROBLEMS];
        for (uint32_t k = 0; k < PROBLEMS; k++)
            cost[k] = rows[i].cost;
        struct ks_sched *s = make_costly(&t, PROBLEMS, 50, 20, cost, rows[i].overhead, 1e6);
        add(s, 0);
        add(s, 1);
        uint32_t n_learnt = 0;
        struct ks_lease l = must_lease(s, 0);
        for (; n_learnt < 10; l = must_lease(s, 0))
            for (uint32_t k = 0; k < l.n; k++, n_learnt++)
                ks_sched_done(s, l.i_problem, l.i_instance[k], 0, rows[i].cost);
        assert_in_range(l.n, rows[i].want, rows[i].want);
        ks_sched_destroy(s);
    }
}

/* Overdue leases go to others; what the old device still records counts, once. */
static void test_reissue(void **state)
{
    (void)state;
    struct table t = { 0 };
    struct ks_lease l, again;
    struct ks_sched *s = make_costly(&t, 1, 6, 6, ones, 0, 30);
    add(s, 0);
    assert_int_equal(ks_sched_next(s, 0, 100, INFINITY, &l, NULL), KS_SCHED_LEASE);
    assert_int_equal(l.n, 6);
    assert_float_equal(l.deadline_s, 100 + 30 + 2 * 8, 1e-9); /* six cells, two anchors */
    add(s, 1);
    assert_int_equal(ks_sched_reissue(s, 140), 0);
    ks_sched_done(s, 0, l.i_instance[0], 0, 1); /* it moves with progress: 140 + 30 + 2 * 7 */
    assert_int_equal(ks_sched_reissue(s, 183), 0);
    assert_int_equal(ks_sched_reissue(s, 185), 5);
    assert_int_equal(ks_sched_reissue(s, 999), 0); /* once */
    assert_int_equal(counts(s).n_leased, 0);
    assert_int_equal(ks_sched_next(s, 0, 999, INFINITY, &again, NULL), KS_SCHED_WAIT);
    assert_int_equal(ks_sched_next(s, 1, 999, INFINITY, &again, NULL), KS_SCHED_LEASE);
    assert_int_equal(again.n, 5);
    ks_sched_done(s, 0, l.i_instance[1], 0, 1); /* the old one comes back */
    ks_sched_done(s, 0, l.i_instance[1], 1, 1); /* second: ignored */
    assert_int_equal(counts(s).n_leased, 4);
    ks_sched_lease_end(s, l.id); /* nothing of it comes back: others have it */
    assert_int_equal(counts(s).n_leased, 4);
    assert_int_equal(counts(s).n_leases_open, 1);
    finish(s, &again);
    must_not_lease(s, 0, INFINITY, KS_SCHED_OVER);
    ks_sched_destroy(s);
}

static void confirm(struct ks_sched *s, const struct ks_lease *l, uint32_t k, int want)
{
    assert_int_equal(ks_sched_confirm(s, l->i_problem, l->i_instance[k], l->device, NULL), want);
}

/* Done cells are run once more by another device, when the problem's own are given away. */
static void test_confirm(void **state)
{
    (void)state;
    struct table t = { 0 };
    static const double cost[PROBLEMS] = { 0.01, 100 };
    struct ks_sched *s = make(&t, 2, 6, 6, cost);
    add(s, 0);
    struct ks_lease l = must_lease(s, 0), c;
    assert_int_equal(l.n, 6);
    for (uint32_t k = 0; k < 3; k++)
        ks_sched_done(s, 0, l.i_instance[k], 0, 1);
    confirm(s, &l, 0, 0); /* there is nobody else */
    add(s, 1);
    confirm(s, &l, 0, 1);
    confirm(s, &l, 1, 1);
    confirm(s, &l, 3, 0); /* not done */
    assert_false(ks_sched_is_done(s, 0, l.i_instance[0]));
    for (uint32_t k = 3; k < 6; k++)
        ks_sched_done(s, 0, l.i_instance[k], 0, 1);
    ks_sched_lease_end(s, l.id);
    assert_int_equal(counts(s).n_complete, 0);
    c = must_lease(s, 1); /* before the next problem */
    assert_true(c.is_confirm && c.opens && c.closes);
    assert_int_equal(c.i_problem, 0);
    assert_int_equal(c.n, 2);
    assert_int_equal(counts(s).n_split, 0);
    ks_sched_done(s, 0, c.i_instance[0], 1, 1);
    ks_sched_lease_end(s, c.id);                     /* the other one waits again */
    assert_int_equal(must_lease(s, 0).i_problem, 1); /* it may not */
    c = must_lease(s, 1);
    assert_true(c.is_confirm && c.n == 1);
    ks_sched_done(s, 0, c.i_instance[0], 1, 1);
    assert_int_equal(counts(s).n_complete, 1);
    ks_sched_destroy(s);
}

/* A doubted device waits for the verdict, so it comes before its problem's own cells. */
static void test_pause(void **state)
{
    (void)state;
    struct table t = { 0 };
    uint32_t cells[4][2];
    struct ks_sched *s = make(&t, 2, 9, 3, ones);
    add(s, 0);
    struct ks_lease l = must_lease(s, 0), c;
    finish(s, &l);
    add(s, 1);
    ks_sched_device_pause(s, 0, true);
    must_not_lease(s, 0, INFINITY, KS_SCHED_WAIT);
    confirm(s, &l, 0, 1);
    assert_int_equal(ks_sched_unconfirmable(s, cells, 4), 0);
    c = must_lease(s, 1);
    assert_true(c.is_confirm && c.opens && !c.closes && c.i_problem == 0 && c.n == 1);
    c = must_lease(s, 1); /* and goes on with the problem */
    assert_true(!c.is_confirm && !c.opens && c.i_problem == 0);
    assert_int_equal(counts(s).n_split, 0);
    ks_sched_device_pause(s, 1, true);
    confirm(s, &l, 1, 0);                                     /* nobody else now */
    assert_int_equal(ks_sched_unconfirmable(s, cells, 4), 0); /* it is in work */
    assert_int_equal(ks_sched_device_lost(s, 1, true, cells, 4), 0);
    assert_int_equal(ks_sched_unconfirmable(s, cells, 4), 1);
    assert_int_equal(cells[0][1], l.i_instance[0]);
    assert_true(ks_sched_is_done(s, 0, l.i_instance[0]));
    assert_int_equal(ks_sched_unconfirmable(s, cells, 4), 0);
    ks_sched_device_pause(s, 0, false);
    assert_int_equal(must_lease(s, 0).i_problem, 0);
    ks_sched_destroy(s);
}

/* At the end the longest come first, before that the order of the list. */
static void test_longest_last(void **state)
{
    (void)state;
    static const double cost[PROBLEMS] = { 32, 1, 1, 2, 1 };
    static const uint32_t want[] = { 0, 3, 1, 2, 4 };
    struct table t = { 0 };
    struct ks_sched *s = make(&t, 5, 4, 4, cost);
    add(s, 0);
    for (size_t i = 0; i < 5; i++) {
        struct ks_lease l = must_lease(s, 0);
        assert_int_equal(l.i_problem, want[i]);
        for (uint32_t k = 0; k < l.n; k++)
            ks_sched_done(s, l.i_problem, l.i_instance[k], 0, cost[l.i_problem] * 2);
        ks_sched_lease_end(s, l.id);
        assert_true(l.closes);
    }
    must_not_lease(s, 0, INFINITY, KS_SCHED_OVER);
    ks_sched_destroy(s);
}

/* A device is known to be slow after many problems, not after a few. */
static void test_slow_device(void **state)
{
    (void)state;
    enum { N = 400 };
    static double cost[N];
    static uint64_t seed[N];
    struct table t = { 0 };
    struct ks_sched *s = NULL;
    struct ks_sched_config c = { .n_problems = N,
                                 .n_instances = 1,
                                 .cost_s = cost,
                                 .seed = seed,
                                 .batch = 1,
                                 .patience_s = 1e6,
                                 .cell_state = state_of_any,
                                 .ctx = &t };
    struct ks_lease l[4];
    for (uint32_t i = 0; i < N; i++)
        cost[i] = 1;
    assert_int_equal(ks_sched_create(&c, &s, NULL), 0);
    for (uint32_t d = 0; d < 4; d++)
        add(s, d);
    for (uint32_t round = 0; round < 60; round++)
        for (uint32_t d = 0; d < 4; d++) {
            l[d] = must_lease(s, d);
            double as_guessed = round % 3 ? 1.2 : 0.8; /* problems are never quite as guessed */
            ks_sched_done(s, l[d].i_problem, 0, d, as_guessed * (d == 3 ? 1.5 : 1));
            ks_sched_lease_end(s, l[d].id);
            if (round == 1)
                assert_true(fabs(l[3].expected_s / l[0].expected_s - 1) < 0.2 || d < 3);
        }
    double ratio = must_lease(s, 3).expected_s / must_lease(s, 0).expected_s;
    assert_true(ratio > 1.35 && ratio < 1.65);
    ks_sched_destroy(s);
}

/* 10^9 cells: a small record each problem, and three bytes each cell of those in work. */
static void test_memory(void **state)
{
    (void)state;
    enum { N = 100000, CELLS = 10240, DEVICES = 128 };
    double *cost = calloc(N, sizeof(*cost));
    uint64_t *seed = calloc(N, sizeof(*seed));
    struct table t = { 0 };
    struct ks_sched *s = NULL;
    assert_true(cost && seed);
    struct ks_sched_config c = { .n_problems = N,
                                 .n_instances = CELLS,
                                 .cost_s = cost,
                                 .seed = seed,
                                 .batch = 20,
                                 .patience_s = 1e6,
                                 .cell_state = state_of_any,
                                 .ctx = &t };
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert_int_equal(ks_sched_create(&c, &s, NULL), 0);
    for (uint32_t d = 0; d < DEVICES; d++) {
        add(s, d);
        (void)must_lease(s, d);
    }
    assert_int_equal(counts(s).n_partial, DEVICES);
    size_t used = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    assert_true(used < 48u * N + DEVICES * (3u * CELLS + 2048u));
    ks_sched_destroy(s);
    free(cost);
    free(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_shrink),
        cmocka_unit_test(test_what_is_held_lasts),
        cmocka_unit_test(test_leases_are_not_too_long),
        cmocka_unit_test(test_reissue),
        cmocka_unit_test(test_confirm),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_longest_last),
        cmocka_unit_test(test_slow_device),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
