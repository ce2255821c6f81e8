/* SPDX-License-Identifier: MIT */
/* test_analysis_regret.c - regret of labels: always known, as large as the truth, and its memory */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/held_out.h"
#include "record/outcome.h"
#include "sanitized.h"
#include "sweep_kit.h"

#include <math.h>
#include <stdlib.h>

/* Linked in the place of calloc (analysis/CMakeLists.txt). */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static size_t n_reserved; /* bytes, of all calls */

void *__wrap_calloc(size_t n, size_t size)
{
    n_reserved += n * size;
    return __real_calloc(n, size);
}

static void near(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%.6g is not within %.3g of %.6g", a, within, b);
}

/* Of the instance that is the fastest in this sweep. */
static double true_regret(const struct sweep_kit *k, const struct ks_sweeps *s, uint32_t sweep,
                          uint32_t problem)
{
    const struct ks_sweep_round *best = NULL;

    for (size_t i = 0; i < s->n_rounds; i++) {
        const struct ks_sweep_round *r = &s->rounds[i];

        if (r->sweep == sweep && r->problem == problem && (!best || r->log_ns[0] < best->log_ns[0]))
            best = r;
    }
    return k->log_ns[problem * k->n_instances + best->instance] - sweep_kit_least(k, problem);
}

/* The labels of 4 sweeps and their true regret, which no sweep knows, lie between the bounds that
 * the others give. */
static void regret_lies_between_its_bounds(void **state)
{
    struct ks_calibration c;
    struct ks_sweeps s;
    struct sweep_kit k;
    double truth = 0;

    (void)state;
    skip_if_sanitized("the statistic takes long and does not depend on sanitizers");
    sweep_kit_open(&k, 11, 4, 150, 12);
    k.noise = (struct sweep_noise){
        .round_sd = 0.03, .sweep_sd = 0.016, .common_sd = 0.05, .freedom = 4
    };
    sweep_kit_measure(&k, &s);
    for (uint32_t sweep = 0; sweep < 4; sweep++)
        for (uint32_t p = 0; p < 150; p++)
            truth += true_regret(&k, &s, sweep, p) / (4 * 150);
    assert_int_equal(ks_held_calibration(&s, 0, KS_OVER_MEDIAN, 1, 0.005, &c, NULL), 0);
    assert_int_equal(c.n_labels, 4 * 150);
    assert_int_equal(c.n_not_held, 0);
    assert_true(truth > 0.004);
    assert_true(c.regret[KS_HELD_LEAST].mean_lo < truth && truth < c.regret[KS_HELD_MOST].mean_hi);
    assert_true(c.regret[KS_HELD_LEAST].mean < 0.95 * truth);
    assert_true(c.regret[KS_HELD_MOST].mean > 1.1 * truth);
    near(c.regret[KS_HELD_EXPECTED].mean, truth, 0.3 * truth); /* 150 problems */
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

static void an_instance_that_lacks_a_sweep_says_nothing(void **state)
{
    struct ks_calibration c;
    struct ks_sweeps s;
    struct sweep_kit k;

    (void)state;
    sweep_kit_open(&k, 11, 4, 10, 12);
    k.noise = (struct sweep_noise){ .round_sd = 0.03, .sweep_sd = 0.016, .common_sd = 0.05 };
    sweep_kit_measure(&k, &s);
    for (size_t i = 0; i < s.n_rounds; i++) { /* each instance of problem 0 in one of the sweeps */
        struct ks_sweep_round *r = &s.rounds[i];

        if (r->problem == 0 && r->sweep == r->instance % 4)
            r->outcome = KS_O_CRASHED;
    }
    assert_int_equal(ks_held_calibration(&s, 0, KS_OVER_MEDIAN, 1, 0.005, &c, NULL), 0);
    assert_int_equal(c.n_labels, 4 * 9);
    assert_int_equal(c.n_not_held, 4);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* An instance that was dropped after round 0 looks 63 % faster than the label; all others are known
 * to 1 %. */
static void a_label_far_from_the_fastest_has_a_regret(void **state)
{
    struct sweep_kit k;
    struct ks_sweeps s;
    struct ks_trials t;
    struct ks_oracle o;

    (void)state;
    sweep_kit_open(&k, 12, 1, 20, 6);
    k.noise = (struct sweep_noise){ .round_sd = 0.01, .common_sd = 0.02 };
    k.n_rounds = 4;
    k.contends = 0.05;
    sweep_kit_measure(&k, &s);
    for (size_t i = 0; i < s.n_rounds; i++) {
        struct ks_sweep_round *r = &s.rounds[i];

        if (r->problem == 3 && k.log_ns[3 * 6 + r->instance] > sweep_kit_least(&k, 3) + 0.1) {
            r->log_ns[KS_STATISTIC_MEDIAN] = sweep_kit_least(&k, 3) - 1;
            break;
        }
    }
    assert_int_equal(ks_trials_make(&s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &t, NULL), 0);
    assert_int_equal(ks_oracle_make(&t, 1, KS_OVER_MEDIAN, 0.005, &o, NULL), 0);
    assert_int_equal(o.n_answers, 20);
    for (size_t i = 0; i < o.n_chances; i++)
        assert_true(o.chances[i].regret >= 0 && o.chances[i].regret < 4);
    near(o.chances[o.answers[3].first].regret, 1, 0.1);
    ks_oracle_release(&o);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* The lowest estimate is known to 10 % only, the next to 0.5 %: it may well be the best, but that
 * is not certain. By the normal distribution 69 %; gaps weigh against it. */
static void an_uncertain_time_is_not_sure_to_be_the_best(void **state)
{
    struct ks_answer a[3] = { { .first = 0, .n = 3 },
                              { .first = 3, .n = 3 },
                              { .first = 6, .n = 3 } };
    struct ks_chance c[9];

    (void)state;
    for (uint32_t i = 0; i < 9; i++)
        c[i] = (struct ks_chance){
            .instance = i % 3, .estimate = 0.02 * (i % 3), .sd = 0.005, .freedom = 30
        };
    c[0].estimate = -0.03;
    c[0].sd = 0.1;
    assert_int_equal(ks_oracle_weigh(c, a, 3, 0.005, NULL), 0);
    near(c[0].best + c[1].best + c[2].best, 1, 0.01);
    assert_true(c[0].best > 0.2 && c[0].best < 0.6);
    assert_true(c[1].best > 0.4 && c[1].regret > 0 && c[1].regret < 0.2);
    assert_true(c[3].best > 0.9);
}

/* Of 12 sweeps of 20,000 cells; a million are fifty times as many. */
static void memory_grows_with_cells_and_rounds_only(void **state)
{
    struct ks_label_error e;
    struct ks_scatter c;
    struct sweep_kit k;
    struct ks_sweeps s;
    struct ks_trials t;
    size_t before;

    (void)state;
    skip_if_sanitized("the sum of reservations does not depend on sanitizers");
    sweep_kit_open(&k, 13, 12, 100, 200);
    k.noise = (struct sweep_noise){ .round_sd = 0.02, .common_sd = 0.02, .span = 0.01 };
    sweep_kit_measure(&k, &s);
    before = n_reserved;
    assert_int_equal(ks_trials_make(&s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &t, NULL), 0);
    assert_int_equal(ks_scatter_find(&t, 0, &c, NULL), 0);
    assert_int_equal(ks_label_error_find(&t, 0, KS_OVER_MEDIAN, &c, &e, NULL), 0);
    print_message("# %.0f bytes a round\n", (double)(n_reserved - before) / (double)s.n_rounds);
    assert_true(n_reserved - before < s.n_rounds * (sizeof(*t.trials) + 100));
    assert_int_equal(t.n_cells, 100 * 200);
    assert_int_equal(t.most, 12 * 200);
    assert_in_range(e.n_sweeps, 1u << 18, 1u << 20); /* enough of them */
    near(sqrt(e.round[KS_LABEL_NEAR]), hypot(0.02, 0.02), 0.004);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regret_lies_between_its_bounds),
        cmocka_unit_test(an_instance_that_lacks_a_sweep_says_nothing),
        cmocka_unit_test(a_label_far_from_the_fastest_has_a_regret),
        cmocka_unit_test(an_uncertain_time_is_not_sure_to_be_the_best),
        cmocka_unit_test(memory_grows_with_cells_and_rounds_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
