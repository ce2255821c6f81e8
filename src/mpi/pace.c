/* SPDX-License-Identifier: MIT */
/* pace.c - when a rank's loop wakes next, so that it does not disturb cells being measured */
#include "mpi/pace.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t ks_pace_cell_ns(uint64_t lately_ns, uint64_t waited_ns)
{
    return lately_ns ? most(lately_ns, waited_ns) : 0;
}

uint64_t ks_pace_least_ns(uint64_t cell_ns)
{
    if (!cell_ns)
        return KS_PACE_MOST_NS;
    return most(KS_PACE_LEAST_NS, least(cell_ns, KS_PACE_MOST_NS));
}

uint64_t ks_pace_bell_ns(uint64_t cell_ns)
{
    return 2 * ks_pace_least_ns(cell_ns);
}

uint64_t ks_pace_next_ns(const struct ks_pace *p)
{
    uint64_t next = p->woke_ns + (p->is_awaiting ? KS_PACE_MOST_NS : KS_PACE_LONGEST_NS);
    if (!p->is_quiet && p->is_periodic)
        return p->woke_ns + p->idle_ns;
    if (p->is_busy)
        return p->now_ns;
    if (!p->is_quiet)
        return p->now_ns + p->idle_ns;
    if (p->need_ns != UINT64_MAX)
        next = least(next, p->now_ns + p->need_ns);
    next = least(next, p->due_ns);
    return most(next, p->woke_ns + ks_pace_least_ns(p->cell_ns));
}

bool ks_pace_takes_each(uint64_t cell_ns)
{
    return !cell_ns || cell_ns >= KS_PACE_MOST_NS;
}
