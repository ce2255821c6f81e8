/* SPDX-License-Identifier: MIT */
/* child.h - one child of the warden, from fork to the report of its end. Private to src/spawn; runs
 * in the warden's process only. */
#ifndef KS_SPAWN_CHILD_H
#define KS_SPAWN_CHILD_H

#include "record/status.h"
#include "spawn/procfs.h"
#include "spawn/wire.h"

#include <sys/resource.h>

#define KS_CHILD_TAIL     4096u
#define KS_CHILD_LEFTOVER 32u /* how many killed leftovers are remembered, to count each once */

/* Everything ready for fork: built before it, so that little is left to do after it. */
struct ks_launch {
    struct ks_wire_ask ask;
    int fds[KS_SPAWN_FDS]; /* owned, -1 = none */
    int status_fd;         /* owned, -1 = none */
    char *payload;         /* owned: the strings argv, env, .. point into */
    char **argv, **env;    /* owned arrays, NULL-terminated; env includes the inherited one */
    char *mark;            /* owned: KSWEEP_CHILD=warden:id */
    const char *cwd;       /* NULL = inherit */
    const char *scratch;   /* NULL = none */
};

struct ks_child {
    uint32_t id;
    pid_t pid;
    int output_fd, exec_fd;    /* -1 when closed */
    struct ks_status *page;    /* NULL = none */
    uint64_t deadline_ns;      /* of the request; 0 = none */
    uint64_t page_deadline_ns; /* last believable one of the page; 0 = none */
    uint64_t rss_limit_bytes;
    uint64_t started_ns, killed_ns, ended_ns, sampled_ns; /* 0 = not yet */
    char hold_prefix[KS_HOLD_BYTES];       /* of the request; "": none, or they are held by now */
    enum ks_end why;                       /* why the warden killed it; valid when killed_ns */
    bool is_reaped, is_abandoned, is_over; /* over: reported and reaped */
    int wait_status;
    struct rusage usage;
    pid_t leftover[KS_CHILD_LEFTOVER];
    uint32_t n_leftover;
    char *scratch;      /* owned; NULL = none, or removed */
    uint64_t n_printed; /* bytes drained in all */
    uint64_t n_wakes;   /* see struct ks_child_end */
    uint32_t n_tail;
    char tail[KS_CHILD_TAIL];
};

/* Take over the descriptors of a spawn request and unpack its strings. On failure everything in fds
 * is closed. */
int ks_launch_unpack(const struct ks_wire_ask *ask, const int *fds, size_t n_fds,
                     struct ks_launch *out, struct ks_err *err);
void ks_launch_release(struct ks_launch *l);

/* Fork and start exec. Failure to exec shows when the child has ended. KS_EIO with errno in
 * *errno_out when there is no child at all. *child_out is owned: ks_child_destroy. */
int ks_child_start(struct ks_launch *l, int null_fd, struct ks_child **child_out, int *errno_out,
                   struct ks_err *err);
void ks_child_destroy(struct ks_child *c);
/* Removes its scratch directory: it and all its own are dead. */
void ks_child_clean(struct ks_child *c);

/* SIGKILL to its group. The first reason counts. */
void ks_child_kill(struct ks_child *c, enum ks_end why, uint64_t now_ns);
/* Read what it printed, without blocking, into the page's ring or the tail. */
void ks_child_drain(struct ks_child *c);
/* The warden woke: counted where this child takes samples. */
void ks_child_count_wake(struct ks_child *c);
/* Sample its memory, and kill it past a deadline or over its resident limit. */
void ks_child_watch(struct ks_child *c, uint64_t now_ns);
/* When to look at it again at the latest; UINT64_MAX = no need. */
uint64_t ks_child_next_look(const struct ks_child *c, uint64_t now_ns);
/* The report. Only once it is reaped or abandoned. */
void ks_child_report(struct ks_child *c, struct ks_child_end *out);

#endif
