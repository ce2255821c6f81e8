/* SPDX-License-Identifier: MIT */
/* sweep_kit.c - sweeps with planted times and noise, in memory */
#include "sweep_kit.h"

#include "base/hash.h"
#include "record/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

double sweep_kit_uniform(uint64_t *rng) /* in (0, 1) */
{
    return ((double)(ks_rng_next(rng) >> 12) + 0.5) / 4503599627370496.0;
}

double sweep_kit_normal(uint64_t *rng) /* Box & Muller 1958 */
{
    double radius = sqrt(-2 * log(sweep_kit_uniform(rng)));

    return radius * cos(2 * acos(-1) * sweep_kit_uniform(rng));
}

void sweep_kit_open(struct sweep_kit *k, uint64_t seed, uint32_t n_sweeps, uint32_t n_problems,
                    uint32_t n_instances)
{
    size_t n = (size_t)n_problems * n_instances;

    *k = (struct sweep_kit){ .rng = seed,
                             .seed = seed,
                             .n_sweeps = n_sweeps,
                             .n_problems = n_problems,
                             .n_instances = n_instances,
                             .n_rounds = 1,
                             .later_from = n_sweeps };
    k->log_ns = calloc(n, sizeof(double));
    k->later = calloc(n, sizeof(double));
    assert_true(k->log_ns && k->later);
    for (size_t i = 0; i < n; i++) {
        double u =
            i % n_instances == i / n_instances % n_instances ? 0 : sweep_kit_uniform(&k->rng);

        k->log_ns[i] = log(1e5) + u * u;
    }
}

void sweep_kit_close(struct sweep_kit *k)
{
    free(k->log_ns);
    free(k->later);
}

double sweep_kit_least(const struct sweep_kit *k, uint32_t problem)
{
    double least = INFINITY;

    for (uint32_t i = 0; i < k->n_instances; i++)
        least = fmin(least, k->log_ns[problem * k->n_instances + i]);
    return least;
}

/* By which the cell's noise is larger than that of a typical one. */
static double factor(const struct sweep_kit *k, uint32_t problem, uint32_t instance)
{
    static const double class_times[KS_LABEL_CLASSES] = { 1, 1.75, 2.35 };
    uint64_t rng = ks_mix64((uint64_t)problem << 32 | instance);
    double sum = 0, times = 1;

    if (k->noise.is_classed)
        times = class_times[ks_label_class(k->log_ns[problem * k->n_instances + instance] -
                                           sweep_kit_least(k, problem))];

    for (uint32_t i = 0; i < k->noise.freedom; i++)
        sum += pow(sweep_kit_normal(&rng), 2);
    return k->noise.freedom ? times * sqrt(k->noise.freedom / sum) : times;
}

/* Of an instance on the side of a sweep; the same in all its sweeps. */
static double side_shift(const struct sweep_kit *k, uint32_t sweep, uint32_t problem,
                         uint32_t instance)
{
    uint64_t side = sweep >= k->later_from, rng;

    if (k->noise.side_sd <= 0)
        return 0;
    rng = ks_mix64(k->seed ^ ks_mix64(side << 62 | (uint64_t)problem << 31 | instance));
    return k->noise.side_sd * sweep_kit_normal(&rng);
}

static double state_of(struct sweep_kit *k)
{
    if (k->noise.state <= 0)
        return 0;
    return sweep_kit_uniform(&k->rng) < 0.5 ? k->noise.state : -k->noise.state;
}

static double stretch_of(const struct sweep_kit *k, uint32_t sweep, uint32_t problem,
                         uint32_t round)
{
    bool is_hit = k->stretch_every > 0 && sweep == k->stretch_sweep && round == 0 &&
                  problem % k->stretch_every < k->stretch_length;

    return is_hit ? k->stretch : 0;
}

static double loudness(const struct sweep_kit *k, uint32_t sweep)
{
    return k->loud > 0 && sweep >= k->later_from ? k->loud : 1;
}

static double measured(struct sweep_kit *k, double truth, double times, uint32_t sweep)
{
    double x = truth + times * k->noise.round_sd * sweep_kit_normal(&k->rng);
    bool can_be_late = !k->is_late_later || sweep >= k->later_from;

    if (can_be_late && k->noise.tail > 0 && sweep_kit_uniform(&k->rng) < k->noise.tail)
        x -= k->noise.tail_mean * log(sweep_kit_uniform(&k->rng));
    return x;
}

static void put_round(struct sweep_kit *k, struct ks_sweeps *s, uint32_t sweep, uint32_t problem,
                      uint32_t instance, uint32_t round, double log_ns)
{
    struct ks_sweep_round *r = &s->rounds[s->n_rounds++];

    *r = (struct ks_sweep_round){ .sweep = sweep,
                                  .problem = problem,
                                  .instance = instance,
                                  .round = round,
                                  .outcome = KS_O_OK,
                                  .n_samples = 19,
                                  .calls = 1,
                                  .is_clean = true,
                                  .block_id = 1 + problem,
                                  .anchor_shift = k->anchor_shift,
                                  .span = k->noise.span,
                                  .spent_ns = 19 * exp(log_ns),
                                  .first_sample = s->n_ns };
    for (uint32_t i = 0; i < 19; i++)
        s->ns[s->n_ns++] = (float)exp(log_ns + 0.001 * (double)i);
    for (unsigned i = 0; i < KS_N_STATISTICS; i++)
        r->log_ns[i] = log_ns;
}

static void measure_problem(struct sweep_kit *k, struct ks_sweeps *s, uint32_t sweep,
                            uint32_t problem, double level)
{
    const double *truth = &k->log_ns[problem * k->n_instances];
    const double *later = &k->later[problem * k->n_instances];
    double reach = sweep_kit_least(k, problem) + log1p(k->contends);
    double *own = calloc(k->n_instances, sizeof(*own));
    double shared = k->noise.shared_sd > 0 ? k->noise.shared_sd * sweep_kit_normal(&k->rng) : 0;

    assert_non_null(own);
    k->anchor_shift =
        k->noise.anchor_sd > 0 ? k->noise.anchor_sd * sqrt(2) * sweep_kit_normal(&k->rng) : 0;
    for (uint32_t i = 0; i < k->n_instances; i++)
        own[i] = loudness(k, sweep) * factor(k, problem, i) * k->noise.sweep_sd *
                     sweep_kit_normal(&k->rng) +
                 state_of(k) + side_shift(k, sweep, problem, i) +
                 (sweep >= k->later_from ? later[i] : 0);
    for (uint32_t r = 0; r < k->n_rounds; r++) {
        double common = level + shared + stretch_of(k, sweep, problem, r) +
                        k->noise.common_sd * sweep_kit_normal(&k->rng);

        for (uint32_t i = 0; i < k->n_instances; i++)
            if (r == 0 || truth[i] <= reach)
                put_round(k, s, sweep, problem, i, r,
                          measured(k, truth[i] + own[i] + common,
                                   loudness(k, sweep) * factor(k, problem, i), sweep));
    }
    free(own);
}

void sweep_kit_measure(struct sweep_kit *k, struct ks_sweeps *s)
{
    size_t n = (size_t)k->n_problems * k->n_instances;

    *s = (struct ks_sweeps){ .n_sweeps = k->n_sweeps,
                             .n_problems = k->n_problems,
                             .n_instances = k->n_instances,
                             .n_domains = 1 };
    s->sweeps = calloc(k->n_sweeps, sizeof(*s->sweeps));
    s->problems = calloc(k->n_problems, sizeof(*s->problems));
    s->instances = calloc(k->n_instances, sizeof(*s->instances));
    s->domains = calloc(1, sizeof(*s->domains));
    s->rounds = calloc(n * k->n_sweeps * k->n_rounds, sizeof(*s->rounds));
    s->ns = calloc(19 * n * k->n_sweeps * k->n_rounds, sizeof(*s->ns));
    assert_true(s->ns && s->sweeps && s->problems && s->instances && s->domains && s->rounds);
    for (uint32_t p = 0; p < k->n_problems; p++)
        s->problems[p].n_uses = 1;
    for (uint32_t sweep = 0; sweep < k->n_sweeps; sweep++) {
        double level = 0;

        for (uint32_t p = 0; p < k->n_problems; p++) {
            level = 0.9 * level + k->noise.drift_sd * sweep_kit_normal(&k->rng);
            measure_problem(k, s, sweep, p, level);
        }
    }
    ks_sweeps_sort(s);
}

void sweep_kit_trials(struct sweep_kit *k, struct ks_sweeps *s, struct ks_trials *t)
{
    sweep_kit_measure(k, s);
    assert_int_equal(ks_trials_make(s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, t, NULL), 0);
}
