/* SPDX-License-Identifier: MIT */
/* race_sim.c - races with planted or recorded times, beside plain sampling in the same rounds */
#include "tests/bench/race_sim.h"

#include "base/hash.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

/* Chosen, not fitted: of the size of the scatter of medians of 19 samples, 0.8 % between neighbours
 * in time, 2.5 % in a worker, 3.4 % between sweeps (12 ResNet-50 layers x 47 host instances on 2
 * cores). How that splits into components is not measured yet. */
const struct race_noise race_noises[] = {
    { .name = "quiet", .pass_sd = 0.002, .visit_sd = 0.002, .first_sd = 0.005, .common_sd = 0.002 },
    { .name = "typical",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022 },
    { .name = "drift",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022,
      .drift = 0.05 },
    { .name = "tails",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022,
      .tail = 0.05,
      .tail_mean = 0.1 },
    { .name = "throttling",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022,
      .throttle = 0.1 },
    { .name = "uneven",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022,
      .uneven = 0.5 },
    { .name = "contaminated",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022,
      .contaminate = 0.1 },
    { .name = "clocks",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022,
      .throttle = 0.2,
      .has_clock = true },
    { .name = "losses",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022,
      .unclosed = 0.1 },
    { .name = "crowded",
      .pass_sd = 0.008,
      .visit_sd = 0.01,
      .first_sd = 0.025,
      .common_sd = 0.022,
      .max_visit = 12 },
};
const size_t race_n_noises = sizeof(race_noises) / sizeof(race_noises[0]);

static double uniform(uint64_t *rng) /* in (0, 1) */
{
    return ((double)(ks_rng_next(rng) >> 12) + 0.5) / 4503599627370496.0;
}

double race_sim_normal(uint64_t *rng) /* Box & Muller 1958 */
{
    double radius = sqrt(-2 * log(uniform(rng)));

    return radius * cos(2 * acos(-1) * uniform(rng));
}

void race_sim_problem(uint64_t *rng, uint32_t n, struct race_problem *out)
{
    *out = (struct race_problem){ .n = n };
    for (uint32_t i = 0; i < n; i++) {
        double u = i ? uniform(rng) : 0;

        out->log_ns[i] = log(1e5) + u * u;
    }
}

struct sim { /* a race on its way */
    const struct race_problem *p;
    const struct race_noise *noise;
    uint64_t *rng;
    struct ks_race *race;
    double *factor, *visit; /* [n]: an instance's own noise, its state in this round */
    uint32_t *taken;        /* [n]: recorded samples used */
    double spent_ns, first_ns;
    uint32_t n_passes, n_leases;
};

/* Median of the next recorded samples. After the last comes the first: what is measured again says
 * nothing new, and the spread pooled over races shows it. */
static double recorded(struct sim *s, uint32_t i)
{
    double x[16];
    uint32_t n = s->p->per_round;

    for (uint32_t k = 0; k < n; k++)
        x[k] = s->p->samples[(size_t)i * s->p->n_samples + s->taken[i]++ % s->p->n_samples];
    ks_stats_sort(x, n);
    return log(x[n / 2]);
}

static double planted(struct sim *s, uint32_t i, double place, bool is_slow)
{
    const struct race_noise *z = s->noise;
    double x = s->p->log_ns[i] + s->visit[i] + z->drift * place;

    x += z->pass_sd * s->factor[i] * race_sim_normal(s->rng);
    if (z->tail > 0 && uniform(s->rng) < z->tail)
        x -= z->tail_mean * log(uniform(s->rng));
    return is_slow ? x + log(1.1) : x;
}

/* Instances differ in their usual clocks. */
static double clock_of(const struct sim *s, uint32_t i, bool is_slow)
{
    return s->noise->has_clock ? 1500 * (1 + 0.02 * (i % 3)) * (is_slow ? 0.9 : 1) : 0;
}

/* One round: n instances at the places of `order`, whose length is n_places. */
static int measure(struct sim *s, uint32_t round, const uint64_t *order, size_t n_places, size_t n,
                   struct ks_err *err)
{
    const struct race_noise *z = s->noise;
    double common = z->common_sd * race_sim_normal(s->rng);
    double slow_from = uniform(s->rng) < z->throttle ? uniform(s->rng) : 2;
    int rc = 0;

    if (round > 0 && z->unclosed > 0 && uniform(s->rng) < z->unclosed)
        n_places /= 2;
    s->n_leases++;
    for (uint32_t i = 0; i < s->p->n; i++)
        s->visit[i] =
            common + (round ? z->visit_sd : z->first_sd) * s->factor[i] * race_sim_normal(s->rng);
    for (size_t k = 0; k < n_places && rc == 0; k++) {
        uint32_t i = (uint32_t)order[k] - 1;
        double place = (double)k / (double)n_places;
        bool is_slow = place > slow_from;
        struct ks_race_seen seen = { .instance = order[k],
                                     .device_id = 1,
                                     .lease_id = s->n_leases,
                                     .attempt = 1,
                                     .round = round,
                                     .position = (uint32_t)k,
                                     .n_visit = (uint32_t)n,
                                     .outcome = KS_O_OK,
                                     .n_samples = 19,
                                     .clock_mhz = clock_of(s, i, is_slow) };
        bool is_dirty = s->p->is_dirty &&
                        s->p->is_dirty[(size_t)i * s->p->n_samples + s->taken[i] % s->p->n_samples];
        double x = s->p->samples ? recorded(s, i) : planted(s, i, place, is_slow);

        seen.flags = is_dirty ? KS_FL_CONTAMINATED : 0;
        if (uniform(s->rng) < z->contaminate) {
            seen.flags = KS_FL_CONTAMINATED;
            x += log(1.3);
        }
        seen.time_ns = exp(x);
        /* a visit takes as many samples of an instance as round 0 */
        s->spent_ns += exp(s->p->log_ns[i]) * (double)n / (double)n_places;
        rc = ks_race_add(s->race, &seen, err);
    }
    return rc;
}

static int run_rounds(struct sim *s, struct ks_race_spread *pool, uint64_t *order,
                      struct ks_race_verdict *v, struct ks_err *err)
{
    struct ks_race_spread part = { .paired = { .freedom = 0 } };
    int rc;

    for (uint32_t i = 0; i < s->p->n; i++)
        order[i] = i + 1;
    for (uint32_t i = s->p->n; i > 1; i--) { /* round 0 has an order of its own */
        uint32_t k = (uint32_t)ks_rng_below(s->rng, i);
        uint64_t swap = order[k];

        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
    rc = measure(s, 0, order, s->p->n, s->p->n, err);
    s->first_ns = s->spent_ns;
    while (rc == 0) {
        size_t n;

        rc = ks_race_decide(s->race, pool, v, err);
        if (rc < 0)
            break;
        ks_race_spread_sub(pool, &part);
        part = v->spread;
        ks_race_spread_add(pool, &part);
        n = ks_race_wanted(s->race, order, (size_t)s->p->n * s->n_passes);
        if (n == 0)
            break;
        rc = measure(s, v->next_round, order, n, n / s->n_passes, err);
    }
    return rc;
}

/* --- plain sampling */

/* One round of all instances, each at a place of its own; values [n] get one more of n_rounds. */
static void plain_round(struct sim *s, double *values, uint32_t n_rounds, uint32_t round)
{
    const struct race_noise *z = s->noise;
    double slow_from = uniform(s->rng) < z->throttle ? uniform(s->rng) : 2;

    for (uint32_t i = 0; i < s->p->n; i++) {
        double place = uniform(s->rng);

        s->visit[i] = z->first_sd * s->factor[i] * race_sim_normal(s->rng);
        values[(size_t)i * n_rounds + round] = planted(s, i, place, place > slow_from);
    }
}

/* The regret of the smallest median over n_rounds; -1: out of memory. What is common to a round is
 * common to all, and contaminated values were measured again: both are left out. */
static double plain_regret(struct sim *s, uint32_t n_rounds, double best)
{
    double *values = calloc((size_t)s->p->n * n_rounds, sizeof(*values)), least = INFINITY;
    uint32_t winner = 0;

    if (!values)
        return -1;
    for (uint32_t r = 0; r < n_rounds; r++)
        plain_round(s, values, n_rounds, r);
    for (uint32_t i = 0; i < s->p->n; i++) {
        double *x = &values[(size_t)i * n_rounds], middle;

        ks_stats_sort(x, n_rounds);
        middle = (x[(n_rounds - 1) / 2] + x[n_rounds / 2]) / 2;
        winner = middle < least ? i : winner;
        least = fmin(middle, least);
    }
    free(values);
    return expm1(s->p->log_ns[winner] - best);
}

static double of_plain_sampling(const struct sim *s, double over_first, double best)
{
    double rounds = over_first / RACE_SIM_PART;
    uint64_t rng = *s->rng; /* races draw the same numbers without this */
    struct sim own = *s;

    if (s->p->samples)
        return -1;
    own.rng = &rng;
    rounds = floor(rounds) + (uniform(&rng) < rounds - floor(rounds));
    return plain_regret(&own, rounds < 1 ? 1 : (uint32_t)rounds, best);
}

static void judge_result(struct sim *s, const struct ks_race_verdict *v, double margin,
                         struct race_result *out)
{
    double best = INFINITY, label = s->p->log_ns[v->label - 1];
    uint32_t i_best = 0;

    *out = (struct race_result){ .stop = v->stop, .n_rounds = v->next_round };
    for (uint32_t i = 0; i < s->p->n; i++)
        if (s->p->log_ns[i] < best) {
            best = s->p->log_ns[i];
            i_best = i;
        }
    for (size_t i = 0; i < ks_race_n_members(s->race); i++) {
        struct ks_race_member m;

        ks_race_member_at(s->race, i, &m);
        if (m.state != KS_RACE_DROPPED)
            continue;
        out->is_best_dropped |= m.instance == i_best + 1;
        out->is_violated |= label - s->p->log_ns[m.instance - 1] > log1p(margin);
    }
    out->regret = expm1(label - best);
    out->share = s->spent_ns / (10 * s->first_ns);
    out->over_first = s->spent_ns / s->first_ns;
    out->plain_regret = of_plain_sampling(s, out->over_first, best);
}

int race_sim_run(const struct race_problem *p, const struct race_noise *noise,
                 const struct ks_race_config *config, uint64_t *rng, struct ks_race_spread *pool,
                 struct race_result *out, struct ks_err *err)
{
    struct sim s = { .p = p, .noise = noise, .rng = rng, .n_passes = config->passes };
    uint64_t *order = calloc((size_t)p->n * config->passes, sizeof(*order));
    struct ks_race_verdict v;
    struct ks_race_config c = *config;
    int rc = 0;

    c.device_id = 1;
    c.max_visit = noise->max_visit;
    s.factor = calloc(p->n, sizeof(*s.factor));
    s.visit = calloc(p->n, sizeof(*s.visit));
    s.taken = calloc(p->n, sizeof(*s.taken));
    if (!order || !s.factor || !s.visit || !s.taken)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for a race of %u", p->n);
    if (rc == 0)
        rc = ks_race_create(&c, &s.race, err);
    for (uint32_t i = 0; i < p->n && rc == 0; i++)
        s.factor[i] = exp(noise->uneven * race_sim_normal(rng));
    if (rc == 0)
        rc = run_rounds(&s, pool, order, &v, err);
    if (rc == 0)
        judge_result(&s, &v, c.margin, out);
    ks_race_destroy(s.race);
    free(s.factor);
    free(s.visit);
    free(s.taken);
    free(order);
    return rc;
}
