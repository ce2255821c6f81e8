/* SPDX-License-Identifier: MIT */
/* coord_expect.c - what visits are still to come, from round 0 and from races that have ended. */
#include "mpi/coord_impl.h"
#include "sched/cost.h"

#include <math.h>

#define COST_SAMPLE 1000 /* problems that the guess of the cost of visits looks at */

/* Seconds of all visits of a usual problem. */
static double guess_s(const struct ks_grid *g)
{
    uint32_t n = g->n_problems < COST_SAMPLE ? g->n_problems : COST_SAMPLE;
    double sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, i);

        sum += ks_cost_visits_s(&g->job, ks_cost_problem_s(&g->job, &p));
    }
    return n ? sum / n : 0;
}

void ks_coord_expect_open(struct ks_coord *c)
{
    const struct ks_grid *g = c->c.grid;
    struct race_books *r = &c->races;
    const double n_visits = ks_cost_n_visits(&g->job);

    r->mean_n = n_visits;
    r->wall_s = (struct ks_eta_visits){ .guess = guess_s(g), .n_guess = n_visits };
    r->work = (struct ks_eta_visits){ .guess = ks_cost_n_visited(&g->job, g->n_instances),
                                      .n_guess = n_visits };
}

void ks_coord_expect_first(struct race_books *r, struct race_book *b)
{
    b->first = b->round_1.n > 0 ? b->round_1 : b->asked;
    r->wall_s.first += b->first.wall_s;
    r->work.first += b->first.n;
}

static void add_past(struct ks_eta_visits *v, double all, bool is_first)
{
    v->ended += all;
    v->ended_first += is_first ? all : 0;
    v->first += is_first ? all : 0;
}

void ks_coord_expect_past(struct ks_coord *c, const struct ks_record_head *r)
{
    const int64_t i = r->role == KS_ROLE_CELL ? ks_grid_problem(c->c.grid, r->cell.problem) : -1;

    if (i >= 0 && r->round_index == 0 && r->outcome == KS_O_OK)
        c->races.past_cells_s += (double)r->wall_ns * 1e-9;
    if (i < 0 || r->round_index == 0 || c->races.state[i] != RACE_ENDED)
        return;
    add_past(&c->races.wall_s, (double)r->wall_ns * 1e-9, r->round_index == 1);
    add_past(&c->races.work, 1, r->round_index == 1);
}

void ks_coord_expect_end(struct race_books *r, const struct race_book *b)
{
    r->wall_s.ended += b->spent.wall_s;
    r->wall_s.ended_first += b->first.wall_s;
    r->work.ended += b->spent.n;
    r->work.ended_first += b->first.n;
    r->mean_n += (b->verdict.next_round - 1 - r->mean_n) / (1 + r->n_ended_here);
}

/* Problems that have no book and may get one. One that is complete without has nothing to race,
 * unless it was refuted. */
static uint32_t n_to_come(const struct ks_coord *c)
{
    const struct race_books *r = &c->races;
    const uint32_t n_known = r->n_open + r->n_ended + r->n_refuted, n = c->c.grid->n_problems;
    struct ks_sched_counts s;
    uint32_t n_over;

    ks_sched_counts(c->sched, &s);
    n_over = n_known > s.n_complete ? n_known : s.n_complete;
    return (n > n_over ? n - n_over : 0) + r->n_refuted;
}

struct expected {
    struct ks_eta_visits wall_s, work;
    double to_come_s;             /* cells of the problems that are to come */
    uint32_t n_to_come, n_booked; /* their number, without and with a book */
    double booked_s, begun_s; /* cells done of those with a book; where the scheduler knows them */
};

static void add_open(struct expected *e, const struct race_book *b, struct race_work first)
{
    e->wall_s.open += b->spent.wall_s;
    e->wall_s.open_first += first.wall_s;
    e->work.open += b->spent.n;
    e->work.open_first += first.n;
}

/* Problems of which nothing is known but cells: those that are not complete, as far as they had no
 * visits in an earlier life. The scheduler learns that they are complete when it opens them. Their
 * visits follow from all of their cells, those that are done included. */
static void expect_cells(const struct ks_coord *c, struct expected *e)
{
    const uint32_t n = c->c.grid->n_problems;
    struct ks_sched_counts s;
    struct ks_sched_left left;
    double done_s, all_s, n_incomplete, n_unknown = e->n_to_come + e->n_booked;

    ks_sched_counts(c->sched, &s);
    ks_sched_left(c->sched, &left);
    done_s = fmax(c->races.past_cells_s + left.done_s - e->booked_s, 0);
    all_s = left.cells_s + e->begun_s;
    n_incomplete = n - s.n_complete;
    e->to_come_s = n_incomplete > 0 ? all_s * fmin(n_unknown / n_incomplete, 1) : 0;
    e->wall_s.cells_s = e->work.cells_s = done_s;
    e->wall_s.usual_cells_s = e->work.usual_cells_s = n ? (done_s + all_s) / n : 0;
}

/* A problem whose visits are all to come: what has been measured of its cells. */
static void add_cells(const struct ks_coord *c, struct expected *e, const struct race_book *b)
{
    e->n_booked++;
    e->booked_s += b->cells_s;
    e->begun_s += ks_sched_is_begun(c->sched, b->i_problem) ? b->cells_s : 0;
}

/* With the races that have had visits, beside those that have ended. */
static struct expected expect(const struct ks_coord *c)
{
    const struct race_books *r = &c->races;
    struct expected e = { .wall_s = r->wall_s, .work = r->work, .n_to_come = n_to_come(c) };

    for (uint32_t i = 0; i < r->n_open; i++) {
        const struct race_book *b = r->open[i];

        if (b->spent.n <= 0) {
            if (!b->is_begun)
                add_cells(c, &e, b);
            continue;
        }
        add_open(&e, b, b->is_begun ? b->first : b->round_1);
        if (!b->is_begun) {
            e.wall_s.first += b->round_1.wall_s;
            e.work.first += b->round_1.n;
        }
    }
    expect_cells(c, &e);
    return e;
}

/* Of a race with a book. No more visits than its rounds allow. */
static struct race_work left_of(const struct race_books *r, const struct expected *e,
                                const struct race_book *b)
{
    const struct race_work first = b->is_begun ? b->first : b->round_1;
    const double n_most = r->config.max_rounds - b->verdict.next_round;
    struct race_work left = { 0, 0 };

    if (!b->is_begun && b->spent.n <= 0)
        return left; /* in to_come_s */
    left.wall_s = ks_eta_visits_left(&e->wall_s, first.wall_s, b->spent.wall_s, b->asked.wall_s);
    left.n = ks_eta_visits_left(&e->work, first.n, b->spent.n, b->asked.n);
    if (b->asked.n > 0)
        left = (struct race_work){ fmin(left.wall_s, n_most * b->asked.wall_s),
                                   fmin(left.n, n_most * b->asked.n) };
    return left;
}

void ks_coord_visits_left(const struct ks_coord *c, struct ks_visits_left *out)
{
    const struct race_books *r = &c->races;
    struct expected e;
    double device_s, n;

    *out = (struct ks_visits_left){ .n = 0 };
    if (!r->is_on)
        return;
    e = expect(c);
    n = ks_eta_visits_of(&e.work, e.to_come_s);
    device_s = ks_eta_visits_of(&e.wall_s, e.to_come_s);
    *out = (struct ks_visits_left){ .n = e.n_to_come * r->mean_n,
                                    .n_measured = n,
                                    .device_s = device_s,
                                    .later_s = device_s,
                                    .each = ks_eta_visits_of(&e.work, e.work.usual_cells_s) };
    if (e.n_to_come + e.n_booked > 0)
        out->each = n / (e.n_to_come + e.n_booked);
    for (uint32_t i = 0; i < r->n_open; i++) {
        const struct race_book *b = r->open[i];
        const struct race_work left = left_of(r, &e, b);

        out->n += b->is_begun ? fmax(r->mean_n - (b->verdict.next_round - 1), 1) : r->mean_n;
        out->n_measured += left.n;
        out->device_s += left.wall_s;
        out->later_s += fmax(left.wall_s - b->asked.wall_s, 0);
    }
}
