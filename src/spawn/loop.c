/* SPDX-License-Identifier: MIT */
/* loop.c - the warden's process: one thread, one poll loop, no exec. */
#include "spawn/loop.h"
#include "base/clock.h"
#include "base/process.h"
#include "record/outcome.h"
#include "spawn/launcher.h"
#include "spawn/leave.h"
#include "spawn/reap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOW_FDS 10 /* descriptors below are for the children; ours start here */
#define N_FIXED 2  /* poll slots before those of the children: socket, signals */

/* ---- notes to the rank ---- */

struct note {
    struct note *next;
    struct ks_child_end end;
};

void ks_loop_post_end(struct ks_loop *l, const struct ks_child_end *end)
{
    struct note *n = calloc(1, sizeof(*n));

    if (!n) { /* an end that cannot be told would hang the rank; its closed socket does not */
        l->is_ending = true;
        return;
    }
    n->end = *end;
    if (l->notes_last)
        l->notes_last->next = n;
    else
        l->notes = n;
    l->notes_last = n;
}

static void send_notes(struct ks_loop *l)
{
    while (l->notes && ks_wire_send(l->sock, &l->notes->end, sizeof(l->notes->end), NULL, 0) == 0) {
        struct note *sent = l->notes;
        l->notes = sent->next;
        if (!l->notes)
            l->notes_last = NULL;
        free(sent);
    }
    if (l->notes && errno != EAGAIN)
        l->is_ending = true;
}

/* ---- requests of the rank ---- */

static bool has_room(struct ks_loop *l)
{
    size_t cap = l->cap ? 2 * l->cap : 8;
    void *p;

    if (l->n < l->cap)
        return true;
    p = realloc(l->children, cap * sizeof(struct ks_child *));
    if (!p)
        return false;
    l->children = p;
    p = realloc(l->polls, (cap + N_FIXED) * sizeof(struct pollfd));
    if (!p)
        return false;
    l->polls = p;
    l->cap = cap;
    return true;
}

static void spawn(struct ks_loop *l, const struct ks_wire_ask *ask, const int *fds, size_t n_fds)
{
    struct ks_child_end end = { .child = ask->child, .how = KS_END_NO_EXEC, .code = ENOMEM };
    struct ks_launch launch;
    struct ks_child *c = NULL;

    if (ks_launch_unpack(ask, fds, n_fds, &launch, NULL) < 0) {
        end.code = EPROTO;
        ks_loop_post_end(l, &end);
        return;
    }
    if (has_room(l))
        (void)ks_child_start(&launch, l->null_fd, &c, &end.code, NULL);
    ks_launch_release(&launch);
    if (!c) {
        ks_loop_post_end(l, &end);
        return;
    }
    l->children[l->n++] = c;
}

static void kill_by_id(struct ks_loop *l, uint32_t id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->children[i]->id == id)
            ks_child_kill(l->children[i], KS_END_KILLED, ks_now_ns());
}

static void obey(struct ks_loop *l, const struct ks_wire_ask *ask, const int *fds, size_t n_fds)
{
    switch (ask->kind) {
    case KS_ASK_SPAWN:
        spawn(l, ask, fds, n_fds);
        break;
    case KS_ASK_KILL:
        kill_by_id(l, ask->child);
        break;
    case KS_ASK_PING:
        ks_loop_post_end(l, &(struct ks_child_end){ 0 });
        break;
    default:
        l->launcher = (pid_t)ask->child;
    }
}

static void receive(struct ks_loop *l)
{
    for (;;) {
        struct ks_wire_ask ask = { 0 };
        int fds[KS_WIRE_FDS];
        size_t n_fds = 0;
        ssize_t n = ks_wire_receive(l->sock, &ask, sizeof(ask), fds, &n_fds);

        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && errno == EMFILE && ask.kind == KS_ASK_SPAWN) {
            ks_loop_post_end(l, &(struct ks_child_end){
                                    .child = ask.child, .how = KS_END_NO_EXEC, .code = EMFILE });
            continue;
        }
        if (n != (ssize_t)sizeof(ask)) { /* closed: the rank is gone or wants the end */
            l->is_ending = true;
            return;
        }
        obey(l, &ask, fds, n_fds);
    }
}

static void read_signals(struct ks_loop *l)
{
    struct signalfd_siginfo s;

    while (read(l->signal_fd, &s, sizeof(s)) == (ssize_t)sizeof(s))
        continue;
    if (getppid() != l->rank)
        l->is_ending = true;
}

/* ---- the loop ---- */

static struct timespec until(const struct ks_loop *l)
{
    uint64_t now = ks_now_ns(), wake = now + 3600 * 1000000000ull;

    for (size_t i = 0; i < l->n; i++) {
        uint64_t look = ks_child_next_look(l->children[i], now);
        if (look < wake)
            wake = look;
    }
    uint64_t left = wake > now ? wake - now : 0;
    return (struct timespec){ .tv_sec = (time_t)(left / 1000000000u),
                              .tv_nsec = (long)(left % 1000000000u) };
}

static void wait_for_something(struct ks_loop *l)
{
    struct timespec t = until(l);

    l->polls[0] =
        (struct pollfd){ .fd = l->sock, .events = (short)(l->notes ? POLLIN | POLLOUT : POLLIN) };
    l->polls[1] = (struct pollfd){ .fd = l->signal_fd, .events = POLLIN };
    for (size_t i = 0; i < l->n; i++)
        l->polls[N_FIXED + i] =
            (struct pollfd){ .fd = l->children[i]->output_fd, .events = POLLIN };
    if (ppoll(l->polls, N_FIXED + l->n, &t, NULL) < 0)
        memset(l->polls, 0, (N_FIXED + l->n) * sizeof(*l->polls)); /* revents are not valid */
    for (size_t i = 0; i < l->n; i++)
        ks_child_count_wake(l->children[i]);
}

/* Closing the last descriptor of a GPU takes its driver down, and the next worker waits a second or
 * two for it. Opened behind the worker, which waited for that anyway. */
static void hold_files(struct ks_loop *l, struct ks_child *c)
{
    if (!c->hold_prefix[0] || !c->page || c->is_reaped || c->page->magic != KS_STATUS_MAGIC ||
        (c->page->phase <= KS_PH_SETUP && c->page->n_done == 0))
        return;
    ks_hold_files(&l->hold, c->pid, c->hold_prefix);
    c->hold_prefix[0] = '\0';
}

static void turn(struct ks_loop *l)
{
    size_t n = l->n; /* those polled: requests add more */

    wait_for_something(l);
    for (size_t i = 0; i < n; i++)
        if (l->polls[N_FIXED + i].revents)
            ks_child_drain(l->children[i]);
    if (l->polls[1].revents)
        read_signals(l);
    if (l->polls[0].revents)
        receive(l);
    ks_loop_reap(l);
    for (size_t i = 0; i < l->n; i++) {
        ks_child_watch(l->children[i], ks_now_ns());
        hold_files(l, l->children[i]);
    }
    send_notes(l);
}

/* ---- start and end ---- */

/* Sanitizers report on stderr; a rank without one does not get a pipe there. */
static bool is_kept(int fd)
{
    return fd == STDERR_FILENO && fcntl(fd, F_GETFD) >= 0;
}

/* Only the socket, at 10 or above, and stderr stay; 0..9 hold /dev/null, so that every descriptor
 * opened from now on is above those the children get. */
static int own_fds(struct ks_loop *l)
{
    int null_fd, fd;

    l->sock = fcntl(l->sock, F_DUPFD_CLOEXEC, LOW_FDS);
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (l->sock < 0 || null_fd < 0)
        return -1;
    for (fd = 0; fd < LOW_FDS; fd++)
        if (fd != null_fd && !is_kept(fd) && dup3(null_fd, fd, O_CLOEXEC) < 0)
            return -1;
    l->null_fd = fcntl(null_fd, F_DUPFD_CLOEXEC, l->sock);
    if (l->null_fd < 0)
        return -1;
    for (fd = LOW_FDS; fd < l->null_fd; fd++)
        if (fd != l->sock)
            (void)close(fd);
    if (syscall(SYS_close_range, l->null_fd + 1, ~0u, 0) < 0)
        for (fd = l->null_fd + 1; fd < 1024; fd++) /* kernels before 5.9 */
            (void)close(fd);
    return 0;
}

/* The kernel announces the rank's death by a signal that can be waited for, not by SIGKILL:
 * somebody must live to kill grandchildren, which no PDEATHSIG reaches. */
static int own_signals(struct ks_loop *l)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigset_t set;

    for (int s = 1; s < SIGRTMIN; s++)
        if (s == SIGPIPE || ks_is_ignored_signal(s))
            (void)sigaction(s, &ignore, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGRTMIN);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
        return -1;
    l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->signal_fd < 0 || (prctl(PR_SET_PDEATHSIG, SIGRTMIN) < 0 && !ks_process_is_bare()))
        return -1;
    return getppid() == l->rank ? 0 : -1; /* it may have died before prctl */
}

static int begin(struct ks_loop *l)
{
    (void)prctl(PR_SET_NAME, "ksweep-warden");
    (void)setpgid(0, 0); /* a signal to the rank's group must not take away who cleans up */
    if (own_fds(l) < 0 || own_signals(l) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return -1;
    return has_room(l) ? 0 : -1;
}

/* It reads its ranks' stderr to the end before it counts them as gone. */
static void end_launcher(const struct ks_loop *l)
{
    if (!l->launcher)
        return;
    (void)dup3(l->null_fd, STDERR_FILENO, O_CLOEXEC);
    ks_launcher_end(l->launcher);
}

void ks_warden_serve(int sock, pid_t rank)
{
    struct ks_loop l = { .sock = sock, .rank = rank };
    int rc = begin(&l);

    while (rc == 0 && !l.is_ending)
        turn(&l);
    ks_loop_kill_all(&l);
    ks_dump_coverage();
    if (rc == 0)
        end_launcher(&l);
    _exit(rc == 0 ? 0 : 1);
}
