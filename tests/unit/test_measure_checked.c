/* SPDX-License-Identifier: MIT */
/* test_measure_checked.c - samples with checks between them: in each round; checks that end it */
#include "tests/unit/measure_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Every round has its checks, whatever ends it, and the record says which samples they were. */
static void test_every_round_is_checked(void **state)
{
    static const double slow[] = { 30e6 }, quick_ns[] = { 50e3 };
    static const struct {
        const double *times;
        uint32_t min, max, max_ms, n_verified, n_fresh, n_placebo;
        enum ks_stop stop;
    } rows[] = {
        { slow, 5, 200, 500, 3, 1, 1, KS_STOP_TARGET },
        { slow, 1, 200, 1, 3, 1, 1, KS_STOP_MAX_TIME }, /* no fewer than KS_LEAST_CHECKED */
        { slow, 1, 3, 500, 2, 1, 0, KS_STOP_MAX_SAMPLES },
        { slow, 1, 1, 500, 1, 0, 0, KS_STOP_MAX_SAMPLES },
        { quick_ns, 5, 200, 500, 3, 2, 2, KS_STOP_MAX_SAMPLES },
        { quick_ns, 7, 200, 0, 3, 2, 2, KS_STOP_MAX_TIME },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_fault_plan plan = { .times_ns = rows[i].times, .n_times = 1 };
        struct ks_measure m = usual;
        struct ks_err err = { 0 };
        struct bench b;
        uint32_t n[KS_CHECK_KINDS] = { 0 };

        m.min_samples = rows[i].min;
        m.max_samples = rows[i].max;
        m.max_ms = rows[i].max_ms;
        open_bench(&b, &plan);
        b.run.call_ns = rows[i].times[0];
        plan_checks(&b, 100 + i);
        b.plan.n_verified = 2; /* by a warm-up */
        assert_int_equal(ks_measure_samples(&b.run, &m, 1, &b.round, b.rec, &err), 0);
        assert_int_equal(b.rec->stop_reason, rows[i].stop);
        for (uint32_t k = 0; k < b.rec->n_samples; k++)
            n[b.round.kind[k]]++;
        assert_memory_equal(n, b.n_checks, sizeof(n));
        assert_true(n[KS_CHECK_VERIFIED] >= rows[i].n_verified);
        assert_true(n[KS_CHECK_FRESH] >= rows[i].n_fresh);
        assert_true(n[KS_CHECK_PLACEBO] >= rows[i].n_placebo);
        assert_true(b.rec->verified_sample_ns == rows[i].times[0]);
        assert_true(b.run.checks_ns > 0);
        close_bench(&b);
    }
}

/* Where a sample has several calls there are samples of one, too: not among the others. */
static void test_singles(void **state)
{
    static const double times[] = { 1e3 };
    struct ks_fault_plan plan = { .times_ns = times, .n_times = 1 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };

    (void)state;
    for (uint32_t calls = 1; calls <= 20; calls += 19) {
        struct bench b;

        m.max_samples = 8;
        open_bench(&b, &plan);
        b.run.call_ns = 1e3;
        plan_checks(&b, 5);
        assert_int_equal(ks_measure_samples(&b.run, &m, calls, &b.round, b.rec, &err), 0);
        assert_int_equal(b.rec->n_samples, 8);
        for (uint32_t i = 0; i < 8; i++)
            assert_true(b.rec->sample_ns[i] == 1e3);
        for (uint32_t kind = KS_CHECK_PLACEBO; kind <= KS_CHECK_VERIFIED; kind += 2) {
            assert_int_equal(b.round.n_singles[kind] >= KS_SINGLES, calls > 1);
            assert_true(b.round.single_ns[kind][0] == (calls > 1 ? 1e3 : 0.0));
        }
        close_bench(&b);
    }
}

/* A check that finds something ends the round or the warm-up; one that fails, too. */
static void test_checks_end_it(void **state)
{
    static const double same[] = { 50e3 };
    struct ks_fault_plan plan = { .times_ns = same, .n_times = 1 };
    struct ks_err err = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        int want = i % 2 == 0 ? 1 : KS_EDEVICE;
        uint32_t calls = 77;
        struct bench b;

        open_bench(&b, &plan);
        plan_checks(&b, i);
        b.fail_with = want;
        *(i / 2 % 2 == 0 ? &b.fail_before : &b.fail_after) = i < 4 ? 1 : 3;
        if (i < 8) {
            struct ks_measure m = usual;

            m.warmup_ms = 10;
            assert_int_equal(ks_measure_warm(&b.run, &m, &calls, &err), want);
            assert_int_equal(calls, 77);
        } else {
            assert_int_equal(ks_measure_samples(&b.run, &usual, 1, &b.round, b.rec, &err), want);
            assert_int_equal(b.rec->stop_reason, want < 0 ? KS_STOP_FAILED : KS_STOP_NONE);
            assert_int_equal(b.rec->n_samples, 2);
        }
        b.is_in_check = 0;
        close_bench(&b);
    }
}

/* The warm-up begins with two sets of inputs, verified. */
static void test_warm_up_is_checked(void **state)
{
    static const double same[] = { 1e6 };
    struct ks_fault_plan plan = { .times_ns = same, .n_times = 1 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    uint32_t calls = 0;
    struct bench b;

    (void)state;
    m.warmup_ms = 3;
    open_bench(&b, &plan);
    plan_checks(&b, 3);
    assert_int_equal(ks_measure_warm(&b.run, &m, &calls, &err), 0);
    assert_int_equal(ks_fault_calls(b.dev, KS_FAULT_TIME), 3);
    assert_int_equal(b.n_checks[KS_CHECK_VERIFIED], 2);
    assert_int_equal(b.n_checks[KS_CHECK_FRESH], 1);
    close_bench(&b);
}

/* A verified sample without a time: its output was looked at, there is no sample. */
static void test_verified_without_time(void **state)
{
    static const double times[] = { 0.0, 1e5 };
    struct ks_fault_plan plan = { .times_ns = times, .n_times = 2 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    m.max_samples = 1;
    open_bench(&b, &plan);
    b.run.call_ns = 1e5;
    plan_checks(&b, 3);
    assert_int_equal(ks_measure_samples(&b.run, &m, 1, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->n_samples, 1);
    assert_int_equal(b.n_looks, 2);
    assert_int_equal(b.round.kind[0] == KS_CHECK_VERIFIED, b.rec->verified_sample_ns > 0);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_round_is_checked), cmocka_unit_test(test_singles),
        cmocka_unit_test(test_checks_end_it),          cmocka_unit_test(test_warm_up_is_checked),
        cmocka_unit_test(test_verified_without_time),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("measure_checked", tests, NULL, NULL);
}
