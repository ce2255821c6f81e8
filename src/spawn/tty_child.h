/* SPDX-License-Identifier: MIT */
/* tty_child.h - a program with a terminal as its standard output, started by a process that has no
 * warden between: ksweep-profiler, which is a child of one. It must be single-threaded and a
 * subreaper (PR_SET_CHILD_SUBREAPER), and have no other children. */
#ifndef KS_SPAWN_TTY_CHILD_H
#define KS_SPAWN_TTY_CHILD_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct ks_tty_child {
    pid_t pid;
    int out_fd, err_fd; /* a raw pseudo-terminal, a pipe; not blocking; -1: closed */
    int exec_errno;     /* why it could not be started; 0: it was */
};

/* Starts words[0], a path, in directory `dir`, in a process group of its own, with env. It dies
 * with this process. Failure to exec is no error: see exec_errno. The caller ends it. */
int ks_tty_child_start(char *const *words, char *const *env, const char *dir,
                       struct ks_tty_child *out, struct ks_err *err);
bool ks_tty_child_has_exited(const struct ks_tty_child *c);
/* Kills it and everything that descends from it, and reaps. What they wrote can still be read from
 * out_fd and err_fd, which the caller closes. *status_out: of waitpid; as it was when the process
 * cannot be reaped. Blocks for 5 s at most. */
void ks_tty_child_end(struct ks_tty_child *c, int *status_out);

#endif
