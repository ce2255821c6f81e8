/* SPDX-License-Identifier: MIT */
/* remains.h - threads and timers that a kernel leaves behind: they would run, or interrupt, while
 * its neighbours are timed. */
#ifndef KS_WORKER_REMAINS_H
#define KS_WORKER_REMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the process had before the first kernel. Zeroed: nothing is watched. */
struct ks_remains {
    bool is_watched;
    uint32_t n_threads;
    int32_t timer_id; /* of a POSIX timer made then; -1: the kernel has none */
};
struct ks_left {
    uint32_t n_threads, n_timers; /* more than before; timers of every kind */
};

/* Only for processes that start no threads of their own later: a GPU's runtime may start some at
 * any time. */
void ks_remains_note(struct ks_remains *out);
/* ks_remains_find() - what has come since ks_remains_note or the last call. Interval timers (real,
 * virtual, profiling) and POSIX timers are disarmed. Threads get 0.2 s to end, and 5 ms where no
 * more than n_own of them remain.
 * @n_own [in] threads that the kernel may keep
 * Costs 4 us when there is nothing. */
void ks_remains_find(struct ks_remains *r, uint32_t n_own, struct ks_left *out);
bool ks_left_anything(const struct ks_left *l);
/* "left 2 threads running and a timer armed" */
void ks_left_text(const struct ks_left *l, char *out, size_t cap);

#endif
