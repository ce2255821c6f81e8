/* SPDX-License-Identifier: MIT */
/* farewell.c - the last messages between rank 0 and the others, before MPI ends */
#include "mpi/farewell.h"

#include "base/clock.h"
#include "mpi/msg.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define NAP_NS   1000000ull
#define TURN_NS  100000000ull /* of the thread that holds the others */
#define FLUSH_NS 1000000000ull

static void send_numbers(struct ks_net *net, uint32_t to, uint16_t type, uint64_t a, uint64_t b)
{
    struct ks_buf body;

    ks_buf_init(&body);
    ks_msg_numbers_put(a, b, &body);
    if (ks_buf_ok(&body))
        (void)ks_net_send(net, to, type, body.data, body.len, NULL);
    ks_buf_release(&body);
}

/* The first number of a frame of that type; UINT64_MAX when it is another. */
static uint64_t number_of(const struct ks_frame *f, uint16_t type)
{
    uint64_t a = UINT64_MAX, b;

    if (f->type != type || ks_msg_numbers_get(f->body, f->n, &a, &b, NULL) < 0)
        return UINT64_MAX;
    return a;
}

static void flush(struct ks_net *net, uint64_t limit_ns)
{
    const uint64_t until = ks_now_ns() + limit_ns;

    while (!ks_net_is_flushed(net) && ks_now_ns() < until) {
        (void)ks_net_progress(net);
        ks_sleep_ns(NAP_NS);
    }
}

/* Marks those who said goodbye since the last call. Returns how many. A rank whose device is broken
 * says it with 1, and stays. */
static uint32_t count_goodbyes(struct ks_net *net, bool *has_left)
{
    struct ks_frame f;
    uint32_t from, n = 0;

    while (ks_net_next(net, &from, &f) == 1) {
        if (from == 0 || has_left[from] || number_of(&f, KS_F_MSG_BYE) != 0)
            continue;
        has_left[from] = true;
        n++;
    }
    return n;
}

bool ks_farewell_send(struct ks_net *net, bool is_anyone_lost, uint64_t limit_ns)
{
    const uint64_t until = ks_now_ns() + limit_ns;
    uint32_t n_left = ks_net_size(net) - 1;
    bool *has_left = calloc(ks_net_size(net), sizeof(*has_left));

    for (uint32_t i = 1; i < ks_net_size(net); i++) {
        send_numbers(net, i, KS_F_MSG_DRAIN, 0, 1);              /* stop */
        send_numbers(net, i, KS_F_MSG_DRAIN, 2, is_anyone_lost); /* leave */
    }
    while (has_left && n_left && ks_now_ns() < until) {
        (void)ks_net_progress(net);
        n_left -= count_goodbyes(net, has_left);
        if (n_left)
            ks_sleep_ns(NAP_NS);
    }
    if (n_left)
        flush(net, FLUSH_NS);
    free(has_left);
    return n_left == 0 && !is_anyone_lost;
}

bool ks_farewell_await(struct ks_net *net, uint64_t limit_ns)
{
    const uint64_t until = ks_now_ns() + limit_ns;
    bool is_told = false;
    uint64_t a, is_unclean = 0;

    while (!is_told && ks_now_ns() < until) {
        struct ks_frame f;
        uint32_t from;

        (void)ks_net_progress(net);
        while (!is_told && ks_net_next(net, &from, &f) == 1)
            is_told = number_of(&f, KS_F_MSG_DRAIN) == 2 &&
                      ks_msg_numbers_get(f.body, f.n, &a, &is_unclean, NULL) == 0;
        if (!is_told)
            ks_sleep_ns(NAP_NS);
    }
    if (is_told) {
        send_numbers(net, 0, KS_F_MSG_BYE, 0, 0);
        flush(net, FLUSH_NS);
    }
    return is_told && !is_unclean;
}

struct ks_farewell {
    struct ks_net *net;
    uint64_t lost_after_ns, beat_due_ns;
    uint64_t *heard_ns; /* [size] last frame of each rank */
    bool is_clean;      /* nobody was lost; once net is NULL: MPI is over */
    bool has_thread, is_ending;
    pthread_t thread;
    pthread_mutex_t lock; /* around is_ending; net belongs to the thread while there is one */
    pthread_cond_t ended; /* by CLOCK_MONOTONIC */
};

/* A lost rank that is heard again is dismissed like the others: what it measures comes too late to
 * count. */
static void listen_to_all(struct ks_farewell *f, uint64_t now_ns)
{
    struct ks_frame frame;
    uint32_t from;

    (void)ks_net_progress(f->net);
    while (ks_net_next(f->net, &from, &frame) == 1) {
        f->heard_ns[from] = now_ns;
        if (from != 0 && ks_net_recall(f->net, from)) {
            send_numbers(f->net, from, KS_F_MSG_DRAIN, 0, 1);
            send_numbers(f->net, from, KS_F_MSG_DRAIN, 1, 0);
        }
    }
}

static void beat(struct ks_farewell *f, uint64_t now_ns)
{
    if (now_ns < f->beat_due_ns)
        return;
    f->beat_due_ns = now_ns + ks_msg_beat_ns(f->lost_after_ns);
    for (uint32_t i = 1; i < ks_net_size(f->net); i++)
        send_numbers(f->net, i, KS_F_MSG_BEAT, 0, 0);
    (void)ks_net_progress(f->net);
}

static void *hold(void *arg)
{
    struct ks_farewell *f = arg;

    pthread_mutex_lock(&f->lock);
    while (!f->is_ending) {
        const uint64_t now = ks_now_ns(), next = now + TURN_NS;
        const struct timespec until = { (time_t)(next / 1000000000u), (long)(next % 1000000000u) };

        listen_to_all(f, now);
        beat(f, now);
        pthread_cond_timedwait(&f->ended, &f->lock, &until);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static void let_go(struct ks_net *net, bool is_clean)
{
    for (uint32_t i = 1; i < ks_net_size(net); i++)
        send_numbers(net, i, KS_F_MSG_DRAIN, 2, !is_clean);
    flush(net, FLUSH_NS);
}

/* One of them may have died or stopped meanwhile: MPI_Finalize would wait for it. */
static bool is_anyone_silent(const struct ks_farewell *f)
{
    const uint64_t now = ks_now_ns();

    for (uint32_t i = 1; i < ks_net_size(f->net); i++)
        if (now > f->heard_ns[i] && now - f->heard_ns[i] > f->lost_after_ns)
            return true;
    return false;
}

static void close_net(struct ks_farewell *f)
{
    let_go(f->net, f->is_clean);
    f->is_clean = ks_net_close(f->net, f->is_clean, (uint32_t)(f->lost_after_ns / 1000000u));
    f->net = NULL;
}

static bool start_thread(struct ks_farewell *f)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return ks_net_can_beat(f->net) && pthread_create(&f->thread, NULL, hold, f) == 0;
}

static void stop_thread(struct ks_farewell *f)
{
    pthread_mutex_lock(&f->lock);
    f->is_ending = true;
    pthread_cond_signal(&f->ended);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    f->has_thread = false;
}

struct ks_farewell *ks_farewell_hold(struct ks_net *net, struct ks_pulse *pulse, bool is_clean,
                                     uint64_t lost_after_ns)
{
    struct ks_farewell *f = calloc(1, sizeof(*f));
    const uint64_t now = ks_now_ns();

    ks_pulse_stop(pulse);
    if (f)
        f->heard_ns = malloc(ks_net_size(net) * sizeof(*f->heard_ns));
    if (!f || !f->heard_ns) {
        free(f);
        let_go(net, false);
        (void)ks_net_close(net, false, 0);
        return NULL;
    }
    for (uint32_t i = 0; i < ks_net_size(net); i++)
        f->heard_ns[i] = now;
    f->net = net;
    f->lost_after_ns = lost_after_ns;
    f->is_clean = is_clean;
    f->has_thread = start_thread(f);
    if (!f->has_thread && is_clean)
        close_net(f); /* they would take rank 0 for dead while it writes */
    return f;
}

bool ks_farewell_end(struct ks_farewell *f)
{
    if (!f)
        return false;
    if (f->has_thread)
        stop_thread(f);
    if (f->net) {
        listen_to_all(f, ks_now_ns());
        f->is_clean = f->is_clean && !is_anyone_silent(f);
        close_net(f);
    }
    const bool is_over = f->is_clean;
    pthread_cond_destroy(&f->ended);
    pthread_mutex_destroy(&f->lock);
    free(f->heard_ns);
    free(f);
    return is_over;
}
