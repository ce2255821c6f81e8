/* SPDX-License-Identifier: MIT */
/* net_storm.c - under mpirun: every rank but 0 sends to rank 0 as fast as it can, in messages of
 * exactly KS_NET_MESSAGE_MAX bytes, and is killed (SIGKILL by a timer, so at any instruction)
 * within the time that is given. Rank 0 must stay alive to count, and what arrives must be whole
 * and in order. Prints "RANK FRAMES" for each; rank 0 ends with 0 when all have sent and none hung
 * it.
 *
 * usage: net_storm MILLISECONDS SEED */
#include "base/clock.h"
#include "base/hash.h"
#include "mpi/net.h"
#include "topo/bind.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BODY     (KS_NET_MESSAGE_MAX - KS_FRAME_HEADER) /* its frame fills one message */
#define IN_A_ROW 32u
#define MAX_RANK 64u
#define QUIET_NS 1000000000ull

static void die_within(uint64_t ms, uint64_t seed)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    uint64_t ns = 1000000 + ks_mix64(seed) % (ms * 1000000);
    struct itimerspec when = { .it_value = { (time_t)(ns / 1000000000u),
                                             (long)(ns % 1000000000u) } };
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
        timer_settime(timer, 0, &when, NULL) < 0)
        abort();
}

/* The end is set once the first messages have gone. */
static int send_storm(struct ks_net *net, uint64_t ms, uint64_t seed)
{
    uint8_t body[BODY] = { 0 };
    struct ks_err err;
    for (uint64_t n = 1;; n++) {
        for (size_t i = 0; i < BODY; i += sizeof(n))
            memcpy(body + i, &n, sizeof(n));
        if (ks_net_send(net, 0, KS_F_MSG_BEAT, body, BODY, &err) < 0)
            return 1;
        while (n % IN_A_ROW == 0 && !ks_net_is_flushed(net))
            ks_net_progress(net);
        if (n == IN_A_ROW)
            die_within(ms, seed);
    }
}

static int take_storm(struct ks_net *net)
{
    uint64_t count[MAX_RANK] = { 0 }, last_ns = ks_now_ns() + 4 * QUIET_NS;
    struct ks_frame f;
    uint32_t from;
    while (ks_now_ns() < last_ns + QUIET_NS) {
        ks_net_progress(net);
        while (ks_net_next(net, &from, &f) == 1) {
            uint64_t n;
            memcpy(&n, f.body, sizeof(n));
            if (f.n != BODY || n != count[from] + 1)
                return 2;
            count[from]++;
            last_ns = ks_now_ns();
        }
    }
    for (uint32_t i = 1; i < ks_net_size(net); i++) {
        printf("%u %" PRIu64 "\n", i, count[i]);
        if (!count[i])
            return 3;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct ks_bind_card card = { 0 };
    struct ks_net *net;
    struct ks_err err;
    if (argc != 3 || ks_net_open(20000, &card, &net, &err) < 0 || ks_net_size(net) > MAX_RANK)
        return 4;
    ks_net_agree(net, 0, &err);
    uint64_t seed = strtoull(argv[2], NULL, 10);
    if (ks_net_rank(net))
        return send_storm(net, strtoull(argv[1], NULL, 10), seed * MAX_RANK + ks_net_rank(net));
    int rc = take_storm(net);
    fflush(stdout);
    _exit(rc);
}
