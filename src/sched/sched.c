/* SPDX-License-Identifier: MIT */
/* sched.c - states of problems, cells and devices, and the seeded order of cells */
#include "sched/sched.h"

#include "base/array.h"
#include "base/hash.h"
#include "sched/sched_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ks_sched_create(const struct ks_sched_config *c, struct ks_sched **s_out, struct ks_err *err)
{
    if (c->batch < 1 || c->batch > KS_LEASE_CELLS)
        return ks_fail(err, KS_EINVAL, "batch %u is outside [1, %u]", c->batch, KS_LEASE_CELLS);
    struct ks_sched *s = calloc(1, sizeof(*s));
    struct problem *p = calloc(c->n_problems ? c->n_problems : 1, sizeof(*p));
    if (!s || !p) {
        free(s);
        free(p);
        return ks_fail(err, KS_ENOMEM, "scheduler: no memory for %u problems", c->n_problems);
    }
    for (uint32_t i = 0; i < c->n_problems; i++) {
        p[i].prior_s = c->cost_s[i];
        p[i].seed = c->seed[i];
    }
    s->c = *c;
    s->c.cost_s = NULL;
    s->c.seed = NULL;
    s->problems = p;
    s->next_lease = s->next_block = 1;
    s->free_lease = s->free_place = s->stray = KS_NONE;
    s->overhead_s = c->overhead_s;
    for (uint32_t i = 0; i < c->n_problems; i++)
        ks_sched_count_prior(s, c->cost_s[i]);
    s->check_s = INFINITY;
    *s_out = s;
    return 0;
}

static void close_problem(struct active *a)
{
    if (!a)
        return;
    free(a->mark);
    free(a->order);
    free(a->confirms);
    free(a);
}

void ks_sched_destroy(struct ks_sched *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_open; i++)
        close_problem(s->open[i]);
    for (uint32_t i = 0; i < N_QUEUES; i++)
        free(s->queue[i].v);
    free(s->problems);
    free(s->devices);
    free(s->leases);
    free(s->visits);
    free(s->bucket);
    free(s->open);
    free(s->confirming);
    free(s->longest);
    free(s);
}

/* --- devices --- */

struct device *ks_sched_device(struct ks_sched *s, uint32_t number)
{
    return number < s->n_devices && s->devices[number].is_open ? &s->devices[number] : NULL;
}

bool ks_sched_is_usable(const struct device *d)
{
    return d->is_open && !d->is_drained && !d->is_paused;
}

/* Takes it out of the counts, or puts it back; between two calls with `sign` it may change. */
static void count_device(struct ks_sched *s, const struct device *d, int sign)
{
    bool is_usable = ks_sched_is_usable(d);
    s->n_usable += (uint32_t)(sign * is_usable);
    s->n_working += (uint32_t)(sign * (is_usable && !d->n_overdue));
}

static struct device new_device(bool is_open)
{
    return (struct device){ .is_open = is_open,
                            .visits = KS_NONE,
                            .last_problem = KS_NONE,
                            .first = KS_NONE,
                            .last = KS_NONE };
}

int ks_sched_device_add(struct ks_sched *s, uint32_t device, struct ks_err *err)
{
    int rc = 0;
    if (ks_sched_device(s, device))
        return ks_fail(err, KS_EINVAL, "device %u is already registered", device);
    while (rc == 0 && s->n_devices <= device) {
        rc = ks_reserve32(&s->devices, s->n_devices + 1ul, &s->cap_devices, sizeof(*s->devices),
                          "entries of the scheduler", err);
        if (rc == 0)
            s->devices[s->n_devices++] = new_device(false);
    }
    if (rc < 0)
        return rc;
    s->devices[device] = new_device(true);
    count_device(s, &s->devices[device], 1);
    return 0;
}

void ks_sched_change_device(struct ks_sched *s, struct device *d, enum device_change what, int by)
{
    count_device(s, d, -1);
    if (what == DEVICE_GONE)
        d->is_open = false;
    else if (what == DEVICE_DRAINED)
        d->is_drained = true;
    else if (what == DEVICE_PAUSED)
        d->is_paused = by > 0;
    else
        d->n_overdue += (uint32_t)by;
    count_device(s, d, 1);
    if (!ks_sched_is_usable(d) || d->n_overdue)
        ks_sched_stray_visits(s, d);
}

void ks_sched_leave_block(struct ks_sched *s, struct device *d)
{
    struct active *a = d->at;
    if (!d->block)
        return;
    a->n_devices--;
    d->block = 0;
    d->at = NULL;
    ks_sched_update(s, a);
}

bool ks_sched_is_overdue(const struct ks_sched *s, uint32_t device)
{
    return device < s->n_devices && s->devices[device].is_open && s->devices[device].n_overdue;
}

void ks_sched_device_drain(struct ks_sched *s, uint32_t device)
{
    struct device *d = ks_sched_device(s, device);
    if (!d)
        return;
    ks_sched_change_device(s, d, DEVICE_DRAINED, 1);
    ks_sched_leave_block(s, d);
}

void ks_sched_device_pause(struct ks_sched *s, uint32_t device, bool is_paused)
{
    struct device *d = ks_sched_device(s, device);
    if (!d)
        return;
    ks_sched_change_device(s, d, DEVICE_PAUSED, is_paused);
    if (is_paused)
        ks_sched_leave_block(s, d);
    for (uint32_t i = 0; i < s->n_open; i++) /* confirmations may be urgent now */
        ks_sched_list_confirms(s, s->open[i]);
}

/* --- problems --- */

enum cell_state ks_sched_state(const struct active *a, uint32_t i_instance)
{
    return (enum cell_state)(a->mark[i_instance] & MARK_STATE);
}

void ks_sched_set_state(struct ks_sched *s, struct active *a, uint32_t i_instance,
                        enum cell_state to)
{
    enum cell_state from = ks_sched_state(a, i_instance);
    a->mark[i_instance] = (uint8_t)((a->mark[i_instance] & ~MARK_STATE) | to);
    a->n[from]--;
    s->n[from]--;
    a->n[to]++;
    s->n[to]++;
    if (to == CELL_FREE)
        a->next = 0;
}

static bool is_short_order(const struct ks_sched *s)
{
    return s->c.n_instances <= UINT16_MAX;
}

uint32_t ks_sched_order(const struct ks_sched *s, const struct active *a, uint32_t k)
{
    return is_short_order(s) ? ((const uint16_t *)a->order)[k] : ((const uint32_t *)a->order)[k];
}

static void set_order(const struct ks_sched *s, struct active *a, uint32_t k, uint32_t i_instance)
{
    if (is_short_order(s))
        ((uint16_t *)a->order)[k] = (uint16_t)i_instance;
    else
        ((uint32_t *)a->order)[k] = i_instance;
}

/* Fisher-Yates from the problem's own seed, so that the order does not depend on the devices. */
static void shuffle(const struct ks_sched *s, struct active *a, uint64_t seed)
{
    uint32_t n = s->c.n_instances;
    for (uint32_t i = 0; i < n; i++)
        set_order(s, a, i, i);
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)ks_rng_below(&seed, i);
        uint32_t t = ks_sched_order(s, a, i - 1);
        set_order(s, a, i - 1, ks_sched_order(s, a, j));
        set_order(s, a, j, t);
    }
}

static int grow_lists(struct ks_sched *s, struct ks_err *err)
{
    uint32_t cap = s->cap_open;
    struct active ***list[] = { &s->queue[QUEUE_ORPHANS].v, &s->queue[QUEUE_WORKED].v,
                                &s->confirming };
    int rc = ks_reserve32(&s->open, s->n_open + 1ul, &s->cap_open, sizeof(*s->open),
                          "entries of the scheduler", err);
    for (size_t i = 0; rc == 0 && s->cap_open > cap && i < sizeof(list) / sizeof(list[0]); i++) {
        void *p = realloc(*list[i], s->cap_open * sizeof(**list[i]));
        rc = p ? 0 : ks_fail(err, KS_ENOMEM, "scheduler: no memory for %u problems", s->cap_open);
        *list[i] = p ? p : *list[i];
    }
    if (rc < 0)
        s->cap_open = cap; /* the next one tries again */
    return rc;
}

int ks_sched_open_again(struct ks_sched *s, uint32_t i, struct ks_err *err)
{
    uint32_t n = s->c.n_instances;
    int rc = grow_lists(s, err); /* now, so that moving it from one to another cannot fail */
    if (rc < 0)
        return rc;
    struct active *a = calloc(1, sizeof(*a));
    if (a) {
        a->mark = malloc(n);
        a->order = calloc(n, is_short_order(s) ? sizeof(uint16_t) : sizeof(uint32_t));
    }
    if (!a || !a->mark || !a->order) {
        close_problem(a);
        return ks_fail(err, KS_ENOMEM, "scheduler: no memory for %u cells", n);
    }
    memset(a->mark, CELL_DONE, n);
    shuffle(s, a, s->problems[i].seed);
    a->i_problem = i;
    a->guess_s = a->cost_s = ks_sched_guess(s, s->problems[i].prior_s);
    a->n[CELL_DONE] = n;
    s->n[CELL_DONE] += n;
    a->i_open = s->n_open;
    a->i_confirming = KS_NONE;
    a->queue = QUEUE_NONE;
    s->open[s->n_open++] = a;
    s->problems[i].a = a;
    return 0;
}

int ks_sched_open_problem(struct ks_sched *s, uint32_t i, struct ks_err *err)
{
    int rc = ks_sched_open_again(s, i, err);
    if (rc < 0)
        return rc;
    struct problem *p = &s->problems[i];
    for (uint32_t k = 0; k < s->c.n_instances; k++) {
        enum ks_cell_state state = s->c.cell_state(s->c.ctx, i, k);
        if (state == KS_CELL_RUN)
            ks_sched_set_state(s, p->a, k, CELL_FREE);
        s->n_settled += state == KS_CELL_SETTLED;
    }
    s->n_run += p->a->n[CELL_FREE];
    ks_sched_touch_prior(s, p->prior_s);
    p->is_touched = true;
    s->n_touched++;
    ks_sched_update(s, p->a);
    return 0;
}

/* Its place in the heap where its free cells are looked for. */
static void place(struct ks_sched *s, struct active *a)
{
    enum ks_queue want = !a->n[CELL_FREE]    ? QUEUE_NONE
                         : a->n_devices == 0 ? QUEUE_ORPHANS
                                             : QUEUE_WORKED;
    double key = want == QUEUE_WORKED ? a->left_s / a->n_devices : 0;
    bool is_moved = a->queue != want;
    bool has_changed = a->key < key || a->key > key;
    if (is_moved && a->queue != QUEUE_NONE)
        ks_queue_take(&s->queue[a->queue], a);
    a->queue = want;
    a->key = key;
    if (is_moved && want != QUEUE_NONE)
        ks_queue_put(&s->queue[want], a);
    else if (has_changed && want != QUEUE_NONE)
        ks_queue_moved(&s->queue[want], a);
}

static void close_complete(struct ks_sched *s, struct active *a)
{
    ks_sched_learn_problem(s, a);
    s->problems[a->i_problem].a = NULL;
    s->n[CELL_DONE] -= a->n[CELL_DONE];
    s->open[a->i_open] = s->open[--s->n_open];
    s->open[a->i_open]->i_open = a->i_open;
    close_problem(a);
}

void ks_sched_update(struct ks_sched *s, struct active *a)
{
    struct problem *p = &s->problems[a->i_problem];
    uint32_t n_left = s->c.n_instances - a->n[CELL_DONE];
    double left_s = a->cost_s * n_left;
    s->open_s += left_s - a->left_s;
    a->left_s = left_s;
    place(s, a);
    ks_sched_list_confirms(s, a);
    if (p->is_complete != (n_left == 0)) {
        p->is_complete = n_left == 0;
        s->n_complete += p->is_complete ? 1u : UINT32_MAX;
    }
    if (p->is_complete && !a->n_devices) /* else their blocks are to be closed */
        close_complete(s, a);
}

bool ks_sched_is_done(const struct ks_sched *s, uint32_t i_problem, uint32_t i_instance)
{
    const struct problem *p = &s->problems[i_problem];
    return p->is_complete || (p->a && ks_sched_state(p->a, i_instance) == CELL_DONE);
}

bool ks_sched_is_complete(const struct ks_sched *s, uint32_t i_problem)
{
    return s->problems[i_problem].is_complete;
}

bool ks_sched_is_begun(const struct ks_sched *s, uint32_t i_problem)
{
    return s->problems[i_problem].is_touched;
}

int ks_sched_reopen(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance, struct ks_err *err)
{
    struct problem *p = &s->problems[i_problem];
    if (!p->is_touched) /* cell_state will say it when the problem is opened */
        return 0;
    int rc = p->a ? 0 : ks_sched_open_again(s, i_problem, err);
    if (rc < 0)
        return rc;
    enum cell_state state = ks_sched_state(p->a, i_instance);
    ks_sched_forget_confirm(p->a, i_instance);
    if (state == CELL_DONE || state == CELL_CONFIRM) {
        ks_sched_set_state(s, p->a, i_instance, ks_sched_pooled(p->a, i_instance));
        ks_sched_disown(s, i_problem, i_instance);
    }
    ks_sched_update(s, p->a);
    return 0;
}

int ks_sched_reopen_alone(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance,
                          struct ks_err *err)
{
    const bool was_done = ks_sched_is_done(s, i_problem, i_instance);
    int rc = ks_sched_reopen(s, i_problem, i_instance, err);
    struct active *a = s->problems[i_problem].a;
    if (rc < 0 || !was_done || !a)
        return rc;
    a->mark[i_instance] = (uint8_t)(a->mark[i_instance] % MARK_LOSS + KS_LOSSES_ALONE * MARK_LOSS);
    ks_sched_set_state(s, a, i_instance, CELL_ALONE);
    ks_sched_update(s, a);
    return 0;
}

void ks_sched_counts(const struct ks_sched *s, struct ks_sched_counts *out)
{
    *out = (struct ks_sched_counts){
        .n_complete = s->n_complete,
        .n_partial = s->n_touched - s->n_complete,
        .n_untouched = s->c.n_problems - s->n_touched,
        .n_leased = s->n[CELL_LEASED],
        .n_split = s->n_split,
        .n_leases_open = s->n_leases_open,
        .n_visits = s->n_visits,
        .remaining_s = ks_sched_remaining(s),
    };
}
