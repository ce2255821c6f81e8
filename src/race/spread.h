/* SPDX-License-Identifier: MIT */
/* spread.h - how much a kernel time changes between rounds, pooled over the races of one device
 * and class of cells. The caller chooses the classes and keeps one pool for each pair.
 *
 * The sums are fixed-point integers. Adding races is therefore exact and commutative: a pool that
 * is rebuilt from the same records, in any order, equals the original bit for bit.
 *
 * Of two successive values of an instance the difference of logs is y. Over the instances that two
 * successive rounds share,
 *   paired  sum (y - mean y)^2 / 2, two visits: variance of one value without what all rivals share
 *   first   sum (y - mean y)^2, round 0 and the first visit: the same for round 0 plus `paired`
 *   level   mean y^2 / 2: variance of one value, with what all rivals share
 * Source: von Neumann 1941, ratio of the mean square successive difference. Successive differences
 * overlap; their degrees of freedom count 2/3.
 *
 * The instances of a first visit were chosen by their times in round 0, but by a bound so wide that
 * it hides next to nothing of the spread (test_race_sim: the_spread_of_round_0_is_found). */
#ifndef KS_RACE_SPREAD_H
#define KS_RACE_SPREAD_H

#include <stdint.h>

/* Rounds of one sweep are minutes apart and share what differs between sweeps beyond that: its
 * variance as a multiple of that between rounds. Source: four sweeps with visits on each of two
 * days, same cells with three rounds (docs/measured/repeat.txt): 0.2 and 0.5 by the scatter of
 * their labels, and 0.25 and below by that of their first rounds. */
#define KS_SPREAD_SWEEPS 0.28

struct ks_race_sum {
    uint64_t squares; /* in 1e-12 of a squared log */
    uint64_t freedom; /* degrees of freedom */
};
struct ks_race_spread {
    struct ks_race_sum paired, first, level;
};

/* pool += x; pool -= x. Subtract a race's old part before adding its new one. A
 * race's part is at most 1000 (squared logs) per sum. Subtracting what was not added is a bug. */
void ks_race_spread_add(struct ks_race_spread *pool, const struct ks_race_spread *x);
void ks_race_spread_sub(struct ks_race_spread *pool, const struct ks_race_spread *x);

/* A standard deviation of one value (log) and the degrees of freedom behind it. */
struct ks_race_sd {
    double sd, freedom;
};
/* What is known before any visit; counts as `freedom` observations. The instances of a class do not
 * all scatter alike: where their variances are inverse gamma, values have a t distribution however
 * many were pooled. max_freedom is that of this distribution. */
struct ks_race_prior {
    double paired_sd, first_sd, level_sd; /* logs; > 0 */
    double freedom;                       /* >= 2 */
    double max_freedom;                   /* >= freedom */
};
struct ks_race_sd ks_race_sd_paired(const struct ks_race_spread *pool,
                                    const struct ks_race_prior *prior);
struct ks_race_sd ks_race_sd_first(const struct ks_race_spread *pool,
                                   const struct ks_race_prior *prior);
struct ks_race_sd ks_race_sd_level(const struct ks_race_spread *pool,
                                   const struct ks_race_prior *prior);

#endif
