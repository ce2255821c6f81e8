/* SPDX-License-Identifier: MIT */
/* rank_pace.c - how quiet a rank has to be, and how quiet it was. */
#include "mpi/bell.h"
#include "mpi/msg.h"
#include "mpi/rank_impl.h"

#include <string.h>
#include <sys/resource.h>

#define IDLE_NS    5000000ull    /* between turns when nobody is disturbed */
#define CALM_NS    1000000000ull /* of silence: turns are half as many */
#define MANY_NS    100000000ull  /* when acknowledgements may soon be waited for */
#define BETWEEN_NS 100000000ull  /* cells this long leave time for the disk between them */

/* The worker of a GPU also runs on the spare cores, where the ranks are (ks_seat_cpus). */
bool ks_rank_shares_core(const struct ks_rank *r)
{
    return !r->is_sim && (ks_job_is_gpu(&r->c.grid->job) || !r->c.seat->bind.spare_text[0]);
}

/* On a core of its own only its own worker counts. Elsewhere, those of other ranks do, too: one of
 * them may time at any moment until the end. */
static bool is_quiet(const struct ks_rank *r, const struct ks_agent_load *l)
{
    if (!ks_rank_shares_core(r))
        return false;
    if (l->has_cells || r->c.seat->bind.seat == KS_SEAT_MEASURE)
        return l->has_cells;
    return r->is_settled && !r->n_owed && !r->is_over;
}

/* A rank that has had nothing to do for a while costs half, and notices a lease 5 ms later. Rank 0
 * has the others to wait for. */
static uint64_t nap_ns(const struct ks_rank *r, const struct ks_agent_load *l, uint64_t now_ns)
{
    bool is_calm = r->rank != 0 && !l->has_worker && !l->has_cells && now_ns > r->heard_ns &&
                   now_ns - r->heard_ns >= CALM_NS;
    return is_calm ? 2 * IDLE_NS : IDLE_NS;
}

void ks_rank_pace(const struct ks_rank *r, struct ks_pace *p)
{
    struct ks_agent_load l = { .supply_ns = UINT64_MAX };
    if (r->agent)
        ks_agent_load(r->agent, &l);
    p->is_quiet = is_quiet(r, &l);
    p->is_periodic = l.has_worker;
    p->cell_ns = l.has_cells ? ks_pace_cell_ns(l.cell_ns, l.waited_ns) : 0;
    /* Rank 0 acknowledges its own. */
    p->is_awaiting =
        (l.n_unacked && r->rank != 0) || (l.has_cells && !ks_pace_takes_each(p->cell_ns));
    /* What comes when half is used up arrives while the other half lasts. */
    p->need_ns = l.supply_ns == UINT64_MAX ? l.supply_ns : l.supply_ns / 2;
    if (l.n_unacked >= KS_AGENT_UNACKED / 2 && p->need_ns > MANY_NS)
        p->need_ns = MANY_NS;
    p->due_ns = r->last_beat_ns + ks_msg_beat_ns(r->c.lost_after_ns);
    p->idle_ns = nap_ns(r, &l, p->now_ns);
    if (r->agent)
        p->idle_ns = ks_agent_nap_ns(r->agent, p->idle_ns);
    if (p->is_quiet && r->agent) {
        uint64_t feed_ns = ks_agent_nap_ns(r->agent, KS_PACE_LONGEST_NS);
        if (feed_ns < KS_PACE_LONGEST_NS && p->now_ns + feed_ns < p->due_ns)
            p->due_ns = p->now_ns + feed_ns;
    }
}

uint64_t ks_rank_between_ns(const struct ks_rank *r)
{
    struct ks_agent_load l = { .cell_ns = 0 };
    if (r->agent)
        ks_agent_load(r->agent, &l);
    return l.has_cells && !l.is_measuring && l.cell_ns >= BETWEEN_NS ? l.cell_ns : 0;
}

bool ks_rank_has_warden(const struct ks_rank *r)
{
    return r->has_warden;
}

int ks_rank_wait_fd(const struct ks_rank *r, const struct ks_pace *p)
{
    bool takes_each = p->is_quiet && ks_pace_takes_each(p->cell_ns);
    return r->agent ? ks_agent_wait_fd(r->agent, takes_each) : -1;
}

void ks_rank_ring(struct ks_rank *r)
{
    struct ks_agent_load l = { .supply_ns = UINT64_MAX };
    bool has_room = r->has_room;
    r->has_room = false;
    if (!has_room || !r->bell_pid || !r->agent || r->is_sim || r->is_over)
        return;
    ks_agent_load(r->agent, &l);
    if (l.supply_ns == UINT64_MAX || l.supply_ns < 2 * KS_PACE_MOST_NS)
        ks_bell_ring(r->bell_pid);
}

void ks_rank_count_wake(struct ks_rank *r)
{
    struct ks_agent_load l = { .is_timing = false };
    struct rusage u;
    uint64_t was = r->wakes.nvcsw;
    if (!ks_rank_shares_core(r))
        return;
    if (r->agent)
        ks_agent_load(r->agent, &l);
    getrusage(RUSAGE_SELF, &u);
    r->wakes.nvcsw = (uint64_t)u.ru_nvcsw;
    if (!l.is_timing)
        return;
    r->wakes.n++;
    r->wakes.n_switches += r->wakes.nvcsw - was;
}
