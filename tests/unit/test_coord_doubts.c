/* SPDX-License-Identifier: MIT */
/* test_coord_doubts.c - doubts and confirmations when devices come, go and stall meanwhile */
/* Nobody waits for ever, nothing ends before its time, no failure is judged by less than there is.
 * */
#include "coord_bench.h"
#include "sanitized.h"

#include <stdlib.h>
#include <string.h>

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static void begin(const struct sim_plan *p, const char *names, uint32_t n_problems,
                  uint64_t max_time_ns)
{
    struct ks_coord_config c = { .max_time_ns = max_time_ns };
    sim_open(m, p, names, n_problems, 7);
    for (uint32_t i = 0; i < p->n_ranks; i++)
        m->ranks[i].measures = true;
    sim_coordinate(m, &c);
}

static const struct ks_ledger_cell *cell(uint32_t ip, uint32_t ii)
{
    struct ks_cell c = { ks_problem_table_id(&m->grid->problems, ip), m->grid->instances[ii].id,
                         m->grid->condition };
    return ks_ledger_find(m->ledger, &c);
}

static void expect_complete(void)
{
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
}

static uint32_t count_told(const char *line)
{
    uint32_t n = 0;
    for (const char *p = ks_buf_text(&m->told); (p = strstr(p, line)); p++)
        n++;
    return n;
}

static int look(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_event_rec e;
    if (f->type == KS_F_EVENT && ks_event_decode(f->body, f->n, &e, err) == 0)
        *(uint32_t *)ctx += e.kind == KS_EV_OVERDUE;
    return 0;
}

static uint32_t count_overdue(void)
{
    uint32_t n = 0;
    assert_int_equal(ks_journal_read(m->dir.journal, look, NULL, &n, NULL, NULL), 0);
    return n;
}

/* Fails three cells in a row: it is doubted. */
static void be_doubted(uint32_t i)
{
    m->ranks[i].fails = true;
    while (m->ranks[i].n_cells < 3 || m->ranks[i].n_leases)
        sim_turn(m);
}

/* The only one that could say whose fault it is leaves at this moment: the doubted one goes on, and
 * a limit of time that is far away is not taken for reached. */
static void test_the_last_judge_leaves(void **state)
{
    (void)state;
    const struct sim_plan p = { .n_ranks = 2, .n_hosts = 1 };
    begin(&p, "a b c d e f g h i j", 6, 3600000 * SIM_MS);
    be_doubted(0);
    m->ranks[1].is_broken = true;
    m->ranks[1].n_leases = 0;
    assert_int_equal(sim_send(m, 1, KS_F_MSG_BYE, 1, 0, NULL), 0);
    m->ranks[0].fails = false;
    sim_run(m, 60);
    expect_complete();
    sim_close(m);
}

/* It runs its failures once more itself, as suspects, and they go well: it waits for nobody then.
 */
static void test_it_answers_itself(void **state)
{
    (void)state;
    const struct sim_plan p = { .n_ranks = 2, .n_hosts = 1 };
    begin(&p, "a b c d e f g h i j", 6, 0);
    m->ranks[1].hangs = true; /* says nothing for now */
    be_doubted(0);
    m->ranks[0].fails = false;
    uint32_t n = m->ranks[0].n_leases_got;
    for (uint32_t ip = 0; ip < 6; ip++)
        for (uint32_t ii = 0; ii < 10; ii++) {
            struct ks_cell c = { ks_problem_table_id(&m->grid->problems, ip),
                                 m->grid->instances[ii].id, m->grid->condition };
            if (!cell(ip, ii) || cell(ip, ii)->outcome != KS_O_DEVICE_LOST)
                continue;
            sim_announce(m, 0, c.problem, c.instance, 2);
            assert_int_equal(sim_done(m, 0, c.problem, c.instance, 2, KS_O_OK, 0, NULL), 0);
        }
    for (uint32_t k = 0; k < 100; k++)
        sim_turn(m);
    assert_true(m->ranks[0].n_leases_got > n);
    m->ranks[1].hangs = false;
    sim_run(m, 60);
    expect_complete();
    sim_close(m);
}

/* It runs cells once more that are done, as suspects, and is lost with them: others do. */
static void test_lost_with_suspects(void **state)
{
    (void)state;
    for (uint32_t how = 0; how < 3; how++) {
        const struct sim_plan p = { .n_ranks = 3, .n_hosts = 1 };
        begin(&p, "a b c d e f g h i j", 20, 0);
        while (m->ranks[1].n_cells < 20)
            sim_turn(m);
        uint32_t n = 0;
        for (uint32_t ip = 0; ip < 20; ip++)
            for (uint32_t ii = 0; ii < 10; ii++)
                if (cell(ip, ii) && ks_ledger_is_final(cell(ip, ii)) && cell(ip, ii)->device == 2) {
                    sim_announce(m, 1, ks_problem_table_id(&m->grid->problems, ip),
                                 m->grid->instances[ii].id, 2);
                    n++;
                }
        assert_true(n > 10);
        if (how == 0) {
            m->ranks[1].state = SIM_DEAD;
        } else {
            m->ranks[1].is_broken = true;
            m->ranks[1].n_leases = 0;
            assert_int_equal(sim_send(m, 1, KS_F_MSG_BYE, 1, how == 2, NULL), 0);
        }
        sim_run(m, 60);
        expect_complete();
        sim_close(m);
    }
}

/* What is asked of others kills each of them: that is its outcome at the third, and the device that
 * waited for their verdict has nothing more to wait for. */
static void test_who_was_asked_is_killed(void **state)
{
    (void)state;
    const struct sim_plan p = { .n_ranks = 7, .n_hosts = 1 };
    uint32_t n_killed = 0, n_lost = 0;
    begin(&p, "a b c d e f g h", 6, 0);
    be_doubted(0);
    m->ranks[0].fails = false;
    for (uint32_t k = 0; k < 120000 && !ks_coord_is_over(m->coord); k++) {
        sim_turn(m);
        for (uint32_t i = 1; i < 7; i++)
            if (m->ranks[i].n_leases && m->ranks[i].leases[0].cells[0].attempt > 1 &&
                m->ranks[i].state == SIM_HERE) {
                m->ranks[i].state = SIM_DEAD;
                n_killed++;
            }
    }
    assert_int_equal(n_killed, 6);
    assert_true(ks_coord_is_over(m->coord));
    expect_complete();
    for (uint32_t ip = 0; ip < 6; ip++)
        for (uint32_t ii = 0; ii < 8; ii++)
            n_lost += cell(ip, ii)->outcome == KS_O_WORKER_LOST;
    assert_true(n_lost >= 1);
    sim_close(m);
}

/* It says that it is broken after it was quarantined: it has still to be told when all is over. */
static void test_quarantined_and_broken(void **state)
{
    (void)state;
    const struct sim_plan p = { .n_ranks = 5, .n_hosts = 1 };
    begin(&p, "a b c d e f g h i j k l m n o p q r s t", 40, 0);
    m->ranks[4].fails = true;
    while (!m->ranks[4].is_sent_off)
        sim_turn(m);
    assert_int_equal(sim_send(m, 4, KS_F_MSG_BYE, 1, 1, NULL), 0);
    sim_run(m, 600);
    assert_int_equal(count_told("drain 4 1 "), 1);
    assert_int_equal(m->ranks[4].state, SIM_LEFT);
    sim_close(m);
}

/* Others are still building when it fails: they are asked as soon as they can be. */
static void test_failures_before_the_others_are_ready(void **state)
{
    (void)state;
    const struct sim_plan p = {
        .n_ranks = 2, .n_hosts = 2, .has_own_caches = true, .n_targets = 2
    };
    begin(&p, "ok_a bad ok_b", 2, 0);
    m->crashes[1] = 1;
    m->ranks[0].host = 0;
    m->ranks[1].host = 1;
    m->ranks[0].own_cache = (1u << SIM_UNITS) - 1;
    while (m->ranks[0].n_cells < 6)
        sim_turn(m);
    assert_int_equal(m->ranks[1].n_leases_got, 0);
    assert_true(ks_ledger_is_final(cell(1, 1)));
    sim_run(m, 60);
    for (uint32_t ip = 0; ip < 2; ip++) {
        assert_int_equal(cell(ip, 1)->outcome, KS_O_CRASHED);
        assert_false(cell(ip, 1)->flags & KS_FL_UNCONFIRMED);
    }
    sim_close(m);
}

/* Others compile for hours, but what they were to be asked has answered itself: nobody waits. */
static void test_nothing_is_due_any_more(void **state)
{
    (void)state;
    const struct sim_plan p = {
        .n_ranks = 2, .n_hosts = 2, .has_own_caches = true, .n_targets = 2
    };
    begin(&p, "ok_a bad ok_b", 1, 0);
    m->crashes[1] = 1;
    m->ranks[0].host = 0;
    m->ranks[1].host = 1;
    m->ranks[0].own_cache = (1u << SIM_UNITS) - 1;
    while (m->ranks[0].n_cells < 3) {
        if (m->ranks[1].to_build)
            m->ranks[1].built_at = sim_now() + 36000000 * SIM_MS;
        sim_turn(m);
    }
    for (uint32_t k = 0; k < 100; k++)
        sim_turn(m);
    assert_false(ks_coord_is_over(m->coord)); /* rank 1 is to be asked */
    sim_announce(m, 0, ks_problem_table_id(&m->grid->problems, 0), m->grid->instances[1].id, 2);
    assert_int_equal(sim_done(m, 0, ks_problem_table_id(&m->grid->problems, 0),
                              m->grid->instances[1].id, 2, KS_O_OK, 0, NULL),
                     0);
    sim_run(m, 10);
    expect_complete();
    sim_close(m);
}

/* Rank 0 stood still for an hour, and all others with it, because nothing was acknowledged: no
 * lease is overdue for that. */
static void test_rank_0_was_held_up(void **state)
{
    (void)state;
    const struct sim_plan p = { .n_ranks = 4, .n_hosts = 1 };
    begin(&p, "a b c d e f g h i j k l m n o p q r s t", 20, 0);
    while (m->ranks[3].n_cells < 10)
        sim_turn(m);
    sim_hold_up(m, 3600000 * SIM_MS);
    sim_run(m, 600);
    expect_complete();
    assert_int_equal(count_overdue(), 0);
    sim_close(m);
}

/* Devices that fail at times or always, ranks that are lost, freeze, lose their wardens and come
 * back: it ends before the limit of time, and who is left has measured everything. */
static void test_storm(void **state)
{
    enum { N_SEEDS = IS_SANITIZED ? 40 : 200 };
    (void)state;
    uint32_t n_complete = 0, n_quarantined = 0;
    for (uint32_t seed = 1; seed <= N_SEEDS; seed++) {
        const struct sim_plan p = { .n_ranks = 2 + seed % 6,
                                    .n_hosts = 1 + seed % 2,
                                    .first_safe = 1 + seed % 6,
                                    .kill = seed % 3 * 60,
                                    .hang = seed % 4 * 100,
                                    .widow = seed % 5 * 30,
                                    .quarantine = seed % 2 * 40,
                                    .bad = seed % 7 * 80,
                                    .dirty = seed % 3 * 50 };
        begin(&p, "a b c d e f g h i j k l", 12, 36000000 * SIM_MS);
        m->rng = seed;
        uint64_t limit = sim_now() + 600000 * SIM_MS;
        while (!ks_coord_is_over(m->coord) && sim_now() < limit) {
            struct sim_rank *r = &m->ranks[ks_rng_below(&m->rng, p.n_ranks)];
            if (ks_rng_below(&m->rng, 1000) < 5)
                r->fails = !r->fails && ks_rng_below(&m->rng, 3) == 0;
            sim_turn(m);
        }
        if (!ks_coord_is_over(m->coord))
            fail_msg("seed %u: not over, %u pending", seed, (unsigned)ks_coord_n_pending(m->coord));
        bool is_complete = strcmp(ks_coord_reason(m->coord), "complete") == 0;
        if (!is_complete)
            assert_string_equal(ks_coord_reason(m->coord), "no rank is left to measure");
        assert_true(!is_complete || !ks_coord_n_pending(m->coord));
        n_complete += is_complete;
        for (uint32_t i = 0; i < p.n_ranks; i++)
            n_quarantined += m->ranks[i].is_sent_off;
        sim_close(m);
    }
    print_message("%u complete, %u quarantined\n", n_complete, n_quarantined);
    assert_true(n_complete > 0.3 * N_SEEDS && n_quarantined > 0.1 * N_SEEDS);
}

/* Where silence is not borne for long, rank 0 is heard of often enough not to be missed. */
static void test_beats(void **state)
{
    (void)state;
    const struct sim_plan p = { .n_ranks = 2, .n_hosts = 1 };
    struct ks_coord_config c = { .lost_after_ns = 1000 * SIM_MS };
    sim_open(m, &p, "a b c d e f g h i j", 100, 7);
    sim_coordinate(m, &c);
    for (uint32_t i = 0; i < 2; i++) /* at once: silence counts from the start */
        m->ranks[i].hello_at = 0;
    uint64_t begun = sim_now();
    while (sim_now() < begun + 900 * SIM_MS)
        sim_turn(m);
    assert_in_range(m->ranks[1].n_beats, 3, 5);
    sim_close(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, sim_free)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_last_judge_leaves),
        TEST(test_it_answers_itself),
        TEST(test_lost_with_suspects),
        TEST(test_who_was_asked_is_killed),
        TEST(test_quarantined_and_broken),
        TEST(test_failures_before_the_others_are_ready),
        TEST(test_nothing_is_due_any_more),
        TEST(test_rank_0_was_held_up),
        TEST(test_beats),
        TEST(test_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
