/* SPDX-License-Identifier: MIT */
/* test_bad.c - the list of failures against a table of all cells; many of them; no memory */
#include "mpi/bad.h"

#include "base/clock.h"
#include "base/hash.h"
#include "fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PROBLEMS = 20, INSTANCES = 30, MANY = 400000 };

static void test_against_a_table(void **state)
{
    (void)state;
    static uint32_t attempt[PROBLEMS][INSTANCES]; /* 0: not there */
    struct ks_bad l = { .n = 0 };
    uint64_t rng = 3;
    uint32_t n = 0;
    assert_null(ks_bad_find(&l, 0, 0));
    for (uint32_t step = 1; step < 200000; step++) {
        uint32_t ip = (uint32_t)ks_rng_below(&rng, PROBLEMS);
        uint32_t ii = (uint32_t)ks_rng_below(&rng, INSTANCES);
        struct ks_bad_cell *b = ks_bad_find(&l, ip, ii);
        assert_int_equal(b != NULL, attempt[ip][ii] != 0);
        if (b) {
            assert_int_equal(b->i_problem, ip);
            assert_int_equal(b->i_instance, ii);
            assert_int_equal(b->attempt, attempt[ip][ii]);
            ks_bad_drop(&l, b);
            attempt[ip][ii] = 0;
            n--;
        } else {
            b = ks_bad_add(&l, ip, ii, NULL);
            assert_non_null(b);
            assert_int_equal(b->rank, KS_NO_DEVICE);
            b->attempt = attempt[ip][ii] = step;
            n++;
        }
        assert_int_equal(l.n, n);
    }
    ks_bad_release(&l);
    assert_int_equal(l.n, 0);
}

/* Looking through all of them for each would take minutes. */
static void test_many(void **state)
{
    (void)state;
    struct ks_bad l = { .n = 0 };
    uint64_t begun = ks_now_ns();
    for (uint32_t i = 0; i < MANY; i++) {
        assert_null(ks_bad_find(&l, i / 1000, i % 1000));
        assert_non_null(ks_bad_add(&l, i / 1000, i % 1000, NULL));
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_non_null(ks_bad_find(&l, i / 1000, i % 1000));
    for (uint32_t i = 0; i < MANY; i++)
        ks_bad_drop(&l, ks_bad_find(&l, i / 1000, i % 1000));
    assert_int_equal(l.n, 0);
    assert_true(ks_now_ns() - begun < 5000000000u);
    ks_bad_release(&l);
}

static void test_without_memory(void **state)
{
    (void)state;
    struct ks_bad l = { .n = 0 };
    for (uint32_t i = 0; i < 64; i++)
        assert_non_null(ks_bad_add(&l, i, i, NULL));
    for (unsigned n = 0;; n++) {
        struct ks_err err = { 0 };
        fault_arm(n);
        struct ks_bad_cell *b = ks_bad_add(&l, 1, 0, &err);
        if (!fault_disarm()) {
            assert_non_null(b);
            assert_int_equal(n, 2);
            break;
        }
        assert_null(b);
        assert_int_equal(err.code, KS_ENOMEM);
        assert_int_equal(l.n, 64);
        for (uint32_t i = 0; i < 64; i++)
            assert_non_null(ks_bad_find(&l, i, i));
    }
    ks_bad_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_a_table),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
