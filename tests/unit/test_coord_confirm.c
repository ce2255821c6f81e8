/* SPDX-License-Identifier: MIT */
/* test_coord_confirm.c - failures: confirmed or refuted on another device, doubts, quarantine */
/* Also leases that were given again, and ranks that come back. */
#include "coord_bench.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static void begin(uint32_t n_ranks, const char *names, uint32_t n_problems)
{
    const struct sim_plan p = { .n_ranks = n_ranks, .n_hosts = 1 };
    sim_open(m, &p, names, n_problems, 7);
    for (uint32_t i = 0; i < n_ranks; i++)
        m->ranks[i].measures = true;
    sim_coordinate(m, NULL);
}

static void fall_silent(uint32_t i)
{
    m->ranks[i].state = SIM_SILENT;
    m->ranks[i].wake_at = UINT64_MAX;
    m->ranks[i].is_late = true;
}

static const struct ks_ledger_cell *cell(uint32_t ip, uint32_t ii)
{
    struct ks_cell c = { ks_problem_table_id(&m->grid->problems, ip), m->grid->instances[ii].id,
                         m->grid->condition };
    return ks_ledger_find(m->ledger, &c);
}

static void expect_all(uint32_t outcome)
{
    for (uint32_t ip = 0; ip < m->grid->n_problems; ip++)
        for (uint32_t ii = 0; ii < m->grid->n_instances; ii++) {
            assert_non_null(cell(ip, ii));
            assert_true(ks_ledger_is_final(cell(ip, ii)));
            assert_int_equal(cell(ip, ii)->outcome, outcome);
        }
}

struct seen { /* in the journal */
    uint32_t n_confirms, n_quarantines, n_overdue, n_returned;
    uint32_t n_records; /* of cells */
    char overdue[512];
};

static int look(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct seen *s = ctx;
    struct ks_event_rec e;
    struct ks_record_head r;
    struct ks_start st;
    if (f->type == KS_F_DONE && ks_record_peek(f->body, f->n, &r, err) == 0)
        s->n_records += r.role == KS_ROLE_CELL;
    if (f->type == KS_F_START && ks_start_decode(f->body, f->n, &st, err) == 0)
        s->n_confirms += st.why == KS_WHY_CONFIRM ? st.n_cells : 0;
    if (f->type != KS_F_EVENT || ks_event_decode(f->body, f->n, &e, err) < 0)
        return 0;
    s->n_quarantines += e.kind == KS_EV_QUARANTINE;
    s->n_overdue += e.kind == KS_EV_OVERDUE;
    if (e.kind == KS_EV_OVERDUE)
        snprintf(s->overdue, sizeof(s->overdue), "%s", e.text);
    s->n_returned += strstr(e.text, "came back") != NULL;
    return 0;
}

static struct seen seen(void)
{
    struct seen s = { 0 };
    struct ks_err err;
    if (ks_journal_read(m->dir.journal, look, NULL, &s, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

/* ---- kernels ---- */

/* What fails on two devices is the kernel's: final, without the flag, and measured no third time.
 */
static void test_a_failure_is_confirmed(void **state)
{
    (void)state;
    begin(3, "ok_a bad ok_b ok_c", 5);
    m->crashes[1] = 1;
    sim_run(m, 60);
    for (uint32_t ip = 0; ip < 5; ip++) {
        assert_int_equal(cell(ip, 1)->outcome, KS_O_CRASHED);
        assert_int_equal(cell(ip, 1)->n_attempts, 2);
        assert_int_equal(cell(ip, 1)->attempt, 2);
        assert_false(cell(ip, 1)->flags & KS_FL_UNCONFIRMED);
        assert_int_equal(cell(ip, 0)->n_attempts, 1);
    }
    assert_int_equal(seen().n_confirms, 5);
    assert_int_equal(seen().n_quarantines, 0);
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    sim_close(m);
}

/* With one device there is nobody to ask. */
static void test_one_device(void **state)
{
    (void)state;
    begin(1, "ok_a bad ok_b", 2);
    m->crashes[1] = 1;
    sim_run(m, 60);
    assert_int_equal(cell(0, 1)->n_attempts, 1);
    assert_true(cell(0, 1)->flags & KS_FL_UNCONFIRMED);
    assert_int_equal(seen().n_confirms, 0);
    sim_close(m);
}

/* What went well on the same device, too, is not asked for: another good run would say nothing. */
static void test_intermittent_failures_stay(void **state)
{
    (void)state;
    begin(3, "ok_a bad ok_b", 2);
    m->crashes[1] = 1;
    m->flags[1] = KS_FL_INTERMITTENT >> 8;
    sim_run(m, 60);
    assert_int_equal(cell(0, 1)->n_attempts, 1);
    assert_true(cell(0, 1)->flags & KS_FL_UNCONFIRMED);
    sim_close(m);
}

/* Kernels that fail everywhere do not cost a device anything but a pause. */
static void test_many_bad_kernels(void **state)
{
    (void)state;
    begin(3, "bad_a bad_b bad_c bad_d bad_e ok_a", 6);
    for (int k = 0; k < 5; k++)
        m->crashes[k] = 1;
    sim_run(m, 120);
    for (uint32_t ip = 0; ip < 6; ip++)
        for (uint32_t ii = 0; ii < 5; ii++)
            assert_false(cell(ip, ii)->flags & KS_FL_UNCONFIRMED);
    assert_int_equal(seen().n_quarantines, 0);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    sim_close(m);
}

/* ---- devices ---- */

/* One that fails everything at once, among eight that do not: no cell is lost by it, and it gets
 * next to nothing. */
static void test_a_device_that_fails_everything(void **state)
{
    (void)state;
    uint32_t n_all = 0;
    begin(9, "a b c d e f g h i j k l m n o p q r s t", 300);
    m->ranks[4].fails = true;
    m->ranks[4].hello_at = sim_now() + SIM_MS;
    sim_run(m, 600);
    for (uint32_t i = 0; i < 9; i++)
        n_all += m->ranks[i].n_leases_got;
    print_message("the bad device got %u of %u leases\n", m->ranks[4].n_leases_got, n_all);
    assert_true(m->ranks[4].n_leases_got >= 1);
    assert_true(m->ranks[4].n_leases_got * 100 < n_all);
    expect_all(KS_O_OK);
    assert_int_equal(seen().n_quarantines, 1);
    assert_non_null(strstr(ks_buf_text(&m->told), "drain 4 0 1"));
    sim_close(m);
}

/* The same, but it goes bad after half of the sweep. */
static void test_a_device_that_goes_bad(void **state)
{
    (void)state;
    begin(5, "a b c d e f g h i j k l m n o p q r s t", 40);
    while (m->ranks[2].n_cells < 60)
        sim_turn(m);
    m->ranks[2].fails = true;
    sim_run(m, 600);
    expect_all(KS_O_OK);
    assert_int_equal(seen().n_quarantines, 1);
    sim_close(m);
}

/* Nobody else is left: the doubted one goes on alone, and its failures stay unconfirmed. */
static void test_the_others_leave(void **state)
{
    (void)state;
    begin(3, "a b c d e f g h i j", 4);
    for (int k = 0; k < 10; k++)
        m->crashes[k] = (uint8_t)(k % 2);
    while (!m->ranks[1].n_cells || !m->ranks[2].n_cells)
        sim_turn(m);
    m->ranks[1].state = m->ranks[2].state = SIM_DEAD;
    sim_run(m, 120);
    assert_string_equal(ks_coord_reason(m->coord), "complete");
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    assert_int_equal(cell(3, 1)->outcome, KS_O_CRASHED);
    assert_true(cell(3, 1)->flags & KS_FL_UNCONFIRMED);
    sim_close(m);
}

/* ---- in another life ---- */

/* Killed at any moment, resumed: each failure is confirmed in the end. */
static void test_resume(void **state)
{
    (void)state;
    uint32_t n_lives = 0;
    begin(3, "ok_a bad ok_b ok_c ok_d", 4);
    m->crashes[1] = 1;
    for (; !ks_coord_is_over(m->coord) && n_lives < 60; n_lives++) {
        for (int k = 0; k < 450 && !ks_coord_is_over(m->coord); k++)
            sim_turn(m);
        if (!ks_coord_is_over(m->coord)) {
            sim_resume(m, 0);
            for (uint32_t i = 0; i < 3; i++)
                m->ranks[i].measures = true;
        }
    }
    assert_true(n_lives > 2);
    for (uint32_t ip = 0; ip < 4; ip++) {
        assert_int_equal(cell(ip, 1)->outcome, KS_O_CRASHED);
        assert_false(cell(ip, 1)->flags & KS_FL_UNCONFIRMED);
    }
    sim_close(m);
}

/* A sweep on one device is resumed on three: what nobody could confirm is confirmed now. */
static void test_resume_with_more(void **state)
{
    (void)state;
    begin(3, "ok_a bad ok_b", 3);
    m->crashes[1] = 1;
    m->ranks[1].state = m->ranks[2].state = SIM_DEAD;
    sim_run(m, 60);
    assert_true(cell(2, 1)->flags & KS_FL_UNCONFIRMED);
    sim_resume(m, 0);
    for (uint32_t i = 0; i < 3; i++)
        m->ranks[i].measures = true;
    sim_run(m, 60);
    for (uint32_t ip = 0; ip < 3; ip++)
        assert_false(cell(ip, 1)->flags & KS_FL_UNCONFIRMED);
    sim_close(m);
}

/* ---- late ---- */

/* Declared lost, its cells measured by others; then it delivers: each counts once. It idles until
 * the end: a launcher may end all with the first process that leaves. */
static void test_a_rank_comes_back(void **state)
{
    (void)state;
    struct ks_ledger_counts n;
    begin(3, "a b c d e f g h i j", 30);
    while (m->ranks[1].n_cells < 10)
        sim_turn(m);
    struct ks_msg_lease held = m->ranks[1].leases[0];
    uint32_t at = m->ranks[1].at;
    assert_true(m->ranks[1].n_leases && at < held.n);
    fall_silent(1);
    struct ks_cell c = { ks_problem_table_id(&m->grid->problems, held.i_problem),
                         m->grid->instances[held.cells[at].i_instance].id, m->grid->condition };
    while (!ks_coord_lost_anyone(m->coord) || !ks_ledger_is_final(ks_ledger_find(m->ledger, &c)))
        sim_turn(m);
    const struct ks_ledger_cell was = *ks_ledger_find(m->ledger, &c);
    uint64_t n_sent = m->ranks[1].n_sent;
    assert_int_equal(
        sim_done(m, 1, c.problem, c.instance, held.cells[at].attempt, KS_O_CRASHED, 0, NULL), 0);
    assert_int_equal(
        sim_done(m, 1, c.problem, c.instance, held.cells[at].attempt + 1, KS_O_CRASHED, 0, NULL),
        0); /* an attempt that was announced to nobody */
    const struct ks_ledger_cell *now = ks_ledger_find(m->ledger, &c);
    assert_int_equal(now->n_attempts, was.n_attempts);
    assert_int_equal(now->outcome, was.outcome);
    assert_int_equal(now->offset, was.offset);
    assert_non_null(strstr(ks_buf_text(&m->told), "drain 1 0 0\n"));
    assert_null(strstr(ks_buf_text(&m->told), "drain 1 1"));
    for (int k = 0; k < 40; k++)
        sim_turn(m);
    assert_int_equal(m->ranks[1].n_acked, n_sent + 2); /* it need not wait */
    sim_run(m, 60);
    assert_non_null(strstr(ks_buf_text(&m->told), "drain 1 1 0\n"));
    expect_all(KS_O_OK);
    assert_int_equal(seen().n_returned, 1);
    ks_ledger_counts(m->ledger, &n);
    assert_int_equal(n.n_final, 300);
    sim_close(m);
}

/* What it delivers first counts, although it was declared lost. */
static void test_what_comes_back_first_counts(void **state)
{
    (void)state;
    begin(2, "a b c d e f g h i j", 12);
    while (m->ranks[1].n_cells < 4)
        sim_turn(m);
    struct ks_msg_lease held = m->ranks[1].leases[0];
    uint32_t at = m->ranks[1].at;
    fall_silent(1);
    m->ranks[0].hangs = true;
    while (!ks_coord_lost_anyone(m->coord))
        sim_turn(m);
    uint64_t p = ks_problem_table_id(&m->grid->problems, held.i_problem);
    uint64_t k = m->grid->instances[held.cells[at].i_instance].id;
    assert_int_equal(sim_done(m, 1, p, k, held.cells[at].attempt, KS_O_OK, 0, NULL), 0);
    assert_true(ks_ledger_is_final(cell(held.i_problem, held.cells[at].i_instance)));
    assert_int_equal(cell(held.i_problem, held.cells[at].i_instance)->device, 2);
    m->ranks[0].hangs = false;
    sim_run(m, 60);
    expect_all(KS_O_OK);
    sim_close(m);
}

/* A rank that beats but gets nowhere: its cells go to others, the journal names it, and what it
 * says in the end is dropped. */
static void test_an_overdue_lease(void **state)
{
    (void)state;
    begin(3, "a b c d e f g h i j", 12);
    while (m->ranks[1].n_cells < 4)
        sim_turn(m);
    m->ranks[1].hangs = true;
    uint64_t until = sim_now() + 3600000 * SIM_MS;
    while (sim_now() < until && ks_coord_n_pending(m->coord))
        sim_turn(m);
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    assert_false(ks_coord_lost_anyone(m->coord));
    m->ranks[1].hangs = false;
    sim_run(m, 60);
    expect_all(KS_O_OK);
    struct seen s = seen();
    assert_int_equal(s.n_overdue, 1);
    assert_non_null(strstr(s.overdue, "rank 1 on host0"));
    assert_int_equal(s.n_records, 12 * 10);
    for (uint32_t ip = 0; ip < 12; ip++)
        for (uint32_t ii = 0; ii < 10; ii++)
            assert_int_equal(cell(ip, ii)->n_attempts, 1);
    sim_close(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, sim_free)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failure_is_confirmed),
        TEST(test_one_device),
        TEST(test_intermittent_failures_stay),
        TEST(test_many_bad_kernels),
        TEST(test_a_device_that_fails_everything),
        TEST(test_a_device_that_goes_bad),
        TEST(test_the_others_leave),
        TEST(test_resume),
        TEST(test_resume_with_more),
        TEST(test_a_rank_comes_back),
        TEST(test_what_comes_back_first_counts),
        TEST(test_an_overdue_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
