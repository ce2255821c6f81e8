/* SPDX-License-Identifier: MIT */
/* test_floor.c - the least time of a call, and cells whose time is below it */
/* From FLOPs, from bytes and the level they come from, by the numerics of the instance. */
#include "worker/floor.h"

#include "tests/unit/worker_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool near(double got, double want)
{
    return got > want * (1 - 1e-12) && got < want * (1 + 1e-12);
}

/* 1 TFLOP/s; 1 MB at 100 GB/s, 9 MB more at 10 GB/s, the rest at 1 GB/s. */
static const struct ks_device_limits limits = {
    1e12, 3, { { 1000000, 100e9 }, { 9000000, 10e9 }, { UINT64_MAX, 1e9 } }
};

static const struct {
    struct ks_work work; /* of 4 bytes an element */
    uint32_t numerics;
    double ns;
    bool is_flops;
} rows[] = {
    { { 1e9, 1, 1, 1 }, KS_NUMERICS_FP32, 1e6, true },
    { { 1e9, 1, 1, 1 }, KS_NUMERICS_TRUNCATING, 1e6, true },
    { { 1e9, 1, 1, 1 }, KS_NUMERICS_V2_ONLY, 0.25e6, true },
    { { 2, 1e5, 1e5, 5e4 }, KS_NUMERICS_FP32, 1e4, false }, /* all in the first level */
    { { 2, 0, 0, 5e5 }, KS_NUMERICS_FP32, 1e5, false },     /* half of it beyond: 1 MB */
    { { 2, 0, 0, 2.5e6 }, KS_NUMERICS_FP32, 9e5, false },   /* 9 MB beyond, nothing farther */
    { { 2, 1e6, 1e6, 1e6 }, KS_NUMERICS_FP32, 2e6, false }, /* 2 MB from the memory */
    { { 2e9, 1e6, 1e6, 1e6 }, KS_NUMERICS_V2_ONLY, 2e6, false },
    { { 3e9, 1e6, 1e6, 1e6 }, KS_NUMERICS_FP32, 3e6, true },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_floor f = ks_floor_of(&rows[i].work, 4, rows[i].numerics, &limits);

        if (!near(f.ns, rows[i].ns) || f.is_flops != rows[i].is_flops)
            fail_msg("row %zu: %g ns", i, f.ns);
        assert_false(ks_floor_is_broken(&f, f.ns));
        assert_false(ks_floor_is_broken(&f, 0.501 * f.ns));
        assert_true(ks_floor_is_broken(&f, 0.499 * f.ns));
    }
}

static void test_unknown(void **state)
{
    const struct ks_device_limits none = { 0 }, memory = { 0, 1, { { UINT64_MAX, 1e9 } } };
    const struct ks_device_limits cache = { 0, 1, { { 100, 0 } } };
    const struct ks_work work = { 1e9, 1e3, 0, 0 };
    struct ks_floor f = ks_floor_of(&work, 4, KS_NUMERICS_FP32, &none);

    (void)state;
    assert_true(f.ns == -1.0);
    assert_false(ks_floor_is_broken(&f, 1e-9));
    f = ks_floor_of(&work, 4, KS_NUMERICS_FP32, &memory);
    assert_true(near(f.ns, 4e3) && !f.is_flops);
    f = ks_floor_of(&work, 4, KS_NUMERICS_FP32, &cache);
    assert_true(f.ns == -1.0);
}

static void test_reasons(void **state)
{
    const struct ks_floor flops = { 61e6, true, 14.3e9, 235e9 };
    const struct ks_floor bytes = { 1.5e3, false, 1.2e6, 800e9 };
    char text[160];

    (void)state;
    ks_floor_reason(&flops, 4.2, text, sizeof(text));
    assert_string_equal(text, "4.2 ns per call, but 14.3 GFLOP take at least 61 ms at 235 GFLOP/s");
    ks_floor_reason(&bytes, 999.6, text, sizeof(text));
    assert_string_equal(text, "1 us per call, but 1.2 MB take at least 1.5 us at 800 GB/s");
}

/* ---- cells ---- */

static const struct {
    double call_ns;
    const char *entry;
    uint32_t numerics, outcome;
} cells[] = {
    { 4, "good", KS_NUMERICS_FP32, KS_O_UNTRUSTED },
    { 0.49, "good", KS_NUMERICS_TRUNCATING, KS_O_UNTRUSTED }, /* of the floor, from here on */
    { 0.51, "good", KS_NUMERICS_FP32, KS_O_OK },
    { 0.13, "good", KS_NUMERICS_V2_ONLY, KS_O_OK },
    { 0.12, "good", KS_NUMERICS_V2_ONLY, KS_O_UNTRUSTED },
    { 4, "one_wrong", KS_NUMERICS_FP32, KS_O_WRONG_RESULT }, /* which says more */
    { 4, "write_after", KS_NUMERICS_FP32, KS_O_OUT_OF_BOUNDS },
};

/* A right result in a time that is not that of its work, on a device that says what it can. */
static void test_cells(void **state)
{
    const struct shared *s = *state;
    const struct ks_device_limits gflops = { 1e9, 0, { { 0 } } };

    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        struct ks_work work = ks_operators[s->f->problem.op]->work(&s->f->problem);
        double ns = cells[i].call_ns < 1 ? cells[i].call_ns * work.flops : cells[i].call_ns;
        struct ks_fault_plan plan = { .times_ns = &ns, .n_times = 1 };
        struct ks_record *rec;
        struct rig r;

        open_rig(&r, s, &plan);
        r.w->limits = gflops;
        take(&r, &s->f->problem, NULL);
        rec = run_as(&r, cells[i].entry, cells[i].numerics);
        if (rec->outcome != cells[i].outcome)
            print_error("row %zu: %s (%s)\n", i, ks_outcome_text(rec->outcome), rec->reason);
        assert_int_equal(rec->outcome, cells[i].outcome);
        if (rec->n_samples > 0)
            assert_true(near(rec->floor_ns,
                             work.flops / (cells[i].numerics == KS_NUMERICS_V2_ONLY ? 4.0 : 1.0)));
        else
            assert_true(rec->floor_ns < 0);
        if (rec->outcome == KS_O_UNTRUSTED) {
            assert_non_null(strstr(rec->reason, "FLOP take at least"));
            assert_non_null(strstr(rec->reason, "at 1 GFLOP/s"));
            assert_true(rec->exact_check == 1 && rec->tolerance_check == 1 &&
                        rec->phase == KS_PH_VERIFY);
        }
        assert_false(r.w->is_lost);
        close_rig(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_cells),
    };

    return cmocka_run_group_tests(tests, shared_setup, shared_teardown);
}
