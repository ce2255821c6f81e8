/* SPDX-License-Identifier: MIT */
/* test_spawn.c - one child of the warden: every way to end, what it starts with, what it prints */
/* waits: yes */
#include "record/outcome.h"
#include "spawn/child.h"
#include "spawn_util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- how a child ends ---- */

static void test_ends(void **state)
{
    static const struct {
        const char *script;
        uint64_t deadline_ms;
        enum ks_end how;
        int code;
    } row[] = {
        { "exit 0", 0, KS_END_EXITED, 0 },
        { "exit 7", 0, KS_END_EXITED, 7 },
        { "kill -SEGV $$", 0, KS_END_SIGNALED, SIGSEGV },
        { "kill -ABRT $$", 0, KS_END_SIGNALED, SIGABRT },
        { "kill -KILL $$", 0, KS_END_SIGNALED, SIGKILL },
        { "kill -PIPE $$", 0, KS_END_SIGNALED, SIGPIPE },
        { "exec sleep 30", 150, KS_END_DEADLINE, SIGKILL },
        { "sleep 30 & sleep 30", 150, KS_END_DEADLINE, SIGKILL },
        { "kill -STOP $$; exit 1", 150, KS_END_DEADLINE, SIGKILL },
        { "while :; do :; done", 150, KS_END_DEADLINE, SIGKILL },
        { "exit 3", 30000, KS_END_EXITED, 3 },
        /* What Slurm or a terminal sends to everybody does not end a child. */
        { "for s in USR1 USR2 TERM INT HUP; do kill -$s $$; done; exit 5", 0, KS_END_EXITED, 5 },
    };

    for (size_t i = 0; i < N_ROWS(row); i++) {
        struct ks_spawn what = spawn_of(NULL);
        struct ks_child_end end;

        if (row[i].deadline_ms)
            what.deadline_ns = ks_now_ns() + row[i].deadline_ms * MS;
        run_script(*state, row[i].script, what, &end);
        if (end.how != row[i].how || end.code != row[i].code)
            fail_msg("'%s': %s (%d)", row[i].script, ks_end_text(end.how), end.code);
        assert_true(end.pid > 1 && is_gone(end.pid));
        if (end.how == KS_END_DEADLINE)
            assert_in_range(end.wall_ns, 100 * MS, 5000 * MS);
        assert_int_equal(end.n_leftover, 0);
    }
}

static void test_exec_failure(void **state)
{
    static const struct {
        const char *program, *cwd;
        int code;
    } row[] = {
        { "/no/such/program", NULL, ENOENT },
        { "no-such-program-in-path", NULL, ENOENT },
        { "/proc", NULL, EACCES },
        { "true", "/no/such/directory", ENOENT },
    };

    for (size_t i = 0; i < N_ROWS(row); i++) {
        const char *argv[] = { row[i].program, NULL };
        struct ks_spawn what = spawn_of(argv);
        struct ks_child_end end;

        what.cwd = row[i].cwd;
        must_spawn(*state, &what);
        must_end(*state, &end);
        assert_int_equal(end.how, KS_END_NO_EXEC);
        assert_int_equal(end.code, row[i].code);
    }
}

static void test_kill(void **state)
{
    const char *argv[] = { "sleep", "30", NULL };
    struct ks_spawn what = spawn_of(argv);
    struct ks_child_end end;
    struct ks_err err;
    uint32_t a = must_spawn(*state, &what), b = must_spawn(*state, &what);

    assert_int_not_equal(a, b);
    assert_int_equal(ks_warden_kill(*state, 999999, &err), 0);
    assert_int_equal(ks_warden_kill(*state, b, &err), 0);
    must_end(*state, &end);
    assert_int_equal(end.child, b);
    assert_int_equal(end.how, KS_END_KILLED);
    assert_int_equal(ks_warden_next(*state, &end, &err), 0); /* a lives on */
    assert_int_equal(ks_warden_kill(*state, a, &err), 0);
    must_end(*state, &end);
    assert_int_equal(end.child, a);
}

static void test_bad_requests(void **state)
{
    const char *many[KS_SPAWN_ARGS + 2], *none[] = { NULL }, *one[] = { "true", NULL };
    struct ks_spawn what = spawn_of(none);
    uint32_t child = 77;
    struct ks_err err;

    for (size_t i = 0; i < KS_SPAWN_ARGS + 1; i++)
        many[i] = "x=1";
    many[KS_SPAWN_ARGS + 1] = NULL;
    assert_int_equal(ks_warden_spawn(*state, &what, &child, &err), KS_EINVAL);
    what.argv = many;
    assert_int_equal(ks_warden_spawn(*state, &what, &child, &err), KS_EINVAL);
    what.argv = one;
    what.env = many;
    assert_int_equal(ks_warden_spawn(*state, &what, &child, &err), KS_EINVAL);
    what.env = NULL;
    what.fds[1] = 987; /* not open */
    assert_int_equal(ks_warden_spawn(*state, &what, &child, &err), KS_EIO);
    assert_int_equal(child, 77);
    what.fds[1] = -1;
    must_spawn(*state, &what); /* the warden is still well */
    must_end(*state, &(struct ks_child_end){ 0 });
}

static void test_end_text(void **state)
{
    (void)state;
    assert_string_equal(ks_end_text(KS_END_DEADLINE), "deadline");
    assert_string_equal(ks_end_text(KS_END_ABANDONED), "abandoned");
    assert_string_equal(ks_end_text((enum ks_end)0), "?");
    assert_string_equal(ks_end_text((enum ks_end)99), "?");
}

/* ---- what a child starts with ---- */

static void test_environment(void **state)
{
    static char big[3][100001];
    const char *env[] = { "KS_A=1", "HOME=/nowhere", "EMPTY=", big[0], big[1], big[2], NULL };
    struct ks_spawn what = spawn_of(NULL);
    struct ks_child_end end;

    for (int i = 0; i < 3; i++) {
        memset(big[i], 'x', sizeof(big[i]) - 1);
        memcpy(big[i], (const char *[]){ "BIG0=", "BIG1=", "BIG2=" }[i], 5);
    }
    what.env = env;
    what.cwd = "/usr";
    run_script(*state,
               "echo $KS_A $HOME [$EMPTY] ${#BIG0} ${#BIG2} $(pwd) "
               "$(env | grep -c ^HOME=) ${KSWEEP_CHILD:+marked} ${PATH:+path}; read x; echo eof $?",
               what, &end);
    assert_tail(&end, "1 /nowhere [] 99995 99995 /usr 1 marked path\neof 1\n");
}

static void test_descriptors(void **state)
{
    struct ks_child_end end;
    struct ks_spawn what;
    struct talk t;

    what = talk_open(&t, NULL);
    what.fds[2] = -1;
    what.fds[3] = t.from[1];
    talk_go_on(&t);
    run_script(*state, "read x <&4 && echo 41 >&6 && echo 3 >&3; ls /proc/$$/fd", what, &end);
    assert_int_equal(talk_hear(&t), 41);
    assert_int_equal(talk_hear(&t), 3);
    assert_tail(&end, "0\n1\n2\n3\n4\n6\n");
    talk_close(&t);
}

static void test_limits(void **state)
{
    struct ks_spawn what = spawn_of(NULL);
    struct ks_child_end end;
    char want[128];
    cpu_set_t all;
    size_t cpu = 0;
    int own = getpriority(PRIO_PROCESS, 0);

    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    what.is_pinned = what.is_quiet = true;
    CPU_ZERO(&what.cpus);
    CPU_SET(cpu, &what.cpus);
    what.memory_bytes = 256u << 20;
    what.n_processes = 4321;
    what.file_bytes = 1u << 20;
    run_script(*state,
               "ulimit -v; ulimit -c; ulimit -p; nice; ulimit -p; ulimit -f; "
               "sed -n 's/Cpus_allowed_list:.//p' /proc/$$/status",
               what, &end);
    snprintf(want, sizeof(want), "262144\n0\n4321\n%d\n4321\n2048\n%zu\n", own > 10 ? own : 10,
             cpu);
    assert_tail(&end, want);
    run_script(*state, "tail /dev/zero", what, &end);
    assert_int_equal(end.how, KS_END_EXITED);
    assert_int_not_equal(end.code, 0);

    what = spawn_of(NULL);
    what.file_bytes = 4096;
    run_script(*state, "cd \"${TMPDIR:-/tmp}\" && exec head -c 5000 /dev/zero >ks-spawn.$$", what,
               &end);
    assert_int_equal(end.how, KS_END_SIGNALED);
    assert_int_equal(end.code, SIGXFSZ);
    snprintf(want, sizeof(want), "%s/ks-spawn.%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             end.pid);
    assert_int_equal(unlink(want), 0);

    what = spawn_of(NULL);
    what.is_pinned = true; /* to no CPU at all */
    run_script(*state, "exit 0", what, &end);
    assert_int_equal(end.how, KS_END_NO_EXEC);
    assert_int_equal(end.code, EINVAL);
}

/* A container may deny it: then the child runs all the same. */
static void test_memory_nodes(void **state)
{
    struct ks_spawn what = spawn_of(NULL);
    struct ks_child_end end;
    unsigned long node = 1;
    bool may_bind = syscall(SYS_set_mempolicy, MPOL_BIND, &node, 65ul) == 0;

    assert_true(!may_bind || syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul) == 0);
    what.memory_nodes = 1;
    run_script(*state, "grep -o bind:0 /proc/self/numa_maps | sort -u; echo on", what, &end);
    assert_tail(&end, may_bind ? "bind:0\non\n" : "on\n");
    what.memory_nodes = UINT64_C(1) << 63; /* there is no such node */
    run_script(*state, "echo on", what, &end);
    assert_tail(&end, "on\n");
}

static void test_resident_limit(void **state)
{
    struct ks_spawn what = spawn_of(NULL);
    struct ks_child_end end;

    what.memory_bytes = 2048u << 20;
    what.rss_bytes = 40u << 20;
    what.deadline_ns = ks_now_ns() + 20000 * MS;
    run_script(*state, "exec tail /dev/zero", what, &end);
    assert_int_equal(end.how, KS_END_MEMORY);
    assert_true(end.peak_rss_bytes > 40u << 20);
    assert_true(end.user_ns + end.system_ns > 0);

    /* What it starts counts: none of the two is over the limit, both together are. */
    what.deadline_ns = ks_now_ns() + 20000 * MS;
    what.rss_bytes = 60u << 20;
    run_script(*state, "cat /dev/zero | tail -c 40000000 & cat /dev/zero | tail -c 40000000", what,
               &end);
    assert_int_equal(end.how, KS_END_MEMORY);
}

/* ---- what it prints ---- */

static void test_tail(void **state)
{
    struct ks_spawn what = spawn_of(NULL);
    struct ks_child_end end;

    run_script(*state, "echo out; echo err >&2; printf end", what, &end);
    assert_tail(&end, "out\nerr\nend");
    for (int kib = 4; kib <= 400; kib *= 10) { /* around and far beyond what is kept */
        char script[96];
        snprintf(script, sizeof(script), "printf %%0%dd 7; printf %%09d 8", kib * 1024);
        run_script(*state, script, what, &end);
        assert_int_equal(end.n_tail, 4096);
        assert_memory_equal(end.tail + 4096 - 10, "7000000008", 10);
        assert_int_equal(end.tail[0], '0');
    }
}

static void test_ring(void **state)
{
    static char want[700000];
    struct ks_spawn what = spawn_of(NULL);
    struct ks_child_end end;
    struct ks_status *page;
    size_t n = 0;

    page = new_page(&what.status_fd);
    what.fds[2] = what.status_fd;
    run_script(*state, "seq 1 100000", what, &end);
    for (int i = 1; i <= 100000; i++)
        n += (size_t)snprintf(want + n, sizeof(want) - n, "%d\n", i);
    assert_int_equal(page->ring_bytes, n);
    for (size_t i = n - KS_STATUS_RING; i < n; i++)
        if (page->ring[i % KS_STATUS_RING] != (uint8_t)want[i])
            fail_msg("byte %zu of %zu differs", i, n);
    assert_int_equal(end.n_tail, 0);
    free_page(page, what.status_fd);
}

/* ---- what the warden is made of ---- */

/* Both ways to list children find the same ones. */
static void test_procfs(void **state)
{
    struct ks_process *list[2] = { NULL, NULL }, p;
    struct ks_proc_memory m;
    size_t n[2] = { 0, 0 };
    struct ks_err err;
    int status;

    (void)state;
    assert_int_equal(ks_proc_children(&list[0], &n[0], &err), 0);
    assert_int_equal(n[0], 0);
    free(list[0]);
    pid_t living = fork(), dead = living ? fork() : -1;
    if (living == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
    }
    if (living == 0 || dead == 0)
        _exit(0);
    ks_sleep_ns(100 * MS); /* the dead one is a zombie by now */
    assert_int_equal(ks_proc_children(&list[0], &n[0], &err), 0);
    assert_int_equal(ks_proc_children_by_scan(&list[1], &n[1], &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(n[i], 2);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(list[i][k].parent, getpid());
            assert_int_equal(list[i][k].group, getpgrp());
            assert_int_equal(list[i][k].state == 'Z', list[i][k].pid == dead);
        }
        free(list[i]);
    }
    assert_int_equal(ks_proc_memory(living, &m, &err), 0);
    assert_true(m.peak_space_bytes > 1000000 && m.rss_bytes > 1000);
    assert_true(m.rss_bytes <= m.peak_bytes && m.peak_bytes < m.peak_space_bytes);
    const uint64_t rss = m.rss_bytes;
    assert_int_equal(ks_proc_memory(dead, &m, &err), KS_ENOENT);
    assert_true(ks_proc_tree_rss(living) == rss);
    assert_true(ks_proc_tree_rss(getpid()) > rss);
    assert_true(ks_proc_group_rss_by_scan(getpgrp()) > rss);
    assert_true(ks_proc_tree_rss(dead) == 0);
    assert_int_equal(waitpid(dead, &status, 0), dead);
    assert_false(ks_process_read(dead, &p));
    assert_int_equal(ks_proc_mark(living, 1), 0);
    assert_int_equal(ks_proc_mark(dead, 1), 0);
    assert_int_equal(kill(living, SIGKILL), 0);
    assert_int_equal(waitpid(living, &status, 0), living);
}

/* A request that does not fit together is refused, and its descriptors are closed. */
static void test_unpack(void **state)
{
    static const struct {
        struct ks_wire_ask ask;
        size_t n_fds;
        int rc;
    } row[] = {
        { { .n_argv = 2, .n_env = 1, .n_payload = 13 }, 1, 0 },
        { { .n_argv = 1, .n_env = 1, .has_cwd = true, .n_payload = 13 }, 1, 0 },
        { { .n_argv = 2, .n_env = 1, .n_payload = 13, .has_fd = { true } }, 2, 0 },
        { { .n_argv = 0, .n_env = 1, .n_payload = 13 }, 1, KS_EPROTO },
        { { .n_argv = KS_SPAWN_ARGS + 1, .n_payload = 13 }, 1, KS_EPROTO },
        { { .n_argv = 4, .n_payload = 13 }, 1, KS_EPROTO },
        { { .n_argv = 2, .n_payload = 13 }, 1, KS_EPROTO },
        { { .n_argv = 2, .n_env = 1, .n_payload = 14 }, 1, KS_EIO },
        { { .n_argv = 2, .n_env = 1, .n_payload = 13 }, 0, KS_EPROTO },
        { { .n_argv = 2, .n_env = 1, .n_payload = 13 }, 2, KS_EPROTO },
        { { .n_argv = 2, .n_env = 1, .n_payload = 13, .has_status = true }, 1, KS_EPROTO },
    };
    size_t before = count_fds(getpid());

    (void)state;
    for (size_t i = 0; i < N_ROWS(row); i++) {
        int fds[2] = { memfd_create("payload", MFD_CLOEXEC), -1 };
        struct ks_launch l = { .status_fd = 77 };
        struct ks_err err;
        assert_int_equal(write(fds[0], "echo\0one\0k=v", 13), 13);
        if (row[i].n_fds == 0)
            close(fds[0]);
        if (row[i].n_fds == 2)
            fds[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        int rc = ks_launch_unpack(&row[i].ask, fds, row[i].n_fds, &l, &err);
        if (rc != row[i].rc)
            fail_msg("row %zu: %d", i, rc);
        if (rc < 0) {
            assert_int_equal(l.status_fd, 77);
        } else {
            assert_string_equal(l.argv[0], "echo");
            ks_launch_release(&l);
        }
        assert_int_equal(count_fds(getpid()), before);
    }
}

/* Beside samples the warden sleeps longer, but never beyond a deadline it knows. */
static void test_next_look(void **state)
{
    static const struct {
        bool has_page, is_measuring;
        uint64_t rss_bytes, deadline_ms; /* from now; 0 none */
        uint64_t want_ms;
    } row[] = {
        { true, false, 0, 0, 50 },  { true, false, 0, 900, 20 },   { true, false, 1, 0, 20 },
        { true, true, 0, 0, 250 },  { true, true, 0, 60000, 250 }, { true, true, 0, 900, 250 },
        { true, true, 0, 30, 30 },  { true, true, 1, 0, 125 },     { false, false, 0, 4000, 4000 },
        { false, false, 1, 0, 20 },
    };
    const uint64_t now = 1000000 * MS;

    (void)state;
    for (size_t i = 0; i < N_ROWS(row); i++) {
        struct ks_status *page = calloc(1, sizeof(*page));
        struct ks_child c = { .page = row[i].has_page ? page : NULL,
                              .rss_limit_bytes = row[i].rss_bytes,
                              .deadline_ns =
                                  row[i].deadline_ms ? now + row[i].deadline_ms * MS : 0 };
        page->is_measuring = row[i].is_measuring;
        if (ks_child_next_look(&c, now) != now + row[i].want_ms * MS)
            fail_msg("row %zu: %g ms", i, (double)(ks_child_next_look(&c, now) - now) * 1e-6);
        ks_child_count_wake(&c);
        page->phase = KS_PH_TIMING;
        ks_child_count_wake(&c);
        assert_int_equal(c.n_wakes, row[i].has_page);
        free(page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WARDEN(test_ends),           WITH_WARDEN(test_exec_failure),
        WITH_WARDEN(test_kill),           WITH_WARDEN(test_bad_requests),
        cmocka_unit_test(test_end_text),  WITH_WARDEN(test_environment),
        WITH_WARDEN(test_descriptors),    WITH_WARDEN(test_limits),
        WITH_WARDEN(test_memory_nodes),   WITH_WARDEN(test_resident_limit),
        WITH_WARDEN(test_tail),           WITH_WARDEN(test_ring),
        cmocka_unit_test(test_procfs),    cmocka_unit_test(test_unpack),
        cmocka_unit_test(test_next_look),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
