/* SPDX-License-Identifier: MIT */
/* decide.c - drops instances by their paired differences; sums a race's spread for the pool */
#include "race/race_impl.h"

#include "race/student.h"

#include <math.h>

#define PART_MAX 1e3 /* squared logs */
#define UNIT     1e-12

static uint64_t rounds_upto(uint32_t last)
{
    return last >= 63 ? ~0ull : (2ull << last) - 1;
}

/* Unknown clocks (NAN) are alike. */
static bool are_alike(double log_a, double log_b)
{
    return !(fabs(log_a - log_b) > log1p(KS_RACE_CLOCK));
}

/* Clean rounds from 1 to `last` in which both were at their usual clocks, or equally far from them;
 * usual is what the rounds up to `known` say. */
static uint64_t paired_rounds(const struct value *a, const struct value *b, uint32_t last,
                              uint32_t known)
{
    const double usual_a = a->usual_log_mhz[known], usual_b = b->usual_log_mhz[known];
    uint64_t rounds = a->is_clean & b->is_clean & ~1ull & rounds_upto(last);

    if (isnan(usual_a) || isnan(usual_b))
        return rounds;
    for (uint32_t r = 1; r < KS_RACE_ROUNDS_MAX; r++)
        if (rounds >> r & 1 && !are_alike(a->log_mhz[r] - usual_a, b->log_mhz[r] - usual_b))
            rounds &= ~(1ull << r);
    return rounds;
}

static struct gap side_by_side(const struct value *a, const struct value *b, uint64_t rounds,
                               const struct ks_race_sd *paired)
{
    struct gap g = { .freedom = paired->freedom, .is_known = true };
    double sum = 0;

    for (uint32_t r = 1; r < KS_RACE_ROUNDS_MAX; r++) {
        if (!(rounds >> r & 1))
            continue;
        sum += a->log_ns[r] - b->log_ns[r];
        g.n_visits++;
    }
    g.mean = sum / g.n_visits;
    g.sd = paired->sd * sqrt(2.0 / g.n_visits);
    return g;
}

static struct gap gap_by_clocks(const struct ks_race *race, const struct scales *s, size_t i,
                                size_t k, uint32_t last, uint32_t known)
{
    const struct value *a = &race->values[i], *b = &race->values[k];
    uint64_t rounds = paired_rounds(a, b, last, known);
    struct gap g = { .sd = s->first.sd * sqrt(2), .freedom = s->first.freedom };

    if (rounds)
        return side_by_side(a, b, rounds, &s->paired);
    if (a->is_timed & b->is_timed & 1)
        g.mean = a->log_ns[0] - b->log_ns[0];
    g.is_known = a->is_clean & b->is_clean & 1 && a->first_device == b->first_device;
    return g;
}

struct gap ks_race_gap(const struct ks_race *race, const struct scales *s, size_t i, size_t k,
                       uint32_t last_round)
{
    return gap_by_clocks(race, s, i, k, last_round, KS_RACE_ROUNDS_MAX - 1);
}

double ks_race_alpha(const struct ks_race *race, uint32_t round)
{
    double rivals = race->n_members > 2 ? (double)(race->n_members - 1) : 1;
    double pi = acos(-1), k = round + 1.0;

    return race->config.alpha / rivals * 6 / (pi * pi * k * k);
}

static void drop(struct ks_race *race, size_t i, uint32_t round, size_t by)
{
    race->members[i].state = KS_RACE_DROPPED;
    race->members[i].dropped_round = round;
    race->members[i].dropped_by = race->members[by].instance;
}

static bool has(const struct ks_race *race, size_t i, uint32_t round)
{
    return race->members[i].state == KS_RACE_CONTENDS && race->values[i].is_clean >> round & 1;
}

/* Lowest clean time of round 0 on a device; n_members when there is none. */
static size_t first_best(const struct ks_race *race, uint64_t device_id)
{
    size_t best = race->n_members;

    for (size_t i = 0; i < race->n_members; i++) {
        if (!has(race, i, 0) || race->values[i].first_device != device_id)
            continue;
        if (best == race->n_members || race->values[i].log_ns[0] < race->values[best].log_ns[0])
            best = i;
    }
    return best;
}

/* All pairs of a device have the same bound, so that the best drops whoever is dropped. */
static void drop_first(struct ks_race *race, const struct scales *s)
{
    double t = ks_student_quantile(ks_race_alpha(race, 0), s->first.freedom);
    size_t best = race->n_members;

    for (size_t i = 0; i < race->n_members; i++) {
        struct gap g;

        if (!has(race, i, 0))
            continue;
        if (best == race->n_members ||
            race->values[best].first_device != race->values[i].first_device)
            best = first_best(race, race->values[i].first_device);
        g = ks_race_gap(race, s, i, best, 0);
        if (i != best && g.mean - t * g.sd > 0)
            drop(race, i, 0, best);
    }
}

static bool is_above(const struct gap *g, double t)
{
    return g->n_visits > 0 && g->mean - t * g->sd > 0; /* 0: no round at alike clocks */
}

/* By the clocks that are known now and by those that were known after `round`. Later visits change
 * what is usual and so which of the old rounds are paired. By the clocks of now alone an old round
 * would be tested again after each visit, but alpha counts one test per round. */
static bool is_slower(const struct ks_race *race, const struct scales *s, size_t i, size_t k,
                      uint32_t round, double t)
{
    struct gap now = ks_race_gap(race, s, i, k, round), then;

    if (!is_above(&now, t)) /* most pairs */
        return false;
    then = gap_by_clocks(race, s, i, k, round, round);
    return is_above(&then, t);
}

/* Whoever drops is a contender itself, so that one remains. */
static void drop_after(struct ks_race *race, const struct scales *s, uint32_t round)
{
    double t = ks_student_quantile(ks_race_alpha(race, round), s->paired.freedom);

    for (size_t i = 0; i < race->n_members; i++)
        for (size_t k = 0; k < race->n_members && has(race, i, round); k++)
            if (k != i && has(race, k, round) && is_slower(race, s, i, k, round, t))
                drop(race, i, round, k);
}

void ks_race_drop(struct ks_race *race, const struct scales *s)
{
    drop_first(race, s);
    for (uint32_t r = 1; r < KS_RACE_ROUNDS_MAX; r++)
        if (race->closed >> r & 1)
            drop_after(race, s, r);
}

/* --- what a race adds to the pool */

static void sum_take(struct ks_race_sum *sum, double squares, uint64_t freedom)
{
    double room = PART_MAX - (double)sum->squares * UNIT;

    sum->squares += (uint64_t)llround((squares < room ? squares : room) / UNIT);
    sum->freedom += freedom;
}

static bool is_shared(const struct ks_race *race, size_t i, uint32_t a, uint32_t b)
{
    const struct value *x = &race->values[i];

    if (race->members[i].state == KS_RACE_WITHDRAWN || !(x->is_clean >> a & x->is_clean >> b & 1))
        return false;
    if (!are_alike(x->log_mhz[a], x->log_mhz[b]))
        return false;
    return a > 0 || x->first_device == race->config.device_id;
}

/* Round b follows round a. */
static void spread_of(const struct ks_race *race, uint32_t a, uint32_t b,
                      struct ks_race_spread *out)
{
    double sum = 0, squares = 0, about = 0, mean;
    size_t n = 0;

    for (size_t i = 0; i < race->n_members; i++)
        if (is_shared(race, i, a, b)) {
            double y = race->values[i].log_ns[b] - race->values[i].log_ns[a];

            sum += y;
            squares += y * y;
            n++;
        }
    if (n == 0)
        return;
    mean = sum / (double)n;
    for (size_t i = 0; i < race->n_members; i++)
        if (is_shared(race, i, a, b)) {
            double y = race->values[i].log_ns[b] - race->values[i].log_ns[a] - mean;

            about += y * y;
        }
    sum_take(&out->level, squares / (double)n / 2, 1);
    if (n > 1 && a == 0)
        sum_take(&out->first, about, n - 1);
    else if (n > 1)
        sum_take(&out->paired, about / 2, n - 1);
}

void ks_race_own_spread(const struct ks_race *race, struct ks_race_spread *out)
{
    uint32_t last = 0;

    *out = (struct ks_race_spread){ .paired = { .freedom = 0 } };
    for (uint32_t r = 1; r < KS_RACE_ROUNDS_MAX; r++) {
        if (!(race->closed >> r & 1))
            continue;
        spread_of(race, last, r, out);
        last = r;
    }
}
