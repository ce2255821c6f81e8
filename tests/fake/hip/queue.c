/* SPDX-License-Identifier: MIT */
/* queue.c - one thread is the device: what is asked of it queues up, and the caller goes on. */
#include "fake.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last argument that points into device memory gets one wrong word. */
static void spoil(struct fake_device *d, const struct fake_op *op)
{
    for (int i = FAKE_MAX_ARGS - 1; i >= 0; i--) {
        uint32_t *p = NULL, word;

        if (!op->args[i] || op->function->sizes[i] != (int)sizeof p)
            continue;
        memcpy(&p, op->args[i], sizeof p);
        if (!fake_memory_owns(d, p, sizeof word))
            continue;
        memcpy(&word, p, sizeof word);
        word ^= 0x40004000u; /* the exponent's top bit, of one or two elements */
        memcpy(p, &word, sizeof word);
        return;
    }
}

static void run_kernel(struct fake_device *d, struct fake_op *op)
{
    struct fake_function *f = op->function;
    int rc = f->launch(f->entry, op->args, op->grid, op->block, f->warp, 0, &f->module->pool);

    if (rc != 0) {
        fprintf(stderr, "fake hip: %s: the emulator's status %d\n", f->name, rc);
        d->sticky = FAKE_EFAULT;
    }
    if (op->fires[FAKE_WRONG])
        spoil(d, op);
}

/* The same again directly behind it, as a canary has it, changes nothing. */
static void fill(struct fake_device *d, const struct fake_op *op)
{
    const struct fake_fill now = { op->dst, op->n, op->pattern };
    uint32_t *p = op->dst;

    if (now.p == d->filled.p && now.n == d->filled.n && now.pattern == d->filled.pattern)
        return;
    for (size_t i = 0; i < op->n; i++)
        p[i] = op->pattern;
    d->filled = now;
}

/* Memory stays in sight of the device until its queue is empty, or the host is called from it. */
static void show(struct fake_device *d, bool is_shown)
{
    if (is_shown && !d->is_shown)
        fake_memory_show(d, NULL);
    if (!is_shown && d->is_shown)
        fake_memory_hide(d, NULL);
    d->is_shown = is_shown;
}

static void work(struct fake_device *d, struct fake_op *op)
{
    if (op->what != OP_RECORD)
        show(d, op->what != OP_HOST);
    if (op->what != OP_FILL && op->what != OP_RECORD)
        d->filled = (struct fake_fill){ 0 };
    if (op->what == OP_LAUNCH && !op->fires[FAKE_SKIP])
        run_kernel(d, op);
    if (op->what == OP_FILL)
        fill(d, op);
    if (op->what == OP_COPY)
        memmove(op->dst, op->src, op->n);
    if (op->what == OP_HOST)
        op->host(op->host_arg);
    d->clock_ns += op->ns * (op->fires[FAKE_SLOW] ? 50 : 1);
}

void fake_execute(struct fake_device *d, struct fake_op *op)
{
    if (op->fires[FAKE_HANG])
        for (;;)
            pause();
    if (op->fires[FAKE_ABORT]) {
        fprintf(stderr,
                "Memory access fault by GPU node-%d (fake hip). Reason: Page not present.\n",
                d->index + 1);
        abort();
    }
    if (op->fires[FAKE_FAULT])
        d->sticky = FAKE_EFAULT;
    if (op->fires[FAKE_LOST]) {
        fake_lose(d);
        d->sticky = FAKE_EUNKNOWN;
    }
    if (d->sticky == 0)
        work(d, op);
    if (op->what == OP_RECORD)
        op->event->at_ns = d->clock_ns;
}

/* Whoever waits is woken when it is over, not at each step. */
static void retire(struct fake_device *d, struct fake_op *op)
{
    pthread_mutex_lock(&d->lock);
    d->head = op->next;
    if (!d->head) {
        d->tail = &d->head;
        show(d, false);
        d->filled = (struct fake_fill){ 0 }; /* the host may write there now */
    }
    d->n_retired++;
    if (d->n_retired >= d->wanted) {
        d->wanted = LONG_MAX;
        pthread_cond_broadcast(&d->retired);
    }
    pthread_mutex_unlock(&d->lock);
    free(op);
}

static void *device_main(void *arg)
{
    struct fake_device *d = arg;

    for (;;) {
        struct fake_op *op;

        pthread_mutex_lock(&d->lock);
        while (!d->head)
            pthread_cond_wait(&d->pushed, &d->lock);
        op = d->head;
        pthread_mutex_unlock(&d->lock);
        fake_execute(d, op);
        retire(d, op);
    }
    return NULL;
}

/* Signals are the host's, but those that a kernel brings upon itself. */
static int start(struct fake_device *d)
{
    sigset_t all, was;
    int rc;

    if (d->is_started)
        return 0;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    rc = pthread_create(&d->thread, NULL, device_main, d);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    d->is_started = rc == 0;
    return rc;
}

int fake_push(struct fake_device *d, struct fake_op *op)
{
    pthread_mutex_lock(&d->lock);
    if (start(d) != 0) {
        pthread_mutex_unlock(&d->lock);
        free(op);
        return FAKE_EUNKNOWN;
    }
    op->next = NULL;
    *d->tail = op;
    d->tail = &op->next;
    d->n_queued++;
    if (op->what == OP_RECORD) {
        op->event->dev = d;
        op->event->seq = d->n_queued;
        op->event->is_recorded = true;
        op->event->site = d->last;
    }
    pthread_cond_signal(&d->pushed);
    pthread_mutex_unlock(&d->lock);
    return KS_GPU_OK;
}

int fake_wait(struct fake_device *d, long seq)
{
    pthread_mutex_lock(&d->lock);
    while (d->n_retired < seq) {
        if (d->wanted > seq)
            d->wanted = seq;
        pthread_cond_wait(&d->retired, &d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return fake_state(d);
}

int fake_wait_all(struct fake_device *d)
{
    long seq;

    pthread_mutex_lock(&d->lock);
    seq = d->n_queued;
    pthread_mutex_unlock(&d->lock);
    return fake_wait(d, seq);
}
