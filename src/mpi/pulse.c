/* SPDX-License-Identifier: MIT */
/* pulse.c - a thread that sends heartbeats while the rank's loop is away */
#include "mpi/pulse.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct ks_pulse {
    struct ks_net *net;
    uint64_t away_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* by CLOCK_MONOTONIC */
    bool is_ending;
};

static void *beat(void *arg)
{
    struct ks_pulse *p = arg;
    uint64_t next = ks_now_ns();
    pthread_mutex_lock(&p->lock);
    while (!p->is_ending) {
        uint64_t now = ks_now_ns();
        if (now >= next) {
            uint64_t rest_ns = ks_net_beat(p->net, now, p->away_ns);
            next = now + (rest_ns ? rest_ns : p->away_ns);
        }
        struct timespec until = { (time_t)(next / 1000000000u), (long)(next % 1000000000u) };
        pthread_cond_timedwait(&p->ended, &p->lock, &until);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int ks_pulse_start(struct ks_net *net, uint64_t away_ns, struct ks_pulse **p_out,
                   struct ks_err *err)
{
    *p_out = NULL;
    if (!ks_net_can_beat(net))
        return 0;
    struct ks_pulse *p = calloc(1, sizeof(*p));
    pthread_condattr_t monotonic;
    if (!p)
        return ks_fail(err, KS_ENOMEM, "pulse: out of memory");
    p->net = net;
    p->away_ns = away_ns;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&p->thread, NULL, beat, p) != 0) {
        free(p);
        return ks_fail(err, KS_ENOMEM, "out of memory for the heartbeat thread");
    }
    *p_out = p;
    return 0;
}

void ks_pulse_stop(struct ks_pulse *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_ending = true;
    pthread_cond_signal(&p->ended);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
