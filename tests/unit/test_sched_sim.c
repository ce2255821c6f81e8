/* SPDX-License-Identifier: MIT */
/* test_sched_sim.c - the scheduler in virtual time with many devices: every cell is done once */
/* Whatever is lost, drained or given back, every block is opened and closed once, and nobody waits
 * for ever. */
#include "base/hash.h"
#include "sched/sched.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = 12, INSTANCES = 40, DEVICES = 400, HELD = 4, BLOCKS = 8000 };
#define NEVER 1e300

/* Rare orders of events are looked for in the plain build. */
#ifdef KSWEEP_SANITIZED
#define N_SEEDS 6
#else
#define N_SEEDS 40
#endif

enum block_end { BLOCK_OPEN, BLOCK_CLOSED, BLOCK_LOST };
struct block {
    uint32_t device, i_problem, n_opens, n_closes;
    enum block_end end;
};
struct device { /* runs the cells of its leases one after another */
    bool is_alive, is_drained;
    uint32_t n_held, at; /* the next cell of held[0] */
    struct ks_lease held[HELD];
    double ready_at; /* virtual time at which the cell in hand is done */
};
enum cell { FREE, LEASED, DONE };
struct plan { /* chances per event */
    double lose, drain, break_down;
    uint32_t n_devices, n_instances, batch;
    bool has_resumed; /* a third of the cells is done from the start */
};
struct sim {
    struct plan plan;
    struct ks_sched *s;
    struct device devices[DEVICES];
    uint32_t n_devices;
    struct block blocks[BLOCKS];
    uint8_t cell[PROBLEMS][INSTANCES], n_lost[PROBLEMS][INSTANCES];
    uint32_t n_done[PROBLEMS][INSTANCES], n_asked[PROBLEMS];
    double cost[PROBLEMS], now, spent;
    uint32_t n_left, n_condemned, n_losses;
    uint64_t rng;
};

static double chance(struct sim *m)
{
    return (double)(ks_rng_next(&m->rng) >> 11) * 0x1p-53;
}

static enum ks_cell_state state_of(void *ctx, uint32_t ip, uint32_t ii)
{
    struct sim *m = ctx;
    m->n_asked[ip]++;
    return m->cell[ip][ii] == DONE ? KS_CELL_DONE : KS_CELL_RUN;
}

static uint32_t n_working(const struct sim *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_devices; i++)
        n += m->devices[i].is_alive && !m->devices[i].is_drained;
    return n;
}

static void add_device(struct sim *m)
{
    assert_true(m->n_devices < DEVICES);
    m->devices[m->n_devices] = (struct device){ .is_alive = true };
    assert_int_equal(ks_sched_device_add(m->s, m->n_devices, NULL), 0);
    m->n_devices++;
}

static bool waits_alone(const struct sim *m, uint32_t ip, uint32_t ii)
{
    return m->n_lost[ip][ii] >= KS_LOSSES_ALONE;
}

static uint32_t n_ready(const struct sim *m, uint32_t ip)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->plan.n_instances; i++)
        n += m->cell[ip][i] == FREE && !waits_alone(m, ip, i);
    return n;
}

static uint32_t n_undone(const struct sim *m, uint32_t ip)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->plan.n_instances; i++)
        n += m->cell[ip][i] != DONE;
    return n;
}

static uint32_t n_blocks(const struct sim *m, uint32_t ip)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < BLOCKS; i++) {
        const struct block *b = &m->blocks[i];
        n += b->n_opens && b->end == BLOCK_OPEN && b->i_problem == ip;
    }
    return n;
}

/* A further block of a problem that another device has open must be worth it. */
static void check_opening(struct sim *m, const struct ks_lease *l,
                          const struct ks_sched_counts *before, uint32_t ready)
{
    uint32_t ip = l->i_problem;
    uint32_t n = n_blocks(m, ip);
    if (n) {
        double share = before->remaining_s / n_working(m);
        assert_true(m->cost[ip] * ready >= share / 4 * (1 - 1e-9));
        /* new problems come first, unless this one would outlast all */
        assert_true(before->n_untouched == 0 ||
                    m->cost[ip] * n_undone(m, ip) / n > share * (1 - 1e-9));
    }
    bool is_end = before->remaining_s <= (before->remaining_s + m->spent) / 4;
    for (uint32_t k = 0; k < PROBLEMS; k++) /* by priority, at the end the longest first */
        assert_true(m->n_asked[k] > 0 || (is_end ? m->cost[k] <= m->cost[ip] : k > ip) ||
                    m->n_asked[ip] > 0);
}

static void check_block(struct sim *m, const struct ks_lease *l)
{
    assert_true(l->block > 0 && l->block < BLOCKS);
    struct block *b = &m->blocks[l->block];
    if (l->opens) {
        assert_int_equal(b->n_opens, 0);
        *b = (struct block){ .device = l->device, .i_problem = l->i_problem };
    }
    b->n_opens += l->opens;
    assert_int_equal(b->n_opens, 1);
    assert_int_equal(b->end, BLOCK_OPEN); /* nothing after its last lease */
    assert_int_equal(b->device, l->device);
    assert_int_equal(b->i_problem, l->i_problem);
    b->n_closes += l->closes;
    if (l->closes)
        b->end = BLOCK_CLOSED;
}

static void check_cells(struct sim *m, const struct ks_lease *l,
                        const struct ks_sched_counts *before)
{
    double share = before->remaining_s / n_working(m) / 4;
    assert_true(l->n <= m->plan.batch);
    assert_true(l->n <= 1 || n_working(m) == 1 ||
                l->n <= share / m->cost[l->i_problem] * (1 + 1e-9));
    assert_true(l->n > 0 || (l->closes && !l->opens));
    for (uint32_t k = 0; k < l->n; k++) {
        assert_true(l->i_instance[k] < m->plan.n_instances);
        assert_int_equal(m->cell[l->i_problem][l->i_instance[k]], FREE);
        assert_int_equal(waits_alone(m, l->i_problem, l->i_instance[k]), l->is_alone);
        m->cell[l->i_problem][l->i_instance[k]] = LEASED;
    }
    if (!l->is_alone)
        return;
    assert_int_equal(l->n, 1);
    assert_true(l->opens && l->closes);
    assert_int_equal(before->n_leased, 0);
    for (uint32_t ip = 0; ip < PROBLEMS; ip++)
        assert_int_equal(n_ready(m, ip), 0); /* last of all */
}

static void start_cell(struct sim *m, struct device *d)
{
    d->ready_at = NEVER;
    if (!d->n_held)
        return;
    d->ready_at = m->now;
    if (d->at < d->held[0].n)
        d->ready_at += m->cost[d->held[0].i_problem];
}

static bool give(struct sim *m, uint32_t i)
{
    struct device *d = &m->devices[i];
    struct ks_sched_counts before;
    struct ks_lease l;
    uint32_t ready[PROBLEMS];
    ks_sched_counts(m->s, &before);
    for (uint32_t ip = 0; ip < PROBLEMS; ip++)
        ready[ip] = n_ready(m, ip);
    int rc = ks_sched_next(m->s, i, m->now, INFINITY, &l, NULL);
    assert_true(rc >= 0);
    assert_int_equal(rc == KS_SCHED_OVER, m->n_left == 0);
    if (rc != KS_SCHED_LEASE)
        return false;
    assert_int_equal(l.device, i);
    if (l.opens && !l.is_alone)
        check_opening(m, &l, &before, ready[l.i_problem]);
    check_block(m, &l);
    check_cells(m, &l, &before);
    d->held[d->n_held++] = l;
    if (d->n_held == 1) {
        d->at = 0;
        start_cell(m, d);
    }
    return true;
}

static void settle(struct sim *m, uint32_t ip, uint32_t ii, double elapsed)
{
    m->cell[ip][ii] = DONE;
    m->n_done[ip][ii]++;
    m->n_left--;
    m->spent += elapsed;
    ks_sched_done(m->s, ip, ii, KS_NO_DEVICE, elapsed);
}

static void drop_cells(struct sim *m, struct device *d, bool is_loss)
{
    for (uint32_t k = 0; k < d->n_held; k++) {
        const struct ks_lease *l = &d->held[k];
        for (uint32_t c = 0; c < l->n; c++) {
            uint8_t *cell = &m->cell[l->i_problem][l->i_instance[c]];
            if (*cell != LEASED)
                continue;
            *cell = FREE;
            m->n_lost[l->i_problem][l->i_instance[c]] += is_loss;
        }
    }
    d->n_held = 0;
    d->ready_at = NEVER;
}

static void abandon_blocks(struct sim *m, uint32_t i)
{
    for (uint32_t k = 1; k < BLOCKS; k++)
        if (m->blocks[k].n_opens && m->blocks[k].device == i && m->blocks[k].end == BLOCK_OPEN)
            m->blocks[k].end = BLOCK_LOST;
}

static void lose(struct sim *m, uint32_t i, bool is_loss)
{
    uint32_t gone[KS_LEASE_CELLS][2];
    struct device *d = &m->devices[i];
    drop_cells(m, d, is_loss);
    abandon_blocks(m, i);
    d->is_alive = false;
    m->n_losses++;
    uint32_t n = ks_sched_device_lost(m->s, i, is_loss, gone, KS_LEASE_CELLS);
    for (uint32_t k = 0; k < n; k++) {
        assert_true(is_loss);
        assert_int_equal(m->n_lost[gone[k][0]][gone[k][1]], KS_LOSSES_FINAL);
        assert_int_equal(m->cell[gone[k][0]][gone[k][1]], FREE);
        settle(m, gone[k][0], gone[k][1], 0);
        m->n_condemned++;
    }
    add_device(m);
}

/* It finishes the cell in hand and gives the rest back, lease by lease. */
static void drain(struct sim *m, uint32_t i)
{
    struct device *d = &m->devices[i];
    struct ks_lease held[HELD];
    uint32_t n = d->n_held;
    if (d->is_drained)
        return;
    d->is_drained = true;
    ks_sched_device_drain(m->s, i);
    if (n && d->at < d->held[0].n)
        settle(m, d->held[0].i_problem, d->held[0].i_instance[d->at], 0);
    memcpy(held, d->held, sizeof(held));
    drop_cells(m, d, false);
    abandon_blocks(m, i);
    for (uint32_t k = 0; k < n; k++)
        ks_sched_lease_end(m->s, held[k].id);
    add_device(m);
}

/* The cell in hand is done; the lease with its last one. */
static void advance(struct sim *m, uint32_t i)
{
    struct device *d = &m->devices[i];
    struct ks_lease *l = &d->held[0];
    m->now = d->ready_at;
    if (d->at < l->n) {
        settle(m, l->i_problem, l->i_instance[d->at], m->cost[l->i_problem]);
        d->at++;
    }
    if (d->at >= l->n) {
        ks_sched_lease_end(m->s, l->id);
        memmove(d->held, d->held + 1, (HELD - 1) * sizeof(*l));
        d->n_held--;
        d->at = 0;
    }
    start_cell(m, d);
}

static uint32_t next_device(const struct sim *m)
{
    uint32_t best = DEVICES;
    for (uint32_t i = 0; i < m->n_devices; i++)
        if (m->devices[i].is_alive && m->devices[i].n_held &&
            (best == DEVICES || m->devices[i].ready_at < m->devices[best].ready_at))
            best = i;
    return best;
}

static void give_all(struct sim *m)
{
    for (uint32_t round = 1; round <= HELD; round++)
        for (uint32_t i = 0; i < m->n_devices; i++) {
            struct device *d = &m->devices[i];
            if (d->is_alive && !d->is_drained && d->n_held < round)
                (void)give(m, i);
        }
}

static void begin(struct sim *m, const struct plan *plan, uint64_t seed)
{
    uint64_t seeds[PROBLEMS];
    memset(m, 0, sizeof(*m));
    m->plan = *plan;
    m->rng = seed;
    m->n_left = PROBLEMS * plan->n_instances;
    for (uint32_t ip = 0; ip < PROBLEMS; ip++) {
        seeds[ip] = ks_rng_next(&m->rng);
        m->cost[ip] = 0.1 + 3 * chance(m) * chance(m);
        for (uint32_t ii = 0; plan->has_resumed && ii < plan->n_instances; ii++)
            if (ip == 2 || chance(m) < 0.33) {
                m->cell[ip][ii] = DONE;
                m->n_done[ip][ii] = 1;
                m->n_left--;
            }
    }
    struct ks_sched_config c = { .n_problems = PROBLEMS,
                                 .n_instances = plan->n_instances,
                                 .cost_s = m->cost,
                                 .seed = seeds,
                                 .batch = plan->batch,
                                 .cell_state = state_of,
                                 .ctx = m };
    assert_int_equal(ks_sched_create(&c, &m->s, NULL), 0);
    for (uint32_t i = 0; i < plan->n_devices; i++)
        add_device(m);
}

static void check_end(struct sim *m)
{
    struct ks_sched_counts n;
    ks_sched_counts(m->s, &n);
    assert_int_equal(n.n_complete, PROBLEMS);
    assert_int_equal(n.n_partial + n.n_untouched, 0);
    assert_int_equal(n.n_leased, 0);
    for (uint32_t ip = 0; ip < PROBLEMS; ip++) {
        assert_int_equal(m->n_asked[ip], m->plan.n_instances);
        for (uint32_t ii = 0; ii < m->plan.n_instances; ii++)
            assert_int_equal(m->n_done[ip][ii], 1);
    }
    for (uint32_t k = 1; k < BLOCKS; k++) {
        const struct block *b = &m->blocks[k];
        assert_true(b->n_opens <= 1 && b->n_closes <= b->n_opens);
        if (b->n_opens && b->end != BLOCK_LOST)
            assert_int_equal(b->n_closes, 1);
    }
}

/* To the end: all cells are done and all closing leases were run. */
static void run(struct sim *m)
{
    for (uint32_t n = 0;; n++) {
        assert_true(n < 100000);
        give_all(m);
        uint32_t i = next_device(m);
        if (i == DEVICES) {
            assert_int_equal(m->n_left, 0); /* else everyone waits for ever */
            break;
        }
        double dice = chance(m);
        bool may_lose = m->n_devices < DEVICES - 1;
        uint32_t victim = (uint32_t)ks_rng_below(&m->rng, m->n_devices);
        if (may_lose && m->devices[victim].is_alive && dice < m->plan.lose)
            lose(m, victim, true);
        else if (may_lose && m->devices[victim].is_alive &&
                 dice < m->plan.lose + m->plan.break_down)
            lose(m, victim, false);
        else if (may_lose && m->devices[victim].is_alive &&
                 dice < m->plan.lose + m->plan.break_down + m->plan.drain)
            drain(m, victim);
        else
            advance(m, i);
    }
    check_end(m);
    ks_sched_destroy(m->s);
}

static void test_everything_once(void **state)
{
    (void)state;
    static const struct plan rows[] = {
        { .n_devices = 1, .n_instances = 40, .batch = 20 },
        { .n_devices = 2, .n_instances = 40, .batch = 20 },
        { .n_devices = 5, .n_instances = 40, .batch = 7, .has_resumed = true },
        { .n_devices = 30, .n_instances = 40, .batch = 20 },
        { .n_devices = 3, .n_instances = 1, .batch = 20 },
        { .n_devices = 2, .n_instances = 40, .batch = 20, .lose = 0.05 },
        { .n_devices = 4, .n_instances = 30, .batch = 10, .drain = 0.05 },
        { .n_devices = 4, .n_instances = 30, .batch = 10, .break_down = 0.05 },
        { .n_devices = 6,
          .n_instances = 40,
          .batch = 5,
          .lose = .1,
          .drain = .03,
          .break_down = .03 },
        { .n_devices = 3, .n_instances = 20, .batch = 20, .lose = 0.35, .has_resumed = true },
    };
    struct sim *m = malloc(sizeof(*m));
    uint32_t n_condemned = 0, n_losses = 0;
    assert_non_null(m);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
            begin(m, &rows[r], seed);
            run(m);
            n_condemned += m->n_condemned;
            n_losses += m->n_losses;
        }
    assert_true(n_condemned > N_SEEDS / 4); /* the hard cases did happen */
    assert_true(n_losses > 25 * N_SEEDS);
    free(m);
}

static uint32_t n_begun(const struct sim *m)
{
    uint32_t n = 0;
    for (uint32_t ip = 0; ip < PROBLEMS; ip++) {
        uint32_t n_done = 0;
        for (uint32_t ii = 0; ii < m->plan.n_instances; ii++)
            n_done += m->n_done[ip][ii];
        n += n_done > 0 && n_done < m->plan.n_instances;
    }
    return n;
}

/* Nobody is lost: few problems are begun and not complete, and the devices end about together. */
static void test_problems_one_after_another(void **state)
{
    (void)state;
    struct sim *m = malloc(sizeof(*m));
    assert_non_null(m);
    for (uint32_t n_devices = 1; n_devices <= 8; n_devices++) {
        struct plan plan = { .n_devices = n_devices, .n_instances = 40, .batch = 20 };
        double work = 0, most = 0;
        begin(m, &plan, n_devices);
        for (uint32_t ip = 0; ip < PROBLEMS; ip++) {
            work += m->cost[ip] * 40;
            most = fmax(most, m->cost[ip]);
        }
        for (;;) {
            give_all(m);
            assert_true(n_begun(m) <= n_devices + 1);
            uint32_t i = next_device(m);
            if (i == DEVICES)
                break;
            advance(m, i);
        }
        check_end(m);
        assert_true(m->now <= work / n_devices + 2 * most);
        ks_sched_destroy(m->s);
    }
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_once),
        cmocka_unit_test(test_problems_one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
