/* SPDX-License-Identifier: MIT */
/* test_cage_filter.c - which calls the cage refuses, and what still works; in forked children */
#include "cage_util.h"

#include "../fake/bad_faults.k"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ---- refused calls ---- */

struct call {
    long number;
    long a[5];
};
static struct call the_call;

static void make_call(struct caged *c)
{
    const long *a = the_call.a;

    errno = 0;
    CHECK(c, syscall(the_call.number, a[0], a[1], a[2], a[3], a[4]) == -1);
    CHECK(c, errno == EPERM);
    CHECK(c, getpid() > 1); /* and life goes on */
}

static void all_are_denied(const struct call *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        the_call = row[i];
        must_pass(make_call);
        if (page->n_denied != 1 || page->denied_call != row[i].number)
            fail_msg("row %zu, %s: %u denied, the last %d", i,
                     ks_cage_call_name((int32_t)row[i].number), page->n_denied, page->denied_call);
    }
}

/* Arguments are such that nothing happens should a call come through. */
static void test_denied(void **state)
{
    long parent = getpid(), none = -1;
    const struct call row[] = {
        { SYS_clone, { SIGCHLD } },
        { SYS_clone, { CLONE_VM | SIGCHLD } },
        { SYS_execve, { 0, 0, 0 } },
        { SYS_execveat, { none, 0, 0, 0, 0 } },
        { SYS_unshare, { 0 } },
        { SYS_setns, { none, 0 } },
        { SYS_setsid, { 0 } },
        { SYS_setpgid, { 0, 0 } },
        { SYS_prctl, { PR_SET_PDEATHSIG, 0 } },
        { SYS_prctl, { PR_SET_DUMPABLE, 1 } },
        { SYS_kill, { parent, 0 } },
        { SYS_kill, { 0, 0 } },
        { SYS_kill, { -1, 0 } },
        { SYS_kill, { 1, 0 } },
        { SYS_tkill, { parent, 0 } },
        { SYS_tgkill, { parent, parent, 0 } },
        { SYS_rt_sigqueueinfo, { parent, 0, 0 } },
        { SYS_rt_tgsigqueueinfo, { parent, parent, 0, 0 } },
        { SYS_pidfd_send_signal, { none, 0, 0, 0 } },
        { SYS_prlimit64, { parent, RLIMIT_CORE, 0, 0 } },
        { SYS_ptrace, { 9999, 0, 0, 0 } },
        { SYS_process_vm_writev, { parent, 0, 0, 0, 0 } },
        { SYS_io_uring_setup, { 0, 0 } },
        { SYS_bpf, { 9999, 0, 0 } },
        { SYS_perf_event_open, { 0, 0, 0, none, 0 } },
        { SYS_mount, { 0, 0, 0, 0, 0 } },
        { SYS_reboot, { 0, 0, 0, 0 } },
        { SYS_socket, { 9999, 0, 0 } },
        { SYS_connect, { none, 0, 0 } },
        { SYS_bind, { none, 0, 0 } },
        { SYS_ftruncate, { none, 0 } },
        { SYS_truncate, { 0, 0 } },
        { SYS_unlinkat, { none, 0, 0 } },
        { SYS_renameat2, { none, 0, none, 0, 0 } },
#ifdef SYS_fork
        { SYS_unlink, { 0 } },
        { SYS_rename, { 0, 0 } },
        { SYS_rmdir, { 0 } },
#endif
    };

    (void)state;
    all_are_denied(row, N_ROWS(row));
}

/* What would change where and how the cells after it are measured. */
static void test_inherited(void **state)
{
    static const struct call row[] = {
        { SYS_prlimit64, { 0, RLIMIT_CORE, -1, 0 } },
        { SYS_prlimit64, { 0, RLIMIT_CORE, 1l << 32, 0 } },
        { SYS_setrlimit, { RLIMIT_CORE, 0 } },
        { SYS_sched_setaffinity, { 0, 0, 0 } },
        { SYS_sched_setscheduler, { 0, -1, 0 } },
        { SYS_sched_setparam, { 0, 0 } },
        { SYS_sched_setattr, { 0, 0, 0 } },
        { SYS_setpriority, { 99, 0, 0 } },
    };

    (void)state;
    all_are_denied(row, N_ROWS(row));
}

static void libc_calls(struct caged *c)
{
    CHECK(c, fork() == -1 && errno == EPERM);
    CHECK(c, page->n_denied == 1);
    CHECK(c, vfork() == -1 && page->n_denied == 2);
    CHECK(c, kill(getppid(), SIGKILL) == -1 && errno == EPERM);
    CHECK(c, page->n_denied == 3);
    char *argv[] = { (char *)(uintptr_t) "true", NULL };
    pid_t pid;
    /* It blocks all signals, so that the call fails uncounted. */
    CHECK(c, posix_spawnp(&pid, "true", NULL, NULL, argv, NULL) == EPERM);
    CHECK(c, page->n_denied == 3);
}

static void test_libc_calls(void **state)
{
    (void)state;
    must_pass(libc_calls);
}

static void block_and_fork(struct caged *c)
{
    sigset_t all;

    (void)c;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (fork() == 0)
        _exit(0);
}

static void other_call_set(struct caged *c)
{
    (void)c;
    (void)syscall(0x40000000 | SYS_getpid);
}

/* Where the handler cannot run, the kernel's own verdict is death. */
static void test_killed_by_filter(void **state)
{
    (void)state;
    assert_int_equal(WTERMSIG(run_case(block_and_fork)), SIGSYS);
    assert_int_equal(WTERMSIG(run_case(other_call_set)), SIGSYS);
}

/* ---- what still works ---- */

static void *add_one(void *counter)
{
    if (pthread_kill(pthread_self(), 0) == 0)
        atomic_fetch_add((_Atomic int *)counter, 1);
    return NULL;
}

static void allowed_calls(struct caged *c)
{
    struct rlimit r;
    _Atomic int counter = 0;
    pthread_t t[8];

    for (size_t i = 0; i < N_ROWS(t); i++)
        CHECK(c, pthread_create(&t[i], NULL, add_one, &counter) == 0);
    for (size_t i = 0; i < N_ROWS(t); i++)
        CHECK(c, pthread_join(t[i], NULL) == 0);
    CHECK(c, counter == (int)N_ROWS(t));
    CHECK(c, syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS);
    CHECK(c, kill(getpid(), 0) == 0);
    CHECK(c, prctl(PR_SET_NAME, "caged") == 0);
    CHECK(c, getrlimit(RLIMIT_AS, &r) == 0);
    int fd = open("/dev/null", O_WRONLY);
    CHECK(c, fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
    for (int s = 1; s < 32; s++)
        if (s == SIGUSR1 || s == SIGUSR2 || s == SIGTERM || s == SIGINT || s == SIGHUP ||
            s == SIGPIPE)
            CHECK(c, raise(s) == 0);
    CHECK(c, page->n_denied == 0);
}

static void stop_itself(struct caged *c)
{
    (void)c;
    raise(SIGSTOP);
}

static void test_allowed(void **state)
{
    int s = 0;

    (void)state;
    must_pass(allowed_calls);
    pid_t pid = fork();
    if (pid == 0)
        _exit(WIFEXITED(run_case(stop_itself)) ? 1 : 2);
    usleep(200000); /* its child is stopped by then, and goes with it */
    assert_int_equal(waitpid(pid, &s, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &s, 0), pid);
}

static void *in_a_thread(void *arg)
{
    return arg;
}

/* What every runtime does while it runs: talks to its driver, maps memory, has threads and waits
 * for events. */
static void runtime_calls(struct caged *c)
{
    pthread_t thread;
    void *mem = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = eventfd(0, EFD_CLOEXEC);

    CHECK(c, mem != MAP_FAILED && munmap(mem, 4096) == 0);
    CHECK(c, fd >= 0 && close(fd) == 0);
    CHECK(c, ioctl(-1, 0xc0304627ul, NULL) == -1 && errno == EBADF);
    CHECK(c, pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
    CHECK(c, pthread_join(thread, NULL) == 0);
}

/* A GPU's runtime may do what a host kernel may not; neither may make processes. */
static void gpu_list(struct caged *c)
{
    runtime_calls(c);
    CHECK(c, syscall(SYS_ftruncate, -1, 0) == -1 && errno == EBADF);
    CHECK(c, syscall(SYS_socket, 9999, 0, 0) == -1 && errno != EPERM);
    CHECK(c, syscall(SYS_sched_setaffinity, 0, 0, NULL) == -1 && errno != EPERM);
    CHECK(c, syscall(SYS_prlimit64, 0, RLIMIT_CORE, -1, NULL) == -1 && errno == EFAULT);
    CHECK(c, page->n_denied == 0);
    for (int i = 0; i < 2; i++) { /* threads of a runtime may block the signal of a trap */
        sigset_t set;

        CHECK(c, fork() == -1 && errno == EPERM);
        CHECK(c, kill(getppid(), 0) == -1 && errno == EPERM);
        CHECK(c, page->n_denied == 0 && page->denied_call == -1);
        sigfillset(&set);
        CHECK(c, sigprocmask(SIG_SETMASK, &set, NULL) == 0);
    }
}

static void test_gpu_list(void **state)
{
    (void)state;
    must_pass_on(KS_CAGE_GPU, gpu_list);
}

static void test_call_names(void **state)
{
    (void)state;
    assert_string_equal(ks_cage_call_name(SYS_clone), "clone");
    assert_string_equal(ks_cage_call_name(SYS_setsid), "setsid");
    assert_string_equal(ks_cage_call_name(SYS_read), "?");
    assert_string_equal(ks_cage_call_name(-1), "?");
}

/* ---- whole kernels ---- */

static void run_one_element(struct caged *c, enum bad_fault fault)
{
    const struct ks_abi_problem p = { .bytes = sizeof(p),
                                      .op = KS_ABI_GROUPED_CONV,
                                      .n = 1,
                                      .g = 1,
                                      .c = 1,
                                      .k = 1,
                                      .in = { 1, 1, 1 },
                                      .filter = { 1, 1, 1 },
                                      .out = { 1, 1, 1 },
                                      .stride = { 1, 1, 1 },
                                      .dilation = { 1, 1, 1 } };
    float a = 3.0f, b = 5.0f, out = 0.0f;
    struct ks_abi_buffers buf = { .a = &a, .b = &b, .c = &out };
    struct bad_state state = { 0 };

    CHECK(c, bad_unsupported(&p, (int)fault) == NULL);
    CHECK(c, bad_run(&p, &buf, (int)fault, 0, &state) == 0);
    CHECK(c, out == 15.0f);
    CHECK(c, page->n_denied >= 1);
}

static void kernel_children(struct caged *c)
{
    run_one_element(c, BAD_CHILDREN_OUTLIVE);
    CHECK(c, page->n_denied == 4);
}

static void kernel_kills(struct caged *c)
{
    run_one_element(c, BAD_KILL_PARENT);
}

static void kernel_forks(struct caged *c)
{
    ualarm(200000, 0);
    run_one_element(c, BAD_FORK_ENDLESS);
}

static void test_kernels(void **state)
{
    (void)state;
    must_pass(kernel_children);
    must_pass(kernel_kills);
    assert_int_equal(WTERMSIG(run_case(kernel_forks)), SIGALRM);
    assert_in_range(page->n_denied, 5, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denied),     cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_libc_calls), cmocka_unit_test(test_killed_by_filter),
        cmocka_unit_test(test_allowed),    cmocka_unit_test(test_gpu_list),
        cmocka_unit_test(test_call_names), cmocka_unit_test(test_kernels),
    };

    if (cage_page_map() < 0)
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cage_filter", tests, NULL, NULL);
}
