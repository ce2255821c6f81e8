/* SPDX-License-Identifier: MIT */
/* farewell.c - the last messages between rank 0 and the others, before MPI ends */
#include "mpi/farewell.h"

#include "base/clock.h"
#include "mpi/msg.h"

#include <stdlib.h>

#define NAP_NS   1000000ull
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

bool ks_farewell_send(struct ks_net *net, uint64_t limit_ns)
{
    const uint64_t until = ks_now_ns() + limit_ns;
    uint32_t n_left = ks_net_size(net) - 1;
    bool *has_left = calloc(ks_net_size(net), sizeof(*has_left));

    for (uint32_t i = 1; i < ks_net_size(net); i++) {
        send_numbers(net, i, KS_F_MSG_DRAIN, 0, 1); /* stop */
        send_numbers(net, i, KS_F_MSG_DRAIN, 1, 0); /* leave, in order */
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
    return n_left == 0;
}

bool ks_farewell_await(struct ks_net *net, uint64_t limit_ns)
{
    const uint64_t until = ks_now_ns() + limit_ns;
    bool is_told = false;

    while (!is_told && ks_now_ns() < until) {
        struct ks_frame f;
        uint32_t from;

        (void)ks_net_progress(net);
        while (!is_told && ks_net_next(net, &from, &f) == 1)
            is_told = number_of(&f, KS_F_MSG_DRAIN) == 1;
        if (!is_told)
            ks_sleep_ns(NAP_NS);
    }
    if (is_told) {
        send_numbers(net, 0, KS_F_MSG_BYE, 0, 0);
        flush(net, FLUSH_NS);
    }
    return is_told;
}

struct ks_farewell {
    struct ks_net *net;
    struct ks_pulse *pulse;
};

static void let_go(struct ks_net *net, struct ks_pulse *pulse)
{
    for (uint32_t i = 1; i < ks_net_size(net); i++)
        send_numbers(net, i, KS_F_MSG_DRAIN, 2, 0);
    flush(net, FLUSH_NS);
    ks_pulse_stop(pulse);
    (void)ks_net_close(net, false, 0);
}

struct ks_farewell *ks_farewell_hold(struct ks_net *net, struct ks_pulse *pulse)
{
    struct ks_farewell *f = malloc(sizeof(*f));

    if (f)
        *f = (struct ks_farewell){ net, pulse };
    else
        let_go(net, pulse);
    return f;
}

void ks_farewell_end(struct ks_farewell *f)
{
    if (!f)
        return;
    let_go(f->net, f->pulse);
    free(f);
}
