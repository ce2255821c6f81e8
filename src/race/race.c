/* SPDX-License-Identifier: MIT */
/* race.c - keeps a race's observations, runs the decision, says who is in the next visit */
#include "race/race_impl.h"

#include "base/hash.h"
#include "record/visit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ks_race_config_init(struct ks_race_config *c)
{
    *c = (struct ks_race_config){
        .max_rounds = 10,
        .passes = KS_VISIT_PASSES,
        .alpha = 0.05,
        .margin = 0.005,
        .regret = 0.0025,
        .over = KS_RACE_MEDIAN,
        .prior = { .paired_sd = 0.01,
                   .first_sd = 0.034,
                   .level_sd = 0.034,
                   .freedom = 4,
                   .max_freedom = 30 },
    };
}

const char *ks_race_stop_text(uint32_t stop)
{
    static const char *const texts[] = { "open", "alone",  "tied", "regret",
                                         "time", "rounds", "cut",  "noisy" };

    return stop < sizeof(texts) / sizeof(texts[0]) ? texts[stop] : "?";
}

static bool is_scale(double x)
{
    return isfinite(x) && x > 0;
}

static int check_config(const struct ks_race_config *c, struct ks_err *err)
{
    const struct ks_race_prior *p = &c->prior;

    if (c->max_rounds < 1 || c->max_rounds > KS_RACE_ROUNDS_MAX)
        return ks_fail(err, KS_EINVAL, "rounds.max %u is not in 1 to %u", c->max_rounds,
                       KS_RACE_ROUNDS_MAX);
    if (c->passes < 1 || c->passes > KS_RACE_PASSES_MAX)
        return ks_fail(err, KS_EINVAL, "passes %u of a visit are not in 1 to %u", c->passes,
                       KS_RACE_PASSES_MAX);
    if (!(c->alpha > 0 && c->alpha <= 0.5))
        return ks_fail(err, KS_EINVAL, "rounds.alpha %g is not in (0, 0.5]", c->alpha);
    if (!(isfinite(c->margin) && c->margin >= 0 && isfinite(c->regret) && c->regret >= 0))
        return ks_fail(err, KS_EINVAL,
                       "rounds.margin %g and the bound of the regret %g must be >= 0", c->margin,
                       c->regret);
    if (c->over != KS_RACE_MEDIAN && c->over != KS_RACE_MINIMUM)
        return ks_fail(err, KS_EINVAL, "statistic over rounds %u is not known", c->over);
    if (!is_scale(p->paired_sd) || !is_scale(p->first_sd) || !is_scale(p->level_sd) ||
        !(p->freedom >= 2 && p->max_freedom >= p->freedom && isfinite(p->max_freedom)))
        return ks_fail(err, KS_EINVAL,
                       "the prior of a race needs scales > 0 and >= 2 degrees of "
                       "freedom");
    return 0;
}

int ks_race_create(const struct ks_race_config *c, struct ks_race **race_out, struct ks_err *err)
{
    struct ks_race *race;
    int rc = check_config(c, err);

    if (rc < 0)
        return rc;
    race = calloc(1, sizeof(*race));
    if (!race)
        return ks_fail(err, KS_ENOMEM, "out of memory creating a race");
    race->config = *c;
    race->verdict.next_round = 1;
    *race_out = race;
    return 0;
}

void ks_race_destroy(struct ks_race *race)
{
    if (!race)
        return;
    free(race->seen);
    free(race->members);
    free(race->values);
    free(race);
}

void ks_race_move(struct ks_race *race, uint64_t device_id)
{
    race->config.device_id = device_id;
}

static bool is_first(const struct ks_race_seen *s)
{
    return s->round == 0 && s->outcome == KS_O_OK && !(s->flags & KS_FL_VOID);
}

static size_t count_first(const struct ks_race *race, uint64_t device_id)
{
    size_t n = 0;

    for (size_t i = 0; i < race->n_seen; i++)
        n += is_first(&race->seen[i]) && race->seen[i].device_id == device_id;
    return n;
}

uint64_t ks_race_first_device(struct ks_race *race)
{
    uint64_t best = 0;
    size_t n_best = 0;

    ks_race_unite(race);
    for (size_t i = 0; i < race->n_seen; i++) {
        uint64_t id = race->seen[i].device_id;
        size_t n;

        if (!is_first(&race->seen[i]) || id == best)
            continue;
        n = count_first(race, id);
        if (n > n_best || (n == n_best && id < best)) {
            best = id;
            n_best = n;
        }
    }
    return best;
}

int ks_race_visited_device(struct ks_race *race, uint64_t *device_out, struct ks_err *err)
{
    int rc = ks_race_collect(race, err);

    if (rc == 0)
        *device_out = race->visited_device;
    return rc;
}

size_t ks_race_n_seen(struct ks_race *race)
{
    ks_race_unite(race);
    return race->n_seen;
}

void ks_race_pilots(struct ks_race *race, uint32_t n_pilots)
{
    race->config.n_pilots = n_pilots;
}

static int check_seen(const struct ks_race_seen *s, struct ks_err *err)
{
    if (s->round >= KS_RACE_ROUNDS_MAX)
        return ks_fail(err, KS_EINVAL, "round %u of a race is above %u", s->round,
                       KS_RACE_ROUNDS_MAX - 1);
    if (s->outcome == KS_O_NONE || s->outcome >= KS_O_LIMIT)
        return ks_fail(err, KS_EINVAL, "unknown outcome %u in a race", s->outcome);
    if (s->round > 0 && s->n_visit < 1)
        return ks_fail(err, KS_EINVAL, "a visit of round %u has no instances", s->round);
    if (s->outcome == KS_O_OK && (!is_scale(s->time_ns) || s->n_samples < 1))
        return ks_fail(err, KS_EINVAL, "invalid measurement: %g ns from %u samples", s->time_ns,
                       s->n_samples);
    return 0;
}

static int grow(struct ks_race *race, struct ks_err *err)
{
    size_t cap = race->cap ? 2 * race->cap : 64;
    struct ks_race_seen *more = realloc(race->seen, cap * sizeof(*more));

    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory: %zu observations of a race", cap);
    race->seen = more;
    race->cap = cap;
    return 0;
}

int ks_race_add(struct ks_race *race, const struct ks_race_seen *seen, struct ks_err *err)
{
    int rc = check_seen(seen, err);

    if (rc == 0 && race->n_seen == race->cap) {
        ks_race_unite(race); /* what was added twice makes room */
        rc = race->n_seen + race->n_seen / 4 >= race->cap ? grow(race, err) : 0;
    }
    if (rc == 0)
        race->seen[race->n_seen++] = *seen;
    return rc;
}

int ks_race_decide(struct ks_race *race, const struct ks_race_spread *pool,
                   struct ks_race_verdict *out, struct ks_err *err)
{
    static const struct ks_race_spread none = { .paired = { .freedom = 0 } };
    const struct ks_race_prior *prior = &race->config.prior;
    const struct ks_race_spread *p = pool ? pool : &none;
    struct scales s = { ks_race_sd_paired(p, prior), ks_race_sd_first(p, prior),
                        ks_race_sd_level(p, prior) };
    int rc = ks_race_collect(race, err);

    if (rc < 0)
        return rc;
    ks_race_drop(race, &s);
    race->verdict = (struct ks_race_verdict){ .stop = KS_RACE_OPEN };
    ks_race_choose(race, &s);
    ks_race_own_spread(race, &race->verdict.spread);
    *out = race->verdict;
    return 0;
}

bool ks_race_may_be_wanted(const struct ks_race *race, size_t i)
{
    uint32_t state = race->members[i].state;

    if (race->verdict.stop != KS_RACE_OPEN)
        return false;
    if (state == KS_RACE_CONTENDS)
        return true;
    return state == KS_RACE_DROPPED && race->values[i].is_pilot && race->verdict.next_round < 3;
}

bool ks_race_is_wanted(const struct ks_race *race, size_t i)
{
    return ks_race_may_be_wanted(race, i) && !race->values[i].is_left_out;
}

static uint64_t place(uint64_t instance, uint32_t round)
{
    return ks_mix64(instance ^ ks_mix64(round));
}

/* Ascending places; of equal ones ascending instances. Insertion sort: contenders are few. */
static void insert(uint64_t *out, size_t n, uint64_t instance, uint32_t round)
{
    uint64_t at = place(instance, round);

    for (; n > 0 && place(out[n - 1], round) > at; n--)
        out[n] = out[n - 1];
    out[n] = instance;
}

size_t ks_race_wanted(const struct ks_race *race, uint64_t *out, size_t cap)
{
    size_t n = 0, passes = race->config.passes;

    for (size_t i = 0; i < race->n_members; i++)
        n += ks_race_is_wanted(race, i);
    if (cap < n * passes)
        return n * passes;
    n = 0;
    for (size_t i = 0; i < race->n_members; i++)
        if (ks_race_is_wanted(race, i))
            insert(out, n++, race->members[i].instance, race->verdict.next_round);
    for (size_t k = n; k < n * passes; k++)
        out[k] = out[k / n % 2 ? n - 1 - k % n : k % n];
    return n * passes;
}

size_t ks_race_n_members(const struct ks_race *race)
{
    return race->n_members;
}

void ks_race_member_at(const struct ks_race *race, size_t i, struct ks_race_member *out)
{
    *out = race->members[i];
}
