/* SPDX-License-Identifier: MIT */
/* launch.c - from a request to a process: all that happens before exec. */
#include "base/clock.h"
#include "base/file.h"
#include "spawn/child.h"
#include "spawn/leave.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

#define NODE_BITS  65u /* the kernel reads one bit less than it is told */
#define QUIET_NICE 10

static char *read_payload(int fd, size_t n)
{
    char *text = malloc(n + 1);
    size_t have = 0;

    while (text && have < n) {
        ssize_t k = pread(fd, text + have, n - have, (off_t)have);
        if (k <= 0) {
            free(text);
            return NULL;
        }
        have += (size_t)k;
    }
    if (text)
        text[n] = '\0';
    return text;
}

/* The next of the payload's strings; NULL when it has no more. */
static char *next_string(struct ks_launch *l, size_t *at)
{
    char *s = l->payload + *at;

    if (*at >= l->ask.n_payload)
        return NULL;
    *at += strlen(s) + 1;
    return s;
}

static bool same_key(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");

    return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* The inherited environment without what the request sets, then the request's, then the mark by
 * which leftovers are told. */
static void merge_env(struct ks_launch *l, char *const *added, size_t n_added)
{
    size_t n = 0;

    for (char **e = environ; *e; e++) {
        bool is_set = same_key(KS_PROC_MARK, *e);
        for (size_t i = 0; i < n_added && !is_set; i++)
            is_set = same_key(added[i], *e);
        if (!is_set)
            l->env[n++] = *e;
    }
    for (size_t i = 0; i < n_added; i++)
        l->env[n++] = added[i];
    l->env[n++] = l->mark;
}

static size_t count_env(void)
{
    size_t n = 0;

    while (environ[n])
        n++;
    return n;
}

static int unpack_strings(struct ks_launch *l, struct ks_err *err)
{
    char *added[KS_SPAWN_ARGS];
    size_t at = 0;

    if (l->ask.n_argv < 1 || l->ask.n_argv > KS_SPAWN_ARGS || l->ask.n_env > KS_SPAWN_ARGS)
        return ks_fail(err, KS_EPROTO, "spawn request with %u arguments", l->ask.n_argv);
    l->argv = calloc(l->ask.n_argv + 1u, sizeof(*l->argv));
    l->env = calloc(count_env() + l->ask.n_env + 2u, sizeof(*l->env));
    if (!l->argv || !l->env ||
        asprintf(&l->mark, KS_PROC_MARK "%d:%u", (int)getpid(), l->ask.child) < 0)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < l->ask.n_argv; i++)
        l->argv[i] = next_string(l, &at);
    for (uint32_t i = 0; i < l->ask.n_env; i++)
        added[i] = next_string(l, &at);
    l->cwd = l->ask.has_cwd ? next_string(l, &at) : NULL;
    l->scratch = l->ask.has_scratch ? next_string(l, &at) : NULL;
    if (at != l->ask.n_payload || !l->argv[l->ask.n_argv - 1])
        return ks_fail(err, KS_EPROTO, "spawn request of %zu bytes ends at %zu",
                       (size_t)l->ask.n_payload, at);
    merge_env(l, added, l->ask.n_env);
    return 0;
}

static size_t count_fds(const struct ks_wire_ask *ask)
{
    size_t n = 1u + ask->has_status; /* the payload, and these */

    for (size_t i = 0; i < KS_SPAWN_FDS; i++)
        n += ask->has_fd[i];
    return n;
}

int ks_launch_unpack(const struct ks_wire_ask *ask, const int *fds, size_t n_fds,
                     struct ks_launch *out, struct ks_err *err)
{
    struct ks_launch l = { .ask = *ask, .status_fd = -1, .fds = { -1, -1, -1, -1 } };
    size_t n = 1;
    int rc;

    if (n_fds != count_fds(ask)) {
        for (size_t i = 0; i < n_fds; i++)
            close(fds[i]);
        return ks_fail(err, KS_EPROTO, "spawn request with %zu descriptors instead of %zu", n_fds,
                       count_fds(ask));
    }
    for (size_t i = 0; i < KS_SPAWN_FDS; i++)
        l.fds[i] = ask->has_fd[i] ? fds[n++] : -1;
    if (ask->has_status)
        l.status_fd = fds[n];
    l.payload = read_payload(fds[0], ask->n_payload);
    close(fds[0]);
    if (!l.payload)
        rc = ks_fail(err, KS_EIO, "spawn request whose strings cannot be read");
    else
        rc = unpack_strings(&l, err);
    if (rc < 0) {
        ks_launch_release(&l);
        return rc;
    }
    *out = l;
    return 0;
}

void ks_launch_release(struct ks_launch *l)
{
    for (size_t i = 0; i < KS_SPAWN_FDS; i++)
        ks_fd_close(&l->fds[i]);
    ks_fd_close(&l->status_fd);
    free(l->payload);
    free(l->argv);
    free(l->env);
    free(l->mark);
    *l = (struct ks_launch){ .fds = { -1, -1, -1, -1 }, .status_fd = -1 };
}

/* ---- between fork and exec: system calls only ---- */

static int limit_to(int what, uint64_t value)
{
    struct rlimit r = { .rlim_cur = value, .rlim_max = value };

    return setrlimit(what, &r);
}

/* A lower limit of the user's own holds already. */
static int limit_below(int what, uint64_t n)
{
    struct rlimit now;

    if (getrlimit(what, &now) == 0 && now.rlim_max < n)
        n = now.rlim_max;
    return limit_to(what, n);
}

/* A user may not raise a priority, so who is below already stays there. */
static int step_back(void)
{
    int own = getpriority(PRIO_PROCESS, 0);
    return own < QUIET_NICE ? setpriority(PRIO_PROCESS, 0, QUIET_NICE) : 0;
}

static int set_limits(const struct ks_wire_ask *ask)
{
    if (limit_to(RLIMIT_CORE, 0))
        return -1;
    if (ask->memory_bytes && limit_to(RLIMIT_AS, ask->memory_bytes))
        return -1;
    if (ask->file_bytes && limit_below((int)RLIMIT_FSIZE, ask->file_bytes))
        return -1;
    if (ask->n_processes && limit_below((int)RLIMIT_NPROC, ask->n_processes))
        return -1;
    if (ask->is_pinned && sched_setaffinity(0, sizeof(ask->cpus), &ask->cpus))
        return -1;
    if (ask->memory_nodes) /* a container may forbid it: the child tells what it got */
        (void)syscall(SYS_set_mempolicy, MPOL_BIND, &ask->memory_nodes, NODE_BITS);
    return ask->is_quiet ? step_back() : 0;
}

/* Slurm signals every process of a step, compilers too: the ignored ones stay ignored over exec. */
static void set_signals(void)
{
    struct sigaction dfl = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (int s = 1; s <= SIGRTMAX; s++)
        if (!ks_is_ignored_signal(s))
            (void)sigaction(s, &dfl, NULL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* All sources are 10 or above (loop.c keeps the numbers below busy), so no dup2 hits one of them.
 */
static int set_fds(const struct ks_launch *l, int null_fd, int output_fd)
{
    if (dup2(null_fd, 0) < 0 || dup2(output_fd, 1) < 0 || dup2(output_fd, 2) < 0)
        return -1;
    for (int i = 0; i < KS_SPAWN_FDS; i++) {
        if (l->fds[i] < 0)
            (void)close(3 + i);
        else if (dup2(l->fds[i], 3 + i) < 0)
            return -1;
    }
    /* All of them are close-on-exec already; this is the second lock, missing on old kernels. */
    (void)syscall(SYS_close_range, 3u + KS_SPAWN_FDS, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
    return 0;
}

static void run_child(const struct ks_launch *l, int null_fd, int output_fd, int exec_fd,
                      pid_t warden) __attribute__((noreturn));
static void run_child(const struct ks_launch *l, int null_fd, int output_fd, int exec_fd,
                      pid_t warden)
{
    int e;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != warden) /* it died before prctl */
        _exit(127);
    (void)setpgid(0, 0);
    if (set_fds(l, null_fd, output_fd) == 0 && set_limits(&l->ask) == 0 &&
        (!l->cwd || chdir(l->cwd) == 0)) {
        set_signals();
        ks_dump_coverage();
        /* glibc's execvpe neither allocates nor locks, and this process has one thread. */
        (void)execvpe(l->argv[0], l->argv, l->env);
    }
    e = errno;
    while (write(exec_fd, &e, sizeof(e)) < 0 && errno == EINTR)
        continue;
    _exit(127);
}

/* ---- in the warden ---- */

/* NULL for a descriptor that is no status page: its deadline is then not watched. Sealed, so that a
 * kernel that truncates descriptor 5 cannot pull the page from under the warden. */
static struct ks_status *map_page(int fd)
{
    struct stat st;
    void *p;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct ks_status))
        return NULL;
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    p = mmap(NULL, sizeof(struct ks_status), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

static int open_pipes(int output[2], int exec[2])
{
    if (pipe2(output, O_CLOEXEC) < 0)
        return -1;
    if (fcntl(output[0], F_SETFL, O_NONBLOCK) < 0 || pipe2(exec, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    return 0;
}

int ks_child_start(struct ks_launch *l, int null_fd, struct ks_child **child_out, int *errno_out,
                   struct ks_err *err)
{
    int output[2] = { -1, -1 }, exec[2] = { -1, -1 }, rc = 0;
    struct ks_child *c = calloc(1, sizeof(*c));
    pid_t self = getpid();

    errno = ENOMEM;
    if (!c || (l->scratch && !(c->scratch = strdup(l->scratch))) || open_pipes(output, exec) < 0 ||
        (c->pid = fork()) < 0) {
        *errno_out = errno;
        rc = ks_fail_errno(err, "starting '%s'", l->argv[0]);
        free(c ? c->scratch : NULL);
        free(c);
        ks_fd_close(&output[0]);
        ks_fd_close(&exec[0]);
        goto out;
    }
    if (c->pid == 0)
        run_child(l, null_fd, output[1], exec[1], self);
    (void)setpgid(c->pid, c->pid); /* as the child does: whoever comes first */
    c->id = l->ask.child;
    c->output_fd = output[0];
    c->exec_fd = exec[0];
    c->page = map_page(l->status_fd);
    c->deadline_ns = l->ask.deadline_ns;
    c->rss_limit_bytes = l->ask.rss_bytes;
    memcpy(c->hold_prefix, l->ask.hold_prefix, sizeof(c->hold_prefix));
    c->started_ns = ks_now_ns();
    *child_out = c;
out:
    ks_fd_close(&output[1]);
    ks_fd_close(&exec[1]);
    return rc;
}

void ks_child_clean(struct ks_child *c)
{
    if (c->scratch)
        (void)ks_remove_tree(c->scratch, NULL);
    free(c->scratch);
    c->scratch = NULL;
}

void ks_child_destroy(struct ks_child *c)
{
    if (!c)
        return;
    ks_child_clean(c);
    ks_fd_close(&c->output_fd);
    ks_fd_close(&c->exec_fd);
    if (c->page)
        (void)munmap(c->page, sizeof(*c->page));
    free(c);
}
