/* SPDX-License-Identifier: MIT */
/* test_analysis_yardstick.c - winners timed in other sweeps; intervals against held-out ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/held_out.h"
#include "analysis/learn/spans.h"
#include "record/outcome.h"
#include "sweep_kit.h"

#include <math.h>
#include <stdlib.h>

static void near(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%.6g is not within %.3g of %.6g", a, within, b);
}

/* Sets the label and all samples of a cell. */
static void set_cell(struct ks_sweeps *s, uint32_t sweep, uint32_t instance, double label,
                     double sample)
{
    for (size_t i = 0; i < s->n_rounds; i++) {
        struct ks_sweep_round *r = &s->rounds[i];

        if (r->sweep != sweep || r->instance != instance)
            continue;
        r->log_ns[KS_STATISTIC_LOW] = log(label);
        for (uint32_t k = 0; k < r->n_samples; k++)
            s->ns[r->first_sample + k] = (float)(k ? sample : sample / 2);
    }
}

/* Three sweeps of one problem, by hand: A, C1 and C2 are each one of them. */
static void regret_by_hand(void **state)
{
    static const double label[3][2] = { { 10, 11 }, { 12, 11 }, { 10, 13 } };
    static const double sample[3][2] = { { 100, 110 }, { 120, 100 }, { 100, 150 } };
    struct ks_yardstick_options o = { .statistic = KS_STATISTIC_LOW, .n_a = 1, .n_c1 = 1 };
    /* A, C1, C2: winner of A, best of C1 (by samples), times in C2
     * 0 1 2: 0, 1: 100/150; 0 2 1: 0, 0: 0; 1 0 2: 1, 0: 150/100; 1 2 0: 1, 0: 110/100;
     * 2 0 1: 0, 0: 0; 2 1 0: 0, 1: 100/110 */
    double mean = (100.0 / 150 + 1.5 + 1.1 + 100.0 / 110 - 4) / 6;
    struct ks_yardstick y;
    struct ks_agreement g;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    sweep_kit_open(&k, 1, 3, 1, 2);
    sweep_kit_measure(&k, &s);
    for (uint32_t sweep = 0; sweep < 3; sweep++)
        for (uint32_t i = 0; i < 2; i++)
            set_cell(&s, sweep, i, label[sweep][i], sample[sweep][i]);
    assert_int_equal(ks_yardstick_regret(&s, &o, &y, NULL), 0);
    assert_int_equal(y.n_regrets, 6);
    assert_int_equal(y.n_problems, 1);
    near(y.regret.mean, mean, 1e-6);
    near(y.floor.mean, mean, 1e-6); /* by samples each sweep names the same */
    near(y.regret.p99, 0.5, 0.03);
    o.is_minimum = true; /* half of it everywhere: the same ratios */
    assert_int_equal(ks_yardstick_regret(&s, &o, &y, NULL), 0);
    near(y.regret.mean, mean, 1e-6);
    set_cell(&s, 2, 0, 14, 100); /* the label of sweep 2 names 1 now, its samples do not */
    assert_int_equal(ks_yardstick_regret(&s, &o, &y, NULL), 0);
    near(y.floor.mean, mean, 1e-6);
    near(y.regret.mean, (100.0 / 150 + 1.5 + 1.1 + 100.0 / 120 + 1 - 5) / 6, 1e-6);
    /* winners 0, 1, 1; the other one is 10, 9.1 and 7.7 % slower */
    assert_int_equal(ks_yardstick_agreement(&s, KS_STATISTIC_LOW, 0, 0.07, &g, NULL), 0);
    assert_int_equal(g.n, 3);
    near(g.same, 1.0 / 3, 1e-9);
    near(g.tied, 1.0 / 3, 1e-9);
    assert_int_equal(ks_yardstick_agreement(&s, KS_STATISTIC_LOW, 0, 0.08, &g, NULL), 0);
    near(g.tied, 2.0 / 3, 1e-9);
    near(g.tied_both, 1.0 / 3, 1e-9);
    o.n_c1 = 2;
    assert_int_equal(ks_yardstick_regret(&s, &o, &y, NULL), KS_EINVAL);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

static void quantiles_have_intervals(void **state)
{
    double value[1000];
    uint32_t problem[1000];
    struct ks_quantiles q;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        problem[i] = i / 10;
        value[i] = (double)(i / 10); /* ten times the same: 100 problems, not 1000 values */
    }
    assert_int_equal(ks_quantiles_of(value, problem, 1000, &q, NULL), 0);
    near(q.p50, 49.5, 0.6);
    near(q.p90, 89.5, 1);
    near(q.mean, 49.5, 1e-9);
    near(q.mean_hi - q.mean_lo, 2 * 1.645 * 28.9 / 10, 1.5); /* of 100 values */
    assert_true(q.p90_lo < 87 && q.p90_hi > 92);
}

/* More rounds and quieter statistics mean less regret, more agreement, more time. */
static void rounds_pay(void **state)
{
    struct ks_yardstick_options o = { .n_a = 1, .n_c1 = 2 };
    struct ks_yardstick y[2];
    struct ks_agreement g[2];
    struct ks_cost cost[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct ks_sweeps s;
        struct sweep_kit k;

        sweep_kit_open(&k, 3, 4, 30, 12);
        k.noise = (struct sweep_noise){ .round_sd = 0.02, .common_sd = 0.02 };
        k.n_rounds = i ? 8 : 1;
        k.contends = 0.1;
        sweep_kit_measure(&k, &s);
        assert_int_equal(ks_yardstick_regret(&s, &o, &y[i], NULL), 0);
        assert_int_equal(ks_yardstick_agreement(&s, 0, 0, 0.005, &g[i], NULL), 0);
        assert_int_equal(ks_yardstick_cost(&s, &cost[i], NULL), 0);
        ks_sweeps_release(&s);
        sweep_kit_close(&k);
    }
    assert_int_equal(y[1].n_problems, 30);
    assert_int_equal(y[1].n_regrets, 30 * 4 * 3);
    assert_true(y[1].regret.p90 < 0.7 * y[0].regret.p90);
    assert_true(y[1].regret.p90_lo <= y[1].regret.p90 && y[1].regret.p90 <= y[1].regret.p90_hi);
    assert_true(g[1].same > g[0].same && g[1].tied >= g[1].same);
    near(cost[0].over_first, 1, 1e-9);
    near(cost[0].rounds_of_label, 1, 1e-9);
    assert_true(cost[1].over_first > 2 && cost[1].over_first < 8);
    near(cost[1].over_ten, cost[1].over_first / 10, 1e-12);
    assert_true(cost[1].rounds_of_label > 7);
}

static const struct planted {
    const char *name;
    uint32_t n_train, n_rounds;
    struct sweep_noise noise;
} plants[] = {
    /* one sweep shows a part of what differs between sweeps, in the proportion of race/spread.h */
    { "visits",
      1,
      3,
      { .round_sd = 0.02, .sweep_sd = 0.0106, .common_sd = 0.02, .shared_sd = 0.0106, .span = 1 } },
    { "the prior", 1, 1, { .round_sd = 0.033, .is_classed = true, .freedom = 2, .span = 1 } },
    { "a quiet machine",
      1,
      1,
      { .round_sd = 0.0066, .is_classed = true, .freedom = 2, .span = 0.002 } },
    /* several sweeps show it all: what the instances of a problem share, and cells that differ */
    { "sweeps", 2, 1, { .round_sd = 0.01, .shared_sd = 0.05, .span = 1 } },
    { "heavy tails", 3, 1, { .round_sd = 0.02, .freedom = 2, .tail = 0.03, .tail_mean = 0.1 } },
    { "drift", 2, 2, { .round_sd = 0.01, .sweep_sd = 0.01, .drift_sd = 0.005 } },
    /* anchors that move more than the prior's by a factor of 2: all cells do, by as much */
    { "a noisy machine",
      1,
      1,
      { .round_sd = 0.033,
        .shared_sd = 0.107,
        .anchor_sd = 0.05,
        .is_classed = true,
        .freedom = 2,
        .span = 1 } },
};

static void assert_covered(const char *name, const char *what, const struct ks_coverage *c,
                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c[i].n >= 100 && fabs(c[i].seen - c[i].promised) > 0.05)
            fail_msg("%s, %s %zu: %.3f of %zu seen, %.3f promised", name, what, i, c[i].seen,
                     c[i].n, c[i].promised);
}

static void intervals_hold_what_they_promise(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
        const struct planted *p = &plants[i];
        struct ks_coverages c;
        struct ks_sweeps s;
        struct sweep_kit k;

        sweep_kit_open(&k, 5 + i, 4, 60, 12);
        k.noise = p->noise;
        k.n_rounds = p->n_rounds;
        k.contends = 0.2;
        sweep_kit_measure(&k, &s);
        assert_int_equal(ks_held_coverage(&s, 0, KS_OVER_MEDIAN, p->n_train, &c, NULL), 0);
        assert_int_equal(c.time[0].n + c.time[1].n + c.time[2].n, 4 * 60 * 12);
        /* of one sweep the prior says how much noisier slow instances are; anchors do not */
        if (p->noise.anchor_sd <= 0)
            assert_covered(p->name, "class", c.class, p->noise.is_classed ? KS_LABEL_CLASSES : 1);
        if (p->noise.is_classed || p->n_train > 1)
            assert_covered(p->name, "rounds", c.rounds, KS_HELD_ROUNDS);
        assert_true(c.class[0].promised > 0.7 && c.class[0].promised < 0.95);
        ks_sweeps_release(&s);
        sweep_kit_close(&k);
    }
}

/* Two sweeps that agree about every difference and about no time: 10 % apart as a whole. */
static void a_shared_shift_widens_intervals(void **state)
{
    struct ks_label_error e;
    struct ks_sweeps s;
    struct ks_trials t;
    struct ks_label label;
    struct ks_scatter scatter;
    struct sweep_kit k;
    double scratch[4];

    (void)state;
    sweep_kit_open(&k, 7, 2, 30, 6);
    for (size_t i = 0; i < 30 * 6; i++)
        k.later[i] = i / 6 % 2 ? 0.1 : -0.1;
    k.later_from = 1;
    k.noise = (struct sweep_noise){ .round_sd = 0.001, .span = 0.001 };
    sweep_kit_trials(&k, &s, &t);
    assert_int_equal(ks_scatter_find(&t, 0, &scatter, NULL), 0);
    assert_int_equal(ks_label_error_find(&t, 0, KS_OVER_MEDIAN, &scatter, &e, NULL), 0);
    assert_int_equal(e.n_sweeps, 30 * 6);
    ks_label_find(&e, &t.trials[0], 2, KS_OVER_MEDIAN, scratch, &label);
    near(label.log_ns, (t.trials[0].label + t.trials[1].label) / 2, 1e-12);
    assert_true(label.half_width > 0.05 && label.half_width < 0.3);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* The median of three sweeps falls into one of two states, in which their mean would not. */
static void two_states_widen_intervals_of_medians(void **state)
{
    static const struct {
        struct sweep_noise noise;
        double of_three;
    } rows[] = { { { .round_sd = 0.02 }, 0.4487 }, { { .round_sd = 0.0001, .state = 0.06 }, 1 } };
    struct ks_label_error e;
    struct ks_scatter scatter;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_sweeps s;
        struct ks_trials t;
        struct sweep_kit k;

        sweep_kit_open(&k, 8, 3, 60, 12);
        k.noise = rows[i].noise;
        sweep_kit_trials(&k, &s, &t);
        assert_int_equal(ks_scatter_find(&t, 0, &scatter, NULL), 0);
        assert_int_equal(ks_label_error_find(&t, 0, KS_OVER_MEDIAN, &scatter, &e, NULL), 0);
        near(e.median[0], 1, 1e-12);
        near(e.median[1], 0.5, 1e-12);
        near(e.median[2], rows[i].of_three, 0.03);
        near(e.median[3], ks_over_variance(4, KS_OVER_MEDIAN), 1e-12); /* no cell has four */
        ks_trials_release(&t);
        ks_sweeps_release(&s);
        sweep_kit_close(&k);
    }
}

static void chances_come_true_in_held_out_sweeps(void **state)
{
    struct ks_calibration c;
    struct ks_sweeps s;
    struct sweep_kit k;
    size_t n = 0;

    (void)state;
    sweep_kit_open(&k, 6, 6, 18, 10);
    k.noise = (struct sweep_noise){ .round_sd = 0.008, .sweep_sd = 0.004, .common_sd = 0.01 };
    k.n_rounds = 3;
    k.contends = 0.1;
    sweep_kit_measure(&k, &s);
    assert_int_equal(ks_held_calibration(&s, 0, KS_OVER_MEDIAN, 1, 0.005, &c, NULL), 0);
    assert_int_equal(c.n_held, 5);
    for (uint32_t b = 0; b < KS_HELD_BINS; b++) {
        n += c.best.n[b];
        if (c.best.n[b] >= 60) /* six times the same problems */
            near(c.best.seen[b], c.best.predicted[b], 0.15);
        if (c.near.n[b] >= 60)
            near(c.near.seen[b], c.near.predicted[b], 0.2);
        assert_true(c.best.n[b] == 0 || c.best.predicted[b] <= ks_held_bin(b));
    }
    assert_int_equal(n, 6 * 18 * 10);
    assert_true(c.best.brier.mean > 0 && c.best.brier.mean < 0.06);
    assert_true(c.best.brier.mean_lo < c.best.brier.mean &&
                c.best.brier.mean < c.best.brier.mean_hi);
    assert_int_equal(c.n_labels, 6 * 18);
    /* More is expected here than there is: 0.17 % against 0.12 % at most, with 60 problems 0.15 %
     * against 0.11 %. */
    assert_true(c.regret[KS_HELD_EXPECTED].mean > c.regret[KS_HELD_LEAST].mean_lo &&
                c.regret[KS_HELD_EXPECTED].mean < 1.5 * c.regret[KS_HELD_MOST].mean);
    assert_int_equal(ks_held_calibration(&s, 0, 0, 6, 0.005, &c, NULL), KS_EINVAL);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* Half of the rounds 1 are contaminated, and differ by `sd` more than others. Returns by how much
 * aligned values of these cells miss the truth. */
static double missed_beside(double sd)
{
    enum { N_PROBLEMS = 60, N_INSTANCES = 20 };
    struct ks_sweeps s;
    struct ks_trials t;
    struct sweep_kit k;
    uint64_t rng = 3;
    double square = 0;

    sweep_kit_open(&k, 9, 1, N_PROBLEMS, N_INSTANCES);
    k.noise = (struct sweep_noise){ .round_sd = 0.02 };
    k.n_rounds = 3;
    k.contends = 10;
    sweep_kit_measure(&k, &s);
    for (size_t i = 0; i < s.n_rounds; i++) {
        struct ks_sweep_round *r = &s.rounds[i];

        if (r->round != 1 || (r->problem + r->instance) % 2)
            continue;
        r->is_clean = false;
        r->log_ns[KS_STATISTIC_MEDIAN] += sd * sweep_kit_normal(&rng);
    }
    assert_int_equal(ks_trials_make(&s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &t, NULL), 0);
    assert_int_equal(t.n_trials, N_PROBLEMS * N_INSTANCES);
    for (uint32_t i = 0; i < t.n_trials; i++)
        if ((i / N_INSTANCES + i % N_INSTANCES) % 2 == 0)
            square += pow(t.trials[i].aligned - k.log_ns[i], 2) / (N_PROBLEMS * N_INSTANCES / 2.0);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
    return sqrt(square);
}

/* The mean of three rounds misses by 0.02 / sqrt 3, their median by 0.0134, the two clean ones by
 * 0.02 / sqrt 2; with a third that is off by 0.3 the mean would miss by 0.1. */
static void contaminated_rounds_count_as_they_vary(void **state)
{
    (void)state;
    near(missed_beside(0), 0.02 / sqrt(3), 0.0009);
    near(missed_beside(0.3), 0.02 / sqrt(2), 0.0012);
}

/* Planted: 1 % per moment, 2 % per buffer, 3 % per worker, 4 % per sweep; 1.5 % more beyond 3 s. */
static void spans_add_up(void **state)
{
    enum { N_CELLS = 12, N_SWEEPS = 8, N_WORKERS = 4, N_BUFFERS = 3, N_TIMES = 4 };
    static const double at_s[N_TIMES] = { 0, 0.1, 1, 20 };
    static struct ks_moment m[N_CELLS * N_SWEEPS * N_WORKERS * N_BUFFERS * N_TIMES];
    struct ks_spread_at s[KS_N_SPANS];
    double sweep = 0, worker = 0, buffer = 0, late = 0;
    uint64_t rng = 7;

    (void)state;
    for (uint32_t i = 0; i < sizeof(m) / sizeof(m[0]); i++) {
        uint32_t t = i % N_TIMES, b = i / N_TIMES;

        sweep = b % (N_WORKERS * N_BUFFERS) || t ? sweep : 0.04 * sweep_kit_normal(&rng);
        worker = b % N_BUFFERS || t ? worker : 0.03 * sweep_kit_normal(&rng);
        buffer = t ? buffer : 0.02 * sweep_kit_normal(&rng);
        late = t < 3 ? 0 : 0.015 * sqrt(2) * sweep_kit_normal(&rng);
        m[i] = (struct ks_moment){ .cell = b / (N_SWEEPS * N_WORKERS * N_BUFFERS),
                                   .sweep = b / (N_WORKERS * N_BUFFERS) % N_SWEEPS,
                                   .worker = b / N_BUFFERS,
                                   .buffer = b % N_BUFFERS,
                                   .at_s = 1000.0 * b + at_s[t] };
        m[i].value = sweep + worker + buffer + late + 0.01 * sweep_kit_normal(&rng);
    }
    assert_int_equal(ks_spans(m, sizeof(m) / sizeof(m[0]), 2000, s, NULL), 0);
    assert_int_equal(s[KS_SPAN_0_1S].n_cells, N_CELLS);
    assert_int_equal(s[KS_SPAN_100S].n_cells, 0);
    near(s[KS_SPAN_0_1S].all, 0.01, 0.001);
    near(s[KS_SPAN_1S].all, 0.01, 0.001);
    near(s[KS_SPAN_10S].all, sqrt(0.01 * 0.01 + 0.015 * 0.015), 0.0015);
    near(s[KS_SPAN_BUFFER].all, sqrt(1e-4 + 0.25 * 2.25e-4 * 2 + 4e-4), 0.003);
    near(s[KS_SPAN_WORKER].all, sqrt(1e-4 + 0.25 * 2.25e-4 * 2 + 4e-4 + 9e-4), 0.004);
    near(s[KS_SPAN_SWEEP].all, sqrt(1e-4 + 0.25 * 2.25e-4 * 2 + 29e-4), 0.006);
    assert_true(s[KS_SPAN_SWEEP].n_pairs <= 12 * 2000);
    for (unsigned k = 0; k < KS_N_SPANS; k++)
        assert_true(s[k].lo <= s[k].all && s[k].all <= s[k].hi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regret_by_hand),
        cmocka_unit_test(quantiles_have_intervals),
        cmocka_unit_test(rounds_pay),
        cmocka_unit_test(spans_add_up),
        cmocka_unit_test(intervals_hold_what_they_promise),
        cmocka_unit_test(a_shared_shift_widens_intervals),
        cmocka_unit_test(two_states_widen_intervals_of_medians),
        cmocka_unit_test(chances_come_true_in_held_out_sweeps),
        cmocka_unit_test(contaminated_rounds_count_as_they_vary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
