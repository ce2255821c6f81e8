/* SPDX-License-Identifier: MIT */
/* parallel.c - independent trainings, several at a time */
#include "analysis/model/parallel.h"
#include "base/aside.h"

#include <pthread.h>
#include <stdbool.h>

enum { MOST_ABREAST = 8 }; /* each holds a copy of its rows */

struct run {
    const struct ks_parallel *p;
    pthread_mutex_t lock;        /* of all below */
    size_t next, n_done, failed; /* failed: task; SIZE_MAX: none */
    int rc;
    struct ks_err err;
};

uint32_t ks_parallel_width(size_t n_tasks, uint32_t n_threads)
{
    uint32_t width = n_threads < MOST_ABREAST ? n_threads : MOST_ABREAST;

    width = n_tasks < width ? (uint32_t)n_tasks : width;
    return width ? width : 1;
}

/* The next task; false: none is left, or one has failed. */
static bool take(struct run *r, size_t *i_out)
{
    bool has_one;

    pthread_mutex_lock(&r->lock);
    has_one = r->rc == 0 && r->next < r->p->n_tasks;
    *i_out = r->next;
    r->next += has_one;
    pthread_mutex_unlock(&r->lock);
    return has_one;
}

static void finish(struct run *r, size_t i, int rc, const struct ks_err *err)
{
    pthread_mutex_lock(&r->lock);
    if (rc < 0 && i < r->failed) {
        r->failed = i;
        r->rc = rc;
        r->err = *err;
    }
    r->n_done += rc >= 0;
    if (rc >= 0 && r->p->done)
        r->p->done(r->p->ctx, r->n_done);
    pthread_mutex_unlock(&r->lock);
}

static void work(void *arg)
{
    struct run *r = arg;
    struct ks_err err;
    size_t i;

    while (take(r, &i))
        finish(r, i, r->p->task(r->p->ctx, i, &err), &err);
}

int ks_parallel_run(const struct ks_parallel *p, struct ks_err *err)
{
    struct run r = { .p = p, .failed = SIZE_MAX };
    struct ks_aside *others[MOST_ABREAST] = { NULL };
    uint32_t n_others = ks_parallel_width(p->n_tasks, p->n_threads) - 1;
    int rc = 0;

    pthread_mutex_init(&r.lock, NULL);
    for (uint32_t i = 0; rc == 0 && i < n_others; i++)
        rc = ks_aside_create(&others[i], err);
    for (uint32_t i = 0; rc == 0 && i < n_others; i++)
        ks_aside_run(others[i], work, &r);
    if (rc == 0)
        work(&r);
    for (uint32_t i = 0; i < n_others; i++)
        ks_aside_destroy(others[i]);
    pthread_mutex_destroy(&r.lock);
    if (r.rc < 0 && err)
        *err = r.err;
    return rc < 0 ? rc : r.rc;
}
