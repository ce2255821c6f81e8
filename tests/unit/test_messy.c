/* SPDX-License-Identifier: MIT */
/* test_messy.c - what kernels leave behind in their worker, and what hangs before they run */
/* State of the CPU, threads, timers. Good kernels stand behind each. */
#include "base/clock.h"
#include "base/file.h"
#include "tests/unit/so.h"
#include "tests/unit/worker_fixture.h"
#include "worker/remains.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

/* Their numbers in tests/fake/messy_faults.k. An instance is called after its fault. */
static const struct {
    const char *name;
    int fault;
} faults[] = { { "good", 0 },
               { "long_double", 1 },
               { "joins", 2 },
               { "no_emms", 3 },
               { "x87_precision", 4 },
               { "dirty_upper", 5 },
               { "thread", 7 },
               { "pool", 8 },
               { "itimer_real", 9 },
               { "itimer_virtual", 10 },
               { "itimer_prof", 11 },
               { "posix_timer", 12 },
               { "thread_and_wrong", 13 },
               { "unsupported_hangs", 20 } };

/* One object of all of them, as the build makes units. */
static void put_source(struct ks_buf *b)
{
    for (size_t i = 0; i < N_ROWS(faults); i++)
        ks_buf_printf(b,
                      "#define FAULT %d\n#define KS_FN(x) m%d_##x\n#define KS_NAME \"%s\"\n"
                      "#include \"tests/fake/messy_kernels.k\"\n"
                      "#undef FAULT\n#undef KS_FN\n#undef KS_NAME\n",
                      faults[i].fault, faults[i].fault, faults[i].name);
    ks_buf_printf(b,
                  "static struct ks_abi_entry entries[%zu];\n"
                  "__attribute__((constructor)) static void fill(void)\n{\n",
                  N_ROWS(faults));
    for (size_t i = 0; i < N_ROWS(faults); i++)
        ks_buf_printf(b, "entries[%zu] = m%d_entry;\n", i, faults[i].fault);
    ks_buf_printf(
        b, "}\nconst struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, %zu, entries };\n",
        N_ROWS(faults));
}

static void build(struct fixture *f, const char *name, const char *source)
{
    struct ks_buf file = { 0 };
    struct ks_sha256 h;

    so_build(f->dir, name, source, f->so, sizeof(f->so));
    assert_int_equal(ks_file_read(f->so, &file, NULL), 0);
    ks_sha256_init(&h);
    ks_sha256_add(&h, file.data, file.len);
    ks_sha256_end(&h, f->digest);
    ks_buf_release(&file);
}

static int setup(void **state)
{
    struct ks_buf source = { 0 };
    int rc = fixture_setup(state);

    put_source(&source);
    if (rc == 0)
        build(*state, "messy", ks_buf_text(&source));
    ks_buf_release(&source);
    return rc;
}

/* ---- state of the CPU ---- */

static void test_cpu_state(void **state)
{
    static const struct {
        const char *entry;
        bool is_flagged;
    } rows[] = {
        { "good", false },         { "long_double", false },
        { "no_emms", true },       { "long_double", false }, /* NaN where the x87 stack is full */
        { "x87_precision", true }, { "long_double", false },
        { "dirty_upper", true },   { "good", false },
    };
    struct fixture *f = *state;
    struct ks_record *r = &f->rec;
    struct child c;

    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    for (uint32_t i = 0; i < N_ROWS(rows); i++) {
        send_cell(&c, f, &f->problem, rows[i].entry, i);
        assert_true(child_record(&c, r));
        if (r->outcome != KS_O_OK)
            print_error("%s: %s\n", rows[i].entry, r->reason);
        check_good(r, &quick);
        assert_int_equal((r->outcome_flags & KS_FL_FP_ENV_CHANGED) != 0, rows[i].is_flagged);
    }
    child_end(&c, KS_WORKER_EXIT_OK);
}

/* ---- what runs on ---- */

static const struct {
    const char *entry;
    uint32_t threads, outcome;
    const char *reason;
    bool ends; /* the worker: its next cell is for another one */
} left_rows[] = {
    { "good", 1, KS_O_OK, "", false },
    { "joins", 1, KS_O_OK, "", false },
    { "thread", 1, KS_O_UNTRUSTED, "left 1 thread running", true },
    { "pool", 2, KS_O_OK, "", true }, /* its runtime's own */
    { "pool", 1, KS_O_UNTRUSTED, "left 1 thread running", true },
    { "itimer_real", 2, KS_O_UNTRUSTED, "left a timer armed", true },
    { "itimer_virtual", 1, KS_O_UNTRUSTED, "left a timer armed", true },
    { "itimer_prof", 1, KS_O_UNTRUSTED, "left a timer armed", true },
    { "posix_timer", 1, KS_O_UNTRUSTED, "left a timer armed", true },
    { "thread_and_wrong", 1, KS_O_WRONG_RESULT, "exact data; left 1 thread running", true },
};

static void test_left_behind(void **state)
{
    struct fixture *f = *state;
    struct ks_record *r = &f->rec;

    for (size_t i = 0; i < N_ROWS(left_rows); i++) {
        struct child c;

        start_host(&c, &quick, -1);
        child_problem(&c, &f->problem, 0);
        send_cell(&c, f, &f->problem, "good", 0);
        send_threaded_cell(&c, f, &f->problem, left_rows[i].entry, 1, left_rows[i].threads);
        send_cell(&c, f, &f->problem, "good", 2);
        assert_true(child_record(&c, r));
        check_good(r, &quick);
        assert_true(child_record(&c, r));
        if (r->outcome != left_rows[i].outcome)
            print_error("%s: %s (%s)\n", left_rows[i].entry, ks_outcome_text(r->outcome),
                        r->reason);
        assert_int_equal(r->outcome, left_rows[i].outcome);
        assert_non_null(strstr(r->reason, left_rows[i].reason));
        assert_int_equal(r->reason[0] == '\0', left_rows[i].reason[0] == '\0');
        assert_int_equal(child_record(&c, r), !left_rows[i].ends);
        if (left_rows[i].ends) {
            int status = child_wait(&c);

            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), KS_WORKER_EXIT_REMAINS);
            assert_int_equal(c.status->n_done, 2);
            assert_true(c.status->i_cell == UINT64_MAX);
            child_release(&c);
        } else {
            child_end(&c, KS_WORKER_EXIT_OK);
        }
    }
}

/* Who cannot make a timer, because others of the user have them all, has not left one. */
static void test_no_timer_can_be_made(void **state)
{
    struct sigevent quiet = { .sigev_notify = SIGEV_NONE };
    struct rlimit was, none;
    struct ks_remains r;
    struct ks_left left[2];
    int id;

    (void)state;
    ks_remains_note(&r);
    assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &was), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = was.rlim_max };
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            assert_int_equal(syscall(SYS_timer_create, CLOCK_MONOTONIC, &quiet, &id), 0);
        assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &none), 0);
        ks_remains_find(&r, 0, &left[i]);
        assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &was), 0);
        assert_int_equal(left[i].n_timers, i);
    }
}

/* ---- what hangs before it runs ---- */

/* The kernel's own limit stands on the page while its constructors or its test run; the whole
 * cell's would be ten times that. */
static void hangs_in(struct fixture *f, const char *entry, enum ks_phase phase)
{
    const uint64_t from = ks_now_ns(), until = from + 20000000000ull;
    struct ks_measure m = quick;
    struct child c;

    m.kernel_timeout_ms = 3000;
    start_host(&c, &m, -1);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, entry, 5);
    while ((atomic_load(&c.status->phase) != (uint32_t)phase ||
            atomic_load(&c.status->deadline_ns) == 0) &&
           ks_now_ns() < until)
        ks_sleep_ns(1000000);
    assert_int_equal(c.status->phase, phase);
    assert_int_equal(c.status->i_cell, 5);
    assert_true(c.status->deadline_ns <= ks_now_ns() + 3000000000ull);
    ks_sleep_ns(20000000); /* it is still there, not just passing through */
    assert_int_equal(c.status->phase, phase);
    child_release(&c);
}

static void test_hangs(void **state)
{
    struct fixture *f = *state;

    hangs_in(f, "unsupported_hangs", KS_PH_APPLICABLE);
    build(f, "hang",
          "#define FAULT 23\n#define KS_FN(x) hang_##x\n#define KS_NAME \"hang\"\n"
          "#include \"tests/fake/messy_kernels.k\"\n"
          "const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, 1, &hang_entry };\n");
    hangs_in(f, "hang", KS_PH_LOAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_state), cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_no_timer_can_be_made),
        cmocka_unit_test(test_hangs), /* last: it builds another object */
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("messy", tests, setup, fixture_teardown);
}
