/* SPDX-License-Identifier: MIT */
/* The cage from inside: every case runs in a forked child of its own, which the parent then judges
 * by its end and its status page. */
#include "worker/cage.h"
#include "worker/leave.h"

#include "../fake/bad_faults.k"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(KSWEEP_SANITIZED)
#define IS_SANITIZED 1
/* The leak check makes a process of its own, which the cage refuses. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#else
#define IS_SANITIZED 0
#endif
#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define PASS      60 /* exit status of a case whose own checks all held */

static struct ks_status *page; /* shared with the children */

struct caged {
    struct ks_cage cage;
    int n_failed;
};

#define CHECK(c, what)                                                                             \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            print_message("# line %d: %s\n", __LINE__, #what);                                     \
            (c)->n_failed++;                                                                       \
        }                                                                                          \
    } while (0)

typedef void (*case_fn)(struct caged *c);

/* The child's wait status. */
static int run_case(case_fn body)
{
    int status = 0;
    pid_t pid;

    memset(page, 0, sizeof(*page));
    page->denied_call = -1;
    pid = fork();
    if (pid == 0) {
        struct caged c = { .n_failed = 0 };
        struct rlimit none = { 0, 0 };
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setrlimit(RLIMIT_CORE, &none);
        alarm(30);
        if (ks_cage_open(&c.cage, page, NULL) < 0 || ks_cage_close(&c.cage, NULL) < 0)
            ks_worker_leave(70);
        body(&c);
        ks_worker_leave(c.n_failed ? 71 : PASS);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void must_pass(case_fn body)
{
    int s = run_case(body);

    if (!WIFEXITED(s) || WEXITSTATUS(s) != PASS)
        fail_msg("the case ended with wait status %#x", (unsigned)s);
}

/* ---- deaths ---- */

static void die_segv(struct caged *c)
{
    (void)c;
    *(volatile int *)(uintptr_t)0x12340 = 1;
}

static void die_stack(struct caged *c)
{
    (void)c;
    bad_stack_overflow(NULL);
}

static void die_bus(struct caged *c)
{
    int fd = memfd_create("bus", MFD_CLOEXEC); /* an empty file has no page to map */
    volatile char *p = mmap((void *)0x300000000000u, 4096, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);

    (void)c;
    p[16] = 1;
}

static void die_fpe(struct caged *c)
{
    volatile int zero = 0;

    (void)c;
    zero = 7 / zero;
}

static void die_ill(struct caged *c)
{
    (void)c;
    __builtin_trap();
}

static void die_abort(struct caged *c)
{
    (void)c;
    abort();
}

static void die_raise(struct caged *c)
{
    (void)c;
    raise(SIGSEGV);
}

static void die_sys(struct caged *c)
{
    (void)c;
    raise(SIGSYS);
}

static void *segv_in_thread(void *c)
{
    die_segv(c);
    return NULL;
}

static void die_in_thread(struct caged *c)
{
    pthread_t t;

    CHECK(c, pthread_create(&t, NULL, segv_in_thread, c) == 0);
    pthread_join(t, NULL);
}

static void die_after_close(struct caged *c)
{
    for (int fd = 0; fd < 64; fd++)
        close(fd);
    die_segv(c);
}

static void test_deaths(void **state)
{
    static const struct {
        case_fn body;
        int signal;
        uint64_t address; /* 1: any but 0 */
    } row[] = {
        { die_segv, SIGSEGV, 0x12340 },
        { die_stack, SIGSEGV, 1 },
        { die_bus, SIGBUS, 0x300000000010 },
        { die_fpe, SIGFPE, 1 },
        { die_ill, SIGILL, 1 },
        { die_abort, SIGABRT, 0 },
        { die_raise, SIGSEGV, 0 },
        { die_sys, SIGSYS, 0 },
        { die_in_thread, SIGSEGV, 0x12340 },
        { die_after_close, SIGSEGV, 0x12340 },
    };

    (void)state;
    for (size_t i = 0; i < N_ROWS(row); i++) {
        if (IS_SANITIZED && row[i].body == die_fpe)
            continue; /* the sanitizer reports the division itself */
        int s = run_case(row[i].body);
        if (!WIFSIGNALED(s) || WTERMSIG(s) != row[i].signal)
            fail_msg("row %zu: wait status %#x", i, (unsigned)s);
        assert_int_equal(page->fault_signal, row[i].signal);
        if (row[i].address != 1)
            assert_int_equal(page->fault_address, row[i].address);
        else
            assert_int_not_equal(page->fault_address, 0);
        assert_true(page->peak_bytes > 1000000);
        assert_int_equal(page->n_denied, 0);
    }
}

static void out_of_memory(struct caged *c)
{
    struct rlimit cap = { 400u << 20, 400u << 20 };

    (void)c;
    (void)setrlimit(RLIMIT_AS, &cap);
    bad_malloc_endless(NULL);
}

static void out_of_memory_segv(struct caged *c)
{
    struct rlimit cap = { 400u << 20, 400u << 20 };

    (void)c;
    (void)setrlimit(RLIMIT_AS, &cap);
    bad_malloc_segv(NULL);
}

/* Whatever it dies of, the peak tells. */
static void test_peak(void **state)
{
    (void)state;
    if (IS_SANITIZED) {
        print_message("# skipped: the sanitizer's shadow does not fit below a limit\n");
        skip();
    }
    assert_int_equal(WTERMSIG(run_case(out_of_memory)), SIGABRT);
    assert_in_range(page->peak_bytes, 380u << 20, 400u << 20);
    assert_int_equal(WTERMSIG(run_case(out_of_memory_segv)), SIGSEGV);
    assert_in_range(page->peak_bytes, 380u << 20, 400u << 20);
}

static void leave_with_3(struct caged *c)
{
    (void)c;
    exit(3);
}

static void test_exit(void **state)
{
    (void)state;
    assert_int_equal(WEXITSTATUS(run_case(leave_with_3)), 3);
    assert_int_equal(page->fault_signal, 0);
}

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
    for (size_t i = 0; i < N_ROWS(row); i++) {
        the_call = row[i];
        int s = run_case(make_call);
        if (!WIFEXITED(s) || WEXITSTATUS(s) != PASS)
            fail_msg("%s: wait status %#x", ks_cage_call_name((int32_t)row[i].number), (unsigned)s);
        assert_int_equal(page->n_denied, 1);
        assert_int_equal(page->denied_call, row[i].number);
    }
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

/* ---- what a kernel leaves changed ---- */

static void changed_fpenv(struct caged *c)
{
    struct ks_fpenv before, now;
    const volatile float a = 1.0f, tiny = 0x1p-149f;
    volatile float sum = a + tiny, half = 0x1p-126f;

    ks_cage_fpenv_save(&before);
    CHECK(c, !ks_cage_after_kernel(&c->cage));
    bad_rounding_mode(NULL);
    CHECK(c, a + tiny != sum); /* rounds up now */
    CHECK(c, ks_cage_after_kernel(&c->cage));
    CHECK(c, a + tiny == sum);
    CHECK(c, !ks_cage_after_kernel(&c->cage));
    bad_flush_to_zero(NULL);
    CHECK(c, half * 0.5f == 0.0f);
    CHECK(c, ks_cage_after_kernel(&c->cage));
    CHECK(c, half * 0.5f != 0.0f);
    ks_cage_fpenv_save(&now);
    CHECK(c, now.control == before.control && now.x87 == before.x87);
}

#if defined(__x86_64__)
static void changed_x87(struct caged *c)
{
    uint16_t word, single;

    __asm__ volatile("fnstcw %0" : "=m"(word));
    single = (uint16_t)(word & ~0x300u); /* 24-bit precision */
    __asm__ volatile("fldcw %0" : : "m"(single));
    CHECK(c, ks_cage_after_kernel(&c->cage));
    __asm__ volatile("fnstcw %0" : "=m"(single));
    CHECK(c, single == word);
}
#else
static void changed_x87(struct caged *c)
{
    (void)c;
}
#endif

static void changed_mask(struct caged *c)
{
    sigset_t set;

    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    CHECK(c, !ks_cage_after_kernel(&c->cage));
    sigprocmask(SIG_SETMASK, NULL, &set);
    CHECK(c, !sigismember(&set, SIGSEGV) && !sigismember(&set, SIGSYS));
    CHECK(c, fork() == -1 && page->n_denied == 1);
}

static void ignore_nothing(int sig)
{
    (void)sig;
}

static void changed_handlers(struct caged *c)
{
    stack_t off = { .ss_flags = SS_DISABLE };

    CHECK(c, !ks_cage_after_cell(&c->cage));
    signal(SIGSEGV, ignore_nothing);
    CHECK(c, ks_cage_after_cell(&c->cage));
    CHECK(c, !ks_cage_after_cell(&c->cage));
    signal(SIGTERM, SIG_DFL);
    CHECK(c, ks_cage_after_cell(&c->cage));
    raise(SIGTERM);
    signal(SIGSYS, SIG_DFL);
    CHECK(c, ks_cage_after_cell(&c->cage));
    CHECK(c, fork() == -1 && page->n_denied == 1);
    sigaltstack(&off, NULL);
    CHECK(c, ks_cage_after_cell(&c->cage));
    if (!c->n_failed)
        bad_stack_overflow(NULL); /* recorded as ever */
}

static void open_twice(struct caged *c)
{
    struct ks_cage other = { .list = KS_CAGE_GPU };
    struct ks_err err;

    CHECK(c, ks_cage_open(&other, page, &err) == KS_EEXIST);
    CHECK(c, other.list == KS_CAGE_GPU);
}

static void test_restored(void **state)
{
    (void)state;
    must_pass(changed_fpenv);
    must_pass(changed_x87);
    must_pass(changed_mask);
    assert_int_equal(WTERMSIG(run_case(changed_handlers)), SIGSEGV);
    assert_int_equal(page->fault_signal, SIGSEGV);
    must_pass(open_twice);
}

/* A GPU's runtime may do what a host kernel may not; neither may make processes. */
static void gpu_list(struct caged *c)
{
    (void)c;
    CHECK(c, syscall(SYS_ftruncate, -1, 0) == -1 && errno == EBADF);
    CHECK(c, syscall(SYS_socket, 9999, 0, 0) == -1 && errno != EPERM);
    CHECK(c, page->n_denied == 0);
    CHECK(c, fork() == -1 && errno == EPERM);
    CHECK(c, page->n_denied == 1);
}

static void test_gpu_list(void **state)
{
    int s = 0;

    (void)state;
    memset(page, 0, sizeof(*page));
    pid_t pid = fork();
    if (pid == 0) {
        struct caged c = { .n_failed = 0 };
        if (ks_cage_open(&c.cage, page, NULL) < 0)
            ks_worker_leave(70);
        c.cage.list = KS_CAGE_GPU;
        if (ks_cage_close(&c.cage, NULL) < 0)
            ks_worker_leave(70);
        gpu_list(&c);
        ks_worker_leave(c.n_failed ? 71 : PASS);
    }
    assert_int_equal(waitpid(pid, &s, 0), pid);
    assert_int_equal(WEXITSTATUS(s), PASS);
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

/* ---- what it costs ---- */

static void cost(struct caged *c)
{
    enum { N = 20000 };
    struct timespec from, to;

    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < N; i++)
        (void)ks_cage_after_kernel(&c->cage);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    print_message("# after a kernel: %.0f ns\n", ns / N);
    CHECK(c, ns / N < 20000.0); /* 100 times what it takes: only an accident fails */
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < N; i++)
        (void)ks_cage_after_cell(&c->cage);
    clock_gettime(CLOCK_MONOTONIC, &to);
    ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    print_message("# after a cell: %.0f ns\n", ns / N);
}

static void test_cost(void **state)
{
    (void)state;
    must_pass(cost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaths),     cmocka_unit_test(test_peak),
        cmocka_unit_test(test_exit),       cmocka_unit_test(test_denied),
        cmocka_unit_test(test_libc_calls), cmocka_unit_test(test_killed_by_filter),
        cmocka_unit_test(test_allowed),    cmocka_unit_test(test_restored),
        cmocka_unit_test(test_gpu_list),   cmocka_unit_test(test_call_names),
        cmocka_unit_test(test_kernels),    cmocka_unit_test(test_cost),
    };

    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cage", tests, NULL, NULL);
}
