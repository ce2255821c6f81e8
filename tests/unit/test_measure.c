/* SPDX-License-Identifier: MIT */
/* test_measure.c - warm-up, samples and the stop rule, driven by prescribed times */
#include "base/clock.h"
#include "base/hash.h"
#include "tests/unit/measure_bench.h"
#include "worker/worker.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    uint32_t n;
    double sum_ms, elapsed_ms, rse;
    enum ks_stop want;
} stop_rows[] = {
    { 4, 1000, 1000, 0.0, KS_STOP_NONE },     /* never before min_samples */
    { 5, 1000, 1000, 0.1, KS_STOP_MAX_TIME }, /* then max_ms counts */
    { 5, 499, 499.9, 0.1, KS_STOP_NONE },
    { 5, 100, 500, 0.1, KS_STOP_MAX_TIME }, /* with flushes */
    { 5, 9.9, 9.9, 0.0, KS_STOP_NONE },     /* never before 10 ms of samples */
    { 5, 10, 10, 0.005, KS_STOP_TARGET },
    { 5, 10, 10, 0.0051, KS_STOP_NONE },
    { 199, 20, 20, INFINITY, KS_STOP_NONE },
    { 200, 1, 1, INFINITY, KS_STOP_MAX_SAMPLES }, /* the hard cap */
    { 200, 20, 600, 0.0, KS_STOP_MAX_SAMPLES },
};

static void test_stop_rule(void **state)
{
    struct ks_measure all = usual;
    struct ks_progress p = { .n = KS_SAMPLES_MAX, .rse = INFINITY };

    (void)state;
    for (size_t i = 0; i < sizeof(stop_rows) / sizeof(stop_rows[0]); i++) {
        struct ks_progress q = { .n = stop_rows[i].n,
                                 .sum_ns = 1e6 * stop_rows[i].sum_ms,
                                 .elapsed_ns = 1e6 * stop_rows[i].elapsed_ms,
                                 .rse = stop_rows[i].rse };

        assert_int_equal(ks_stop_rule(&usual, &q), stop_rows[i].want);
    }
    all.max_samples = UINT32_MAX; /* what a record holds is a limit of its own */
    assert_int_equal(ks_stop_rule(&all, &p), KS_STOP_MAX_SAMPLES);
}

/* A cell whose every call takes as long as it may is not ended: neither by the checks that it has
 * at least, nor by what they take of large operands. */
static void test_budget(void **state)
{
    struct ks_measure m = usual;
    const uint64_t s = 1000000000ull, gib = 1ull << 30;
    uint64_t empty;

    (void)state;
    assert_int_equal(ks_cell_budget_ns(&m, gib), 0);
    m.kernel_timeout_ms = 30000;
    m.min_samples = 1;
    empty = ks_cell_budget_ns(&m, 0);
    /* Exact data twice, the warm-up, KS_PLACES samples, two pairs of an inquiry. */
    assert_true(empty >= 30 * s * (2 + 1 + KS_PLACES + 8));
    assert_true(ks_cell_budget_ns(&m, gib) - empty >= 100 * gib);
    m.min_samples = 200;
    assert_true(ks_cell_budget_ns(&m, 0) >= empty + 199 * 30 * s);
    /* The scheduler waits as long (test_sched.c). */
    assert_int_equal(ks_cell_budget_ns(&m, 0), ks_sampling_budget_ns(&m.sampling, 30000));
}

static const struct {
    double call_ns, clock_ns;
    uint32_t min_sample_us, want;
} calls_rows[] = {
    { 50e3, 20, 0, 1 }, /* longer than the 20 us default */
    { 20e3, 20, 0, 1 },
    { 19.9e3, 20, 0, 2 },
    { 1e3, 20, 0, 20 },
    { 1e3, 1000, 0, 200 }, /* 200 ticks of a coarse clock */
    { 1e3, 20, 100, 100 }, /* the job's own limit */
    { 1e3, 20, 5, 5 },     /* also below the default */
    { 1e3, 100, 5, 20 },   /* never below 200 ticks */
    { 1e-6, 20, 0, KS_CALLS_MAX },
    { 1e12, 20, 0, 1 },
};

static void test_calls_per_sample(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(calls_rows) / sizeof(calls_rows[0]); i++) {
        struct ks_measure m = { .min_sample_us = calls_rows[i].min_sample_us };
        double target = ks_sample_target_ns(&m, calls_rows[i].clock_ns);

        assert_int_equal(ks_calls_per_sample(calls_rows[i].call_ns, target), calls_rows[i].want);
    }
}

static const struct {
    double call_ns;
    uint32_t cache, warmup_ms, want_calls, want_launches;
} warm_rows[] = {
    { 50e3, KS_CACHE_WARM, 0, 1, 1 }, /* one call is enough to know */
    { 1e3, KS_CACHE_WARM, 0, 20, 2 }, /* one call, then a batch to be sure */
    { 1e3, KS_CACHE_COLD, 0, 1, 1 },    { 50e3, KS_CACHE_WARM, 3, 1, 60 },
    { 1e3, KS_CACHE_WARM, 3, 20, 151 }, /* 1 us, then batches of 20 us */
};

static void test_warm_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(warm_rows) / sizeof(warm_rows[0]); i++) {
        struct ks_fault_plan plan = { .times_ns = &warm_rows[i].call_ns, .n_times = 1 };
        struct ks_measure m = usual;
        struct ks_err err = { 0 };
        uint32_t calls = 0;
        struct bench b;

        m.cache = warm_rows[i].cache;
        m.warmup_ms = warm_rows[i].warmup_ms;
        open_bench(&b, &plan);
        assert_int_equal(ks_measure_warm(&b.run, &m, &calls, &err), 0);
        assert_int_equal(calls, warm_rows[i].want_calls);
        assert_true(ks_fault_calls(b.dev, KS_FAULT_TIME) <= warm_rows[i].want_launches);
        if (m.warmup_ms == 0)
            assert_int_equal(ks_fault_calls(b.dev, KS_FAULT_TIME), warm_rows[i].want_launches);
        close_bench(&b);
    }
}

/* The first, slow call (page faults, packing of caches) must not decide the number of calls. */
static void test_warm_up_forgets_a_slow_start(void **state)
{
    static const double times[] = { 1e6, 1e3 };
    struct ks_fault_plan plan = { .times_ns = times, .n_times = 2 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    uint32_t calls = 0;
    struct bench b;

    (void)state;
    m.warmup_ms = 2;
    open_bench(&b, &plan);
    assert_int_equal(ks_measure_warm(&b.run, &m, &calls, &err), 0);
    assert_int_equal(calls, 20);
    close_bench(&b);
}

static void test_samples_are_kept(void **state)
{
    static const double times[] = { 100e3, 101e3, 99e3, 0.0, -5.0, 102e3, 98e3, 100e3 };
    static const double want[] = { 100e3, 101e3, 99e3, 102e3, 98e3, 100e3 };
    struct ks_fault_plan plan = { .times_ns = times, .n_times = 8 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    m.max_samples = 6;
    open_bench(&b, &plan);
    assert_int_equal(ks_measure_samples(&b.run, &m, 3, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->n_samples, 6);
    assert_int_equal(b.rec->calls_per_sample, 3);
    assert_int_equal(b.rec->stop_reason, KS_STOP_MAX_SAMPLES);
    assert_true(b.rec->clock_resolution_ns == 20.0);
    assert_true(b.rec->span_ns > 0);
    for (int i = 0; i < 6; i++) /* per call; samples without a positive time are dropped */
        assert_true(fabs(b.rec->sample_ns[i] - want[i]) < 1e-6);
    assert_int_equal(b.n_before, 8);
    close_bench(&b);
}

static void test_stops_at_the_target(void **state)
{
    static const double same[] = { 1e6 };
    struct ks_fault_plan plan = { .times_ns = same, .n_times = 1 };
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    open_bench(&b, &plan);
    assert_int_equal(ks_measure_samples(&b.run, &usual, 1, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->stop_reason, KS_STOP_TARGET);
    assert_int_equal(b.rec->n_samples, 10); /* 10 ms of samples of 1 ms */
    close_bench(&b);
}

static void test_noise_goes_on_to_max_ms(void **state)
{
    static double noisy[400];
    struct ks_fault_plan plan = { .times_ns = noisy, .n_times = 400 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    for (int i = 0; i < 400; i++)
        noisy[i] = i % 2 == 0 ? 1e6 : 3e6;
    m.max_ms = 60;
    open_bench(&b, &plan);
    assert_int_equal(ks_measure_samples(&b.run, &m, 1, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->stop_reason, KS_STOP_MAX_TIME);
    assert_int_equal(b.rec->n_samples, 30);
    close_bench(&b);
}

static void test_all_times_bad(void **state)
{
    static const double zero[] = { 0.0 };
    struct ks_fault_plan plan = { .times_ns = zero, .n_times = 1 };
    struct ks_err err = { 0 };
    uint32_t calls = 77;
    struct bench b;

    (void)state;
    open_bench(&b, &plan);
    assert_int_equal(ks_measure_samples(&b.run, &usual, 1, &b.round, b.rec, &err), KS_ETIMEOUT);
    assert_int_equal(b.rec->stop_reason, KS_STOP_FAILED);
    assert_int_equal(b.rec->n_samples, 0);
    assert_int_equal(b.n_before, KS_SAMPLES_FAILED + 1);
    assert_int_equal(ks_measure_warm(&b.run, &usual, &calls, &err), KS_ETIMEOUT);
    assert_int_equal(calls, 77);
    close_bench(&b);
}

/* Whatever slot fails at whatever call: the code comes through, samples so far are kept. */
static void test_failures_come_through(void **state)
{
    static const enum ks_fault_slot slots[] = { KS_FAULT_TIME, KS_FAULT_FLUSH };

    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (uint32_t n = 0; n < 7; n++) {
            static const double same[] = { 1e6 };
            struct ks_fault_plan plan = {
                .slot = slots[s], .nth = n, .code = KS_EDEVMEM, .times_ns = same, .n_times = 1
            };
            struct ks_measure m = usual;
            struct ks_err err = { 0 };
            struct bench b;
            int rc;

            m.cache = KS_CACHE_COLD;
            m.max_samples = 6;
            open_bench(&b, &plan);
            rc = ks_measure_samples(&b.run, &m, 1, &b.round, b.rec, &err);
            assert_int_equal(rc, n < 6 ? KS_EDEVMEM : 0);
            assert_int_equal(b.rec->n_samples, n < 6 ? n : 6);
            assert_int_equal(b.rec->stop_reason, n < 6 ? KS_STOP_FAILED : KS_STOP_MAX_SAMPLES);
            close_bench(&b);
        }
    }
}

static void test_cold_flushes_before_every_sample(void **state)
{
    static const double same[] = { 1e6 };
    struct ks_fault_plan plan = { .times_ns = same, .n_times = 1 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    m.cache = KS_CACHE_COLD;
    m.max_samples = 8;
    open_bench(&b, &plan);
    assert_int_equal(ks_measure_samples(&b.run, &m, 1, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->n_samples, 8);
    assert_int_equal(ks_fault_calls(b.dev, KS_FAULT_FLUSH), 8);
    assert_int_equal(ks_fault_calls(b.dev, KS_FAULT_TOUCH), 0);
    close_bench(&b);
}

/* ---- a device with a queue ---- */

static const struct {
    uint32_t queue;
    double chunk_ns, sample_ns;
    uint32_t room, want;
} chunk_rows[] = {
    { 1, 4e6, 1e3, 100, 1 },     /* nothing is gained by more */
    { 64, 4e6, 0.0, 100, 1 },    /* of an unknown length: one, to learn it */
    { 64, 4e6, 100e3, 100, 40 }, /* 4 ms */
    { 64, 6e6, 100e3, 100, 60 }, /* 6 ms */
    { 64, 4e6, 20e3, 1000, 64 }, /* what fits the queue */
    { 64, 4e6, 100e3, 7, 7 },    /* what is wanted */
    { 64, 4e6, 3.9e6, 100, 1 },  /* longer than half a chunk */
    { 64, 4e6, 1e9, 100, 1 },    /* never none */
    { 100000, 4e6, 1e3, 100000, KS_CHUNK_MAX },
};

static void test_chunks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(chunk_rows) / sizeof(chunk_rows[0]); i++)
        assert_int_equal(ks_chunk_samples(chunk_rows[i].queue, chunk_rows[i].chunk_ns,
                                          chunk_rows[i].sample_ns, chunk_rows[i].room),
                         chunk_rows[i].want);
}

static void test_queue_is_kept_full(void **state)
{
    static const double same[] = { 100e3 };
    struct ks_fault_plan plan = { .times_ns = same, .n_times = 1, .queue = 64 };
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    open_bench(&b, &plan);
    b.run.call_ns = 100e3;
    assert_int_equal(ks_measure_samples(&b.run, &usual, 1, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->stop_reason, KS_STOP_TARGET);
    assert_true(b.first_expected_ns == 40 * 100e3); /* a chunk of 4 ms */
    /* More than 10 ms, so three of them; shorter ones where this process had to wait meanwhile. */
    assert_in_range(b.rec->n_samples, 100, 120);
    assert_in_range(ks_fault_calls(b.dev, KS_FAULT_TIME), 3, b.rec->n_samples - 39);
    assert_int_equal(b.n_before, ks_fault_calls(b.dev, KS_FAULT_TIME)); /* a deadline for each */
    close_bench(&b);
}

/* 128 ms in chunks of 4 ms would be 32 of them. */
static void test_chunks_grow(void **state)
{
    static const double same[] = { 250e3 };
    struct ks_fault_plan plan = { .times_ns = same, .n_times = 1, .queue = 64 };
    struct ks_measure many = usual;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    open_bench(&b, &plan);
    b.run.call_ns = 250e3;
    many.min_samples = many.max_samples = 512;
    assert_int_equal(ks_measure_samples(&b.run, &many, 1, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->n_samples, 512);
    assert_true(b.first_expected_ns == 16 * 250e3);
    assert_in_range(ks_fault_calls(b.dev, KS_FAULT_TIME), 512 / 64, 16);
    close_bench(&b);
}

static void test_chunks_end_at_max_samples(void **state)
{
    static const double same[] = { 1e3 };
    struct ks_fault_plan plan = { .times_ns = same, .n_times = 1, .queue = 64 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    m.max_samples = 100;
    m.cache = KS_CACHE_COLD;
    open_bench(&b, &plan);
    b.run.call_ns = 1e3;
    assert_int_equal(ks_measure_samples(&b.run, &m, 1, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->stop_reason, KS_STOP_MAX_SAMPLES);
    assert_int_equal(b.rec->n_samples, 100);
    assert_int_equal(ks_fault_calls(b.dev, KS_FAULT_FLUSH), 100);
    close_bench(&b);
}

static void test_failed_samples_of_a_chunk(void **state)
{
    static const double times[] = { 1e5, 0.0, 2e5, -1e5, 3e5 };
    struct ks_fault_plan plan = { .times_ns = times, .n_times = 5, .queue = 8 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    m.max_samples = 5;
    open_bench(&b, &plan);
    b.run.call_ns = 1e5;
    assert_int_equal(ks_measure_samples(&b.run, &m, 2, &b.round, b.rec, &err), 0);
    assert_int_equal(b.rec->n_samples, 5);
    assert_int_equal(ks_fault_calls(b.dev, KS_FAULT_TIME), 2); /* the two that failed, again */
    assert_true(b.rec->sample_ns[0] == 1e5 && b.rec->sample_ns[1] == 2e5);
    assert_true(b.rec->sample_ns[2] == 3e5 && b.rec->sample_ns[4] == 3e5);
    close_bench(&b);
}

static void test_no_time_in_any_chunk(void **state)
{
    static const double none[] = { -1.0 };
    struct ks_fault_plan plan = { .times_ns = none, .n_times = 1, .queue = 8 };
    struct ks_err err = { 0 };
    uint32_t calls = 77;
    struct bench b;

    (void)state;
    open_bench(&b, &plan);
    b.run.call_ns = 1e3;
    assert_int_equal(ks_measure_samples(&b.run, &usual, 1, &b.round, b.rec, &err), KS_ETIMEOUT);
    assert_int_equal(b.rec->n_samples, 0);
    assert_int_equal(ks_measure_warm(&b.run, &usual, &calls, &err), KS_ETIMEOUT);
    assert_int_equal(calls, 77);
    close_bench(&b);
}

enum { N_WARM = 300 };

static const struct flat_row {
    const char *name;
    double clocks[4];
    uint32_t n_clocks, queue, warmup_ms;
    double first, decay; /* the i-th sample takes 2.5 ms * (1 + first * decay^i) */
    uint32_t min_chunks, max_chunks;
    enum ks_warm_end want;
    double noise; /* added to it, in turn and at random, +-: relative */
} flat_rows[] = {
    /* One call to learn its length, then 20 spans of 2.5 ms. */
    { "flat", { 1500 }, 1, 16, 1000, 0, 1, 22, 22, KS_WARM_FLAT, 0 },
    { "no clock is told", { -1 }, 1, 16, 1000, 0, 1, 22, 22, KS_WARM_FLAT, 0 },
    { "warmup_ms is no cap", { 1500 }, 1, 16, 5, 0, 1, 22, 22, KS_WARM_FLAT, 0 },
    { "the clock rises", { 900, 1200, 1500 }, 3, 16, 1000, 0, 1, 42, 42, KS_WARM_FLAT, 0 },
    /* Its times agree over 12 ms from the start, and change for another 100. */
    { "drifts slowly", { 1500 }, 1, 16, 1000, 0.1, 0.96, 30, 60, KS_WARM_FLAT, 0 },
    { "slows down for ever", { 1500 }, 1, 16, 1000, 1, 1.02, 100, 150, KS_WARM_LIMIT, 0 },
    { "noisy", { 1500 }, 1, 16, 1000, 0, 1, 22, 60, KS_WARM_FLAT, 0.04 },
    { "noisy, and slows down", { 1500 }, 1, 16, 1000, 1, 1.02, 100, 150, KS_WARM_LIMIT, 0.01 },
    { "no warm-up", { 1500 }, 1, 16, 0, 0, 1, 1, 1, KS_WARM_TIME, 0 },
    { "no queue: all of it", { 1500 }, 1, 1, 1000, 0, 1, 400, 400, KS_WARM_TIME, 0 },
};

/* Times are virtual; only a machine that stands still for milliseconds shortens a warm-up. */
static void check_warm_up(const struct flat_row *row)
{
    struct ks_fault_plan plan = {
        .n_times = N_WARM, .clocks_mhz = row->clocks, .n_clocks = row->n_clocks, .queue = row->queue
    };
    const uint64_t from = ks_now_ns();
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    double times[N_WARM];
    uint64_t rng = 1;
    uint32_t calls = 0, n;
    struct bench b;

    for (int i = 0; i < N_WARM; i++)
        times[i] = 2.5e6 * (1 + row->first * pow(row->decay, i)) *
                   (1 + row->noise * (2.0 * (double)ks_rng_below(&rng, 1000) / 1000 - 1));
    plan.times_ns = times;
    m.warmup_ms = row->warmup_ms;
    open_bench(&b, &plan);
    assert_int_equal(ks_measure_warm(&b.run, &m, &calls, &err), 0);
    assert_int_equal(calls, 1);
    n = ks_fault_calls(b.dev, KS_FAULT_TIME);
    if (b.run.warm_end != row->want || n > row->max_chunks)
        fail_msg("%s: end %d after %u chunks", row->name, (int)b.run.warm_end, n);
    if (n < row->min_chunks && ks_now_ns() - from < 2000000)
        fail_msg("%s: only %u chunks", row->name, n);
    close_bench(&b);
}

static void test_warm_up_ends_when_flat(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(flat_rows) / sizeof(flat_rows[0]); i++)
        check_warm_up(&flat_rows[i]);
}

/* What the clock cannot tell apart is not timed alone, queue or not. */
static void test_calls_of_a_coarse_clock(void **state)
{
    static const double same[] = { 2e3 };
    struct ks_fault_plan plan = { .times_ns = same, .n_times = 1, .queue = 64 };
    struct ks_measure m = usual;
    struct ks_err err = { 0 };
    uint32_t calls = 0;
    struct bench b;

    (void)state;
    m.warmup_ms = 20;
    open_bench(&b, &plan);
    b.run.clock_ns = 500.0; /* of an event */
    assert_int_equal(ks_measure_warm(&b.run, &m, &calls, &err), 0);
    assert_int_equal(calls, 50); /* 200 ticks */
    close_bench(&b);
}

static void test_telemetry_is_recorded(void **state)
{
    static const double same[] = { 1e6 }, clocks[] = { 1400, 1300 };
    struct ks_fault_plan plan = {
        .times_ns = same, .n_times = 1, .queue = 4, .clocks_mhz = clocks, .n_clocks = 2
    };
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    open_bench(&b, &plan);
    assert_int_equal(ks_measure_samples(&b.run, &usual, 1, &b.round, b.rec, &err), 0);
    assert_true(b.rec->before.clock_mhz == 1400 && b.rec->after.clock_mhz == 1300);
    assert_true(b.rec->clock_min_mhz == 1300);
    assert_true(b.rec->before.power_w == KS_UNKNOWN && b.rec->power_max_w == KS_UNKNOWN);
    assert_int_equal(b.rec->throttle_reasons, -1);
    /* Of samples that are taken again nothing is left. */
    b.rec->clock_min_mhz = b.rec->power_max_w = 1;
    b.rec->throttle_reasons = 1;
    assert_int_equal(ks_measure_samples(&b.run, &usual, 1, &b.round, b.rec, &err), 0);
    assert_true(b.rec->clock_min_mhz == 1300 && b.rec->power_max_w == KS_UNKNOWN);
    assert_int_equal(b.rec->throttle_reasons, -1);
    close_bench(&b);
}

/* Mean power over the samples by the energy counter, if enough of its updates lie in them. */
static void test_power_is_energy_over_time(void **state)
{
    static const struct {
        uint64_t step_ns;
        uint32_t max_ms;
        double want_w;
    } rows[] = { { 2000000000, 1000, 150 },
                 { 1000000000, 1000, 300 },
                 { 999999999, 1000, KS_UNKNOWN },
                 { 2000000000, 999, KS_UNKNOWN } }; /* too short: not asked for */
    static const double same[] = { 1e6 };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_fault_plan plan = {
            .times_ns = same, .n_times = 1, .energy_step_j = 300, .energy_step_ns = rows[i].step_ns
        };
        struct ks_measure m = usual;
        struct ks_err err = { 0 };
        struct bench b;

        m.max_ms = rows[i].max_ms;
        open_bench(&b, &plan);
        assert_int_equal(ks_measure_samples(&b.run, &m, 1, &b.round, b.rec, &err), 0);
        assert_true(b.rec->after.power_w == rows[i].want_w);
        assert_true(b.rec->before.power_w == KS_UNKNOWN && b.rec->power_max_w == KS_UNKNOWN);
        close_bench(&b);
    }
}

static void test_power_between(void **state)
{
    struct ks_telemetry a = { .energy_j = 10, .at_ns = 5000000000 };
    struct ks_telemetry b = { .energy_j = 810, .at_ns = 7000000000 };

    (void)state;
    assert_true(ks_power_between(&a, &b) == 400);
    assert_true(ks_power_between(&b, &a) == KS_UNKNOWN);
    b.energy_j = 9; /* the driver was loaded again */
    assert_true(ks_power_between(&a, &b) == KS_UNKNOWN);
    a.energy_j = KS_UNKNOWN;
    assert_true(ks_power_between(&a, &b) == KS_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_rule),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_calls_per_sample),
        cmocka_unit_test(test_warm_up),
        cmocka_unit_test(test_warm_up_forgets_a_slow_start),
        cmocka_unit_test(test_samples_are_kept),
        cmocka_unit_test(test_stops_at_the_target),
        cmocka_unit_test(test_noise_goes_on_to_max_ms),
        cmocka_unit_test(test_all_times_bad),
        cmocka_unit_test(test_failures_come_through),
        cmocka_unit_test(test_cold_flushes_before_every_sample),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_queue_is_kept_full),
        cmocka_unit_test(test_chunks_grow),
        cmocka_unit_test(test_chunks_end_at_max_samples),
        cmocka_unit_test(test_failed_samples_of_a_chunk),
        cmocka_unit_test(test_no_time_in_any_chunk),
        cmocka_unit_test(test_warm_up_ends_when_flat),
        cmocka_unit_test(test_calls_of_a_coarse_clock),
        cmocka_unit_test(test_telemetry_is_recorded),
        cmocka_unit_test(test_power_is_energy_over_time),
        cmocka_unit_test(test_power_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
