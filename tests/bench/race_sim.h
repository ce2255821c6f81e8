/* SPDX-License-Identifier: MIT */
/* race_sim.h - races with planted times and noise, in no time at all. */
#ifndef KS_BENCH_RACE_SIM_H
#define KS_BENCH_RACE_SIM_H

#include "race/race.h"

#define RACE_SIM_MAX  5000u /* instances */
#define RACE_SIM_PART 0.6   /* of the time of plain sampling: visits shall be no worse in it */

struct race_noise {
    const char *name;
    double pass_sd;   /* one pass of one visit */
    double visit_sd;  /* an instance in a visit: its worker, its buffers */
    double first_sd;  /* an instance in round 0 */
    double common_sd; /* all instances of a visit: the machine */
    double drift;     /* from the first to the last place of a visit or of round 0 */
    double tail;      /* share of values that are late by an exponential of mean tail_mean */
    double tail_mean;
    double throttle;    /* share of visits in which all after a random place are 10 % slower */
    double uneven;      /* sd of the log of an instance's own factor of all its noise */
    double contaminate; /* share of values that are 30 % late and have the flag */
    bool has_clock;     /* the device tells its clock, which is 10 % lower where it is throttled */
    double unclosed;    /* share of visits that end in the middle: their worker dies */
    uint32_t max_visit; /* instances in a visit at most; 0: no limit */
};

struct race_problem {
    uint32_t n;
    double log_ns[RACE_SIM_MAX]; /* truth */
    /* recorded samples in place of noise: n x n_samples, in the order they were taken; NULL: none
     */
    const double *samples;
    const bool *is_dirty; /* beside samples, per_round 1: contaminated; NULL: none is */
    uint32_t n_samples, per_round;
};

struct race_result {
    uint32_t stop, n_rounds;
    bool is_violated; /* an instance better than the label by more than the margin was dropped */
    bool is_best_dropped;
    double regret;     /* true time of the label / the best - 1 */
    double share;      /* of the kernel time of ten equal rounds for every instance */
    double over_first; /* kernel time / that of round 0 */
    /* likewise of the winner of plain sampling, every instance in every round, in
     * 1 / RACE_SIM_PART of the kernel time; < 0: not with recorded samples */
    double plain_regret;
};

/* Instances of one problem: the best and n - 1 others that are up to 2.7 times slower; a tenth of
 * them within 1 %. */
void race_sim_problem(uint64_t *rng, uint32_t n, struct race_problem *out);
/* One race to its end. pool: of the device; takes the race's part. Returns 0 or an error. */
int race_sim_run(const struct race_problem *p, const struct race_noise *noise,
                 const struct ks_race_config *config, uint64_t *rng, struct ks_race_spread *pool,
                 struct race_result *out, struct ks_err *err);
double race_sim_normal(uint64_t *rng);

extern const struct race_noise race_noises[];
extern const size_t race_n_noises;

#endif
