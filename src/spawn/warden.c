/* SPDX-License-Identifier: MIT */
/* warden.c - the rank's side: starting the warden, asking it, hearing from it. */
#include "spawn/warden.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "spawn/launcher.h"
#include "spawn/loop.h"
#include "spawn/procfs.h"
#include "spawn/wire.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#define AWAY_NS      1000000000ull /* a rank that did not look for so long was away itself */
#define PING_NS      1000000000ull /* at most so often: each answer wakes both processes */
#define PING_PART    4u            /* of the limit */
#define MAX_TASKS    512u
#define ASK_LIMIT_MS 2000 /* the warden reads within microseconds; longer means it is stopped */

struct ks_warden {
    int sock;
    pid_t pid;
    uint32_t last_child;
    bool is_dead, has_launcher;
    uint64_t pinged_ns, asked_ns; /* last time; since then without an answer, 0: answered */
    uint64_t watched_ns;
};

int ks_warden_start(struct ks_warden **w_out, struct ks_err *err)
{
    struct ks_warden *w = calloc(1, sizeof(*w));
    sigset_t all, before;
    int pair[2];
    pid_t rank = getpid();

    if (!w)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        free(w);
        return ks_fail_errno(err, "socket pair of the warden");
    }
    /* Nothing reaches the warden before it ignores what it must ignore. */
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    w->pid = fork();
    if (w->pid == 0) {
        free(w);
        close(pair[0]);
        ks_warden_serve(pair[1], rank);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    close(pair[1]);
    if (w->pid < 0) {
        int rc = ks_fail_errno(err, "forking the warden");
        close(pair[0]);
        free(w);
        return rc;
    }
    w->sock = pair[0];
    *w_out = w;
    return 0;
}

int ks_warden_fd(const struct ks_warden *w)
{
    return w->sock;
}

pid_t ks_warden_pid(const struct ks_warden *w)
{
    return w->pid;
}

/* ---- asking ---- */

static int send_ask(struct ks_warden *w, const struct ks_wire_ask *ask, const int *fds,
                    size_t n_fds, struct ks_err *err)
{
    struct pollfd p = { .fd = w->sock, .events = POLLOUT };

    if (w->is_dead)
        return ks_fail(err, KS_ECHILD, "the warden (pid %d) is gone", (int)w->pid);
    if (ks_wire_send(w->sock, ask, sizeof(*ask), fds, n_fds) == 0)
        return 0;
    if (errno == EAGAIN && poll(&p, 1, ASK_LIMIT_MS) == 1 &&
        ks_wire_send(w->sock, ask, sizeof(*ask), fds, n_fds) == 0)
        return 0;
    if (errno == EBADF || errno == ETOOMANYREFS)
        return ks_fail_errno(err, "passing descriptors to the warden");
    return ks_fail(err, KS_ECHILD, "the warden (pid %d) does not listen: %s", (int)w->pid,
                   strerror(errno));
}

/* Append strings with their NULs; the number, or KS_EINVAL. */
static int put_strings(struct ks_buf *b, const char *const *list, const char *what,
                       struct ks_err *err)
{
    int n = 0;

    for (; list && list[n]; n++) {
        if (n == KS_SPAWN_ARGS)
            return ks_fail(err, KS_EINVAL, "more than %d %s", KS_SPAWN_ARGS, what);
        ks_buf_put(b, list[n], strlen(list[n]) + 1);
    }
    return n;
}

static int pack_strings(const struct ks_spawn *what, struct ks_wire_ask *ask, struct ks_buf *b,
                        struct ks_err *err)
{
    int n_argv = put_strings(b, what->argv, "arguments", err), n_env = 0;

    if (n_argv >= 0)
        n_env = put_strings(b, what->env, "environment entries", err);
    if (n_argv < 0 || n_env < 0)
        return KS_EINVAL;
    if (n_argv == 0)
        return ks_fail(err, KS_EINVAL, "a child process needs at least argv[0]");
    if (what->cwd)
        ks_buf_put(b, what->cwd, strlen(what->cwd) + 1);
    if (what->scratch)
        ks_buf_put(b, what->scratch, strlen(what->scratch) + 1);
    if (!ks_buf_ok(b))
        return ks_fail(err, KS_ENOMEM, "out of memory");
    ask->n_argv = (uint32_t)n_argv;
    ask->n_env = (uint32_t)n_env;
    ask->has_cwd = what->cwd != NULL;
    ask->has_scratch = what->scratch != NULL;
    ask->n_payload = b->len;
    return 0;
}

/* A memfd with the bytes; negative KS_E* on failure. */
static int memfd_of(const struct ks_buf *b, struct ks_err *err)
{
    int fd = memfd_create("ksweep-spawn", MFD_CLOEXEC);

    if (fd < 0)
        return ks_fail_errno(err, "memfd of a spawn request");
    for (size_t at = 0; at < b->len;) {
        ssize_t k = write(fd, b->data + at, b->len - at);
        if (k <= 0) {
            int rc = ks_fail_errno(err, "memfd of a spawn request");
            close(fd);
            return rc;
        }
        at += (size_t)k;
    }
    return fd;
}

static size_t pack_fds(const struct ks_spawn *what, struct ks_wire_ask *ask, int *fds)
{
    size_t n = 1; /* 0 is the memfd of strings */

    for (int i = 0; i < KS_SPAWN_FDS; i++) {
        ask->has_fd[i] = what->fds[i] >= 0;
        if (ask->has_fd[i])
            fds[n++] = what->fds[i];
    }
    ask->has_status = what->status_fd >= 0;
    if (ask->has_status)
        fds[n++] = what->status_fd;
    return n;
}

/* sysinfo(2) has 16 bits for it; /proc/loadavg ("0.20 0.18 0.12 1/80 11206": 80) may be a
 * container's own. */
uint32_t ks_warden_task_limit(void)
{
    struct sysinfo s = { .procs = 0 };
    char text[128];
    const char *slash;
    uint32_t n;

    (void)sysinfo(&s);
    ks_file_first_line("/proc/loadavg", text, sizeof(text));
    slash = strchr(text, '/');
    n = slash ? (uint32_t)strtoul(slash + 1, NULL, 10) : 0;
    return MAX_TASKS + (n > s.procs ? n : s.procs);
}

int ks_warden_spawn(struct ks_warden *w, const struct ks_spawn *what, uint32_t *child_out,
                    struct ks_err *err)
{
    struct ks_wire_ask ask = { .kind = KS_ASK_SPAWN,
                               .child = w->last_child + 1,
                               .deadline_ns = what->deadline_ns,
                               .memory_bytes = what->memory_bytes,
                               .file_bytes = what->file_bytes,
                               .rss_bytes = what->rss_bytes,
                               .n_processes = what->n_processes,
                               .is_pinned = what->is_pinned,
                               .is_quiet = what->is_quiet,
                               .cpus = what->cpus,
                               .memory_nodes = what->memory_nodes };
    int fds[KS_WIRE_FDS] = { -1 }, rc;
    struct ks_buf strings;
    size_t n_fds;

    ks_buf_init(&strings);
    if (what->hold_prefix)
        snprintf(ask.hold_prefix, sizeof(ask.hold_prefix), "%s", what->hold_prefix);
    rc = pack_strings(what, &ask, &strings, err);
    if (rc < 0)
        goto out;
    rc = fds[0] = memfd_of(&strings, err);
    if (rc < 0)
        goto out;
    n_fds = pack_fds(what, &ask, fds);
    rc = send_ask(w, &ask, fds, n_fds, err);
    if (rc == 0)
        *child_out = ++w->last_child;
out:
    if (fds[0] >= 0)
        close(fds[0]);
    ks_buf_release(&strings);
    return rc < 0 ? ks_err_context(err, rc, "spawn") : 0;
}

int ks_warden_kill(struct ks_warden *w, uint32_t child, struct ks_err *err)
{
    struct ks_wire_ask ask = { .kind = KS_ASK_KILL, .child = child };

    return send_ask(w, &ask, NULL, 0, err);
}

/* ---- hearing ---- */

/* The children die with the warden (PDEATHSIG), but not their children. Nobody reaped the warden
 * yet, so its number in their marks is still its own. */
static int mourn(struct ks_warden *w, struct ks_err *err)
{
    w->is_dead = true;
    for (int i = 0; i < 100 && ks_proc_kill_marked(w->pid); i++)
        ks_sleep_ns(1000000); /* until none is left that could fork once more */
    return ks_fail(err, KS_ECHILD, "the warden (pid %d) is dead", (int)w->pid);
}

int ks_warden_next(struct ks_warden *w, struct ks_child_end *out, struct ks_err *err)
{
    struct ks_child_end end;
    int fds[KS_WIRE_FDS];
    size_t n_fds;
    ssize_t n;

    if (w->is_dead)
        return ks_fail(err, KS_ECHILD, "the warden (pid %d) is dead", (int)w->pid);
    n = ks_wire_receive(w->sock, &end, sizeof(end), fds, &n_fds);
    if (n < 0 && errno == ECONNRESET) /* told once, before packets that are still queued */
        n = ks_wire_receive(w->sock, &end, sizeof(end), fds, &n_fds);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n != (ssize_t)sizeof(end))
        return mourn(w, err);
    if (!end.child) {
        w->asked_ns = 0;
        return ks_warden_next(w, out, err);
    }
    *out = end;
    return 1;
}

static bool is_stopped(const struct ks_warden *w)
{
    struct ks_process p;

    return ks_process_read(w->pid, &p) && (p.state == 'T' || p.state == 't');
}

int ks_warden_watch(struct ks_warden *w, uint64_t now_ns, uint64_t limit_ns, struct ks_err *err)
{
    struct ks_wire_ask ping = { .kind = KS_ASK_PING };
    uint64_t rest_ns = limit_ns / PING_PART;

    if (w->is_dead)
        return ks_fail(err, KS_ECHILD, "the warden (pid %d) is dead", (int)w->pid);
    if (w->asked_ns && now_ns - w->watched_ns > AWAY_NS)
        w->asked_ns = now_ns;
    w->watched_ns = now_ns;
    if (!w->asked_ns) {
        if (now_ns - w->pinged_ns < (rest_ns > PING_NS ? rest_ns : PING_NS))
            return 0;
        w->pinged_ns = w->asked_ns = now_ns;
        return send_ask(w, &ping, NULL, 0, err);
    }
    uint64_t silence = now_ns - w->asked_ns;
    if (silence < limit_ns || (silence < KS_WARDEN_STUCK_NS && !is_stopped(w)))
        return 0;
    (void)kill(w->pid, SIGKILL);
    return mourn(w, err);
}

int ks_warden_end_launcher(struct ks_warden *w, const char *const *names, struct ks_err *err)
{
    struct ks_wire_ask ask = { .kind = KS_ASK_LAUNCHER,
                               .child = (uint32_t)ks_launcher_find(names) };

    w->has_launcher = ask.child != 0;
    return w->has_launcher ? send_ask(w, &ask, NULL, 0, err) : 0;
}

/* ---- the end ---- */

void ks_warden_stop(struct ks_warden *w)
{
    uint64_t end_ns = ks_now_ns() + KS_REAP_LIMIT_NS + 1000000000u;

    if (!w)
        return;
    if (w->has_launcher)
        (void)send_ask(w, &(struct ks_wire_ask){ .kind = KS_ASK_LAUNCHER }, NULL, 0, NULL);
    close(w->sock); /* its order to kill all children and leave */
    while (waitpid(w->pid, NULL, WNOHANG) == 0) {
        if (ks_now_ns() > end_ns)
            (void)kill(w->pid, SIGKILL);
        ks_sleep_ns(200000);
    }
    free(w);
}

const char *ks_end_text(enum ks_end how)
{
    static const char *const text[] = {
        [KS_END_EXITED] = "exited",       [KS_END_SIGNALED] = "killed by a signal",
        [KS_END_DEADLINE] = "deadline",   [KS_END_MEMORY] = "over its memory limit",
        [KS_END_KILLED] = "killed",       [KS_END_NO_EXEC] = "could not be started",
        [KS_END_ABANDONED] = "abandoned",
    };
    size_t i = (size_t)how;

    return i < sizeof(text) / sizeof(text[0]) && text[i] ? text[i] : "?";
}
