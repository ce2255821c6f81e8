/* SPDX-License-Identifier: MIT */
/* lease.c - which cells a device gets next. */
#include "sched/sched_impl.h"

#include <math.h>

#define NO_PROBLEM UINT32_MAX

static uint32_t n_working(const struct ks_sched *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_devices; i++)
        n += ks_sched_is_working(&s->devices[i]);
    return n ? n : 1;
}

/* Cells that were in flight at KS_LOSSES_ALONE losses wait until nothing else is left. */
static uint32_t n_alone(struct ks_sched *s, uint32_t i_problem)
{
    uint32_t n = 0;
    const struct problem *p = &s->problems[i_problem];
    for (uint32_t i = 0; i < s->n_losses; i++)
        n += s->losses[i].i_problem == i_problem && s->losses[i].n >= KS_LOSSES_ALONE &&
             p->mark[s->losses[i].i_instance] == MARK_FREE;
    return n;
}

static uint32_t n_ready(struct ks_sched *s, uint32_t i_problem)
{
    return s->problems[i_problem].mark ? s->problems[i_problem].n_free - n_alone(s, i_problem) : 0;
}

/* The next problem nobody has opened yet; opening may complete it at once (resume). */
static int open_next(struct ks_sched *s, uint32_t *i_out, struct ks_err *err)
{
    *i_out = NO_PROBLEM;
    for (; s->first < s->c.n_problems; s->first++) {
        struct problem *p = &s->problems[s->first];
        if (p->is_touched)
            continue;
        int rc = ks_sched_open_problem(s, s->first, err);
        if (rc < 0)
            return rc;
        if (p->is_complete)
            continue;
        *i_out = s->first++;
        return 0;
    }
    return 0;
}

/* An open problem with free cells that no device works on: its device is gone, or the time left was
 * too short for its next cell. Problems are completed one after another, so it comes before a new
 * one; the first opened first. */
static uint32_t find_orphan(struct ks_sched *s)
{
    uint32_t first = NO_PROBLEM;
    for (uint32_t k = 0; k < s->n_open; k++) {
        uint32_t i = s->open[k];
        if (i < first && !s->problems[i].n_devices && n_ready(s, i))
            first = i;
    }
    return first;
}

/* The open problem with most left, if splitting it is worth a second block. */
static uint32_t join_open(struct ks_sched *s)
{
    double best_s = ks_sched_remaining(s) / n_working(s) / 4;
    uint32_t best = NO_PROBLEM;
    for (uint32_t k = 0; k < s->n_open; k++) {
        uint32_t i = s->open[k], ready = n_ready(s, i);
        double ready_s = s->problems[i].cost_s * ready;
        if (ready && ready_s >= best_s) {
            best_s = ready_s;
            best = i;
        }
    }
    return best;
}

static void leave_block(struct ks_sched *s, struct device *d)
{
    s->problems[d->i_problem].n_devices--;
    d->block = 0;
}

static void enter_block(struct ks_sched *s, struct device *d, uint32_t i_problem)
{
    struct problem *p = &s->problems[i_problem];
    if (p->n_devices && !p->is_split) {
        p->is_split = true;
        s->n_split++;
    }
    p->n_devices++;
    d->block = s->next_block++;
    d->i_problem = i_problem;
}

/* Expected time of what the device has been given already. */
static double held_s(const struct ks_sched *s, const struct device *d)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->n_leases; i++)
        if (s->leases[i].is_open && s->leases[i].lease.device == d->number)
            sum += s->problems[s->leases[i].lease.i_problem].cost_s *
                   ks_sched_n_in_flight(s, &s->leases[i].lease);
    return sum;
}

/* Cells for the device: a batch, but no more than it can end in the time left, and near the end not
 * more than half of its share of what is left, so that the devices finish together. One at least
 * for a device that holds nothing, if there is time. */
static uint32_t batch_size(const struct ks_sched *s, const struct device *d,
                           const struct problem *p, double time_left_s)
{
    uint32_t n_devices = n_working(s);
    double held = held_s(s, d);
    double room = n_devices > 1 ? ks_sched_remaining(s) / n_devices / 2 - held : INFINITY;
    double left = time_left_s - held;
    if (held <= 0 && room < p->cost_s)
        room = p->cost_s;
    if (left < room)
        room = left;
    if (p->cost_s <= 0 || room >= p->cost_s * s->c.batch)
        return s->c.batch;
    return room > 0 ? (uint32_t)(room / p->cost_s) : 0;
}

static int book(struct ks_sched *s, const struct ks_lease *l, struct ks_err *err)
{
    for (uint32_t i = 0; i < s->n_leases; i++)
        if (!s->leases[i].is_open) {
            s->leases[i] = (struct lease_book){ .lease = *l, .is_open = true };
            return 0;
        }
    int rc =
        ks_sched_grow((void **)&s->leases, s->n_leases, &s->cap_leases, sizeof(*s->leases), err);
    if (rc < 0)
        return rc;
    s->leases[s->n_leases++] = (struct lease_book){ .lease = *l, .is_open = true };
    return 0;
}

static bool waits_alone(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance)
{
    const struct loss *l = ks_sched_loss(s, i_problem, i_instance);
    return l && l->n >= KS_LOSSES_ALONE;
}

static void take_cells(struct ks_sched *s, struct ks_lease *l, uint32_t want)
{
    struct problem *p = &s->problems[l->i_problem];
    for (uint32_t k = p->next; k < s->c.n_instances && l->n < want; k++) {
        uint32_t ii = p->order[k];
        if (p->mark[ii] == MARK_FREE && !waits_alone(s, l->i_problem, ii))
            l->i_instance[l->n++] = ii;
        if (p->mark[ii] != MARK_FREE && k == p->next)
            p->next++;
    }
}

static int give(struct ks_sched *s, struct device *d, struct ks_lease *l, struct ks_err *err)
{
    struct problem *p = &s->problems[l->i_problem];
    l->id = s->next_lease;
    l->block = d->block;
    l->device = d->number;
    l->expected_s = p->cost_s * l->n;
    l->deadline_s = s->now_s + s->c.patience_s + 2 * (held_s(s, d) + l->expected_s);
    int rc = book(s, l, err);
    if (rc < 0)
        return rc;
    s->next_lease++;
    for (uint32_t k = 0; k < l->n; k++)
        p->mark[l->i_instance[k]] = MARK_LEASED;
    p->n_free -= l->is_confirm ? 0 : l->n;
    p->n_leased += l->n;
    s->n_leased += l->n;
    if (l->closes)
        leave_block(s, d);
    return KS_SCHED_LEASE;
}

static int give_batch(struct ks_sched *s, struct device *d, bool opens, uint32_t want,
                      struct ks_lease *out, struct ks_err *err)
{
    struct ks_lease l = { .i_problem = d->i_problem, .opens = opens };
    take_cells(s, &l, want);
    l.closes = n_ready(s, d->i_problem) == l.n;
    int rc = give(s, d, &l, err);
    if (rc == KS_SCHED_LEASE)
        *out = l;
    return rc;
}

/* Confirmations of one problem that this device may run, when its own cells are all given away. */
static int give_confirm(struct ks_sched *s, struct device *d, double time_left_s,
                        struct ks_lease *out, struct ks_err *err)
{
    struct ks_lease l = { .opens = true, .closes = true, .is_confirm = true };
    uint32_t want = 0;
    for (uint32_t i = 0; i < s->n_confirms; i++) {
        const struct confirm *c = &s->confirms[i];
        const struct problem *p = &s->problems[c->i_problem];
        bool is_fit = p->mark[c->i_instance] == MARK_CONFIRM && c->device != d->number;
        if (!is_fit || (l.n ? c->i_problem != l.i_problem : n_ready(s, c->i_problem) > 0))
            continue;
        if (!l.n)
            want = batch_size(s, d, p, time_left_s);
        l.i_problem = c->i_problem;
        if (l.n < want)
            l.i_instance[l.n++] = c->i_instance;
    }
    if (!l.n)
        return KS_SCHED_WAIT;
    d->block = s->next_block++;
    d->i_problem = l.i_problem;
    s->problems[l.i_problem].n_devices++;
    int rc = give(s, d, &l, err);
    if (rc == KS_SCHED_LEASE)
        *out = l;
    else
        leave_block(s, d);
    return rc;
}

/* A cell that waits for all others to be done, NULL when there is none. */
static const struct loss *find_alone(const struct ks_sched *s)
{
    for (uint32_t i = 0; i < s->n_losses; i++) {
        const struct loss *c = &s->losses[i];
        const struct problem *p = &s->problems[c->i_problem];
        if (c->n >= KS_LOSSES_ALONE && p->mark && p->mark[c->i_instance] == MARK_FREE)
            return c;
    }
    return NULL;
}

/* Nothing else is left: the cells that were in flight at repeated losses, one by one, and never two
 * at a time. */
static int give_alone(struct ks_sched *s, struct device *d, double time_left_s,
                      struct ks_lease *out, struct ks_err *err)
{
    const struct loss *c = s->n_leased ? NULL : find_alone(s);
    if (!c || !batch_size(s, d, &s->problems[c->i_problem], time_left_s))
        return KS_SCHED_WAIT;
    enter_block(s, d, c->i_problem);
    struct ks_lease l = { .i_problem = c->i_problem,
                          .opens = true,
                          .closes = true,
                          .is_alone = true,
                          .n = 1,
                          .i_instance = { c->i_instance } };
    int rc = give(s, d, &l, err);
    if (rc == KS_SCHED_LEASE)
        *out = l;
    else
        leave_block(s, d);
    return rc;
}

/* The block's problem went to others before its last lease could say so: let it be closed. */
static int give_close(struct ks_sched *s, struct device *d, struct ks_lease *out,
                      struct ks_err *err)
{
    struct ks_lease l = { .i_problem = d->i_problem, .closes = true };
    int rc = give(s, d, &l, err);
    if (rc == KS_SCHED_LEASE)
        *out = l;
    return rc;
}

static int continue_block(struct ks_sched *s, struct device *d, double time_left_s,
                          struct ks_lease *out, struct ks_err *err)
{
    if (!n_ready(s, d->i_problem))
        return give_close(s, d, out, err);
    uint32_t want = batch_size(s, d, &s->problems[d->i_problem], time_left_s);
    return want ? give_batch(s, d, false, want, out, err) : KS_SCHED_WAIT;
}

static bool is_overdue(const struct ks_sched *s, uint32_t device)
{
    for (uint32_t i = 0; i < s->n_leases; i++)
        if (s->leases[i].is_open && s->leases[i].is_overdue && s->leases[i].lease.device == device)
            return true;
    return false;
}

int ks_sched_next(struct ks_sched *s, uint32_t device, double now_s, double time_left_s,
                  struct ks_lease *out, struct ks_err *err)
{
    struct device *d = ks_sched_device(s, device);
    s->now_s = now_s > s->now_s ? now_s : s->now_s;
    if (!d || !ks_sched_is_working(d) || is_overdue(s, device))
        return KS_SCHED_WAIT;
    if (d->block)
        return continue_block(s, d, time_left_s, out, err);
    int rc = give_confirm(s, d, time_left_s, out, err);
    if (rc != KS_SCHED_WAIT)
        return rc;
    rc = 0;
    uint32_t i = find_orphan(s);
    if (i == NO_PROBLEM)
        rc = open_next(s, &i, err);
    if (rc < 0)
        return rc;
    if (i == NO_PROBLEM)
        i = join_open(s);
    if (i == NO_PROBLEM)
        return s->n_complete == s->c.n_problems ? KS_SCHED_OVER
                                                : give_alone(s, d, time_left_s, out, err);
    uint32_t want = batch_size(s, d, &s->problems[i], time_left_s);
    if (!want)
        return KS_SCHED_WAIT;
    enter_block(s, d, i);
    rc = give_batch(s, d, true, want, out, err);
    if (rc < 0)
        leave_block(s, d);
    return rc;
}
