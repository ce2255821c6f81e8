/* SPDX-License-Identifier: MIT */
/* lease.c - which cells a device gets next. */
#include "sched/sched_impl.h"

#include <math.h>
#include <stdlib.h>

/* A block costs its anchors: so many cells more. */
#define ANCHORS 2
/* The part of the work left in which the longest problems come first. */
#define LAST_PART 0.25
/* A problem is split only when it is at least this part of a device's share in what remains. */
#define SPLIT_PART 0.25

/* A device holds at most this part of its share, so that the devices finish together. */
#define HELD_PART 0.25
/* What is said of costs may be wrong: a problem is shared so early that its devices need not hurry
 * if cells take longer by so many standard deviations; its first lease has few cells, the next ones
 * as many for each that is known; and no lease is longer than makes what it costs itself nothing.
 */
#define RISK         4
#define FIRST_CELLS  2u
#define LONG_LEASE   100 /* times what a lease costs beside its cells */
#define LONG_LEASE_S 4.0 /* at least */

/* --- which problem --- */

/* Untouched problems, longest first: the order of the last quarter. Without memory the order stays
 * that of the list. */
struct by_prior {
    double prior_s;
    uint32_t i;
};

static int compare_prior(const void *x, const void *y)
{
    const struct by_prior *a = x, *b = y;
    if (a->prior_s > b->prior_s || a->prior_s < b->prior_s)
        return a->prior_s < b->prior_s ? 1 : -1;
    return a->i < b->i ? -1 : 1;
}

static void sort_longest(struct ks_sched *s)
{
    uint32_t n = 0, cap = s->c.n_problems - s->n_touched;
    struct by_prior *all = malloc((cap + 1u) * sizeof(*all));
    s->longest = malloc((cap + 1u) * sizeof(*s->longest));
    for (uint32_t i = s->first; all && s->longest && i < s->c.n_problems; i++)
        if (!s->problems[i].is_touched)
            all[n++] = (struct by_prior){ s->problems[i].prior_s, i };
    if (n)
        qsort(all, n, sizeof(*all), compare_prior);
    for (uint32_t k = 0; k < n; k++)
        s->longest[k] = all[k].i;
    s->n_longest = n;
    free(all);
}

static uint32_t next_untouched(struct ks_sched *s)
{
    double remaining = ks_sched_remaining(s);
    if (s->n_touched == s->c.n_problems)
        return KS_NONE;
    if (!s->longest && remaining <= LAST_PART * (remaining + s->spent_s))
        sort_longest(s);
    while (s->i_longest < s->n_longest) {
        uint32_t i = s->longest[s->i_longest++];
        if (!s->problems[i].is_touched)
            return i;
    }
    while (s->problems[s->first].is_touched)
        s->first++;
    return s->first;
}

/* The next problem nobody has opened yet; opening may complete it at once (resume). */
static int open_next(struct ks_sched *s, struct active **a_out, struct ks_err *err)
{
    int rc = 0;
    for (*a_out = NULL; rc == 0 && !*a_out;) {
        uint32_t i = next_untouched(s);
        if (i == KS_NONE)
            return 0;
        rc = ks_sched_open_problem(s, i, err);
        *a_out = rc == 0 ? s->problems[i].a : NULL;
    }
    return rc;
}

/* The open problem whose devices have most left, if a further block there is worth its anchors: the
 * whole ends sooner with it. */
static struct active *find_split(const struct ks_sched *s)
{
    struct active *a = s->queue[QUEUE_WORKED].n ? s->queue[QUEUE_WORKED].v[0] : NULL;
    if (!a)
        return NULL;
    double free_s = a->cost_s * a->n[CELL_FREE];
    bool is_allowed = free_s >= SPLIT_PART * ks_sched_share_s(s);
    return is_allowed && free_s / a->n_devices >= s->overhead_s + ANCHORS * a->cost_s ? a : NULL;
}

/* It would outlast all others with the devices that it has. */
static bool is_critical(const struct ks_sched *s, const struct active *a)
{
    return a->key + RISK * sqrt(s->spread) * a->cost_s > ks_sched_share_s(s);
}

/* A problem whose cells wait for confirmation by somebody else than its first device. */
static struct active *find_confirm(const struct ks_sched *s, uint32_t device)
{
    for (uint32_t k = 0; k < s->n_confirming; k++)
        if (ks_sched_may_confirm(s->confirming[k], device))
            return s->confirming[k];
    return NULL;
}

/* Others wait for a verdict, or a problem has lost its device: that comes before visits. */
static bool is_waited_for(const struct ks_sched *s, uint32_t device)
{
    return find_confirm(s, device) || s->queue[QUEUE_ORPHANS].n;
}

/* In this order: what others wait for; problems whose device is gone, because problems are
 * completed one after another; what would be the last to end; the next problem; and when there is
 * none, whatever can be shared. NULL: nothing now. */
static int choose(struct ks_sched *s, uint32_t device, struct active **a_out, struct ks_err *err)
{
    *a_out = find_confirm(s, device);
    if (*a_out)
        return 0;
    if (s->queue[QUEUE_ORPHANS].n) {
        *a_out = s->queue[QUEUE_ORPHANS].v[0];
        return 0;
    }
    struct active *shared = find_split(s);
    if (shared && is_critical(s, shared)) {
        *a_out = shared;
        return 0;
    }
    int rc = open_next(s, a_out, err);
    if (rc == 0 && !*a_out)
        *a_out = find_split(s); /* opening may have changed what remains */
    return rc;
}

/* --- how many cells --- */

/* Seconds of cells that the device may be given now, where others could take them, too. One cell at
 * least for a device that holds nothing. */
static double room_s(const struct ks_sched *s, const struct device *d, double cell_s)
{
    double share = fmax(HELD_PART * ks_sched_share_s(s), s->c.reach_s) - d->held_s;
    double room = fmin(share, fmax(LONG_LEASE_S, LONG_LEASE * s->overhead_s));
    bool has_none = d->first == KS_NONE;
    return room < cell_s && (has_none || share >= cell_s) ? cell_s : room;
}

/* Cells for the device: a batch, but no more than it can end in the time left, and not so many that
 * others wait for it in the end. */
static uint32_t batch_size(const struct ks_sched *s, const struct device *d, const struct active *a,
                           bool opens, double time_left_s)
{
    bool is_shared = s->n_working > 1;
    double cell_s = a->cost_s * ks_sched_slowness(s, d);
    double left = time_left_s - d->held_s - s->overhead_s - (opens ? ANCHORS : 1) * cell_s;
    double room = is_shared ? fmin(left, room_s(s, d, cell_s)) : left;
    uint32_t most = s->c.batch;
    if (is_shared && a->n_learnt < most && FIRST_CELLS * (1 + a->n_learnt) < most)
        most = FIRST_CELLS * (1 + a->n_learnt);
    if (room < 0 || (cell_s > 0 && room < cell_s))
        return 0;
    return cell_s <= 0 || room >= cell_s * most ? most : (uint32_t)(room / cell_s);
}

/* --- giving --- */

static void enter_block(struct ks_sched *s, struct device *d, struct active *a)
{
    struct problem *p = &s->problems[a->i_problem];
    if (a->n_devices && a->n[CELL_FREE] && !p->is_split) { /* for its confirmations it is not */
        p->is_split = true;
        s->n_split++;
    }
    a->n_devices++;
    d->block = s->next_block++;
    d->at = a;
}

static void take_cells(const struct ks_sched *s, struct active *a, struct ks_lease *l,
                       uint32_t want)
{
    for (uint32_t k = a->next; k < s->c.n_instances && l->n < want; k++) {
        uint32_t ii = ks_sched_order(s, a, k);
        bool is_free = ks_sched_state(a, ii) == CELL_FREE;
        if (is_free)
            l->i_instance[l->n++] = ii;
        else if (k == a->next)
            a->next++;
    }
}

static bool has_more(const struct active *a, uint32_t device)
{
    return a->n[CELL_FREE] || ks_sched_may_confirm(a, device);
}

static int give(struct ks_sched *s, struct device *d, struct ks_lease *l, struct ks_lease *out,
                struct ks_err *err)
{
    struct active *a = d->at;
    double cell_s = a->cost_s * ks_sched_slowness(s, d);
    l->block = d->block;
    enum cell_state was[KS_LEASE_CELLS];
    for (uint32_t k = 0; k < l->n; k++) {
        was[k] = ks_sched_state(a, l->i_instance[k]);
        ks_sched_set_state(s, a, l->i_instance[k], CELL_LEASED);
    }
    l->closes = l->closes || l->is_alone || !has_more(a, l->device);
    l->expected_s = s->overhead_s + cell_s * (l->n + l->opens + l->closes);
    int rc = ks_sched_book(s, d, l, cell_s, err);
    for (uint32_t k = 0; rc < 0 && k < l->n; k++)
        ks_sched_set_state(s, a, l->i_instance[k], was[k]);
    ks_sched_update(s, a);
    if (rc < 0)
        return rc;
    if (l->closes)
        ks_sched_leave_block(s, d);
    *out = *l;
    return KS_SCHED_LEASE;
}

/* The next lease of the device's block; with no cell when there is none, to close it. */
static int give_more(struct ks_sched *s, struct device *d, uint32_t device, bool opens,
                     double time_left_s, struct ks_lease *out, struct ks_err *err)
{
    struct active *a = d->at;
    struct ks_lease l = { .i_problem = a->i_problem, .device = device, .opens = opens };
    bool may_confirm = ks_sched_may_confirm(a, device);
    uint32_t want = has_more(a, device) ? batch_size(s, d, a, opens, time_left_s) : 0;
    /* no cell fits into the time left, but a visit does: the block ends here */
    l.closes = !want && d->first == KS_NONE && ks_sched_has_visit(s, d, time_left_s);
    if (!want && has_more(a, device) && !l.closes)
        return KS_SCHED_WAIT;
    if (may_confirm && (!a->n[CELL_FREE] || ks_sched_is_urgent(s, a)))
        ks_sched_take_confirms(s, &l, want);
    else
        take_cells(s, a, &l, want);
    return give(s, d, &l, out, err);
}

static int give_first(struct ks_sched *s, struct device *d, uint32_t device, struct active *a,
                      double time_left_s, struct ks_lease *out, struct ks_err *err)
{
    if (!batch_size(s, d, a, true, time_left_s))
        return KS_SCHED_WAIT;
    enter_block(s, d, a);
    int rc = give_more(s, d, device, true, time_left_s, out, err);
    if (rc != KS_SCHED_LEASE)
        ks_sched_leave_block(s, d);
    return rc;
}

/* A cell that waits for all others to be done and that this device may run. */
static struct active *find_alone(const struct ks_sched *s, uint32_t device, uint32_t *ii_out)
{
    for (uint32_t i = 0; i < s->n_open; i++) {
        struct active *a = s->open[i];
        for (uint32_t ii = 0; a->n[CELL_ALONE] && ii < s->c.n_instances; ii++)
            if (ks_sched_state(a, ii) == CELL_ALONE && ks_sched_excluded(a, ii) != device) {
                *ii_out = ii;
                return a;
            }
    }
    return NULL;
}

/* Nothing else is left: the cells that were in flight at repeated losses, one by one, and never two
 * at a time. */
static int give_alone(struct ks_sched *s, struct device *d, uint32_t device, double time_left_s,
                      struct ks_lease *out, struct ks_err *err)
{
    uint32_t ii = 0;
    bool is_last = s->n[CELL_ALONE] && !s->n[CELL_LEASED] && !s->n[CELL_FREE];
    struct active *a = is_last ? find_alone(s, device, &ii) : NULL;
    if (!a || !batch_size(s, d, a, true, time_left_s))
        return KS_SCHED_WAIT;
    enter_block(s, d, a);
    struct ks_lease l = { .i_problem = a->i_problem,
                          .device = device,
                          .opens = true,
                          .is_alone = true,
                          .is_confirm = ks_sched_excluded(a, ii) != KS_NO_DEVICE,
                          .n = 1,
                          .i_instance = { ii } };
    int rc = give(s, d, &l, out, err);
    if (rc < 0)
        ks_sched_leave_block(s, d);
    return rc;
}

int ks_sched_next(struct ks_sched *s, uint32_t device, double now_s, double time_left_s,
                  struct ks_lease *out, struct ks_err *err)
{
    struct device *d = ks_sched_device(s, device);
    struct active *a = NULL;
    s->now_s = fmax(s->now_s, now_s);
    if (!d || !ks_sched_is_usable(d) || d->n_overdue)
        return KS_SCHED_WAIT;
    if (d->block)
        return give_more(s, d, device, false, time_left_s, out, err);
    int rc = is_waited_for(s, device)
                 ? KS_SCHED_WAIT
                 : ks_sched_give_visit(s, device, false, time_left_s, out, err);
    if (rc != KS_SCHED_WAIT)
        return rc;
    rc = choose(s, device, &a, err);
    if (rc == 0 && a)
        rc = give_first(s, d, device, a, time_left_s, out, err);
    else if (rc == 0 && s->n_complete < s->c.n_problems)
        rc = give_alone(s, d, device, time_left_s, out, err);
    else if (rc == 0)
        rc = s->n_visits ? KS_SCHED_WAIT : KS_SCHED_OVER;
    /* what it holds keeps it busy: perhaps there is other work afterwards */
    if (rc != KS_SCHED_WAIT || (d->first != KS_NONE && d->held_s >= s->c.reach_s))
        return rc;
    return ks_sched_give_visit(s, device, true, time_left_s, out, err);
}
