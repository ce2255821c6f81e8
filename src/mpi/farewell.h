/* SPDX-License-Identifier: MIT */
/* farewell.h - leaving together when rank 0 cannot begin or go on. A rank that just exits leaves
 * the others waiting for it, and its launcher complaining. */
#ifndef KS_MPI_FAREWELL_H
#define KS_MPI_FAREWELL_H

#include "mpi/net.h"

#include <stdbool.h>
#include <stdint.h>

/* On rank 0: tells the others to stop what they do and to leave, and waits for their goodbyes, at
 * most limit_ns. true: all have said it, so MPI can end in order. */
bool ks_farewell_send(struct ks_net *net, uint64_t limit_ns);

/* On another rank, which cannot begin: true when rank 0 tells it to leave within limit_ns, because
 * it cannot begin either; then this rank has said goodbye. */
bool ks_farewell_await(struct ks_net *net, uint64_t limit_ns);

#endif
