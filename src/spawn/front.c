/* SPDX-License-Identifier: MIT */
/* front.c - ksweep run -n: starts the launcher, forwards signals to rank 0, cleans up behind it */
#include "spawn/front.h"

#include "base/clock.h"
#include "base/file.h"
#include "spawn/parent_link.h"
#include "spawn/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLEANUP_NS 3000000000ull /* wardens end what they started within */
#define LOOK_NS    10000000ull

enum stage {
    RUNNING,
    ASKED,   /* rank 0 finishes the cells in flight */
    HURRIED, /* rank 0 gives them up */
    ENDING,  /* the launcher was told to end */
    KILLED
};

struct front {
    pid_t launcher;
    int signal_fd, listen_fd, link_fd;
    sigset_t before;
    struct ks_parent_link link;
    enum stage stage;
    uint64_t due_ns; /* of the next stage; 0: none */
    bool is_over;
    struct ks_front_end *end;
};

static int own_signals(struct front *f, struct ks_err *err)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&set, signals[i]);
    if (sigprocmask(SIG_BLOCK, &set, &f->before) < 0)
        return ks_fail_errno(err, "signals");
    f->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return f->signal_fd < 0 ? ks_fail_errno(err, "signals") : 0;
}

/* In the child. The launcher may write to a terminal that is not its own. */
static void execute(const struct front *f, const char *const *argv, pid_t parent, int told)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)setpgid(0, 0);
    (void)signal(SIGTTOU, SIG_IGN);
    if (null_fd >= 0)
        (void)dup2(null_fd, STDIN_FILENO);
    (void)sigprocmask(SIG_SETMASK, &f->before, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent)
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
    (void)!write(told, &errno, sizeof(errno));
    _exit(127);
}

static int start(struct front *f, const char *const *argv, struct ks_err *err)
{
    const pid_t parent = getpid();
    int told[2], why = 0;

    if (pipe2(told, O_CLOEXEC) < 0)
        return ks_fail_errno(err, "pipe");
    f->launcher = fork();
    if (f->launcher == 0)
        execute(f, argv, parent, told[1]);
    close(told[1]);
    if (f->launcher < 0) {
        close(told[0]);
        return ks_fail_errno(err, "fork");
    }
    (void)setpgid(f->launcher, f->launcher); /* whoever comes first */
    const bool has_failed = read(told[0], &why, sizeof(why)) == (ssize_t)sizeof(why);
    close(told[0]);
    if (!has_failed)
        return 0;
    (void)waitpid(f->launcher, NULL, 0);
    return ks_fail(err, KS_ENOENT, "'%s' cannot be started: %s", argv[0], strerror(why));
}

static void tell_rank0(const struct front *f, int signo)
{
    if (f->link_fd >= 0) /* it lives */
        (void)kill(f->link.rank0, signo);
}

static void enter(struct front *f, enum stage stage, int signo)
{
    f->stage = stage;
    f->due_ns = stage == ASKED || stage == KILLED ? 0 : ks_now_ns() + KS_FRONT_PATIENCE_NS;
    if (stage == ASKED)
        tell_rank0(f, signo);
    else if (stage == HURRIED)
        tell_rank0(f, SIGINT);
    else
        (void)kill(-f->launcher, stage == ENDING ? SIGTERM : SIGKILL);
}

static void on_signal(struct front *f, int signo)
{
    f->end->n_signals++;
    if (f->stage == RUNNING)
        enter(f, f->link.is_ready && f->link_fd >= 0 ? ASKED : ENDING, signo);
    else if (f->stage < KILLED)
        enter(f, f->stage + 1, signo);
}

/* All children: orphans of the launcher's have become ours. */
static void reap(struct front *f)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == f->launcher) {
            f->is_over = true;
            f->end->launcher_exit =
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
}

static void read_signals(struct front *f)
{
    struct signalfd_siginfo s;

    while (read(f->signal_fd, &s, sizeof(s)) == (ssize_t)sizeof(s))
        if (s.ssi_signo == SIGCHLD)
            reap(f);
        else
            on_signal(f, (int)s.ssi_signo);
}

static void listen_to_rank0(struct front *f)
{
    if (f->link_fd < 0 && !f->link.rank0)
        f->link_fd = ks_parent_link_accept(f->listen_fd, &f->link);
    else if (f->link_fd >= 0 && !ks_parent_link_read(f->link_fd, &f->link))
        ks_fd_close(&f->link_fd);
}

static int wait_ms(const struct front *f)
{
    const uint64_t now = ks_now_ns();

    if (!f->due_ns)
        return -1;
    return f->due_ns <= now ? 0 : (int)((f->due_ns - now) / 1000000u) + 1;
}

static void turn(struct front *f)
{
    struct pollfd p[2] = { { .fd = f->signal_fd, .events = POLLIN },
                           { .fd = f->link_fd >= 0 ? f->link_fd
                                   : f->link.rank0 ? -1
                                                   : f->listen_fd,
                             .events = POLLIN } };

    (void)poll(p, 2, wait_ms(f));
    if (p[1].revents)
        listen_to_rank0(f);
    read_signals(f);
    if (f->due_ns && ks_now_ns() >= f->due_ns)
        enter(f, f->stage + 1, SIGTERM);
}

static size_t kill_children(void)
{
    struct ks_process *list = NULL;
    size_t n = 0, n_killed = 0;

    if (ks_proc_children(&list, &n, NULL) < 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        n_killed += list[i].state != 'Z' && kill(list[i].pid, SIGKILL) == 0;
    free(list);
    return n_killed;
}

/* Wardens of the ranks end what is theirs; whatever else is left is killed, and so are its own
 * children, which become ours. */
static void clean_up(struct front *f)
{
    const uint64_t now = ks_now_ns(), until = now + CLEANUP_NS, last = until + CLEANUP_NS;

    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (waitpid(-1, NULL, WNOHANG) < 0 || ks_now_ns() > last)
            return;
        if (f->stage == KILLED || ks_now_ns() > until)
            f->end->n_killed += (uint32_t)kill_children();
        ks_sleep_ns(LOOK_NS);
    }
}

int ks_front_run(const char *const *argv, struct ks_front_end *out, struct ks_err *err)
{
    struct front f = { .signal_fd = -1, .listen_fd = -1, .link_fd = -1, .end = out };
    int rc = own_signals(&f, err);

    f.link.exit = -1;
    *out = (struct ks_front_end){ .rank0_exit = -1 };
    if (rc == 0)
        rc = ks_parent_link_listen(&f.listen_fd, err);
    if (rc == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        rc = ks_fail_errno(err, "subreaper");
    if (rc == 0)
        rc = start(&f, argv, err);
    while (rc == 0 && !f.is_over)
        turn(&f);
    if (rc == 0) {
        listen_to_rank0(&f); /* what it said last, or all of it */
        listen_to_rank0(&f);
        clean_up(&f);
    }
    out->rank0_exit = f.link.exit;
    ks_fd_close(&f.link_fd);
    ks_fd_close(&f.listen_fd);
    ks_fd_close(&f.signal_fd);
    return rc;
}
