/* SPDX-License-Identifier: MIT */
/* test_stats.c - order statistics against published and independently computed values */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/hash.h"
#include "record/statistic.h"
#include "record/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void assert_near(double got, double want)
{
    if (fabs(got - want) > 1e-12 * (1 + fabs(want)))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* Ranks (from 1) as in tables of confidence intervals for the median, e.g. Conover 1999, A3. */
static void intervals_match_tables(void **state)
{
    static const struct {
        size_t n;
        double level;
        size_t lo, hi;
    } rows[] = {
        { 1, 0.95, 1, 1 },     { 2, 0.95, 1, 2 },    { 2, 0.5, 1, 2 },      { 3, 0.95, 1, 3 },
        { 3, 0.75, 1, 3 },     { 5, 0.95, 1, 5 },    { 6, 0.95, 1, 6 },     { 8, 0.95, 1, 8 },
        { 9, 0.95, 2, 8 },     { 10, 0.95, 2, 9 },   { 10, 0.99, 1, 10 },   { 11, 0.95, 2, 10 },
        { 12, 0.95, 3, 10 },   { 15, 0.95, 4, 12 },  { 20, 0.95, 6, 15 },   { 25, 0.95, 8, 18 },
        { 30, 0.95, 10, 21 },  { 50, 0.95, 18, 33 }, { 100, 0.95, 40, 61 }, { 10, 0.68, 3, 8 },
        { 100, 0.68, 45, 56 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t lo, hi;

        ks_order_interval(rows[i].n, rows[i].level, &lo, &hi);
        if (lo + 1 != rows[i].lo || hi + 1 != rows[i].hi)
            fail_msg("n %zu level %g: %zu..%zu, want %zu..%zu", rows[i].n, rows[i].level, lo + 1,
                     hi + 1, rows[i].lo, rows[i].hi);
    }
}

/* Binomial probability that the median lies below order statistic `rank` (from 0). */
static double miss(size_t n, size_t rank)
{
    double sum = 0;

    for (size_t i = 0; i <= rank; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) -
                   (double)n * log(2));
    return sum;
}

static void intervals_are_the_narrowest_that_cover(void **state)
{
    static const double levels[] = { 0.5, 0.68, 0.95, 0.999 };

    (void)state;
    for (size_t n = 1; n < 6000; n = n < 60 ? n + 1 : n * 5 / 4)
        for (size_t k = 0; k < 4; k++) {
            size_t lo, hi;

            ks_order_interval(n, levels[k], &lo, &hi);
            assert_int_equal(lo + hi, n - 1);
            assert_true(lo <= hi);
            if (lo > 0)
                assert_true(1 - 2 * miss(n, lo) > levels[k] - 1e-9);
            if (lo + 1 < n / 2)
                assert_true(1 - 2 * miss(n, lo + 1) < levels[k] + 1e-9);
        }
}

/* 20,000 draws of 25 from a skewed distribution whose median is log 2; binomial theory says that
 * the 8th and 18th cover it with probability 0.9567. */
static void coverage_is_what_theory_says(void **state)
{
    uint64_t rng = 20260101;
    unsigned covered = 0, covered68 = 0;
    double x[25], scratch[25];
    struct ks_stats s;
    size_t lo, hi;

    (void)state;
    ks_order_interval(25, 0.68, &lo, &hi);
    for (unsigned t = 0; t < 20000; t++) {
        for (size_t i = 0; i < 25; i++)
            x[i] = -log(((double)(ks_rng_next(&rng) >> 11) + 0.5) * 0x1p-53);
        ks_stats(x, 25, 0, 1, scratch, &s);
        covered += s.lo95 <= log(2) && log(2) <= s.hi95;
        covered68 += scratch[lo] <= log(2) && log(2) <= scratch[hi];
    }
    assert_near(1 - 2 * miss(25, 7), 0.9567147493362427);
    assert_true(fabs(covered / 20000.0 - 0.9567) < 0.005);
    assert_true(fabs(covered68 / 20000.0 - (1 - 2 * miss(25, lo))) < 0.012);
    assert_true(covered68 / 20000.0 > 0.68);
}

/* Worked by hand. */
static void values_match_definitions(void **state)
{
    static const double x[] = { 9, 1, 4, 4, 7, 2, 30, 5, 6, 3 };
    static const double odd[] = { 3, 1, 10 };
    double scratch[10];
    struct ks_stats s;

    (void)state;
    ks_stats(x, 10, 0, 1, scratch, &s);
    assert_int_equal(s.n, 10);
    assert_near(s.median, 4.5);
    assert_near(s.mean, 7.1);
    assert_near(s.min, 1);
    assert_near(s.max, 30);
    assert_near(s.p10, 1.9);
    assert_near(s.p90, 11.1);
    assert_near(s.mad, 2); /* |x - 4.5| sorted: .5 .5 .5 1.5 1.5 2.5 2.5 3.5 4.5 25.5 */
    assert_near(s.lo95, 2);
    assert_near(s.hi95, 9);
    assert_near(s.se, 2); /* ranks 3..8: (7 - 3) / 2 */
    assert_near(scratch[0], 1);
    assert_near(scratch[9], 30);
    ks_stats(odd, 3, 0, 1, scratch, &s);
    assert_near(s.median, 3);
    assert_near(s.mad, 2);
    assert_near(s.se, 4.5);
}

static void equal_samples_have_the_clock_as_error(void **state)
{
    double x[16], scratch[16];
    struct ks_stats s;

    (void)state;
    for (size_t i = 0; i < 16; i++)
        x[i] = 250;
    ks_stats(x, 16, 30, 5, scratch, &s);
    assert_near(s.se, 30 / (sqrt(12) * 5 * 4));
    assert_near(s.mad, 0);
    assert_near(s.lo95, 250);
    ks_stats(x, 1, 30, 1, x, &s); /* in place, one sample */
    assert_near(s.median, 250);
    assert_near(s.p10, 250);
    assert_near(s.se, 30 / sqrt(12));
}

/* Against a plain definition, for many sizes and with ties. */
static void mad_and_order_hold_for_all_sizes(void **state)
{
    uint64_t rng = 7;

    (void)state;
    for (size_t n = 1; n <= 300; n++) {
        double x[300], sorted[300], dev[300], sorted_dev[300];
        struct ks_stats s, d;

        for (size_t i = 0; i < n; i++)
            x[i] = (double)ks_rng_below(&rng, n % 3 ? 1000 : 7);
        ks_stats(x, n, 0, 1, sorted, &s);
        for (size_t i = 0; i + 1 < n; i++)
            assert_true(sorted[i] <= sorted[i + 1]);
        for (size_t i = 0; i < n; i++)
            dev[i] = fabs(x[i] - s.median);
        ks_stats(dev, n, 0, 1, sorted_dev, &d);
        assert_near(s.mad, d.median);
    }
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static double seconds_since(clock_t start)
{
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Time is n log n or little more: of four million values a quadratic sort takes tens of times as
 * long as qsort. */
static void millions_are_sorted_in_time(void **state)
{
    enum { N = 1 << 22 };
    double *x = malloc(N * sizeof(*x)), *y = malloc(N * sizeof(*y)), own_s, library_s;
    uint64_t rng = 11;
    clock_t start;

    (void)state;
    assert_true(x && y);
    for (size_t i = 0; i < N; i++)
        x[i] = y[i] = (double)ks_rng_below(&rng, N);
    start = clock();
    ks_stats_sort(x, N);
    own_s = seconds_since(start);
    start = clock();
    qsort(y, N, sizeof(*y), by_value);
    library_s = seconds_since(start);
    assert_memory_equal(x, y, N * sizeof(*x));
#ifndef KSWEEP_SANITIZED
    if (own_s > 5 * library_s)
        fail_msg("%.2f s, qsort %.2f s", own_s, library_s);
#endif
    print_message("# sort of %d values: %.2f s, qsort %.2f s\n", N, own_s, library_s);
    free(x);
    free(y);
}

/* What the middle of many rounds says must not depend on how many samples a round took. The minimum
 * is the counterexample. */
static void statistics_do_not_depend_on_the_number(void **state)
{
    static const size_t sizes[] = { 8, 19, 57, 200 };
    static const double truth[] = { 0.6931, 0.1054, 0.0866 }; /* of an exponential distribution */
    static double x[200], scratch[200], rounds[2001];

    (void)state;
    for (unsigned which = 0; which < KS_N_STATISTICS; which++)
        for (size_t k = 0; k < 4; k++) {
            uint64_t rng = 5;
            double middle;

            for (size_t r = 0; r < 2001; r++) {
                for (size_t i = 0; i < sizes[k]; i++)
                    x[i] = -log(((double)(ks_rng_next(&rng) >> 12) + 0.5) / 0x1p52);
                rounds[r] = ks_statistic(x, sizes[k], which, scratch);
            }
            middle = ks_over_rounds(rounds, 2001, KS_OVER_MEDIAN, rounds);
            if (which < KS_STATISTIC_MINIMUM)
                assert_true(fabs(middle - truth[which]) < 0.02);
            else
                assert_true(middle < 1 / (double)sizes[k]);
        }
}

static void statistics_by_hand(void **state)
{
    static const double x[] = { 9, 8, 7, 6, 5, 4, 3, 2, 19, 18, 17, 16, 15, 14, 13, 12, 1 };
    double scratch[17];

    (void)state;
    assert_near(ks_statistic(x, 17, KS_STATISTIC_MEDIAN, scratch), 9);
    assert_near(ks_statistic(x, 17, KS_STATISTIC_GROUPS, scratch), 7); /* 2 and 12, without the 1 */
    assert_near(ks_statistic(x, 17, KS_STATISTIC_LOW, scratch),
                2 + 0.1 * (17 + 1.0 / 3) + 1.0 / 3 - 2);
    assert_near(ks_statistic(x, 17, KS_STATISTIC_MINIMUM, scratch), 1);
    assert_near(ks_statistic(x, 5, KS_STATISTIC_GROUPS, scratch), 5);
    assert_near(ks_statistic(x, 1, KS_STATISTIC_LOW, scratch), 9);
    assert_near(ks_over_rounds(x, 4, KS_OVER_MEDIAN, scratch), 7.5);
    assert_near(ks_over_rounds(x, 4, KS_OVER_MINIMUM, scratch), 6);
    assert_near(ks_over_rounds(x, 4, KS_OVER_MEAN, scratch), (x[0] + x[1] + x[2] + x[3]) / 4);
    assert_near(ks_over_variance(1, KS_OVER_MEDIAN), 1);
    assert_near(ks_over_variance(2, KS_OVER_MEDIAN), 0.5);
    assert_near(ks_over_variance(20, KS_OVER_MEDIAN), acos(-1) / 42);
    assert_near(ks_over_variance(4, KS_OVER_MINIMUM), 0.25);
    assert_near(ks_over_variance(3, KS_OVER_MEAN), 1 / 3.0);
}

/* Of normal rounds, against a simulation. */
static void the_median_of_few_rounds_varies_as_told(void **state)
{
    uint64_t rng = 8;

    (void)state;
    for (size_t n = 2; n <= 12; n += n < 6 ? 1 : 3) {
        double square = 0, x[12];

        for (int draw = 0; draw < 4000; draw++) {
            for (size_t i = 0; i < n; i++) {
                x[i] = -6;
                for (int k = 0; k < 12; k++) /* close to normal */
                    x[i] += (double)(ks_rng_next(&rng) >> 11) / 0x1p53;
            }
            square += pow(ks_over_rounds(x, n, KS_OVER_MEDIAN, x), 2) / 4000;
        }
        assert_true(fabs(square / ks_over_variance(n, KS_OVER_MEDIAN) - 1) < 0.1);
    }
}

static void ties(void **state)
{
    static const struct {
        double lo_a, hi_a, lo_b, hi_b, drift;
        bool tie;
    } rows[] = {
        { 10, 12, 11, 14, 0, true },  { 10, 12, 12, 14, 0, true },   { 10, 12, 13, 14, 0, false },
        { 13, 14, 10, 12, 0, false }, { 10, 12, 13, 14, 2.5, true }, { 10, 12, 13, 14, 2.4, false },
        { 10, 20, 14, 15, 0, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_stats a = { .lo95 = rows[i].lo_a, .hi95 = rows[i].hi_a };
        struct ks_stats b = { .lo95 = rows[i].lo_b, .hi95 = rows[i].hi_b };

        a.median = (a.lo95 + a.hi95) / 2;
        b.median = (b.lo95 + b.hi95) / 2;
        assert_int_equal(ks_stats_tie(&a, &b, rows[i].drift), rows[i].tie);
        assert_int_equal(ks_stats_tie(&b, &a, rows[i].drift), rows[i].tie);
    }
}

#define MS 1000000ull

static void contamination(void **state)
{
    static const struct {
        struct ks_noise n;
        double idle_switches, idle_stolen;
        const char *why; /* NULL = clean */
    } rows[] = {
        { { 0, 100 * MS, 100 * MS, 0 }, -1, -1, NULL },
        /* at the limit of 50 a second 5 are expected, and up to 5 + 3 sqrt(5) + 1 explained */
        { { 12, 100 * MS, 100 * MS, 0 }, -1, -1, NULL },
        { { 13, 100 * MS, 100 * MS, 0 }, -1, -1, "switches" },
        { { 15, 100 * MS, 100 * MS, 0 }, 20, 0, NULL }, /* the idle host does 20 by itself */
        { { 16, 100 * MS, 100 * MS, 0 }, 20, 0, "switches" },
        { { 1, 10 * MS, 10 * MS, 0 }, 0, 0, NULL }, /* one event is no rate */
        { { 4, 10 * MS, 10 * MS, 0 }, 0, 0, "switches" },
        { { 0, 985 * MS, 1000 * MS, 0 }, 0, 0, NULL },
        { { 0, 975 * MS, 1000 * MS, 0 }, 0, 0, "taken" },
        { { 0, 975 * MS, 1000 * MS, 0 }, 0, 0.01, NULL },
        { { 0, 1100 * MS, 1000 * MS, 0 }, 0, 0, NULL }, /* several threads */
        { { 0, 100 * MS, 100 * MS, 1.02 }, 0, 0, NULL },
        { { 0, 100 * MS, 100 * MS, 1.04 }, 0, 0, "canary" },
        { { 9, 0, MS - 1, 1.0 }, 0, 0, NULL }, /* too short to judge */
        { { 9, 0, MS - 1, 1.5 }, 0, 0, "canary" },
        { { 0, 0, 0, 0 }, 0, 0, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_noise_limits lim = { .switches_per_s = 50, .stolen = 0.02, .canary = 0.03 };
        const char *why = NULL;

        lim.idle_switches_per_s = rows[i].idle_switches;
        lim.idle_stolen = rows[i].idle_stolen;
        double d = ks_noise_disturbance(&rows[i].n, &lim, &why);
        if ((d > 1) != (rows[i].why != NULL) || !(d >= 0))
            fail_msg("row %zu: %g, %s", i, d, why ? why : "clean");
        if (rows[i].why)
            assert_non_null(strstr(why, rows[i].why));
        else
            assert_null(why);
    }
}

static void disturbance(void **state)
{
    static const struct {
        struct ks_noise n;
        struct ks_noise_limits lim;
        double want;
    } rows[] = {
        { { 0, 100 * MS, 100 * MS, 1.015 }, { 50, 0.02, 0.03, 0, 0 }, 0.5 },
        { { 0, 96 * MS, 100 * MS, 1.015 }, { 50, 0.02, 0.03, 0, 0 }, 2 },
        { { 0, 96 * MS, 100 * MS, 0 }, { 50, 0.02, 0.03, 0, 0.02 }, 1 },
        /* 16 of the most that 4 + 12 a second explain: 16 + 12 + 1; the idle host's are its own */
        { { 29, 1000 * MS, 1000 * MS, 0 }, { 4, 0.02, 0.03, 12, 0 }, 1 },
        { { 63, 1000 * MS, 1000 * MS, 0 }, { 4, 0.02, 0.03, 12, 0 }, 3 },
        { { 12, 1000 * MS, 1000 * MS, 0.5 }, { 4, 0.02, 0.03, 12, 0 }, 0 },
        { { 99, 0, MS - 1, 1.06 }, { 50, 0.02, 0.03, 0, 0 }, 2 },
        { { 99, 0, 100 * MS, 1.06 }, { INFINITY, INFINITY, 0.03, -1, -1 }, 2 },
        { { 0, 99 * MS, 100 * MS, 0 }, { 50, 0, 0.03, 0, 0 }, KS_DISTURBANCE_MAX },
        { { 0, 100 * MS, 100 * MS, 1 }, { 0, 0, 0, 0, 0 }, 0 },
        { { UINT64_MAX, 0, 100 * MS, 1e300 }, { 1, 1, 1e-300, 0, 0 }, KS_DISTURBANCE_MAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *why = NULL;
        double d = ks_noise_disturbance(&rows[i].n, &rows[i].lim, &why);

        if (!(fabs(d - rows[i].want) <= 1e-9 * (1 + rows[i].want)))
            fail_msg("row %zu: %.17g, want %g", i, d, rows[i].want);
        assert_int_equal(why != NULL, d > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_match_tables),
        cmocka_unit_test(intervals_are_the_narrowest_that_cover),
        cmocka_unit_test(coverage_is_what_theory_says),
        cmocka_unit_test(values_match_definitions),
        cmocka_unit_test(equal_samples_have_the_clock_as_error),
        cmocka_unit_test(mad_and_order_hold_for_all_sizes),
        cmocka_unit_test(millions_are_sorted_in_time),
        cmocka_unit_test(statistics_do_not_depend_on_the_number),
        cmocka_unit_test(statistics_by_hand),
        cmocka_unit_test(the_median_of_few_rounds_varies_as_told),
        cmocka_unit_test(ties),
        cmocka_unit_test(contamination),
        cmocka_unit_test(disturbance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
