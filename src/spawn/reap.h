/* SPDX-License-Identifier: MIT */
/* reap.h - the warden's state, and the part that collects the dead. Private to src/spawn. */
#ifndef KS_SPAWN_REAP_H
#define KS_SPAWN_REAP_H

#include "spawn/child.h"
#include "spawn/hold.h"

#include <poll.h>

struct note; /* a packet that waits to be sent */

struct ks_loop {
    int sock, signal_fd, null_fd;
    pid_t rank;
    struct ks_child **children; /* owned; in order of start */
    struct pollfd *polls;       /* [cap + fixed slots] */
    size_t n, cap;
    struct note *notes, *notes_last;
    bool is_ending;
    struct ks_hold hold;
    pid_t launcher; /* to end when the rank is gone, 0: none */
};

/* Reap everything that died, kill leftovers of children that ended, and report each child whose
 * leftovers are gone, or that could not be reaped in time. Never blocks. */
void ks_loop_reap(struct ks_loop *l);
/* SIGKILL to all descendants until none is left, or KS_REAP_LIMIT_NS has passed. */
void ks_loop_kill_all(struct ks_loop *l);

void ks_loop_post_end(struct ks_loop *l, const struct ks_child_end *end);

#endif
