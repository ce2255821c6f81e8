/* SPDX-License-Identifier: MIT */
/* test_warden.c - the warden itself: deadlines, leftovers, many children, deaths above it */
/* waits: yes */
#include "record/outcome.h"
#include "spawn_util.h"
#include "tests/unit/temp_dir.h"
#include "warden_waits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the status page's deadline ---- */

static void test_page_deadline(void **state)
{
    struct ks_spawn what = spawn_of(NULL);
    struct ks_child_end end;
    struct ks_status *page;

    page = new_page(&what.status_fd);
    page->deadline_ns = ks_now_ns() + 200 * MS;
    run_script(*state, "exec sleep 30", what, &end);
    assert_int_equal(end.how, KS_END_DEADLINE);
    assert_in_range(end.wall_ns, 150 * MS, 3000 * MS);
    assert_true(page->peak_bytes > 100000); /* VmPeak was looked at */

    page->deadline_ns = ks_now_ns() + 60000 * MS; /* the earlier one counts */
    what.deadline_ns = ks_now_ns() + 100 * MS;
    run_script(*state, "exec sleep 30", what, &end);
    assert_int_equal(end.how, KS_END_DEADLINE);
    assert_in_range(end.wall_ns, 50 * MS, 3000 * MS);

    /* A descriptor that is no page is not watched, and does not hurt. */
    assert_int_equal(page->magic, KS_STATUS_MAGIC);
    free_page(page, what.status_fd);
    what.status_fd = memfd_create("short", MFD_CLOEXEC);
    what.deadline_ns = 0;
    run_script(*state, "exit 4", what, &end);
    assert_int_equal(end.code, 4);
    close(what.status_fd);
}

/* The worker moves its deadline while it runs: forth, back, and a kernel overwrites the page. */
static void test_page_deadline_moves(void **state)
{
    static const struct {
        uint64_t first_ms, then_ms;
        uint32_t magic;
        bool is_measuring;
        uint64_t least_ms, most_ms;
    } row[] = {
        { 60000, 200, KS_STATUS_MAGIC, false, 190, 3000 },
        { 60000, 200, KS_STATUS_MAGIC, true, 190, 3000 },
        { 300, 600, KS_STATUS_MAGIC, false, 590, 3000 },
        { 300, 60000, 0x31313131, false, 290, 3000 },
    };
    const char *argv[] = { "sleep", "30", NULL };

    for (size_t i = 0; i < N_ROWS(row); i++) {
        struct ks_spawn what = spawn_of(argv);
        uint64_t t0 = ks_now_ns();
        struct ks_child_end end;
        struct ks_status *page;

        page = new_page(&what.status_fd);
        page->is_measuring = row[i].is_measuring;
        page->deadline_ns = t0 + row[i].first_ms * MS;
        must_spawn(*state, &what);
        ks_sleep_ns(120 * MS);
        page->magic = row[i].magic;
        page->deadline_ns = t0 + row[i].then_ms * MS;
        must_end(*state, &end);
        assert_int_equal(end.how, KS_END_DEADLINE);
        assert_in_range((ks_now_ns() - t0) / MS, row[i].least_ms, row[i].most_ms);
        free_page(page, what.status_fd);
    }
}

/* ---- leftovers ---- */

static void test_leftovers(void **state)
{
    static const struct {
        const char *script;
        enum ks_end how;
    } row[] = {
        { "sh -c 'echo $$ >&3; exec sleep 300' & read x <&4; exit 2", KS_END_EXITED },
        { "setsid sh -c 'echo $$ >&3; exec sleep 300' & read x <&4; exit 2", KS_END_EXITED },
        { "(setsid sh -c 'echo $$ >&3; exec sleep 300' &) ; read x <&4; exit 2", KS_END_EXITED },
        { "(setsid env -i sh -c 'echo $$ >&3; exec sleep 300' &) ; read x <&4; kill -9 $$",
          KS_END_SIGNALED },
    };

    for (size_t i = 0; i < N_ROWS(row); i++) {
        const char *argv[] = { "sh", "-c", row[i].script, NULL };
        struct ks_child_end end;
        struct ks_spawn what;
        struct talk t;
        pid_t pid;

        what = talk_open(&t, argv);
        must_spawn(*state, &what);
        pid = talk_hear(&t);
        assert_false(is_gone(pid));
        talk_go_on(&t);
        must_end(*state, &end);
        assert_int_equal(end.how, row[i].how);
        assert_int_equal(end.n_leftover, 1);
        assert_gone_soon(pid);
        talk_close(&t);
    }
}

/* A daemon of a child that still lives is not the business of another child's end. */
static void test_leftover_of_another(void **state)
{
    const char *argv[] = { "sh", "-c",
                           "(setsid sh -c 'echo $$ >&3; exec sleep 300' &) ; read x <&4", NULL };
    struct ks_child_end end;
    struct ks_spawn what;
    uint32_t child;
    struct talk t;
    pid_t pid;

    what = talk_open(&t, argv);
    child = must_spawn(*state, &what);
    pid = talk_hear(&t);
    const char *other[] = { "true", NULL };
    struct ks_spawn quick = spawn_of(other);
    must_spawn(*state, &quick);
    must_end(*state, &end);
    assert_int_not_equal(end.child, child);
    assert_int_equal(end.n_leftover, 0);
    assert_false(is_gone(pid));
    talk_go_on(&t);
    must_end(*state, &end);
    assert_int_equal(end.child, child);
    assert_int_equal(end.n_leftover, 1);
    assert_gone_soon(pid);
    talk_close(&t);
}

/* ---- many, and often ---- */

static void test_concurrent(void **state)
{
    enum { N = 50 };
    uint32_t first = 0;
    bool seen[N] = { false };
    uint64_t t0 = ks_now_ns();

    for (int i = 0; i < N; i++) {
        char script[64];
        const char *argv[] = { "sh", "-c", script, NULL };
        struct ks_spawn what = spawn_of(argv);
        snprintf(script, sizeof(script), "echo %d; sleep 0.5; exit %d", i, i);
        uint32_t child = must_spawn(*state, &what);
        first = i ? first : child;
        assert_int_equal(child, first + (uint32_t)i);
    }
    for (int i = 0; i < N; i++) {
        struct ks_child_end end;
        char want[16];
        must_end(*state, &end);
        uint32_t k = end.child - first;
        assert_true(k < N && !seen[k]);
        seen[k] = true;
        assert_int_equal(end.how, KS_END_EXITED);
        assert_int_equal(end.code, k);
        snprintf(want, sizeof(want), "%u\n", k);
        assert_tail(&end, want);
    }
    assert_true(ks_now_ns() - t0 < 15000 * MS); /* one after the other: 25 s */
}

static void test_no_leak(void **state)
{
    const char *good[] = { "true", NULL }, *bad[] = { "/no/such/program", NULL };
    struct ks_warden *w = *state;
    struct ks_status *page;
    size_t theirs = 0, ours = 0;
    int fd;

    page = new_page(&fd);
    for (int round = 0; round < 26; round++) {
        if (round == 1) { /* the first round warmed up */
            theirs = count_fds(ks_warden_pid(w));
            ours = count_fds(getpid());
        }
        for (int i = 0; i < 20; i++) {
            struct ks_spawn what = spawn_of(i % 3 ? good : bad);
            what.fds[i % 4] = what.status_fd = i % 2 ? fd : -1;
            must_spawn(w, &what);
        }
        for (int i = 0; i < 20; i++)
            must_end(w, &(struct ks_child_end){ 0 });
    }
    assert_int_equal(count_fds(ks_warden_pid(w)), theirs);
    assert_int_equal(count_fds(getpid()), ours);
    free_page(page, fd);
}

/* More ends than the socket holds, while the rank is busy elsewhere. */
static void test_slow_rank(void **state)
{
    const char *argv[] = { "true", NULL };
    struct ks_spawn what = spawn_of(argv);
    enum { N = 200 };
    bool seen[N] = { false };
    uint32_t first = 0;

    for (int i = 0; i < N; i++) {
        uint32_t child = must_spawn(*state, &what);
        first = i ? first : child;
    }
    ks_sleep_ns(700 * MS);
    for (int i = 0; i < N; i++) {
        struct ks_child_end end;
        must_end(*state, &end);
        assert_true(end.child - first < N && !seen[end.child - first]);
        seen[end.child - first] = true;
        assert_int_equal(end.how, KS_END_EXITED);
    }
}

/* A warden out of descriptors says so, and is well again when children have ended. */
static void test_out_of_descriptors(void **state)
{
    const char *argv[] = { "sleep", "300", NULL };
    struct ks_spawn what = spawn_of(argv);
    struct rlimit before, few;
    struct ks_child_end end;
    uint32_t child[20], n_failed = 0;
    struct ks_warden *w;
    struct ks_err err;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){ .rlim_cur = 40, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(ks_warden_start(&w, &err), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    what.fds[0] = what.fds[3] = STDERR_FILENO;
    for (size_t i = 0; i < N_ROWS(child); i++)
        child[i] = must_spawn(w, &what);
    for (size_t i = 0; i < N_ROWS(child); i++)
        assert_int_equal(ks_warden_kill(w, child[i], &err), 0);
    for (size_t i = 0; i < N_ROWS(child); i++) {
        must_end(w, &end);
        if (end.how != KS_END_NO_EXEC) {
            assert_int_equal(end.how, KS_END_KILLED);
            continue;
        }
        assert_int_equal(end.code, EMFILE);
        n_failed++;
    }
    assert_in_range(n_failed, 1, 15);
    run_script(w, "exit 9", spawn_of(NULL), &end);
    assert_int_equal(end.code, 9);
    ks_warden_stop(w);
}

/* A warden that does not read (somebody stopped it) is an error within seconds, not a hang. */
static void test_stopped_warden(void **state)
{
    const char *argv[] = { "/no/such/program", NULL };
    struct ks_spawn what = spawn_of(argv);
    uint64_t t0 = ks_now_ns();
    struct ks_err err;
    uint32_t child;
    int rc = 0;

    assert_int_equal(kill(ks_warden_pid(*state), SIGSTOP), 0);
    for (int i = 0; i < 5000 && rc == 0; i++)
        rc = ks_warden_spawn(*state, &what, &child, &err);
    assert_int_equal(rc, KS_ECHILD);
    assert_in_range(ks_now_ns() - t0, 1000 * MS, 10000 * MS);
    assert_int_equal(kill(ks_warden_pid(*state), SIGCONT), 0);
    must_end(*state, &(struct ks_child_end){ 0 });
}

static int watch_for(struct ks_warden *w, uint64_t ns, uint64_t limit_ns, struct ks_err *err)
{
    struct ks_child_end end;
    int rc = 0;

    for (uint64_t t0 = ks_now_ns(); rc == 0 && ks_now_ns() - t0 < ns; ks_sleep_ns(5 * MS)) {
        rc = ks_warden_next(w, &end, err);
        assert_int_not_equal(rc, 1); /* answers are no ends */
        if (rc == 0)
            rc = ks_warden_watch(w, ks_now_ns(), limit_ns, err);
    }
    return rc;
}

/* One that is stopped counts as gone after the limit, and is gone; neither one that answers does,
 * nor one that was not asked while its rank was stopped, too. */
static void test_watch(void **state)
{
    struct ks_warden *w;
    struct ks_err err;
    uint64_t t0;

    (void)state;
    assert_int_equal(ks_warden_start(&w, &err), 0);
    assert_int_equal(watch_for(w, 1500 * MS, 300 * MS, &err), 0);
    assert_int_equal(kill(ks_warden_pid(w), SIGSTOP), 0);
    assert_int_equal(watch_for(w, 1100 * MS, 5000 * MS, &err), 0);
    ks_sleep_ns(2000 * MS);
    assert_int_equal(ks_warden_watch(w, ks_now_ns(), 1000 * MS, &err), 0);
    assert_int_equal(kill(ks_warden_pid(w), SIGCONT), 0);
    assert_int_equal(watch_for(w, 1500 * MS, 1000 * MS, &err), 0);

    assert_int_equal(kill(ks_warden_pid(w), SIGSTOP), 0);
    t0 = ks_now_ns();
    assert_int_equal(watch_for(w, 20000 * MS, 1500 * MS, &err), KS_ECHILD);
    assert_in_range(ks_now_ns() - t0, 1500 * MS, 10000 * MS);
    assert_int_equal(ks_warden_watch(w, ks_now_ns(), 1500 * MS, &err), KS_ECHILD);
    assert_gone_soon(ks_warden_pid(w));
    ks_warden_stop(w);
}

/* ---- deaths above ---- */

static void test_signals_to_warden(void **state)
{
    static const int sig[] = { SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP, SIGPIPE };
    struct ks_child_end end;

    for (size_t i = 0; i < N_ROWS(sig); i++)
        assert_int_equal(kill(ks_warden_pid(*state), sig[i]), 0);
    run_script(*state, "exit 6", spawn_of(NULL), &end);
    assert_int_equal(end.code, 6);
}

static const char *const family[] = {
    "sh", "-c",
    "echo $$ >&3; sh -c 'echo $$ >&3; sleep 300 & wait' & "
    "setsid sh -c 'trap \"\" TERM HUP; echo $$ >&3; exec sleep 300' & wait",
    NULL
};

static void test_stop(void **state)
{
    struct ks_warden *w;
    struct ks_spawn what;
    struct ks_err err;
    struct talk t;
    pid_t pid[3], warden;

    (void)state;
    assert_int_equal(ks_warden_start(&w, &err), 0);
    warden = ks_warden_pid(w);
    what = talk_open(&t, family);
    must_spawn(w, &what);
    for (int i = 0; i < 3; i++)
        pid[i] = talk_hear(&t);
    ks_warden_stop(w);
    assert_true(is_gone(warden));
    for (int i = 0; i < 3; i++)
        assert_gone_soon(pid[i]);
    ks_warden_stop(NULL);
    talk_close(&t);
}

static void test_warden_killed(void **state)
{
    struct ks_child_end end;
    struct ks_warden *w;
    struct ks_spawn what;
    struct ks_err err;
    uint32_t child = 0;
    struct talk t;
    pid_t pid[3];
    int rc;

    (void)state;
    assert_int_equal(ks_warden_start(&w, &err), 0);
    what = talk_open(&t, family);
    must_spawn(w, &what);
    for (int i = 0; i < 3; i++)
        pid[i] = talk_hear(&t);
    assert_int_equal(ks_warden_next(w, &end, &err), 0);
    assert_int_equal(kill(ks_warden_pid(w), SIGKILL), 0);
    for (int i = 0; i < 2000 && (rc = ks_warden_next(w, &end, &err)) == 0; i++)
        ks_sleep_ns(MS);
    assert_int_equal(rc, KS_ECHILD);
    assert_int_equal(ks_warden_next(w, &end, &err), KS_ECHILD);
    assert_int_equal(ks_warden_spawn(w, &what, &child, &err), KS_ECHILD);
    assert_int_equal(ks_warden_kill(w, 1, &err), KS_ECHILD);
    for (int i = 0; i < 3; i++)
        assert_gone_soon(pid[i]);
    ks_warden_stop(w);
    talk_close(&t);
}

static void rank_of_test(struct talk *t) __attribute__((noreturn));
static void rank_of_test(struct talk *t)
{
    struct ks_spawn what = spawn_of(family);
    struct ks_warden *w;
    struct ks_err err;
    uint32_t child;

    if (ks_warden_start(&w, &err) < 0)
        _exit(1);
    dprintf(t->from[1], "%d\n", (int)ks_warden_pid(w));
    what.fds[0] = t->from[1];
    if (ks_warden_spawn(w, &what, &child, &err) < 0)
        _exit(1);
    for (char c; read(t->to[0], &c, 1) == 1;)
        _exit(0); /* without stopping the warden */
    _exit(1);
}

static void test_rank_dies(void **state)
{
    (void)state;
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        struct talk t;
        pid_t rank, pid[4];

        (void)talk_open(&t, NULL);
        rank = fork();
        if (rank == 0)
            rank_of_test(&t);
        for (int i = 0; i < 4; i++) {
            pid[i] = talk_hear(&t);
            assert_false(is_gone(pid[i]));
        }
        if (is_killed)
            assert_int_equal(kill(rank, SIGKILL), 0);
        else
            talk_go_on(&t);
        assert_int_equal(waitpid(rank, NULL, 0), rank);
        for (int i = 0; i < 4; i++)
            assert_gone_soon(pid[i]);
        talk_close(&t);
    }
}

/* ---- device files ---- */

static bool has_open(pid_t pid, const char *path)
{
    char dir[32], link[256];
    bool is_open = false;
    DIR *d;

    snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)pid);
    d = opendir(dir);
    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

        link[n < 0 ? 0 : n] = '\0';
        is_open |= strcmp(link, path) == 0;
    }
    closedir(d);
    return is_open;
}

/* What the child has open of the named files stays open in the warden, from when it is set up. */
static void test_holds_device_files(void **state)
{
    static const char *const names[] = { "gpu7", "gpu", "gpuctl" };
    char dir[TEMP_DIR_MAX], path[3][TEMP_DIR_MAX + 16], prefix[TEMP_DIR_MAX + 16], script[512];
    const char *argv[] = { "sh", "-c", script, NULL };
    const pid_t warden = ks_warden_pid(*state);
    struct ks_status *page;
    struct ks_child_end end;
    struct ks_spawn what;
    struct talk t;

    temp_dir_make(dir, sizeof(dir));
    for (int i = 0; i < 3; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s", dir, names[i]);
        assert_true(close(open(path[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
    }
    snprintf(prefix, sizeof(prefix), "%s/gpu", dir);
    snprintf(script, sizeof(script), "exec 7<%s 8<%s 9<%s; echo $$ >&3; read x <&4", path[0],
             path[1], path[2]);
    what = talk_open(&t, argv);
    what.hold_prefix = prefix;
    page = new_page(&what.status_fd);
    page->phase = KS_PH_SETUP;
    must_spawn(*state, &what);
    (void)talk_hear(&t);
    ks_sleep_ns(60 * MS); /* it has looked by now */
    assert_false(has_open(warden, path[0]));
    page->phase = KS_PH_REFERENCE;
    for (int i = 0; i < 1000 && !has_open(warden, path[0]); i++)
        ks_sleep_ns(5 * MS);
    talk_go_on(&t);
    must_end(*state, &end);
    assert_int_equal(end.how, KS_END_EXITED);
    assert_true(has_open(warden, path[0]));
    assert_false(has_open(warden, path[1]) || has_open(warden, path[2]));
    free_page(page, what.status_fd);
    talk_close(&t);
    for (int i = 0; i < 3; i++)
        assert_int_equal(unlink(path[i]), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    struct warden_waits waits = { .dir = "" };
#define WAITING(f) cmocka_unit_test_prestate(f, &waits)
    const struct CMUnitTest tests[] = {
        WAITING(warden_launcher_begins),
        WAITING(warden_abandoned_begins),
        WITH_WARDEN(test_holds_device_files),
        WITH_WARDEN(test_page_deadline),
        WITH_WARDEN(test_page_deadline_moves),
        WITH_WARDEN(test_leftovers),
        WITH_WARDEN(test_leftover_of_another),
        WITH_WARDEN(test_concurrent),
        WITH_WARDEN(test_no_leak),
        WITH_WARDEN(test_slow_rank),
        WITH_WARDEN(test_stopped_warden),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_out_of_descriptors),
        WITH_WARDEN(test_signals_to_warden),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_warden_killed),
        cmocka_unit_test(test_rank_dies),
        WAITING(warden_launcher),
        WAITING(warden_abandoned),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("warden", tests, NULL, NULL);
}
