/* SPDX-License-Identifier: MIT */
/* tty_child.c - the program's process: how it starts, and how nothing of it stays. */
#include "spawn/tty_child.h"

#include "base/clock.h"
#include "base/file.h"
#include "spawn/leave.h"
#include "spawn/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };
#define REAP_NS  5000000000ull /* after SIGKILL */
#define PAUSE_NS 1000000ull

/* Bytes come out as the program wrote them, and as soon as it ends a line. */
static int open_terminal(int *ours_out, int *its_out, struct ks_err *err)
{
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), its = -1;
    struct termios t;
    char name[NAME_BYTES];

    if (ours < 0 || grantpt(ours) < 0 || unlockpt(ours) < 0 ||
        ptsname_r(ours, name, sizeof name) != 0 ||
        (its = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0 || tcgetattr(its, &t) < 0) {
        ks_fd_close(&ours);
        ks_fd_close(&its);
        return ks_fail_errno(err, "pseudo-terminal");
    }
    cfmakeraw(&t);
    (void)tcsetattr(its, TCSANOW, &t);
    *ours_out = ours;
    *its_out = its;
    return 0;
}

static void run_child(char *const *words, char *const *env, const char *dir, int out, int errors,
                      int exec_fd) __attribute__((noreturn));
/* System calls only. */
static void run_child(char *const *words, char *const *env, const char *dir, int out, int errors,
                      int exec_fd)
{
    int e;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    (void)signal(SIGPIPE, SIG_DFL);
    /* execvpe would give a path of unknown format to the shell; a bare name is looked for in PATH.
     */
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0 && chdir(dir) == 0)
        (void)(strchr(words[0], '/') ? execve : execvpe)(words[0], words, env);
    e = errno;
    ks_dump_coverage();
    while (write(exec_fd, &e, sizeof e) < 0 && errno == EINTR)
        continue;
    _exit(127);
}

int ks_tty_child_start(char *const *words, char *const *env, const char *dir,
                       struct ks_tty_child *out, struct ks_err *err)
{
    struct ks_tty_child c = { .pid = -1, .out_fd = -1, .err_fd = -1 };
    int errors[2] = { -1, -1 }, exec[2] = { -1, -1 }, its = -1;
    int rc = open_terminal(&c.out_fd, &its, err);

    if (rc == 0 && (pipe2(errors, O_CLOEXEC) < 0 || pipe2(exec, O_CLOEXEC) < 0))
        rc = ks_fail_errno(err, "pipe");
    if (rc == 0 && (c.pid = fork()) < 0)
        rc = ks_fail_errno(err, "starting '%s'", words[0]);
    if (rc == 0 && c.pid == 0)
        run_child(words, env, dir, its, errors[1], exec[1]);
    ks_fd_close(&its);
    ks_fd_close(&errors[1]);
    ks_fd_close(&exec[1]);
    if (rc == 0) {
        (void)setpgid(c.pid, c.pid); /* as the child does: whoever comes first */
        if (read(exec[0], &c.exec_errno, sizeof c.exec_errno) != (ssize_t)sizeof c.exec_errno)
            c.exec_errno = 0; /* closed by exec */
        c.err_fd = errors[0];
        (void)fcntl(c.out_fd, F_SETFL, O_NONBLOCK);
        (void)fcntl(c.err_fd, F_SETFL, O_NONBLOCK);
        *out = c;
    } else {
        ks_fd_close(&c.out_fd);
        ks_fd_close(&errors[0]);
    }
    ks_fd_close(&exec[0]);
    return rc;
}

/* This process is a subreaper: what the program has left behind are children of it, also those
 * that have a group or a session of their own. */
static void kill_all(pid_t group)
{
    struct ks_process *list = NULL;
    size_t n = 0;

    (void)kill(-group, SIGKILL);
    if (ks_proc_children(&list, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        (void)kill(list[i].pid, SIGKILL);
    free(list);
}

bool ks_tty_child_has_exited(const struct ks_tty_child *c)
{
    siginfo_t info = { .si_pid = 0 };

    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

void ks_tty_child_end(struct ks_tty_child *c, int *status_out)
{
    const uint64_t until = ks_now_ns() + REAP_NS;
    bool is_reaped = false;
    int status;
    pid_t pid;

    do {
        kill_all(c->pid);
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == c->pid && !is_reaped) {
                *status_out = status;
                is_reaped = true;
            }
        if (pid == 0)
            ks_sleep_ns(PAUSE_NS);
    } while (pid == 0 && ks_now_ns() < until);
}
