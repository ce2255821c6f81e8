/* SPDX-License-Identifier: MIT */
/* bell.h - how a rank that runs out of work wakes rank 0 on the same host. MPI has no descriptor to
 * wait on, and rank 0 polls it rarely beside a timing worker (pace.h). The bell is SIGURG, which
 * is ignored by default, so that it harms no other process: in another PID namespace the number of
 * rank 0 may be somebody else's. It carries nothing: what it is about is in MPI already. */
#ifndef KS_MPI_BELL_H
#define KS_MPI_BELL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Blocks the signal: before other threads start. *fd_out is readable when the bell has rung; the
 * caller closes it. */
int ks_bell_open(int *fd_out, struct ks_err *err);
void ks_bell_clear(int fd); /* -1 is fine */
void ks_bell_ring(pid_t pid);

/* How often it may be heard while quiet: KS_BELL_BURST times at once, over time once per interval.
 * *free_ns is the state, 0 at first; now_ns: CLOCK_MONOTONIC. */
#define KS_BELL_BURST 4u
bool ks_bell_may_be_heard(uint64_t free_ns, uint64_t now_ns);
void ks_bell_was_heard(uint64_t *free_ns, uint64_t now_ns, uint64_t interval_ns);

#endif
