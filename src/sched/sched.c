/* SPDX-License-Identifier: MIT */
#include "sched/sched.h"

#include "base/hash.h"
#include "sched/sched_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int ks_sched_grow(void **array, uint32_t n, uint32_t *cap, size_t size, struct ks_err *err)
{
    if (n < *cap)
        return 0;
    uint32_t want = *cap ? *cap * 2 : 8;
    void *p = realloc(*array, want * size);
    if (!p)
        return ks_fail(err, KS_ENOMEM, "scheduler: no memory for %u entries", want);
    *array = p;
    *cap = want;
    return 0;
}

static double prior_total(const struct ks_sched_config *c)
{
    double sum = 0;
    for (uint32_t i = 0; i < c->n_problems; i++)
        sum += c->cost_s[i] * c->n_instances;
    return sum;
}

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
        p[i].prior_s = p[i].cost_s = c->cost_s[i];
        p[i].seed = c->seed[i];
    }
    s->c = *c;
    s->c.cost_s = NULL;
    s->c.seed = NULL;
    s->problems = p;
    s->next_lease = s->next_block = 1;
    s->untouched_s = prior_total(c);
    *s_out = s;
    return 0;
}

static void close_problem(struct problem *p)
{
    free(p->mark);
    free(p->order);
    p->mark = NULL;
    p->order = NULL;
}

void ks_sched_destroy(struct ks_sched *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->c.n_problems; i++)
        close_problem(&s->problems[i]);
    free(s->problems);
    free(s->devices);
    free(s->leases);
    free(s->losses);
    free(s->confirms);
    free(s->open);
    free(s);
}

struct device *ks_sched_device(struct ks_sched *s, uint32_t number)
{
    for (uint32_t i = 0; i < s->n_devices; i++)
        if (s->devices[i].is_open && s->devices[i].number == number)
            return &s->devices[i];
    return NULL;
}

int ks_sched_device_add(struct ks_sched *s, uint32_t device, struct ks_err *err)
{
    if (ks_sched_device(s, device))
        return ks_fail(err, KS_EINVAL, "device %u is known already", device);
    int rc = ks_sched_grow((void **)&s->devices, s->n_devices, &s->cap_devices, sizeof(*s->devices),
                           err);
    if (rc < 0)
        return rc;
    s->devices[s->n_devices++] = (struct device){ .number = device, .is_open = true };
    return 0;
}

static void leave_block(struct ks_sched *s, struct device *d)
{
    if (d->block)
        s->problems[d->i_problem].n_devices--;
    d->block = 0;
}

void ks_sched_device_drain(struct ks_sched *s, uint32_t device)
{
    struct device *d = ks_sched_device(s, device);
    if (!d)
        return;
    d->is_drained = true;
    leave_block(s, d);
}

void ks_sched_device_pause(struct ks_sched *s, uint32_t device, bool is_paused)
{
    struct device *d = ks_sched_device(s, device);
    if (!d || d->is_drained)
        return;
    d->is_paused = is_paused;
    if (is_paused)
        leave_block(s, d);
}

bool ks_sched_is_working(const struct device *d)
{
    return d->is_open && !d->is_drained && !d->is_paused;
}

/* Fisher-Yates from the problem's own seed, so that the order does not depend on the devices. */
static void shuffle(uint32_t *order, uint32_t n, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)ks_rng_below(&seed, i);
        uint32_t t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}

static int allocate_problem(struct ks_sched *s, uint32_t i, struct ks_err *err)
{
    struct problem *p = &s->problems[i];
    uint32_t n = s->c.n_instances;
    int rc = ks_sched_grow((void **)&s->open, s->n_open, &s->cap_open, sizeof(*s->open), err);
    if (rc < 0)
        return rc;
    p->mark = calloc(n, 1);
    p->order = calloc(n, sizeof(*p->order));
    if (!p->mark || !p->order) {
        close_problem(p);
        return ks_fail(err, KS_ENOMEM, "scheduler: no memory for %u cells", n);
    }
    shuffle(p->order, n, p->seed);
    s->open[s->n_open++] = i;
    return 0;
}

int ks_sched_open_problem(struct ks_sched *s, uint32_t i, struct ks_err *err)
{
    struct problem *p = &s->problems[i];
    int rc = allocate_problem(s, i, err);
    if (rc < 0)
        return rc;
    p->n_free = p->n_leased = p->n_confirm = p->next = 0;
    for (uint32_t k = 0; k < s->c.n_instances; k++) {
        enum ks_cell_state state = s->c.cell_state(s->c.ctx, i, k);
        p->mark[k] = state == KS_CELL_RUN ? MARK_FREE : MARK_DONE;
        p->n_free += state == KS_CELL_RUN;
        s->n_settled += state == KS_CELL_SETTLED;
    }
    s->n_run += p->n_free;
    if (!p->is_touched) {
        s->untouched_s -= p->prior_s * s->c.n_instances;
        p->cost_s = p->prior_s * ks_sched_scale(s);
    }
    p->is_touched = true;
    ks_sched_settle(s, i);
    return 0;
}

/* A complete problem, of which a cell is to be run again. */
static int open_again(struct ks_sched *s, uint32_t i, struct ks_err *err)
{
    struct problem *p = &s->problems[i];
    int rc = allocate_problem(s, i, err);
    if (rc < 0)
        return rc;
    memset(p->mark, MARK_DONE, s->c.n_instances);
    p->n_free = p->n_leased = p->n_confirm = 0;
    s->n_complete -= p->is_complete;
    p->is_complete = false;
    return 0;
}

void ks_sched_settle(struct ks_sched *s, uint32_t i)
{
    struct problem *p = &s->problems[i];
    if (!p->mark || p->n_free || p->n_leased || p->n_confirm)
        return;
    close_problem(p);
    p->is_complete = true;
    s->n_complete++;
    for (uint32_t k = 0; k < s->n_open; k++)
        if (s->open[k] == i) {
            s->open[k] = s->open[--s->n_open];
            break;
        }
}

struct loss *ks_sched_loss(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance)
{
    for (uint32_t i = 0; i < s->n_losses; i++)
        if (s->losses[i].i_problem == i_problem && s->losses[i].i_instance == i_instance)
            return &s->losses[i];
    return NULL;
}

static uint32_t count_loss(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance)
{
    struct loss *l = ks_sched_loss(s, i_problem, i_instance);
    if (l)
        return ++l->n;
    if (ks_sched_grow((void **)&s->losses, s->n_losses, &s->cap_losses, sizeof(*s->losses), NULL) <
        0)
        return 1; /* without memory the cell is merely leased like any other */
    s->losses[s->n_losses++] =
        (struct loss){ .i_problem = i_problem, .i_instance = i_instance, .n = 1 };
    return 1;
}

const struct confirm *ks_sched_confirm_of(const struct ks_sched *s, uint32_t i_problem,
                                          uint32_t i_instance)
{
    for (uint32_t i = 0; i < s->n_confirms; i++)
        if (s->confirms[i].i_problem == i_problem && s->confirms[i].i_instance == i_instance)
            return &s->confirms[i];
    return NULL;
}

static void give_back(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance)
{
    struct problem *p = &s->problems[i_problem];
    bool is_confirm = ks_sched_confirm_of(s, i_problem, i_instance) != NULL;
    p->mark[i_instance] = is_confirm ? MARK_CONFIRM : MARK_FREE;
    p->n_leased--;
    p->n_free += !is_confirm;
    s->n_leased--;
    p->next = 0;
}

static bool is_in_flight(const struct ks_sched *s, const struct ks_lease *l, uint32_t k)
{
    const struct problem *p = &s->problems[l->i_problem];
    return p->mark && p->mark[l->i_instance[k]] == MARK_LEASED;
}

uint32_t ks_sched_n_in_flight(const struct ks_sched *s, const struct ks_lease *l)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->n; k++)
        n += is_in_flight(s, l, k);
    return n;
}

uint32_t ks_sched_device_lost(struct ks_sched *s, uint32_t device, bool is_rank_loss,
                              uint32_t (*condemned_out)[2], uint32_t cap)
{
    uint32_t n = 0;
    struct device *d = ks_sched_device(s, device);
    if (!d)
        return 0;
    leave_block(s, d);
    d->is_open = false;
    for (uint32_t i = 0; i < s->n_leases; i++) {
        struct lease_book *b = &s->leases[i];
        if (!b->is_open || b->lease.device != device)
            continue;
        b->is_open = false;
        for (uint32_t k = 0; !b->is_overdue && k < b->lease.n; k++) {
            if (!is_in_flight(s, &b->lease, k))
                continue;
            uint32_t ip = b->lease.i_problem, ii = b->lease.i_instance[k];
            give_back(s, ip, ii);
            if (is_rank_loss && count_loss(s, ip, ii) >= KS_LOSSES_FINAL && n < cap) {
                condemned_out[n][0] = ip;
                condemned_out[n++][1] = ii;
            }
        }
    }
    return n;
}

double ks_sched_scale(const struct ks_sched *s)
{
    return s->learnt_prior_s > 0 ? s->learnt_s / s->learnt_prior_s : 1;
}

static void learn(struct ks_sched *s, struct problem *p, double elapsed_s)
{
    if (elapsed_s <= 0)
        return;
    s->learnt_s += elapsed_s;
    s->learnt_prior_s += p->prior_s;
    double weight = p->n_learnt < 7 ? 1.0 / (p->n_learnt + 1) : 0.125;
    p->cost_s += weight * (elapsed_s - p->cost_s);
    p->n_learnt++;
}

static void forget_confirm(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance)
{
    for (uint32_t i = 0; i < s->n_confirms; i++)
        if (s->confirms[i].i_problem == i_problem && s->confirms[i].i_instance == i_instance) {
            s->confirms[i] = s->confirms[--s->n_confirms];
            s->problems[i_problem].n_confirm--;
            return;
        }
}

void ks_sched_done(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance, uint32_t device,
                   double elapsed_s)
{
    struct problem *p = &s->problems[i_problem];
    if (!p->mark || p->mark[i_instance] == MARK_DONE)
        return;
    if (p->mark[i_instance] == MARK_LEASED) {
        p->n_leased--;
        s->n_leased--;
    } else if (p->mark[i_instance] == MARK_FREE) {
        p->n_free--;
    }
    forget_confirm(s, i_problem, i_instance);
    p->mark[i_instance] = MARK_DONE;
    for (uint32_t i = 0; i < s->n_leases; i++)
        if (s->leases[i].is_open && s->leases[i].lease.device == device)
            s->leases[i].lease.deadline_s =
                s->now_s + s->c.patience_s + 2 * s->leases[i].lease.expected_s;
    learn(s, p, elapsed_s);
    ks_sched_settle(s, i_problem);
}

uint32_t ks_sched_reissue(struct ks_sched *s, double now_s)
{
    uint32_t n = 0;
    s->now_s = now_s > s->now_s ? now_s : s->now_s;
    for (uint32_t i = 0; i < s->n_leases; i++) {
        struct lease_book *b = &s->leases[i];
        if (!b->is_open || b->is_overdue || now_s <= b->lease.deadline_s)
            continue;
        for (uint32_t k = 0; k < b->lease.n; k++)
            if (is_in_flight(s, &b->lease, k)) {
                give_back(s, b->lease.i_problem, b->lease.i_instance[k]);
                n++;
            }
        b->is_overdue = true;
        struct device *d = ks_sched_device(s, b->lease.device);
        if (d)
            leave_block(s, d);
    }
    return n;
}

static bool has_other_device(const struct ks_sched *s, uint32_t device)
{
    for (uint32_t i = 0; i < s->n_devices; i++)
        if (ks_sched_is_working(&s->devices[i]) && s->devices[i].number != device)
            return true;
    return false;
}

int ks_sched_confirm(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance, uint32_t device,
                     struct ks_err *err)
{
    struct problem *p = &s->problems[i_problem];
    if (!has_other_device(s, device))
        return 0;
    int rc = ks_sched_grow((void **)&s->confirms, s->n_confirms, &s->cap_confirms,
                           sizeof(*s->confirms), err);
    if (rc == 0 && !p->mark)
        rc = open_again(s, i_problem, err);
    if (rc < 0)
        return rc;
    if (p->mark[i_instance] != MARK_DONE)
        return 1;
    p->mark[i_instance] = MARK_CONFIRM;
    p->n_confirm++;
    s->confirms[s->n_confirms++] = (struct confirm){ i_problem, i_instance, device };
    return 1;
}

uint32_t ks_sched_unconfirmable(struct ks_sched *s, uint32_t (*cells_out)[2], uint32_t cap)
{
    uint32_t n = 0;
    for (uint32_t i = s->n_confirms; i-- > 0 && n < cap;) {
        struct confirm c = s->confirms[i];
        struct problem *p = &s->problems[c.i_problem];
        if (p->mark[c.i_instance] != MARK_CONFIRM || has_other_device(s, c.device))
            continue;
        cells_out[n][0] = c.i_problem;
        cells_out[n++][1] = c.i_instance;
        p->mark[c.i_instance] = MARK_DONE;
        forget_confirm(s, c.i_problem, c.i_instance);
        ks_sched_settle(s, c.i_problem);
    }
    return n;
}

bool ks_sched_is_done(const struct ks_sched *s, uint32_t i_problem, uint32_t i_instance)
{
    const struct problem *p = &s->problems[i_problem];
    return p->is_complete || (p->mark && p->mark[i_instance] == MARK_DONE);
}

void ks_sched_lease_end(struct ks_sched *s, uint64_t lease)
{
    for (uint32_t i = 0; i < s->n_leases; i++) {
        struct lease_book *b = &s->leases[i];
        if (!b->is_open || b->lease.id != lease)
            continue;
        b->is_open = false;
        for (uint32_t k = 0; !b->is_overdue && k < b->lease.n; k++)
            if (is_in_flight(s, &b->lease, k))
                give_back(s, b->lease.i_problem, b->lease.i_instance[k]);
        return;
    }
}

int ks_sched_reopen(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance, struct ks_err *err)
{
    struct problem *p = &s->problems[i_problem];
    if (!p->is_touched) /* cell_state will say it when the problem is opened */
        return 0;
    int rc = p->mark ? 0 : open_again(s, i_problem, err);
    if (rc < 0)
        return rc;
    if (p->mark[i_instance] != MARK_DONE)
        return 0;
    p->mark[i_instance] = MARK_FREE;
    p->n_free++;
    p->next = 0;
    return 0;
}

/* The part of a problem's cells that is run. */
static double share_run(const struct ks_sched *s)
{
    uint64_t n = s->n_run + s->n_settled;
    return n ? (double)s->n_run / (double)n : 1;
}

double ks_sched_remaining(const struct ks_sched *s)
{
    double sum = s->untouched_s > 0 ? s->untouched_s * ks_sched_scale(s) * share_run(s) : 0;
    for (uint32_t i = 0; i < s->n_open; i++) {
        const struct problem *p = &s->problems[s->open[i]];
        sum += p->cost_s * (p->n_free + p->n_leased);
    }
    return sum;
}

void ks_sched_counts(const struct ks_sched *s, struct ks_sched_counts *out)
{
    uint32_t n_leases = 0;
    for (uint32_t i = 0; i < s->n_leases; i++)
        n_leases += s->leases[i].is_open;
    *out = (struct ks_sched_counts){
        .n_complete = s->n_complete,
        .n_partial = s->n_open,
        .n_untouched = s->c.n_problems - s->n_complete - s->n_open,
        .n_leased = s->n_leased,
        .n_split = s->n_split,
        .n_leases_open = n_leases,
        .remaining_s = ks_sched_remaining(s),
    };
}
