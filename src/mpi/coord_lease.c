/* SPDX-License-Identifier: MIT */
/* coord_lease.c - what still has to be measured: cells, leases. */
#include "base/clock.h"
#include "mpi/agent.h"
#include "mpi/coord_impl.h"
#include "sched/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank holds two leases, and more as long as they are expected to end within this time: rank 0
 * may be waiting for its disk, and both sides look at MPI rarely beside a timing worker (pace.h).
 * Longer ones are better kept for whoever is free first. */
#define SHORT_LEASE_S 0.5
/* Until a lease that has ended is replaced: both sides wake for it (pace.h), every 5 ms beside the
 * `sim` device, which nothing disturbs. */
#define REACH_S         0.6
#define VIRTUAL_REACH_S 0.02
#define REISSUE_NS      1000000000ull
#define WORKER_START_S  0.05 /* a first guess */

/* A first guess of a cell's time, until finished cells have taught better. */
static double first_cost_s(const struct ks_grid *g, uint32_t i)
{
    if (ks_job_runs_programs(&g->job))
        return KS_COST_PROGRAM_S;
    const struct ks_problem p = ks_problem_table_get(&g->problems, i);
    return ks_cost_problem_s(&g->job, &p);
}

struct ks_cell ks_coord_cell(const struct ks_coord *c, uint32_t i_problem, uint32_t i_instance)
{
    const struct ks_grid *g = c->c.grid;
    return (struct ks_cell){ ks_problem_table_id(&g->problems, i_problem),
                             g->instances[i_instance].id, g->condition };
}

int ks_coord_announce(struct ks_coord *c, uint32_t i_problem, uint32_t i_instance, uint32_t attempt,
                      uint32_t rank, enum ks_start_why why, struct ks_err *err)
{
    struct ks_start s = { .rank = rank, .why = why, .n_cells = 1 };
    s.cells[0] = (struct ks_start_cell){ .cell = ks_coord_cell(c, i_problem, i_instance),
                                         .attempt = attempt };
    ks_buf_clear(&c->body);
    ks_start_encode(&s, &c->body);
    int rc = ks_coord_append(c, KS_F_START, err);
    return rc < 0 ? rc : ks_ledger_start(c->c.ledger, &s, err);
}

/* An instance that cannot run here, or that nobody wants to see run, is settled without a worker.
 */
uint32_t ks_coord_settled(const struct ks_coord *c, uint32_t i_problem, uint32_t i_instance,
                          const char **why_out)
{
    *why_out = ks_grid_unsupported(c->c.grid, i_problem, i_instance);
    if (*why_out)
        return KS_O_UNSUPPORTED;
    const struct ks_artefact *a = c->c.build ? ks_build_artefact(c->c.build, i_instance) : NULL;
    if (!a || a->state == KS_ART_READY || a->state == KS_ART_MISSING) {
        *why_out = ks_coord_pruned(c, i_problem, i_instance);
        return *why_out ? KS_O_SKIPPED : KS_O_NONE;
    }
    *why_out = a->reason;
    return ks_artefact_outcome(a->state);
}

/* In an earlier life its object was not what was built: the cache has been repaired since. */
static bool was_damaged(const struct ks_coord *c, const struct ks_ledger_cell *known)
{
    return ks_ledger_is_final(known) && known->outcome == KS_O_LOAD_FAILED &&
           (known->flags & KS_FL_DAMAGED) &&
           known->segment < ks_journal_segment(c->c.journal)->incarnation;
}

/* In an earlier life it was unsupported for want of what is there now, as a rule a compiler. What
 * the instance's own test says, in a worker, is true for ever. */
static bool was_lacking(const struct ks_coord *c, const struct ks_ledger_cell *known,
                        uint32_t i_problem, uint32_t i_instance)
{
    const char *why;
    return ks_ledger_is_final(known) && known->outcome == KS_O_UNSUPPORTED &&
           known->segment < ks_journal_segment(c->c.journal)->incarnation &&
           !ks_ledger_is_from_worker(c->c.ledger, known) &&
           ks_coord_settled(c, i_problem, i_instance, &why) != KS_O_UNSUPPORTED;
}

bool ks_coord_is_asked_again(const struct ks_coord *c, const struct ks_ledger_cell *known)
{
    bool is_contaminated = known->outcome == KS_O_OK && (known->flags & KS_FL_CONTAMINATED);
    return (c->c.retry & 1u << known->outcome) ||
           (is_contaminated && (c->c.retry & KS_RETRY_CONTAMINATED));
}

static bool is_lifted(const struct ks_coord *c, const struct ks_ledger_cell *known,
                      uint32_t i_problem, uint32_t i_instance)
{
    return was_lacking(c, known, i_problem, i_instance) || was_damaged(c, known);
}

const struct ks_ledger_cell *ks_coord_known(const struct ks_coord *c, uint32_t i_problem,
                                            uint32_t i_instance)
{
    struct ks_cell cell = ks_coord_cell(c, i_problem, i_instance);
    const struct ks_ledger_cell *known = ks_ledger_find(c->c.ledger, &cell);
    return is_lifted(c, known, i_problem, i_instance) ? NULL : known;
}

/* Where a cell of the journal is in the grid; false: it is not. */
static bool is_in_grid(const struct ks_coord *c, const struct ks_ledger_cell *known, uint32_t *ip,
                       uint32_t *ii)
{
    const struct ks_grid *g = c->c.grid;
    int64_t p = ks_grid_problem(g, known->cell.problem);
    int64_t i = ks_grid_instance(g, known->cell.instance);
    *ip = (uint32_t)p;
    *ii = (uint32_t)i;
    return p >= 0 && i >= 0 && known->cell.condition == g->condition &&
           ks_grid_has_cell(g, *ip, *ii);
}

static void tell_lifted(const struct ks_coord *c)
{
    uint64_t n = 0, n_damaged = 0;
    for (size_t k = 0; k < ks_ledger_n_cells(c->c.ledger); k++) {
        const struct ks_ledger_cell *known = ks_ledger_cell(c->c.ledger, k);
        uint32_t ip, ii;
        const bool is_in = is_in_grid(c, known, &ip, &ii);
        n += is_in && was_lacking(c, known, ip, ii);
        n_damaged += is_in && was_damaged(c, known);
    }
    if (n_damaged)
        ks_logf(c->c.log, KS_INFO,
                "%llu cells could not be loaded because their objects were damaged: they are "
                "measured again",
                (unsigned long long)n_damaged);
    if (n)
        ks_logf(c->c.log, KS_INFO,
                "%llu cells were unsupported because a compiler or library was missing that is now "
                "available: they are measured",
                (unsigned long long)n);
}

static void tell_without_cells(const struct ks_coord *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->c.grid->n_problems; i++)
        n += ks_grid_n_cells_of(c->c.grid, i) == 0;
    if (n)
        ks_logf(c->c.log, KS_WARN,
                "%u of %u problems have no cell: no instance of the job computes their direction, "
                "dtype, layout and number of dimensions",
                n, c->c.grid->n_problems);
}

uint64_t ks_coord_n_again(const struct ks_coord *c)
{
    const uint32_t lifted = 1u << KS_O_UNSUPPORTED | 1u << KS_O_LOAD_FAILED;
    uint64_t n = 0;
    size_t n_cells = c->is_complete ? 0 : ks_ledger_n_cells(c->c.ledger);
    for (size_t k = 0; k < n_cells; k++) {
        const struct ks_ledger_cell *known = ks_ledger_cell(c->c.ledger, k);
        uint32_t ip, ii;
        if (!ks_ledger_is_final(known) ||
            (!(lifted & 1u << known->outcome) && !ks_coord_is_asked_again(c, known)) ||
            !is_in_grid(c, known, &ip, &ii) || ks_sched_is_done(c->sched, ip, ii))
            continue;
        n += ks_coord_is_asked_again(c, known) || is_lifted(c, known, ip, ii);
    }
    return n;
}

static enum ks_cell_state cell_state(void *ctx, uint32_t i_problem, uint32_t i_instance)
{
    struct ks_coord *c = ctx;
    if (!ks_grid_has_cell(c->c.grid, i_problem, i_instance))
        return KS_CELL_SETTLED;
    const struct ks_ledger_cell *known = ks_coord_known(c, i_problem, i_instance);
    if (ks_ledger_is_final(known) && !ks_coord_is_asked_again(c, known)) {
        if (ks_coord_is_confirmable(known->outcome, known->flags))
            (void)ks_coord_ask_again(c, i_problem, i_instance, known, NULL); /* else it stays so */
        return KS_CELL_DONE;
    }
    const char *why;
    uint32_t outcome = ks_coord_settled(c, i_problem, i_instance, &why);
    if (outcome == KS_O_NONE)
        return ks_coord_alias_state(c, i_problem, i_instance);
    if (ks_ledger_is_final(known) && known->outcome == outcome)
        return KS_CELL_DONE;
    /* memory may fail: then the rank says the same of this cell itself */
    int rc = ks_coord_write_outcome(c, i_problem, i_instance, outcome, why, NULL);
    return rc < 0 ? KS_CELL_RUN : KS_CELL_SETTLED;
}

int ks_coord_open_sched(struct ks_coord *c, struct ks_err *err)
{
    const struct ks_grid *g = c->c.grid;
    double *cost = malloc(g->n_problems * sizeof(*cost));
    uint64_t *seed = malloc(g->n_problems * sizeof(*seed));
    int rc = cost && seed ? 0 : ks_fail(err, KS_ENOMEM, "coordinator: out of memory");
    for (uint32_t i = 0; rc == 0 && i < g->n_problems; i++) {
        cost[i] = first_cost_s(g, i);
        seed[i] = ks_problem_table_id(&g->problems, i);
    }
    uint32_t batch = g->job.isolate.batch;
    struct ks_sched_config sc = {
        .n_problems = g->n_problems,
        .n_instances = g->n_instances,
        .cost_s = cost,
        .seed = seed,
        .batch = batch < KS_LEASE_CELLS ? batch : KS_LEASE_CELLS,
        .overhead_s = WORKER_START_S,
        .reach_s = ks_job_is(&g->job, KS_BACKEND_VIRTUAL) ? VIRTUAL_REACH_S : REACH_S,
        .patience_s = ks_cost_silence_s(&g->job),
        .cell_state = cell_state,
        .ctx = c,
    };
    if (rc == 0) {
        tell_lifted(c);
        tell_without_cells(c);
    }
    if (rc == 0)
        rc = ks_sched_create(&sc, &c->sched, err);
    free(cost);
    free(seed);
    return rc;
}

void ks_coord_note_lease(struct ks_coord *c, uint32_t rank, const struct ks_lease *l, uint32_t n)
{
    struct rank *r = &c->ranks[rank];
    uint64_t now = ks_now_ns();
    if (!r->n_leases || r->busy_until_ns < now)
        r->busy_until_ns = now;
    r->busy_until_ns += (uint64_t)(l->expected_s * 1e9);
    r->n_leases++;
    r->n_held += n;
    r->lease_n = n;
    r->i_problem = l->i_problem;
}

static int send_lease(struct ks_coord *c, uint32_t rank, const struct ks_lease *l,
                      struct ks_err *err)
{
    struct ks_msg_lease m = {
        .lease = l->id,
        .block_id = c->block_base + l->block,
        .i_problem = l->i_problem,
        .opens = l->opens,
        .closes = l->closes,
        .is_alone = l->is_alone,
        .n = l->n,
    };
    struct ks_start s = {
        .lease_id = l->id,
        .block_id = m.block_id,
        .rank = rank,
        .why = l->is_confirm ? KS_WHY_CONFIRM : KS_WHY_LEASE,
        .n_cells = l->n,
    };
    for (uint32_t k = 0; k < l->n; k++) {
        struct ks_cell cell = ks_coord_cell(c, l->i_problem, l->i_instance[k]);
        uint32_t i_first = ks_coord_alias_of(c, l->i_problem, l->i_instance[k]);
        m.cells[k].i_instance = l->i_instance[k];
        m.cells[k].alias = i_first == KS_NO_ALIAS ? 0 : i_first + 1;
        m.cells[k].attempt = ks_ledger_next_attempt(ks_ledger_find(c->c.ledger, &cell));
        s.cells[k] = (struct ks_start_cell){ .cell = cell, .attempt = m.cells[k].attempt };
    }
    ks_buf_clear(&c->body);
    ks_start_encode(&s, &c->body);
    int rc = l->n ? ks_coord_append(c, KS_F_START, err) : 0; /* else it only closes its block */
    if (rc == 0 && l->n)
        rc = ks_ledger_start(c->c.ledger, &s, err);
    if (rc < 0)
        return rc;
    ks_buf_clear(&c->body);
    ks_msg_lease_put(&m, &c->body);
    ks_coord_note_lease(c, rank, l, l->n);
    return ks_net_send(c->c.net, rank, KS_F_MSG_LEASE, c->body.data, c->body.len, err);
}

/* The time while rank 0 was there: what it did not take in meanwhile makes nobody late. */
static double sched_s(const struct ks_coord *c, uint64_t now_ns)
{
    return (double)(now_ns - c->away_ns) * 1e-9;
}

static double time_left_s(const struct ks_coord *c, uint64_t now_ns)
{
    if (!c->c.max_time_ns)
        return INFINITY;
    uint64_t used = now_ns - c->started_ns;
    return used < c->c.max_time_ns ? (double)(c->c.max_time_ns - used) * 1e-9 : 0;
}

static bool is_short_of_work(const struct rank *r)
{
    return r->cell_s > 0 && r->cell_s * r->lease_n * r->n_leases <= SHORT_LEASE_S;
}

/* One lease to every rank that has room, round by round, so that all get their first before any
 * gets its second. *waits_out: somebody asked in vain and nobody got one. */
static int give_rounds(struct ks_coord *c, uint64_t now_ns, bool *waits_out, struct ks_err *err)
{
    double left_s = time_left_s(c, now_ns);
    bool waits = false, any = false;
    for (uint32_t round = 1; round <= KS_AGENT_LEASES; round++)
        for (uint32_t i = 0; i < c->n_ranks; i++) {
            struct rank *r = &c->ranks[i];
            struct ks_lease l;
            if (r->state != RANK_READY || !r->measures || r->is_broken || r->n_leases >= round ||
                (round > 2 && !is_short_of_work(r)) ||
                (round > 1 && !r->is_proven)) /* what fails at once gets little */
                continue;
            int rc = ks_sched_next(c->sched, i, sched_s(c, now_ns), left_s, &l, err);
            waits |= rc == KS_SCHED_WAIT;
            any |= rc == KS_SCHED_LEASE;
            if (rc == KS_SCHED_LEASE)
                rc = l.is_visit ? ks_coord_visit_lease(c, i, &l, err) : send_lease(c, i, &l, err);
            if (rc < 0)
                return rc;
        }
    *waits_out = waits && !any;
    return 0;
}

/* Leases that are overdue go to others. */
static int give_again(struct ks_coord *c, uint64_t now_ns, struct ks_err *err)
{
    int rc = 0;
    if (now_ns - c->reissued_ns < REISSUE_NS)
        return 0;
    c->reissued_ns = now_ns;
    c->may_ask = true; /* those that are due may have become fewer */
    uint32_t n = ks_sched_reissue(c->sched, sched_s(c, now_ns));
    for (uint32_t i = 0; i < c->n_ranks && rc == 0; i++) {
        struct rank *r = &c->ranks[i];
        bool was_overdue = r->is_overdue;
        r->is_overdue = ks_sched_is_overdue(c->sched, i);
        if (!n || was_overdue || !r->is_overdue)
            continue;
        ks_logf(c->c.log, KS_WARN, "rank %u on %s makes no progress: its cells go to others", i,
                r->host);
        rc = ks_coord_event(c, KS_EV_OVERDUE, i, err,
                            "rank %u on %s makes no progress: its cells go to others", i, r->host);
    }
    return rc;
}

/* A rank may be lost between the announcement of a further attempt of a cell that was done and its
 * record: then the cell is open, but nobody has it. All are looked at, once, at the end. */
static int finish(struct ks_coord *c, struct ks_err *err)
{
    bool any = false;
    int rc = 0;
    size_t n = ks_coord_n_pending(c) ? ks_ledger_n_cells(c->c.ledger) : 0;
    for (size_t k = 0; k < n && rc == 0; k++) {
        const struct ks_ledger_cell *cell = ks_ledger_cell(c->c.ledger, k);
        uint32_t ip, ii;
        if (ks_ledger_is_final(cell) || !is_in_grid(c, cell, &ip, &ii))
            continue;
        rc = ks_sched_reopen(c->sched, ip, ii, err);
        any = true;
    }
    c->is_complete = rc == 0 && !any;
    return rc;
}

int ks_coord_give_leases(struct ks_coord *c, uint64_t now_ns, struct ks_err *err)
{
    struct ks_sched_counts n;
    bool waits = false;
    if (c->is_draining || c->is_complete)
        return 0;
    int rc = c->is_measuring ? give_again(c, now_ns, err) : 0;
    if (rc == 0) /* it may have work for those that would wait in vain */
        rc = ks_coord_step_confirm(c, err);
    if (rc == 0)
        rc = ks_coord_race_begin(c, false, now_ns, err);
    if (rc == 0 && c->is_measuring)
        rc = give_rounds(c, now_ns, &waits, err);
    if (rc < 0)
        return rc;
    ks_sched_counts(c->sched, &n);
    if (n.n_complete == c->c.grid->n_problems && !n.n_leases_open && !c->has_due) {
        const uint32_t n_visits = n.n_visits;
        rc = ks_coord_race_again(c, err);
        if (rc == 0)
            rc = ks_coord_race_begin(c, true, now_ns, err);
        ks_sched_counts(c->sched, &n);
        if (rc < 0 || !n.n_visits)
            return rc < 0 ? rc : finish(c, err);
        waits = waits && n.n_visits == n_visits; /* new visits: nobody was asked to take them */
    }
    bool is_late = !c->is_measuring && time_left_s(c, now_ns) <= 0; /* it was spent on builds */
    bool is_stuck = waits && !n.n_leases_open && !c->has_due;
    if (is_late || (is_stuck && c->c.max_time_ns)) /* nothing fits any more */
        return ks_coord_drain(c, "max-time", err);
    if (!ks_coord_n_working(c))
        return ks_coord_drain(c, "no rank is left to measure", err);
    return 0;
}
