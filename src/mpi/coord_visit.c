/* SPDX-License-Identifier: MIT */
/* coord_visit.c - visits: asked of the scheduler, given as leases, evaluated when they have ended.
 */
#include "base/clock.h"
#include "mpi/coord_impl.h"
#include "sched/cost.h"

#include <assert.h>
#include <string.h>

/* Visits of a problem in a row that die before their end, or of which nothing is clean: so noisy a
 * device would be visited in all rounds. */
#define FUTILE_MOST 3u

static uint64_t gap_ns(const struct ks_coord *c)
{
    return c->c.grid->job.rounds.gap_s * 1000000000ull;
}

int ks_coord_visit_ask(struct ks_coord *c, struct race_book *b, uint64_t now_ns, struct ks_err *err)
{
    size_t n = ks_race_wanted(b->race, NULL, 0);
    const struct ks_visit v = {
        .i_problem = b->i_problem,
        .device = ks_coord_rank_of(c, b->device_id),
        .not_before_s = (double)(now_ns + gap_ns(c) - c->away_ns) * 1e-9,
        .expected_s = ks_cost_visit_s(&c->c.grid->job.measure, (uint32_t)n,
                                      (double)b->verdict.expected_ns * 1e-9),
    };

    b->asked_s = v.expected_s;
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

int ks_coord_visit_lease(struct ks_coord *c, uint32_t rank, const struct ks_lease *l,
                         struct ks_err *err)
{
    struct race_book *b = c->races.book[l->i_problem];
    struct ks_msg_lease *m = &c->races.msg;
    int rc = b ? follow(c, b, rank, err) : 0;

    if (rc == 0 && b && b->has_news) /* an instance has failed meanwhile, or has a new attempt */
        rc = ks_coord_race_decide(c, b, err);
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
    b->n_clean = 0;
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

bool ks_coord_visit_is_held(struct ks_coord *c, uint64_t lease)
{
    return c->races.is_on && lease && find_book(c, lease);
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
    b->n_futile = b->verdict.next_round == round || !b->n_clean ? b->n_futile + 1 : 0;
    if (b->verdict.stop != KS_RACE_OPEN)
        return ks_coord_race_end(c, b, b->verdict.stop, err);
    if (b->n_futile >= FUTILE_MOST)
        return ks_coord_race_end(c, b, KS_RACE_NOISY, err);
    return is_given_again ? 0 : ks_coord_visit_ask(c, b, now_ns, err);
}
