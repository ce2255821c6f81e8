/* SPDX-License-Identifier: MIT */
/* test_compare_report.c - the report of `compare`: the sides, and the cells that it names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/cmd/compare_report.h"
#include "record/outcome.h"
#include "sweep_kit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_PROBLEMS  10u
#define N_INSTANCES 12u

struct bench {
    struct sweep_kit kit;
    struct ks_input in;
    struct ks_comparison c;
    struct ks_compare_answer a;
    struct ks_buf text;
};

/* Sweeps [0, n_a) against the others, in which three instances of each problem are 20 % slower. The
 * best of problem n is instance n. */
static void open_bench(struct bench *b, uint32_t n_a, uint32_t n_sweeps)
{
    static const char *const paths[] = { "one", "two", "three", "four" };
    struct ks_sweeps *s;

    *b = (struct bench){ .a = { .n_a = n_a, .margin = 0.01, .rate = 0.05 } };
    sweep_kit_open(&b->kit, 3, n_sweeps, N_PROBLEMS, N_INSTANCES);
    b->kit.noise.round_sd = 0.002;
    b->kit.later_from = n_a;
    for (uint32_t p = 0; p < N_PROBLEMS; p++)
        for (uint32_t i = 0; i < N_INSTANCES; i++) {
            b->kit.log_ns[p * N_INSTANCES + i] = log(1e5) + (i == p ? 0 : 0.1 + 0.01 * i);
            b->kit.later[p * N_INSTANCES + i] = i % 4 == 0 ? log(1.2) : 0;
        }
    sweep_kit_measure(&b->kit, &b->in.sweeps);
    s = &b->in.sweeps;
    for (uint32_t i = 0; i < n_sweeps; i++)
        s->sweeps[i].path = paths[i];
    for (uint32_t i = 0; i < N_PROBLEMS; i++)
        snprintf(s->problems[i].name, sizeof(s->problems[i].name), "problem_%u", i);
    for (uint32_t i = 0; i < N_INSTANCES; i++)
        snprintf(s->instances[i].name, sizeof(s->instances[i].name), "instance_%u", i);
    ks_buf_init(&b->text);
}

static void report(struct bench *b)
{
    b->a.in = &b->in;
    b->a.c = &b->c;
    assert_int_equal(
        ks_trials_make(&b->in.sweeps, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &b->in.trials, NULL), 0);
    assert_int_equal(ks_compare_make(&b->in.sweeps, &b->in.trials, b->a.n_a, &b->c, NULL), 0);
    if (b->a.slower)
        assert_int_equal(ks_compare_limit(&b->c, b->a.limit, 0.05, NULL), 0);
    b->a.n_slower = b->c.n_change[KS_SLOWER];
    b->a.n_blind = b->c.n_blind;
    b->a.smallest = ks_compare_smallest(&b->c);
    assert_int_equal(ks_compare_decide(&b->c, log1p(b->a.margin), 0.05, NULL), 0);
    ks_compare_report(&b->a, &b->text);
    assert_true(ks_buf_ok(&b->text));
}

static void close_bench(struct bench *b)
{
    ks_buf_release(&b->text);
    ks_compare_release(&b->c);
    ks_input_release(&b->in);
    sweep_kit_close(&b->kit);
}

static void has(const struct bench *b, const char *text)
{
    if (!strstr(ks_buf_text(&b->text), text))
        fail_msg("'%s' is not in\n%s", text, ks_buf_text(&b->text));
}

static size_t count(const struct bench *b, const char *text)
{
    size_t n = 0;

    for (const char *at = ks_buf_text(&b->text); (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

static void set(struct bench *b, uint32_t sweep, enum ks_fact which, const char *text)
{
    ks_buf_printf(&b->in.sweeps.sweeps[sweep].fact[which], "%s", text);
}

static void what_differs_is_named(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b, 2, 4);
    for (uint32_t i = 0; i < 4; i++)
        set(&b, i, KS_FACT_DEVICE, "Made Up 9000");
    set(&b, 0, KS_FACT_COMPILER, "cc 12.2.0");
    set(&b, 1, KS_FACT_COMPILER, "cc 12.2.0");
    set(&b, 2, KS_FACT_COMPILER, "cc 12.2.0");
    set(&b, 3, KS_FACT_COMPILER, "cc 13.1.0");
    set(&b, 2, KS_FACT_DRIVER, "550.1");
    set(&b, 3, KS_FACT_DRIVER, "550.1");
    set(&b, 0, KS_FACT_VERSION, "0.9");
    set(&b, 1, KS_FACT_VERSION, "1.0");
    set(&b, 2, KS_FACT_VERSION, "1.0"); /* the same ones in another order */
    set(&b, 3, KS_FACT_VERSION, "0.9");
    report(&b);
    has(&b, "A: 2 sweeps (one, two)\nB: 2 sweeps (three, four)\n");
    has(&b, "\ndevice: Made Up 9000\n");
    has(&b, "\ncompiler differs: A cc 12.2.0 | B cc 12.2.0; cc 13.1.0\n");
    has(&b, "\ndriver differs: A unknown | B 550.1\n");
    has(&b, "\nksweep: 0.9; 1.0\n");
    close_bench(&b);
}

/* 30 cells are slower than 3 %; seven best instances fail. */
static void rules_and_losses_name_some_cells(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b, 2, 4);
    for (size_t i = 0; i < b.in.sweeps.n_rounds; i++) {
        struct ks_sweep_round *r = &b.in.sweeps.rounds[i];

        if (r->sweep >= 2 && r->problem < 7 && r->instance == r->problem)
            r->outcome = KS_O_CRASHED;
    }
    b.a.slower = "slower:3%";
    b.a.limit = log1p(0.03);
    b.a.refuses_failures = true;
    b.a.margin = 0.5; /* where nothing is slower */
    report(&b);
    assert_int_equal(b.c.n_lost[0], 7);
    has(&b, "the best instance of A has no time in B in 7 problems, where its regret is not "
            "defined:\n  crashed  problem_0  instance_0\n");
    has(&b, "  crashed  problem_4  instance_4\n  and 2 more\n");
    assert_int_equal(count(&b, "SLOWER +"), 0);
    has(&b, "\n--fail-if slower:3%: 28 cells; smallest detectable");
    assert_int_equal(count(&b, "\n  +"), 20);
    has(&b, "\n  and 8 more\n");
    has(&b, "\n--fail-if failed: 7 cells\n  crashed  problem_0  instance_0\n");
    for (size_t i = 0; i < b.c.n_pairs; i++)
        assert_int_equal(ks_compare_is_refused(&b.a, &b.c.pairs[i]),
                         b.c.pairs[i].at_limit == KS_SLOWER);
    assert_true(ks_compare_is_refused(&b.a, &b.c.lone[0]));
    close_bench(&b);
}

static void a_side_where_nothing_works(void **state)
{
    struct bench b;

    (void)state;
    open_bench(&b, 1, 2);
    for (size_t i = 0; i < b.in.sweeps.n_rounds; i++)
        if (b.in.sweeps.rounds[i].sweep == 1)
            b.in.sweeps.rounds[i].outcome = KS_O_BUILD_FAILED;
    b.a.slower = "slower:3%";
    b.a.limit = log1p(0.03);
    report(&b);
    has(&b, "\n0 cells on both sides;");
    has(&b, "\n120 only in A (120 of them failed in B), 0 only in B (0 failed in A)\n");
    has(&b, "\nover 0 problems,");
    has(&b, "\nB / A                              not defined\n");
    has(&b, "\nlargest regret of each             not defined, not defined\n");
    has(&b, "\n10 problems have times in A only, 0 in B only\n");
    has(&b, "\n--fail-if slower:3%: 0 cells\n");
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_is_named),
        cmocka_unit_test(rules_and_losses_name_some_cells),
        cmocka_unit_test(a_side_where_nothing_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
