/* SPDX-License-Identifier: MIT */
/* test_coord_race_losses.c - visits that cost ranks and devices, in virtual time, and what is still
 * expected of visits. */
#include "coord_bench_race.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static const struct sim_plan one = { .n_ranks = 1, .n_hosts = 1 };
static const struct sim_plan many = { .n_ranks = 8, .n_hosts = 1 }; /* rank 0 does not measure */

/* ---- visits that kill ---- */

static uint32_t n_gone(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->plan.n_ranks; i++)
        n += m->ranks[i].state == SIM_DEAD || m->ranks[i].is_broken;
    return n;
}

static void run_deadly(enum sim_deadly how, uint32_t n_problems)
{
    sim_open_planted(m, &many, n_problems, 5);
    m->deadly[1] = (uint8_t)how;
    sim_coordinate(m, NULL);
    sim_run(m, 300);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
}

/* Two ranks are lost in its visits and one in which it runs alone: it is no label any more. */
static void test_killer_is_convicted(void **state)
{
    (void)state;
    run_deadly(SIM_KILLS, 1);
    assert_int_equal(n_gone(), KS_LOSSES_FINAL);
    assert_int_equal(sim_cell(m, 0, 1)->outcome, KS_O_WORKER_LOST);
    assert_int_equal(sim_cell(m, 0, 1)->attempt, 2);
    assert_int_equal(sim_cell(m, 0, 4)->outcome, KS_O_OK);
    assert_int_equal(sim_raced(m, 0)->race_label, m->grid->instances[4].id);
    assert_true(sim_raced(m, 0)->race_stop && sim_raced(m, 0)->race_stop != KS_RACE_CUT &&
                sim_raced(m, 0)->race_stop != KS_RACE_NOISY);
    sim_close(m);
}

/* Alone its instances do no harm: the third loss ends the visits, the label stays. */
static void test_visits_that_kill_end(void **state)
{
    (void)state;
    run_deadly(SIM_KILLS_VISITS, 1);
    assert_int_equal(n_gone(), KS_LOSSES_FINAL);
    assert_int_equal(sim_cell(m, 0, 1)->outcome, KS_O_OK);
    assert_int_equal(sim_cell(m, 0, 1)->attempt, 2);
    assert_int_equal(sim_raced(m, 0)->race_stop, KS_RACE_NOISY);
    assert_int_equal(sim_raced(m, 0)->race_label, m->grid->instances[1].id);
    sim_close(m);
}

/* A visit was measured before they began to kill: its device says what is decided, and the visits
 * end as noisy only if that is nothing. */
static void test_visits_before_count(void **state)
{
    (void)state;
    static const struct {
        double second_ns;
        uint32_t stop;
    } rows[] = { { 1.01e6, KS_RACE_NOISY }, { 3e6, KS_RACE_ALONE } };
    struct sim_visit v[SIM_VISITS];
    struct ks_race_rec of[SIM_PROBLEMS];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sim_open_planted(m, &many, 1, 5);
        m->time_ns[4] = rows[i].second_ns;
        m->noise = 0.01;
        sim_coordinate(m, NULL);
        while (sim_visits(m, v) < 2)
            sim_turn(m);
        m->deadly[1] = SIM_KILLS_VISITS;
        sim_run(m, 300);
        sim_verdicts(m, of);
        assert_int_equal(n_gone(), KS_LOSSES_FINAL);
        assert_int_equal(of[0].stop, rows[i].stop);
        assert_int_equal(of[0].device_id, v[0].rank + 1);
        sim_close(m);
    }
}

/* A rank is lost between the last record of a visit and its end: what that visit has decided is
 * decided, and nobody else visits the problem. */
static void test_last_words(void **state)
{
    (void)state;
    struct sim_visit v[SIM_VISITS];
    struct ks_race_rec of[SIM_PROBLEMS];
    struct sim_rank *r;
    uint32_t i_last;
    sim_open_planted(m, &many, 1, 5);
    m->time_ns[4] = 3e6;
    sim_coordinate(m, NULL);
    while (sim_visits(m, v) < 2)
        sim_turn(m);
    for (uint32_t i = 1; i < many.n_ranks; i++) /* as they have told */
        m->coord->ranks[i].device_id = i + 1;
    r = &m->ranks[v[1].rank];
    while (r->at + 1 < r->leases[0].n)
        sim_turn(m);
    i_last = r->leases[0].cells[r->at].i_instance;
    assert_int_equal(sim_done(m, v[1].rank, ks_problem_table_id(&m->grid->problems, 0),
                              m->grid->instances[i_last].id, 1, KS_O_OK, 0, NULL),
                     0);
    r->state = SIM_DEAD;
    sim_run(m, 300);
    sim_verdicts(m, of);
    assert_int_equal(sim_visits(m, v), 2);
    assert_int_equal(of[0].stop, KS_RACE_ALONE);
    assert_int_equal(of[0].device_id, v[1].rank + 1);
    sim_close(m);
}

/* Its failure is recorded, so the second device reproduces it. */
static void test_broken_devices(void **state)
{
    (void)state;
    run_deadly(SIM_BREAKS_VISITS, 1);
    assert_int_equal(n_gone(), 2);
    assert_int_equal(sim_cell(m, 0, 1)->outcome, KS_O_CRASHED);
    assert_false(sim_cell(m, 0, 1)->flags & KS_FL_UNCONFIRMED);
    assert_int_equal(sim_raced(m, 0)->race_label, m->grid->instances[4].id);
    sim_close(m);
}

/* ---- later lives ---- */

/* Losses count in later lives, too: three of all of them end the visits, and then one per life. */
static void test_losses_of_earlier_lives(void **state)
{
    (void)state;
    sim_open_planted(m, &many, 1, 5);
    m->deadly[1] = SIM_KILLS_VISITS;
    sim_coordinate(m, NULL);
    while (!ks_coord_lost_anyone(m->coord))
        sim_turn(m);
    sim_resume(m, 0);
    sim_run(m, 300);
    assert_int_equal(n_gone(), KS_LOSSES_FINAL - 1);
    assert_int_equal(sim_raced(m, 0)->race_stop, KS_RACE_NOISY);
    sim_resume(m, 0);
    sim_run(m, 300);
    assert_int_equal(n_gone(), 1);
    assert_int_equal(sim_raced(m, 0)->race_stop, KS_RACE_NOISY);
    sim_close(m);
}

/* What the killer of an earlier life has cost does not count: contenders do not run alone again. */
static void test_convicted_in_an_earlier_life(void **state)
{
    (void)state;
    const struct ks_ledger_cell *killer;
    sim_open_planted(m, &many, 1, 5);
    m->time_ns[2] = 1.005e6;
    m->deadly[1] = SIM_KILLS;
    sim_coordinate(m, NULL);
    do {
        sim_turn(m);
        killer = sim_cell(m, 0, 1);
    } while (!killer || killer->outcome != KS_O_WORKER_LOST || m->coord->races.n_waiting);
    assert_int_equal(sim_raced(m, 0)->race_stop, KS_RACE_CUT);
    sim_resume(m, 0);
    sim_run(m, 300);
    assert_int_equal(n_gone(), 0);
    assert_int_equal(sim_cell(m, 0, 2)->attempt, 2);
    assert_int_equal(sim_cell(m, 0, 4)->attempt, 2);
    sim_close(m);
}

/* The next visit ends before anything is measured. */
static void refuse_visit(void)
{
    struct sim_rank *r = &m->ranks[0];
    while (!r->n_leases || !r->leases[0].n_visit)
        sim_turn(m);
    assert_int_equal(r->n_leases, 1);
    r->n_leases = r->at = 0;
    assert_int_equal(sim_send(m, 0, KS_F_MSG_LEASE_END, r->leases[0].lease, 0, NULL), 0);
}

/* So do visits that ended without a record. */
static void test_unclosed_visits_of_earlier_lives(void **state)
{
    (void)state;
    sim_open_planted(m, &one, 1, 5);
    sim_coordinate(m, NULL);
    refuse_visit();
    refuse_visit();
    sim_resume(m, 0);
    refuse_visit();
    assert_int_equal(sim_raced(m, 0)->race_stop, KS_RACE_NOISY);
    sim_run(m, 60);
    sim_close(m);
}

/* Everything is contaminated: three visits, however many lives they take. */
static void test_futile_visits_of_earlier_lives(void **state)
{
    (void)state;
    static const struct sim_plan noisy = { .n_ranks = 1, .n_hosts = 1, .dirty = 1000 };
    struct sim_visit v[SIM_VISITS];
    sim_open_planted(m, &noisy, 1, 5);
    sim_coordinate(m, NULL);
    while (!sim_has_visits(m, 0, 3)) /* the third one is cut */
        sim_turn(m);
    assert_int_equal(ks_coord_drain(m->coord, "test", NULL), 0);
    sim_run(m, 60);
    assert_int_equal(sim_raced(m, 0)->race_stop, KS_RACE_CUT);
    sim_resume(m, 0);
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 1);
    assert_int_equal(sim_raced(m, 0)->race_stop, KS_RACE_NOISY);
    sim_close(m);
}

/* One instance is left, but the pilots of the first problem have had one visit of two. */
static void test_one_is_left_at_the_limit(void **state)
{
    (void)state;
    struct sim_visit v[SIM_VISITS];
    sim_open_planted(m, &one, 1, 5);
    m->time_ns[4] = 3e6;
    m->grid->job.rounds.max = 2;
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 1);
    assert_int_equal(sim_raced(m, 0)->race_stop, KS_RACE_ALONE);
    sim_resume(m, 0); /* it is settled */
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 0);
    sim_close(m);
}

/* ---- what is expected ---- */

static struct ks_visits_left left(void)
{
    struct ks_visits_left l;
    ks_coord_visits_left(m->coord, &l);
    assert_true(l.n >= 0 && l.n_measured >= 0 && l.device_s >= 0 && l.each >= 0);
    assert_true(l.later_s > -1e-9 && l.later_s <= l.device_s + 1e-9);
    return l;
}

static size_t n_given(void)
{
    struct sim_visit v[SIM_VISITS];
    return sim_visits(m, v);
}

/* As long as no round 0 is complete nothing is known of visits: what is expected of them does not
 * fall with the cells of problems that are in progress, in this life or in the next one. */
static void test_expected_in_round_0(void **state)
{
    (void)state;
    struct ks_sched_counts s;
    struct ks_ledger_counts n;
    double first;
    sim_open_planted(m, &many, 7, 3);
    sim_coordinate(m, NULL);
    first = left().n_measured;
    assert_true(first > 0);
    for (uint32_t life = 1; life <= 2; life++) {
        do {
            sim_turn(m);
            ks_ledger_counts(m->ledger, &n);
            ks_sched_counts(m->coord->sched, &s);
        } while (n.n_final < life * 7 * 3 || s.n_untouched);
        assert_int_equal(s.n_complete, 0);
        assert_true(fabs(left().n_measured / first - 1) < 0.01);
        sim_resume(m, 0);
        assert_true(fabs(left().n_measured / first - 1) < 0.01);
    }
    sim_close(m);
}

/* Nor does what is expected of a problem in progress, once others have told how many contenders
 * there are. */
static void test_expected_in_progress(void **state)
{
    (void)state;
    static const struct sim_plan two = { .n_ranks = 3, .n_hosts = 1 };
    struct ks_sched_counts s = { .n_complete = 0 };
    double first = 0;
    uint32_t n = 0;
    sim_open_planted(m, &two, 4, 3);
    m->grid->job.rounds.gap_s = 100;
    sim_coordinate(m, NULL);
    while (s.n_complete <= 2) {
        sim_turn(m);
        ks_sched_counts(m->coord->sched, &s);
        if (s.n_complete != 2 || s.n_untouched || m->coord->races.n_begun != 2)
            continue;
        first = n++ ? first : left().each;
        assert_true(first > 0 && fabs(left().each / first - 1) < 0.05);
    }
    assert_true(n > 20); /* milliseconds */
    sim_close(m);
}

/* With all round 0 done it falls from visit to visit, and is what visits then take. */
static void test_expected_falls(void **state)
{
    (void)state;
    struct ks_ledger_counts n;
    uint64_t n_before;
    double last, first;
    uint32_t n_rises = 0, n_visits = 0;
    sim_open_planted(m, &one, 8, 3);
    m->grid->job.rounds.gap_s = 100;
    sim_coordinate(m, NULL);
    assert_true(left().n_measured > 0);
    while (m->coord->races.n_begun + m->coord->races.n_ended < 8)
        sim_turn(m);
    ks_ledger_counts(m->ledger, &n);
    n_before = n.n_visit_records;
    first = last = left().n_measured;
    while (!ks_coord_is_over(m->coord)) {
        const size_t had = n_given();
        sim_turn(m);
        if (n_given() == had)
            continue;
        n_visits++;
        n_rises += left().n_measured > last;
        last = left().n_measured;
    }
    ks_ledger_counts(m->ledger, &n);
    print_message("expected %.0f measurements, %llu were needed; it rose at %u of %u visits\n",
                  first, (unsigned long long)(n.n_visit_records - n_before), n_rises, n_visits);
    assert_true(n_visits >= 8 && n_rises == 0);
    assert_true(fabs(log(first / (double)(n.n_visit_records - n_before))) < log(2.2));
    assert_true(left().device_s <= 0 && left().n_measured <= 0 && left().n <= 0);
    sim_close(m);
}

/* What a problem has had of its visits no longer remains, in this life or in the next one, which
 * knows how many contenders there are as soon as it has looked at its problems. */
static void test_expected_after_resuming(void **state)
{
    (void)state;
    struct ks_visits_left before, at_once, after;
    sim_open_planted(m, &one, 8, 3);
    m->noise = 0.01;
    sim_coordinate(m, NULL);
    while (!sim_has_visits(m, 0, 16))
        sim_turn(m);
    assert_int_equal(ks_coord_drain(m->coord, "test", NULL), 0);
    sim_run(m, 60);
    before = left();
    sim_resume(m, 0);
    at_once = left();
    while (!n_given())
        sim_turn(m);
    after = left();
    print_message(
        "%.0f measurements before, %.0f when resumed, then %.0f; %.2f s, %.2f s, %.2f s\n",
        before.n_measured, at_once.n_measured, after.n_measured, before.device_s, at_once.device_s,
        after.device_s);
    assert_true(before.n_measured > 10);
    assert_true(fabs(log(at_once.n_measured / before.n_measured)) < log(1.5));
    assert_true(fabs(log(after.n_measured / before.n_measured)) < log(1.2));
    assert_true(fabs(log(after.device_s / before.device_s)) < log(1.6));
    sim_run(m, 60);
    assert_true(left().device_s <= 0 && left().n_measured <= 0);
    sim_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killer_is_convicted, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_visits_that_kill_end, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_visits_before_count, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_last_words, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_broken_devices, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_losses_of_earlier_lives, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_convicted_in_an_earlier_life, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_unclosed_visits_of_earlier_lives, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_futile_visits_of_earlier_lives, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_one_is_left_at_the_limit, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_expected_in_round_0, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_expected_in_progress, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_expected_falls, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_expected_after_resuming, set_up, sim_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
