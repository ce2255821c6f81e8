/* SPDX-License-Identifier: MIT */
/* bell.c - wakes the loops of other ranks on this host by SIGURG, at a bounded rate */
#include "mpi/bell.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int ks_bell_open(int *fd_out, struct ks_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return ks_fail_errno(err, "signals");
    *fd_out = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return *fd_out < 0 ? ks_fail_errno(err, "signals") : 0;
}

void ks_bell_clear(int fd)
{
    struct signalfd_siginfo s;
    while (fd >= 0 && read(fd, &s, sizeof(s)) == (ssize_t)sizeof(s))
        continue;
}

void ks_bell_ring(pid_t pid)
{
    if (pid > 1)
        (void)kill(pid, SIGURG);
}

bool ks_bell_may_be_heard(uint64_t free_ns, uint64_t now_ns)
{
    return free_ns <= now_ns;
}

/* free_ns lags behind now_ns by the bells that may still be heard at once. */
void ks_bell_was_heard(uint64_t *free_ns, uint64_t now_ns, uint64_t interval_ns)
{
    uint64_t most = (KS_BELL_BURST - 1) * interval_ns;
    uint64_t from = now_ns > most ? now_ns - most : 0;
    *free_ns = (*free_ns > from ? *free_ns : from) + interval_ns;
}
