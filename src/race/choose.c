/* SPDX-License-Identifier: MIT */
/* choose.c - chooses the label, its interval and expected regret, and decides whether to stop */
#include "race/race_impl.h"

#include "race/student.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define LAST (KS_RACE_ROUNDS_MAX - 1)
/* The label is the best of many noisy values: with few of them the rivals look worse than they are.
 */
#define REGRET_VISITS 2u

static bool contends(const struct ks_race *race, size_t i)
{
    return race->members[i].state == KS_RACE_CONTENDS;
}

/* The winner of a tournament by estimated differences, in ascending order of ids. */
static size_t find_label(const struct ks_race *race, const struct scales *s)
{
    size_t label = race->n_members;

    for (size_t i = 0; i < race->n_members; i++)
        if (contends(race, i) &&
            (label == race->n_members || ks_race_gap(race, s, label, i, LAST).mean > 0))
            label = i;
    return label;
}

/* Logs of the rounds on the race's device, ascending: the clean ones if there are any, else all. */
static uint32_t rounds_of(const struct ks_race *race, const struct value *v, double *x)
{
    uint64_t here = v->first_device == race->config.device_id ? ~0ull : ~1ull;
    uint64_t rounds = v->is_clean & here ? v->is_clean & here : v->is_timed & here;
    uint32_t n = 0;

    for (uint32_t r = 0; r < KS_RACE_ROUNDS_MAX; r++)
        if (rounds >> r & 1)
            x[n++] = v->log_ns[r];
    ks_stats_sort(x, n);
    return n;
}

static void estimate(const struct ks_race *race, const struct scales *s, const struct value *v,
                     struct ks_race_verdict *out)
{
    enum ks_over over = (enum ks_over)race->config.over;
    double x[KS_RACE_ROUNDS_MAX], scratch[KS_RACE_ROUNDS_MAX], at, half, share;
    uint32_t n = rounds_of(race, v, x);

    out->n_rounds = n;
    if (n == 0)
        return;
    at = ks_over_rounds(x, n, over, scratch);
    share = KS_SPREAD_SWEEPS + ks_over_variance(n, over);
    half = ks_student_quantile(0.025, s->level.freedom) * s->level.sd * sqrt(share);
    out->time_ns = exp(at);
    out->lo_ns = exp(at - half);
    out->hi_ns = exp(at + half);
}

struct doubt {             /* about the label */
    double upper;          /* largest upper bound of the log by which a contender is better */
    uint32_t least_visits; /* fewest visits that a contender shares with the label */
    bool is_known;         /* every contender was measured beside the label */
};

/* E[max] <= sum of E[max(0, log label - log i)] over contenders. */
static struct doubt regret(struct ks_race *race, const struct scales *s, size_t label)
{
    uint32_t round = race->verdict.next_round - 1;
    double alpha = ks_race_alpha(race, round), sum = 0;
    double t_first = ks_student_quantile(alpha, s->first.freedom);
    double t_paired = ks_student_quantile(alpha, s->paired.freedom);
    struct doubt d = { .upper = -INFINITY, .least_visits = KS_RACE_ROUNDS_MAX, .is_known = true };

    for (size_t i = 0; i < race->n_members; i++) {
        struct gap g;
        double bound;

        if (i == label || !contends(race, i))
            continue;
        g = ks_race_gap(race, s, label, i, LAST);
        bound = g.mean + (g.n_visits ? t_paired : t_first) * g.sd;
        d.upper = bound > d.upper ? bound : d.upper;
        d.least_visits = g.n_visits < d.least_visits ? g.n_visits : d.least_visits;
        sum += ks_student_gain(g.mean, g.sd, g.freedom);
        d.is_known &= g.is_known;
    }
    race->verdict.regret_bound = expm1(sum);
    return d;
}

static bool pilots_wait(const struct ks_race *race)
{
    if (race->verdict.next_round >= 3)
        return false;
    for (size_t i = 0; i < race->n_members; i++)
        if (race->values[i].is_pilot && race->members[i].state != KS_RACE_WITHDRAWN)
            return true;
    return false;
}

static uint32_t settled(struct ks_race *race, const struct scales *s, size_t label)
{
    const struct ks_race_config *c = &race->config;
    struct doubt d = { .is_known = false };

    if (label < race->n_members)
        d = regret(race, s, label);

    if (race->verdict.n_contenders <= 1)
        return KS_RACE_ALONE;
    if (d.is_known && d.upper <= log1p(c->margin))
        return KS_RACE_TIED;
    if (d.least_visits >= REGRET_VISITS && race->verdict.regret_bound <= c->regret)
        return KS_RACE_REGRET;
    return KS_RACE_OPEN;
}

static uint32_t limit(const struct ks_race *race)
{
    const struct ks_race_config *c = &race->config;
    const struct ks_race_verdict *v = &race->verdict;

    if (v->next_round >= c->max_rounds)
        return KS_RACE_ROUNDS;
    return c->max_time_ns && v->spent_ns >= c->max_time_ns ? KS_RACE_TIME : KS_RACE_OPEN;
}

static uint32_t next_round(const struct ks_race *race)
{
    uint32_t next = 1;

    for (uint32_t r = 1; r < KS_RACE_ROUNDS_MAX; r++)
        if (race->closed >> r & 1)
            next = r + 1;
    return next;
}

/* The label, then by time; those of which nothing is known are last. */
static double rank_of(const struct ks_race *race, size_t i)
{
    const struct ks_race_member *m = &race->members[i];

    if (m->instance == race->verdict.label)
        return 0;
    return m->ratio > 0 ? m->ratio : INFINITY;
}

static bool is_before(const struct ks_race *race, size_t i, size_t k)
{
    const double a = rank_of(race, i), b = rank_of(race, k);

    return a < b || (i < k && !(b < a));
}

static void leave_out(struct ks_race *race)
{
    const size_t most = race->config.max_visit;
    size_t n = 0;

    for (size_t i = 0; i < race->n_members; i++)
        n += ks_race_may_be_wanted(race, i);
    for (size_t i = 0; most > 0 && n > most && i < race->n_members; i++) {
        size_t n_before = 0;

        if (!ks_race_may_be_wanted(race, i))
            continue;
        for (size_t k = 0; k < race->n_members; k++)
            n_before += ks_race_may_be_wanted(race, k) && is_before(race, k, i);
        race->values[i].is_left_out = n_before >= most;
    }
}

static void describe(struct ks_race *race, const struct scales *s, size_t label)
{
    struct ks_race_verdict *v = &race->verdict;

    for (size_t i = 0; i < race->n_members; i++) {
        struct ks_race_member *m = &race->members[i];
        struct gap g;

        if (m->state == KS_RACE_WITHDRAWN || label == race->n_members)
            continue;
        g = ks_race_gap(race, s, i, label, LAST);
        m->ratio = i == label ? 1 : g.is_known ? exp(g.mean) : 0;
    }
    leave_out(race);
    for (size_t i = 0; i < race->n_members; i++)
        if (ks_race_is_wanted(race, i))
            v->expected_ns += race->values[i].last_spent_ns * race->config.passes;
}

void ks_race_choose(struct ks_race *race, const struct scales *s)
{
    struct ks_race_verdict *v = &race->verdict;
    size_t label = find_label(race, s);

    v->next_round = next_round(race);
    v->spent_ns = ks_race_spent(race);
    for (size_t i = 0; i < race->n_members; i++)
        v->n_contenders += contends(race, i);
    v->n_futile = race->n_futile;
    v->settled = settled(race, s, label);
    v->stop = limit(race);
    if (v->settled != KS_RACE_OPEN && (v->stop != KS_RACE_OPEN || !pilots_wait(race)))
        v->stop = v->settled;
    if (label < race->n_members) {
        v->label = race->members[label].instance;
        estimate(race, s, &race->values[label], v);
    }
    describe(race, s, label);
}
