/* SPDX-License-Identifier: MIT */
/* coord_visit.c - visits: asked of the scheduler, given as leases, evaluated when they have ended.
 */
#include "base/clock.h"
#include "mpi/coord_impl.h"
#include "sched/cost.h"

#include <assert.h>
#include <string.h>

/* Visits of a problem in a row that end before all is measured, or in which nothing is clean: so
 * noisy a device would be visited in all rounds. */
#define FUTILE_MOST 3u

static uint64_t gap_ns(const struct ks_coord *c)
{
    return c->c.grid->job.rounds.gap_s * 1000000000ull;
}

int ks_coord_visit_ask(struct ks_coord *c, struct race_book *b, uint64_t now_ns, struct ks_err *err)
{
    const struct ks_job_measure *m = &c->c.grid->job.measure;
    const size_t n = ks_race_wanted(b->race, NULL, 0);
    const struct ks_visit v = {
        .i_problem = b->i_problem,
        .device = ks_coord_rank_of(c, b->device_id),
        .not_before_s = (double)(now_ns + gap_ns(c) - c->away_ns) * 1e-9,
        .expected_s = ks_cost_visit_s(m, (uint32_t)n, (double)b->verdict.expected_ns * 1e-9),
    };

    b->asked = (struct race_work){ v.expected_s, (double)n };
    if (b->first.n <= 0)
        ks_coord_expect_first(&c->races, b);
    return ks_sched_visit(c->sched, &v, err);
}

/* The cells of the lease: what the race wants. A visit joins the highest attempt, so that a failure
 * in it decides the outcome of its cell; ks_record_counts counts it whichever attempt round 0 is
 * of.
 */
static void fill_cells(struct ks_coord *c, const struct race_book *b, struct ks_msg_lease *m)
{
    size_t n = ks_race_wanted(b->race, c->races.wanted, KS_VISIT_CELLS);

    assert(n <= KS_VISIT_CELLS); /* max_visit */
    m->n = (uint32_t)n;
    m->n_visit = (uint32_t)n / c->races.config.passes;
    for (uint32_t k = 0; k < m->n; k++) {
        uint32_t ii = (uint32_t)ks_grid_instance(c->c.grid, c->races.wanted[k]);
        struct ks_cell cell = ks_coord_cell(c, b->i_problem, ii);
        const struct ks_ledger_cell *known = ks_ledger_find(c->c.ledger, &cell);

        m->cells[k].i_instance = ii;
        m->cells[k].attempt = known && known->max_done ? known->max_done : 1;
        m->cells[k].round = b->verdict.next_round;
        m->cells[k].alias = 0;
    }
}

/* Each instance once. */
static int announce(struct ks_coord *c, uint32_t rank, const struct ks_msg_lease *m,
                    struct ks_err *err)
{
    int rc = 0;

    for (uint32_t k = 0; k < m->n_visit && rc == 0; k += KS_START_MAX) {
        struct ks_start s = { .lease_id = m->lease,
                              .block_id = m->block_id,
                              .device_id = c->ranks[rank].device_id,
                              .rank = rank,
                              .why = KS_WHY_LEASE };

        for (uint32_t i = k; i < m->n_visit && s.n_cells < KS_START_MAX; i++)
            s.cells[s.n_cells++] = (struct ks_start_cell){
                .cell = ks_coord_cell(c, m->i_problem, m->cells[i].i_instance),
                .attempt = m->cells[i].attempt,
                .round = m->cells[i].round,
            };
        ks_buf_clear(&c->body);
        ks_start_encode(&s, &c->body);
        rc = ks_coord_append(c, KS_F_START, err);
        if (rc == 0)
            rc = ks_ledger_start(c->c.ledger, &s, err);
    }
    return rc;
}

/* Contenders start again on this device; the time of round 0 elsewhere says who they are. */
static int follow(struct ks_coord *c, struct race_book *b, uint32_t rank, struct ks_err *err)
{
    uint64_t device_id = c->ranks[rank].device_id;

    if (!device_id || device_id == b->device_id)
        return 0;
    ks_logf(c->c.log, KS_INFO, "visits of %s go on with rank %u, on another device",
            ks_problem_table_name(&c->c.grid->problems, b->i_problem), rank);
    return ks_coord_race_move(c, b, device_id, err);
}

/* ---- visits whose ranks are lost ---- */

static uint32_t n_withdrawn(const struct ks_race *race)
{
    uint32_t n = 0;

    for (size_t i = 0; i < ks_race_n_members(race); i++) {
        struct ks_race_member m;

        ks_race_member_at(race, i, &m);
        n += m.state == KS_RACE_WITHDRAWN;
    }
    return n;
}

int ks_coord_visit_lost(struct ks_coord *c, uint32_t i_problem, struct ks_err *err)
{
    struct race_book *b = c->races.is_on ? c->races.book[i_problem] : NULL;

    if (!b || !b->is_begun)
        return 0;
    b->n_losses++;
    return ks_coord_race_save(c, b, err);
}

/* Further visits would give nothing. The verdict is that of the device that was visited most: the
 * one that lost its visits may have decided everything. */
static int give_up(struct ks_coord *c, struct race_book *b, struct ks_err *err)
{
    const struct ks_race_verdict *v = &b->verdict;
    uint64_t device_id;
    int rc = ks_race_visited_device(b->race, &device_id, err);

    if (rc == 0)
        rc = ks_coord_race_move(c, b, device_id, err);
    if (rc < 0)
        return rc;
    return ks_coord_race_end(c, b,
                             v->stop      ? v->stop
                             : v->settled ? v->settled
                                          : KS_RACE_NOISY,
                             err);
}

/* As many ranks were lost in visits of the problem as let a lease be run cell by cell, and its
 * contenders were in flight: each runs alone, in a further attempt. The one that is in flight at
 * the next loss fails, which withdraws it. If none is, and a rank is lost in a visit again, the
 * visits of the problem are over: they would cost one rank after another. */
static int suspect(struct ks_coord *c, struct race_book *b, struct ks_err *err)
{
    const size_t n =
        ks_race_wanted(b->race, c->races.wanted, KS_VISIT_CELLS) / c->races.config.passes;
    const char *name = ks_problem_table_name(&c->c.grid->problems, b->i_problem);
    int rc = 0;

    if (b->n_withdrawn != UINT32_MAX) {
        ks_logf(c->c.log, KS_WARN, "%s: %u ranks were lost in its visits: it is visited no more",
                name, b->n_losses);
        return give_up(c, b, err);
    }
    ks_logf(c->c.log, KS_WARN, "%s: %u ranks were lost in its visits: its contenders run alone",
            name, b->n_losses);
    b->n_withdrawn = n_withdrawn(b->race);
    b->is_waiting = true;
    b->asked = (struct race_work){ 0, 0 };
    c->races.n_waiting++;
    for (size_t k = 0; k < n && rc == 0; k++)
        rc = ks_sched_reopen_alone(c->sched, b->i_problem,
                                   (uint32_t)ks_grid_instance(c->c.grid, c->races.wanted[k]), err);
    return rc;
}

int ks_coord_visit_go_on(struct ks_coord *c, struct race_book *b, uint64_t now_ns,
                         struct ks_err *err)
{
    int rc = ks_coord_race_decide(c, b, err);

    if (rc < 0)
        return rc;
    b->is_waiting = false;
    c->races.n_waiting--;
    if (n_withdrawn(b->race) > b->n_withdrawn) { /* it was one of those */
        b->n_losses = 0;
        b->n_withdrawn = UINT32_MAX;
        rc = ks_coord_race_save(c, b, err);
    }
    if (rc < 0)
        return rc;
    return b->verdict.stop == KS_RACE_OPEN ? ks_coord_visit_ask(c, b, now_ns, err)
                                           : ks_coord_race_end(c, b, b->verdict.stop, err);
}

/* The first loss may be anything's; after the trial alone one more is enough. */
static bool is_deadly(const struct race_book *b)
{
    return b->n_losses >= (b->n_withdrawn == UINT32_MAX ? KS_LOSSES_ALONE : KS_LOSSES_FINAL);
}

int ks_coord_visit_lease(struct ks_coord *c, uint32_t rank, const struct ks_lease *l,
                         struct ks_err *err)
{
    struct race_book *b = c->races.book[l->i_problem];
    struct ks_msg_lease *m = &c->races.msg;
    /* an instance has failed meanwhile, or has a new attempt */
    int rc = b && b->has_news ? ks_coord_race_decide(c, b, err) : 0;

    if (rc == 0 && b && b->verdict.stop == KS_RACE_OPEN && is_deadly(b)) {
        ks_sched_lease_end(c->sched, l->id);
        return suspect(c, b, err);
    }
    if (rc == 0 && b && b->verdict.stop == KS_RACE_OPEN)
        rc = follow(c, b, rank, err);
    if (rc < 0)
        return rc;
    if (!b || b->verdict.stop != KS_RACE_OPEN) { /* settled by what a lost device said last */
        ks_sched_lease_end(c->sched, l->id);
        return b ? ks_coord_race_end(c, b, b->verdict.stop, err) : 0;
    }
    memset(m, 0, sizeof(*m));
    m->lease = l->id;
    m->block_id = c->block_base + l->block;
    m->i_problem = l->i_problem;
    m->opens = m->closes = 1;
    fill_cells(c, b, m);
    ks_coord_visit_hold(c, b, l->id);
    rc = announce(c, rank, m, err);
    if (rc < 0)
        return rc;
    ks_buf_clear(&c->body);
    ks_msg_lease_put(m, &c->body);
    ks_coord_note_lease(c, rank, l, m->n);
    return ks_net_send(c->c.net, rank, KS_F_MSG_LEASE, c->body.data, c->body.len, err);
}

static struct race_book **bucket_of(struct ks_coord *c, uint64_t lease)
{
    return &c->races.bucket[lease % RACE_BUCKETS];
}

void ks_coord_visit_hold(struct ks_coord *c, struct race_book *b, uint64_t lease)
{
    struct race_book **at = bucket_of(c, b->lease);

    while (b->lease && *at != b)
        at = &(*at)->next_in_bucket;
    if (b->lease)
        *at = b->next_in_bucket;
    b->lease = lease;
    if (!lease)
        return;
    at = bucket_of(c, lease);
    b->next_in_bucket = *at;
    *at = b;
}

static struct race_book *find_book(struct ks_coord *c, uint64_t lease)
{
    struct race_book *b = *bucket_of(c, lease);

    while (b && b->lease != lease)
        b = b->next_in_bucket;
    return b;
}

bool ks_coord_is_visited_by(const struct ks_coord *c, uint32_t rank, const struct ks_cell *cell)
{
    const struct ks_lease *l = ks_sched_visited(c->sched, rank);
    const struct race_book *b = l ? c->races.book[l->i_problem] : NULL;

    return b && b->lease == l->id && ks_grid_problem(c->c.grid, cell->problem) == l->i_problem;
}

int ks_coord_visit_end(struct ks_coord *c, uint64_t lease, bool is_given_again, uint64_t now_ns,
                       struct ks_err *err)
{
    struct race_book *b = c->races.is_on ? find_book(c, lease) : NULL;
    uint32_t round;
    int rc;

    c->races.may_begin = true;
    if (!b)
        return 0;
    round = b->verdict.next_round;
    ks_coord_visit_hold(c, b, 0);
    rc = ks_coord_race_decide(c, b, err);
    if (rc < 0 || c->is_draining)
        return rc;
    b->n_unclosed = b->verdict.next_round == round ? b->n_unclosed + 1 : 0;
    if (b->verdict.stop != KS_RACE_OPEN)
        return ks_coord_race_end(c, b, b->verdict.stop, err);
    if (b->verdict.n_futile >= FUTILE_MOST || b->n_unclosed >= FUTILE_MOST)
        return give_up(c, b, err);
    rc = b->n_unclosed ? ks_coord_race_save(c, b, err) : 0;
    return rc < 0 || is_given_again ? rc : ks_coord_visit_ask(c, b, now_ns, err);
}
