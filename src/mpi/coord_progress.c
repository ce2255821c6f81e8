/* SPDX-License-Identifier: MIT */
/* coord_progress.c - how far the sweep is, and how long the rest of it takes. */
#include "base/clock.h"
#include "base/text.h"
#include "mpi/coord_impl.h"
#include "mpi/progress.h"

#include <stdio.h>
#include <string.h>

/* What happened since this rank's record before, in seconds. */
void ks_coord_note_time(struct ks_coord *c, uint32_t rank, double known_s)
{
    struct rank *r = &c->ranks[rank];
    uint64_t now = ks_now_ns(),
             from = r->counted_ns > c->measuring_ns ? r->counted_ns : c->measuring_ns;

    ks_eta_took(&c->eta, c->measuring_ns && now > from ? (double)(now - from) * 1e-9 : 0, known_s);
    r->counted_ns = now;
}

void ks_coord_note_failure(struct ks_coord *c, const struct ks_record *r)
{
    struct ks_progress_failure *f = c->failed;
    int64_t ip = ks_grid_problem(c->c.grid, r->cell.problem);
    int64_t ii = ks_grid_instance(c->c.grid, r->cell.instance);

    if (c->n_failed >= KS_PROGRESS_FAILURES)
        memmove(f, f + 1, (KS_PROGRESS_FAILURES - 1) * sizeof(*f));
    f += c->n_failed < KS_PROGRESS_FAILURES ? c->n_failed : KS_PROGRESS_FAILURES - 1;
    c->n_failed++;
    *f = (struct ks_progress_failure){ .outcome = r->outcome,
                                       .problem = r->cell.problem,
                                       .instance = r->cell.instance };
    if (ip >= 0 && ii >= 0)
        snprintf(f->names, sizeof(f->names), "%.94s %.94s",
                 ks_problem_table_name(&c->c.grid->problems, (uint32_t)ip),
                 c->c.grid->instances[ii].name);
    snprintf(f->reason, sizeof(f->reason), "%.159s", r->reason);
}

/* --- builds --- */

static uint32_t n_built(const struct ks_coord *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->c.grid->n_instances; i++)
        n += ks_build_artefact(c->c.build, i)->state != KS_ART_MISSING;
    return n;
}

static double builds_s(struct ks_coord *c, uint64_t now_ns, const struct ks_progress *p)
{
    uint32_t n_parallel = 0, n_first = c->n_built_first;

    for (uint32_t i = 0; i < c->n_ranks; i++)
        n_parallel += ks_coord_is_alive(&c->ranks[i]) ? c->ranks[i].n_jobs : 0;
    return ks_eta_builds_s(p->n_instances - n_first, p->n_built - n_first,
                           (double)(now_ns - c->started_ns) * 1e-9, n_parallel);
}

/* --- work --- */

/* Device time since each device's newest record. */
static double since_s(const struct ks_coord *c, uint64_t now_ns)
{
    double sum = 0;

    for (uint32_t i = 0; i < c->n_ranks; i++) {
        const struct rank *r = &c->ranks[i];
        uint64_t from = r->counted_ns > c->measuring_ns ? r->counted_ns : c->measuring_ns;

        if (r->n_leases && ks_coord_can_measure(r) && now_ns > from)
            sum += (double)(now_ns - from) * 1e-9;
    }
    return sum;
}

static void estimate(struct ks_coord *c, uint64_t now_ns, struct ks_progress *p)
{
    struct ks_sched_counts s;
    struct ks_visits_left visits;
    struct ks_sched_left left;
    struct ks_eta_work w;
    struct ks_eta_time t;

    ks_sched_counts(c->sched, &s);
    ks_coord_visits_left(c, &visits);
    p->visited_each = visits.each;
    /* A resumed sweep: the scheduler learns what is done when it opens problems. */
    if (p->n_done && s.n_untouched == p->n_problems)
        return;
    ks_sched_left(c->sched, &left);
    w = (struct ks_eta_work){ .cells_s = left.cells_s,
                              .error = left.error,
                              .visits_s = visits.device_s,
                              .builds_s = p->is_measuring ? 0 : builds_s(c, now_ns, p),
                              .since_s = p->is_measuring ? since_s(c, now_ns) : 0,
                              .n_devices = p->n_devices,
                              .n_raced = c->races.n_ended_here };
    t = ks_eta_left(&c->eta, &w);
    p->left_s = t.left_s;
    p->low_s = t.low_s;
    p->high_s = t.high_s;
}

/* --- devices --- */

static const char *state_of(const struct rank *r)
{
    switch (r->state) {
    case RANK_AWAITED:
        return "starting";
    case RANK_BUILDING:
        return "building";
    case RANK_READY:
        return r->is_broken || r->is_quarantined ? "broken"
               : r->is_doubted                   ? "paused"
               : r->n_leases                     ? "measuring"
                                                 : "waiting";
    case RANK_LEAVING:
    case RANK_GONE:
        return "left";
    case RANK_LOST:
        return "lost";
    }
    return "?";
}

static void show_devices(const struct ks_coord *c, uint64_t now_ns, struct ks_progress *p)
{
    for (uint32_t i = 0; i < c->n_ranks && p->n_shown < KS_PROGRESS_DEVICES; i++) {
        const struct rank *r = &c->ranks[i];
        struct ks_progress_device *d = &p->device[p->n_shown];

        if (r->state != RANK_AWAITED && !r->measures) /* it only watches */
            continue;
        *d = (struct ks_progress_device){ .rank = i, .n_cells = r->n_cells };
        snprintf(d->host, sizeof(d->host), "%s", r->host);
        snprintf(d->state, sizeof(d->state), "%s", state_of(r));
        if (r->n_leases)
            snprintf(d->problem, sizeof(d->problem), "%.95s",
                     ks_problem_table_name(&c->c.grid->problems, r->i_problem));
        d->silent_s = i && now_ns > r->seen_ns ? (double)(now_ns - r->seen_ns) * 1e-9 : 0;
        p->n_shown++;
    }
}

void ks_coord_progress(struct ks_coord *c, uint64_t now_ns, struct ks_progress *p)
{
    struct ks_ledger_counts n;
    double seconds =
        c->measuring_ns && now_ns > c->measuring_ns ? (double)(now_ns - c->measuring_ns) * 1e-9 : 0;

    ks_ledger_counts(c->c.ledger, &n);
    if (ks_coord_n_working(c))
        c->n_worked = ks_coord_n_working(c);
    *p = (struct ks_progress){ .realtime_ns = ks_realtime_ns(),
                               .pid = ks_journal_segment(c->c.journal)->pid,
                               .is_measuring = c->is_measuring,
                               .n_cells = ks_grid_n_cells(c->c.grid),
                               .n_done = n.n_final,
                               .n_done_here = c->n_done_here,
                               .n_contaminated = n.n_contaminated,
                               .n_problems = c->c.grid->n_problems,
                               .n_settled = c->races.n_ended,
                               .has_visits = c->races.is_on,
                               .is_ending = c->is_draining || c->is_over_sent,
                               .n_devices = c->n_worked,
                               .rate = seconds > 0 ? (double)c->n_done_here / seconds : 0,
                               .left_s = -1,
                               .n_failures = c->n_failed };
    memcpy(p->outcome, n.outcome, sizeof(p->outcome));
    memcpy(p->failure, c->failed, sizeof(p->failure));
    if (c->c.build) {
        p->n_instances = c->c.grid->n_instances;
        p->n_built = c->is_measuring ? p->n_instances : n_built(c);
        if (!c->has_looked_at_builds)
            c->n_built_first = p->n_built;
        c->has_looked_at_builds = true;
    }
    show_devices(c, now_ns, p);
    estimate(c, now_ns, p);
}
