/* SPDX-License-Identifier: MIT */
/* coord_race.c - what is known of each problem's race, and what follows from it. */
#include "base/array.h"
#include "base/clock.h"
#include "mpi/coord_impl.h"
#include "record/rounds.h"
#include "sched/cost.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PILOTS 8u /* instances of a device's first problem that have three rounds */

_Static_assert(KS_RACE_CUT == KS_RACE_REC_CUT, "the journal's number");

static void configure(struct race_books *r, const struct ks_job_rounds *j)
{
    ks_race_config_init(&r->config);
    r->config.max_rounds = j->max;
    r->config.over = KS_LABEL_OVER;
    r->config.alpha = j->alpha;
    r->config.margin = j->margin;
    r->config.max_time_ns = j->max_ms * 1000000ull;
    r->config.max_visit = KS_VISIT_CELLS / r->config.passes;
}

int ks_coord_race_open(struct ks_coord *c, struct ks_err *err)
{
    const struct ks_grid *g = c->c.grid;
    struct race_books *r = &c->races;

    r->is_on = g->job.rounds.max > 1;
    if (!r->is_on)
        return 0;
    r->statistic = ks_label_statistic(ks_job_backend(&g->job)->name);
    configure(r, &g->job.rounds);
    ks_coord_expect_open(c);
    r->state = calloc(g->n_problems + 1u, sizeof(*r->state));
    r->book = calloc(g->n_problems + 1u, sizeof(*r->book));
    if (!r->state || !r->book)
        return ks_fail(err, KS_ENOMEM, "out of memory for the races of %u problems", g->n_problems);
    return ks_coord_race_rebuild(c, err);
}

static void free_book(struct race_book *b)
{
    ks_race_destroy(b->race);
    free(b);
}

void ks_coord_race_close(struct ks_coord *c)
{
    struct race_books *r = &c->races;

    for (uint32_t i = 0; i < r->n_open; i++)
        free_book(r->open[i]);
    free(r->state);
    free(r->book);
    free(r->open);
    free(r->pools);
    free(r->firsts);
}

/* ---- pools ---- */

/* Cells that are bound by arithmetic, and by memory. */
static uint32_t class_of(const struct ks_coord *c, uint32_t i_problem)
{
    const struct ks_problem p = ks_problem_table_get(&c->c.grid->problems, i_problem);
    struct ks_cost_rates r = ks_cost_rates(&c->c.grid->job);

    return ks_problem_min_bytes(&p) / r.bytes_per_s > ks_problem_flops(&p) / r.flops_per_s;
}

struct ks_race_spread *ks_coord_race_pool(struct ks_coord *c, uint64_t device_id, uint32_t i_class,
                                          struct ks_err *err)
{
    struct race_books *r = &c->races;

    for (uint32_t i = 0; i < r->n_pools; i++)
        if (r->pools[i].device_id == device_id && r->pools[i].i_class == i_class)
            return &r->pools[i].spread;
    if (ks_reserve32(&r->pools, r->n_pools + 1ul, &r->cap_pools, sizeof(*r->pools), "races", err) <
        0)
        return NULL;
    r->pools[r->n_pools] = (struct race_pool){ .device_id = device_id, .i_class = i_class };
    return &r->pools[r->n_pools++].spread;
}

/* The problem of a device's first record, by time; of two at a time the lower id. */
static int note_first(struct race_books *r, struct race_first now, struct ks_err *err)
{
    struct race_first *f = r->firsts;

    if (!now.device_id) /* nobody measured it */
        return 0;
    while (f < r->firsts + r->n_firsts && f->device_id != now.device_id)
        f++;
    if (f == r->firsts + r->n_firsts) {
        int rc =
            ks_reserve32(&r->firsts, r->n_firsts + 1ul, &r->cap_firsts, sizeof(*f), "races", err);

        if (rc == 0)
            r->firsts[r->n_firsts++] = now;
        return rc;
    }
    if (now.started_ns < f->started_ns ||
        (now.started_ns == f->started_ns && now.problem < f->problem))
        *f = now;
    return 0;
}

static bool has_pilots(const struct ks_coord *c, const struct race_book *b)
{
    const struct race_books *r = &c->races;
    uint64_t problem = ks_problem_table_id(&c->c.grid->problems, b->i_problem);

    for (uint32_t i = 0; i < r->n_firsts; i++)
        if (r->firsts[i].device_id == b->device_id)
            return r->firsts[i].problem == problem;
    return false;
}

/* ---- observations ---- */

/* Aliases are not measured, controls are measured for another purpose; what a worker never ran says
 * nothing of times, unless it is that each of its ranks was lost. */
static bool is_measured(const struct ks_coord *c, const struct ks_record_head *r)
{
    const bool is_control = r->outcome_flags & (KS_FL_ALIASED | KS_FL_PRUNED);

    return c->races.is_on && r->role == KS_ROLE_CELL && !is_control &&
           (!ks_id128_is_zero(r->worker) || r->outcome == KS_O_WORKER_LOST) &&
           r->outcome != KS_O_UNSUPPORTED && r->cell.condition == c->c.grid->condition &&
           r->round_index < KS_RACE_ROUNDS_MAX && (r->round_index == 0 || r->n_visit > 0);
}

bool ks_coord_race_wants(const struct ks_coord *c, const struct ks_record_head *r)
{
    int64_t i_problem = is_measured(c, r) ? ks_grid_problem(c->c.grid, r->cell.problem) : -1;

    return i_problem >= 0 && ks_grid_instance(c->c.grid, r->cell.instance) >= 0 &&
           c->races.state[i_problem] < RACE_ENDED;
}

int ks_coord_race_first(struct ks_coord *c, const struct ks_record_head *r, struct ks_err *err)
{
    const struct race_first f = { r->device_id, r->started_ns, r->cell.problem };

    return is_measured(c, r) ? note_first(&c->races, f, err) : 0;
}

/* What visits have cost in earlier lives; it takes one more loss to end them, because the machine
 * may be another one now. */
static void recall(const struct ks_coord *c, struct race_book *b)
{
    const struct ks_ledger_problem *p = ks_ledger_problem_find(
        c->c.ledger, ks_problem_table_id(&c->c.grid->problems, b->i_problem));

    if (!p)
        return;
    b->n_losses = p->race_losses < KS_LOSSES_ALONE ? p->race_losses : KS_LOSSES_ALONE;
    b->n_unclosed = p->race_unclosed;
}

static int need_book(struct ks_coord *c, uint32_t i_problem, struct race_book **out,
                     struct ks_err *err)
{
    struct race_books *r = &c->races;
    struct race_book *b;
    int rc;

    *out = r->book[i_problem];
    if (*out)
        return 0;
    rc = ks_reserve32(&r->open, r->n_open + 1ul, &r->cap_open, sizeof(*r->open), "races", err);
    b = rc == 0 ? calloc(1, sizeof(*b)) : NULL;
    if (rc == 0 && !b)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for a race");
    if (rc == 0)
        rc = ks_race_create(&r->config, &b->race, err);
    if (rc < 0) {
        free(b);
        return rc;
    }
    b->i_problem = i_problem;
    b->n_withdrawn = UINT32_MAX;
    recall(c, b);
    b->i_open = r->n_open;
    r->open[r->n_open++] = r->book[i_problem] = *out = b;
    r->state[i_problem] = RACE_BOOK;
    r->may_begin = true;
    return 0;
}

static void note_work(struct race_book *b, const struct ks_record *r)
{
    if (r->round_index == 0) {
        b->cells_s += r->outcome == KS_O_OK ? (double)r->wall_ns * 1e-9 : 0;
        return;
    }
    b->spent.wall_s += (double)r->wall_ns * 1e-9;
    b->spent.n++;
    if (r->round_index == 1) {
        b->round_1.wall_s += (double)r->wall_ns * 1e-9;
        b->round_1.n++;
    }
    if (b->last_device && (r->started_ns < b->last_ns ||
                           (r->started_ns == b->last_ns && r->device_id >= b->last_device)))
        return;
    b->last_ns = r->started_ns;
    b->last_device = r->device_id;
}

int ks_coord_race_note(struct ks_coord *c, uint32_t i_problem, const struct ks_record *r,
                       struct ks_err *err)
{
    struct ks_race_seen s = { .instance = r->cell.instance,
                              .device_id = r->device_id,
                              .lease_id = r->block_id, /* of a visit: its own, in all lives */
                              .attempt = r->attempt,
                              .round = r->round_index,
                              .position = r->position,
                              .n_visit = r->n_visit,
                              .outcome = r->outcome,
                              .flags = r->outcome_flags,
                              .n_samples = r->n_samples,
                              .disturbance = r->disturbance,
                              .clock_mhz = r->clock_timed_mhz,
                              .time_ns = ks_rounds_statistic(r, c->races.statistic),
                              .spent_ns = r->timing_ns };
    struct race_book *b;
    int rc = need_book(c, i_problem, &b, err);

    if (rc == 0)
        rc = note_first(&c->races,
                        (struct race_first){ r->device_id, r->started_ns, r->cell.problem }, err);
    if (rc < 0 || (r->outcome == KS_O_OK && s.time_ns <= 0))
        return rc;
    note_work(b, r);
    b->has_news = true;
    return ks_race_add(b->race, &s, err);
}

int ks_coord_race_take(struct ks_coord *c, const struct ks_record *r, struct ks_err *err)
{
    int64_t i_problem = ks_grid_problem(c->c.grid, r->cell.problem);

    return ks_coord_race_note(c, (uint32_t)i_problem, r, err);
}

int ks_coord_race_heard(struct ks_coord *c, const struct ks_record *r, struct ks_err *err)
{
    struct ks_record_head head;
    int rc;

    ks_record_head_of(r, &head);
    rc = ks_coord_race_refute(c, &head, err);
    return rc == 0 && ks_coord_race_wants(c, &head) ? ks_coord_race_take(c, r, err) : rc;
}

/* ---- decisions ---- */

int ks_coord_race_decide(struct ks_coord *c, struct race_book *b, struct ks_err *err)
{
    struct ks_race_spread *pool =
        ks_coord_race_pool(c, b->device_id, class_of(c, b->i_problem), err);
    int rc = pool ? ks_race_decide(b->race, pool, &b->verdict, err) : KS_ENOMEM;

    if (rc < 0)
        return rc;
    ks_race_spread_sub(pool, &b->own);
    b->own = b->verdict.spread;
    ks_race_spread_add(pool, &b->own);
    b->has_news = false;
    return 0;
}

int ks_coord_race_move(struct ks_coord *c, struct race_book *b, uint64_t device_id,
                       struct ks_err *err)
{
    static const struct ks_race_spread none = { .paired = { .freedom = 0 } };
    struct ks_race_spread *pool =
        ks_coord_race_pool(c, b->device_id, class_of(c, b->i_problem), err);

    if (!pool)
        return KS_ENOMEM;
    ks_race_spread_sub(pool, &b->own);
    b->own = none;
    b->device_id = device_id;
    ks_race_move(b->race, device_id);
    ks_race_pilots(b->race, has_pilots(c, b) ? PILOTS : 0);
    return ks_coord_race_decide(c, b, err);
}

static void put_verdict(const struct ks_coord *c, const struct race_book *b, uint32_t stop,
                        struct ks_race_rec *out)
{
    const struct ks_race_verdict *v = &b->verdict;

    *out = (struct ks_race_rec){
        .problem = ks_problem_table_id(&c->c.grid->problems, b->i_problem),
        .condition = c->c.grid->condition,
        .device_id = b->device_id,
        .label = v->n_contenders ? v->label : 0,
        .stop = stop,
        .n_rounds = v->n_rounds,
        .n_members = (uint32_t)ks_race_n_members(b->race),
        .n_contenders = v->n_contenders,
        .time_ns = v->time_ns,
        .lo_ns = v->lo_ns,
        .hi_ns = v->hi_ns,
        .regret_bound = v->regret_bound,
        .spent_ns = v->spent_ns,
        .paired = { b->own.paired.squares, b->own.paired.freedom },
        .first = { b->own.first.squares, b->own.first.freedom },
        .level = { b->own.level.squares, b->own.level.freedom },
        .i_class = class_of(c, b->i_problem),
        .n_seen = ks_race_n_seen(b->race),
        .statistic = c->races.statistic,
        .n_losses = b->n_losses,
        .n_unclosed = b->n_unclosed,
    };
}

static int write_race(struct ks_coord *c, const struct ks_race_rec *r, struct ks_err *err)
{
    int rc;

    ks_buf_clear(&c->body);
    ks_race_rec_encode(r, &c->body);
    rc = ks_coord_append(c, KS_F_RACE, err);
    return rc < 0 ? rc : ks_ledger_race(c->c.ledger, r, err);
}

static int write_verdict(struct ks_coord *c, const struct race_book *b, uint32_t stop,
                         struct ks_err *err)
{
    struct ks_race_rec r;

    put_verdict(c, b, stop, &r);
    return write_race(c, &r, err);
}

int ks_coord_race_save(struct ks_coord *c, struct race_book *b, struct ks_err *err)
{
    int rc = b->has_news ? ks_coord_race_decide(c, b, err) : 0;

    return rc < 0 ? rc : write_verdict(c, b, KS_RACE_CUT, err);
}

/* An instance that never had a time did not race; one more time of a visit changes little. */
static bool may_change_label(const struct ks_coord *c, const struct ks_record_head *r)
{
    if (r->outcome == KS_O_OK)
        return r->round_index == 0;
    return ks_ledger_was_ok(c->c.ledger, ks_ledger_find(c->c.ledger, &r->cell));
}

int ks_coord_race_refute(struct ks_coord *c, const struct ks_record_head *r, struct ks_err *err)
{
    int64_t i = is_measured(c, r) ? ks_grid_problem(c->c.grid, r->cell.problem) : -1;
    const struct ks_ledger_problem *p;
    struct ks_race_rec none;

    if (i < 0 || c->races.state[i] != RACE_ENDED || !may_change_label(c, r))
        return 0;
    ks_logf(c->c.log, KS_INFO,
            "%s: after its visits had ended, an instance %s; it is visited again",
            ks_problem_table_name(&c->c.grid->problems, (uint32_t)i),
            r->outcome == KS_O_OK ? "was measured once more" : "failed");
    c->races.state[i] = RACE_REFUTED;
    c->races.n_refuted++;
    c->races.n_ended--;
    p = ks_ledger_problem_find(c->c.ledger, r->cell.problem);
    assert(p); /* it has this record */
    none = (struct ks_race_rec){ .problem = r->cell.problem,
                                 .condition = r->cell.condition,
                                 .stop = KS_RACE_CUT,
                                 .n_members = p->race_members,
                                 .spent_ns = p->race_spent_ns,
                                 .n_seen = p->race_seen + 1,
                                 .statistic = c->races.statistic,
                                 .n_losses = p->race_losses,
                                 .n_unclosed = p->race_unclosed };
    return write_race(c, &none, err);
}

static void swap_places(struct race_books *r, struct race_book *b, uint32_t i)
{
    struct race_book *other = r->open[i];

    r->open[b->i_open] = other;
    other->i_open = b->i_open;
    r->open[i] = b;
    b->i_open = i;
}

/* Begun ones stand before all others. */
static void drop_book(struct ks_coord *c, struct race_book *b)
{
    struct race_books *r = &c->races;

    ks_coord_visit_hold(c, b, 0);
    r->n_waiting -= b->is_waiting;
    if (b->is_begun)
        swap_places(r, b, --r->n_begun);
    swap_places(r, b, --r->n_open);
    r->book[b->i_problem] = NULL;
    r->state[b->i_problem] = RACE_ENDED;
    free_book(b);
}

int ks_coord_race_end(struct ks_coord *c, struct race_book *b, uint32_t stop, struct ks_err *err)
{
    struct race_books *r = &c->races;
    int rc = write_verdict(c, b, stop, err);

    if (rc < 0)
        return rc;
    r->n_ended++;
    r->n_ended_here++;
    ks_coord_expect_end(r, b);
    drop_book(c, b);
    return 0;
}

/* Evaluated for the first time. */
static int open_race(struct ks_coord *c, struct race_book *b, struct ks_err *err)
{
    struct race_books *r = &c->races;

    b->is_begun = true;
    swap_places(r, b, r->n_begun++);
    b->device_id = b->last_device ? b->last_device : ks_race_first_device(b->race);
    return ks_coord_race_move(c, b, b->device_id, err);
}

static int begin(struct ks_coord *c, struct race_book *b, uint64_t now_ns, struct ks_err *err)
{
    int rc = open_race(c, b, err);

    if (rc < 0)
        return rc;
    if (b->verdict.stop != KS_RACE_OPEN)
        ks_coord_expect_first(&c->races, b);
    return b->verdict.stop == KS_RACE_OPEN ? ks_coord_visit_ask(c, b, now_ns, err)
                                           : ks_coord_race_end(c, b, b->verdict.stop, err);
}

int ks_coord_race_begin(struct ks_coord *c, bool is_forced, uint64_t now_ns, struct ks_err *err)
{
    struct race_books *r = &c->races;
    struct ks_visits_left left;
    struct ks_sched_counts n;
    int rc = 0;

    if (!r->is_on)
        return 0;
    ks_sched_counts(c->sched, &n);
    if (!is_forced && !r->may_begin && !r->n_waiting && n.n_complete == r->n_seen_complete)
        return 0;
    r->may_begin = false;
    r->n_seen_complete = n.n_complete;
    for (uint32_t i = r->n_waiting ? r->n_begun : 0; i > 0 && rc == 0; i--)
        if (r->open[i - 1]->is_waiting && ks_sched_is_complete(c->sched, r->open[i - 1]->i_problem))
            rc = ks_coord_visit_go_on(c, r->open[i - 1], now_ns, err);
    for (uint32_t i = r->n_open; i > r->n_begun && rc == 0;) {
        struct race_book *b = r->open[i - 1];

        if (!ks_sched_is_complete(c->sched, b->i_problem)) {
            i--;
            continue;
        }
        rc = begin(c, b, now_ns, err); /* one from before it takes its place */
        i = i < r->n_open ? i : r->n_open;
    }
    ks_coord_visits_left(c, &left);
    ks_sched_expect_visits(c->sched, left.later_s);
    return rc;
}

int ks_coord_race_cut(struct ks_coord *c, struct ks_err *err)
{
    struct race_books *r = &c->races;
    int rc = 0;

    for (uint32_t i = 0; i < r->n_open && rc == 0; i++) {
        struct race_book *b = r->open[i];
        bool is_complete = ks_sched_is_complete(c->sched, b->i_problem);

        if (!b->is_begun)
            rc = open_race(c, b, err);
        else if (b->has_news)
            rc = ks_coord_race_decide(c, b, err);
        if (rc == 0) /* without the rest of round 0 nothing is settled */
            rc = write_verdict(c, b, is_complete && b->verdict.stop ? b->verdict.stop : KS_RACE_CUT,
                               err);
    }
    return rc;
}
