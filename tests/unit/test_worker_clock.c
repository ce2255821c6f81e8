/* SPDX-License-Identifier: MIT */
/* test_worker_clock.c - cells whose clock a kernel measures */
/* The clock that a judge measures: brief warm-ups, and samples that are taken again. */
#include "tests/unit/worker_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* Samples during which the clock changed are taken again, after a warm-up that is not brief. */
static void test_clock_that_changes(void **state)
{
    static const struct {
        double call_ns; /* a warm-up is brief whether a call is short or long */
        double first_mhz, later_mhz;
        bool is_again;
    } t[] = { { 1e6, 1500, 1500, false }, { 4e4, 1500, 1500, false }, { 2.6e6, 1500, 1500, false },
              { 2e7, 1500, 1500, false }, { 1e6, 1500, 1490, false }, { 1e6, 1500, 1400, true },
              { 1e6, 1400, 1500, true } };
    const struct shared *s = *state;

    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        const struct ks_fault_plan plan = { .slot = KS_FAULT_NONE,
                                            .times_ns = &t[i].call_ns,
                                            .n_times = 1 };
        struct ks_record *rec;
        struct rig r;

        open_rig(&r, s, &plan);
        r.clock_mhz = t[i].first_mhz;
        r.later_mhz = t[i].later_mhz;
        take(&r, &s->f->problem, "judge");
        r.w->setup.measure.warmup_ms = 1;
        rec = run(&r, "good");
        assert_int_equal(rec->outcome, KS_O_OK);
        assert_int_equal(rec->warmup_end, KS_WARM_FLAT);
        assert_int_equal(rec->tolerance_check, 1);
        if (t[i].is_again) /* all of them are of one clock */
            assert_true(fabs(rec->clock_timed_mhz - t[i].later_mhz) < 1);
        else
            assert_true(rec->clock_timed_mhz >= t[i].later_mhz &&
                        rec->clock_timed_mhz <= t[i].first_mhz);
        /* Six samples, or two times six and the chunks of another warm-up. */
        assert_int_equal(r.n_timed > 2 * quick.max_samples, t[i].is_again);
        close_rig(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_clock_that_changes) };

    return cmocka_run_group_tests(tests, shared_setup, shared_teardown);
}
