/* SPDX-License-Identifier: MIT */
/* test_rounds.c - the time of a cell over its rounds */
#include "record/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

enum { MOST = 8 };

struct pass {
    uint32_t round;
    uint64_t device;
    uint32_t flags;
    double ns;
};

static double over(const struct pass *p, size_t n, uint64_t device)
{
    static struct ks_record r;
    struct ks_round_time v[MOST];
    double scratch[2 * MOST];
    size_t n_rounds = 0;

    for (size_t i = 0; i < n; i++) {
        ks_record_init(&r);
        r.round_index = p[i].round;
        r.device_id = p[i].device;
        r.outcome_flags = p[i].flags;
        ks_rounds_add(v, &n_rounds, &r, p[i].ns);
    }
    return ks_rounds_time(v, n_rounds, device, scratch);
}

static void the_median_over_rounds(void **state)
{
    /* passes of a round: their geometric mean; order does not matter */
    static const struct pass three[] = { { 2, 1, 0, 400 }, { 0, 1, 0, 90 },  { 1, 1, 0, 100 },
                                         { 1, 1, 0, 121 }, { 2, 1, 0, 100 }, { 0, 2, 0, 7 } };
    static const struct pass dirty[] = { { 0, 1, 0, 90 },
                                         { 1, 1, 0, 100 },
                                         { 1, 1, KS_FL_CONTAMINATED, 400 },
                                         { 2, 1, KS_FL_SUSPECT, 500 } };

    (void)state;
    assert_true(fabs(over(three, 6, 1) - 110) < 1e-9);
    assert_true(fabs(over(three, 6, 2) - 7) < 1e-9);
    assert_true(over(three, 6, 3) < 0);
    assert_true(fabs(over(three, 2, 1) - sqrt(400 * 90)) < 1e-9); /* two rounds: the mean of logs */
    assert_true(fabs(over(dirty, 4, 1) - 90) < 1e-9);             /* one clean round */
    assert_true(fabs(over(dirty + 1, 3, 1) - sqrt(200 * 500)) < 1e-9); /* none: all */
}

static void the_statistic_of_a_record(void **state)
{
    static struct ks_record r;

    (void)state;
    ks_record_init(&r);
    assert_true(ks_rounds_statistic(&r, KS_STATISTIC_MEDIAN) <= 0);
    r.n_samples = 3;
    r.sample_ns[0] = 9;
    r.sample_ns[1] = 5;
    r.sample_ns[2] = 700;
    assert_true(fabs(ks_rounds_statistic(&r, KS_STATISTIC_MEDIAN) - 9) < 1e-9);
    assert_true(fabs(ks_rounds_statistic(&r, KS_STATISTIC_LOW) - 5) < 1e-9);
}

static void the_label_by_backend(void **state)
{
    static const struct {
        const char *backend;
        enum ks_statistic want;
    } rows[] = { { "host", KS_STATISTIC_LOW },    { "hip", KS_STATISTIC_MEDIAN },
                 { "cuda", KS_STATISTIC_MEDIAN }, { "sim", KS_STATISTIC_MEDIAN },
                 { "", KS_STATISTIC_MEDIAN },     { "hosts", KS_STATISTIC_MEDIAN } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(ks_label_statistic(rows[i].backend), rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_over_rounds),
        cmocka_unit_test(the_statistic_of_a_record),
        cmocka_unit_test(the_label_by_backend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
