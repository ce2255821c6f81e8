/* SPDX-License-Identifier: MIT */
/* test_analysis_compare.c - two sides: noise is not called a change, planted changes are found */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/compare.h"
#include "base/hash.h"
#include "race/student.h"
#include "record/outcome.h"
#include "sweep_kit.h"
#include "tests/unit/fault.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void near(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%.6g is not within %.3g of %.6g", a, within, b);
}

static void compare(struct sweep_kit *k, struct ks_sweeps *s, uint32_t n_a, double margin,
                    struct ks_comparison *c)
{
    struct ks_trials t;
    struct ks_err err = { 0 };

    sweep_kit_trials(k, s, &t);
    if (ks_compare_make(s, &t, n_a, c, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(ks_compare_decide(c, log1p(margin), 0.05, NULL), 0);
    ks_trials_release(&t);
}

static void discoveries_are_those_of_the_paper(void **state)
{
    /* Benjamini & Hochberg 1995, section 4: 15 p values, of which 4 are rejected at 0.05 */
    double p[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
    double none[] = { 0.2, 0.04, 0.9 };

    (void)state;
    near(ks_false_discovery_cut(p, 15, 0.05), 0.0095, 1e-12);
    near(ks_false_discovery_cut(none, 3, 0.05), 0, 1e-12);
}

/* Noise that drifts and has heavy tails; `rough` is twice as loud. */
static const struct sweep_noise quiet = { .round_sd = 0.005,
                                          .sweep_sd = 0.002,
                                          .common_sd = 0.003,
                                          .drift_sd = 0.001,
                                          .tail = 0.03,
                                          .tail_mean = 0.05 };
static const struct sweep_noise rough = { .round_sd = 0.01,
                                          .sweep_sd = 0.004,
                                          .common_sd = 0.006,
                                          .drift_sd = 0.002,
                                          .tail = 0.03,
                                          .tail_mean = 0.05 };
/* As between two sweeps of an H100 (docs/measured/h100/repeat.txt), without late values. */
static const struct sweep_noise even = {
    .round_sd = 0.004, .sweep_sd = 0.002, .common_sd = 0.002, .drift_sd = 0.001
};
static const struct {
    const char *name;
    uint32_t n_a, n_b, n_rounds;
    const struct sweep_noise *noise;
} sides[] = {
    { "one sweep of one round a side", 1, 1, 1, &rough },
    { "one sweep of five rounds a side", 1, 1, 5, &quiet },
    { "three sweeps a side", 3, 3, 1, &quiet },
    { "two sweeps of four rounds a side", 2, 2, 4, &quiet },
    { "four sweeps of four rounds against three", 4, 3, 4, &rough },
    { "one sweep of three even rounds a side", 1, 1, 3, &even },
    { "one sweep of one even round a side", 1, 1, 1, &even },
};
#define N_SIDES (sizeof(sides) / sizeof(sides[0]))

static void open_sides(struct sweep_kit *k, size_t i, uint64_t seed)
{
    sweep_kit_open(k, seed + i, sides[i].n_a + sides[i].n_b, 30, 20);
    k->noise = *sides[i].noise;
    k->n_rounds = sides[i].n_rounds;
    k->contends = 0.1;
    k->later_from = sides[i].n_a;
}

static void the_same_is_not_called_a_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SIDES; i++) {
        size_t changed = 0, n = 0;

        for (uint64_t seed = 0; seed < 3; seed++) {
            struct ks_comparison c;
            struct ks_sweeps s;
            struct sweep_kit k;

            open_sides(&k, i, 100 * (seed + 1));
            compare(&k, &s, sides[i].n_a, 0.01, &c);
            changed += c.n_change[KS_FASTER] + c.n_change[KS_SLOWER];
            n += c.n_pairs;
            near(c.cells.value, 1, 0.02);
            assert_true(c.cells.lo <= c.cells.value && c.cells.value <= c.cells.hi);
            ks_compare_release(&c);
            ks_sweeps_release(&s);
            sweep_kit_close(&k);
        }
        if (100 * changed > n)
            fail_msg("%s: %zu of %zu cells changed", sides[i].name, changed, n);
    }
}

struct found {
    size_t planted, found, raced, raced_found, false_ones, called, same_wrong;
};

static void count_found(const struct sweep_kit *k, const struct ks_comparison *c, struct found *f)
{
    for (size_t i = 0; i < c->n_pairs; i++) {
        const struct ks_pair *p = &c->pairs[i];
        bool is_planted = k->later[p->problem * k->n_instances + p->instance] > 0;
        bool is_found = p->change == KS_SLOWER;
        bool is_raced = p->n_rounds > 1;

        f->planted += is_planted;
        f->found += is_planted && is_found;
        f->raced += is_planted && is_raced;
        f->raced_found += is_planted && is_raced && is_found;
        f->called += p->change == KS_SLOWER || p->change == KS_FASTER;
        f->false_ones += !is_planted && (p->change == KS_SLOWER || p->change == KS_FASTER);
        f->same_wrong += is_planted && p->change == KS_SAME;
    }
}

/* 5 % in a tenth of the instances, on side B. */
static void planted_slowdowns_are_found(void **state)
{
    (void)state;
    for (size_t i = 1; i < N_SIDES; i++) {
        struct found f = { 0 };
        struct ks_comparison c;
        struct ks_sweeps s;
        struct sweep_kit k;

        for (uint64_t seed = 0; seed < 2; seed++) {
            open_sides(&k, i, 1000 * (seed + 1));
            for (uint32_t p = 0; p < k.n_problems; p++)
                for (uint32_t n = 0; n < 2; n++)
                    k.later[p * k.n_instances + ks_rng_below(&k.rng, k.n_instances)] = log(1.05);
            compare(&k, &s, sides[i].n_a, 0.01, &c);
            count_found(&k, &c, &f);
            ks_compare_release(&c);
            ks_sweeps_release(&s);
            sweep_kit_close(&k);
        }
        if (sides[i].n_rounds > 1 && 10 * f.raced_found < 8 * f.raced)
            fail_msg("%s: %zu of %zu raced cells found", sides[i].name, f.raced_found, f.raced);
        if (sides[i].n_rounds == 1 && 10 * f.found < 8 * f.planted)
            fail_msg("%s: %zu of %zu found", sides[i].name, f.found, f.planted);
        if (20 * f.false_ones > f.called + 20)
            fail_msg("%s: %zu of %zu are false", sides[i].name, f.false_ones, f.called);
        assert_true(f.planted > 50);
        assert_true(f.raced >= 10 || sides[i].n_rounds == 1);
        assert_true(10 * f.same_wrong <= f.planted);
    }
}

/* 29 cells of two rounds of which 5 changed, beside 1,000 of one round that say nothing: p must be
 * at most 0.0043 among the former, 0.0002 among all. */
static void cells_of_one_round_do_not_raise_the_bar(void **state)
{
    enum { N = 1029 };
    static struct ks_pair pair[N];
    struct ks_comparison c = { .pairs = pair, .n_pairs = N };

    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        bool is_raced = i < 29;

        pair[i] = (struct ks_pair){ .n_sweeps = { 1, 1 },
                                    .n_rounds = is_raced ? 2 : 1,
                                    .difference = i < 5 ? 0.033 + 0.01 : 0,
                                    .sd = is_raced ? 0.01 : 0.3,
                                    .freedom = 1e6 };
    }
    assert_int_equal(ks_compare_decide(&c, 0.01, 0.05, NULL), 0); /* p = 0.0005 */
    assert_int_equal(c.n_change[KS_SLOWER], 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(pair[i].change, KS_SLOWER);
    assert_true(pair[N - 1].smallest > 1 && pair[5].smallest < 0.06);
}

/* A change of all cells is a change: the middle of the differences does not hide it. */
static void a_slower_device_is_slower(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    open_sides(&k, 1, 7);
    k.noise.tail = 0;
    for (uint32_t i = 0; i < k.n_problems * k.n_instances; i++)
        k.later[i] = log(1.2);
    compare(&k, &s, 1, 0.03, &c);
    assert_true(c.n_change[KS_SLOWER] > 9 * c.n_pairs / 10);
    near(c.cells.value, 1.2, 0.01);
    near(c.best.value, 1.2, 0.01);
    near(c.ratio.value, 1.2, 0.01);
    assert_true(c.ratio.lo <= c.ratio.value && c.ratio.value <= c.ratio.hi);
    ks_compare_release(&c);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* 2 % slower throughout is the same at a margin of 3 %, and slower at one of 0.5 %. */
static void the_margin_decides(void **state)
{
    struct ks_comparison c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    open_sides(&k, 2, 8);
    k.noise = (struct sweep_noise){ .round_sd = 0.003 };
    for (uint32_t i = 0; i < k.n_problems * k.n_instances; i++)
        k.later[i] = log(1.02);
    compare(&k, &s, 3, 0.03, &c);
    assert_int_equal(c.n_change[KS_SLOWER], 0);
    assert_true(c.n_change[KS_SAME] > 9 * c.n_pairs / 10);
    assert_int_equal(ks_compare_decide(&c, log1p(0.005), 0.05, NULL), 0);
    assert_true(c.n_change[KS_SLOWER] > 9 * c.n_pairs / 10);
    for (size_t i = 0; i < c.n_pairs; i++)
        assert_true(c.pairs[i].smallest > log1p(0.005) && c.pairs[i].smallest < 0.025);
    ks_compare_release(&c);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

#define N_PLANTED 4u

/* Of three rounds: without the slowdowns, then with those that were said to be detectable. */
static size_t found_of_planted(uint64_t seed, uint32_t n_sweeps, const struct sweep_noise *noise)
{
    double slowdown[N_PLANTED] = { 0 };
    size_t found = 0;

    for (int step = 0; step < 2; step++) {
        struct ks_comparison c;
        struct ks_sweeps s;
        struct sweep_kit k;

        sweep_kit_open(&k, seed, 2 * n_sweeps, 30, 20);
        k.noise = *noise;
        k.n_rounds = 3;
        k.contends = 3; /* all of them */
        k.later_from = n_sweeps;
        for (size_t i = 0; i < N_PLANTED; i++)
            k.later[140 * i + seed % 20] = slowdown[i];
        compare(&k, &s, n_sweeps, 0.01, &c);
        assert_int_equal(c.n_pairs, 600);
        for (size_t i = 0; i < N_PLANTED; i++) {
            const struct ks_pair *p = &c.pairs[140 * i + seed % 20];

            found += slowdown[i] > 0 && p->change == KS_SLOWER;
            slowdown[i] = p->smallest;
        }
        ks_compare_release(&c);
        ks_sweeps_release(&s);
        sweep_kit_close(&k);
    }
    return found;
}

/* Slowdowns of the size that a comparison says are found in about 80 % of cases. In each four cells
 * of 600, of different problems. */
static void what_is_detectable_is_found(void **state)
{
    static const struct sweep_noise late = {
        .round_sd = 0.005, .sweep_sd = 0.002, .tail = 0.05, .tail_mean = 0.05
    };
    static const struct {
        const char *name;
        uint32_t n_sweeps; /* of a side */
        const struct sweep_noise *noise;
    } rows[] = {
        { "one even sweep", 1, &even },
        { "two even sweeps", 2, &even },
        { "late values", 1, &late },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t found = 0;

        for (uint32_t k = 0; k < 25; k++)
            found += found_of_planted(900 + k, rows[i].n_sweeps, rows[i].noise);
        print_message("# %s: %zu of 100 found\n", rows[i].name, found);
        assert_in_range(found, 70, 95);
    }
}

/* Short kernels repeat ten times worse than long ones; each class has its own error. */
static void short_kernels_do_not_widen_long_ones(void **state)
{
    enum { N = 400 };
    struct ks_pair pair[2 * N];
    struct ks_comparison c = { .pairs = pair, .n_pairs = 2 * N };

    (void)state;
    for (uint32_t i = 0; i < 2 * N; i++) {
        bool is_long = i % 2 == 1;
        double u = (i / 2 * 37 % N + 0.5) / N; /* each quantile once */
        double noise = u < 0.5 ? ks_student_quantile(u, 30) : -ks_student_quantile(1 - u, 30);
        double log_ns = (is_long ? log(1e5) : log(4e3)) + 1e-4 * i;
        double d = noise * (is_long ? 0.002 : 0.02);

        pair[i] = (struct ks_pair){
            .n_sweeps = { 1, 1 }, .n_rounds = 1, .log_ns = { log_ns, log_ns + d }, .difference = d
        };
    }
    assert_int_equal(ks_compare_errors(&c, 0, 0, NULL), 0);
    for (uint32_t i = 0; i < 2 * N; i++) {
        double log_ns = pair[i].log_ns[0];

        if (log_ns < log(4e3) + 0.05)
            near(pair[i].sd, 0.02, 0.005);
        if (log_ns > log(1e5) + 0.03)
            near(pair[i].sd, 0.0045, 0.002);
        assert_true(pair[i].freedom > 5);
    }
}

/* Without noise: winners, regret and cells of one side by hand. */
static void winners_and_cells_of_one_side(void **state)
{
    static const double ns[2][2][3] = { { { 100, 110, 120 }, { 100, 102, 500 } },
                                        { { 130, 110, 120 }, { 100, 102, 500 } } };
    struct ks_comparison c;
    struct ks_sweeps s;
    struct ks_trials t;
    struct sweep_kit k;

    (void)state;
    sweep_kit_open(&k, 1, 2, 2, 3);
    sweep_kit_measure(&k, &s);
    for (size_t i = 0; i < s.n_rounds; i++) {
        struct ks_sweep_round *r = &s.rounds[i];

        r->log_ns[KS_STATISTIC_MEDIAN] = log(ns[r->sweep][r->problem][r->instance]);
        if (r->problem == 1 && r->instance == 2 && r->sweep == 1)
            r->outcome = KS_O_CRASHED;
        if (r->problem == 1 && r->instance == 1 && r->sweep == 0)
            r->outcome = KS_O_UNSUPPORTED;
    }
    s.problems[0].n_uses = 3;
    assert_int_equal(ks_trials_make(&s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &t, NULL), 0);
    assert_int_equal(ks_compare_make(&s, &t, 1, &c, NULL), 0);
    assert_int_equal(c.n_pairs, 4);
    assert_int_equal(c.n_only[0], 1);
    assert_int_equal(c.n_failed[1], 1);
    assert_int_equal(c.n_only[1], 1);
    assert_int_equal(c.n_failed[0], 0);
    assert_int_equal(c.n_problems, 2);
    near(c.same_winner.value, 0.5, 1e-12);
    near(c.regret[0].value, (130.0 / 110 - 1) / 2, 1e-9);
    near(c.regret[1].value, (110.0 / 100 - 1) / 2, 1e-9);
    near(c.worst_regret[0], 130.0 / 110 - 1, 1e-9);
    near(c.sum[0].value, 3 * 100 + 100, 1e-9);
    near(c.sum[1].value, 3 * 110 + 100, 1e-9);
    near(c.best.value, sqrt(1.1), 1e-9);
    near(c.cells.value, pow(1.3, 0.25), 1e-9);
    ks_compare_release(&c);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

static int all_of_it(const struct ks_sweeps *s)
{
    struct ks_trials t = { 0 };
    struct ks_comparison c = { 0 };
    struct ks_oracle o = { 0 };
    int rc = ks_trials_make(s, KS_STATISTIC_LOW, KS_OVER_MEDIAN, &t, NULL);

    if (rc == 0)
        rc = ks_compare_make(s, &t, 1, &c, NULL);
    if (rc == 0)
        rc = ks_compare_decide(&c, 0.01, 0.05, NULL);
    if (rc == 0)
        rc = ks_oracle_make(&t, 1, KS_OVER_MEDIAN, 0.005, &o, NULL);
    ks_oracle_release(&o);
    ks_compare_release(&c);
    ks_trials_release(&t);
    return rc;
}

static void every_allocation_may_fail(void **state)
{
    struct ks_sweeps s;
    struct sweep_kit k;
    bool has_failed = true;
    unsigned n = 0;

    (void)state;
    sweep_kit_open(&k, 1, 2, 2, 3);
    k.noise.round_sd = 0.01;
    sweep_kit_measure(&k, &s);
    for (; has_failed; n++) {
        int rc;

        fault_arm(n);
        rc = all_of_it(&s);
        has_failed = fault_disarm();
        assert_int_equal(rc, has_failed ? KS_ENOMEM : 0);
    }
    assert_true(n > 40);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* One cell in each class, p about 0.023: three tests at 5 % would call each of them a change. */
static void classes_share_the_rate(void **state)
{
    struct ks_pair pair[KS_COMPARE_CLASSES] = {
        { .n_rounds = 1, .difference = 0.030, .sd = 0.01, .freedom = 1e3 },
        { .n_rounds = 2, .difference = 0.030, .sd = 0.01, .freedom = 1e3 },
        { .n_rounds = 5, .difference = 0.030, .sd = 0.01, .freedom = 1e3 },
    };
    struct ks_comparison c = { .pairs = pair, .n_pairs = KS_COMPARE_CLASSES };

    (void)state;
    assert_int_equal(ks_compare_decide(&c, 0.01, 0.05, NULL), 0);
    near(pair[0].p_changed, 0.023, 0.001);
    assert_int_equal(c.n_change[KS_SLOWER], 0);
    c.n_pairs = 1;
    assert_int_equal(ks_compare_decide(&c, 0.01, 0.05, NULL), 0);
    assert_int_equal(c.n_change[KS_SLOWER], 1);
}

/* Without visits fewer than 20 calls in one direction are none. Then a single cell shows nothing;
 * beside 20 others it does. */
static void a_cell_alone_is_not_found_without_visits(void **state)
{
    struct ks_pair pair[100];
    struct ks_comparison c = { .pairs = pair, .n_pairs = 100, .has_few_steps = true };

    (void)state;
    for (uint32_t n_slower = 1; n_slower < 22; n_slower++) {
        bool is_blind = n_slower < 19; /* one more makes 20 */

        for (uint32_t i = 0; i < 100; i++)
            pair[i] = (struct ks_pair){
                .n_rounds = 1, .difference = i < n_slower ? 0.5 : 0, .sd = 0.01, .freedom = 1e3
            };
        assert_int_equal(ks_compare_limit(&c, 0.01, 0.05, NULL), 0);
        assert_int_equal(c.n_change[KS_SLOWER], n_slower < 20 ? 0 : n_slower);
        assert_int_equal(c.n_blind, is_blind ? 100 : 0);
        assert_int_equal(c.n_unseen, n_slower < 20 ? 100 : 100 - n_slower);
        assert_true(isinf(pair[99].smallest) == is_blind);
    }
}

/* 60 cells whose noise allows no verdict at 3 %, 30 that are SAME, 10 that are 8 % slower; the
 * verdicts at the limit outlast those at a margin of 20 %. */
static void the_limit_keeps_its_verdicts(void **state)
{
    static struct ks_pair pair[100];
    struct ks_comparison c = { .pairs = pair, .n_pairs = 100 };

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        pair[i] = (struct ks_pair){ .n_rounds = 1,
                                    .difference = i >= 90 ? log(1.08) : 0,
                                    .sd = i < 60 ? 0.05 : 0.002,
                                    .freedom = 1e3 };
    assert_int_equal(ks_compare_limit(&c, log(1.03), 0.05, NULL), 0);
    assert_int_equal(c.n_change[KS_SLOWER], 10);
    assert_int_equal(c.n_unseen, 60);
    assert_int_equal(c.n_blind, 0); /* a very large slowdown would be found */
    assert_int_equal(ks_compare_decide(&c, log(1.2), 0.05, NULL), 0);
    assert_int_equal(c.n_change[KS_SLOWER], 0);
    assert_int_equal(c.n_unseen, 60);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(pair[i].change, KS_SAME);
        assert_int_equal(pair[i].at_limit, i < 60 ? KS_UNSURE : i < 90 ? KS_SAME : KS_SLOWER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(discoveries_are_those_of_the_paper),
        cmocka_unit_test(the_same_is_not_called_a_change),
        cmocka_unit_test(planted_slowdowns_are_found),
        cmocka_unit_test(cells_of_one_round_do_not_raise_the_bar),
        cmocka_unit_test(classes_share_the_rate),
        cmocka_unit_test(a_cell_alone_is_not_found_without_visits),
        cmocka_unit_test(the_limit_keeps_its_verdicts),
        cmocka_unit_test(a_slower_device_is_slower),
        cmocka_unit_test(the_margin_decides),
        cmocka_unit_test(what_is_detectable_is_found),
        cmocka_unit_test(short_kernels_do_not_widen_long_ones),
        cmocka_unit_test(winners_and_cells_of_one_side),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
