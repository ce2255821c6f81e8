/* SPDX-License-Identifier: MIT */
/* parent_link.h - the socket between `ksweep run -n N`, which started the launcher, and rank 0.
 *
 * The parent learns the pid of rank 0, when rank 0 can take a signal, and its exit status, which
 * mpirun --enable-recovery replaces by 0. Rank 0 sees the end of the parent as a closed socket. The
 * address is an abstract Unix socket; its name travels in the environment. */
#ifndef KS_SPAWN_PARENT_LINK_H
#define KS_SPAWN_PARENT_LINK_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

#define KS_PARENT_LINK_ENV "KSWEEP_PARENT_LINK"

/* What rank 0 has said so far. */
struct ks_parent_link {
    pid_t rank0;   /* 0: not connected yet */
    bool is_ready; /* rank 0 finishes cells in flight when it gets a signal */
    int exit;      /* exit status of rank 0; -1: not told */
};

/* ---- the parent's side ---- */

/* A listening socket (close-on-exec, non-blocking), its name put into the environment. */
int ks_parent_link_listen(int *fd_out, struct ks_err *err);
/* Accepts one connection of the same user. -1: nobody is there. */
int ks_parent_link_accept(int listener, struct ks_parent_link *link);
/* Reads what rank 0 said. false: it has closed the socket. */
bool ks_parent_link_read(int fd, struct ks_parent_link *link);

/* ---- rank 0's side; fd -1 is ignored ---- */

/* Connects to the parent that the environment names, and removes the name from it. -1: no parent.
 */
int ks_parent_link_open(void);
void ks_parent_link_ready(int fd);
void ks_parent_link_exit(int fd, int status); /* and closes it */

#endif
