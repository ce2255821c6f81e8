/* SPDX-License-Identifier: MIT */
/* measure_bench.c - a run on a simulated device with prescribed times, and hooks that count */
#include "tests/unit/measure_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int check_before(void *ctx, const struct ks_check *c, struct ks_err *err)
{
    struct bench *b = ctx;

    (void)err;
    assert_int_equal(b->is_in_check++, 0);
    b->n_checks[c->kind]++;
    if (b->fail_before > 0 && --b->fail_before == 0) {
        b->is_in_check = 0;
        return b->fail_with;
    }
    return 0;
}

static int check_after(void *ctx, const struct ks_check *c, struct ks_err *err)
{
    struct bench *b = ctx;

    (void)err;
    assert_int_equal(b->is_in_check--, 1);
    b->n_looks += c->is_looked_at;
    return b->fail_after > 0 && --b->fail_after == 0 ? b->fail_with : 0;
}

void plan_checks(struct bench *b, uint64_t seed)
{
    ks_plan_init(&b->plan, seed);
    b->run.plan = &b->plan;
    b->run.hooks = (struct ks_check_hooks){ check_before, check_after, b };
}

static void before(void *ctx, double expected_ns)
{
    struct bench *b = ctx;

    assert_int_equal(b->n_before, b->n_after);
    if (b->n_before++ == 0)
        b->first_expected_ns = expected_ns;
}

static void after(void *ctx)
{
    struct bench *b = ctx;

    b->n_after++;
    assert_int_equal(b->n_before, b->n_after);
}

void open_bench(struct bench *b, const struct ks_fault_plan *plan)
{
    struct ks_err err = { 0 };

    memset(b, 0, sizeof(*b));
    b->problem.bytes = sizeof(b->problem);
    assert_int_equal(ks_device_sim.open("", &b->sim, &err), 0);
    assert_int_equal(ks_fault_wrap(b->sim, plan, &b->dev, &err), 0);
    assert_int_equal(b->dev->ops->module_open(b->dev, "", &b->mod, &err), 0);
    b->run = (struct ks_run){ .dev = b->dev,
                              .problem = &b->problem,
                              .clock_ns = 20.0,
                              .before = before,
                              .after = after,
                              .ctx = b };
    assert_int_equal(b->dev->ops->module_entry(b->dev, b->mod, "k", &b->run.entry, &err), 0);
    b->rec = malloc(sizeof(*b->rec));
    assert_non_null(b->rec);
    ks_record_init(b->rec);
}

void close_bench(struct bench *b)
{
    assert_int_equal(b->n_before, b->n_after);
    free(b->rec);
    b->dev->ops->module_close(b->dev, b->mod);
    b->dev->ops->close(b->dev);
    b->sim->ops->close(b->sim);
}

const struct ks_measure usual = { .warmup_ms = 0,
                                  .min_samples = 5,
                                  .max_samples = 200,
                                  .max_ms = 500,
                                  .target_rse = 0.005,
                                  .cache = KS_CACHE_WARM };
