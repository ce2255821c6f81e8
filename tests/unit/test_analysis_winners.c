/* SPDX-License-Identifier: MIT */
/* test_analysis_winners.c - what compare says of the best instances, and of cells with a time on
 * one side only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/compare.h"
#include "record/outcome.h"
#include "sweep_kit.h"

#include <math.h>
#include <stdlib.h>

#define N_PROBLEMS  2u
#define N_INSTANCES 3u

static void near(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%.6g is not within %.3g of %.6g", a, within, b);
}

static int make(const struct ks_sweeps *s, uint32_t n_a, struct ks_comparison *c)
{
    struct ks_trials t;
    int rc;

    assert_int_equal(ks_trials_make(s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &t, NULL), 0);
    rc = ks_compare_make(s, &t, n_a, c, NULL);
    ks_trials_release(&t);
    return rc;
}

/* ---- visits ---- */

/* Both sides have three rounds of instances 0 and 1, which is 3 % slower, and round 0 of 2. */
static void measure_visits(struct sweep_kit *k, struct ks_sweeps *s)
{
    sweep_kit_open(k, 1, 2, N_PROBLEMS, N_INSTANCES);
    k->n_rounds = 3;
    k->contends = 0.05;
    for (uint32_t i = 0; i < N_PROBLEMS * N_INSTANCES; i++)
        k->log_ns[i] = log(1e5) + (i % N_INSTANCES == 2 ? 0.3 : 0.03 * (i % N_INSTANCES));
    sweep_kit_measure(k, s);
}

static void add(struct ks_sweep_round *r, double by)
{
    r->log_ns[KS_STATISTIC_MEDIAN] += by;
}

/* Removes one round of an instance in a sweep, or, of UINT32_MAX, all visits. */
static void drop(struct ks_sweeps *s, uint32_t sweep, uint32_t instance, uint32_t round)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_rounds; i++) {
        const struct ks_sweep_round *r = &s->rounds[i];
        bool is_round = round == UINT32_MAX ? r->round > 0 : r->round == round;

        if (r->sweep != sweep || r->instance != instance || !is_round)
            s->rounds[n++] = *r;
    }
    s->n_rounds = n;
}

static void instance_0_wins(const struct ks_sweeps *s)
{
    struct ks_comparison c;

    assert_int_equal(make(s, 1, &c), 0);
    near(c.same_winner.value, 1, 1e-12);
    near(c.same_or_tied.value, 1, 1e-12);
    near(c.regret[0].value, 0, 1e-9);
    near(c.regret[1].value, 0, 1e-9);
    near(c.best.value, 1, 1e-9);
    near(c.sum[0].value, 2e5, 1e-3);
    near(c.ratio.value, 1, 1e-9);
    ks_compare_release(&c);
}

/* An instance that was dropped after round 0, which was lucky: 5 % less than the best. */
static void a_lucky_round_0_does_not_win(void **state)
{
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    measure_visits(&k, &s);
    instance_0_wins(&s);
    for (size_t i = 0; i < s.n_rounds; i++)
        if (s.rounds[i].instance == 2)
            add(&s.rounds[i], s.rounds[i].sweep ? -0.32 : -0.35);
    instance_0_wins(&s);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* Side A ran 10 % faster during round 0, which is half of what instance 1 has, a third of 0. */
static void rounds_are_aligned(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    measure_visits(&k, &s);
    drop(&s, 0, 1, 1);
    for (size_t i = 0; i < s.n_rounds; i++)
        if (s.rounds[i].sweep == 0 && s.rounds[i].round == 0)
            add(&s.rounds[i], -0.1);
    assert_int_equal(make(&s, 1, &c), 0);
    assert_true(c.pairs[1].log_ns[0] < c.pairs[0].log_ns[0] - 0.01); /* by the labels */
    ks_compare_release(&c);
    instance_0_wins(&s);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* B dropped A's winner although its round 0 was 5 % less than the winner's: no regret below 0. */
static void a_dropped_winner_has_no_negative_regret(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    measure_visits(&k, &s);
    drop(&s, 1, 0, UINT32_MAX);
    for (size_t i = 0; i < s.n_rounds; i++)
        if (s.rounds[i].sweep == 1 && s.rounds[i].instance == 0)
            add(&s.rounds[i], -0.02);
    assert_int_equal(make(&s, 1, &c), 0);
    near(c.same_winner.value, 0, 1e-12);
    near(c.regret[0].value, 0, 1e-12);
    near(c.regret[1].value, expm1(0.03), 1e-9);
    near(c.sum[1].value, 2e5 * exp(0.03), 1e-3);
    ks_compare_release(&c);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* ---- one side only ---- */

static const double ns[2][N_INSTANCES] = { { 100, 110, 120 }, { 100, 115, 120 } };

/* One round of two problems: sweep 0 is A, those from 1 on are B. */
static void measure_cells(struct sweep_kit *k, struct ks_sweeps *s, uint32_t n_sweeps)
{
    sweep_kit_open(k, 1, n_sweeps, N_PROBLEMS, N_INSTANCES);
    sweep_kit_measure(k, s);
    for (size_t i = 0; i < s->n_rounds; i++)
        s->rounds[i].log_ns[KS_STATISTIC_MEDIAN] =
            log(ns[s->rounds[i].sweep > 0][s->rounds[i].instance]);
}

static struct ks_sweep_round *cell(struct ks_sweeps *s, uint32_t sweep, uint32_t problem,
                                   uint32_t instance)
{
    for (size_t i = 0; i < s->n_rounds; i++)
        if (s->rounds[i].sweep == sweep && s->rounds[i].problem == problem &&
            s->rounds[i].instance == instance)
            return &s->rounds[i];
    fail_msg("no such cell");
    return NULL;
}

static void alias(struct ks_sweeps *s, uint32_t sweep, uint32_t instance, uint32_t of)
{
    struct ks_sweep_round *r = cell(s, sweep, 0, instance);

    r->outcome = KS_O_ALIASED;
    r->representative = of;
}

/* The best of A crashes in B, in one of two problems. */
static void a_best_that_fails_is_lost(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    measure_cells(&k, &s, 2);
    cell(&s, 1, 0, 0)->outcome = KS_O_CRASHED;
    cell(&s, 0, 1, 2)->outcome = KS_O_TIMEOUT;
    assert_int_equal(make(&s, 1, &c), 0);
    assert_int_equal(c.n_pairs, 4);
    assert_int_equal(c.n_lone, 2);
    assert_int_equal(c.n_broken, 1);
    assert_int_equal(c.lone[0].n_sweeps[1], 0);
    assert_int_equal(c.lone[0].outcome[0], KS_O_OK);
    assert_int_equal(c.lone[0].outcome[1], KS_O_CRASHED);
    assert_true(ks_compare_is_broken(&c.lone[0]) && !ks_compare_is_broken(&c.lone[1]));
    assert_int_equal(c.lone[1].outcome[0], KS_O_TIMEOUT);
    near(c.lone[1].log_ns[1], log(120), 1e-12);
    assert_int_equal(c.n_problems, 2);
    near(c.same_winner.value, 0.5, 1e-12);
    near(c.same_or_tied.value, 0.5, 1e-12);
    near(c.ratio.value, 215.0 / 200, 1e-9);
    assert_int_equal(c.n_lost[0], 1);
    assert_int_equal(c.n_lost[1], 0);
    assert_int_equal(c.lost[0].problem + c.lost[0].instance + c.lost[0].side, 0);
    assert_int_equal(c.lost[0].outcome, KS_O_CRASHED);
    assert_int_equal(c.n_regrets[0], 1);
    assert_int_equal(c.n_regrets[1], 2);
    near(c.regret[0].value, 0, 1e-12); /* of the other problem */
    near(c.regret[1].value, (110.0 / 100 - 1) / 2, 1e-9);
    near(c.worst_regret[1], 0.1, 1e-9);
    ks_compare_release(&c);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* Instance 0 is an alias of 1 in B. */
static void an_alias_has_the_time_of_its_representative(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    measure_cells(&k, &s, 2);
    alias(&s, 1, 0, 1);
    assert_int_equal(make(&s, 1, &c), 0);
    assert_int_equal(c.n_pairs, 6);
    near(c.pairs[0].difference, log(115.0 / 100), 1e-12);
    near(c.same_winner.value, 1, 1e-12); /* that code is the best of B */
    near(c.best.value, sqrt(1.15), 1e-9);
    assert_int_equal(c.n_lost[0], 0);
    assert_int_equal(c.n_regrets[0], 2);
    near(c.regret[1].value, (110.0 / 100 - 1) / 2, 1e-9);
    ks_compare_release(&c);

    cell(&s, 1, 0, 1)->outcome = KS_O_CRASHED;
    assert_int_equal(make(&s, 1, &c), 0);
    assert_int_equal(c.n_pairs, 4);
    assert_int_equal(c.n_broken, 2);
    assert_int_equal(c.lost[0].outcome, KS_O_CRASHED);
    ks_compare_release(&c);

    alias(&s, 1, 0, KS_NO_INSTANCE);
    assert_int_equal(make(&s, 1, &c), 0);
    assert_int_equal(c.n_pairs, 4);
    assert_int_equal(c.n_broken, 1);
    assert_int_equal(c.lone[0].outcome[1], KS_O_ALIASED);
    assert_int_equal(c.lost[0].outcome, KS_O_ALIASED);
    ks_compare_release(&c);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* What is an alias on both sides is no cell of its own; one that got code of its own is. */
static void an_alias_of_both_sides_is_not_compared(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    measure_cells(&k, &s, 2);
    alias(&s, 0, 2, 0);
    alias(&s, 1, 2, 1);
    assert_int_equal(make(&s, 1, &c), 0);
    assert_int_equal(c.n_pairs, 5);
    assert_int_equal(c.n_lone, 0);
    ks_compare_release(&c);

    cell(&s, 1, 0, 2)->outcome = KS_O_WRONG_RESULT;
    assert_int_equal(make(&s, 1, &c), 0);
    assert_int_equal(c.n_lone, 1);
    assert_int_equal(c.n_broken, 1);
    near(c.lone[0].log_ns[0], log(100), 1e-12);
    ks_compare_release(&c);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* Two sweeps of B, of which one fails; a cell that failed in A as well was not ok there. */
static void one_sweep_that_fails_breaks_a_cell(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    measure_cells(&k, &s, 3);
    cell(&s, 2, 0, 0)->outcome = KS_O_WRONG_RESULT;
    cell(&s, 2, 0, 1)->outcome = KS_O_UNSUPPORTED;
    cell(&s, 2, 0, 2)->outcome = KS_O_CRASHED;
    cell(&s, 0, 0, 2)->outcome = KS_O_CRASHED;
    assert_int_equal(make(&s, 1, &c), 0);
    assert_int_equal(c.n_pairs, 5);
    assert_int_equal(c.n_broken, 1);
    assert_true(ks_compare_is_broken(&c.pairs[0]) && !ks_compare_is_broken(&c.pairs[1]));
    assert_int_equal(c.pairs[0].n_sweeps[1], 1);
    assert_int_equal(c.pairs[1].outcome[1], KS_O_OK);
    ks_compare_release(&c);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

static void nothing_of_b_works(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    measure_cells(&k, &s, 2);
    for (size_t i = 0; i < s.n_rounds; i++)
        s.rounds[i].outcome = s.rounds[i].sweep ? KS_O_BUILD_FAILED : KS_O_OK;
    assert_int_equal(make(&s, 1, &c), 0);
    assert_int_equal(ks_compare_limit(&c, 0.03, 0.05, NULL), 0);
    assert_int_equal(c.n_pairs, 0);
    assert_int_equal(c.n_broken, 6);
    assert_int_equal(c.n_problems, 0);
    assert_int_equal(c.n_problems_only[0], 2);
    assert_int_equal(c.n_lost[0], 2);
    assert_true(isnan(c.ratio.value) && isnan(c.regret[0].value) && isnan(c.worst_regret[0]));
    ks_compare_release(&c);
    for (size_t i = 0; i < s.n_rounds; i++)
        s.rounds[i].outcome = s.rounds[i].sweep ? KS_O_UNSUPPORTED : KS_O_OK;
    assert_int_equal(make(&s, 1, &c), KS_EINVAL);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lucky_round_0_does_not_win),
        cmocka_unit_test(rounds_are_aligned),
        cmocka_unit_test(a_dropped_winner_has_no_negative_regret),
        cmocka_unit_test(a_best_that_fails_is_lost),
        cmocka_unit_test(an_alias_has_the_time_of_its_representative),
        cmocka_unit_test(an_alias_of_both_sides_is_not_compared),
        cmocka_unit_test(one_sweep_that_fails_breaks_a_cell),
        cmocka_unit_test(nothing_of_b_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
