/* SPDX-License-Identifier: MIT */
/* agent_acks.c - records that are under way to the disk: how many, since when, how long it took. */
#include "base/clock.h"
#include "mpi/agent_impl.h"

#define MARK_NS 1000000u /* records emitted within this time share a mark */

void ks_acks_note(struct acks *a)
{
    uint64_t now = ks_now_ns();
    struct ack_mark *last = &a->marks[(a->first + a->n_marks - 1) % ACK_MARKS];
    a->n_emitted++;
    if (a->n_marks && (now - last->ns < MARK_NS || a->n_marks == ACK_MARKS)) {
        last->n = a->n_emitted; /* its time stays that of the oldest */
        return;
    }
    a->marks[(a->first + a->n_marks++) % ACK_MARKS] = (struct ack_mark){ a->n_emitted, now };
}

void ks_acks_take(struct acks *a, uint64_t n_durable)
{
    uint64_t now = ks_now_ns();
    if (n_durable <= a->n_acked || n_durable > a->n_emitted)
        return;
    while (a->n_marks && a->marks[a->first].n <= n_durable) {
        const struct ack_mark *m = &a->marks[a->first];
        uint64_t ms = (now - m->ns) / 1000000u;
        a->n_within_ms[ms < ACK_MS ? ms : ACK_MS] += m->n - a->n_counted;
        a->n_counted = m->n;
        a->first = (a->first + 1) % ACK_MARKS;
        a->n_marks--;
    }
    a->n_acked = n_durable;
}

bool ks_acks_may_go_on(const struct acks *a)
{
    uint64_t n = a->n_emitted - a->n_acked;
    if (n < KS_AGENT_UNACKED || !a->n_marks)
        return true;
    return n < KS_AGENT_UNACKED_MOST && ks_now_ns() - a->marks[a->first].ns < KS_AGENT_UNACKED_NS;
}

uint64_t ks_acks_p99_us(const struct acks *a)
{
    uint64_t n = 0;
    uint32_t ms = 0;
    if (!a->n_counted)
        return 0;
    for (; ms < ACK_MS && (n + a->n_within_ms[ms]) * 100 < a->n_counted * 99; ms++)
        n += a->n_within_ms[ms];
    return (ms + 1) * 1000ull;
}
