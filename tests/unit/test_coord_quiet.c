/* SPDX-License-Identifier: MIT */
/* test_coord_quiet.c - the coordinator beside a timing worker: when it commits, when it looks */
#include "coord_bench.h"

#include "mpi/coord_impl.h"
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

static uint64_t problem(uint32_t ip)
{
    return ks_problem_table_id(&m->grid->problems, ip);
}

/* Beside a timing worker records wait for their commit, unless one rank has many, that worker rests
 * and they would have to wait until after its next cell, or rank 0 was away: the commit shows
 * whether another process has taken the journal over. */
static void test_quiet_commits(void **state)
{
    static const struct {
        bool is_quiet;
        uint64_t between_ms;
        uint32_t n_records, n_others, at_ms; /* the commit, after the first record */
        bool was_away;
    } rows[] = {
        { false, 0, 1, 0, 1, false },     { true, 0, 1, 0, 1000, false },
        { true, 100, 1, 0, 900, false },  { true, 2000, 1, 0, 1, false },
        { true, 0, 15, 15, 1000, false }, { true, 0, 16, 0, 1, false },
        { true, 0, 1, 0, 1, true },
    };
    char names[512];
    (void)state;
    many_names(names, 100);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_coord_load l;
        sim_open_by_hand(m, names, 1, 3);
        turns(1200); /* beats and leases are behind */
        uint64_t t0 = sim_now(), was = m->ranks[1].n_acked;
        for (uint32_t k = 0; k < rows[i].n_records + rows[i].n_others; k++) {
            uint32_t from = k < rows[i].n_records ? 1 : 2;
            sim_announce(m, from, problem(0), m->grid->instances[k].id, 1);
            assert_int_equal(
                sim_done(m, from, problem(0), m->grid->instances[k].id, 1, KS_O_OK, 0, NULL), 0);
        }
        ks_coord_be_quiet(m->coord, rows[i].is_quiet, rows[i].between_ms * SIM_MS);
        if (rows[i].was_away)
            ks_coord_was_away(m->coord, SIM_MS);
        ks_coord_load(m->coord, t0, &l);
        assert_in_range(l.due_ns, 0, t0 + rows[i].at_ms * SIM_MS);
        while (m->ranks[1].n_acked == was && sim_now() < t0 + 1400 * SIM_MS)
            sim_turn(m);
        assert_in_range((sim_now() - t0) / SIM_MS, rows[i].at_ms - 1, rows[i].at_ms + 2);
        assert_int_equal(m->ranks[1].n_acked - was, rows[i].n_records);
        sim_close(m);
    }
}

/* Ten cells of which each was measured so often: what is left as rank 0 tells it, s. */
static double seconds_left(const char *names, uint32_t n_attempts)
{
    struct ks_progress *p = malloc(sizeof(*p));
    double left_s = 0;
    assert_non_null(p);
    sim_open_by_hand(m, names, 1, 2);
    turns(2);
    for (uint32_t k = 0; k < 10; k++)
        for (uint32_t a = 1; a <= n_attempts; a++) {
            const uint64_t id = m->grid->instances[k].id;
            const bool is_last = a == n_attempts;
            sim_announce(m, 1, problem(0), id, is_last ? a : a + 1);
            assert_int_equal(
                sim_done(m, 1, problem(0), id, a, KS_O_OK, is_last ? 0 : KS_FL_CONTAMINATED, NULL),
                0);
        }
    ks_coord_progress(m->coord, sim_now(), p);
    left_s = p->left_s;
    free(p);
    sim_close(m);
    return left_s;
}

/* What cells cost includes their contaminated attempts: else the end is told too early, and
 * problems are not split that should be. */
static void test_repeats_are_a_cost(void **state)
{
    char names[512];
    (void)state;
    many_names(names, 100);
    const double once_s = seconds_left(names, 1), often_s = seconds_left(names, 201);
    /* 90 cells of 5 ms each, or of a second, for two ranks */
    assert_true(once_s <= 5);
    assert_true(often_s >= 30 && often_s <= 60);
}

/* When rank 0 has to ask MPI for the end of leases. */
static void test_what_others_need(void **state)
{
    struct ks_coord_load l;
    (void)state;
    sim_open_by_hand(m, "ok_a ok_b ok_c ok_d ok_e ok_f ok_g ok_h", 6, 3);
    turns(2);
    ks_coord_load(m->coord, sim_now(), &l);
    assert_true(l.is_awaiting && l.need_ns < UINT64_MAX);
    uint64_t need_ns = l.need_ns; /* of one lease each: until its end, and a little */
    assert_true(need_ns > 10 * SIM_MS);
    ks_coord_load(m->coord, sim_now() + 5 * SIM_MS, &l);
    assert_in_range(l.need_ns, need_ns - 6 * SIM_MS, need_ns - 5 * SIM_MS);
    /* an attempt that is made again is no cell less */
    const uint64_t cell = m->grid->instances[m->ranks[1].leases[0].cells[0].i_instance].id;
    const uint64_t of = ks_problem_table_id(&m->grid->problems, m->ranks[1].leases[0].i_problem);
    sim_announce(m, 1, of, cell, 2);
    assert_int_equal(sim_done(m, 1, of, cell, 1, KS_O_OK, KS_FL_CONTAMINATED, NULL), 0);
    ks_coord_load(m->coord, sim_now(), &l);
    assert_int_equal(l.need_ns, need_ns);
    assert_int_equal(sim_done(m, 1, of, cell, 2, KS_O_OK, 0, NULL), 0);
    ks_coord_load(m->coord, sim_now(), &l);
    assert_in_range(l.need_ns, 10 * SIM_MS, need_ns - SIM_MS);
    ks_coord_load(m->coord, sim_now() + 1000000 * SIM_MS, &l);
    assert_int_equal(l.need_ns, 10 * SIM_MS); /* it is late: soon, but not at once */
    for (uint32_t i = 1; i < 3; i++)
        assert_int_equal(sim_send(m, i, KS_F_MSG_LEASE_END, m->ranks[i].leases[0].lease, 0, NULL),
                         0);
    ks_coord_load(m->coord, sim_now(), &l);
    assert_true(!l.is_awaiting && l.need_ns == UINT64_MAX);
    sim_close(m);
}

/* A rank 0 that measures nothing wakes as often as the cells of the others allow: the longest ones,
 * once all who hold leases have measured some. */
static void test_cells_of_others(void **state)
{
    struct ks_coord_load l;
    (void)state;
    sim_open_by_hand(m, "ok_a ok_b ok_c ok_d ok_e ok_f ok_g ok_h", 6, 3);
    turns(2);
    for (uint32_t i = 1; i < 3; i++) {
        ks_coord_load(m->coord, sim_now(), &l);
        assert_int_equal(l.cell_ns, 0);
        assert_int_equal(sim_done(m, i, problem(i), m->grid->instances[0].id, 1, KS_O_OK, 0, NULL),
                         0);
    }
    ks_coord_load(m->coord, sim_now(), &l);
    assert_int_equal(l.cell_ns, 5 * SIM_MS);
    sim_close(m);
}

/* Many ranks send much: that alone is no reason to go to the disk at each turn. */
static void test_quiet_bytes(void **state)
{
    static const uint8_t printed[1 << 20];
    const struct ks_frame f = { .type = KS_F_OUTPUT, .body = printed, .n = sizeof(printed) };
    (void)state;
    sim_open_by_hand(m, "ok_a ok_b", 1, 2);
    turns(1200);
    for (int is_quiet = 1; is_quiet >= 0; is_quiet--) {
        ks_coord_be_quiet(m->coord, is_quiet, 0);
        assert_int_equal(ks_coord_frame(m->coord, 1, &f, NULL), 0);
        turns(5);
        assert_int_equal(ks_journal_pending(m->journal) > 0, is_quiet);
    }
    ks_coord_be_quiet(m->coord, true, 0);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(ks_coord_frame(m->coord, 1, &f, NULL), 0);
    turns(1);
    assert_int_equal(ks_journal_pending(m->journal), 0);
    sim_close(m);
}

/* How often this stands in the log since then. */
static uint32_t n_told(const char *what)
{
    char line[2000];
    uint32_t n = 0;
    rewind(m->log.copy);
    while (fgets(line, sizeof(line), m->log.copy))
        n += strstr(line, what) != NULL;
    return n;
}

static void tell_device(double switches_per_s, double stolen)
{
    struct ks_device_rec d = { .device_id = 7,
                               .idle_switches_per_s = switches_per_s,
                               .idle_stolen = stolen };
    struct ks_buf body;
    ks_buf_init(&body);
    ks_device_rec_encode(&d, &body);
    const struct ks_frame f = { .type = KS_F_DEVICE, .body = body.data, .n = body.len };
    assert_int_equal(ks_coord_frame(m->coord, 1, &f, NULL), 0);
    ks_buf_release(&body);
}

/* Four causes are told by their names, the others together. */
static void test_causes(void **state)
{
    static const char *const why[] = { "a", "b", "c", "d", "e", "f", "b" };
    static struct ks_record r;
    (void)state;
    sim_open_by_hand(m, "ok", 1, 2);
    m->log.level = KS_WARN;
    m->log.copy = tmpfile();
    assert_non_null(m->log.copy);
    turns(2);
    for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
        ks_record_init(&r);
        r.role = KS_ROLE_CELL;
        r.outcome_flags = KS_FL_CONTAMINATED;
        snprintf(r.reason, sizeof(r.reason), "contaminated: %s", why[i]);
        ks_coord_note_noise(m->coord, &r);
    }
    sim_announce(m, 1, problem(0), m->grid->instances[0].id, 1);
    assert_int_equal(
        sim_done(m, 1, problem(0), m->grid->instances[0].id, 1, KS_O_OK, KS_FL_CONTAMINATED, NULL),
        0);
    ks_coord_tell_noise(m->coord, "ksweep again");
    assert_int_equal(n_told("a (1 attempt), b (2 attempts), c (1 attempt), d (1 attempt), "
                            "other causes (3 attempts)"),
                     1);
    fclose(m->log.copy);
    m->log.copy = NULL;
    sim_close(m);
}

/* A warning at the start, one once a third of the rows are contaminated, one at the end. */
static void test_busy_machine(void **state)
{
    struct ks_job_contention *most;
    char names[512];
    (void)state;
    many_names(names, 100);
    sim_open_by_hand(m, names, 1, 2);
    m->log.level = KS_WARN;
    m->log.copy = tmpfile();
    assert_non_null(m->log.copy);
    turns(2);
    most = &m->grid->job.contention;
    most->switches_per_s = 200;
    most->stolen = 0.05;
    tell_device(most->switches_per_s * 0.4, most->stolen * 0.4);
    tell_device(-1, -1); /* not known */
    assert_int_equal(n_told("busy before the first measurement"), 0);
    tell_device(most->switches_per_s * 0.6, 0);
    tell_device(0, most->stolen * 0.6);
    assert_int_equal(n_told("busy before the first measurement"), 2);
    for (uint32_t k = 0; k < 30; k++) {
        const uint64_t id = m->grid->instances[k].id;
        sim_announce(m, 1, problem(0), id, 1);
        assert_int_equal(
            sim_done(m, 1, problem(0), id, 1, KS_O_OK, k >= 12 ? KS_FL_CONTAMINATED : 0, NULL), 0);
        assert_int_equal(n_told("measured cells are contaminated"), k >= 17); /* 6 of 18 */
    }
    ks_coord_tell_noise(m->coord, "ksweep again");
    assert_int_equal(n_told("18 of 30 measured cells are contaminated"), 1);
    assert_int_equal(n_told("measure them again when the machine is idle: ksweep again"), 1);
    fclose(m->log.copy);
    m->log.copy = NULL;
    sim_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy_machine),       cmocka_unit_test(test_causes),
        cmocka_unit_test(test_quiet_commits),      cmocka_unit_test(test_quiet_bytes),
        cmocka_unit_test(test_repeats_are_a_cost), cmocka_unit_test(test_what_others_need),
        cmocka_unit_test(test_cells_of_others),
    };
    return cmocka_run_group_tests(tests, set_up, sim_free);
}
