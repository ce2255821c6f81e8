/* SPDX-License-Identifier: MIT */
/* test_coord.c - the coordinator, step by step; test_coord_sim.c runs it with many ranks */
#include "coord_bench.h"

#include "base/clock.h"
#include "record/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static const struct sim_plan nothing = { .n_ranks = 3, .n_hosts = 1 };

static void many_names(char *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + 3 * i, "ok ", 4);
}

static void turns(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sim_turn(m);
}

static const struct ks_ledger_cell *cell(uint32_t ip, uint32_t ii)
{
    struct ks_cell c = { ks_problem_table_id(&m->grid->problems, ip), m->grid->instances[ii].id,
                         m->grid->condition };
    return ks_ledger_find(m->ledger, &c);
}

static uint64_t problem(uint32_t ip)
{
    return ks_problem_table_id(&m->grid->problems, ip);
}

/* ---- input ---- */

static void test_frames_that_are_refused(void **state)
{
    (void)state;
    struct ks_err err;
    struct ks_frame f = { .type = KS_F_MSG_LEASE, .body = (const uint8_t *)"", .n = 0 };
    sim_open_by_hand(m, "ok_a ok_b", 1, 2);
    assert_int_equal(sim_hello(m, 1, m->grid->digest + 1, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "host0"));
    assert_int_equal(ks_coord_frame(m->coord, 1, &f, &err), KS_EPROTO);
    f.type = KS_F_DONE;
    f.body = (const uint8_t *)"\x01\x00\xff\x00\x00\x00";
    f.n = 6;
    assert_int_equal(ks_coord_frame(m->coord, 1, &f, &err), KS_EFORMAT);
    f.type = KS_F_MSG_LEASE_END;
    assert_int_equal(ks_coord_frame(m->coord, 1, &f, &err), KS_EPROTO);
    assert_int_equal(sim_done(m, 1, 12345, 1000, 1, KS_O_OK, 0, &err), KS_EPROTO);
    sim_close(m);
}

/* ---- who is there ---- */

/* Nobody builds before all have greeted; then one host does, and the other gets it from there. */
static void test_one_host_builds(void **state)
{
    (void)state;
    char names[512];
    many_names(names, 100);
    sim_open(m, &nothing, names, 8, 1);
    for (uint32_t i = 0; i < 3; i++) {
        m->ranks[i].host = i == 0 ? 0 : 1;
        m->ranks[i].local = i == 2;
        m->ranks[i].n_local = i == 0 ? 1 : 2;
        m->ranks[i].hello_at = sim_now() + (i == 0 ? 3000 : 1) * SIM_MS;
    }
    sim_coordinate(m, NULL);
    turns(2900);
    assert_string_equal(ks_buf_text(&m->told), "");
    turns(110); /* rank 0 greets, and builds still */
    assert_string_equal(ks_buf_text(&m->told), "build 0 1\n");
    sim_run(m, 10);
    assert_non_null(strstr(ks_buf_text(&m->told), "build 0 1\nbuild 1 2\nbuild 2 0\nlease"));
    for (uint32_t u = 0; u < SIM_UNITS; u++)
        assert_true(m->n_compiled[u] == 1 && m->n_fetched[u] == 1);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    sim_close(m);
}

static void test_a_rank_never_greets(void **state)
{
    (void)state;
    sim_open(m, &nothing, "ok_a ok_b", 2, 1);
    m->ranks[2].hello_at = UINT64_MAX;
    sim_coordinate(m, NULL);
    turns(4900);
    assert_int_equal(m->ranks[1].n_leases_got, 0);
    sim_run(m, 10);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_true(ks_coord_lost_anyone(m->coord));
    assert_string_equal(ks_ledger_lost_hosts(m->ledger), "?");
    sim_close(m);
}

static void check_progress(void)
{
    struct ks_progress *p = malloc(sizeof(*p));
    struct ks_buf line;
    assert_non_null(p);
    ks_coord_progress(m->coord, sim_now(), p);
    ks_buf_init(&line);
    ks_progress_line(p, &line);
    assert_non_null(strstr(ks_buf_text(&line), "8 of 8 cells"));
    assert_non_null(strstr(ks_buf_text(&line), "; ok 6, unsupported 2"));
    assert_int_equal(p->n_shown, 2); /* rank 0 has no device */
    assert_int_equal(p->device[0].rank, 1);
    assert_int_equal(p->device[0].n_cells + p->device[1].n_cells, 6);
    ks_buf_release(&line);
    free(p);
}

static void test_nobody_is_lost(void **state)
{
    (void)state;
    sim_open(m, &nothing, "ok_a ok_b lack ok_c", 2, 1);
    sim_coordinate(m, NULL);
    sim_run(m, 30);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_false(ks_coord_lost_anyone(m->coord));
    assert_false(ks_coord_is_drained(m->coord));
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(m->ranks[i].state, SIM_LEFT);
        assert_int_equal(m->ranks[i].n_acked, m->ranks[i].n_sent);
    }
    assert_int_equal(m->ranks[0].n_leases_got, 0);           /* it has no seat */
    assert_int_equal(cell(1, 2)->outcome, KS_O_UNSUPPORTED); /* settled without a rank */
    assert_int_equal(m->ranks[1].n_cells + m->ranks[2].n_cells, 6);
    check_progress();
    sim_close(m);
}

/* Rank 0 was held up, by its disk for example: it could not hear anybody. */
static void test_rank_0_was_away(void **state)
{
    (void)state;
    sim_open(m, &nothing, "ok_a", 2, 1);
    sim_coordinate(m, NULL);
    turns(20);
    uint64_t now = sim_now();
    ks_coord_was_away(m->coord, 3 * SIM_LOST_NS);
    assert_int_equal(ks_coord_step(m->coord, now + 3 * SIM_LOST_NS, NULL), 0);
    assert_false(ks_coord_lost_anyone(m->coord));
    assert_int_equal(ks_coord_step(m->coord, now + 5 * SIM_LOST_NS, NULL), 0);
    assert_true(ks_coord_lost_anyone(m->coord));
    sim_close(m);
}

static void test_nobody_can_measure(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        sim_open(m, &nothing, "ok_a ok_b", 1, 1);
        for (uint32_t i = 0; i < 3; i++)
            m->ranks[i].measures = how > 0 && i > 0;
        sim_coordinate(m, NULL);
        if (how > 0)
            turns(how == 1 ? 500 : 1100); /* while they build, while they measure */
        for (uint32_t i = 1; how > 0 && i < 3; i++) {
            m->ranks[i].is_broken = true;
            m->ranks[i].is_building = false;
            m->ranks[i].n_leases = 0;
            assert_int_equal(sim_send(m, i, KS_F_MSG_BYE, 1, 0, NULL), 0);
        }
        sim_run(m, 20);
        if (how < 2 || ks_coord_n_pending(m->coord))
            assert_string_equal(ks_coord_reason(m->coord), "no rank is left to measure");
        sim_close(m);
    }
}

/* ---- records ---- */

static void test_acknowledgements(void **state)
{
    (void)state;
    sim_open_by_hand(m, "ok_a ok_b ok_c", 1, 2);
    turns(1);
    assert_int_equal(sim_done(m, 1, problem(0), 1000, 1, KS_O_OK, 0, NULL), 0);
    assert_int_equal(m->ranks[1].n_acked, 0);
    turns(15);
    assert_int_equal(m->ranks[1].n_acked, 1);
    /* the same again, by another: acknowledged, but not written */
    struct ks_ledger_counts was, now;
    ks_ledger_counts(m->ledger, &was);
    assert_int_equal(sim_done(m, 0, problem(0), 1000, 1, KS_O_CRASHED, 0, NULL), 0);
    turns(15);
    ks_ledger_counts(m->ledger, &now);
    assert_int_equal(m->ranks[0].n_acked, 1);
    assert_int_equal(now.n_records, was.n_records);
    assert_int_equal(cell(0, 0)->outcome, KS_O_OK);
    sim_close(m);
}

/* A rank holds its next lease before it ends the one in hand, and is told of leases, of what each
 * group commit (10 ms) has put on disk, and next to nothing beside. */
static void test_traffic(void **state)
{
    (void)state;
    enum { TURNS = 3000 };
    uint32_t n_leases = 0, n_told = 0;
    sim_open(m, &nothing, "a b c d e f g h i j k l m n o p q r s t", 300, 1);
    sim_coordinate(m, NULL);
    while (m->ranks[1].n_cells < 40 || m->ranks[2].n_cells < 40)
        sim_turn(m);
    for (uint32_t i = 1; i < 3; i++) {
        n_leases -= m->ranks[i].n_leases_got;
        n_told -= m->ranks[i].n_told;
    }
    for (uint32_t k = 0; k < TURNS; k++) {
        sim_turn(m);
        assert_true(m->ranks[1].n_leases >= 2 && m->ranks[2].n_leases >= 2);
    }
    for (uint32_t i = 1; i < 3; i++) {
        n_leases += m->ranks[i].n_leases_got;
        n_told += m->ranks[i].n_told;
    }
    print_message("%u leases, %u messages\n", n_leases, n_told);
    assert_true(n_leases > 0 && n_told - n_leases <= 2 * (TURNS / 10 + 10));

    m->ranks[1].hangs = true; /* the other one does all else, and has nothing to do then */
    while (ks_coord_n_pending(m->coord) > 200 || m->ranks[2].n_leases)
        sim_turn(m);
    n_told = m->ranks[2].n_told;
    turns(TURNS);
    assert_int_equal(m->ranks[2].n_leases, 0);
    assert_true(m->ranks[2].n_told - n_told <= 10);
    sim_close(m);
}

static int check_beat(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_cur body = ks_cur(f->body, f->n);
    struct ks_field field;
    bool is_bad = false;
    (void)ctx;
    (void)err;
    while (f->type == KS_F_HEARTBEAT && ks_body_next(&body, &field, &is_bad))
        assert_true(ks_field_u64(&field) > ks_realtime_ns() - 60000 * SIM_MS);
    return 0;
}

/* The journal's owner is alive by the wall clock, which other hosts can read, too. */
static void test_heartbeats(void **state)
{
    (void)state;
    sim_open_by_hand(m, "ok_a", 1, 1);
    m->ranks[0].state = SIM_HERE;
    turns(20);
    assert_int_equal(ks_journal_read(m->dir.journal, check_beat, NULL, NULL, NULL, NULL), 0);
    sim_close(m);
}

/* A rank that dies between a contaminated attempt and the one it announced. */
static void test_announced_attempt_is_lost(void **state)
{
    (void)state;
    struct ks_start s = { .rank = 1, .why = 3, .n_cells = 1 };
    struct ks_buf b;
    sim_open(m, &nothing, "ok_a ok_b ok_c ok_d", 1, 1);
    sim_coordinate(m, NULL);
    while (!m->ranks[1].n_leases)
        sim_turn(m);
    struct ks_msg_lease l = m->ranks[1].leases[0];
    uint64_t instance = 1000 + l.cells[0].i_instance;
    s.cells[0] = (struct ks_start_cell){ .cell = { problem(0), instance, 77 }, .attempt = 2 };
    ks_buf_init(&b);
    ks_start_encode(&s, &b);
    struct ks_frame f = { .type = KS_F_START, .body = b.data, .n = b.len };
    assert_int_equal(ks_coord_frame(m->coord, 1, &f, NULL), 0);
    ks_buf_release(&b);
    assert_int_equal(sim_done(m, 1, problem(0), instance, 1, KS_O_OK, KS_FL_CONTAMINATED, NULL), 0);
    m->ranks[1].state = SIM_DEAD;
    sim_run(m, 20);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    assert_int_equal(cell(0, l.cells[0].i_instance)->attempt, 2);
    sim_close(m);
}

/* Every non-ok outcome of a quarantined device is void, but those before its last good canary. */
static void test_quarantine(void **state)
{
    (void)state;
    for (int has_passed = 0; has_passed < 2; has_passed++) {
        sim_open_by_hand(m, "ok_a ok_b ok_c ok_d", 1, 2);
        turns(1);
        assert_int_equal(sim_done(m, 1, problem(0), 1000, 1, KS_O_CRASHED, 0, NULL), 0);
        assert_int_equal(sim_done(m, 0, problem(0), 1001, 1, KS_O_CRASHED, 0, NULL), 0);
        assert_true(ks_ledger_is_final(cell(0, 0)));
        if (has_passed)
            assert_int_equal(sim_send(m, 1, KS_F_MSG_BEAT, 1, 0, NULL), 0);
        assert_int_equal(sim_send(m, 1, KS_F_MSG_BEAT, 0, 0, NULL), 0);
        m->ranks[1].is_broken = true;
        assert_int_equal(sim_send(m, 1, KS_F_MSG_BYE, 1, 1, NULL), 0);
        assert_int_equal(ks_ledger_is_final(cell(0, 0)), has_passed);
        assert_true(ks_ledger_is_final(cell(0, 1))); /* another device said so */
        if (!has_passed) {
            assert_int_equal(ks_ledger_next_attempt(cell(0, 0)), 2);
            assert_int_equal(sim_done(m, 0, problem(0), 1000, 2, KS_O_OK, 0, NULL), 0);
            assert_int_equal(cell(0, 0)->outcome, KS_O_OK);
        }
        sim_close(m);
    }
}

/* Each rank that gets a certain cell dies: at the third loss it is given up. */
static void test_three_losses(void **state)
{
    (void)state;
    struct sim_plan p = { .n_ranks = 5, .n_hosts = 1 };
    uint32_t n_killed = 0;
    sim_open(m, &p, "ok_a ok_b ok_c", 2, 3);
    sim_coordinate(m, NULL);
    while (!ks_coord_is_over(m->coord) && n_killed < 4) {
        sim_turn(m);
        for (uint32_t i = 1; i < 5; i++) {
            struct sim_rank *r = &m->ranks[i];
            bool is_cursed = false;
            for (uint32_t k = 0; r->state == SIM_HERE && k < r->n_leases; k++)
                for (uint32_t c = k ? 0 : r->at; c < r->leases[k].n; c++)
                    is_cursed |= !r->leases[k].i_problem && !r->leases[k].cells[c].i_instance;
            if (is_cursed) {
                r->state = SIM_DEAD;
                n_killed++;
            }
        }
    }
    assert_int_equal(n_killed, KS_LOSSES_FINAL);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(cell(0, 0)->outcome, KS_O_WORKER_LOST);
    for (uint32_t k = 1; k < 6; k++)
        assert_int_equal(cell(k / 3, k % 3)->outcome, KS_O_OK);
    sim_close(m);
}

/* ---- ends ---- */

static void test_drain_and_resume(void **state)
{
    (void)state;
    static const char names[] = "ok_a ok_b ok_c ok_d ok_e ok_f ok_g ok_h ok_i ok_j lack_a";
    static const struct sim_plan p = { .n_ranks = 3, .n_hosts = 1, .dirty = 200 };
    struct ks_ledger_counts was, now;
    uint32_t n_started[8][11]; /* 0: not final */
    sim_open(m, &p, names, 8, 5);
    m->crashes[1] = m->crashes[4] = m->crashes[7] = 1;
    sim_coordinate(m, NULL);
    while (ks_coord_n_pending(m->coord) > 50)
        sim_turn(m);
    assert_int_equal(ks_coord_drain(m->coord, "SIGINT", NULL), 0);
    assert_int_equal(ks_coord_drain(m->coord, "SIGTERM", NULL), 0);
    sim_run(m, 5);
    assert_string_equal(ks_coord_reason(m->coord), "SIGINT");
    assert_true(ks_coord_is_drained(m->coord));
    assert_true(ks_coord_n_pending(m->coord) > 10 && ks_coord_n_pending(m->coord) < 80);
    for (uint32_t i = 0; i < 88; i++)
        n_started[i / 11][i % 11] = ks_ledger_is_final(cell(i / 11, i % 11)) &&
                                            !(cell(i / 11, i % 11)->flags & KS_FL_UNCONFIRMED)
                                        ? cell(i / 11, i % 11)->max_started + 1
                                        : 0;
    sim_resume(m, 0);
    ks_ledger_counts(m->ledger, &was);
    sim_run(m, 30);
    ks_ledger_counts(m->ledger, &now);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(now.n_final, 88);
    uint64_t n_crashed = now.outcome[KS_O_CRASHED];
    assert_int_equal(n_crashed, 24);
    for (uint32_t i = 0; i < 88; i++) /* nothing final was measured again */
        if (n_started[i / 11][i % 11])
            assert_int_equal(cell(i / 11, i % 11)->max_started + 1, n_started[i / 11][i % 11]);
    uint64_t n_records = now.n_records;
    sim_resume(m, 0); /* nothing is left to do */
    sim_run(m, 10);
    ks_ledger_counts(m->ledger, &now);
    assert_int_equal(now.n_records, n_records);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    m->crashes[1] = m->crashes[4] = m->crashes[7] = 0;
    sim_resume(m, 1u << KS_O_CRASHED); /* only what is asked for */
    sim_run(m, 10);
    ks_ledger_counts(m->ledger, &now);
    assert_int_equal(now.outcome[KS_O_CRASHED], 0);
    assert_int_equal(now.outcome[KS_O_OK], 80);
    assert_true(now.n_records >= n_records + n_crashed);
    assert_true(now.n_records <= n_records + 2 * n_crashed);
    sim_close(m);
}

static void test_max_time(void **state)
{
    (void)state;
    struct ks_coord_config c = { .max_time_ns = 1500 * SIM_MS };
    char names[512];
    many_names(names, 100);
    sim_open(m, &nothing, names, 8, 1);
    uint64_t from = sim_now();
    sim_coordinate(m, &c);
    sim_run(m, 10);
    assert_string_equal(ks_coord_reason(m->coord), "max-time");
    assert_true(sim_now() - from < 2000 * SIM_MS);
    assert_true(ks_coord_n_pending(m->coord) > 100 && ks_coord_n_pending(m->coord) < 800);
    sim_close(m);
}

/* Builds that take longer than there is time do not hold up the end. */
static void test_max_time_is_over_before_anything_is_built(void **state)
{
    (void)state;
    struct ks_coord_config c = { .max_time_ns = 1500 * SIM_MS };
    sim_open(m, &nothing, "ok_a ok_b", 2, 1);
    m->ranks[2].hello_at = UINT64_MAX; /* the others wait for it */
    sim_coordinate(m, &c);
    turns(1400);
    assert_false(ks_coord_is_drained(m->coord));
    turns(200);
    assert_true(ks_coord_is_drained(m->coord));
    assert_string_equal(ks_coord_reason(m->coord), "max-time");
    sim_run(m, 10);
    assert_int_equal(ks_coord_n_pending(m->coord), 4);
    sim_close(m);
}

static void test_every_lost_host_is_named_once(void **state)
{
    (void)state;
    sim_open_by_hand(m, "ok_a ok_b", 1, 4);
    for (uint32_t i = 1; i < 4; i++) {
        m->ranks[i].host = i == 1 ? 10 : 1; /* one name is the start of the other */
        assert_int_equal(sim_hello(m, i, m->grid->digest, NULL), 0);
    }
    turns(6000);
    assert_string_equal(ks_ledger_lost_hosts(m->ledger), "host10 host1");
    sim_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_that_are_refused),
        cmocka_unit_test(test_one_host_builds),
        cmocka_unit_test(test_a_rank_never_greets),
        cmocka_unit_test(test_nobody_is_lost),
        cmocka_unit_test(test_rank_0_was_away),
        cmocka_unit_test(test_nobody_can_measure),
        cmocka_unit_test(test_acknowledgements),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_heartbeats),
        cmocka_unit_test(test_announced_attempt_is_lost),
        cmocka_unit_test(test_quarantine),
        cmocka_unit_test(test_three_losses),
        cmocka_unit_test(test_drain_and_resume),
        cmocka_unit_test(test_max_time),
        cmocka_unit_test(test_max_time_is_over_before_anything_is_built),
        cmocka_unit_test(test_every_lost_host_is_named_once),
    };
    return cmocka_run_group_tests(tests, set_up, sim_free);
}
