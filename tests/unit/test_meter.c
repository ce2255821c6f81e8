/* SPDX-License-Identifier: MIT */
/* test_meter.c - the clock between two sets of ticks */
/* The clock between two sets of ticks. */
#include "worker/meter.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N       4u
#define MAX_OFF 1e-9

struct row {
    const char *what;
    struct ks_judge_tick from[N], to[N];
    double ghz, ns;
};

static const struct row rows[] = {
    { "units in any order",
      { { 3, 1000, 50 }, { 1, 2000, 51 }, { 0, 10, 52 }, { 2, 70, 53 } },
      { { 0, 1510, 1052 }, { 1, 3500, 1051 }, { 2, 1570, 1053 }, { 3, 2500, 1050 } },
      1.5,
      1000 },
    { "the median of units that differ",
      { { 0, 1, 0 }, { 1, 1, 0 }, { 2, 1, 0 }, { 3, 1, 0 } },
      { { 0, 1001, 1000 }, { 1, 1801, 1000 }, { 2, 1801, 1000 }, { 3, 1801, 1000 } },
      1.8,
      1000 },
    { "two of four units are in both",
      { { 0, 1, 0 }, { 1, 1, 0 }, { 2, 1, 0 }, { 3, 1, 0 } },
      { { 7, 1, 1000 }, { 1, 2001, 1000 }, { 8, 1, 1000 }, { 3, 2001, 1000 } },
      2,
      1000 },
    { "one of four: too few",
      { { 0, 1, 0 }, { 1, 1, 0 }, { 2, 1, 0 }, { 3, 1, 0 } },
      { { 7, 1, 1000 }, { 1, 2001, 1000 }, { 8, 1, 1000 }, { 9, 2001, 1000 } },
      0,
      0 },
    { "no counter of cycles",
      { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 } },
      { { 0, 0, 1000 }, { 1, 0, 1000 }, { 2, 0, 1000 }, { 3, 0, 1000 } },
      0,
      0 },
    { "counters that went back, stood still or jumped",
      { { 0, 9, 10 }, { 1, 9, 10 }, { 2, 9, 10 }, { 3, 9, 10 } },
      { { 0, 5, 20 }, { 1, 19, 10 }, { 2, 1u << 30, 20 }, { 3, 19, 20 } },
      0,
      0 },
};

static void test_ticks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double scratch[N], ns = 0;
        double ghz = ks_ticks_clock(rows[i].from, rows[i].to, N, scratch, &ns);

        if (fabs(ghz - rows[i].ghz) > MAX_OFF || fabs(ns - rows[i].ns) > MAX_OFF)
            fail_msg("%s: %g GHz over %g ns", rows[i].what, ghz, ns);
    }
}

static void test_steady(void **state)
{
    static const struct {
        double first_mhz, last_mhz;
        bool is_steady;
    } t[] = { { 1980, 1965, true },
              { 1980, 1950, false },
              { 1950, 1980, false },
              { KS_UNKNOWN, 1980, true },
              { KS_UNKNOWN, KS_UNKNOWN, true } };

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        const struct ks_meter m = { .first_mhz = t[i].first_mhz, .last_mhz = t[i].last_mhz };

        assert_int_equal(ks_meter_is_steady(&m, 0.01), t[i].is_steady);
    }
}

/* Device memory with one unit, whose counters went on by what was prescribed. */
struct fake {
    struct ks_device base;
    uint64_t cycles, ns;
};

static int fake_download(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                         struct ks_err *err)
{
    const struct fake *f = (const struct fake *)dev;
    const struct ks_judge_tick ticks[2] = { { 0, 1, 1 }, { 0, 1 + f->cycles, 1 + f->ns } };

    (void)src;
    (void)err;
    assert_int_equal(bytes, sizeof(ticks));
    memcpy(dst, ticks, sizeof(ticks));
    return 0;
}

/* A chunk too short to tell a clock, such as the last check of a round, hides no change before. */
static void test_short_chunks(void **state)
{
    static const struct ks_device_ops ops = { .download = fake_download };
    static const struct {
        uint64_t cycles, ns;
        double mhz;
        bool is_steady;
    } t[] = { { 10000, 10000, KS_UNKNOWN, true },  { 2000000, 1000000, 2000, true },
              { 30000, 20000, KS_UNKNOWN, true },  { 6000000, 4000000, 1500, false },
              { 40000, 20000, KS_UNKNOWN, false }, { 1990000, 1000000, 1990, true } };
    struct ks_judge_tick copies[2];
    struct fake f = { .base.ops = &ops };
    struct ks_meter m = { .dev = &f.base, .call.n_parts = 1, .copies = copies };

    (void)state;
    ks_meter_begin(&m);
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        f.cycles = t[i].cycles;
        f.ns = t[i].ns;
        assert_int_equal(ks_meter_read(&m, NULL), 0);
        assert_true(fabs(m.chunk_mhz - t[i].mhz) < MAX_OFF * 1e3);
        assert_int_equal(ks_meter_is_steady(&m, 0.01), t[i].is_steady);
    }
    assert_true(fabs(ks_meter_mhz(&m) - 9990e6 / 6e6) < 1e-6);
}

/* Without a reading nothing is known. */
static void test_none(void **state)
{
    struct ks_meter m = { .last_mhz = 1 };

    (void)state;
    ks_meter_begin(&m);
    assert_true(m.last_mhz == KS_UNKNOWN && ks_meter_mhz(&m) == KS_UNKNOWN);
    ks_meter_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ticks), cmocka_unit_test(test_steady),
                                        cmocka_unit_test(test_short_chunks),
                                        cmocka_unit_test(test_none) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
