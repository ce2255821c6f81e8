/* SPDX-License-Identifier: MIT */
/* test_sched_trouble.c - the scheduler among devices that fall silent, come back, or are doubted */
/* Some are cleared again, and failures are to be confirmed: everything ends, nothing is confirmed
 * by the device that failed, nobody is given what another one has. */
#include "base/hash.h"
#include "sched_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

enum { DEVICES = 6, CELLS = 30, HELD = 2, FREE = 0, DONE = 1 /* else LEASED_BY + device */ };
enum { LEASED_BY = 2 };

struct member {
    struct ks_lease held[HELD];
    uint32_t n_held, at;
    bool is_silent, is_paused;
};
struct cell {
    uint32_t state, n_records;
    bool must_confirm; /* and not by: */
    uint32_t failed_on;
    bool was_confirmed, was_given_up;
};
struct trouble {
    struct ks_sched *s;
    struct member device[DEVICES];
    struct cell cell[PROBLEMS][CELLS];
    double now;
    uint64_t rng;
    uint32_t n_reissued, n_taken_over, n_confirmed, n_given_up, n_late;
};

static bool happens(struct trouble *m, uint32_t percent)
{
    return ks_rng_below(&m->rng, 100) < percent;
}

static void take(struct trouble *m, uint32_t d, const struct ks_lease *l)
{
    for (uint32_t k = 0; k < l->n; k++) {
        struct cell *c = &m->cell[l->i_problem][l->i_instance[k]];
        assert_int_equal(c->must_confirm, l->is_confirm);
        assert_true(!l->is_confirm || c->failed_on != d);
        assert_true(c->state != DONE && c->state != LEASED_BY + d);
        m->n_taken_over += c->state != FREE;
        c->state = LEASED_BY + d;
    }
    assert_true(m->n_taken_over <= m->n_reissued); /* what others have, only of those overdue */
    m->device[d].held[m->device[d].n_held++] = *l;
}

static void ask(struct trouble *m, uint32_t d)
{
    struct member *e = &m->device[d];
    struct ks_lease l;
    while (!e->is_silent && e->n_held < HELD) {
        int rc = ks_sched_next(m->s, d, m->now, INFINITY, &l, NULL);
        if (rc != KS_SCHED_LEASE)
            return;
        assert_false(e->is_paused);
        take(m, d, &l);
    }
}

/* The first record wins; some say that the cell failed, once. */
static void record(struct trouble *m, uint32_t d, uint32_t ip, uint32_t ii)
{
    struct cell *c = &m->cell[ip][ii];
    if (c->state == DONE) {
        m->n_late++;
        ks_sched_done(m->s, ip, ii, d, 1);
        return;
    }
    bool is_first = !c->must_confirm;
    c->was_confirmed |= c->must_confirm && d != c->failed_on;
    m->n_confirmed += !is_first;
    c->must_confirm = false;
    c->state = DONE;
    c->n_records++;
    ks_sched_done(m->s, ip, ii, d, 1);
    if (is_first && !c->failed_on && happens(m, 10)) {
        c->failed_on = d;
        c->must_confirm = ks_sched_confirm(m->s, ip, ii, d, NULL) == 1;
        if (c->must_confirm)
            c->state = FREE;
    }
    assert_int_equal(ks_sched_is_done(m->s, ip, ii), c->state == DONE);
}

static void work(struct trouble *m, uint32_t d)
{
    struct member *e = &m->device[d];
    if (e->is_silent || !e->n_held)
        return;
    const struct ks_lease *l = &e->held[0];
    if (e->at < l->n) {
        record(m, d, l->i_problem, l->i_instance[e->at]);
        e->at++;
        return;
    }
    ks_sched_lease_end(m->s, l->id);
    memmove(e->held, e->held + 1, sizeof(*l));
    e->n_held--;
    e->at = 0;
}

static void give_up(struct trouble *m)
{
    uint32_t cells[4][2], n;
    do {
        n = ks_sched_unconfirmable(m->s, cells, 4);
        for (uint32_t k = 0; k < n; k++) {
            struct cell *c = &m->cell[cells[k][0]][cells[k][1]];
            assert_true(c->must_confirm && c->state != DONE);
            c->must_confirm = false;
            c->state = DONE;
            c->was_given_up = true;
            m->n_given_up++;
        }
    } while (n == 4);
}

static void disturb(struct trouble *m, uint32_t step)
{
    struct member *e = &m->device[ks_rng_below(&m->rng, DEVICES)];
    uint32_t d = (uint32_t)(e - m->device);
    bool may_begin = step < 3000; /* then it calms down */
    if (e->is_silent ? happens(m, 5) || !may_begin : may_begin && happens(m, 2))
        e->is_silent = !e->is_silent;
    if (e->is_paused ? happens(m, 10) || !may_begin : may_begin && happens(m, 3)) {
        e->is_paused = !e->is_paused;
        ks_sched_device_pause(m->s, d, e->is_paused);
    }
    m->now += e->is_silent ? 5 : 0.1;
}

static void check_end(const struct trouble *m)
{
    struct ks_sched_counts n = counts(m->s);
    assert_int_equal(n.n_complete, PROBLEMS);
    assert_int_equal(n.n_leased, 0);
    for (uint32_t ip = 0; ip < PROBLEMS; ip++)
        for (uint32_t ii = 0; ii < CELLS; ii++) {
            const struct cell *c = &m->cell[ip][ii];
            assert_int_equal(c->state, DONE);
            assert_int_equal(c->n_records, 1u + c->was_confirmed);
        }
}

static void test_trouble(void **state)
{
    (void)state;
    static struct trouble m;
    struct table t = { 0 };
    uint32_t n_reissued = 0, n_confirmed = 0, n_given_up = 0, n_late = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        memset(&m, 0, sizeof(m));
        m.rng = seed;
        m.s = make_costly(&t, PROBLEMS, CELLS, 8, ones, 0, 40);
        for (uint32_t d = 0; d < 2 + seed % (DEVICES - 1); d++)
            add(m.s, d);
        uint32_t step = 0;
        for (; counts(m.s).n_complete < PROBLEMS || counts(m.s).n_leases_open; step++) {
            assert_true(step < 60000); /* else somebody waits for ever */
            disturb(&m, step);
            m.n_reissued += ks_sched_reissue(m.s, m.now);
            give_up(&m);
            for (uint32_t d = 0; d < DEVICES; d++)
                ask(&m, d);
            work(&m, (uint32_t)ks_rng_below(&m.rng, DEVICES));
        }
        check_end(&m);
        n_reissued += m.n_reissued;
        n_confirmed += m.n_confirmed;
        n_given_up += m.n_given_up;
        n_late += m.n_late;
        ks_sched_destroy(m.s);
    }
    assert_true(n_reissued > 500 && n_confirmed > 500 && n_given_up > 10 && n_late > 100);
}

/* A cell was done in a lease that is still open, and is open again: when another device has it, the
 * end of the first lease does not give it to a third. */
static void reopen_or_confirm(bool is_confirm)
{
    struct table t = { 0 };
    struct ks_sched *s = make(&t, 1, 48, FIRST, ones);
    struct ks_lease held[3];
    for (uint32_t d = 0; d < 3; d++)
        add(s, d);
    held[0] = must_lease(s, 0);
    assert_int_equal(held[0].n, FIRST);
    uint32_t ii = held[0].i_instance[0];
    ks_sched_done(s, 0, ii, 0, 1);
    if (is_confirm) {
        assert_int_equal(ks_sched_confirm(s, 0, ii, 0, NULL), 1);
        ks_sched_device_pause(s, 0, true);
        held[1] = must_lease(s, 1);
        assert_true(held[1].is_confirm);
    } else {
        assert_int_equal(ks_sched_reopen(s, 0, ii, NULL), 0);
        for (held[1] = must_lease(s, 1); held[1].i_instance[0] != ii && held[1].i_instance[1] != ii;
             held[1] = must_lease(s, 1))
            finish(s, &held[1]);
    }
    ks_sched_lease_end(s, held[0].id);
    assert_int_equal(counts(s).n_leased, held[1].n);
    while (ks_sched_next(s, 2, 0, INFINITY, &held[2], NULL) == KS_SCHED_LEASE) {
        for (uint32_t k = 0; k < held[2].n; k++)
            assert_true(held[2].i_instance[k] != ii);
        finish(s, &held[2]);
    }
    finish(s, &held[1]);
    ks_sched_destroy(s);
}

static void test_open_again_while_its_lease_is(void **state)
{
    (void)state;
    reopen_or_confirm(true);
    reopen_or_confirm(false);
}

/* One lease given to three devices in turn, each too slow, that are lost together: its cells have
 * to be run one by one before any of them is said to kill its rank. And who has been lost twice
 * stays alone when it is opened again. */
static void test_lost_together(void **state)
{
    (void)state;
    struct table t = { 0 };
    struct ks_sched *s = make_costly(&t, 1, 4, 4, ones, 0, 10);
    struct ks_lease l;
    uint32_t condemned[8][2];
    double now = 0;
    add(s, 0);
    for (uint32_t d = 0; d < 3; d++) {
        assert_int_equal(ks_sched_next(s, d, now, INFINITY, &l, NULL), KS_SCHED_LEASE);
        add(s, d + 1);
        now = l.deadline_s + 1;
        assert_int_equal(ks_sched_reissue(s, now), l.n);
    }
    for (uint32_t d = 0; d < 3; d++)
        assert_int_equal(ks_sched_device_lost(s, d, true, condemned, 8), 0);
    assert_int_equal(ks_sched_next(s, 3, now, INFINITY, &l, NULL), KS_SCHED_LEASE);
    for (; l.n && !l.is_alone; now++) { /* what only one of them had */
        finish(s, &l);
        assert_int_equal(ks_sched_next(s, 3, now, INFINITY, &l, NULL), KS_SCHED_LEASE);
    }
    assert_true(l.is_alone);
    assert_int_equal(l.n, 1);
    finish(s, &l);
    assert_int_equal(ks_sched_reopen(s, 0, l.i_instance[0], NULL), 0);
    assert_int_equal(ks_sched_next(s, 3, now, INFINITY, &l, NULL), KS_SCHED_LEASE);
    assert_true(l.is_alone);
    assert_int_equal(ks_sched_device_lost(s, 3, true, condemned, 8), 1);
    assert_int_equal(condemned[0][1], l.i_instance[0]);
    ks_sched_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_open_again_while_its_lease_is),
        cmocka_unit_test(test_lost_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
