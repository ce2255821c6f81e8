/* SPDX-License-Identifier: MIT */
/* warden_waits.c - tests of the warden that take ten seconds and nothing of a CPU */
#include "warden_waits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the launcher above ---- */

enum rank_end { RANK_EXITS, RANK_KILLED, RANK_STOPS_ITS_WARDEN };

/* A launcher that does not want to end at the first SIGTERM, as mpirun with a lost host, and its
 * rank. Both write what they are. Returns how many SIGTERM came. */
static void launcher_of_test(int out, enum rank_end how, const char *name)
    __attribute__((noreturn));
static void launcher_of_test(int out, enum rank_end how, const char *name)
{
    const char *const names[] = { "no such name", "launcher-test", NULL };
    struct timespec limit = { .tv_sec = 60 };
    struct ks_child_end end;
    struct ks_warden *w;
    struct ks_err err;
    sigset_t term;
    int n = 0;

    (void)prctl(PR_SET_NAME, name);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &term, NULL);
    if (fork() == 0) {
        (void)prctl(PR_SET_NAME, "rank-test");
        if (ks_warden_start(&w, &err) < 0 || ks_warden_end_launcher(w, names, &err) < 0)
            _exit(1);
        run_script(w, "exit 0", spawn_of(NULL), &end); /* what was asked before is known */
        if (how == RANK_STOPS_ITS_WARDEN)
            ks_warden_stop(w);
        if (how == RANK_KILLED)
            (void)raise(SIGKILL);
        _exit(0);
    }
    if (how == RANK_STOPS_ITS_WARDEN || strcmp(name, names[1]) != 0)
        limit.tv_sec = 6; /* twice the time after which it would come */
    while (n < 2 && sigtimedwait(&term, NULL, &limit) == SIGTERM)
        n++;
    dprintf(out, "%d\n", n);
    _exit(0);
}

static const struct {
    enum rank_end how;
    const char *name;
    int n;
} launchers[WARDEN_LAUNCHERS] = {
    { RANK_EXITS, "launcher-test", 2 },
    { RANK_KILLED, "launcher-test", 2 },
    { RANK_STOPS_ITS_WARDEN, "launcher-test", 0 },
    { RANK_KILLED, "another-test", 0 },
};

void warden_launcher_begins(void **state)
{
    struct warden_waits *l = *state;

    for (size_t i = 0; i < N_ROWS(launchers); i++) {
        (void)talk_open(&l->launcher[i], NULL);
        l->pid[i] = fork();
        if (l->pid[i] == 0)
            launcher_of_test(l->launcher[i].from[1], launchers[i].how, launchers[i].name);
    }
}

void warden_launcher(void **state)
{
    struct warden_waits *l = *state;

    for (size_t i = 0; i < N_ROWS(launchers); i++) {
        assert_int_equal(talk_hear(&l->launcher[i]), launchers[i].n);
        assert_int_equal(waitpid(l->pid[i], NULL, 0), l->pid[i]);
        talk_close(&l->launcher[i]);
    }
}

/* ---- a child that the kernel does not give back ---- */

#define FREEZER "/sys/fs/cgroup/freezer"

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return is_done;
}

static void write_state(const struct warden_waits *l, const char *text)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/freezer.state", l->dir);
    assert_true(write_text(path, text));
}

void warden_abandoned_begins(void **state)
{
    static const char script[] = "echo $$ >$0/cgroup.procs && echo 1 >&3 && exec sleep 300";
    struct warden_waits *l = *state;
    char dir[] = FREEZER "/ksweep-test-XXXXXX";
    const char *argv[] = { "sh", "-c", script, dir, NULL };
    struct ks_spawn what;
    struct ks_err err;
    uint32_t child;

    if (access(FREEZER "/cgroup.procs", W_OK) != 0 || !mkdtemp(dir))
        return;
    snprintf(l->dir, sizeof(l->dir), "%s", dir);
    assert_int_equal(ks_warden_start(&l->warden, &err), 0);
    what = talk_open(&l->frozen, argv);
    child = must_spawn(l->warden, &what);
    assert_int_equal(talk_hear(&l->frozen), 1);
    write_state(l, "FROZEN");
    assert_int_equal(ks_warden_kill(l->warden, child, &err), 0);
}

void warden_abandoned(void **state)
{
    struct warden_waits *l = *state;
    struct ks_child_end end;

    if (!l->dir[0]) {
        print_message("# skipped: no writable freezer cgroup on this machine\n");
        skip();
    }
    must_end(l->warden, &end);
    assert_int_equal(end.how, KS_END_ABANDONED);
    assert_in_range(end.wall_ns, KS_REAP_LIMIT_NS, KS_REAP_LIMIT_NS + 3000 * MS);
    write_state(l, "THAWED");
    assert_gone_soon(end.pid); /* and its late end is not reported twice: */
    run_script(l->warden, "exit 0", spawn_of(NULL), &end);
    assert_int_equal(end.n_leftover, 0);
    while (rmdir(l->dir) < 0 && errno == EBUSY)
        ks_sleep_ns(MS);
    talk_close(&l->frozen);
    ks_warden_stop(l->warden);
}
