/* SPDX-License-Identifier: MIT */
/* procfs.h - what the warden reads about processes. Private to src/spawn. */
#ifndef KS_SPAWN_PROCFS_H
#define KS_SPAWN_PROCFS_H

#include "base/err.h"
#include "base/process.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ks_proc_memory {
    uint64_t peak_bytes;       /* VmHWM: most memory resident ever */
    uint64_t peak_space_bytes; /* VmPeak: most address space ever */
    uint64_t rss_bytes;        /* VmRSS: resident now */
};

/* 0; KS_ENOENT when it is gone or a zombie (which has no memory). */
int ks_proc_memory(pid_t pid, struct ks_proc_memory *out, struct ks_err *err);

/* Resident bytes of a process and of all that descend from it, pages they share counted for each; 0
 * when it is gone. The second counts a process group instead, by reading all of /proc: for kernels
 * that keep no list of children. */
uint64_t ks_proc_tree_rss(pid_t pid);
uint64_t ks_proc_group_rss_by_scan(pid_t group);

/* Children of the calling (single-threaded) process, zombies included. *list_out [n] is owned by
 * the caller. Reads /proc/self/task/TID/children; where the kernel has none, all of /proc. */
int ks_proc_children(struct ks_process **list_out, size_t *n_out, struct ks_err *err);
int ks_proc_children_by_scan(struct ks_process **list_out, size_t *n_out, struct ks_err *err);

/* Every child carries KSWEEP_CHILD=<pid of its warden>:<id> in its environment, and so do its
 * descendants. */
#define KS_PROC_MARK "KSWEEP_CHILD="
/* The id in the mark that this warden gave; 0 when the process has none, or it cannot be read. */
uint32_t ks_proc_mark(pid_t pid, pid_t warden);
/* SIGKILL to all processes with a mark of this (dead) warden. Returns how many there were. */
size_t ks_proc_kill_marked(pid_t warden);

#endif
