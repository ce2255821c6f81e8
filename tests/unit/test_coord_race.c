/* SPDX-License-Identifier: MIT */
/* test_coord_race.c - visits by the coordinator, in virtual time: who is visited when */
/* What failures, losses, resuming and extending do, and that records in any order give the same
 * races. */
#include "coord_bench_race.h"
#include "record/frame.h"
#include "record/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim *m;

static int set_up(void **state)
{
    m = sim_allocate(state);
    return m ? 0 : -1;
}

static const struct sim_plan one = { .n_ranks = 1, .n_hosts = 1 };
static const struct sim_plan two = { .n_ranks = 3, .n_hosts = 1 }; /* rank 0 does not measure */

/* ---- who is visited when ---- */

static void test_visits(void **state)
{
    (void)state;
    struct sim_visit v[SIM_VISITS];
    struct ks_race_rec of[SIM_PROBLEMS];
    struct ks_visits_left left;
    uint32_t n_early = 0;
    sim_open_planted(m, &one, 8, 3);
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    size_t n = sim_visits(m, v);
    sim_verdicts(m, of);
    for (uint32_t ip = 0; ip < 8; ip++) {
        assert_true(of[ip].stop && of[ip].stop != KS_RACE_CUT);
        assert_int_equal(of[ip].label, m->grid->instances[1].id);
        assert_int_equal(of[ip].n_members, 8);
        assert_true(of[ip].lo_ns < 1e6 && of[ip].hi_ns > 1e6);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            if (v[k].problem == v[i].problem) {
                assert_true(v[k].round < v[i].round);
                n_early += v[i].ms - v[k].ms < 1000;
            }
        /* the pilots of the first problem are visited twice regardless of what is known of them */
        assert_int_equal(v[i].n == 8, v[i].problem == v[0].problem && v[i].round < 3);
        assert_true(i == 0 || v[i].problem != v[i - 1].problem || v[i].round > 1);
    }
    assert_true(n >= 16 && n_early > 0); /* with nothing else to do the gap shrinks */
    ks_coord_visits_left(m->coord, &left);
    assert_true(left.n <= 0 && left.device_s <= 0 && left.later_s <= 0);
    sim_close(m);
}

/* Visits before the last lease of round 0. */
static size_t visits_between(uint32_t gap_s)
{
    const char *last = NULL;
    size_t n = 0;
    sim_open_planted(m, &one, 8, 3);
    m->grid->job.rounds.gap_s = gap_s;
    m->grid->job.isolate.batch = 2;
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    for (const char *at = ks_buf_text(&m->told); (at = strstr(at, "lease ")); at++)
        last = at;
    for (const char *at = ks_buf_text(&m->told); (at = strstr(at, "visit ")) && at < last; at++)
        n++;
    assert_non_null(strstr(last, "visit "));
    sim_close(m);
    return n;
}

/* As long as there is other work, a visit waits for its gap. */
static void test_gap(void **state)
{
    (void)state;
    assert_int_equal(visits_between(100), 0);
    assert_true(visits_between(0) > 2);
}

/* The time of the label when one of each record's three samples is shorter by a tenth. */
static double label_ns(const char *backend)
{
    struct ks_race_rec of[SIM_PROBLEMS];
    sim_open_planted(m, &one, 2, 3);
    m->lucky = 0.1;
    m->grid->job.device.backend = (unsigned)(ks_backend_find(backend) - ks_backends);
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    sim_verdicts(m, of);
    assert_int_equal(of[0].statistic, ks_label_statistic(backend));
    sim_close(m);
    return of[0].time_ns;
}

static void test_statistic_by_backend(void **state)
{
    (void)state;
    assert_true(fabs(label_ns("host") / 0.9e6 - 1) < 0.03);
    assert_true(fabs(label_ns("sim") / 1e6 - 1) < 0.03);
}

/* The third instance is a copy of the second one, the best; as a control it has a time, and a lower
 * one. */
static void test_aliases_and_controls(void **state)
{
    (void)state;
    for (uint32_t control = 0; control < 2; control++) {
        struct ks_race_rec of[SIM_PROBLEMS];
        sim_open_planted(m, &one, 2, 9);
        m->code[1] = m->code[2] = 1;
        m->time_ns[2] = 0.99e6;
        m->grid->job.measure.alias_control = control;
        sim_coordinate(m, NULL);
        sim_run(m, 60);
        sim_verdicts(m, of);
        for (uint32_t ip = 0; ip < 2; ip++) {
            assert_int_equal(of[ip].n_members, 7);
            assert_int_equal(of[ip].label, m->grid->instances[1].id);
            assert_int_equal(sim_cell(m, ip, 2)->outcome, control ? KS_O_OK : KS_O_ALIASED);
        }
        sim_close(m);
    }
}

static void test_off(void **state)
{
    (void)state;
    struct sim_visit v[SIM_VISITS];
    sim_open_planted(m, &one, 2, 1);
    m->grid->job.rounds.max = 1;
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 0);
    assert_int_equal(sim_raced(m, 0)->race_stop, 0);
    sim_close(m);
}

/* ---- what goes wrong ---- */

/* It has no label any more, and the next best is one. */
static void test_failure_in_a_visit(void **state)
{
    (void)state;
    struct ks_race_rec of[SIM_PROBLEMS];
    sim_open_planted(m, &one, 2, 5);
    m->fails_later[1] = 2;
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    sim_verdicts(m, of);
    for (uint32_t ip = 0; ip < 2; ip++) {
        assert_int_equal(sim_cell(m, ip, 1)->outcome, KS_O_CRASHED);
        assert_true(ks_ledger_is_final(sim_cell(m, ip, 1)));
        assert_int_equal(of[ip].label, m->grid->instances[4].id);
    }
    assert_int_equal(ks_coord_n_pending(m->coord), 0);
    sim_close(m);
}

/* Another device reproduces it, or its attempt is the label. */
static void test_failure_that_others_refute(void **state)
{
    (void)state;
    sim_open_planted(m, &two, 2, 5);
    m->fails_later[1] = 1;
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    for (uint32_t ip = 0; ip < 2; ip++) {
        assert_int_equal(sim_cell(m, ip, 1)->outcome, KS_O_OK);
        assert_int_equal(sim_cell(m, ip, 1)->attempt, 2);
        assert_true(sim_raced(m, ip)->race_stop && sim_raced(m, ip)->race_stop != KS_RACE_CUT);
    }
    sim_close(m);
}

/* On a device where everything is contaminated no race ends by itself. */
static void test_noise(void **state)
{
    (void)state;
    static const struct sim_plan noisy = { .n_ranks = 1, .n_hosts = 1, .dirty = 1000 };
    struct sim_visit v[SIM_VISITS];
    sim_open_planted(m, &noisy, 2, 5);
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 2 * 3);
    for (uint32_t ip = 0; ip < 2; ip++)
        assert_int_equal(sim_raced(m, ip)->race_stop, KS_RACE_NOISY);
    sim_close(m);
}

/* Contenders start again on another device, with round 1. */
static void test_lost_device(void **state)
{
    (void)state;
    struct sim_visit v[SIM_VISITS];
    struct ks_race_rec of[SIM_PROBLEMS];
    bool has_moved = false;
    sim_open_planted(m, &two, 4, 5);
    m->noise = 0.02;
    sim_coordinate(m, NULL);
    while (!sim_has_visits(m, 1, 3))
        sim_turn(m);
    m->ranks[1].state = SIM_DEAD;
    sim_run(m, 100);
    size_t n = sim_visits(m, v);
    sim_verdicts(m, of);
    for (uint32_t ip = 0; ip < 4; ip++) {
        assert_true(of[ip].stop && of[ip].stop != KS_RACE_CUT);
        assert_true(of[ip].device_id == 2 || of[ip].device_id == 3);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            has_moved |=
                v[k].problem == v[i].problem && v[k].rank == 1 && v[i].rank == 2 && v[i].round == 1;
    assert_true(has_moved);
    sim_close(m);
}

/* ---- later lives ---- */

static void test_drain_and_resume(void **state)
{
    (void)state;
    struct sim_visit v[SIM_VISITS];
    struct ks_ledger_counts n;
    sim_open_planted(m, &one, 6, 9);
    m->noise = 0.02;
    sim_coordinate(m, NULL);
    while (!sim_has_visits(m, 0, 9))
        sim_turn(m);
    assert_int_equal(ks_coord_drain(m->coord, "test", NULL), 0);
    sim_run(m, 60);
    ks_ledger_counts(m->ledger, &n);
    assert_true(n.n_cut > 0 && n.n_cut + n.n_races <= 6);
    uint64_t n_races = n.n_races;
    sim_resume(m, 0);
    sim_run(m, 60);
    ks_ledger_counts(m->ledger, &n);
    assert_int_equal(n.n_cut, 0);
    assert_int_equal(n.n_races, 6);
    size_t n_visits = sim_visits(m, v);
    for (size_t i = 0; i < n_visits; i++) /* closed rounds are not repeated */
        for (size_t k = 0; k < i; k++)
            assert_false(v[k].problem == v[i].problem && v[k].round >= v[i].round);
    assert_true(n_visits > 0 && n_races < 6);
    sim_resume(m, 0); /* nothing is left to do */
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 0);
    sim_close(m);
}

/* A race that ended for its limit of rounds goes on where the limit is higher. */
static void test_more_rounds(void **state)
{
    (void)state;
    struct sim_visit v[SIM_VISITS];
    sim_open_planted(m, &one, 2, 9);
    m->noise = 0.02;
    m->grid->job.rounds.max = 2;
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 2);
    assert_int_equal(sim_raced(m, 1)->race_stop, KS_RACE_ROUNDS);
    sim_resume(m, 0);
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 0);
    m->grid->job.rounds.max = 3;
    sim_resume(m, 0);
    sim_run(m, 60);
    assert_int_equal(sim_visits(m, v), 2);
    assert_int_equal(v[0].round, 2);
    sim_close(m);
}

/* Only problems with new instances race again: every second one. */
static void test_extend(void **state)
{
    (void)state;
    static const char nine[] = "ok_a ok_b ok_c ok_d ok_e ok_f ok_g ok_h ok_i";
    struct sim_visit v[SIM_VISITS];
    struct ks_race_rec of[SIM_PROBLEMS];
    sim_open_planted(m, &one, 4, 9);
    kit_two_directions(m->grid);
    sim_coordinate(m, NULL);
    sim_run(m, 60);
    kit_grid_free(m->grid);
    m->grid = kit_grid(nine, 4);
    kit_two_directions(m->grid);
    sim_plant(m, 0.002);
    m->time_ns[8] = 1.005e6;
    sim_resume(m, 0);
    sim_run(m, 60);
    sim_verdicts(m, of);
    size_t n = sim_visits(m, v);
    for (uint32_t ip = 0; ip < 4; ip++) {
        assert_int_equal(of[ip].n_members, ip % 2 ? 4 : 5);
        assert_int_equal(of[ip].label, m->grid->instances[ip % 2 ? 1 : 8].id);
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(v[i].problem % 2, 0);
    assert_true(n > 0);
    sim_close(m);
}

/* ---- records in any order ---- */

struct frames {
    struct {
        uint16_t type;
        void *body;
        size_t n;
    } v[2000];
    size_t n;
};

static int keep(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct frames *all = ctx;
    (void)err;
    if (f->type != KS_F_START && f->type != KS_F_DONE && f->type != KS_F_RACE)
        return 0;
    assert_true(all->n < sizeof(all->v) / sizeof(all->v[0]));
    all->v[all->n].type = f->type;
    all->v[all->n].body = malloc(f->n);
    all->v[all->n].n = f->n;
    memcpy(all->v[all->n++].body, f->body, f->n);
    return 0;
}

/* The first n frames, in their order or in another one in which some stand twice. */
static void write_frames(const struct frames *all, size_t n, uint64_t shuffle)
{
    struct ks_err err = { 0 };
    uint32_t *order = malloc((2 * n + 1) * sizeof(*order));
    uint64_t position;
    size_t n_order = 0;
    assert_non_null(order);
    for (uint32_t i = 0; i < n; i++) {
        order[n_order++] = i;
        if (shuffle && ks_rng_below(&shuffle, 3) == 0)
            order[n_order++] = i;
    }
    for (size_t i = n_order; shuffle && i > 1; i--) {
        size_t k = ks_rng_below(&shuffle, i);
        uint32_t swap = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
    for (size_t i = 0; i < n_order; i++)
        assert_int_equal(ks_journal_append(m->journal, all->v[order[i]].type, all->v[order[i]].body,
                                           all->v[order[i]].n, &position, &err),
                         0);
    assert_int_equal(ks_journal_sync(m->journal, &position, &err), 0);
    free(order);
}

static void put_book(struct race_book *b, struct ks_buf *out)
{
    const struct ks_race_verdict *v = &b->verdict;
    uint64_t wanted[64];
    size_t n = ks_race_wanted(b->race, wanted, 64);
    ks_buf_printf(out, "%u stop %u round %u of %u: %016llx %.17g [%.17g, %.17g], %.17g; %u, %u\n",
                  b->i_problem, v->stop, v->next_round, v->n_contenders,
                  (unsigned long long)v->label, v->time_ns, v->lo_ns, v->hi_ns, v->regret_bound,
                  b->n_losses, b->n_unclosed);
    for (size_t i = 0; i < n; i++)
        ks_buf_printf(out, " %llu", (unsigned long long)wanted[i]);
}

/* For each problem the verdict and what is wanted next, and all pools. */
static void put_races(struct ks_coord *c, struct ks_buf *out)
{
    struct ks_err err = { 0 };
    for (uint32_t pass = 0; pass < 2; pass++) /* the first fills the pools */
        for (uint32_t ip = 0; ip < m->grid->n_problems; ip++) {
            struct race_book *b = c->races.book[ip];
            if (b)
                assert_int_equal(ks_coord_race_move(c, b,
                                                    b->last_device ? b->last_device
                                                                   : ks_race_first_device(b->race),
                                                    &err),
                                 0);
            if (b && pass)
                put_book(b, out);
            else if (pass)
                ks_buf_printf(out, "%u %u\n", ip, c->races.state[ip]);
        }
    sim_put_pools(c, out);
}

/* What another coordinator makes of the first n frames. */
static void rebuilt(const struct frames *all, size_t n, uint64_t shuffle, struct ks_buf *out)
{
    struct sim *was = m;
    struct ks_err err = { 0 };
    m = calloc(1, sizeof(*m));
    assert_non_null(m);
    sim_open(m, &was->plan, sim_eight, was->grid->n_problems, 1);
    sim_plant(m, 0.02);
    write_frames(all, n, shuffle);
    ks_ledger_destroy(m->ledger);
    assert_int_equal(ks_ledger_read(m->dir.journal, &m->ledger, NULL, NULL, NULL, NULL, &err), 0);
    sim_coordinate(m, NULL);
    put_races(m->coord, out);
    sim_close(m);
    free(m);
    m = was;
}

static void test_any_order(void **state)
{
    (void)state;
    static struct frames all;
    struct ks_buf a, b;
    struct ks_err err;
    uint32_t n_open = 0, n_over = 0;
    sim_open_planted(m, &two, 2, 11);
    m->noise = 0.02;
    m->plan.dirty = 100;
    m->fails_later[2] = 1;
    sim_coordinate(m, NULL);
    while (!sim_has_visits(m, 1, 3))
        sim_turn(m);
    m->ranks[1].state = SIM_DEAD;
    sim_run(m, 100);
    all.n = 0;
    assert_int_equal(ks_journal_read(m->dir.journal, keep, NULL, &all, NULL, &err), 0);
    assert_true(all.n > 60);
    ks_buf_init(&a);
    ks_buf_init(&b);
    for (size_t n = 0; n <= all.n; n++) {
        ks_buf_clear(&a);
        ks_buf_clear(&b);
        rebuilt(&all, n, 0, &a);
        rebuilt(&all, n, 77 + n, &b);
        if (strcmp(ks_buf_text(&a), ks_buf_text(&b)) != 0)
            fail_msg("%zu frames: in order\n%s\nshuffled\n%s", n, ks_buf_text(&a), ks_buf_text(&b));
        n_open += strstr(ks_buf_text(&a), "stop 0") != NULL;
        n_over += strstr(ks_buf_text(&a), " 2\n") != NULL;
    }
    assert_true(n_open > 20 && n_over > 0);
    ks_buf_clear(&b); /* the pools of the coordinator that wrote it */
    sim_put_pools(m->coord, &b);
    assert_non_null(strstr(ks_buf_text(&a), ks_buf_text(&b)));
    assert_null(
        strstr(ks_buf_text(&b), "pool 0 0 0\npool 0 0 0\npool 0 0 0\npool 0 0 0\npool 0 0 0"));
    ks_buf_release(&a);
    ks_buf_release(&b);
    for (size_t i = 0; i < all.n; i++)
        free(all.v[i].body);
    sim_close(m);
}

/* ---- whatever happens ---- */

struct seen {
    struct ks_cell cell;
    uint32_t attempt, round, position;
    uint64_t block;
};

struct audit {
    struct seen v[6000];
    size_t n, n_visits;
};

static int by_all(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct seen));
}

static int note(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct audit *a = ctx;
    struct ks_record_head r;
    if (f->type != KS_F_DONE)
        return 0;
    assert_int_equal(ks_record_peek(f->body, f->n, &r, err), 0);
    assert_true(a->n < sizeof(a->v) / sizeof(a->v[0]));
    struct seen *s = &a->v[a->n++];
    memset(s, 0, sizeof(*s));
    s->cell = r.cell;
    s->attempt = r.attempt;
    s->round = r.round_index;
    s->position = r.round_index ? r.position : 0;
    s->block = r.round_index ? r.block_id : 0;
    a->n_visits += r.round_index > 0;
    return 0;
}

static void test_whatever_happens(void **state)
{
    (void)state;
    static const struct sim_plan plans[] = {
        { .n_ranks = 5, .n_hosts = 2, .first_safe = 4, .bad = 30, .dirty = 200 },
        { .n_ranks = 5, .n_hosts = 1, .first_safe = 4, .kill = 500 },
        { .n_ranks = 6, .n_hosts = 2, .first_safe = 5, .hang = 800, .dirty = 100 },
        { .n_ranks = 5,
          .n_hosts = 1,
          .first_safe = 4,
          .quarantine = 1000,
          .widow = 300,
          .bad = 200 },
    };
    static struct audit a;
    uint32_t n_lost = 0;
    size_t n_visits = 0;
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct ks_err err;
            sim_open_planted(m, &plans[i], 6, seed * 7919 + i);
            m->noise = 0.01;
            sim_coordinate(m, NULL);
            sim_run(m, 300);
            assert_string_equal(ks_coord_reason(m->coord), "complete");
            assert_int_equal(ks_coord_n_pending(m->coord), 0);
            n_lost += ks_coord_lost_anyone(m->coord);
            for (uint32_t ip = 0; ip < 6; ip++)
                assert_true(sim_raced(m, ip)->race_stop > 0);
            a.n = a.n_visits = 0;
            assert_int_equal(ks_journal_read(m->dir.journal, note, NULL, &a, NULL, &err), 0);
            qsort(a.v, a.n, sizeof(a.v[0]), by_all);
            for (size_t k = 1; k < a.n; k++)
                assert_true(by_all(&a.v[k - 1], &a.v[k]) != 0);
            n_visits += a.n_visits;
            sim_close(m);
        }
    assert_true(n_lost > 5 && n_visits > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_visits, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_gap, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_statistic_by_backend, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_off, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_aliases_and_controls, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_failure_in_a_visit, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_failure_that_others_refute, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_noise, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_lost_device, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_drain_and_resume, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_more_rounds, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_extend, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_any_order, set_up, sim_free),
        cmocka_unit_test_setup_teardown(test_whatever_happens, set_up, sim_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
