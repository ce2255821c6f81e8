/* SPDX-License-Identifier: MIT */
/* appender.c - collects rows into chunks, which a thread writes if there is one */
#include "store/appender.h"
#include "base/hash.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX 4u /* chunks; bounds memory */

struct job {
    struct ks_appender *to;
    uint8_t *rows; /* owned */
    size_t n;
};

struct ks_writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job queue[QUEUE_MAX];
    unsigned first, n;
    bool is_ending;
    int rc; /* of the first failure */
    struct ks_err err;
};

static int write_rows(struct ks_appender *a, const uint8_t *rows, size_t n, struct ks_err *err)
{
    int rc;

    a->crc = ks_crc32c(a->crc, rows, n * a->row_bytes);
    rc = ks_h5_append(a->dataset, a->type, rows, n, &a->n_rows, err);
    return rc < 0 ? ks_err_context(err, rc, "'%s'", a->path) : 0;
}

/* ---- the thread ---- */

static bool take(struct ks_writer *w, struct job *job_out)
{
    pthread_mutex_lock(&w->lock);
    while (w->n == 0 && !w->is_ending)
        pthread_cond_wait(&w->changed, &w->lock);
    if (w->n == 0) {
        pthread_mutex_unlock(&w->lock);
        return false;
    }
    *job_out = w->queue[w->first];
    w->first = (w->first + 1) % QUEUE_MAX;
    w->n--;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return true;
}

static void *write_jobs(void *arg)
{
    struct ks_writer *w = arg;
    struct ks_err err;
    struct job job;
    int rc = 0;

    ks_h5_start(); /* what becomes of errors is a setting of each thread */
    while (take(w, &job)) {
        if (rc == 0)
            rc = write_rows(job.to, job.rows, job.n, &err);
        free(job.rows);
        if (rc < 0) {
            pthread_mutex_lock(&w->lock);
            w->rc = rc;
            w->err = err;
            pthread_mutex_unlock(&w->lock);
        }
    }
    return NULL;
}

int ks_writer_start(struct ks_writer **writer_out, struct ks_err *err)
{
    struct ks_writer *w = calloc(1, sizeof(*w));
    sigset_t all, before;
    int rc;

    if (!w)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&w->thread, NULL, write_jobs, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->lock);
        free(w);
        w = NULL;
    }
    *writer_out = w;
    return 0;
}

/* Takes the job's rows whether or not it succeeds. */
static int give(struct ks_writer *w, struct job job, struct ks_err *err)
{
    int rc;

    pthread_mutex_lock(&w->lock);
    while (w->n == QUEUE_MAX && w->rc == 0)
        pthread_cond_wait(&w->changed, &w->lock);
    rc = w->rc;
    if (rc == 0) {
        w->queue[(w->first + w->n) % QUEUE_MAX] = job;
        w->n++;
        pthread_cond_signal(&w->changed);
    } else if (err) {
        *err = w->err;
    }
    pthread_mutex_unlock(&w->lock);
    if (rc < 0)
        free(job.rows);
    return rc;
}

int ks_writer_stop(struct ks_writer *w, struct ks_err *err)
{
    int rc;

    if (!w)
        return 0;
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    rc = w->rc;
    if (rc < 0 && err)
        *err = w->err;
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return rc;
}

/* ---- rows ---- */

int ks_appender_create(struct ks_appender *a, hid_t file, const char *path, hid_t type,
                       size_t chunk_rows, struct ks_err *err)
{
    *a = (struct ks_appender){ .dataset = KS_H5_NONE,
                               .type = type,
                               .path = path,
                               .row_bytes = H5Tget_size(type),
                               .chunk_rows = chunk_rows };
    a->held = malloc(a->chunk_rows * a->row_bytes);
    if (!a->held)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    return ks_h5_dataset(file, path, type, chunk_rows, &a->dataset, err);
}

uint8_t *ks_appender_slot(const struct ks_appender *a)
{
    return a->held + a->n_held * a->row_bytes;
}

static int hand_on(struct ks_appender *a, struct ks_err *err)
{
    struct job job = { a, a->held, a->n_held };
    int rc;

    a->n_held = 0;
    if (!a->writer)
        return write_rows(a, job.rows, job.n, err);
    a->held = malloc(a->chunk_rows * a->row_bytes);
    rc = give(a->writer, job, err);
    if (rc == 0 && !a->held)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    return rc;
}

int ks_appender_commit(struct ks_appender *a, struct ks_err *err)
{
    return ++a->n_held == a->chunk_rows ? hand_on(a, err) : 0;
}

int ks_appender_put(struct ks_appender *a, const void *rows, size_t n, struct ks_err *err)
{
    const uint8_t *from = rows;
    int rc = 0;

    while (rc == 0 && n > 0) {
        size_t room = a->chunk_rows - a->n_held;
        size_t k = n < room ? n : room;

        memcpy(ks_appender_slot(a), from, k * a->row_bytes);
        a->n_held += k;
        from += k * a->row_bytes;
        n -= k;
        if (a->n_held == a->chunk_rows)
            rc = hand_on(a, err);
    }
    return rc;
}

int ks_appender_finish(struct ks_appender *a, struct ks_err *err)
{
    int rc = write_rows(a, a->held, a->n_held, err);

    a->n_held = 0;
    if (rc == 0)
        rc = ks_h5_put_u64(a->dataset, "n_rows", a->n_rows, err);
    if (rc == 0)
        rc = ks_h5_put_u64(a->dataset, "crc32c", a->crc, err);
    return rc;
}

void ks_appender_drop(struct ks_appender *a)
{
    if (!a->path)
        return;
    ks_h5_close(a->dataset);
    ks_h5_close(a->type);
    free(a->held);
    *a = (struct ks_appender){ 0 };
}
