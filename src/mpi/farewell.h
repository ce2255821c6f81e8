/* SPDX-License-Identifier: MIT */
/* farewell.h - leaving together when rank 0 cannot begin or go on, or when a rank was lost. A rank
 * that just exits leaves the others waiting for it, and its launcher complaining; srun kills them.
 */
#ifndef KS_MPI_FAREWELL_H
#define KS_MPI_FAREWELL_H

#include "mpi/net.h"
#include "mpi/pulse.h"

#include <stdbool.h>
#include <stdint.h>

/* On rank 0: tells the others to stop what they do and to leave, and waits for their goodbyes, at
 * most limit_ns. true: all have said it, so MPI can end in order. */
bool ks_farewell_send(struct ks_net *net, uint64_t limit_ns);

/* On another rank, which cannot begin: true when rank 0 tells it to leave within limit_ns, because
 * it cannot begin either; then this rank has said goodbye. */
bool ks_farewell_await(struct ks_net *net, uint64_t limit_ns);

/* On rank 0, after a loss: the others have said goodbye and wait, because nobody calls MPI_Finalize
 * now, and under srun the first process that exits without ends all others within a second. They
 * wait while rank 0 writes the results, and hear its heartbeat meanwhile. */
struct ks_farewell;
/* Takes net and pulse (may be NULL), NULL included when it fails for want of memory: then the
 * others were let go. */
struct ks_farewell *ks_farewell_hold(struct ks_net *net, struct ks_pulse *pulse);
/* Lets the others go and closes the net. NULL is fine. */
void ks_farewell_end(struct ks_farewell *f);

#endif
