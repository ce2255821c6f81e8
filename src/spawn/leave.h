/* SPDX-License-Identifier: MIT */
/* leave.h - how a forked process leaves, and which signals the warden and its children ignore.
 * Private to src/spawn. */
#ifndef KS_SPAWN_LEAVE_H
#define KS_SPAWN_LEAVE_H

#include <signal.h>
#include <stdbool.h>

/* _exit skips the writing of coverage data, so it is written before. */
#ifdef KSWEEP_COVERAGE
extern void __gcov_dump(void);
static inline void ks_dump_coverage(void)
{
    __gcov_dump();
}
#else
static inline void ks_dump_coverage(void) {}
#endif

/* Sent by Slurm to every process of a step, and by terminals: the rank decides what they mean. */
static inline bool ks_is_ignored_signal(int s)
{
    return s == SIGUSR1 || s == SIGUSR2 || s == SIGTERM || s == SIGINT || s == SIGHUP;
}

#endif
