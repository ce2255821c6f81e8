/* SPDX-License-Identifier: MIT */
/* test_worker_liars.c - a judge that lies, answers nonsense or does not run is believed nothing */
#include "tests/unit/op_cases.h"
#include "tests/unit/worker_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct ks_fault_plan no_fault = { .slot = KS_FAULT_NONE };

/* References that cannot be made again as they were are no references. */
static void test_remaking_fails(void **state)
{
    const struct shared *s = *state;

    for (uint32_t task = KS_JUDGE_REFERENCE; task <= KS_JUDGE_ROUND; task++) {
        struct rig r;

        open_rig(&r, s, &no_fault);
        take(&r, &s->f->problem, "judge");
        r.judge_fault.task = task;
        r.judge_fault.nth = r.n_tasks[task] + 1;
        r.scribble = r.w->judge.exact;
        run(&r, "good");
        assert_int_equal(r.w->rec.outcome, KS_O_LAUNCH_FAILED);
        assert_true(r.w->is_lost);
        close_rig(&r);
    }
}

/* ---- judges that lie ---- */

static const struct {
    const char *entry, *reason;
} liars[] = {
    { "lies_sum", "" },
    { "lies_real", "the reference's R" },
    { "lies_abs", "the reference's A" },
    { "lies_round", "round the exact reference" },
    { "lies_digest", "differs from what was uploaded" },
    { "lies_flip_input", "'flip': the signs of the input a" },
    { "lies_flip_output", "'flip': the signs of the output" },
    { "no_flip", "'flip': block 0 of" },
    { "counts_digest", "counted elements" },
    { "exact_blind", "'exact', test 'one wrong element'" },
    { "exact_afraid", "'exact', test 'no wrong element'" },
    { "exact_elsewhere", "'exact', test 'one wrong element'" },
    { "exact_twice", "'exact', test 'one wrong element'" },
    { "written_blind", "'written', test 'one wrong element'" },
    { "real_zeros", "'real'" },
    { "real_error", "'real', test 'one wrong element'" },
    { "without_first", "'exact', test 'one wrong element'" },
    { "without_last", "'exact', test 'one wrong element'" },
    { "real_lenient", "'real', test 'one wrong element'" },
    { "no_answer", "block 0 of 8 wrote no result" },
    { "no_digest", "wrote no result" },
    { "no_sums", "" },
    { "no_rounding", "round the exact reference" },
    { "last_block_missing", "block 7 of 8 wrote no result" },
    { "one_block_more", "beyond its 8 blocks" },
    { "one_word_before", "beyond its 8 blocks" },
    { "impossible_count", "an impossible result" },
    { "impossible_sum", "more elements than there are" },
    { "impossible_first", "an impossible result" },
    { "first_of_none", "an impossible result" },
    { "impossible_error", "an impossible result" },
    { "fails", "returned 5" },
};

/* Every lie ends the taking up of its problem as a failure of the device. */
static void test_liars(void **state)
{
    const struct shared *s = *state;
    struct ks_problem p;

    large_problem(&p);
    for (size_t i = 0; i < sizeof(liars) / sizeof(liars[0]); i++) {
        struct ks_err err = { 0 };
        struct rig r;
        int rc;

        open_rig(&r, s, &no_fault);
        rc = take_problem(&r, &p, liars[i].entry, 0, &err);
        if (rc != KS_EDEVICE || strstr(err.text, liars[i].reason) == NULL)
            print_error("%s: %d, %s\n", liars[i].entry, rc, err.text);
        assert_int_equal(rc, KS_EDEVICE);
        assert_non_null(strstr(err.text, liars[i].reason));
        close_rig(&r);
    }
}

/* What a judge finds wrong and the host does not is a failure of the device, of no kernel. */
static void test_turncoat(void **state)
{
    const struct shared *s = *state;
    struct rig r;

    open_rig(&r, s, &no_fault);
    take(&r, &s->f->problem, "turncoat");
    run(&r, "good");
    assert_int_equal(r.w->rec.outcome, KS_O_LAUNCH_FAILED);
    assert_non_null(strstr(r.w->rec.reason, "the host 0 from"));
    assert_true(r.w->is_lost);
    close_rig(&r);
}

/* Nor are those that come out otherwise than the ones that were proved, were it by one bit. */
static void test_remade_otherwise(void **state)
{
    const struct shared *s = *state;
    struct rig r;

    open_rig(&r, s, &no_fault);
    take(&r, &s->f->problem, "drifts");
    check_good(run(&r, "good"), &quick);
    r.scribble = r.w->judge.exact;
    assert_int_equal(run(&r, "good")->outcome, KS_O_LAUNCH_FAILED);
    assert_non_null(strstr(r.w->rec.reason, "digests differ"));
    assert_true(r.w->is_lost);
    close_rig(&r);
}

/* Whatever launch of the judge is left out without a word, at taking up or in a cell. */
static void test_silent_launches(void **state)
{
    /* Every cell has as many; most have more. */
    static const uint32_t in_cell[KS_JUDGE_N_TASKS] = {
        [KS_JUDGE_EXACT] = 1, [KS_JUDGE_REAL] = 4, [KS_JUDGE_DIGEST] = 7, [KS_JUDGE_FLIP] = 12
    };
    const struct shared *s = *state;
    uint32_t n_taken[KS_JUDGE_N_TASKS];
    struct rig r;

    open_rig(&r, s, &no_fault);
    take(&r, &s->f->problem, "judge");
    memcpy(n_taken, r.n_tasks, sizeof(n_taken));
    check_good(run(&r, "good"), &quick);
    for (uint32_t task = 0; task < KS_JUDGE_CLOCK; task++) /* which verifies nothing */
        assert_true(r.n_tasks[task] - n_taken[task] >= in_cell[task]);
    close_rig(&r);
    for (uint32_t task = 0; task < KS_JUDGE_CLOCK; task++)
        for (uint32_t nth = 1; nth <= n_taken[task] + in_cell[task]; nth++) {
            struct ks_err err = { 0 };
            int rc;

            open_rig(&r, s, &no_fault);
            r.judge_fault.task = task;
            r.judge_fault.nth = nth;
            rc = take_problem(&r, &s->f->problem, "judge", 0, &err);
            assert_int_equal(rc, nth <= n_taken[task] ? KS_EDEVICE : 0);
            if (rc == 0) {
                assert_int_equal(run(&r, "good")->outcome, KS_O_LAUNCH_FAILED);
                assert_non_null(strstr(r.w->rec.reason, "wrote no result"));
                assert_true(r.w->is_lost);
            }
            close_rig(&r);
        }
}

/* A judge that fails is a device that fails. */
static void test_failing_launches(void **state)
{
    static const int codes[] = { KS_EDEVICE, KS_EDEVLOST, KS_EUNSUPPORTED };
    const struct shared *s = *state;

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        for (uint32_t task = KS_JUDGE_EXACT; task < KS_JUDGE_CLOCK; task++) {
            struct ks_err err = { 0 };
            struct rig r;

            if (task == KS_JUDGE_WRITTEN)
                continue; /* not asked in this cell */
            open_rig(&r, s, &no_fault);
            take(&r, &s->f->problem, "judge");
            r.judge_fault.task = task;
            r.judge_fault.nth = r.n_tasks[task] + 1;
            r.judge_fault.rc = codes[i];
            assert_int_equal(run(&r, "good")->outcome, KS_O_LAUNCH_FAILED);
            assert_non_null(strstr(r.w->rec.reason, "planned failure of the judge"));
            assert_int_equal(r.w->rec.status_code, 0);
            assert_true(r.w->is_lost);
            close_rig(&r);

            open_rig(&r, s, &no_fault);
            r.judge_fault.task = task;
            r.judge_fault.nth = 1;
            r.judge_fault.rc = codes[i];
            if (codes[i] == KS_EUNSUPPORTED) { /* it can never be launched: the host can */
                assert_int_equal(take_problem(&r, &s->f->problem, "judge", 0, &err), 0);
                assert_ptr_equal(r.w->inspector, &ks_inspector_host);
                check_good(run(&r, "good"), &quick);
            } else {
                assert_int_equal(take_problem(&r, &s->f->problem, "judge", 0, &err), codes[i]);
            }
            close_rig(&r);
        }
}

static const struct {
    const char *entry;
    uint32_t n_before; /* digests of its outputs */
    int rc;
    uint32_t outcome;
} unseen_rows[] = {
    { "coarse", 3, KS_EDEVICE, KS_O_LAUNCH_FAILED },
    { "coarse", 3, KS_ENOMEM, KS_O_OUT_OF_MEMORY },
    { "one_wrong", 2, KS_ENOMEM, KS_O_OUT_OF_MEMORY },
    { "fails", 0, KS_EDEVICE, KS_O_LAUNCH_FAILED },
};

/* Whatever keeps the judge from looking at what cells share, the next cell is another worker's. */
static void test_unseen_inputs(void **state)
{
    const struct shared *s = *state;

    for (size_t i = 0; i < sizeof(unseen_rows) / sizeof(unseen_rows[0]); i++) {
        struct rig r;

        open_rig(&r, s, &no_fault);
        take(&r, &s->f->problem, "judge");
        r.judge_fault.task = KS_JUDGE_DIGEST;
        r.judge_fault.nth = r.n_tasks[KS_JUDGE_DIGEST] + unseen_rows[i].n_before + 1;
        r.judge_fault.rc = unseen_rows[i].rc;
        assert_int_equal(run(&r, unseen_rows[i].entry)->outcome, unseen_rows[i].outcome);
        assert_non_null(strstr(r.w->rec.reason, "planned failure"));
        assert_true(r.w->is_lost);
        close_rig(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_liars),           cmocka_unit_test(test_turncoat),
        cmocka_unit_test(test_remaking_fails),  cmocka_unit_test(test_remade_otherwise),
        cmocka_unit_test(test_silent_launches), cmocka_unit_test(test_failing_launches),
        cmocka_unit_test(test_unseen_inputs),
    };

    return cmocka_run_group_tests(tests, shared_setup, shared_teardown);
}
