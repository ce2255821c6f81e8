/* SPDX-License-Identifier: MIT */
/* pulse.h - heartbeats while the loop of this process is held up, by a disk that does not answer or
 * by the reading of an old journal. Without it a stalled file system of a minute would look to all
 * others like the death of this rank. A process that is stopped, or whose host is, has no pulse. */
#ifndef KS_MPI_PULSE_H
#define KS_MPI_PULSE_H

#include "base/err.h"
#include "mpi/net.h"

struct ks_pulse;

/* A thread that sends what ks_net_beat sends, until ks_pulse_stop, when the loop, which beats every
 * beat_ns, does not. *p_out is NULL where MPI allows
 * no second thread, or there is nobody to send to. Borrows net. */
int ks_pulse_start(struct ks_net *net, uint64_t beat_ns, struct ks_pulse **p_out,
                   struct ks_err *err);
void ks_pulse_stop(struct ks_pulse *p); /* before ks_net_close; NULL is fine */

#endif
