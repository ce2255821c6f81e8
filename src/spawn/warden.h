/* SPDX-License-Identifier: MIT */
/* warden.h - the only process that forks. Started on the first lines of main, before MPI_Init; it
 * starts workers and compilers (fork + exec with a close-on-exec error pipe), enforces deadlines,
 * memory and process caps, kills whole process groups, reaps, and reports how each child ended. */
#ifndef KS_SPAWN_WARDEN_H
#define KS_SPAWN_WARDEN_H

#include "base/err.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KS_SPAWN_FDS     4 /* most descriptors handed to a child: they become 3, 4, 5, 6 */
#define KS_SPAWN_ARGS    256
#define KS_REAP_LIMIT_NS 10000000000ull /* not reaped this long after SIGKILL: abandoned */

struct ks_warden; /* the rank's end of the socket */

struct ks_spawn {
    const char *const *argv; /* NULL-terminated; argv[0] an absolute path or searched in PATH */
    const char *const *env;  /* NULL-terminated "K=V", added to the inherited ones; NULL none */
    const char *cwd;         /* NULL = inherit */
    const char *scratch; /* removed with all in it when the child has ended, also when the rank has;
                            need not exist; NULL = none */
    int fds[KS_SPAWN_FDS]; /* become 3.. in the child; -1 = closed there; borrowed */
    int status_fd;         /* memfd of struct ks_status (status.h), also one of fds, or -1 */
    uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0 = none; beside the status page's own deadline */
    uint64_t memory_bytes; /* RLIMIT_AS; 0 = none */
    uint64_t file_bytes;   /* RLIMIT_FSIZE, SIGXFSZ beyond it; 0 = none */
    uint64_t rss_bytes;    /* polled: resident set of the child and all its own; 0 = none */
    uint32_t n_processes;  /* RLIMIT_NPROC, when not root; 0 = none */
    bool is_pinned;        /* use cpus */
    cpu_set_t cpus;
    uint64_t memory_nodes; /* bits: its memory only from these NUMA nodes, where that is allowed; 0
                              = any */
    /* Device files whose path is this and a number, "/dev/nvidia": those that the child has open
     * once its status page says that it is set up stay open in the warden. NULL: none. Borrowed. */
    const char *hold_prefix;
    bool is_quiet; /* run at nice 10 (compilers), else as the rank does (workers) */
};

/* How a child ended: the whole truth, no combination that cannot happen. */
enum ks_end {
    KS_END_EXITED = 1, /* code = status */
    KS_END_SIGNALED,   /* code = signal that the warden did not send */
    KS_END_DEADLINE,   /* the warden killed it past its deadline */
    KS_END_MEMORY,     /* the warden killed it over rss_bytes */
    KS_END_KILLED,     /* the warden killed it because the rank asked */
    KS_END_NO_EXEC,    /* exec failed; code = errno */
    KS_END_ABANDONED   /* not reaped KS_REAP_LIMIT_NS after SIGKILL: hung in the kernel */
};
struct ks_child_end {
    uint32_t child; /* as returned by ks_warden_spawn */
    enum ks_end how;
    int code;
    int32_t pid;
    uint32_t n_leftover; /* orphans found alive after it ended; killed, and all of theirs */
    uint64_t wall_ns, peak_rss_bytes, user_ns, system_ns;
    uint64_t n_wakes; /* of the warden while the page said that samples were taken */
    /* For children without a status page: the last bytes of stdout and stderr together. */
    uint32_t n_tail;
    char tail[4096];
};

/* A child starts in its own process group, stdin /dev/null, stdout and stderr one pipe, an empty
 * signal mask and default dispositions, except that USR1, USR2, TERM, INT and HUP stay ignored
 * (Slurm sends them to every process of a step). It dies with the warden. Its environment carries
 * KSWEEP_CHILD=<pid of the warden>:<id>, by which orphans are told. */

/* Fork the warden. Must be the first thing main does, single-threaded. The warden dies with the
 * rank (PR_SET_PDEATHSIG) and everything it started dies with it. It ignores USR1, USR2 and TERM
 * (Slurm signals every descendant), INT and HUP too. */
int ks_warden_start(struct ks_warden **w_out, struct ks_err *err);
/* Kills all children, ends the warden, reaps it; the launcher is left alone. NULL is fine. */
void ks_warden_stop(struct ks_warden *w);
int ks_warden_fd(const struct ks_warden *w); /* readable when ks_warden_next has something */
pid_t ks_warden_pid(const struct ks_warden *w);

/* Asks whether the warden is there, once per quarter of limit_ns, or per second where that is
 * longer; now_ns: CLOCK_MONOTONIC. KS_ECHILD when it has been stopped (SIGSTOP) for limit_ns, or
 * silent for KS_WARDEN_STUCK_NS for another reason: then it is killed, and counts as gone. Its
 * answers are taken by ks_warden_next. Time in which the caller did not ask does not count: it may
 * have been stopped, too. */
#define KS_WARDEN_STUCK_NS 600000000000ull /* starting a program from a stalled disk takes long */
int ks_warden_watch(struct ks_warden *w, uint64_t now_ns, uint64_t limit_ns, struct ks_err *err);

/* The nearest ancestor of this process with one of these names (NULL-terminated) is told to end
 * (SIGTERM, twice) when this process has ended without ks_warden_stop and the ancestor has not by
 * itself: mpirun waits for lost hosts for ever. Without such an ancestor nothing happens. */
int ks_warden_end_launcher(struct ks_warden *w, const char *const *names, struct ks_err *err);

/* For n_processes: as many more than there are now as kernels may need. The limit counts all tasks
 * of the user, on a shared node those of other programs, too: a fixed number would refuse a kernel
 * its threads there. */
uint32_t ks_warden_task_limit(void);

/* Start a child. *child_out identifies it until its end is reported. Failure to exec is reported
 * through ks_warden_next, not here. KS_ECHILD when the warden is gone. */
int ks_warden_spawn(struct ks_warden *w, const struct ks_spawn *what, uint32_t *child_out,
                    struct ks_err *err);
/* SIGKILL to its process group; the end is reported as KS_END_KILLED (or what came first). */
int ks_warden_kill(struct ks_warden *w, uint32_t child, struct ks_err *err);
/* One end, without blocking: 1 = *out filled, 0 = nothing now, KS_ECHILD = the warden is dead; then
 * all that its children had started has been killed, too. */
int ks_warden_next(struct ks_warden *w, struct ks_child_end *out, struct ks_err *err);

const char *ks_end_text(enum ks_end how);

#endif
