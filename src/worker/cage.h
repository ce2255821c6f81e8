/* SPDX-License-Identifier: MIT */
/* cage.h - what ksweep-worker does to itself before it runs a kernel: its death is recorded, calls
 * that would hurt others are refused, and what a kernel leaves changed is put back.
 *
 * It stops accidents, not a hostile author. Order: ks_cage_open, open the device, ks_cage_close,
 * load the first kernel. */
#ifndef KS_WORKER_CAGE_H
#define KS_WORKER_CAGE_H

#include "base/err.h"
#include "record/status.h"
#include "worker/fpenv.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum ks_cage_list { KS_CAGE_HOST = 1, KS_CAGE_GPU = 2 };

struct ks_cage {
    enum ks_cage_list
        list; /* which calls ks_cage_close refuses; host unless the caller changes it */
    struct ks_fpenv fpenv; /* of the moment of ks_cage_open, restored later */
    sigset_t mask;
};

/* ks_cage_open() - handlers on an alternate stack for SEGV, BUS, FPE, ILL, ABRT and SYS: they write
 * fault_signal, fault_address (0 for ABRT and for signals somebody sent) and peak_bytes and
 * peak_space_bytes into the page, then the process dies by that very signal. USR1, USR2, TERM, INT,
 * HUP and PIPE are ignored. Once per process.
 * @cage_out [out] for the later calls
 * @status   [in]  lives as long as the process
 * Returns 0; KS_EEXIST when called twice; KS_EIO, KS_ENOMEM. For the calling thread: threads of a
 * kernel have no alternate stack, so that their stack overflow is a plain death by SEGV. */
int ks_cage_open(struct ks_cage *cage_out, struct ks_status *status, struct ks_err *err);

/* ks_cage_close() - from now on, for all threads: no new process (fork, vfork, exec, clone without
 * CLONE_THREAD), no signal to others, no new session or group, no ptrace, no mount, no io_uring,
 * bpf or perf; on the host also no sockets, no removal, renaming or truncation of files, no other
 * cores, priority or limits. A
 * refused call returns EPERM to the kernel and is counted in n_denied, with its number in
 * denied_call; clone3 says ENOSYS uncounted, so that libc uses clone for threads, and what
 * posix_spawn does fails with EPERM uncounted. A kernel that blocks SIGSYS and then makes such a
 * call is killed by SIGSYS. On a GPU (KS_CAGE_GPU) all of them fail with EPERM uncounted: threads
 * of its runtime block SIGSYS. Returns 0; KS_EUNSUPPORTED where the kernel or a container does not
 * allow filters. */
int ks_cage_close(const struct ks_cage *cage, struct ks_err *err);

/* Name of a call that can be refused, for people; "?" when the number is not in the table. */
const char *ks_cage_call_name(int32_t number);

/* ks_cage_before_kernel() - before every launch: the CPU's state is as ks_cage_open found it, so
 * that what the harness's own code left (upper halves, where it was compiled without optimisation)
 * is not blamed on the kernel. Some 20 ns. */
void ks_cage_before_kernel(const struct ks_cage *cage);
/* ks_cage_after_kernel() - after every launch: the CPU's state (fpenv.h) and the signal mask are
 * again as ks_cage_open found them. One system call, some 0.2 us.
 * Returns true when the CPU's state was different (KS_FL_FP_ENV_CHANGED). */
bool ks_cage_after_kernel(const struct ks_cage *cage);
/* ks_cage_after_cell() - once per cell, some 2 us: also handlers, ignored signals, alternate stack
 * and alarm; in between only the cell that changed them can suffer. Returns true when any was
 * different. */
bool ks_cage_after_cell(const struct ks_cage *cage);

/* Most memory this process ever had resident (VmHWM) and most address space (VmPeak); 0 unknown. */
struct ks_cage_peak {
    uint64_t bytes, space_bytes;
};
struct ks_cage_peak ks_cage_peak(void); /* async-signal-safe */

#endif
