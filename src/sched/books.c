/* SPDX-License-Identifier: MIT */
/* books.c - leases from being given to their end, and what becomes of their cells. */
#include "base/array.h"
#include "sched/sched_impl.h"

#include <math.h>
#include <stdlib.h>

/* A lease is overdue when it has been silent for the patience and twice what was expected. */
#define DEADLINE_FACTOR 2.0

/* --- which lease is which --- */

static uint32_t *bucket_of(struct ks_sched *s, uint64_t id)
{
    return &s->bucket[id & (s->n_buckets - 1)];
}

static void put_in_bucket(struct ks_sched *s, uint32_t slot)
{
    uint32_t *b = bucket_of(s, s->leases[slot].lease.id);
    s->leases[slot].next_in_bucket = *b;
    *b = slot;
}

static uint32_t find_lease(struct ks_sched *s, uint64_t id)
{
    uint32_t slot = s->n_buckets ? *bucket_of(s, id) : KS_NONE;
    while (slot != KS_NONE && s->leases[slot].lease.id != id)
        slot = s->leases[slot].next_in_bucket;
    return slot;
}

static void take_from_bucket(struct ks_sched *s, uint32_t slot)
{
    uint32_t *at = bucket_of(s, s->leases[slot].lease.id);
    while (*at != slot)
        at = &s->leases[*at].next_in_bucket;
    *at = s->leases[slot].next_in_bucket;
}

/* As many buckets as places, a power of two; all places are taken at this moment. */
static int grow_leases(struct ks_sched *s, struct ks_err *err)
{
    int rc = ks_reserve32(&s->leases, s->n_leases + 1ul, &s->cap_leases, sizeof(*s->leases),
                          "entries of the scheduler", err);
    uint32_t *bucket = rc == 0 ? malloc(s->cap_leases * sizeof(*bucket)) : NULL;
    if (rc == 0 && !bucket)
        rc = ks_fail(err, KS_ENOMEM, "scheduler: no memory for %u leases", s->cap_leases);
    if (rc < 0)
        return rc;
    free(s->bucket);
    s->bucket = bucket;
    s->n_buckets = s->cap_leases;
    for (uint32_t i = 0; i < s->n_buckets; i++)
        bucket[i] = KS_NONE;
    for (uint32_t i = 0; i < s->n_leases; i++)
        put_in_bucket(s, i);
    for (uint32_t i = s->cap_leases; i-- > s->n_leases;) {
        s->leases[i] = (struct lease_book){ .next_in_bucket = s->free_lease };
        s->free_lease = i;
    }
    s->n_leases = s->cap_leases;
    return 0;
}

/* --- giving --- */

/* Whatever a device holds is due later now: it has just begun something, or got on with it. */
static void set_deadlines(struct ks_sched *s, struct device *d)
{
    double expected = 0;
    for (uint32_t i = d->first; i != KS_NONE; i = s->leases[i].next) {
        struct lease_book *b = &s->leases[i];
        expected += b->left_s;
        double at = s->now_s + s->c.patience_s + DEADLINE_FACTOR * expected;
        b->lease.deadline_s = fmax(b->lease.deadline_s, at);
    }
    if (d->first != KS_NONE)
        s->check_s = fmin(s->check_s, s->leases[d->first].lease.deadline_s);
}

int ks_sched_book(struct ks_sched *s, struct device *d, struct ks_lease *l, double cell_s,
                  struct ks_err *err)
{
    int rc = s->free_lease == KS_NONE ? grow_leases(s, err) : 0;
    if (rc < 0)
        return rc;
    uint32_t slot = s->free_lease;
    struct lease_book *b = &s->leases[slot];
    s->free_lease = b->next_in_bucket;
    l->id = s->next_lease++;
    l->deadline_s = 0;
    *b = (struct lease_book){ .lease = *l,
                              .visit = KS_NONE,
                              .cell_s = cell_s,
                              .left_s = l->expected_s,
                              .begun_s = s->now_s,
                              .previous = d->last,
                              .next = KS_NONE };
    put_in_bucket(s, slot);
    if (d->last == KS_NONE)
        d->first = slot;
    else
        s->leases[d->last].next = slot;
    d->last = slot;
    d->last_problem = l->i_problem;
    d->held_s += l->expected_s;
    s->n_leases_open++;
    set_deadlines(s, d);
    l->deadline_s = b->lease.deadline_s;
    return 0;
}

/* --- ending --- */

static void unlink_lease(struct ks_sched *s, struct device *d, uint32_t slot)
{
    struct lease_book *b = &s->leases[slot];
    if (b->previous == KS_NONE)
        d->first = b->next;
    else
        s->leases[b->previous].next = b->next;
    if (b->next == KS_NONE)
        d->last = b->previous;
    else
        s->leases[b->next].previous = b->previous;
    if (b->previous == KS_NONE && b->next != KS_NONE)
        s->leases[b->next].begun_s = s->now_s;
    d->held_s = d->first == KS_NONE ? 0 : d->held_s - b->left_s;
    if (b->is_overdue)
        ks_sched_change_device(s, d, DEVICE_OVERDUE, -1);
    take_from_bucket(s, slot);
    *b = (struct lease_book){ .next_in_bucket = s->free_lease };
    s->free_lease = slot;
    s->n_leases_open--;
}

static uint32_t n_losses(const struct active *a, uint32_t i_instance)
{
    return a->mark[i_instance] / MARK_LOSS;
}

enum cell_state ks_sched_pooled(const struct active *a, uint32_t i_instance)
{
    return n_losses(a, i_instance) >= KS_LOSSES_ALONE ? CELL_ALONE
           : a->mark[i_instance] & MARK_CONFIRM       ? CELL_CONFIRM
                                                      : CELL_FREE;
}

/* Its cells that are not done may be leased again; their number. */
static uint32_t pool(struct ks_sched *s, const struct lease_book *b)
{
    struct active *a = s->problems[b->lease.i_problem].a;
    uint32_t n = 0;
    if (b->is_overdue || !a) /* it has happened */
        return 0;
    for (uint32_t k = 0; k < b->lease.n; k++) {
        uint32_t ii = b->lease.i_instance[k];
        if (ks_sched_state(a, ii) != CELL_LEASED)
            continue;
        ks_sched_set_state(s, a, ii, ks_sched_pooled(a, ii));
        n++;
    }
    ks_sched_update(s, a);
    return n;
}

bool ks_sched_lease_end(struct ks_sched *s, uint64_t lease)
{
    uint32_t slot = find_lease(s, lease);
    if (slot == KS_NONE)
        return true;
    struct device *d = &s->devices[s->leases[slot].lease.device];
    (void)pool(s, &s->leases[slot]);
    if (!s->leases[slot].lease.is_visit)
        ks_sched_learn_lease(s, d, &s->leases[slot]);
    const bool is_over = ks_sched_end_visit(s, &s->leases[slot]);
    unlink_lease(s, d, slot);
    set_deadlines(s, d);
    return is_over;
}

void ks_sched_disown(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance)
{
    for (uint32_t i = 0; i < s->n_leases; i++) {
        struct ks_lease *l = &s->leases[i].lease;
        for (uint32_t k = 0; l->i_problem == i_problem && k < l->n; k++)
            if (l->i_instance[k] == i_instance)
                l->i_instance[k--] = l->i_instance[--l->n];
    }
}

/* --- losing --- */

/* Leases that were given again may be lost together: only alone a cell can be convicted. */
static void count_losses(struct ks_sched *s, const struct lease_book *b)
{
    struct active *a = s->problems[b->lease.i_problem].a;
    const uint32_t most = b->lease.is_alone ? KS_LOSSES_FINAL : KS_LOSSES_ALONE;
    for (uint32_t k = 0; a && k < b->lease.n; k++) {
        uint32_t ii = b->lease.i_instance[k];
        if (ks_sched_state(a, ii) != CELL_DONE && n_losses(a, ii) < most)
            a->mark[ii] = (uint8_t)(a->mark[ii] + MARK_LOSS);
        if (n_losses(a, ii) >= KS_LOSSES_ALONE && ks_sched_state(a, ii) != CELL_LEASED &&
            ks_sched_state(a, ii) != CELL_DONE)
            ks_sched_set_state(s, a, ii, CELL_ALONE);
    }
    if (a)
        ks_sched_update(s, a);
}

static uint32_t condemn(const struct ks_sched *s, const struct lease_book *b,
                        uint32_t (*condemned_out)[2], uint32_t cap)
{
    const struct active *a = s->problems[b->lease.i_problem].a;
    uint32_t n = 0;
    for (uint32_t k = 0; a && k < b->lease.n && n < cap; k++) {
        uint32_t ii = b->lease.i_instance[k];
        if (ks_sched_state(a, ii) != CELL_ALONE || n_losses(a, ii) < KS_LOSSES_FINAL)
            continue;
        condemned_out[n][0] = b->lease.i_problem;
        condemned_out[n++][1] = ii;
    }
    return n;
}

uint32_t ks_sched_device_lost(struct ks_sched *s, uint32_t device, bool is_rank_loss,
                              uint32_t (*condemned_out)[2], uint32_t cap)
{
    uint32_t n = 0;
    struct device *d = ks_sched_device(s, device);
    if (!d)
        return 0;
    while (d->first != KS_NONE) {
        struct lease_book *b = &s->leases[d->first];
        (void)pool(s, b);
        ks_sched_again_visit(s, b);
        if (is_rank_loss) {
            count_losses(s, b);
            n += condemn(s, b, condemned_out + n, cap - n);
        }
        unlink_lease(s, d, d->first);
    }
    ks_sched_leave_block(s, d);
    ks_sched_change_device(s, d, DEVICE_GONE, 1);
    return n;
}

static uint32_t reissue_device(struct ks_sched *s, struct device *d)
{
    uint32_t n = 0;
    for (uint32_t i = d->first; i != KS_NONE; i = s->leases[i].next) {
        if (s->leases[i].is_overdue)
            continue;
        n += pool(s, &s->leases[i]) + (s->leases[i].visit != KS_NONE);
        ks_sched_again_visit(s, &s->leases[i]);
        s->leases[i].is_overdue = true;
        ks_sched_change_device(s, d, DEVICE_OVERDUE, 1);
    }
    ks_sched_leave_block(s, d);
    return n;
}

/* The first lease is the one in work: when it is overdue, all are. */
uint32_t ks_sched_reissue(struct ks_sched *s, double now_s)
{
    uint32_t n = 0;
    s->now_s = fmax(s->now_s, now_s);
    if (now_s <= s->check_s)
        return 0;
    s->check_s = INFINITY;
    for (uint32_t i = 0; i < s->n_devices; i++) {
        struct device *d = &s->devices[i];
        if (d->first == KS_NONE || s->leases[d->last].is_overdue)
            continue;
        if (now_s > s->leases[d->first].lease.deadline_s)
            n += reissue_device(s, d);
        else
            s->check_s = fmin(s->check_s, s->leases[d->first].lease.deadline_s);
    }
    return n;
}

/* --- cells --- */

static void get_on(struct ks_sched *s, struct device *d, uint32_t i_problem, uint32_t i_instance,
                   double elapsed_s)
{
    for (uint32_t i = d->first; i != KS_NONE; i = s->leases[i].next) {
        struct lease_book *b = &s->leases[i];
        uint32_t k = 0;
        while (b->lease.i_problem == i_problem && k < b->lease.n &&
               b->lease.i_instance[k] != i_instance)
            k++;
        if (b->lease.i_problem != i_problem || k == b->lease.n)
            continue;
        double less = fmin(b->cell_s, b->left_s);
        b->left_s -= less;
        d->held_s -= less;
        b->cells_s += elapsed_s;
        b->n_done++;
        b->n_timed += elapsed_s > 0;
        break;
    }
    set_deadlines(s, d);
}

void ks_sched_done(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance, uint32_t device,
                   double elapsed_s)
{
    struct active *a = s->problems[i_problem].a;
    struct device *d = ks_sched_device(s, device);
    if (!a || ks_sched_state(a, i_instance) == CELL_DONE)
        return;
    ks_sched_forget_confirm(a, i_instance);
    ks_sched_set_state(s, a, i_instance, CELL_DONE);
    if (d)
        get_on(s, d, i_problem, i_instance, elapsed_s);
    ks_sched_learn_cell(s, d, a, elapsed_s);
    ks_sched_update(s, a);
}
