/* SPDX-License-Identifier: MIT */
/* loop.h - the warden's own process. Private to src/spawn. */
#ifndef KS_SPAWN_LOOP_H
#define KS_SPAWN_LOOP_H

#include <sys/types.h>

/* Serve the rank at the other end of `sock` until it closes it or dies, then kill every descendant.
 * Called right after fork; never returns. */
void ks_warden_serve(int sock, pid_t rank) __attribute__((noreturn));

#endif
