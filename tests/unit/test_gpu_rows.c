/* SPDX-License-Identifier: MIT */
/* test_gpu_rows.c - rows of ksweep-gpu */
/* Rows of ksweep-gpu: power, and the share of the device's time in samples and warm-up. */
#include "tests/gpu/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_power(void **state)
{
    static const struct {
        double most_w, mean_w, row_w;
    } t[] = { { 310, 295, 310 },        /* readings */
              { KS_UNKNOWN, 295, 295 }, /* energy */
              { KS_UNKNOWN, KS_UNKNOWN, KS_UNKNOWN } };

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        static struct ks_record r;
        struct row row;

        r.power_max_w = t[i].most_w;
        r.after.power_w = t[i].mean_w;
        row_take(&row, &r);
        assert_true(fabs(row.max_power_w - t[i].row_w) < 1e-9);
    }
}

static void test_share(void **state)
{
    static const struct {
        uint32_t warmup_ms;
        uint64_t warmup_ns;
        double share;
    } t[] = { { 20, 500000000, 0.3 },  /* until it was flat: all of it counts */
              { 20, 3500000000, 0.6 }, /* 2 s of it */
              { 3000, 2500000000, 0.7 },
              { 0, 500000000, 0.2 } };

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        const struct ks_sampling m = { .warmup_ms = t[i].warmup_ms };
        const struct totals all = { .device_ns = 5000000000,
                                    .warmup_cap_ns = rows_warmup_cap_ns(&m) };
        const struct row row = { .sampled_ns = 1e9, .warmup_ns = t[i].warmup_ns };

        assert_true(fabs(rows_share(&row, 1, &all) - t[i].share) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_power),
                                        cmocka_unit_test(test_share) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
