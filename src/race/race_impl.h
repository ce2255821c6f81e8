/* SPDX-License-Identifier: MIT */
/* race_impl.h - inside of the module: observations -> values by round -> decisions. */
#ifndef KS_RACE_IMPL_H
#define KS_RACE_IMPL_H

#include "race/race.h"

struct value { /* of an instance, from its observations; logs of ns */
    double log_ns[KS_RACE_ROUNDS_MAX];
    double log_mhz[KS_RACE_ROUNDS_MAX];       /* NAN: not known */
    double usual_log_mhz[KS_RACE_ROUNDS_MAX]; /* [r] the median over its clean visits up to r; NAN:
                                                 none is known */
    uint64_t is_clean; /* bit r: log_ns[r] takes part; r >= 1: closed visit on the race's device */
    uint64_t is_timed; /* bit r: log_ns[r] is a time, perhaps a contaminated one */
    uint64_t first_device;  /* of round 0 */
    uint64_t last_spent_ns; /* per observation, of the latest round. A pass of a visit takes as many
                               samples as round 0 */
    uint32_t is_pilot;
    uint32_t is_left_out; /* of the next visit, which has others */
};

struct ks_race {
    struct ks_race_config config;
    struct ks_race_seen *seen; /* sorted and united up to n_sorted */
    size_t n_seen, n_sorted, cap;
    /* as of the last ks_race_decide */
    struct ks_race_member *members; /* ascending id */
    struct value *values;           /* beside members */
    size_t n_members;
    uint64_t closed;         /* bit r: round r >= 1 has a closed visit on the device */
    uint64_t visited_device; /* ks_visits_device */
    uint32_t n_futile;
    struct ks_race_verdict verdict;
};

struct scales { /* what the pool says */
    struct ks_race_sd paired, first, level;
};

/* race.c: contenders, and pilots, which have rounds 0 to 2 whatever becomes of them */
bool ks_race_may_be_wanted(const struct ks_race *race, size_t i);
bool ks_race_is_wanted(const struct ks_race *race, size_t i); /* the same, but not left out */

/* observations.c */
void ks_race_unite(struct ks_race *race); /* sorts; one observation per key */
/* Members and values from united observations. Returns 0 or KS_ENOMEM with the race unchanged. */
int ks_race_collect(struct ks_race *race, struct ks_err *err);

uint64_t ks_race_spent(const struct ks_race *race); /* kernel time of visits */

/* decide.c: estimated difference of logs of two members, members[i] minus members[k] */
struct gap {
    double mean, sd, freedom;
    uint32_t n_visits; /* 0: from round 0 */
    bool is_known;     /* else the two were never measured side by side, mean is a guess */
};
struct gap ks_race_gap(const struct ks_race *race, const struct scales *s, size_t i, size_t k,
                       uint32_t last_round);
double ks_race_alpha(const struct ks_race *race, uint32_t round); /* for one rival */
void ks_race_drop(struct ks_race *race, const struct scales *s);
void ks_race_own_spread(const struct ks_race *race, struct ks_race_spread *out);

/* choose.c: label, regret, stop */
void ks_race_choose(struct ks_race *race, const struct scales *s);

#endif
