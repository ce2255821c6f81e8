/* SPDX-License-Identifier: MIT */
/* test_coord_lifted.c - cells that a later life can measure: a compiler, a repaired object */
/* Cells that were unsupported for want of a compiler, and a life in which it is there; cells whose
 * object was damaged, and a life in which it is repaired. */
#include "coord_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static const struct sim_plan three = { .n_ranks = 3, .n_hosts = 1 };

static const struct ks_ledger_cell *cell(uint32_t ip, uint32_t ii)
{
    struct ks_cell c = { ks_problem_table_id(&m->grid->problems, ip), m->grid->instances[ii].id,
                         m->grid->condition };
    return ks_ledger_find(m->ledger, &c);
}

static void lacks(uint32_t ii, const char *what)
{
    struct ks_instance *i = &m->grid->instances[ii];
    snprintf(i->missing, sizeof(i->missing), "%s", what);
}

/* One letter and the attempt that counts per instance: o ok, u unsupported, a aliased,
 * l load_failed. */
static void is_like(uint32_t ip, const char *want)
{
    char have[64] = "";
    for (uint32_t ii = 0; ii < m->grid->n_instances; ii++) {
        const struct ks_ledger_cell *k = cell(ip, ii);
        assert_true(ks_ledger_is_final(k));
        snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%c%u", ii ? " " : "",
                 ks_outcome_text(k->outcome)[0], k->attempt);
    }
    if (strcmp(have, want) != 0)
        fail_msg("problem %u: have %s, want %s", ip, have, want);
}

static uint32_t n_measured(void) /* in this life */
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->plan.n_ranks; i++)
        n += m->ranks[i].n_cells;
    return n;
}

/* Another life, to its end; the number of cells that ranks measured in it. */
static uint32_t resume(void)
{
    sim_resume(m, 0);
    sim_run(m, 30);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    return n_measured();
}

static void test_compiler_comes(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c", 4, 1);
    lacks(1, "compiler clang is not installed");
    m->refuses[2] = 1; /* its own test says so: that stays */
    sim_coordinate(m, NULL);
    sim_run(m, 30);
    is_like(0, "o1 u1 u1");
    assert_int_equal(resume(), 0);
    is_like(0, "o1 u1 u1");
    lacks(1, "");
    assert_int_equal(resume(), 4);
    for (uint32_t ip = 0; ip < 4; ip++)
        is_like(ip, "o1 o2 u1");
    assert_int_equal(resume(), 0);
    sim_close(m);
}

/* Whoever was settled so stands beside those of its code as if nothing had been said of it. */
static void test_aliases(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c ok_d", 3, 1);
    m->grid->job.measure.alias_control = 0;
    m->code[1] = m->code[2] = 1;
    m->code[0] = m->code[3] = 2;
    lacks(1, "compiler clang is not installed");
    lacks(2, "compiler clang is not installed");
    lacks(3, "compiler clang is not installed");
    sim_coordinate(m, NULL);
    sim_run(m, 30);
    is_like(0, "o1 u1 u1 u1");
    lacks(1, "");
    lacks(2, "");
    lacks(3, "");
    assert_int_equal(resume(), 3);
    for (uint32_t ip = 0; ip < 3; ip++)
        is_like(ip, "o1 o2 a2 a2");
    assert_int_equal(resume(), 0);
    sim_close(m);
}

/* It is there now, but the kernel cannot run this problem. */
static void test_refused_after_all(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b", 2, 1);
    lacks(1, "compiler clang is not installed");
    m->refuses[1] = 1;
    sim_coordinate(m, NULL);
    sim_run(m, 30);
    lacks(1, "");
    assert_int_equal(resume(), 2);
    is_like(1, "o1 u2");
    assert_int_equal(resume(), 0);
    sim_close(m);
}

/* Another life that is to end when so many cells are measured; how many it still owes. */
static uint64_t drained(uint32_t retry, uint32_t n_cells)
{
    struct ks_err err;
    sim_resume(m, retry);
    while (n_measured() < n_cells)
        sim_turn(m);
    assert_int_equal(ks_coord_drain(m->coord, "asked to", &err), 0);
    sim_run(m, 30);
    return ks_coord_n_again(m->coord);
}

/* Whoever started it is not told that all is done. */
static void test_owed(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c", 40, 1);
    lacks(1, "compiler clang is not installed");
    m->refuses[2] = 1;
    sim_coordinate(m, NULL);
    sim_run(m, 30);
    assert_int_equal(ks_coord_n_again(m->coord), 0);
    assert_int_equal(drained(0, 0), 0);
    assert_int_equal(drained(1u << KS_O_OK, 0), 40);
    assert_int_equal(drained(1u << KS_O_UNSUPPORTED, 0), 80);
    lacks(1, "");
    assert_int_equal(drained(0, 0), 40);
    assert_int_equal(drained(1u << KS_O_OK, 0), 80);
    const uint64_t owed = drained(1u << KS_O_OK, 1);
    assert_int_equal(owed + ks_coord_n_pending(m->coord) + n_measured(), 80);
    assert_true(owed > 0);
    (void)resume();
    assert_int_equal(ks_coord_n_again(m->coord), 0);
    sim_close(m);
}

/* An object that was not what was built is built again: what was in it is measured. One that could
 * not be loaded for another reason would fail again. */
static void test_damaged(void **state)
{
    (void)state;
    sim_open(m, &three, "ok_a ok_b ok_c", 2, 1);
    m->fails_as[1] = m->fails_as[2] = KS_O_LOAD_FAILED;
    m->flags[1] = KS_FL_DAMAGED >> 8;
    sim_coordinate(m, NULL);
    sim_run(m, 30);
    is_like(0, "o1 l2 l2"); /* confirmed by another device */
    assert_true(cell(0, 1)->flags & KS_FL_DAMAGED);
    assert_int_equal(drained(0, 0), 2); /* owed, though nothing was asked for */
    m->fails_as[1] = m->fails_as[2] = 0;
    assert_int_equal(resume(), 2);
    is_like(0, "o1 o3 l2");
    is_like(1, "o1 o3 l2");
    assert_int_equal(resume(), 0);
    sim_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_compiler_comes, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_aliases, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_refused_after_all, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_owed, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_damaged, set_up, sim_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
