/* SPDX-License-Identifier: MIT */
/* test_cage.c - how a caged process dies, and what a kernel leaves changed; in forked children */
#include "cage_util.h"

#include "../fake/messy_faults.k"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

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
        assert_true(page->peak_bytes > 100000 && page->peak_bytes < page->peak_space_bytes);
        assert_int_equal(page->n_denied, 0);
    }
}

static void out_of_memory(struct caged *c)
{
    (void)c;
    bad_malloc_endless(NULL);
}

static void out_of_memory_segv(struct caged *c)
{
    (void)c;
    bad_malloc_segv(NULL);
}

/* The signal a case dies of below a cap of 400 MiB. */
static int capped_signal(case_fn body)
{
    struct rlimit cap, was;
    int status;

    assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
    cap = was;
    cap.rlim_cur = 400u << 20;
    assert_int_equal(setrlimit(RLIMIT_AS, &cap), 0);
    status = run_case(body);
    assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
    return WTERMSIG(status);
}

/* Whatever it dies of, the peak tells. */
static void test_peak(void **state)
{
    (void)state;
    skip_if_sanitized("the sanitizer's shadow does not fit below a limit");
    assert_int_equal(capped_signal(out_of_memory), SIGABRT);
    assert_in_range(page->peak_space_bytes, 380u << 20, 400u << 20);
    assert_int_equal(capped_signal(out_of_memory_segv), SIGSEGV);
    assert_in_range(page->peak_space_bytes, 380u << 20, 400u << 20);
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

/* ---- what a kernel leaves changed ---- */

static void changed_fpenv(struct caged *c)
{
    struct ks_fpenv before, now;
    const volatile float a = 1.0f, tiny = 0x1p-149f;
    volatile float sum = a + tiny, half = 0x1p-126f;

    ks_fpenv_save(&before);
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
    ks_fpenv_save(&now);
    CHECK(c, now.control == before.control && now.x87 == before.x87);
}

#if defined(__x86_64__)
static void changed_x87(struct caged *c)
{
    uint16_t before, now;

    __asm__ volatile("fnstcw %0" : "=m"(before));
    messy_x87_precision(NULL);
    CHECK(c, ks_cage_after_kernel(&c->cage));
    __asm__ volatile("fnstcw %0" : "=m"(now));
    CHECK(c, now == before);
}

/* Each is seen once, and what depends on it is right again. */
static void changed_registers(struct caged *c)
{
    volatile long double x = 1.0L;

    CHECK(c, x + 0.5L == 1.5L && !ks_cage_after_kernel(&c->cage)); /* using the x87 is no change */
    messy_no_emms(NULL);
    CHECK(c, ks_cage_after_kernel(&c->cage));
    CHECK(c, x + 0.5L == 1.5L);
    CHECK(c, !ks_cage_after_kernel(&c->cage));
    if (c->cage.fpenv.has_xinuse && c->cage.fpenv.has_avx) {
        messy_dirty_upper(NULL);
        CHECK(c, ks_cage_after_kernel(&c->cage));
        CHECK(c, !ks_cage_after_kernel(&c->cage));
    }
    messy_direction_flag(NULL);
    CHECK(c, ks_cage_after_kernel(&c->cage));
    CHECK(c, (__builtin_ia32_readeflags_u64() & 0x400u) == 0);
    CHECK(c, !ks_cage_after_kernel(&c->cage));
}
#else
static void changed_x87(struct caged *c)
{
    (void)c;
}
static void changed_registers(struct caged *c)
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
    alarm(100);
    (void)ks_cage_after_cell(&c->cage);
    CHECK(c, alarm(0) == 0);
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
    must_pass(changed_registers);
    must_pass(changed_mask);
    assert_int_equal(WTERMSIG(run_case(changed_handlers)), SIGSEGV);
    assert_int_equal(page->fault_signal, SIGSEGV);
    must_pass(open_twice);
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
        cmocka_unit_test(test_deaths),   cmocka_unit_test(test_peak), cmocka_unit_test(test_exit),
        cmocka_unit_test(test_restored), cmocka_unit_test(test_cost),
    };

    if (cage_page_map() < 0)
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cage", tests, NULL, NULL);
}
