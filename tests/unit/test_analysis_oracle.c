/* SPDX-License-Identifier: MIT */
/* test_analysis_oracle.c - rounds become values, values spreads, spreads chances that are true */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis_kit.h"
#include "race/student.h"
#include "record/outcome.h"
#include "record/stats.h"
#include "sweep_kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void near(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%.6g is not within %.3g of %.6g", a, within, b);
}

/* ---- sweeps ---- */

static struct ks_record *timed(struct skit *k, uint32_t instance, uint32_t attempt, uint32_t round)
{
    struct ks_record *r = akit_timed(k, 0, instance, 1000 * (attempt + round));

    r->attempt = attempt;
    r->round_index = round;
    r->n_visit = round > 0;
    return r;
}

/* Both passes of a visit of one instance. */
static void put_visit(struct skit *k, struct ks_record *r)
{
    for (r->position = 0; r->position < 2; r->position++)
        skit_put(k, r);
}

static const struct ks_sweep_round *round_of(const struct ks_sweeps *s, uint32_t instance, size_t n)
{
    for (size_t i = 0; i < s->n_rounds; i++)
        if (s->rounds[i].instance == instance && n-- == 0)
            return &s->rounds[i];
    return NULL;
}

static void put_disturbed(struct skit *k, uint32_t instance)
{
    for (uint32_t attempt = 1; attempt < 3; attempt++) {
        struct ks_record *r = timed(k, instance, attempt, 0);

        r->outcome_flags = KS_FL_CONTAMINATED;
        r->disturbance = attempt;
        skit_put(k, r);
    }
    put_visit(k, timed(k, instance, 2, 1));
}

/* Instance 0 crashed once and was measured again, of its visits one was taken back and one was on
 * another device; 1 failed in its second round; 2 was disturbed; 3 was disturbed at both attempts,
 * less at the first, and its visit joined the second. */
static void a_cell_is_its_final_attempt(void **state)
{
    const struct place *p = *state;
    struct ks_sweeps s = { .keeps_samples = true };
    struct ks_err err = { 0 };
    struct ks_record *r;
    struct skit k;

    skit_open(&k, p->dir[0], 1, 1, 4);
    skit_names(&k);
    r = timed(&k, 0, 1, 0);
    r->outcome = KS_O_CRASHED;
    r->n_samples = 0;
    skit_put(&k, r);
    r = timed(&k, 0, 2, 3); /* before the other visits, on another device */
    r->device_id ^= 1;
    put_visit(&k, r);
    skit_put(&k, timed(&k, 0, 2, 0));
    put_visit(&k, timed(&k, 0, 2, 2));
    r = timed(&k, 0, 2, 2);
    r->outcome_flags = KS_FL_VOID;
    put_visit(&k, r);
    put_visit(&k, timed(&k, 0, 2, 1));
    skit_put(&k, timed(&k, 1, 1, 0));
    r = timed(&k, 1, 1, 1);
    r->outcome = KS_O_TIMEOUT;
    r->n_samples = 0;
    skit_put(&k, r);
    r = timed(&k, 2, 1, 0);
    r->outcome_flags = KS_FL_CONTAMINATED;
    skit_put(&k, r);
    put_disturbed(&k, 3);
    skit_close(&k);
    place_gather(p, 1, NULL);
    if (ks_sweeps_load(&s, p->file, &err) < 0)
        fail_msg("%s", err.text);
    ks_sweeps_sort(&s);
    assert_int_equal(s.n_sweeps, 1);
    assert_string_equal(ks_buf_text(&s.sweeps[0].fact[KS_FACT_DEVICE]), "Made Up 9000");
    assert_int_equal(s.n_domains, 1);
    assert_non_null(round_of(&s, 0, 2));
    assert_null(round_of(&s, 0, 3));
    near(exp(round_of(&s, 0, 0)->log_ns[KS_STATISTIC_MEDIAN]), 2000, 0.01);
    near(exp(round_of(&s, 0, 1)->log_ns[KS_STATISTIC_MEDIAN]), 3000, 0.01);
    near(exp(round_of(&s, 0, 1)->log_ns[KS_STATISTIC_MINIMUM]), 2970, 0.01);
    near(round_of(&s, 0, 1)->spent_ns, 9000, 0.1);
    near(s.ns[round_of(&s, 0, 1)->first_sample + 2], 3030, 0.01);
    assert_int_equal(round_of(&s, 1, 0)->outcome, KS_O_TIMEOUT);
    assert_null(round_of(&s, 1, 1));
    assert_false(round_of(&s, 2, 0)->is_clean);
    near(exp(round_of(&s, 3, 0)->log_ns[KS_STATISTIC_MEDIAN]), 1000, 0.01);
    near(exp(round_of(&s, 3, 1)->log_ns[KS_STATISTIC_MEDIAN]), 3000, 0.01);
    assert_int_equal(round_of(&s, 3, 2)->round, 1);
    assert_null(round_of(&s, 3, 3));
    assert_int_equal(ks_sweeps_load(&s, p->file, &err), KS_EEXIST);
    ks_sweeps_release(&s);
}

/* A file of two runs: labels of the host are low quantiles, those of `sim` medians. */
static void labels_are_not_mixed(void **state)
{
    static const char *const backend[] = { "host", "sim" };
    const struct place *p = *state;
    struct ks_sweeps s = { 0 };
    struct ks_err err = { 0 };
    enum ks_statistic statistic = KS_N_STATISTICS;
    struct skit k;

    for (unsigned run = 0; run < 2; run++) {
        struct ks_record *r;

        skit_open(&k, p->dir[run], run + 1, 1, 1);
        k.backend = backend[run];
        skit_names(&k);
        r = skit_record(&k, 0, 0, run ? 3 : 5);
        for (uint32_t i = 0; i < r->n_samples; i++)
            r->sample_ns[i] = 1000 + 10 * (i * 2 % 5);
        skit_put(&k, r);
        skit_close(&k);
    }
    place_gather(p, 2, NULL);
    assert_int_equal(ks_sweeps_load(&s, p->file, &err), 0);
    assert_int_equal(s.n_sweeps, 2);
    near(s.rounds[0].span, log(1030 / 1010.0), 1e-6);
    assert_true(s.rounds[1].span < 0); /* too few samples */
    for (unsigned run = 0; run < 2; run++)
        assert_int_equal(s.sweeps[run].statistic, run ? KS_STATISTIC_MEDIAN : KS_STATISTIC_LOW);
    assert_int_equal(ks_sweeps_statistic(&s, &statistic, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "use the statistic low"));
    assert_null(strstr(err.text, "--")); /* options are known to the commands that have them */
    s.n_sweeps = 1;
    assert_int_equal(ks_sweeps_statistic(&s, &statistic, &err), 0);
    assert_int_equal(statistic, KS_STATISTIC_LOW);
    s.n_sweeps = 2;
    ks_sweeps_release(&s);
}

/* ---- trials ---- */

static void shifts_of_columns_are_found(void **state)
{
    /* rows 0..3, columns 0..2; row 3 was in column 0 only; one wild value */
    static const uint32_t row[] = { 0, 0, 0, 1, 1, 1, 2, 2, 2, 3 };
    static const uint32_t column[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2, 0 };
    static const double value[] = { 1, 1.5, 0.9, 2, 2.5, 1.9, 4, 4.5, 9, 7 };
    double shift[3], scratch[20];

    (void)state;
    ks_polish(value, row, column, 10, 3, shift, scratch);
    near(shift[0], 0, 1e-12);
    near(shift[1], 0.5, 1e-12);
    near(shift[2], -0.1, 1e-12);
}

/* Visits 10 % slower as a whole: instance 1, which round 0 made look good, is not harmed by them.
 */
static void visits_are_compared_within(void **state)
{
    struct sweep_kit k;
    struct ks_sweeps s;
    struct ks_trials t;

    (void)state;
    sweep_kit_open(&k, 1, 1, 1, 3);
    sweep_kit_measure(&k, &s);
    s.rounds = realloc(s.rounds, 7 * sizeof(*s.rounds));
    for (uint32_t i = 3; i < 7; i++) {
        s.rounds[i] = s.rounds[i % 2];
        s.rounds[i].round = i < 5 ? 1 : 2;
        s.rounds[i].instance = i % 2;
    }
    for (uint32_t i = 0; i < 7; i++) {
        static const double ns[] = { 1000, 1010, 1050, 1111, 1100, 1111, 1100 };

        s.rounds[i].log_ns[KS_STATISTIC_MEDIAN] = log(ns[i]);
    }
    s.rounds[6].is_clean = false;
    s.n_rounds = 7;
    ks_sweeps_sort(&s);
    assert_int_equal(ks_trials_make(&s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &t, NULL), 0);
    assert_int_equal(t.n_contests, 1);
    assert_int_equal(t.n_trials, 3);
    assert_int_equal(t.trials[0].n_rounds, 2); /* without the contaminated one */
    assert_int_equal(t.trials[1].n_rounds, 3);
    assert_int_equal(t.trials[2].n_rounds, 1);
    near(t.trials[0].label, (log(1000) + log(1100)) / 2, 1e-12);
    near(t.trials[0].aligned, log(1000), 1e-9);
    near(t.trials[1].aligned, log(1010), 1e-9);
    near(t.trials[2].aligned, log(1050), 1e-9);
    near(t.trials[0].square, 0, 1e-12);
    assert_true(t.trials[0].is_contender && t.trials[1].is_contender && !t.trials[2].is_contender);
    assert_true(t.trials[0].freedom > 0 && t.trials[1].freedom > t.trials[0].freedom);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* ---- scatter ---- */

static void components_of_variance_are_found(void **state)
{
    struct sweep_kit k;
    struct ks_sweeps s;
    struct ks_trials t;
    struct ks_scatter c, one;

    (void)state;
    sweep_kit_open(&k, 2, 4, 40, 20);
    k.noise = (struct sweep_noise){ .round_sd = 0.01, .sweep_sd = 0.006, .common_sd = 0.03 };
    k.n_rounds = 5;
    k.contends = 0.2;
    sweep_kit_trials(&k, &s, &t);
    assert_int_equal(ks_scatter_find(&t, 0, &c, NULL), 0);
    near(sqrt(c.rounds), 0.01, 0.001);
    near(sqrt(c.sweeps), 0.006, 0.0015);
    near(sqrt(c.single), sqrt(0.01 * 0.01 + 0.006 * 0.006), 0.0015);
    assert_true(c.freedom > 20); /* all cells scatter alike */
    assert_true(c.n_rounds > 100 && c.n_sweeps > 100);
    near(ks_scatter_variance(&c, 5, KS_OVER_MEDIAN), c.sweeps + c.rounds * 0.2868, 1e-12);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    k.n_sweeps = 1; /* rounds show how noisy it is between sweeps */
    k.noise.round_sd = 0.02;
    sweep_kit_trials(&k, &s, &t);
    assert_int_equal(ks_scatter_find(&t, 0, &one, NULL), 0);
    near(sqrt(one.rounds), 0.02, 0.003);
    near(one.sweeps, one.rounds * pow(1.6 / 3.0, 2), 1e-12);
    near(one.single, one.rounds + one.sweeps, 1e-12);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    k.n_rounds = 1;
    sweep_kit_trials(&k, &s, &t);
    assert_int_equal(ks_scatter_find(&t, 0, &one, NULL), 0);
    ks_scatter_init(KS_STATISTIC_MEDIAN, &c);
    assert_memory_equal(&one, &c, sizeof(c)); /* nothing repeats: the prior */
    t.statistic = KS_STATISTIC_LOW;           /* which expects low quantiles to vary less */
    assert_int_equal(ks_scatter_find(&t, 0, &one, NULL), 0);
    near(sqrt(one.single / c.single), 0.88, 1e-12);
    near(sqrt(one.sweeps / c.sweeps), 0.88, 1e-12);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

/* Variances that differ from cell to cell: inverse chi-squared with 6 degrees of freedom. */
static void unequal_cells_have_heavy_tails(void **state)
{
    double square[2000], freedom[2000], scale = 0, found = 0;
    uint64_t rng = 3;

    (void)state;
    for (size_t i = 0; i < 2000; i++) {
        double x = 0;

        for (int d = 0; d < 6; d++)
            x += pow(sweep_kit_normal(&rng), 2) / 6;
        square[i] = 0;
        for (int d = 0; d < 4; d++)
            square[i] += 1e-4 / x * pow(sweep_kit_normal(&rng), 2);
        freedom[i] = 4;
    }
    near(ks_scatter_fit(square, freedom, 2000, &scale, &found), 8000, 1e-9);
    near(scale, 1e-4, 1e-5);
    near(found, 6, 1.5);
}

/* ---- chances ---- */

#define N_BINS     4
#define N_PROBLEMS 70

/* Whether chances come true is a question for the plain build; for sanitizers two plants reach all
 * code. */
#ifdef KSWEEP_SANITIZED
#define N_PLANTS 2
#else
#define N_PLANTS (sizeof(plants) / sizeof(plants[0]))
#endif

struct reliability {
    double predicted[N_BINS], seen[N_BINS];
    uint32_t n[N_BINS];
};

static void count(struct reliability *r, double chance, bool is_so)
{
    uint32_t bin = chance < 0.1 ? 0 : chance < 0.35 ? 1 : chance < 0.65 ? 2 : 3;

    r->predicted[bin] += chance;
    r->seen[bin] += is_so;
    r->n[bin]++;
}

/* In every bin what was predicted comes true as often, within a bound and three standard errors. */
static void assert_reliable(const struct reliability *r, double within, const char *what)
{
    for (uint32_t b = 0; b < N_BINS; b++) {
        double n = r->n[b], p = r->predicted[b] / n;
        double slack = within + 3 * sqrt(p * (1 - p) / n);

        if (n >= 10 && fabs(r->seen[b] / n - p) > slack)
            fail_msg("%s, bin %u: %.3f predicted, %.3f seen of %.0f", what, b, p, r->seen[b] / n,
                     n);
    }
}

/* Counts the estimates whose 95 % intervals hold the truth, once what all of a problem share is
 * taken out. */
static uint32_t count_covered(const struct ks_chance *c, size_t n, const double *truth)
{
    double off[64], middle;
    uint32_t covered = 0;

    for (size_t i = 0; i < n; i++)
        off[i] = c[i].estimate - truth[c[i].instance];
    ks_stats_sort(off, n);
    middle = (off[(n - 1) / 2] + off[n / 2]) / 2;
    for (size_t i = 0; i < n; i++)
        covered += fabs(c[i].estimate - truth[c[i].instance] - middle) <=
                   ks_student_quantile(0.025, c[i].freedom) * c[i].sd;
    return covered;
}

/* Counts what one oracle said of planted times; returns how far its expected regret is off. */
static double count_all(const struct sweep_kit *k, const struct ks_oracle *o,
                        struct reliability *best, struct reliability *close, double *covered_out)
{
    double off = 0;

    *covered_out = 0;

    assert_int_equal(o->n_answers, N_PROBLEMS);
    for (size_t i = 0; i < o->n_answers; i++) {
        const struct ks_answer *a = &o->answers[i];
        const struct ks_chance *c = &o->chances[a->first];
        const double *truth = &k->log_ns[a->problem * k->n_instances];
        double least = sweep_kit_least(k, a->problem), sum = 0;

        for (size_t n = 0; n < a->n; n++) {
            sum += c[n].best;
            count(best, c[n].best, truth[c[n].instance] <= least);
            count(close, c[n].near, truth[c[n].instance] <= least + log1p(0.005));
        }
        near(sum, 1, 0.01);
        *covered_out += count_covered(c, a->n, truth) / (double)(a->n * o->n_answers);
        off += (c->regret - (truth[c->instance] - least)) / N_PROBLEMS;
    }
    return off;
}

static const struct planted {
    const char *name;
    uint32_t n_sweeps, n_rounds;
    struct sweep_noise noise;
} plants[] = {
    /* one sweep says nothing of what is between sweeps: as the prior has it, and in the
       prior's proportion to what visits or anchors show */
    { "a sweep", 1, 1, { .round_sd = 0.03, .sweep_sd = 0.016, .common_sd = 0.02, .freedom = 4 } },
    { "a sweep with visits", 1, 4, { .round_sd = 0.01, .sweep_sd = 0.0053, .common_sd = 0.02 } },
    { "a loaded machine",
      1,
      1,
      { .round_sd = 0.08,
        .sweep_sd = 0.043,
        .common_sd = 0.05,
        .drift_sd = 0.02,
        .anchor_sd = 0.067,
        .freedom = 4 } },
    { "two sweeps", 2, 1, { .round_sd = 0.01, .sweep_sd = 0.004, .common_sd = 0.02 } },
    { "rounds", 2, 4, { .round_sd = 0.012, .sweep_sd = 0.003, .common_sd = 0.02 } },
    { "tails, drift",
      4,
      1,
      { .round_sd = 0.01, .common_sd = 0.02, .drift_sd = 0.01, .tail = 0.03, .tail_mean = 0.05 } },
};

/* The truth is planted. Regret is what was expected, too. */
static void check_calibration(const struct planted *p, uint64_t seed)
{
    struct reliability best = { .n = { 0 } }, close = { .n = { 0 } };
    struct sweep_kit k;
    struct ks_sweeps s;
    struct ks_trials t;
    struct ks_oracle o;
    double off, covered;

    sweep_kit_open(&k, seed, p->n_sweeps, N_PROBLEMS, 24);
    k.noise = p->noise;
    k.n_rounds = p->n_rounds;
    k.contends = 0.05;
    sweep_kit_trials(&k, &s, &t);
    assert_int_equal(ks_oracle_make(&t, 1, KS_OVER_MEDIAN, 0.005, &o, NULL), 0);
    off = count_all(&k, &o, &best, &close, &covered);
    if (fabs(covered - 0.955) > 0.03)
        fail_msg("%s: %.3f of the 95 %% intervals hold the truth", p->name, covered);
    assert_reliable(&best, 0.07, p->name);
    assert_reliable(&close, 0.12, p->name);
    if (fabs(off) > (p->n_sweeps > 1 ? 0.0015 : 0.1 * sqrt(o.scatter->single)))
        fail_msg("%s: expected regret is off by %.5f", p->name, off);
    ks_oracle_release(&o);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

static void chances_are_calibrated(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_PLANTS; i++)
        check_calibration(&plants[i], 4 + i);
}

/* Of three instances the one that was dropped after round 0 looks best by one lucky round. */
static void the_label_is_a_contender(void **state)
{
    struct sweep_kit k;
    struct ks_sweeps s;
    struct ks_trials t;
    struct ks_oracle o;

    (void)state;
    sweep_kit_open(&k, 1, 1, 1, 3);
    sweep_kit_measure(&k, &s);
    s.rounds = realloc(s.rounds, 5 * sizeof(*s.rounds));
    for (uint32_t i = 3; i < 5; i++) {
        s.rounds[i] = s.rounds[i - 3];
        s.rounds[i].round = 1;
    }
    for (uint32_t i = 0; i < 5; i++) {
        static const double ns[] = { 1002, 1000, 999, 1000, 1004 };

        s.rounds[i].instance = i % 3;
        s.rounds[i].span = 0.02;
        s.rounds[i].log_ns[KS_STATISTIC_MEDIAN] = log(ns[i]);
    }
    s.n_rounds = 5;
    ks_sweeps_sort(&s);
    assert_int_equal(ks_trials_make(&s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &t, NULL), 0);
    assert_int_equal(ks_oracle_make(&t, 1, KS_OVER_MEDIAN, 0.005, &o, NULL), 0);
    assert_int_equal(o.chances[0].instance, 0);
    assert_int_equal(o.chances[1].instance, 1);
    assert_int_equal(o.chances[2].instance, 2);
    assert_true(o.chances[2].estimate < o.chances[0].estimate);
    assert_true(o.chances[0].best > o.chances[1].best);
    assert_int_equal(o.answers[0].n_near, 2);
    assert_int_equal(o.answers[0].safest, 0);
    assert_true(o.chances[0].half_width > 0.05); /* of a time, by the prior or by two rounds */
    ks_oracle_release(&o);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

static void an_instance_alone_is_the_best(void **state)
{
    struct sweep_kit k;
    struct ks_sweeps s;
    struct ks_trials t;
    struct ks_oracle o;

    (void)state;
    sweep_kit_open(&k, 9, 1, 2, 1);
    sweep_kit_measure(&k, &s);
    s.rounds[1].outcome = KS_O_CRASHED;
    assert_int_equal(ks_trials_make(&s, KS_STATISTIC_LOW, KS_OVER_MINIMUM, &t, NULL), 0);
    assert_int_equal(ks_oracle_make(&t, 1, KS_OVER_MINIMUM, 0.005, &o, NULL), 0);
    assert_int_equal(o.n_answers, 1); /* the other problem has no time */
    near(o.chances[0].best, 1, 1e-9);
    near(o.chances[0].near, 1, 1e-6);
    near(o.chances[0].regret, 0, 0.002);
    ks_oracle_release(&o);
    ks_trials_release(&t);
    ks_sweeps_release(&s);
    sweep_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cell_is_its_final_attempt, place_make, place_remove),
        cmocka_unit_test_setup_teardown(labels_are_not_mixed, place_make, place_remove),
        cmocka_unit_test(shifts_of_columns_are_found),
        cmocka_unit_test(visits_are_compared_within),
        cmocka_unit_test(components_of_variance_are_found),
        cmocka_unit_test(unequal_cells_have_heavy_tails),
        cmocka_unit_test(chances_are_calibrated),
        cmocka_unit_test(the_label_is_a_contender),
        cmocka_unit_test(an_instance_alone_is_the_best),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
