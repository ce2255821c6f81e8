/* SPDX-License-Identifier: MIT */
/* test_worker.c - ksweep-worker itself, over its pipes: one good kernel and many bad ones */
#include "base/clock.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/worker_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

static void test_good_kernel(void **state)
{
    struct fixture *f = *state;
    struct ks_record *r = &f->rec;
    struct child c;

    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    for (uint32_t i = 0; i < 3; i++)
        send_cell(&c, f, &f->problem, i == 1 ? "uses_workspace" : "good", i);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(child_record(&c, r));
        check_good(r, &quick);
        assert_true(r->cell.problem == f->problem.id && r->cell.instance == 1000 + i);
        assert_true(r->cell.condition == 42 && r->attempt == 2 && r->round_index == 1);
        assert_true(r->role == KS_ROLE_ANCHOR && r->position == 10 + i && r->lease_id == 7);
        assert_true(r->block_id == 8 && r->mpi_rank == 3 && r->device_id == 0xd1);
        assert_true(r->build_id.lo == 2 && r->code_id.hi == 3 && r->cpu >= 0);
        assert_int_equal(r->workspace_bytes, i == 1 ? 100 : 0);
        /* Inputs and references were made once, before the first cell. */
        assert_int_equal(r->input_ns > 0, i == 0);
        assert_int_equal(r->reference_ns > 0, i == 0);
        assert_true(i > 0 || r->wall_ns > r->reference_ns);
        assert_true(r->started_ns > 1600000000ull * 1000000000ull);
    }
    assert_int_equal(c.status->magic, KS_STATUS_MAGIC);
    child_send(&c, KS_F_REQ_CANARY, NULL); /* its answer comes after the last cell is counted */
    assert_true(child_record(&c, r));
    assert_int_equal(c.status->n_done, 3);
    assert_true(c.status->i_cell == UINT64_MAX);
    child_end(&c, KS_WORKER_EXIT_OK);
}

static const struct bad_row {
    const char *entry;
    uint32_t outcome;
    int32_t code;
    const char *reason; /* part of it */
    uint32_t phase;
} bad_rows[] = {
    { "one_wrong", KS_O_WRONG_RESULT, 0, "exact data", KS_PH_EXACT },
    { "coarse", KS_O_WRONG_RESULT, 0, "tolerance", KS_PH_VERIFY },
    { "unwritten", KS_O_WRONG_RESULT, 0, "exact data", KS_PH_EXACT },
    { "accumulate", KS_O_WRONG_RESULT, 0, "exact data", KS_PH_EXACT },
    { "write_before", KS_O_OUT_OF_BOUNDS, 0, "byte -4 of the output", KS_PH_EXACT },
    { "write_after", KS_O_OUT_OF_BOUNDS, 0, "byte 1440 of the output", KS_PH_EXACT },
    { "write_after_workspace", KS_O_OUT_OF_BOUNDS, 0, "byte 100 of the workspace", KS_PH_EXACT },
    { "write_and_wrong", KS_O_OUT_OF_BOUNDS, 0, "byte -4 of the output", KS_PH_EXACT },
    { "read_before", KS_O_WRONG_RESULT, 0, "exact data", KS_PH_EXACT },
    { "read_after", KS_O_WRONG_RESULT, 0, "exact data", KS_PH_EXACT },
    { "write_input", KS_O_OUT_OF_BOUNDS, 0, "wrote its input b", KS_PH_VERIFY },
    { "write_before_input", KS_O_OUT_OF_BOUNDS, 0, "byte -8 of its input a", KS_PH_VERIFY },
    { "different", KS_O_NONDETERMINISTIC, 0, "differ", KS_PH_EXACT },
    { "always_different", KS_O_NONDETERMINISTIC, 0, "differ", KS_PH_EXACT },
    { "fails", KS_O_LAUNCH_FAILED, -77, "returned -77", KS_PH_EXACT },
    { "writes_and_fails", KS_O_LAUNCH_FAILED, -78, "returned -78", KS_PH_EXACT },
    { "unsupported", KS_O_UNSUPPORTED, 0, "needs a blue moon", KS_PH_APPLICABLE },
    { "huge_workspace", KS_O_OUT_OF_MEMORY, 0, "workspace", KS_PH_APPLICABLE },
    { "negative_workspace", KS_O_LAUNCH_FAILED, 0, "negative", KS_PH_APPLICABLE },
    { "no_such_entry", KS_O_LOAD_FAILED, 0, "no_such_entry", KS_PH_LOAD },
};
#define N_BAD (sizeof(bad_rows) / sizeof(bad_rows[0]))

/* Every bad kernel costs its own cell only: a good one stands after each and measures the same. */
static void test_bad_kernels(void **state)
{
    struct fixture *f = *state;
    struct ks_record *r = &f->rec;
    double max_error = -1.0;
    struct child c;

    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    for (uint32_t i = 0; i < N_BAD; i++) {
        send_cell(&c, f, &f->problem, bad_rows[i].entry, 2 * i);
        assert_true(child_record(&c, r));
        if (r->outcome != bad_rows[i].outcome)
            print_error("%s: %s (%s)\n", bad_rows[i].entry, ks_outcome_text(r->outcome), r->reason);
        assert_int_equal(r->outcome, bad_rows[i].outcome);
        assert_int_equal(r->status_code, bad_rows[i].code);
        assert_non_null(strstr(r->reason, bad_rows[i].reason));
        assert_int_equal(r->phase, bad_rows[i].phase);
        send_cell(&c, f, &f->problem, "good", 2 * i + 1);
        assert_true(child_record(&c, r));
        check_good(r, &quick);
        assert_true(max_error < 0 || r->max_error == max_error);
        max_error = r->max_error;
    }
    child_end(&c, KS_WORKER_EXIT_OK);
}

static void test_mismatches_are_kept(void **state)
{
    struct fixture *f = *state;
    struct ks_record *r = &f->rec;
    struct child c;

    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "one_wrong", 0);
    assert_true(child_record(&c, r));
    assert_true(r->exact_check == 2 && r->tolerance_check == 0 && r->n_wrong == 1 &&
                r->n_mismatches == 1);
    assert_int_equal(r->mismatch[0].index, 17);
    assert_true(r->mismatch[0].got == r->mismatch[0].want + 1.0);
    assert_int_equal(r->n_box > 0, 1);
    assert_int_equal(r->box_lo[r->n_box - 1], 17 % 3); /* k = 3 per group is the fastest dim */
    assert_int_equal(r->n_samples, 0);
    send_cell(&c, f, &f->problem, "coarse", 1);
    assert_true(child_record(&c, r));
    assert_true(r->exact_check == 1 && r->tolerance_check == 2 && r->n_wrong > 16);
    assert_int_equal(r->n_mismatches, KS_MISMATCH_MAX);
    assert_true(r->max_error > 1.0);
    assert_true(fabs(r->mismatch[0].got - r->mismatch[0].want) > r->mismatch[0].tolerance);
    send_cell(&c, f, &f->problem, "read_after", 2);
    assert_true(child_record(&c, r));
    assert_true(r->n_wrong == 1 && isnan(r->mismatch[0].got));
    child_end(&c, KS_WORKER_EXIT_OK);
}

/* What an instance declares of its rounding is what it is held to, and no less. */
static void test_numerics(void **state)
{
    static const struct {
        const char *entry;
        enum ks_numerics numerics;
        uint32_t outcome;
        const char *reason;
    } rows[] = {
        { "inexact", KS_NUMERICS_FP32, KS_O_WRONG_RESULT, "exact data" },
        { "inexact", KS_NUMERICS_TRUNCATING, KS_O_WRONG_RESULT, "exact data" },
        { "inexact", KS_NUMERICS_V2_ONLY, KS_O_OK, "" },
        { "truncating", KS_NUMERICS_FP32, KS_O_WRONG_RESULT, "tolerance" },
        { "truncating", KS_NUMERICS_V2_ONLY, KS_O_WRONG_RESULT, "tolerance" },
        { "truncating", KS_NUMERICS_TRUNCATING, KS_O_OK, "" },
        { "coarse", KS_NUMERICS_TRUNCATING, KS_O_WRONG_RESULT, "tolerance" },
        { "unwritten", KS_NUMERICS_V2_ONLY, KS_O_WRONG_RESULT, "exact data" },
        { "different", KS_NUMERICS_V2_ONLY, KS_O_NONDETERMINISTIC, "differ" },
    };
    struct fixture *f = *state;
    struct child c;

    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        send_cell_of(&c, f, &f->problem, rows[i].entry, i, rows[i].numerics);
        assert_true(child_record(&c, &f->rec));
        if (f->rec.outcome != rows[i].outcome)
            print_error("row %u: %s (%s)\n", i, ks_outcome_text(f->rec.outcome), f->rec.reason);
        assert_int_equal(f->rec.outcome, rows[i].outcome);
        assert_non_null(strstr(f->rec.reason, rows[i].reason));
    }
    child_end(&c, KS_WORKER_EXIT_OK);
}

static void test_flags(void **state)
{
    struct fixture *f = *state;
    struct ks_record *r = &f->rec;
    char text[4096];
    struct child c;

    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "rounds_down", 0);
    assert_true(child_record(&c, r));
    assert_true((r->outcome_flags & KS_FL_FP_ENV_CHANGED) != 0);
    assert_int_equal(r->exact_check, 1); /* integers do not round */
    send_cell(&c, f, &f->problem, "looks_upward", 4);
    assert_true(child_record(&c, r));
    assert_int_equal(r->outcome, KS_O_OK);
    assert_true((r->outcome_flags & KS_FL_FP_ENV_CHANGED) != 0);
    send_cell(&c, f, &f->problem, "forks", 1);
    assert_true(child_record(&c, r));
    assert_int_equal(r->outcome, KS_O_OK);
    assert_true((r->outcome_flags & KS_FL_DENIED_CALLS) != 0);
    assert_true(r->n_denied > 0 && r->denied_call >= 0);
    send_cell(&c, f, &f->problem, "prints", 2);
    assert_true(child_record(&c, r));
    child_output(&c, text, sizeof(text)); /* flushed before the record came */
    assert_non_null(strstr(text, "hello from a kernel"));
    send_cell(&c, f, &f->problem, "good", 3);
    assert_true(child_record(&c, r));
    check_good(r, &quick);
    assert_int_equal(r->outcome_flags & (KS_FL_FP_ENV_CHANGED | KS_FL_DENIED_CALLS), 0);
    child_end(&c, KS_WORKER_EXIT_OK);
}

static const struct {
    const char *entry;
    bool is_signal;
    int code;
} death_rows[] = {
    { "exits", false, 3 },
    { "segfaults", true, SIGSEGV },
    { "closes_all", false, KS_WORKER_EXIT_PIPE },
};

/* A death leaves behind which cell, attempt, round and phase it was, and earlier records. */
static void test_deaths_are_attributed(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(death_rows) / sizeof(death_rows[0]); i++) {
        struct child c;
        int status;

        start_host(&c, &quick, -1);
        child_problem(&c, &f->problem, 0);
        send_cell(&c, f, &f->problem, "good", 0);
        send_cell(&c, f, &f->problem, death_rows[i].entry, 1);
        send_cell(&c, f, &f->problem, "good", 2);
        assert_true(child_record(&c, &f->rec));
        assert_int_equal(f->rec.outcome, KS_O_OK);
        assert_false(child_record(&c, &f->rec));
        status = child_wait(&c);
        assert_int_equal(WIFSIGNALED(status) != 0, death_rows[i].is_signal);
        assert_int_equal(death_rows[i].is_signal ? WTERMSIG(status) : WEXITSTATUS(status),
                         death_rows[i].code);
        assert_int_equal(c.status->i_cell, 1);
        assert_int_equal(c.status->attempt, 2);
        assert_int_equal(c.status->round, 1);
        assert_int_equal(c.status->n_done, 1);
        if (death_rows[i].code == KS_WORKER_EXIT_PIPE)
            assert_int_equal(c.status->pipe_broken, 1);
        else
            assert_int_equal(c.status->phase, KS_PH_EXACT);
        child_release(&c);
    }
}

/* A worker that cannot read on says so: its cell is done, the next was never begun. */
static void test_closed_requests(void **state)
{
    struct fixture *f = *state;
    struct child c;
    int status;

    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "closes_requests", 0);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_OK);
    status = child_wait(&c);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), KS_WORKER_EXIT_PIPE);
    assert_int_equal(c.status->pipe_broken, 1);
    assert_true(c.status->i_cell == UINT64_MAX);
    child_release(&c);
}

static void test_deadline_stands_before_the_kernel(void **state)
{
    struct fixture *f = *state;
    uint64_t from = ks_now_ns(), until = from + 20000000000ull;
    struct ks_measure m = quick;
    struct child c;

    m.kernel_timeout_ms = 300;
    start_host(&c, &m, -1);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "loops", 5);
    /* The worker itself never ends a kernel; the warden does, past the deadline on the page. */
    while ((atomic_load(&c.status->phase) != KS_PH_EXACT ||
            atomic_load(&c.status->deadline_ns) > ks_now_ns()) &&
           ks_now_ns() < until)
        ks_sleep_ns(1000000);
    assert_int_equal(c.status->phase, KS_PH_EXACT);
    assert_int_equal(c.status->i_cell, 5);
    assert_true(c.status->deadline_ns > from + 300000000);
    assert_true(c.status->deadline_ns < from + 5000000000ull);
    assert_int_equal(waitpid(c.pid, NULL, WNOHANG), 0);
    child_release(&c);
}

/* An object that is not what was built costs the cells in it, and they are told from those that
 * cannot be loaded for another reason. */
static void test_artefact_is_checked(void **state)
{
    struct fixture *f = *state;
    char good[sizeof(f->so)];
    struct child c;

    snprintf(good, sizeof(good), "%s", f->so);
    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    f->digest[31] ^= 1;
    send_cell(&c, f, &f->problem, "good", 0);
    f->digest[31] ^= 1;
    snprintf(f->so, sizeof(f->so), "%s/nowhere.so", f->dir);
    send_cell(&c, f, &f->problem, "good", 1);
    snprintf(f->so, sizeof(f->so), "%s", good);
    send_cell(&c, f, &f->problem, "good", 2);
    send_cell(&c, f, &f->problem, "no_such_entry", 3);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(child_record(&c, &f->rec));
        assert_int_equal(f->rec.outcome, i == 2 ? KS_O_OK : KS_O_LOAD_FAILED);
        assert_int_equal((f->rec.outcome_flags & KS_FL_DAMAGED) != 0, i < 2);
        if (i < 2)
            assert_non_null(strstr(f->rec.reason, i == 0 ? "SHA-256" : "nowhere.so"));
    }
    child_end(&c, KS_WORKER_EXIT_OK);
}

static void test_cold(void **state)
{
    struct fixture *f = *state;
    struct ks_measure m = quick;
    struct child c;

    m.cache = KS_CACHE_COLD;
    start_host(&c, &m, -1);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "good", 0);
    assert_true(child_record(&c, &f->rec));
    check_good(&f->rec, &m);
    assert_int_equal(f->rec.calls_per_sample, 1);
    child_end(&c, KS_WORKER_EXIT_OK);
}

static void test_verification_can_be_off(void **state)
{
    struct fixture *f = *state;
    struct ks_measure m = quick;
    struct child c;

    m.verify_exact = m.verify_elementwise = 0;
    start_host(&c, &m, -1);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "one_wrong", 0);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_OK);
    assert_true(f->rec.exact_check == 0 && f->rec.tolerance_check == 0 &&
                f->rec.verified_sample_ns < 0);
    assert_true(f->rec.n_samples >= m.min_samples);
    send_cell(&c, f, &f->problem, "write_after", 1); /* guards are looked at all the same */
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_OUT_OF_BOUNDS);
    child_end(&c, KS_WORKER_EXIT_OK);
}

static const char own_allocator[] = "the sentinel's chunks are those of the C library's allocator";

static void test_sentinel_convicts(void **state)
{
    struct fixture *f = *state;
    struct ks_req_setup s = host_setup(&quick);
    struct ks_ready ready;
    struct child c;

    skip_if_sanitized(own_allocator);
    s.is_sentinel = 1;
    child_start(&c, -1);
    child_setup(&c, &s, &ready);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "good", 0);
    assert_true(child_record(&c, &f->rec));
    check_good(&f->rec, &quick);
    send_cell(&c, f, &f->problem, "overflows_heap", 1);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_CRASHED);
    assert_int_equal(f->rec.status_code, 0);
    assert_non_null(strstr(f->rec.reason, "heap_corruption: wrote beyond a chunk"));
    child_release(&c);
}

/* No room for sentinels: nothing was learnt, and the record says so. */
static void test_sentinel_without_memory(void **state)
{
    struct fixture *f = *state;
    struct ks_req_setup s = host_setup(&quick);
    struct ks_ready ready;
    struct rlimit none = { 1, RLIM_INFINITY };
    struct child c;

    skip_if_sanitized(own_allocator);
    s.is_sentinel = 1;
    child_start(&c, -1);
    child_setup(&c, &s, &ready);
    child_problem(&c, &f->problem, 0);
    send_cell(&c, f, &f->problem, "good", 0);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome_flags & KS_FL_SUSPECT, 0);
    assert_int_equal(prlimit(c.pid, RLIMIT_AS, &none, NULL), 0);
    send_cell(&c, f, &f->problem, "good", 1);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_OK);
    assert_int_equal(f->rec.outcome_flags & KS_FL_SUSPECT, KS_FL_SUSPECT);
    assert_non_null(strstr(f->rec.reason, "no memory for sentinels"));
    child_release(&c);
}

/* No exact check; one verified sample in the first pass; what is wrong is found all the same. */
static void test_visits(void **state)
{
    static const char *const entries[] = { "good", "uses_workspace", "uses_workspace", "good" };
    struct fixture *f = *state;
    struct ks_record *r = &f->rec;
    struct child c;

    start_host(&c, &quick, -1);
    child_problem(&c, &f->problem, 0);
    for (uint32_t i = 0; i < 4; i++)
        send_visit(&c, f, &f->problem, entries[i], i, i >= 2);
    send_visit(&c, f, &f->problem, "coarse", 4, false);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(child_record(&c, r));
        assert_int_equal(r->outcome, KS_O_OK);
        assert_int_equal(r->n_visit, 2);
        assert_int_equal(r->exact_check, 0);
        assert_int_equal(r->tolerance_check, i < 2);
        assert_int_equal(r->n_checked_launches, i < 2);
        assert_true(r->n_samples >= quick.min_samples);
    }
    assert_true(child_record(&c, r));
    assert_int_equal(r->outcome, KS_O_WRONG_RESULT);
    assert_int_equal(r->exact_check, 0);
    child_end(&c, KS_WORKER_EXIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_kernel),
        cmocka_unit_test(test_visits),
        cmocka_unit_test(test_bad_kernels),
        cmocka_unit_test(test_mismatches_are_kept),
        cmocka_unit_test(test_numerics),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_deaths_are_attributed),
        cmocka_unit_test(test_closed_requests),
        cmocka_unit_test(test_deadline_stands_before_the_kernel),
        cmocka_unit_test(test_artefact_is_checked),
        cmocka_unit_test(test_cold),
        cmocka_unit_test(test_verification_can_be_off),
        cmocka_unit_test(test_sentinel_convicts),
        cmocka_unit_test(test_sentinel_without_memory),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
