/* SPDX-License-Identifier: MIT */
/* sched_cluster.c - the product's scheduler with devices in virtual time: two leases each, what a
 * lease costs beside its cells, anchors of every block, losses that are noticed late. */
#include "base/clock.h"
#include "base/hash.h"
#include "sched/cost.h"
#include "sched/sched.h"
#include "sched_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 2, MOST_IDLE = 1000 };
enum what { STEP_ENDS, ASKS, LOST, LOSS_NOTICED };
struct event {
    double at;
    enum what what;
    uint32_t device;
};
struct device {
    struct ks_lease held[HELD];
    uint32_t n_held, at; /* at: what of the first lease is in work, see step_s */
    double begun;        /* that */
    bool is_lost, is_waiting;
};
struct cluster {
    const struct work *w;
    struct ks_sched *s;
    struct device *device;
    struct event *heap;
    uint32_t n_events, cap_events;
    uint32_t *waiting, n_waiting; /* asked in vain */
    double now, asked_at;
    struct result r;
    double next_s;
    uint64_t n_next;
};

static void must(int rc, const struct ks_err *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench_sched: %s\n", err->text);
    exit(2);
}

/* --- events */

static void push(struct cluster *c, double at, enum what what, uint32_t device)
{
    if (c->n_events == c->cap_events) {
        c->cap_events = c->cap_events ? 2 * c->cap_events : 1024;
        c->heap = realloc(c->heap, c->cap_events * sizeof(*c->heap));
        if (!c->heap)
            exit(2);
    }
    struct event e = { at, what, device };
    uint32_t i = c->n_events++;
    for (; i > 0 && c->heap[(i - 1) / 2].at > at; i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = e;
}

static struct event pop(struct cluster *c)
{
    struct event first = c->heap[0], last = c->heap[--c->n_events];
    uint32_t i = 0;
    for (uint32_t k = 1; k < c->n_events; k = 2 * i + 1) {
        k += k + 1 < c->n_events && c->heap[k + 1].at < c->heap[k].at;
        if (c->heap[k].at >= last.at)
            break;
        c->heap[i] = c->heap[k];
        i = k;
    }
    c->heap[i] = last;
    return first;
}

/* --- a device and its first lease */

static double cell_s(const struct cluster *c, uint32_t device, uint32_t k)
{
    const struct ks_lease *l = &c->device[device].held[0];
    return work_cell_s(c->w, l->i_problem, l->i_instance[k]) * c->w->device[device].slowness;
}

static double anchor_s(const struct cluster *c, uint32_t device)
{
    return work_anchor_s(c->w, c->device[device].held[0].i_problem) * c->w->device[device].slowness;
}

/* The next thing that the device ends: the anchor it opens with (and what starting costs), a cell,
 * the anchor it closes with. */
static double step_s(const struct cluster *c, uint32_t device)
{
    const struct device *d = &c->device[device];
    const struct ks_lease *l = &d->held[0];
    if (d->at == 0)
        return c->w->overhead_s + (l->opens ? anchor_s(c, device) : 0);
    if (d->at <= l->n)
        return cell_s(c, device, d->at - 1);
    return l->closes ? anchor_s(c, device) : 0;
}

static void begin(struct cluster *c, uint32_t device)
{
    struct device *d = &c->device[device];
    if (!d->n_held)
        return;
    d->begun = c->now;
    push(c, c->now + step_s(c, device), STEP_ENDS, device);
}

static void end_lease(struct cluster *c, uint32_t device)
{
    struct device *d = &c->device[device];
    const struct ks_lease *l = &d->held[0];
    c->r.anchors_s += (l->opens + l->closes) * anchor_s(c, device);
    ks_sched_lease_end(c->s, l->id);
    memmove(d->held, d->held + 1, (HELD - 1) * sizeof(*l));
    d->n_held--;
    d->at = 0;
    c->r.makespan_s = c->now;
    push(c, c->now + c->w->latency_s, ASKS, device);
}

static void end_step(struct cluster *c, uint32_t device)
{
    struct device *d = &c->device[device];
    const struct ks_lease *l = &d->held[0];
    if (d->at > 0 && d->at <= l->n) {
        double s = cell_s(c, device, d->at - 1);
        c->r.cells_s += s;
        ks_sched_done(c->s, l->i_problem, l->i_instance[d->at - 1], device, s);
    }
    if (d->at > l->n)
        end_lease(c, device);
    else
        d->at++;
    begin(c, device);
}

/* Cells that were finished are durable, the one in work is lost. */
static void lose(struct cluster *c, uint32_t device)
{
    struct device *d = &c->device[device];
    if (d->n_held && d->at > 0 && d->at <= d->held[0].n)
        c->r.lost_s += (c->now - d->begun) / c->w->device[device].slowness;
    d->is_lost = true;
    push(c, c->now + c->w->detection_s, LOSS_NOTICED, device);
}

static void notice(struct cluster *c, uint32_t device)
{
    uint32_t condemned[KS_LEASE_CELLS][2];
    if (ks_sched_device_lost(c->s, device, true, condemned, KS_LEASE_CELLS)) {
        fprintf(stderr, "bench_sched: a cell was given up\n");
        exit(2);
    }
}

/* --- asking for leases */

static int next(struct cluster *c, uint32_t device, struct ks_lease *out)
{
    struct ks_err err = { 0 };
    uint64_t from = c->n_next % 16 == 0 ? ks_now_ns() : 0; /* the clock itself takes time */
    int rc = ks_sched_next(c->s, device, c->now, INFINITY, out, &err);
    if (from)
        c->next_s += 16e-9 * (double)(ks_now_ns() - from);
    c->n_next++;
    must(rc, &err);
    return rc;
}

static void ask(struct cluster *c, uint32_t device)
{
    struct device *d = &c->device[device];
    while (!d->is_lost && d->n_held < HELD) {
        if (next(c, device, &d->held[d->n_held]) != KS_SCHED_LEASE) {
            if (!d->is_waiting)
                c->waiting[c->n_waiting++] = device;
            d->is_waiting = true;
            return;
        }
        c->r.n_leases++;
        if (++d->n_held == 1)
            begin(c, device);
    }
}

/* Whoever asked in vain asks again, as the coordinator does whenever something has happened. */
static void ask_again(struct cluster *c)
{
    uint32_t n = c->n_waiting;
    if (c->now < c->asked_at + c->w->latency_s)
        return;
    c->asked_at = c->now;
    c->n_waiting = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t device = c->waiting[k];
        c->device[device].is_waiting = false;
        ask(c, device);
    }
}

static void happen(struct cluster *c, const struct event *e)
{
    const struct device *d = &c->device[e->device];
    c->now = e->at;
    if (e->what == LOSS_NOTICED)
        notice(c, e->device);
    else if (e->what == LOST)
        lose(c, e->device);
    else if (e->what == STEP_ENDS && !d->is_lost)
        end_step(c, e->device);
    else if (e->what == ASKS)
        ask(c, e->device);
    (void)ks_sched_reissue(c->s, c->now);
    ask_again(c);
}

static enum ks_cell_state all_run(void *ctx, uint32_t i_problem, uint32_t i_instance)
{
    (void)ctx;
    (void)i_problem;
    (void)i_instance;
    return KS_CELL_RUN;
}

static void open_cluster(struct cluster *c, const struct work *w)
{
    struct ks_err err = { 0 };
    uint64_t *seed = calloc(w->n_problems, sizeof(*seed));
    c->w = w;
    c->device = calloc(w->n_devices, sizeof(*c->device));
    c->waiting = calloc(w->n_devices, sizeof(*c->waiting));
    if (!seed || !c->device || !c->waiting)
        exit(2);
    for (uint32_t i = 0; i < w->n_problems; i++)
        seed[i] = ks_mix64(i);
    double cell_worst = ks_cost_cell_s(&w->measure, w->timeout_s);
    struct ks_sched_config config = { .n_problems = w->n_problems,
                                      .n_instances = w->n_instances,
                                      .cost_s = w->prior_s,
                                      .seed = seed,
                                      .batch = w->batch,
                                      .overhead_s = w->overhead_s,
                                      .patience_s = 2 * cell_worst,
                                      .cell_state = all_run };
    must(ks_sched_create(&config, &c->s, &err), &err);
    free(seed);
    for (uint32_t i = 0; i < w->n_devices; i++) {
        must(ks_sched_device_add(c->s, i, &err), &err);
        if (isfinite(w->device[i].lost_at))
            push(c, w->device[i].lost_at, LOST, i);
    }
}

static bool is_over(const struct cluster *c)
{
    struct ks_sched_counts n;
    ks_sched_counts(c->s, &n);
    return n.n_complete == c->w->n_problems && n.n_leases_open == 0;
}

struct result run_sched(const struct work *w)
{
    struct cluster c = { .asked_at = -1 };
    uint32_t n_idle = 0;
    struct ks_sched_counts n;
    open_cluster(&c, w);
    for (uint32_t i = 0; i < w->n_devices; i++)
        ask(&c, i);
    while (c.n_events && !is_over(&c)) {
        struct event e = pop(&c);
        happen(&c, &e);
        if (!c.n_events && ++n_idle < MOST_IDLE) /* nobody works, so they ask a second later */
            push(&c, c.now + 1, ASKS, 0);
    }
    ks_sched_counts(c.s, &n);
    if (n.n_complete < w->n_problems) {
        fprintf(stderr, "bench_sched: %u problems were never done\n", w->n_problems - n.n_complete);
        exit(2);
    }
    c.r.n_split = n.n_split;
    c.r.next_ns = c.n_next ? 1e9 * c.next_s / (double)c.n_next : 0;
    ks_sched_destroy(c.s);
    free(c.device);
    free(c.waiting);
    free(c.heap);
    return c.r;
}
