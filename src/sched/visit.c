/* SPDX-License-Identifier: MIT */
/* visit.c - visits: lists of those that wait, one per device, the first due first. */
#include "base/array.h"
#include "sched/sched_impl.h"

#include <math.h>

#define ANCHORS 2

static void insert(struct ks_sched *s, uint32_t *list, uint32_t place)
{
    while (*list != KS_NONE &&
           s->visits[*list].what.not_before_s <= s->visits[place].what.not_before_s)
        list = &s->visits[*list].next;
    s->visits[place].next = *list;
    *list = place;
}

static uint32_t *list_of(struct ks_sched *s, uint32_t device)
{
    struct device *d = ks_sched_device(s, device);

    return d && ks_sched_is_usable(d) && !d->n_overdue ? &d->visits : &s->stray;
}

static int new_place(struct ks_sched *s, uint32_t *place_out, struct ks_err *err)
{
    int rc = 0;

    if (s->free_place != KS_NONE) {
        *place_out = s->free_place;
        s->free_place = s->visits[*place_out].next;
        return 0;
    }
    rc = ks_reserve32(&s->visits, s->n_places + 1ul, &s->cap_places, sizeof(*s->visits),
                      "entries of the scheduler", err);
    if (rc == 0)
        *place_out = s->n_places++;
    return rc;
}

int ks_sched_visit(struct ks_sched *s, const struct ks_visit *v, struct ks_err *err)
{
    uint32_t place = KS_NONE;
    int rc = new_place(s, &place, err);

    if (rc < 0)
        return rc;
    s->visits[place] = (struct visit){ .what = *v, .next = KS_NONE };
    s->n_visits++;
    s->visits_s += v->expected_s;
    insert(s, list_of(s, v->device), place);
    return 0;
}

const struct ks_lease *ks_sched_visited(const struct ks_sched *s, uint32_t device)
{
    const uint32_t first = device < s->n_devices ? s->devices[device].first : KS_NONE;

    return first != KS_NONE && s->leases[first].lease.is_visit ? &s->leases[first].lease : NULL;
}

void ks_sched_expect_visits(struct ks_sched *s, double expected_s)
{
    s->expected_visits_s = expected_s;
}

void ks_sched_stray_visits(struct ks_sched *s, struct device *d)
{
    while (d->visits != KS_NONE) {
        uint32_t place = d->visits;

        d->visits = s->visits[place].next;
        insert(s, &s->stray, place);
    }
}

bool ks_sched_end_visit(struct ks_sched *s, struct lease_book *b)
{
    if (b->visit == KS_NONE)
        return !b->lease.is_visit;
    s->n_visits--;
    s->visits_s = s->n_visits ? s->visits_s - s->visits[b->visit].what.expected_s : 0;
    s->visits[b->visit].next = s->free_place;
    s->free_place = b->visit;
    b->visit = KS_NONE;
    return true;
}

void ks_sched_again_visit(struct ks_sched *s, struct lease_book *b)
{
    if (b->visit == KS_NONE)
        return;
    insert(s, &s->stray, b->visit);
    b->visit = KS_NONE;
}

/* Seconds of a cell of its problem, and of the visit with its anchors and its worker. */
static double cell_s(const struct ks_sched *s, const struct device *d, const struct ks_visit *v)
{
    return ks_sched_guess(s, s->problems[v->i_problem].prior_s) * ks_sched_slowness(s, d);
}

static double visit_s(const struct ks_sched *s, const struct device *d, const struct ks_visit *v)
{
    return v->expected_s + s->overhead_s + ANCHORS * cell_s(s, d, v);
}

static bool fits(const struct ks_sched *s, const struct device *d, const struct ks_visit *v,
                 double time_left_s)
{
    return isinf(time_left_s) || visit_s(s, d, v) <= time_left_s - d->held_s;
}

/* The link to the visit that the device gets now, NULL: none. Of those that fit into the time left:
 * while there is other work the first that is due and of another problem than the device had last;
 * else the first of another problem, or the first of all. */
static uint32_t *find(struct ks_sched *s, uint32_t *list, const struct device *d, bool is_idle,
                      double time_left_s)
{
    uint32_t *same = NULL;

    for (; *list != KS_NONE; list = &s->visits[*list].next) {
        const struct ks_visit *v = &s->visits[*list].what;

        if (!is_idle && v->not_before_s > s->now_s)
            return NULL;
        if (!fits(s, d, v, time_left_s))
            continue;
        if (v->i_problem != d->last_problem)
            return list;
        same = is_idle && !same ? list : same;
    }
    return same;
}

static double due_s(const struct ks_sched *s, const uint32_t *link)
{
    return link ? s->visits[*link].what.not_before_s : INFINITY;
}

static uint32_t *choose(struct ks_sched *s, struct device *d, bool is_idle, double time_left_s)
{
    uint32_t *own = find(s, &d->visits, d, is_idle, time_left_s);
    uint32_t *stray = find(s, &s->stray, d, is_idle, time_left_s);

    return due_s(s, own) <= due_s(s, stray) ? own : stray;
}

bool ks_sched_has_visit(struct ks_sched *s, struct device *d, double time_left_s)
{
    return choose(s, d, true, time_left_s) != NULL;
}

int ks_sched_give_visit(struct ks_sched *s, uint32_t device, bool is_idle, double time_left_s,
                        struct ks_lease *out, struct ks_err *err)
{
    struct device *d = ks_sched_device(s, device);
    uint32_t *link = choose(s, d, is_idle, time_left_s), place;
    struct ks_lease l = { .device = device, .opens = true, .closes = true, .is_visit = true };
    const struct ks_visit *v;
    int rc;

    if (!link)
        return KS_SCHED_WAIT;
    place = *link;
    v = &s->visits[place].what;
    l.i_problem = v->i_problem;
    l.expected_s = visit_s(s, d, v);
    l.block = s->next_block;
    rc = ks_sched_book(s, d, &l, cell_s(s, d, v), err);
    if (rc < 0)
        return rc;
    s->next_block++;
    *link = s->visits[place].next;
    s->visits[place].what.device = device;
    s->leases[d->last].visit = place;
    *out = l;
    return KS_SCHED_LEASE;
}
