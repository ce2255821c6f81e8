/* SPDX-License-Identifier: MIT */
/* heap.c - binary heaps of open problems that know where each of them stands. */
#include "sched/sched_impl.h"

static bool precedes(const struct active *a, const struct active *b)
{
    return a->key > b->key || (a->key == b->key && a->i_problem < b->i_problem);
}

static void set(struct queue *q, uint32_t i, struct active *a)
{
    q->v[i] = a;
    a->i_queue = i;
}

static void sift_up(struct queue *q, uint32_t i)
{
    struct active *a = q->v[i];
    for (; i > 0 && precedes(a, q->v[(i - 1) / 2]); i = (i - 1) / 2)
        set(q, i, q->v[(i - 1) / 2]);
    set(q, i, a);
}

static void sift_down(struct queue *q, uint32_t i)
{
    struct active *a = q->v[i];
    for (uint32_t child = 2 * i + 1; child < q->n; child = 2 * i + 1) {
        child += child + 1 < q->n && precedes(q->v[child + 1], q->v[child]);
        if (!precedes(q->v[child], a))
            break;
        set(q, i, q->v[child]);
        i = child;
    }
    set(q, i, a);
}

void ks_queue_put(struct queue *q, struct active *a)
{
    q->v[q->n] = a;
    sift_up(q, q->n++);
}

void ks_queue_take(struct queue *q, struct active *a)
{
    uint32_t i = a->i_queue;
    struct active *last = q->v[--q->n];
    if (last == a)
        return;
    set(q, i, last);
    ks_queue_moved(q, last);
}

void ks_queue_moved(struct queue *q, struct active *a)
{
    sift_up(q, a->i_queue);
    sift_down(q, a->i_queue);
}
