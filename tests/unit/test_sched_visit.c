/* SPDX-License-Identifier: MIT */
/* test_sched_visit.c - visits in the scheduler: when, to whom, and what is expected of them */
#include "sched_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct table t; /* nothing is done */

static void ask(struct ks_sched *s, uint32_t i_problem, uint32_t device, double at)
{
    const struct ks_visit v = { i_problem, device, at, 0.5 };
    assert_int_equal(ks_sched_visit(s, &v, NULL), 0);
}

static struct ks_lease next(struct ks_sched *s, uint32_t device, double now)
{
    struct ks_lease l = { 0 };
    assert_int_equal(ks_sched_next(s, device, now, INFINITY, &l, NULL), KS_SCHED_LEASE);
    return l;
}

static void is_visit(const struct ks_lease *l, uint32_t i_problem)
{
    assert_true(l->is_visit && l->opens && l->closes && l->n == 0);
    assert_int_equal(l->i_problem, i_problem);
}

/* One lease per problem; as if its cells were over at once. */
static void measure(struct ks_sched *s, uint32_t device, double now, uint32_t want)
{
    struct ks_lease l = next(s, device, now);
    assert_false(l.is_visit);
    assert_int_equal(l.i_problem, want);
    finish(s, &l);
}

static void test_due(void **state)
{
    (void)state;
    struct ks_sched *s = make(&t, 4, 3, 20, ones);
    struct ks_lease l;
    add(s, 0);
    measure(s, 0, 0, 0);
    assert_true(ks_sched_is_complete(s, 0) && !ks_sched_is_complete(s, 1));
    ask(s, 0, 0, 0); /* due, but behind its own problem: another one first */
    measure(s, 0, 1, 1);
    ask(s, 1, 0, 10);
    l = next(s, 0, 2);
    is_visit(&l, 0);
    ks_sched_lease_end(s, l.id);
    measure(s, 0, 3, 2); /* that of problem 1 is not due */
    l = next(s, 0, 10);
    is_visit(&l, 1);
    ks_sched_lease_end(s, l.id);
    assert_int_equal(counts(s).n_visits, 0);
    ks_sched_destroy(s);
}

/* With nothing else to do the first due is given, that of another problem if there is one. */
static void test_gap_shrinks(void **state)
{
    (void)state;
    struct ks_sched *s = make(&t, 3, 3, 20, ones);
    struct ks_lease l;
    add(s, 0);
    for (uint32_t i = 0; i < 3; i++)
        measure(s, 0, i, i);
    ask(s, 2, 0, 50);
    ask(s, 1, 0, 70);
    ask(s, 0, 0, 60);
    for (uint32_t i = 0; i < 3; i++) {
        static const uint32_t want[] = { 0, 2, 1 };
        assert_int_equal(counts(s).n_visits, 3 - i);
        l = next(s, 0, 4);
        is_visit(&l, want[i]);
        assert_true(l.expected_s >= 0.5);
        ks_sched_lease_end(s, l.id);
    }
    must_not_lease(s, 0, INFINITY, KS_SCHED_OVER);
    ask(s, 1, 0, 99); /* the last race: one visit after another */
    l = next(s, 0, 5);
    is_visit(&l, 1);
    must_not_lease(s, 0, INFINITY, KS_SCHED_WAIT);
    ks_sched_lease_end(s, l.id);
    must_not_lease(s, 0, INFINITY, KS_SCHED_OVER);
    ks_sched_destroy(s);
}

/* It stays with its device, as long as that can measure. */
static void test_other_device(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct ks_sched *s = make_costly(&t, 1, 3, 20, ones, 0, 5);
        struct ks_lease l;
        add(s, 0);
        add(s, 1);
        l = next(s, 0, 0);
        for (uint32_t k = 0; k < 3; k++)
            ks_sched_done(s, 0, k, 0, 1);
        ks_sched_lease_end(s, l.id);
        while (!ks_sched_is_complete(s, 0)) {
            l = next(s, 0, 0);
            finish(s, &l);
        }
        l = next(s, 0, 0); /* closes the block */
        ks_sched_lease_end(s, l.id);
        ask(s, 0, 0, 0);
        must_not_lease(s, 1, INFINITY, KS_SCHED_WAIT);
        if (how == 0) {
            ks_sched_device_drain(s, 0);
        } else if (how == 1) {
            ks_sched_device_pause(s, 0, true);
        } else {
            l = next(s, 0, 0);
            is_visit(&l, 0);
            must_not_lease(s, 1, INFINITY, KS_SCHED_WAIT);
            if (how == 2)
                assert_int_equal(ks_sched_device_lost(s, 0, true, NULL, 0), 0);
            else
                assert_int_equal(ks_sched_reissue(s, 1000), 1);
        }
        struct ks_lease again = next(s, 1, 1000);
        is_visit(&again, 0);
        if (how == 3) /* what is late ends nothing */
            assert_false(ks_sched_lease_end(s, l.id));
        assert_int_equal(counts(s).n_visits, 1);
        assert_true(ks_sched_lease_end(s, again.id));
        assert_int_equal(counts(s).n_visits, 0);
        must_not_lease(s, 1, INFINITY, KS_SCHED_OVER);
        ks_sched_destroy(s);
    }
}

static void test_any_device(void **state)
{
    (void)state;
    struct ks_sched *s = make(&t, 1, 3, 20, ones);
    struct ks_lease l;
    add(s, 0);
    measure(s, 0, 0, 0);
    ask(s, 0, KS_NO_DEVICE, 0);
    l = next(s, 0, 1);
    is_visit(&l, 0);
    ks_sched_lease_end(s, l.id);
    ask(s, 0, 7, 0); /* nobody knows it */
    l = next(s, 0, 1);
    is_visit(&l, 0);
    ks_sched_destroy(s);
}

static void test_time(void **state)
{
    (void)state;
    struct ks_sched *s = make(&t, 2, 3, 20, ones);
    double before;
    add(s, 0);
    measure(s, 0, 0, 0);
    measure(s, 0, 1, 1);
    before = counts(s).remaining_s;
    ask(s, 0, 0, 0);
    assert_true(fabs(counts(s).remaining_s - before - 0.5) < 1e-9);
    ks_sched_expect_visits(s, 40);
    assert_true(fabs(counts(s).remaining_s - before - 40.5) < 1e-9);
    must_not_lease(s, 0, 0.4, KS_SCHED_WAIT); /* it does not fit */
    struct ks_lease l = next(s, 0, 2);
    is_visit(&l, 0);
    assert_true(counts(s).remaining_s > 40.4);
    ks_sched_lease_end(s, l.id);
    ks_sched_expect_visits(s, 0);
    assert_true(fabs(counts(s).remaining_s - before) < 1e-9);
    ks_sched_destroy(s);
}

/* A visit that does not fit into the time left does not hold up one that does. */
static void test_fits(void **state)
{
    (void)state;
    struct ks_sched *s = make(&t, 3, 3, 20, ones);
    const struct ks_visit big = { 0, 0, 0, 50 };
    struct ks_lease l = { 0 };
    add(s, 0);
    for (uint32_t i = 0; i < 3; i++)
        measure(s, 0, i, i);
    assert_int_equal(ks_sched_visit(s, &big, NULL), 0);
    ask(s, 1, 0, 9);
    assert_int_equal(ks_sched_next(s, 0, 5, 20, &l, NULL), KS_SCHED_LEASE);
    is_visit(&l, 1);
    ks_sched_lease_end(s, l.id);
    must_not_lease(s, 0, 20, KS_SCHED_WAIT);
    ks_sched_destroy(s);
}

/* No further cell of its block fits into the time left, but a visit of another problem does. */
static void test_leaves_block(void **state)
{
    (void)state;
    static const double cost[] = { 10, 0.001 };
    const struct ks_visit small = { 1, KS_NO_DEVICE, 0, 0.1 };
    struct ks_sched *s = make(&t, 2, 3, 2, cost);
    struct ks_lease l = { 0 };
    add(s, 0);
    l = next(s, 0, 0);
    assert_true(l.n == 2 && l.i_problem == 0);
    for (uint32_t k = 0; k < l.n; k++)
        ks_sched_done(s, 0, l.i_instance[k], 0, 10);
    ks_sched_lease_end(s, l.id);
    must_not_lease(s, 0, 15, KS_SCHED_WAIT);
    assert_int_equal(ks_sched_visit(s, &small, NULL), 0);
    assert_int_equal(ks_sched_next(s, 0, 1, 15, &l, NULL), KS_SCHED_LEASE);
    assert_true(l.closes && l.n == 0 && !l.is_visit && l.i_problem == 0);
    ks_sched_lease_end(s, l.id);
    assert_int_equal(ks_sched_next(s, 0, 2, 5, &l, NULL), KS_SCHED_LEASE);
    is_visit(&l, 1);
    ks_sched_lease_end(s, l.id);
    l = next(s, 0, 3); /* with more time the cell that was left */
    assert_true(l.opens && l.n == 1 && l.i_problem == 0);
    ks_sched_destroy(s);
}

/* Of a device's leases the first one is in work: a visit behind it has not begun. */
static void test_visited(void **state)
{
    (void)state;
    struct ks_sched *s = make(&t, 2, 3, 20, ones);
    struct ks_lease cells, visit;
    add(s, 0);
    measure(s, 0, 0, 0);
    ask(s, 0, 0, 1);
    cells = next(s, 0, 0);
    assert_int_equal(cells.i_problem, 1);
    visit = next(s, 0, 2);
    is_visit(&visit, 0);
    assert_null(ks_sched_visited(s, 0));
    finish(s, &cells);
    assert_int_equal(ks_sched_visited(s, 0)->id, visit.id);
    assert_true(ks_sched_lease_end(s, visit.id));
    assert_null(ks_sched_visited(s, 0));
    assert_null(ks_sched_visited(s, 7)); /* nobody knows it */
    ks_sched_destroy(s);
}

/* After losses in visits cells run alone, and the next loss is the last. */
static void test_losses(void **state)
{
    (void)state;
    struct ks_sched *s = make(&t, 1, 3, 20, ones);
    uint32_t condemned[KS_LEASE_CELLS][2];
    struct ks_lease l;
    add(s, 0);
    measure(s, 0, 0, 0);
    for (uint32_t i = 1; i < 5; i++)
        add(s, i);
    ask(s, 0, 0, 0);
    for (uint32_t i = 0; i < 2; i++) {
        l = next(s, i, 1);
        is_visit(&l, 0);
        assert_int_equal(ks_sched_device_lost(s, i, true, condemned, KS_LEASE_CELLS), 0);
    }
    l = next(s, 2, 2);
    is_visit(&l, 0);
    assert_true(ks_sched_lease_end(s, l.id)); /* the caller does without */
    assert_int_equal(ks_sched_reopen_alone(s, 0, 1, NULL), 0);
    assert_int_equal(ks_sched_reopen_alone(s, 0, 2, NULL), 0);
    assert_false(ks_sched_is_complete(s, 0));
    for (uint32_t i = 0; i < 2; i++) {
        l = next(s, 2 + i, 3);
        assert_true(l.is_alone && l.n == 1 && l.i_instance[0] == 1 + i);
        must_not_lease(s, 4, INFINITY, KS_SCHED_WAIT); /* one at a time */
        if (i == 0)
            finish(s, &l);
    }
    assert_int_equal(ks_sched_device_lost(s, 3, true, condemned, KS_LEASE_CELLS), 1);
    assert_true(condemned[0][0] == 0 && condemned[0][1] == 2);
    ks_sched_done(s, 0, 2, KS_NO_DEVICE, 0);
    assert_true(ks_sched_is_complete(s, 0));
    ks_sched_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due),          cmocka_unit_test(test_gap_shrinks),
        cmocka_unit_test(test_other_device), cmocka_unit_test(test_any_device),
        cmocka_unit_test(test_time),         cmocka_unit_test(test_fits),
        cmocka_unit_test(test_leaves_block), cmocka_unit_test(test_visited),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
