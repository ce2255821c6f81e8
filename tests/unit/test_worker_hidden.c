/* SPDX-License-Identifier: MIT */
/* test_worker_hidden.c - cells on a device like a GPU: hidden memory, a queue, errors that stay */
#include "tests/unit/worker_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *entry;
    uint32_t outcome;
    const char *reason;
} cell_rows[] = {
    { "good", KS_O_OK, "" },
    { "uses_workspace", KS_O_OK, "" },
    { "one_wrong", KS_O_WRONG_RESULT, "exact data" },
    { "coarse", KS_O_WRONG_RESULT, "tolerance" },
    { "unwritten", KS_O_WRONG_RESULT, "exact data" },
    { "nothing", KS_O_WRONG_RESULT, "exact data" },
    { "write_before", KS_O_OUT_OF_BOUNDS, "byte -4 of the output" },
    { "write_after", KS_O_OUT_OF_BOUNDS, "byte 1440 of the output" },
    { "write_after_workspace", KS_O_OUT_OF_BOUNDS, "byte 100 of the workspace" },
    { "read_before", KS_O_WRONG_RESULT, "exact data" },
    { "always_different", KS_O_NONDETERMINISTIC, "differ" },
    { "fails", KS_O_LAUNCH_FAILED, "returned -77" },
    { "writes_and_fails", KS_O_LAUNCH_FAILED, "returned -78" },
    { "huge_workspace", KS_O_OUT_OF_MEMORY, "workspace" },
    { "unsupported", KS_O_UNSUPPORTED, "blue moon" },
};

/* What is caught in memory that both see is caught in a GPU's, and costs its own cell only. */
static void test_cells(void **state)
{
    struct ks_fault_plan plan = { .slot = KS_FAULT_NONE };
    struct shared *s = *state;
    struct fixture *f = s->f;
    struct ks_err err = { 0 };
    struct rig r;

    open_rig(&r, s, &plan);
    assert_int_equal(take_problem(&r, &f->problem, NULL, 0, &err), 0);
    for (size_t i = 0; i < sizeof(cell_rows) / sizeof(cell_rows[0]); i++) {
        const struct ks_record *rec = run(&r, cell_rows[i].entry);

        if (rec->outcome != cell_rows[i].outcome)
            print_error("%s: %u (%s)\n", cell_rows[i].entry, rec->outcome, rec->reason);
        assert_int_equal(rec->outcome, cell_rows[i].outcome);
        assert_non_null(strstr(rec->reason, cell_rows[i].reason));
        check_good(run(&r, "good"), &quick);
    }
    assert_false(r.w->is_lost);
    close_rig(&r);
}

/* A launch that was left out without a word leaves poison behind, whichever launch it was. */
static void test_skipped_launch(void **state)
{
    struct shared *s = *state;
    struct fixture *f = s->f;
    uint32_t n_timed;
    struct rig r;

    for (uint32_t skip = 0; skip < 3; skip++) {
        struct ks_fault_plan plan = { .skip = skip };
        struct ks_err err = { 0 };

        open_rig(&r, s, &plan);
        assert_int_equal(take_problem(&r, &f->problem, NULL, 0, &err), 0);
        assert_int_equal(run(&r, "good")->outcome, skip == 0 ? KS_O_OK : KS_O_NONDETERMINISTIC);
        n_timed = skip == 0 ? ks_fault_calls(r.w->dev, KS_FAULT_TIME) : n_timed;
        close_rig(&r);
    }
    assert_true(n_timed > 4);
}

/* The first launch on random data, the third of a cell, is verified: if it was left out, its whole
 * output is poison. One of those after it shows when its output was looked at; none is blamed where
 * all ran. Times are prescribed, so that nobody is slower. */
static void test_skipped_timed_launch(void **state)
{
    static const double same[] = { 1e6 };
    struct shared *s = *state;
    struct fixture *f = s->f;
    uint32_t n_seen = 0;

    for (uint32_t skip = 3; skip < 12; skip++) {
        struct ks_fault_plan plan = { .times_ns = same, .n_times = 1, .skip = skip };
        struct ks_err err = { 0 };
        struct rig r;

        open_rig(&r, s, &plan);
        r.w->setup.measure.warmup_ms = 6;
        r.w->setup.measure.max_ms = 100000;
        assert_int_equal(take_problem(&r, &f->problem, NULL, 0, &err), 0);
        run(&r, "good");
        assert_int_equal(r.w->rec.exact_check, 1);
        n_seen += r.w->rec.outcome != KS_O_OK;
        if (r.w->rec.outcome != KS_O_OK)
            assert_int_equal(r.w->rec.tolerance_check, 2);
        if (skip == 3) {
            assert_int_equal(r.w->rec.outcome, KS_O_WRONG_RESULT);
            assert_int_equal(r.w->rec.n_wrong, r.w->rec.n_elements);
        }
        close_rig(&r);
    }
    assert_true(n_seen >= 3); /* two more sets, verified, and the exchange after them */
}

/* Wrong elements are recorded with the signs that its inputs gave them; inputs are as they were
 * made afterwards. (The output itself is poisoned by then.) */
static void test_wrong_elements_have_their_signs(void **state)
{
    struct ks_fault_plan plan = { .slot = KS_FAULT_NONE };
    struct shared *s = *state;
    struct ks_err err = { 0 };
    uint32_t n_minus = 0;

    for (uint64_t seed = 1; seed < 9; seed++) {
        const struct ks_record *r;
        char reason[160];
        struct rig rig;
        int rc = 0;

        open_rig(&rig, s, &plan);
        assert_int_equal(take_problem(&rig, &s->f->problem, NULL, 0, &err), 0);
        rig.w->next_check_seed = seed;
        r = run(&rig, "coarse");
        assert_int_equal(r->outcome, KS_O_WRONG_RESULT);
        assert_int_equal(r->check_seed, seed);
        assert_int_equal(r->n_mismatches, KS_MISMATCH_MAX);
        for (uint32_t i = 0; i < r->n_mismatches; i++) {
            assert_true(fabs(r->mismatch[i].got - r->mismatch[i].want) <
                        1e-2 * fabs(r->mismatch[i].want));
            n_minus += r->mismatch[i].want < 0;
        }
        assert_true(ks_workset_check_inputs(&rig.w->set, reason, sizeof(reason), &rc, &err));
        close_rig(&rig);
    }
    assert_in_range(n_minus, 8, 8 * KS_MISMATCH_MAX - 8);
}

/* Who changes an input without leaving a trace in its own results is found out in its own cell,
 * wherever it stands; the next finds all as it was made. */
static void test_spoilt_inputs(void **state)
{
    static const char *const entries[] = {
        "good",           "spoils_quietly",     "good", "good", "good",
        "spoils_quietly", "write_before_input", "good"
    };
    struct ks_fault_plan plan = { .slot = KS_FAULT_NONE };
    struct shared *s = *state;
    struct fixture *f = s->f;
    struct ks_err err = { 0 };
    struct rig r;

    open_rig(&r, s, &plan);
    assert_int_equal(take_problem(&r, &f->problem, NULL, 0, &err), 0);
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        bool is_good = strcmp(entries[i], "good") == 0;

        run(&r, entries[i]);
        assert_int_equal(r.w->rec.outcome, is_good ? KS_O_OK : KS_O_OUT_OF_BOUNDS);
        assert_int_equal(strstr(r.w->rec.reason, "input") != NULL, !is_good);
    }
    close_rig(&r);
}

static const struct {
    enum ks_fault_slot slot;
    enum ks_code code;
    uint32_t outcome;
    bool is_lost;
} end_rows[] = {
    { KS_FAULT_MODULE_ENTRY, KS_EUNSUPPORTED, KS_O_SKIPPED, false },
    { KS_FAULT_MODULE_ENTRY, KS_ELOAD, KS_O_LOAD_FAILED, false },
    { KS_FAULT_MODULE_OPEN, KS_ELOAD, KS_O_LOAD_FAILED, false },
    { KS_FAULT_TIME, KS_EDEVLOST, KS_O_LAUNCH_FAILED, true },
    { KS_FAULT_DOWNLOAD, KS_EDEVLOST, KS_O_LAUNCH_FAILED, true },
    { KS_FAULT_FILL, KS_EDEVLOST, KS_O_LAUNCH_FAILED, true },
    { KS_FAULT_TOUCH, KS_EDEVLOST, KS_O_LAUNCH_FAILED, true },
    { KS_FAULT_CANARY, KS_EDEVLOST, KS_O_LAUNCH_FAILED, true },
    { KS_FAULT_TIME, KS_EDEVICE, KS_O_LAUNCH_FAILED, true },
    { KS_FAULT_DOWNLOAD, KS_EDEVICE, KS_O_LAUNCH_FAILED, true },
    { KS_FAULT_TIME, KS_EDEVMEM, KS_O_OUT_OF_MEMORY, false },
};

/* The first call of the cell fails: what it ends as, with the device's own words. After an error
 * that stays nothing more is asked of the device. */
static void test_device_errors(void **state)
{
    struct shared *s = *state;
    struct fixture *f = s->f;

    for (size_t i = 0; i < sizeof(end_rows) / sizeof(end_rows[0]); i++) {
        /* The poison of a fresh output is the one fill before the cell. */
        struct ks_fault_plan plan = { .slot = end_rows[i].slot,
                                      .nth = end_rows[i].slot == KS_FAULT_FILL ? 1 : 0,
                                      .code = end_rows[i].code };
        struct ks_err err = { 0 };
        uint32_t n_down;
        struct rig r;

        open_rig(&r, s, &plan);
        assert_int_equal(take_problem(&r, &f->problem, NULL, 0, &err), 0);
        run(&r, "good");
        assert_int_equal(r.w->rec.outcome, end_rows[i].outcome);
        assert_non_null(strstr(r.w->rec.reason, "planned failure"));
        assert_int_equal(r.w->is_lost, end_rows[i].is_lost);
        n_down = ks_fault_calls(r.w->dev, KS_FAULT_DOWNLOAD);
        if (end_rows[i].is_lost && end_rows[i].slot == KS_FAULT_DOWNLOAD)
            assert_int_equal(n_down, 1);
        if (end_rows[i].is_lost && end_rows[i].slot == KS_FAULT_FILL)
            assert_int_equal(n_down, 0);
        if (!end_rows[i].is_lost)
            check_good(run(&r, "good"), &quick);
        close_rig(&r);
    }
}

/* A launch that failed is the cause of what fails after it: its outcome and reason stay. */
static void test_first_failure_stays(void **state)
{
    struct ks_fault_plan plan = { .slot = KS_FAULT_DOWNLOAD, .code = KS_EDEVICE };
    struct shared *s = *state;
    struct rig r;

    open_rig(&r, s, &plan);
    assert_int_equal(take_problem(&r, &s->f->problem, NULL, 0, NULL), 0);
    run(&r, "writes_and_fails");
    assert_int_equal(r.w->rec.outcome, KS_O_LAUNCH_FAILED);
    assert_int_equal(r.w->rec.status_code, -78);
    assert_non_null(strstr(r.w->rec.reason, "returned -78; planned failure"));
    assert_int_equal(r.w->rec.phase, KS_PH_EXACT);
    assert_int_equal(ks_fault_calls(r.w->dev, KS_FAULT_DOWNLOAD), 1);
    assert_true(r.w->is_lost);
    close_rig(&r);
}

/* One call that takes six times as long as one of many does its work once a sample; or wakes the
 * threads that it declares. */
static void test_threads_that_sleep(void **state)
{
    static const double many[] = { 10e3 };
    struct ks_fault_plan plan = { .times_ns = many, .n_times = 1 };
    struct shared *s = *state;

    for (uint32_t threads = 1; threads < 9; threads += 7) {
        struct rig r;

        open_rig(&r, s, &plan);
        r.w->setup.measure.min_sample_us = 1000;
        r.single_ns = 60e3;
        r.threads = threads;
        assert_int_equal(take_problem(&r, &s->f->problem, NULL, 0, NULL), 0);
        run(&r, "good");
        assert_int_equal(r.w->rec.outcome, threads == 1 ? KS_O_UNTRUSTED : KS_O_OK);
        assert_int_equal(strstr(r.w->rec.reason, "repeated calls do no work") != NULL,
                         threads == 1);
        assert_int_equal(r.w->rec.calls_per_sample, 100);
        close_rig(&r);
    }
}

static const char *can_run(const struct ks_abi_problem *p)
{
    (void)p;
    return NULL;
}

static int64_t large_workspace(const struct ks_abi_problem *p)
{
    (void)p;
    return 64 << 20;
}

static int fail_at_once(const struct ks_abi_problem *p, const struct ks_abi_buffers *b)
{
    (void)p;
    (void)b;
    return -1;
}

/* Verification poisons the workspace again and again: the cell's time grows with it. */
static void test_large_workspace_gets_time(void **state)
{
    static const struct ks_abi_entry entry = { "large", can_run, large_workspace, fail_at_once };
    static const struct ks_abi_entry *const extra[] = { &entry, NULL };
    struct ks_fault_plan plan = { .slot = KS_FAULT_NONE };
    struct shared *s = *state;
    uint64_t usual_ns;
    struct rig r;

    open_rig(&r, s, &plan);
    r.extra = extra;
    assert_int_equal(take_problem(&r, &s->f->problem, NULL, 0, NULL), 0);
    run(&r, "fails");
    usual_ns = r.w->cell_deadline_ns;
    assert_int_equal(run(&r, "large")->outcome, KS_O_LAUNCH_FAILED);
    assert_true(r.w->cell_deadline_ns > usual_ns + 100 * (uint64_t)large_workspace(NULL));
    close_rig(&r);
}

/* Whatever call fails, whenever: the cell ends as what that stands for, and says why. */
static void test_any_call_may_fail(void **state)
{
    static const enum ks_fault_slot slots[] = { KS_FAULT_UPLOAD, KS_FAULT_DOWNLOAD, KS_FAULT_FILL,
                                                KS_FAULT_ALLOC };
    struct shared *s = *state;
    struct fixture *f = s->f;

    for (size_t k = 0; k < sizeof(slots) / sizeof(slots[0]); k++) {
        uint32_t outcome = KS_O_NONE;

        for (uint32_t n = 0; outcome != KS_O_OK; n++) {
            struct ks_fault_plan plan = { .slot = slots[k], .nth = n, .code = KS_EDEVMEM };
            struct ks_err err = { 0 };
            struct rig r;

            open_rig(&r, s, &plan);
            assert_int_equal(take_problem(&r, &f->problem, NULL, 0, &err), 0);
            outcome = run(&r, "uses_workspace")->outcome;
            assert_true(outcome == KS_O_OK || outcome == KS_O_OUT_OF_MEMORY);
            assert_int_equal(strstr(r.w->rec.reason, "planned") != NULL, outcome != KS_O_OK);
            close_rig(&r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_skipped_launch),
        cmocka_unit_test(test_wrong_elements_have_their_signs),
        cmocka_unit_test(test_skipped_timed_launch),
        cmocka_unit_test(test_spoilt_inputs),
        cmocka_unit_test(test_device_errors),
        cmocka_unit_test(test_first_failure_stays),
        cmocka_unit_test(test_threads_that_sleep),
        cmocka_unit_test(test_large_workspace_gets_time),
        cmocka_unit_test(test_any_call_may_fail),
    };

    return cmocka_run_group_tests(tests, shared_setup, shared_teardown);
}
