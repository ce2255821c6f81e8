/* SPDX-License-Identifier: MIT */
/* farewell.h - leaving together: at the end of a run, and when rank 0 cannot begin or go on. A rank
 * that just exits leaves the others waiting for it, and its launcher complaining; srun kills them.
 */
#ifndef KS_MPI_FAREWELL_H
#define KS_MPI_FAREWELL_H

#include "mpi/net.h"
#include "mpi/pulse.h"

#include <stdbool.h>
#include <stdint.h>

/* On rank 0, which cannot begin or go on: tells the others to stop what they do and to leave, and
 * waits for their goodbyes, at most limit_ns. is_anyone_lost: they leave without MPI_Finalize.
 * true: all have said goodbye, and MPI can end in order. */
bool ks_farewell_send(struct ks_net *net, bool is_anyone_lost, uint64_t limit_ns);

/* On another rank, which cannot begin: true when rank 0 tells it within limit_ns to leave in order,
 * because it cannot begin either; then this rank has said goodbye. */
bool ks_farewell_await(struct ks_net *net, uint64_t limit_ns);

/* On rank 0, at the end of a run: the others have said goodbye and are held until the results are
 * written, because a launcher may end rank 0 with the first process that leaves without
 * MPI_Finalize. A thread sends them heartbeats for as long as that takes, and holds a lost rank
 * that comes back, too. If this process ends or stops, they leave after lost_after_ns. */
struct ks_farewell;
/* Takes net and pulse (may be NULL); nobody else may use net until ks_farewell_end().
 * @is_clean: nobody was lost, so MPI may end in order
 * Returns NULL when memory is short: then the others were let go, without MPI_Finalize, and net is
 * closed. Where MPI allows no second thread, they are let go at once if nobody was lost, and MPI
 * has ended. */
struct ks_farewell *ks_farewell_hold(struct ks_net *net, struct ks_pulse *pulse, bool is_clean,
                                     uint64_t lost_after_ns);
/* Releases the others and closes the net. true: MPI is over; else only _exit is safe. NULL is fine
 * and returns false. */
bool ks_farewell_end(struct ks_farewell *f);

#endif
