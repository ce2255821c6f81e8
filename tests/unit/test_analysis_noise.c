/* SPDX-License-Identifier: MIT */
/* test_analysis_noise.c - what compare calls a change when the noise is not what it would like */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/compare.h"
#include "base/hash.h"
#include "sanitized.h"
#include "sweep_kit.h"

#include <math.h>

#define N_PROBLEMS  40u
#define N_INSTANCES 20u
#define N_SEEDS     3u
#define RATE        0.05

/* As between two sweeps of an H100 (docs/measured/h100/repeat.txt). */
#define EVEN .round_sd = 0.004, .sweep_sd = 0.002, .common_sd = 0.002, .drift_sd = 0.001

static const struct scene {
    const char *name;
    uint32_t n[2]; /* sweeps of each side */
    uint32_t n_rounds;
    struct sweep_noise noise;
    double loud;
    bool is_late_later;
    uint32_t stretch_every, stretch_length, stretch_sweep; /* by 20 % */
    double level;                                          /* of all of side B */
    double found; /* least share of the raced cells that are 5 % slower to be found */
} scenes[] = {
    { .name = "even noise, 1 against 1",
      .n = { 1, 1 },
      .n_rounds = 3,
      .noise = { EVEN },
      .found = 0.8 },
    { .name = "even noise, 2 against 2",
      .n = { 2, 2 },
      .n_rounds = 3,
      .noise = { EVEN },
      .found = 0.8 },
    { .name = "problems share noise, 1 against 1",
      .n = { 1, 1 },
      .n_rounds = 3,
      .noise = { EVEN, .shared_sd = 0.005 },
      .found = 0.8 },
    { .name = "B four times as loud, 1 against 1",
      .n = { 1, 1 },
      .n_rounds = 3,
      .noise = { EVEN },
      .loud = 4 },
    { .name = "B four times as loud, 2 against 2",
      .n = { 2, 2 },
      .n_rounds = 3,
      .noise = { EVEN },
      .loud = 4 },
    { .name = "B four times as loud, 1 against 3",
      .n = { 1, 3 },
      .n_rounds = 3,
      .noise = { EVEN },
      .loud = 4 },
    { .name = "values of B are late, 1 against 1",
      .n = { 1, 1 },
      .n_rounds = 3,
      .noise = { EVEN, .tail = 0.03, .tail_mean = 0.1 },
      .is_late_later = true },
    { .name = "values of B are late, 2 against 2",
      .n = { 2, 2 },
      .n_rounds = 3,
      .noise = { EVEN, .tail = 0.03, .tail_mean = 0.1 },
      .is_late_later = true },
    { .name = "sides that agree too well, 2 against 2",
      .n = { 2, 2 },
      .n_rounds = 3,
      .noise = { EVEN, .side_sd = 0.02 } },
    { .name = "sides that agree too well, 3 against 3",
      .n = { 3, 3 },
      .n_rounds = 1,
      .noise = { EVEN, .side_sd = 0.02 } },
    { .name = "heavy tails, 1 against 1",
      .n = { 1, 1 },
      .n_rounds = 3,
      .noise = { EVEN, .freedom = 3, .tail = 0.1, .tail_mean = 0.1 } },
    { .name = "heavy tails, 2 against 2",
      .n = { 2, 2 },
      .n_rounds = 3,
      .noise = { EVEN, .freedom = 3, .tail = 0.1, .tail_mean = 0.1 } },
    { .name = "B disturbed during three problems, 1 against 1",
      .n = { 1, 1 },
      .n_rounds = 3,
      .noise = { EVEN },
      .stretch_every = 20,
      .stretch_length = 3,
      .stretch_sweep = 1 },
    { .name = "B disturbed during three problems, 2 against 2",
      .n = { 2, 2 },
      .n_rounds = 3,
      .noise = { EVEN },
      .stretch_every = 20,
      .stretch_length = 3,
      .stretch_sweep = 3 },
    { .name = "B disturbed during three problems, 3 against 1",
      .n = { 3, 1 },
      .n_rounds = 3,
      .noise = { EVEN },
      .stretch_every = 20,
      .stretch_length = 3,
      .stretch_sweep = 3 },
    { .name = "all of B slower by half the margin, 1 against 1",
      .n = { 1, 1 },
      .n_rounds = 3,
      .noise = { EVEN },
      .level = 0.005,
      .found = 0.8 },
};
#define N_SCENES (sizeof(scenes) / sizeof(scenes[0]))

struct count {
    size_t cells, called, wrong, raced, raced_found;
};

static void open_scene(struct sweep_kit *k, const struct scene *s, uint64_t seed)
{
    sweep_kit_open(k, seed, s->n[0] + s->n[1], N_PROBLEMS, N_INSTANCES);
    k->n_rounds = s->n_rounds;
    k->contends = 0.1;
    k->noise = s->noise;
    k->later_from = s->n[0];
    k->loud = s->loud;
    k->is_late_later = s->is_late_later;
    k->stretch = 0.2;
    k->stretch_every = s->stretch_every;
    k->stretch_length = s->stretch_length;
    k->stretch_sweep = s->stretch_sweep;
}

static void compare(struct sweep_kit *k, uint32_t n_a, struct ks_comparison *c)
{
    struct ks_sweeps s;
    struct ks_trials t;
    struct ks_err err = { 0 };

    sweep_kit_trials(k, &s, &t);
    if (ks_compare_make(&s, &t, n_a, c, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(ks_compare_decide(c, log1p(0.01), RATE, NULL), 0);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
}

/* by: of a tenth of the instances, a log. */
static void run_scene(const struct scene *scene, uint64_t seed, double by, struct count *n)
{
    struct ks_comparison c;
    struct sweep_kit k;

    open_scene(&k, scene, seed);
    for (uint32_t i = 0; i < N_PROBLEMS * N_INSTANCES; i++)
        k.later[i] = scene->level + (sweep_kit_uniform(&k.rng) < 0.1 ? by : 0);
    compare(&k, scene->n[0], &c);
    for (size_t i = 0; i < c.n_pairs; i++) {
        const struct ks_pair *p = &c.pairs[i];
        bool is_planted = by > 0 && k.later[p->problem * N_INSTANCES + p->instance] > scene->level;
        bool is_called = p->change == KS_SLOWER || p->change == KS_FASTER;

        n->cells++;
        n->called += is_called;
        n->wrong += is_called && !(is_planted && p->change == KS_SLOWER);
        n->raced += is_planted && p->n_rounds > 1;
        n->raced_found += is_planted && p->n_rounds > 1 && p->change == KS_SLOWER;
    }
    ks_compare_release(&c);
    sweep_kit_close(&k);
}

static const char rates[] = "rates are for the release tree; the other tests reach the same code";

static void nothing_changed(void **state)
{
    (void)state;
    skip_if_sanitized(rates);
    for (size_t i = 0; i < N_SCENES; i++) {
        struct count n = { 0 };

        for (uint64_t seed = 1; seed <= N_SEEDS; seed++)
            run_scene(&scenes[i], 100 * seed + i, 0, &n);
        if (100 * n.called > n.cells)
            fail_msg("%s: %zu of %zu cells called", scenes[i].name, n.called, n.cells);
    }
}

/* Slowdowns of 5, 10 and 40 %: of what is called 5 % is false at most. */
static void false_discoveries_are_few(void **state)
{
    static const double by[] = { 0.05, 0.1, 0.4 };

    (void)state;
    skip_if_sanitized(rates);
    for (size_t i = 0; i < N_SCENES; i++) {
        struct count all = { 0 };

        for (size_t b = 0; b < sizeof(by) / sizeof(by[0]); b++) {
            struct count n = { 0 };

            for (uint64_t seed = 1; seed <= N_SEEDS; seed++)
                run_scene(&scenes[i], 1000 * seed + i, log1p(by[b]), &n);
            assert_true(n.raced > 20 || scenes[i].n_rounds == 1);
            if (b == 0 && (double)n.raced_found < scenes[i].found * (double)n.raced)
                fail_msg("%s: %zu of %zu raced cells found", scenes[i].name, n.raced_found,
                         n.raced);
            all.called += n.called;
            all.wrong += n.wrong;
        }
        if ((double)all.wrong > RATE * (double)all.called + 1)
            fail_msg("%s: %zu of %zu calls are false", scenes[i].name, all.wrong, all.called);
    }
}

/* All instances of one problem are 20 % slower. One sweep a side cannot tell that from a machine
 * that was disturbed meanwhile; several can. */
static void a_problem_that_changes_as_a_whole(void **state)
{
    static const struct scene of[] = {
        { .n = { 1, 1 }, .n_rounds = 1, .noise = { EVEN } },
        { .n = { 3, 3 }, .n_rounds = 1, .noise = { EVEN } },
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ks_comparison c;
        struct sweep_kit k;

        open_scene(&k, &of[i], 5);
        for (uint32_t n = 0; n < N_INSTANCES; n++)
            k.later[7 * N_INSTANCES + n] = log(1.2);
        compare(&k, of[i].n[0], &c);
        assert_int_equal(c.n_change[KS_FASTER], 0);
        assert_int_equal(c.n_change[KS_SLOWER], i == 0 ? 0 : N_INSTANCES);
        assert_int_equal(c.n_together, i == 0 ? N_INSTANCES : 0);
        for (size_t p = 0; p < c.n_pairs; p++)
            if (c.pairs[p].problem == 7)
                assert_true(c.pairs[p].change != KS_SAME);
        ks_compare_release(&c);
        sweep_kit_close(&k);
    }
}

/* Most cells of a problem became faster; those that did not are not slower for that. */
static void the_rest_of_a_faster_problem_is_not_slower(void **state)
{
    static const struct scene s = { .n = { 1, 1 }, .n_rounds = 1, .noise = { EVEN } };
    struct ks_comparison c;
    struct sweep_kit k;

    (void)state;
    open_scene(&k, &s, 6);
    for (uint32_t n = 0; n < N_INSTANCES - 4; n++)
        k.later[9 * N_INSTANCES + n] = -log(1.3);
    compare(&k, 1, &c);
    assert_int_equal(c.n_change[KS_SLOWER], 0);
    ks_compare_release(&c);
    sweep_kit_close(&k);
}

/* Where tails are heavy, what is called in one direction counts as noise in the other. */
static void heavy_tails_are_judged_by_the_other_direction(void **state)
{
    enum { N = 400, CHANGED = 40 };
    static struct ks_pair pair[N];
    struct ks_comparison c = { .pairs = pair, .n_pairs = N };

    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        double d = i < CHANGED ? 0.2 : i < CHANGED + 3 ? -0.2 : i == N - 1 ? -0.5 : 0;

        pair[i] = (struct ks_pair){
            .n_sweeps = { 1, 1 }, .n_rounds = 1, .difference = d, .sd = 0.01, .freedom = 10
        };
    }
    assert_int_equal(ks_compare_decide(&c, 0.01, RATE, NULL), 0);
    assert_int_equal(c.n_change[KS_SLOWER], CHANGED);
    assert_int_equal(c.n_change[KS_FASTER], 4);
    c.is_heavy[0] = true; /* (1 + 4) / 40 */
    assert_int_equal(ks_compare_decide(&c, 0.01, RATE, NULL), 0);
    assert_int_equal(c.n_change[KS_SLOWER] + c.n_change[KS_FASTER], 0);
    c.is_heavy[0] = false;
    c.has_few_steps = true;
    assert_int_equal(ks_compare_decide(&c, 0.01, RATE, NULL), 0);
    assert_int_equal(c.n_change[KS_SLOWER] + c.n_change[KS_FASTER], 0);
    for (uint32_t i = CHANGED; i < N; i++) /* (1 + 0) / 40 */
        pair[i].difference = 0;
    assert_int_equal(ks_compare_decide(&c, 0.01, RATE, NULL), 0);
    assert_int_equal(c.n_change[KS_SLOWER], CHANGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changed),
        cmocka_unit_test(false_discoveries_are_few),
        cmocka_unit_test(a_problem_that_changes_as_a_whole),
        cmocka_unit_test(the_rest_of_a_faster_problem_is_not_slower),
        cmocka_unit_test(heavy_tails_are_judged_by_the_other_direction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
