/* SPDX-License-Identifier: MIT */
/* race.h - which instances can still be the best of a problem, what the next visit measures, and
 * when to stop. Pure: no clock, no I/O; every answer is a function of the set of observations and
 * of the pooled spread, whatever the order in which observations came and however often.
 *
 * Round 0 measures every instance once. Round r >= 1 is a visit: the contenders in one lease, in
 * the order A B C C B A, so that linear drift cancels in the difference of two instances. The value
 * of an instance in a visit is the mean of the logs of its times there. A visit counts once it is
 * closed (record/visit.h); the round of one that was cut is wanted again.
 *
 * Dropping. After round r an instance i is dropped when, for a rival j, the lower confidence bound
 * of log t_i - log t_j is above 0. In round 0 the difference is that of the two values, on the same
 * device; later it is the mean over all closed visits with clean values of both. Bounds are
 * Student's t with the spread pooled over races (spread.h). Their error is
 *     alpha_r = alpha / (n - 1) * 6 / (pi^2 (r + 1)^2), n instances in the race,
 * whose sum over rivals and rounds is alpha (union bound). Bounds hold in all rounds at once, so
 * the race may stop at any time. Source: Hoeffding races (Maron & Moore 1994) with t intervals;
 * the weights of rounds as in successive elimination (Even-Dar, Mannor & Mansour 2006).
 *
 * Guarantee, where logs of times have the distribution above: with probability 1 - alpha the best
 * instance is never dropped; if the race stops because it is tied or one is left, no instance is
 * then better than the label by more than the margin. tests/unit/test_race_sim.c counts violations
 * with other distributions, too. Values with the flag contaminated or suspect take no part: they
 * drop nobody and do not get their instance dropped.
 *
 * Clocks. A power cap or heat lowers the clock of a GPU, by more under one instance than under
 * another: that is part of their times. So two instances are not paired in a round in which their
 * clocks, each relative to its own median over visits, differ by more than KS_RACE_CLOCK, and two
 * rounds of an instance at such clocks do not count in the spread. Two that no round pairs do not
 * drop each other after a visit. Where a clock is not known nothing is left out. Later visits may
 * show that clocks of an earlier round were unusual: an instance that was dropped by that round
 * alone contends again, but an earlier round drops nobody in hindsight, because alpha counts one
 * test per round. Both follow from the set of observations, whatever their order.
 *
 * Pilots keep a race open until they have had their rounds, but no longer than its limits allow. At
 * a limit a race that is settled says so: the limit is the reason only where it has cut something.
 *
 * Stopping on regret needs two visits that the label shares with every contender: the label is the
 * best of many noisy values, and after round 0 alone its rivals look worse than they are.
 *
 * How a caller uses it:
 *     ks_race_create, ks_race_add for each record of role cell (round 0 too, any order)
 *     once round 0 is complete, and again after each visit:
 *         ks_race_decide(race, pool, &verdict)     pool: of the device and class, races' own
 *         ks_race_spread_sub(pool, &old part); ks_race_spread_add(pool, &verdict.spread)
 *         verdict.stop == KS_RACE_OPEN: lease what ks_race_wanted says, as round verdict.next_round
 *     a sweep that ends before (drain, --max-time) writes KS_RACE_CUT for an open race. */
#ifndef KS_RACE_RACE_H
#define KS_RACE_RACE_H

#include "base/err.h"
#include "race/spread.h"
#include "record/outcome.h"
#include "record/statistic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_RACE_ROUNDS_MAX 64u /* rounds 0 to 63 */
#define KS_RACE_PASSES_MAX 8u
#define KS_RACE_CLOCK      0.03 /* relative */

/* Of an instance's rounds. */
enum ks_race_over { KS_RACE_MEDIAN = KS_OVER_MEDIAN, KS_RACE_MINIMUM = KS_OVER_MINIMUM };

struct ks_race_config {
    uint32_t max_rounds;  /* round 0 included; 1 to KS_RACE_ROUNDS_MAX */
    uint32_t passes;      /* observations of an instance in a visit; A B C C B A has 2 */
    double alpha;         /* in (0, 0.5] */
    double margin;        /* relative, 0.005: this close is a tie; >= 0 */
    double regret;        /* relative, 0.0025: stop below this expected regret; >= 0 */
    uint64_t max_time_ns; /* kernel time of all visits; 0: no limit */
    uint32_t n_pilots;    /* this many instances (lowest ids) have three rounds regardless: 8 in the
                             first block of a device, else 0 */
    uint32_t over;        /* enum ks_race_over */
    uint32_t max_visit;   /* instances in a visit at most, the fastest ones; 0: no limit. The others
                             still contend, and are visited as those are dropped */
    uint64_t device_id;   /* whose visits count */
    struct ks_race_prior prior;
};
/* 10 rounds, 2 passes, alpha 0.05, margin 0.005, regret 0.0025, no limit of time, no pilots,
 * median. Prior: 1 % within visits, 3.4 % in round 0 and between rounds, 4 degrees of freedom, at
 * most 30. */
void ks_race_config_init(struct ks_race_config *c);

struct ks_race_seen { /* an observation: one record of role cell, or one pass of it */
    uint64_t instance, device_id;
    uint64_t lease_id;       /* of the visit; observations of one visit share it */
    uint32_t attempt, round; /* as in the record */
    uint32_t position,
        n_visit;             /* in the visit, from 0; instances in the visit, >= 1. Round 0: any */
    uint32_t outcome, flags; /* enum ks_outcome, enum ks_flag */
    uint32_t n_samples;      /* >= 1 where outcome is ok */
    double disturbance;      /* as in struct ks_attempt; < 0: not known */
    double clock_mhz;        /* of the device while it was timed; <= 0: not known */
    double time_ns;          /* the label's statistic; finite, > 0 where outcome is ok */
    uint64_t spent_ns;       /* kernel time; 0: time_ns * n_samples */
};

enum ks_race_stop {
    KS_RACE_OPEN = 0,
    KS_RACE_ALONE,  /* one contender is left, or none */
    KS_RACE_TIED,   /* no contender can be better than the label by more than the margin */
    KS_RACE_REGRET, /* the label's expected regret is within its bound */
    KS_RACE_TIME,   /* max_time_ns is spent */
    KS_RACE_ROUNDS, /* max_rounds are done */
    KS_RACE_CUT,    /* never a verdict: for callers whose sweep ends before the race does */
    KS_RACE_NOISY   /* likewise: for callers whose visits give nothing that counts (n_futile) */
};
const char *ks_race_stop_text(uint32_t stop); /* "open", "alone", "tied", ...; "?" when unknown */

struct ks_race_verdict {
    uint32_t stop;         /* enum ks_race_stop */
    uint32_t settled;      /* the same, as if there were no pilots and no limits: OPEN, ALONE, TIED
                              or REGRET */
    uint32_t next_round;   /* of the next visit; 1 + the last closed visit */
    uint32_t n_futile;     /* visits on the device in a row, the last one included, that were not
                              closed or in which nothing was clean */
    uint32_t n_contenders; /* neither dropped nor withdrawn */
    uint32_t n_rounds;     /* of the label: clean rounds on the device that its time is made of */
    uint64_t label;        /* instance; meaningless when n_contenders is 0 */
    double time_ns;        /* of the label; 0 when it has no time on the device */
    double lo_ns, hi_ns;   /* 95 % interval of the value that sweeps scatter around: time_ns *
                              exp(+-t sd sqrt(P + v)), sd that of spread.level, v =
                              ks_over_variance(n_rounds), P = KS_SPREAD_SWEEPS (spread.h) */
    double regret_bound;   /* upper bound of the label's expected regret, relative */
    uint64_t spent_ns;     /* kernel time of all visits on all devices */
    uint64_t expected_ns;  /* kernel time of the next visit, from the last times; 0 when stopped */
    struct ks_race_spread spread; /* this race's part of the pool */
};

enum ks_race_state { KS_RACE_CONTENDS = 0, KS_RACE_DROPPED, KS_RACE_WITHDRAWN };
struct ks_race_member {
    uint64_t instance;
    uint32_t state;         /* enum ks_race_state */
    uint32_t dropped_round; /* of KS_RACE_DROPPED: the round after which */
    uint64_t dropped_by;    /* of KS_RACE_DROPPED: the rival */
    uint32_t n_visits;      /* closed ones with a clean value */
    double ratio;           /* estimate of its time / the label's; 1 for the label, 0 not known */
};

struct ks_race; /* opaque */

/* ks_race_create() - an empty race.
 * @c [in] copied. Returns 0; KS_EINVAL (names the setting); KS_ENOMEM. Owns: caller destroys. */
int ks_race_create(const struct ks_race_config *c, struct ks_race **race_out, struct ks_err *err);
void ks_race_destroy(struct ks_race *race); /* NULL is fine */

/* ks_race_add() - one observation, in any order.
 * Observations with the same instance, device, lease, attempt, round and position are one: flags
 * are united, an outcome other than ok wins. One with KS_FL_VOID withdraws the others with its key
 * (record/attempt.h). ks_record_counts and ks_visits_close (record/visit.h) choose what counts, so
 * that the race and the table are of the same times; the instance is withdrawn when its cell
 * failed. Returns 0; KS_EINVAL: round, outcome, n_visit or time out of range; KS_ENOMEM. On failure
 * the race is unchanged. */
int ks_race_add(struct ks_race *race, const struct ks_race_seen *seen, struct ks_err *err);

/* ks_race_move() - from now on the visits on another device count: the old one was lost. What round
 * 0 decided stays, what visits decided does not. */
void ks_race_move(struct ks_race *race, uint64_t device_id);

/* The device with most observations of round 0 that are ok; of equals the lowest id, 0: none. */
uint64_t ks_race_first_device(struct ks_race *race);
/* ks_race_visited_device() - ks_visits_device (record/visit.h) of the race, whose own device is the
 * present one.
 * Returns 0; KS_ENOMEM. Afterwards the race is to be decided again, here or on that device. */
int ks_race_visited_device(struct ks_race *race, uint64_t *device_out, struct ks_err *err);
/* How many observations the race has, each once. */
size_t ks_race_n_seen(struct ks_race *race);
/* Sets n_pilots of the config, which may be known only when records are. */
void ks_race_pilots(struct ks_race *race, uint32_t n_pilots);

/* ks_race_decide() - decides everything from the observations.
 * @pool [in] spread of the race's device and class; NULL: the prior alone
 * Returns 0; KS_ENOMEM, and neither verdict nor members change. */
int ks_race_decide(struct ks_race *race, const struct ks_race_spread *pool,
                   struct ks_race_verdict *out, struct ks_err *err);

/* The next visit as of the last ks_race_decide: contenders (and pilots), max_visit of them, in a
 * seeded order that changes with the round, forwards and backwards in turn, `passes` times each.
 * @out [out] [cap], may be NULL when cap is 0. Returns how many there are; 0 when stopped. */
size_t ks_race_wanted(const struct ks_race *race, uint64_t *out, size_t cap);

/* All instances seen, by ascending id, as of the last ks_race_decide. */
size_t ks_race_n_members(const struct ks_race *race);
void ks_race_member_at(const struct ks_race *race, size_t i, struct ks_race_member *out);

#endif
