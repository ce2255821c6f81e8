/* SPDX-License-Identifier: MIT */
/* test_trust.c - what times say of a cell, and an inquiry into a doubt, with prescribed times */
#include "device/backends.h"
#include "device/device_fault.h"
#include "worker/inquire.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = KS_CHECK_NONE, P = KS_CHECK_PLACEBO, F = KS_CHECK_FRESH, V = KS_CHECK_VERIFIED };

#define MAX_TIMES 16

static const struct {
    const char *what;
    struct {
        double ns;
        uint8_t kind;
    } sample[MAX_TIMES]; /* ends with 0 */
    double clock_ns;
    enum ks_doubt want;
    double ratio; /* verified over the others; 0: not looked at */
} round_rows[] = {
    { "all the same",
      { { 100, V }, { 100, N }, { 100, V }, { 100, P }, { 100, V } },
      0.1,
      KS_DOUBT_NONE,
      1.0 },
    { "work for the verified ones only",
      { { 9e6, V }, { 4, N }, { 9e6, V }, { 4, P }, { 9e6, V }, { 4, F } },
      0.1,
      KS_DOUBT_SLOWER,
      9e6 / 4 },
    { "a third of it for the others",
      { { 90, V }, { 30, N }, { 90, V }, { 30, P }, { 90, V } },
      0.1,
      KS_DOUBT_SLOWER,
      3.0 },
    { "25 % more, hardly",
      { { 126, V }, { 100, N }, { 126, V }, { 100, P }, { 126, V } },
      0.1,
      KS_DOUBT_SLOWER,
      1.26 },
    { "24 % more",
      { { 124, V }, { 100, N }, { 124, V }, { 100, P }, { 124, V } },
      0.1,
      KS_DOUBT_NONE,
      1.24 },
    { "within two ticks of the clock",
      { { 126, V }, { 100, N }, { 126, V }, { 100, P }, { 126, V } },
      1.0,
      KS_DOUBT_NONE,
      1.26 },
    { "two verified ones are too few",
      { { 900, V }, { 100, N }, { 900, V }, { 100, P } },
      0.1,
      KS_DOUBT_NONE,
      9.0 },
    { "one of them as short as the others",
      { { 900, V }, { 100, N }, { 100, V }, { 100, P }, { 900, V }, { 900, V } },
      0.1,
      KS_DOUBT_NONE,
      9.0 },
    { "what is done before a sample costs as much when nothing changes",
      { { 900, V }, { 500, N }, { 900, V }, { 900, P }, { 900, V }, { 500, N } },
      0.1,
      KS_DOUBT_NONE,
      0 },
    { "disturbed ones among those before which nothing changed",
      { { 900, V },
        { 100, N },
        { 900, V },
        { 100, P },
        { 8000, N },
        { 900, V },
        { 8000, P },
        { 100, F } },
      0.1,
      KS_DOUBT_SLOWER,
      0 },
    { "slow ones among those with other inputs",
      { { 900, V },
        { 100, N },
        { 900, V },
        { 100, P },
        { 900, F },
        { 100, N },
        { 900, V },
        { 100, N } },
      0.1,
      KS_DOUBT_SLOWER,
      0 },
    { "a pause before a sample makes it do its work",
      { { 900e3, V }, { 1e3, N }, { 900e3, P }, { 1e3, N }, { 900e3, P } },
      0.1,
      KS_DOUBT_PAUSE,
      0 },
    { "one pause of two",
      { { 900e3, V }, { 1e3, N }, { 900e3, P }, { 1e3, N }, { 1e3, P } },
      0.1,
      KS_DOUBT_NONE,
      0 },
    { "a pause costs a part of a sample",
      { { 19e3, V }, { 10e3, N }, { 19e3, P }, { 10e3, N }, { 19e3, P } },
      0.1,
      KS_DOUBT_NONE,
      0 },
    { "nothing but verified ones", { { 100, V }, { 100, V }, { 100, V } }, 0.1, KS_DOUBT_NONE, -1 },
    { "none of them", { { 100, N }, { 100, P } }, 0.1, KS_DOUBT_NONE, -1 },
};

static void test_rounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(round_rows) / sizeof(round_rows[0]); i++) {
        double ns[MAX_TIMES];
        uint8_t kind[MAX_TIMES];
        struct ks_round_times t = {
            .ns = ns, .kind = kind, .calls = 1, .clock_ns = round_rows[i].clock_ns, .launch_ns = 5e3
        };

        while (round_rows[i].sample[t.n].ns > 0) {
            ns[t.n] = round_rows[i].sample[t.n].ns;
            kind[t.n] = round_rows[i].sample[t.n].kind;
            t.n++;
        }
        if (ks_trust_doubt(&t) != round_rows[i].want)
            fail_msg("%s: doubt %d", round_rows[i].what, ks_trust_doubt(&t));
        if (round_rows[i].ratio != 0)
            assert_true(fabs(ks_verified_over_timed(&t) - round_rows[i].ratio) <
                        1e-9 * fabs(round_rows[i].ratio));
    }
}

static const struct {
    const char *what;
    double many_ns, new_ns, same_ns, clock_ns;
    uint32_t calls, n_new, n_same;
    enum ks_doubt want;
} single_rows[] = {
    { "a launch of its own", 1e3, 1.4e3, 1.4e3, 20, 20, 4, 4, KS_DOUBT_NONE },
    { "a tiny kernel behind cold caches", 100, 4e3, 4e3, 20, 200, 40, 40, KS_DOUBT_NONE },
    { "work once a sample", 2, 9.7e6, 4, 20, 5000, 4, 4, KS_DOUBT_FREE },
    { "the same behind any pause", 2, 9.7e6, 9.7e6, 20, 5000, 4, 4, KS_DOUBT_FREE },
    { "of a kernel as short as a launch", 10, 1.5e3, 30, 20, 2000, 4, 4, KS_DOUBT_FREE },
    { "less than the clock tells", 10, 1.5e3, 30, 500, 2000, 4, 4, KS_DOUBT_NONE },
    { "a tenth more", 1e3, 1.5e3, 1.4e3, 20, 20, 4, 4, KS_DOUBT_NONE },
    { "too few to tell", 2, 9.7e6, 4, 20, 5000, 3, 4, KS_DOUBT_NONE },
    { "nothing to compare with", 2, 9.7e6, 4, 20, 5000, 4, 3, KS_DOUBT_NONE },
    { "every sample is one call", 2, 9.7e6, 4, 20, 1, 4, 4, KS_DOUBT_NONE },
};

static void test_singles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(single_rows) / sizeof(single_rows[0]); i++) {
        const double ns[3] = { single_rows[i].many_ns, single_rows[i].many_ns,
                               single_rows[i].many_ns };
        const uint8_t kind[3] = { N, V, P };
        const struct ks_round_times t = {
            .ns = ns,
            .kind = kind,
            .n = 3,
            .calls = single_rows[i].calls,
            .clock_ns = single_rows[i].clock_ns,
            .n_singles = { [V] = single_rows[i].n_new, [P] = single_rows[i].n_same },
            .single_ns = { [V] = single_rows[i].new_ns, [P] = single_rows[i].same_ns },
            .launch_ns = 5e3
        };

        if (ks_trust_doubt(&t) != single_rows[i].want)
            fail_msg("%s: doubt %d", single_rows[i].what, ks_trust_doubt(&t));
    }
}

/* Behind a check a pool of threads may have gone to sleep: that is no work. */
static void test_pools(void **state)
{
    static const struct {
        enum ks_doubt doubt;
        uint32_t calls;
        struct ks_pair pair;
    } rows[] = {
        { KS_DOUBT_FREE, 2, { 75e3, 75e3, 10e3 } },  /* one call, behind any check */
        { KS_DOUBT_FREE, 1, { 150e3, 100e3, 1e5 } }, /* and longer behind a longer one */
        { KS_DOUBT_SLOWER, 1, { 150e3, 100e3, 0 } }, { KS_DOUBT_PAUSE, 1, { 75e3, 20e3, 0 } },
        { KS_DOUBT_PAUSE, 2, { 50e3, 20e3, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (uint32_t threads = 0; threads < 4; threads++) {
            const struct ks_round_times t = { .calls = rows[i].calls,
                                              .clock_ns = 20,
                                              .launch_ns = 2e3,
                                              .wake_ns = ks_trust_wake_ns(threads) };

            if (ks_trust_vote(rows[i].doubt, &t, &rows[i].pair) != (threads < 2))
                fail_msg("row %zu, %u threads", i, threads);
        }
    assert_true(ks_trust_wake_ns(64) > ks_trust_wake_ns(2));
}

static void test_votes(void **state)
{
    (void)state;
    assert_int_equal(ks_trust_pairs(1e6, 500), KS_TRUST_PAIRS);
    assert_int_equal(ks_trust_pairs(1e9, 500), KS_TRUST_PAIRS_LEAST);
    assert_true(ks_trust_is_settled(10, 10) && ks_trust_is_settled(9, 10));
    assert_false(ks_trust_is_settled(8, 10));
    assert_false(ks_trust_is_settled(3, 3)); /* not of so few */
    assert_false(ks_trust_is_dispelled(1, 10));
    assert_true(ks_trust_is_dispelled(2, 10));
    assert_true(ks_trust_is_dispelled(11, 10));
}

/* ---- inquiries, on a simulated device whose times are prescribed by what was done before */

struct bench {
    struct ks_device *sim, *dev;
    struct ks_module *mod;
    struct ks_abi_problem problem;
    struct ks_plan plan;
    struct ks_run run;
    double now_ns[KS_CHECK_KINDS]; /* the next sample after each kind takes */
    double time_ns;                /* what the device reports */
    uint32_t n[KS_CHECK_KINDS];
    uint32_t every; /* so many samples take ten times as long: noise; 0: none */
    uint32_t n_taken, ends_at;
    bool was_looked_at;
};

static int before(void *ctx, const struct ks_check *c, struct ks_err *err)
{
    struct bench *b = ctx;

    (void)err;
    b->n[c->kind]++;
    b->time_ns = b->now_ns[c->kind];
    if (b->every > 0 && ++b->n_taken % b->every == 0)
        b->time_ns *= 10;
    return 0;
}

static int after(void *ctx, const struct ks_check *c, struct ks_err *err)
{
    struct bench *b = ctx;

    (void)err;
    b->was_looked_at = c->is_looked_at;
    return b->ends_at > 0 && b->n[V] == b->ends_at ? 1 : 0;
}

static void no_hook_before(void *ctx, double expected_ns)
{
    (void)ctx;
    (void)expected_ns;
}

static void no_hook_after(void *ctx)
{
    (void)ctx;
}

static void open_bench(struct bench *b, struct ks_fault_plan *plan)
{
    memset(b, 0, sizeof(*b));
    b->problem.bytes = sizeof(b->problem);
    plan->times_ns = &b->time_ns;
    plan->n_times = 1;
    assert_int_equal(ks_device_sim.open("", &b->sim, NULL), 0);
    assert_int_equal(ks_fault_wrap(b->sim, plan, &b->dev, NULL), 0);
    assert_int_equal(b->dev->ops->module_open(b->dev, "", &b->mod, NULL), 0);
    ks_plan_init(&b->plan, 9);
    b->run = (struct ks_run){ .dev = b->dev,
                              .problem = &b->problem,
                              .clock_ns = 20.0,
                              .before = no_hook_before,
                              .after = no_hook_after,
                              .plan = &b->plan,
                              .hooks = { before, after, b } };
    assert_int_equal(b->dev->ops->module_entry(b->dev, b->mod, "k", &b->run.entry, NULL), 0);
}

static void close_bench(struct bench *b)
{
    b->dev->ops->module_close(b->dev, b->mod);
    b->dev->ops->close(b->dev);
    b->sim->ops->close(b->sim);
}

static const struct {
    enum ks_doubt doubt;
    double ns[KS_CHECK_KINDS]; /* none, placebo, fresh, verified */
    uint32_t calls, every;
    bool want;
    const char *reason;
} inquiry_rows[] = {
    { KS_DOUBT_SLOWER, { 1e3, 1e3, 1e3, 9e6 }, 1, 0, true, "take 9e+03 times" },
    { KS_DOUBT_SLOWER,
      { 1e3, 1e3, 1e3, 9e6 },
      1,
      7,
      true,
      "times as long as the others" }, /* though noisy */
    { KS_DOUBT_SLOWER, { 1e6, 1e6, 1e6, 1e6 }, 1, 0, false, "" },
    { KS_DOUBT_SLOWER, { 1e6, 1e6, 1e6, 1e6 }, 1, 3, false, "" },
    { KS_DOUBT_SLOWER, { 1e6, 1e6, 1e6, 1e6 }, 1, 2, false, "" },
    { KS_DOUBT_SLOWER, { 1e6, 1.5e6, 1e6, 1.6e6 }, 1, 0, false, "" }, /* caches, not work */
    { KS_DOUBT_PAUSE, { 1e3, 9e5, 9e5, 9e5 }, 1, 0, true, "900 us after a pause, 1 us" },
    { KS_DOUBT_PAUSE, { 1e6, 1.2e6, 1e6, 1e6 }, 1, 5, false, "" },
    { KS_DOUBT_FREE, { 10, 20, 20, 9e6 }, 2000, 0, true, "one call on new inputs takes 9000 us" },
    { KS_DOUBT_FREE, { 1e3, 1.4e3, 1.4e3, 1.4e3 }, 20, 0, false, "" },
};

static void test_inquiries(void **state)
{
    const struct ks_measure m = { .max_ms = 500 };

    (void)state;
    for (size_t i = 0; i < sizeof(inquiry_rows) / sizeof(inquiry_rows[0]); i++) {
        const struct ks_round_times t = { .calls = inquiry_rows[i].calls,
                                          .clock_ns = 20,
                                          .launch_ns = 5e3 };
        struct ks_fault_plan plan = { .slot = KS_FAULT_NONE };
        struct ks_err err = { 0 };
        struct ks_inquiry q;
        char text[160];
        struct bench b;

        open_bench(&b, &plan);
        memcpy(b.now_ns, inquiry_rows[i].ns, sizeof(b.now_ns));
        b.every = inquiry_rows[i].every;
        assert_int_equal(ks_inquire(&b.run, &m, inquiry_rows[i].doubt, &t, &q, &err), 0);
        if (q.is_settled != inquiry_rows[i].want)
            fail_msg("row %zu: settled %d", i, q.is_settled);
        if (!q.is_settled) /* and it does not take long to find that out */
            assert_true(b.n[P] + b.n[V] <= 4 * KS_TRUST_PAIRS);
        ks_trust_reason(inquiry_rows[i].doubt, &q.median, text, sizeof(text));
        if (q.is_settled)
            assert_non_null(strstr(text, inquiry_rows[i].reason));
        assert_true(b.run.checks_ns > 0);
        close_bench(&b);
    }
}

/* A check finds an output wrong, or a call fails: that counts. */
static void test_inquiry_ends(void **state)
{
    const struct ks_round_times t = { .calls = 1, .clock_ns = 20, .launch_ns = 5e3 };
    const struct ks_measure m = { .max_ms = 500 };
    struct ks_inquiry q;

    (void)state;
    for (uint32_t i = 1; i < 8; i++) {
        struct ks_fault_plan plan = { .slot = KS_FAULT_TIME, .nth = i, .code = KS_EDEVLOST };
        struct ks_err err = { 0 };
        struct bench b;

        if (i % 2 == 0)
            plan.slot = KS_FAULT_NONE;
        open_bench(&b, &plan);
        for (uint32_t k = 0; k < KS_CHECK_KINDS; k++)
            b.now_ns[k] = k == V ? 9e6 : 1e3;
        b.ends_at = i;
        assert_int_equal(ks_inquire(&b.run, &m, KS_DOUBT_SLOWER, &t, &q, &err),
                         plan.slot == KS_FAULT_NONE ? 1
                         : b.n[V] == i              ? 1
                                                    : KS_EDEVLOST);
        close_bench(&b);
    }
    {
        struct ks_fault_plan plan = { .slot = KS_FAULT_NONE };
        struct ks_err err = { 0 };
        struct bench b;

        open_bench(&b, &plan); /* no time at all */
        assert_int_equal(ks_inquire(&b.run, &m, KS_DOUBT_SLOWER, &t, &q, &err), KS_ETIMEOUT);
        close_bench(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),    cmocka_unit_test(test_singles),
        cmocka_unit_test(test_pools),     cmocka_unit_test(test_votes),
        cmocka_unit_test(test_inquiries), cmocka_unit_test(test_inquiry_ends),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
