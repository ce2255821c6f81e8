/* SPDX-License-Identifier: MIT */
/* sched_others.c - what the scheduler of bench_sched stands beside: static shards and a plain
 * queue, with the same anchors around every piece of a problem that one device measures. */
#include "sched_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range { /* of cells, problem by problem */
    uint64_t first, end;
};

static void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p) {
        fprintf(stderr, "bench_sched: no memory\n");
        exit(2);
    }
    return p;
}

/* One device works through cells of one problem from `now` on, and returns when it is done or lost;
 * *done_out cells are finished then. */
static double piece(const struct work *w, uint32_t device, double now, struct range r,
                    uint64_t *done_out, struct result *sum)
{
    const struct device_plan *d = &w->device[device];
    uint32_t ip = (uint32_t)(r.first / w->n_instances);
    double anchor_s = work_anchor_s(w, ip) * d->slowness;
    double at = now + anchor_s;
    *done_out = 0;
    for (uint64_t i = r.first; i < r.end && at < d->lost_at; i++) {
        double s = work_cell_s(w, ip, (uint32_t)(i % w->n_instances)) * d->slowness;
        at += s + ((i - r.first) % w->batch == 0 ? w->overhead_s : 0);
        if (at > d->lost_at) {
            sum->lost_s += (s - (at - d->lost_at)) / d->slowness;
            return d->lost_at;
        }
        sum->cells_s += s;
        ++*done_out;
    }
    sum->anchors_s += 2 * anchor_s;
    return fmin(at + anchor_s, d->lost_at);
}

static struct range first_problem_of(const struct work *w, struct range r)
{
    uint64_t end = (r.first / w->n_instances + 1) * w->n_instances;
    return (struct range){ r.first, end < r.end ? end : r.end };
}

/* Returns when it ends; *rest_out is what a loss leaves. */
static double shard(const struct work *w, uint32_t device, double now, struct range r,
                    struct range *rest_out, struct result *sum)
{
    uint64_t n = 0;
    while (r.first < r.end && now < w->device[device].lost_at) {
        struct range part = first_problem_of(w, r);
        now = piece(w, device, now, part, &n, sum);
        sum->n_leases++;
        r.first += n;
        if (n < part.end - part.first)
            break;
    }
    *rest_out = r;
    return now;
}

struct result run_static(const struct work *w)
{
    struct result sum = { 0 };
    uint64_t n_cells = (uint64_t)w->n_problems * w->n_instances;
    struct range *rest = zeroed(w->n_devices, sizeof(*rest));
    double end = 0, end2 = 0;
    for (uint32_t i = 0; i < w->n_devices; i++) {
        struct range r = { n_cells * i / w->n_devices, n_cells * (i + 1) / w->n_devices };
        end = fmax(end, shard(w, i, 0, r, &rest[i], &sum));
    }
    double *busy = zeroed(w->n_devices, sizeof(*busy));
    for (uint32_t k = 0; k < w->n_devices; k++) {
        uint64_t left = rest[k].end - rest[k].first, n = left < w->n_devices ? left : w->n_devices;
        for (uint64_t i = 0, to = k + 1; i < n; to++) {
            uint32_t device = (uint32_t)(to % w->n_devices);
            if (isfinite(w->device[device].lost_at))
                continue;
            struct range none,
                r = { rest[k].first + left * i / n, rest[k].first + left * (i + 1) / n };
            double begun = end + busy[device];
            busy[device] += shard(w, device, begun, r, &none, &sum) - begun;
            end2 = fmax(end2, busy[device]);
            i++;
        }
    }
    sum.makespan_s = end + end2;
    sum.n_split = w->n_devices < w->n_problems ? w->n_devices - 1 : w->n_problems;
    free(rest);
    free(busy);
    return sum;
}

struct queue_state {
    const struct work *w;
    double *free_at;         /* [n_devices] INFINITY: lost */
    uint32_t *heap;          /* devices, first free first */
    uint64_t *owner;         /* [n_problems] who measured it first, + 1 */
    struct range back[4096]; /* left by losses, from back_at on */
    double back_at[4096];
    uint32_t n_back;
};

static void sift(struct queue_state *q)
{
    uint32_t i = 0, device = q->heap[0], n = q->w->n_devices;
    for (uint32_t k = 1; k < n; k = 2 * i + 1) {
        k += k + 1 < n && q->free_at[q->heap[k + 1]] < q->free_at[q->heap[k]];
        if (q->free_at[q->heap[k]] >= q->free_at[device])
            break;
        q->heap[i] = q->heap[k];
        i = k;
    }
    q->heap[i] = device;
}

static void give(struct queue_state *q, struct range r, double at, struct result *sum)
{
    uint32_t device = q->heap[0], ip = (uint32_t)(r.first / q->w->n_instances);
    uint64_t n = 0;
    double now = piece(q->w, device, fmax(at, q->free_at[device]) + q->w->latency_s, r, &n, sum);
    sum->n_leases++;
    if (n)
        sum->makespan_s = fmax(sum->makespan_s, now);
    sum->n_split += q->owner[ip] && q->owner[ip] != device + 1u && !(q->owner[ip] >> 32);
    q->owner[ip] = !q->owner[ip]                 ? device + 1u
                   : q->owner[ip] == device + 1u ? q->owner[ip]
                                                 : 1ull << 32;
    bool is_lost = now >= q->w->device[device].lost_at;
    if (n < r.end - r.first && q->n_back < 4096) {
        q->back[q->n_back] = (struct range){ r.first + n, r.end };
        q->back_at[q->n_back++] = now + q->w->detection_s;
    }
    q->free_at[device] = is_lost ? INFINITY : now;
    sift(q);
}

struct result run_fifo(const struct work *w)
{
    struct result sum = { 0 };
    struct queue_state *q = zeroed(1, sizeof(*q));
    q->w = w;
    q->free_at = zeroed(w->n_devices, sizeof(*q->free_at));
    q->heap = zeroed(w->n_devices, sizeof(*q->heap));
    q->owner = zeroed(w->n_problems, sizeof(*q->owner));
    for (uint32_t i = 0; i < w->n_devices; i++)
        q->heap[i] = i;
    struct range r = { 0, (uint64_t)w->n_problems * w->n_instances };
    while (r.first < r.end) {
        struct range part = first_problem_of(w, r);
        if (part.end - part.first > w->batch)
            part.end = part.first + w->batch;
        give(q, part, 0, &sum);
        r.first = part.end;
    }
    for (uint32_t k = 0; k < q->n_back; k++)
        give(q, q->back[k], q->back_at[k], &sum);
    free(q->free_at);
    free(q->heap);
    free(q->owner);
    free(q);
    return sum;
}
