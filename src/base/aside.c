/* SPDX-License-Identifier: MIT */
/* aside.c - a thread that runs one job at a time beside its caller, who runs it if there is none */
#include "base/aside.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct ks_aside {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*job)(void *arg); /* NULL: nothing to do */
    void *arg;
    bool has_thread, is_ending;
};

static void *serve(void *arg)
{
    struct ks_aside *a = arg;

    pthread_mutex_lock(&a->lock);
    for (;;) {
        while (!a->job && !a->is_ending)
            pthread_cond_wait(&a->changed, &a->lock);
        if (!a->job)
            break;
        pthread_mutex_unlock(&a->lock);
        a->job(a->arg);
        pthread_mutex_lock(&a->lock);
        a->job = NULL;
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

int ks_aside_create(struct ks_aside **out, struct ks_err *err)
{
    struct ks_aside *a = calloc(1, sizeof(*a));
    sigset_t all, was;

    if (!a)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    a->has_thread = pthread_create(&a->thread, NULL, serve, a) == 0;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    *out = a;
    return 0;
}

void ks_aside_run(struct ks_aside *a, void (*job)(void *arg), void *arg)
{
    if (!a->has_thread) {
        job(arg);
        return;
    }
    ks_aside_wait(a);
    pthread_mutex_lock(&a->lock);
    a->job = job;
    a->arg = arg;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

void ks_aside_wait(struct ks_aside *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->job)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
}

void ks_aside_destroy(struct ks_aside *a)
{
    if (!a)
        return;
    ks_aside_wait(a);
    pthread_mutex_lock(&a->lock);
    a->is_ending = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    if (a->has_thread)
        pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
