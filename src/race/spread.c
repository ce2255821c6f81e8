/* SPDX-License-Identifier: MIT */
/* spread.c - standard deviations between rounds, from exact integer sums */
#include "race/spread.h"

#include <assert.h>
#include <math.h>

#define UNIT    1e-12
#define OVERLAP (2.0 / 3) /* of successive differences, see spread.h */

static void sum_add(struct ks_race_sum *a, const struct ks_race_sum *b)
{
    a->squares += b->squares;
    a->freedom += b->freedom;
}

static void sum_sub(struct ks_race_sum *a, const struct ks_race_sum *b)
{
    assert(a->squares >= b->squares && a->freedom >= b->freedom);
    a->squares -= b->squares;
    a->freedom -= b->freedom;
}

void ks_race_spread_add(struct ks_race_spread *pool, const struct ks_race_spread *x)
{
    sum_add(&pool->paired, &x->paired);
    sum_add(&pool->first, &x->first);
    sum_add(&pool->level, &x->level);
}

void ks_race_spread_sub(struct ks_race_spread *pool, const struct ks_race_spread *x)
{
    sum_sub(&pool->paired, &x->paired);
    sum_sub(&pool->first, &x->first);
    sum_sub(&pool->level, &x->level);
}

/* Posterior scale of a variance with a scaled inverse chi-squared prior (Gelman et al. 2013, 2.6):
 * the prior's variance counts as prior->freedom observations. */
static struct ks_race_sd pooled(const struct ks_race_sum *s, double overlap, double prior_variance,
                                const struct ks_race_prior *prior)
{
    double n = (double)s->freedom;
    double mean = s->freedom ? (double)s->squares * UNIT / n : 0;
    struct ks_race_sd out;

    out.freedom = prior->freedom + n * overlap;
    out.sd = sqrt((prior->freedom * prior_variance + n * overlap * mean) / out.freedom);
    if (out.freedom > prior->max_freedom)
        out.freedom = prior->max_freedom;
    return out;
}

struct ks_race_sd ks_race_sd_paired(const struct ks_race_spread *pool,
                                    const struct ks_race_prior *prior)
{
    return pooled(&pool->paired, OVERLAP, prior->paired_sd * prior->paired_sd, prior);
}

/* `first` holds the variance of round 0 plus that of a visit; round 0 is at least as noisy. */
struct ks_race_sd ks_race_sd_first(const struct ks_race_spread *pool,
                                   const struct ks_race_prior *prior)
{
    double visit = ks_race_sd_paired(pool, prior).sd;
    double before = prior->first_sd * prior->first_sd + prior->paired_sd * prior->paired_sd;
    struct ks_race_sd out = pooled(&pool->first, 1, before, prior);
    double own = out.sd * out.sd - visit * visit;

    out.sd = sqrt(own > visit * visit ? own : visit * visit);
    return out;
}

struct ks_race_sd ks_race_sd_level(const struct ks_race_spread *pool,
                                   const struct ks_race_prior *prior)
{
    return pooled(&pool->level, OVERLAP, prior->level_sd * prior->level_sd, prior);
}
