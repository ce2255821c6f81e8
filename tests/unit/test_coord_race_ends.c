/* SPDX-License-Identifier: MIT */
/* test_coord_race_ends.c - visits by the coordinator at the ends of races and lives */
/* In virtual time: failures on other devices and after a race has ended, drains, a limit of time.
 * */
#include "coord_bench_race.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static const struct sim_plan one = { .n_ranks = 1, .n_hosts = 1 };
static const struct sim_plan two = { .n_ranks = 3, .n_hosts = 1 }; /* rank 0 does not measure */

/* The first rank has measured round 0 and is lost; the second one repeats what failed in a visit,
 * in an attempt of its own. */
static void test_retry_on_another_device(void **state)
{
    (void)state;
    const struct sim_rank *r = &m->ranks[2];
    const struct ks_ledger_cell *known = NULL;
    sim_open_planted(m, &two, 4, 5);
    m->noise = 0.02;
    sim_coordinate(m, NULL);
    while (!sim_has_visits(m, 1, 1))
        sim_turn(m);
    m->ranks[1].state = SIM_DEAD;
    while (!known || known->device != 2) {
        sim_turn(m);
        known = r->n_leases && r->leases[0].n_visit
                    ? sim_cell(m, r->leases[0].i_problem, r->leases[0].cells[r->at].i_instance)
                    : NULL;
    }
    uint32_t ip = r->leases[0].i_problem;
    uint64_t instance = known->cell.instance;
    sim_announce(m, 2, known->cell.problem, instance, 2);
    known = sim_cell(m, ip, (uint32_t)ks_grid_instance(m->grid, instance));
    assert_int_equal(known->max_started, 2);
    assert_false(ks_ledger_is_final(known)); /* not before the record of the new attempt */
    assert_int_equal(sim_done(m, 2, known->cell.problem, instance, 1, KS_O_CRASHED, 0, NULL), 0);
    assert_int_equal(sim_done(m, 2, known->cell.problem, instance, 2, KS_O_OK, 0, NULL), 0);
    known = sim_cell(m, ip, (uint32_t)ks_grid_instance(m->grid, instance));
    assert_true(ks_ledger_is_final(known));
    assert_int_equal(known->attempt, 2);
    assert_int_equal(known->outcome, KS_O_OK);
    sim_run(m, 100);
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    sim_close(m);
}

/* Its label fails when the race has ended, with and without a life in between. */
static void test_failure_after_the_race(void **state)
{
    (void)state;
    struct ks_buf a, b;
    ks_buf_init(&a);
    ks_buf_init(&b);
    for (int is_resumed = 0; is_resumed < 2; is_resumed++) {
        struct ks_race_rec of[SIM_PROBLEMS];
        uint64_t problem, label;
        uint32_t ip = 0;
        sim_open_planted(m, &one, 4, 5);
        label = m->grid->instances[1].id;
        sim_coordinate(m, NULL);
        while (!sim_raced(m, ip) || sim_raced(m, ip)->race_label != label) {
            sim_turn(m);
            ip = (ip + 1) % 4;
        }
        problem = ks_problem_table_id(&m->grid->problems, ip);
        sim_announce(m, 0, problem, label, 2);
        assert_int_equal(sim_done(m, 0, problem, label, 2, KS_O_CRASHED, 0, NULL), 0);
        assert_int_equal(sim_raced(m, ip)->race_stop, KS_RACE_CUT);
        assert_int_equal(sim_raced(m, ip)->race_label, 0);
        if (is_resumed) {
            assert_int_equal(ks_coord_drain(m->coord, "test", NULL), 0);
            sim_run(m, 60);
            assert_int_equal(sim_raced(m, ip)->race_label, 0);
            sim_resume(m, 0);
        }
        sim_run(m, 60);
        sim_verdicts(m, of);
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(sim_raced(m, i)->race_stop && sim_raced(m, i)->race_stop != KS_RACE_CUT);
            assert_int_equal(sim_raced(m, i)->race_label,
                             i == ip ? m->grid->instances[4].id : label);
            assert_int_equal(of[i].label, sim_raced(m, i)->race_label);
        }
        ks_buf_clear(&a);
        ks_buf_clear(&b);
        sim_put_pools(m->coord, &a); /* nothing is in them twice */
        sim_resume(m, 0);
        sim_put_pools(m->coord, &b);
        assert_string_equal(ks_buf_text(&a), ks_buf_text(&b));
        sim_run(m, 60);
        sim_close(m);
    }
    ks_buf_release(&a);
    ks_buf_release(&b);
}

/* A life ended after the failure of a label and before the verdict was withdrawn. */
static void test_failure_at_the_end_of_a_life(void **state)
{
    (void)state;
    static struct ks_record r;
    struct ks_err err = { 0 };
    struct ks_buf body;
    sim_open_planted(m, &one, 2, 5);
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    assert_int_equal(sim_raced(m, 1)->race_label, m->grid->instances[1].id);
    ks_record_init(&r);
    r.cell = sim_cell(m, 1, 1)->cell;
    r.attempt = 2;
    r.outcome = KS_O_CRASHED;
    r.device_id = 1;
    r.worker = (struct ks_id128){ 1, 1 };
    ks_buf_init(&body);
    ks_record_encode(&r, &body);
    assert_int_equal(
        ks_journal_append(m->journal, KS_F_DONE, body.data, body.len, &(uint64_t){ 0 }, &err), 0);
    assert_int_equal(ks_journal_sync(m->journal, &(uint64_t){ 0 }, &err), 0);
    ks_buf_release(&body);
    sim_resume(m, 0);
    sim_run(m, 60);
    assert_int_equal(sim_raced(m, 0)->race_label, m->grid->instances[1].id);
    assert_int_equal(sim_raced(m, 1)->race_label, m->grid->instances[4].id);
    assert_true(sim_raced(m, 1)->race_stop != KS_RACE_CUT);
    sim_close(m);
}

/* A drain cuts races that have not begun, too: round 0 of this problem was not even complete. */
static void test_drain_before_visits(void **state)
{
    (void)state;
    struct ks_ledger_counts n = { .n_records = 0 };
    sim_open_planted(m, &one, 3, 9);
    m->grid->job.isolate.batch = 2;
    sim_coordinate(m, NULL);
    for (; n.n_records < 3; ks_ledger_counts(m->ledger, &n))
        sim_turn(m);
    assert_int_equal(ks_coord_drain(m->coord, "test", NULL), 0);
    sim_run(m, 60);
    ks_ledger_counts(m->ledger, &n);
    assert_true(n.n_cut == 1 && n.n_races == 0);
    sim_resume(m, 0);
    sim_run(m, 60);
    ks_ledger_counts(m->ledger, &n);
    assert_true(n.n_cut == 0 && n.n_races == 3);
    sim_close(m);
}

/* When nothing fits into what is left of the time, races are cut. */
static void test_max_time(void **state)
{
    (void)state;
    struct ks_coord_config c = { .max_time_ns = 1000 * SIM_MS };
    struct ks_visits_left left;
    uint64_t from;
    uint32_t n_cut = 0;
    sim_open_planted(m, &one, 4, 9);
    m->noise = 0.05;
    from = sim_now();
    sim_coordinate(m, &c);
    ks_coord_visits_left(m->coord, &left);
    assert_true(left.n >= 8 && left.device_s > 0 && left.later_s > 0);
    sim_run(m, 60);
    assert_string_equal(ks_coord_reason(m->coord), "max-time");
    assert_true(sim_now() - from > 400 * SIM_MS && sim_now() - from < 1300 * SIM_MS);
    for (uint32_t ip = 0; ip < 4; ip++) {
        assert_true(sim_raced(m, ip)->race_stop > 0);
        n_cut += sim_raced(m, ip)->race_stop == KS_RACE_CUT;
    }
    ks_coord_visits_left(m->coord, &left);
    assert_true(n_cut > 0 && left.n >= n_cut && left.device_s > 0);
    sim_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_retry_on_another_device, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_failure_after_the_race, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_failure_at_the_end_of_a_life, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_drain_before_visits, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_max_time, set_up, sim_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
