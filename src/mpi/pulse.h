/* SPDX-License-Identifier: MIT */
/* pulse.h - heartbeats while the loop of this process is held up, by a disk that does not answer or
 * by the reading of an old journal. Without it a stalled file system of a minute would look to all
 * others like the death of this rank. A process that is stopped, or whose host is, has no pulse. */
#ifndef KS_MPI_PULSE_H
#define KS_MPI_PULSE_H

#include "base/err.h"
#include "mpi/net.h"

struct ks_pulse;

/* A thread that calls ks_net_beat when the loop has not called ks_net_progress for away_ns, and
 * every away_ns from then on, until ks_pulse_stop. It sleeps while the loop turns: it wakes about
 * once per away_ns. *p_out is NULL where MPI allows no second thread, or there is nobody to send
 * to. Borrows net. */
int ks_pulse_start(struct ks_net *net, uint64_t away_ns, struct ks_pulse **p_out,
                   struct ks_err *err);
void ks_pulse_stop(struct ks_pulse *p); /* before ks_net_close; NULL is fine */

#endif
