/* SPDX-License-Identifier: MIT */
/* observations.c - reduces observations in any order to one value per instance and round */
#include "race/race_impl.h"

#include "record/attempt.h"
#include "record/record.h"
#include "record/visit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPENT_MAX   1e15 /* ns; of one observation, so that sums do not overflow */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* The key, by instance first. */
static int by_key(const struct ks_race_seen *a, const struct ks_race_seen *b)
{
    int o = ORDER(a->instance, b->instance);

    o = o ? o : ORDER(a->attempt, b->attempt);
    o = o ? o : ORDER(a->round, b->round);
    o = o ? o : ORDER(a->device_id, b->device_id);
    o = o ? o : ORDER(a->lease_id, b->lease_id);
    return o ? o : ORDER(a->position, b->position);
}

/* The key, then everything else but the flags, failures last. */
static int by_content(const void *x, const void *y)
{
    const struct ks_race_seen *a = x, *b = y;
    int o = by_key(a, b);

    o = o ? o : ORDER(a->outcome != KS_O_OK, b->outcome != KS_O_OK);
    o = o ? o : ORDER(a->outcome, b->outcome);
    o = o ? o : ORDER(a->time_ns, b->time_ns);
    o = o ? o : ORDER(a->n_samples, b->n_samples);
    o = o ? o : ORDER(a->n_visit, b->n_visit);
    o = o ? o : ORDER(a->disturbance, b->disturbance);
    o = o ? o : ORDER(a->clock_mhz, b->clock_mhz);
    return o ? o : ORDER(a->spent_ns, b->spent_ns);
}

void ks_race_unite(struct ks_race *race)
{
    struct ks_race_seen *s = race->seen;
    size_t n = 0;

    if (race->n_sorted == race->n_seen)
        return;
    qsort(s, race->n_seen, sizeof(*s), by_content);
    for (size_t i = 0; i < race->n_seen; i++) {
        uint32_t flags = s[i].flags;

        if (n > 0 && by_key(&s[n - 1], &s[i]) == 0)
            flags |= s[--n].flags;
        s[n] = s[i];
        s[n++].flags = flags;
    }
    race->n_seen = race->n_sorted = n;
}

static bool is_void(const struct ks_race_seen *s)
{
    return s->flags & KS_FL_VOID;
}
static bool is_clean(const struct ks_race_seen *s)
{
    return !(s->flags & (KS_FL_CONTAMINATED | KS_FL_SUSPECT));
}

static uint64_t spent(const struct ks_race_seen *s)
{
    if (s->outcome != KS_O_OK || s->spent_ns)
        return s->spent_ns;
    return (uint64_t)llround(fmin(s->time_ns * s->n_samples, SPENT_MAX));
}

/* --- visits: the leases of a round on the race's device */

struct visit { /* an instance in a lease */
    uint64_t lease_id, instance;
    uint32_t round, n_ok;
    uint32_t is_closed, counts; /* of the lease: struct ks_visit_pass */
    uint32_t is_clean, is_failed;
    uint32_t has_clean; /* one of its observations that count is clean */
    double sum, mhz;    /* of logs; mhz NAN: not known */
};

static bool is_same(const struct visit *a, const struct visit *b)
{
    return a->round == b->round && a->lease_id == b->lease_id;
}

static double log_mhz(const struct ks_race_seen *s)
{
    return s->clock_mhz > 0 ? log(s->clock_mhz) : NAN;
}

/* What the visits on all devices have measured. counts: [n_seen]. Returns how many there are. */
static size_t passes_of(const struct ks_race *race, const bool *counts, struct ks_visit_pass *out)
{
    size_t n = 0;

    for (size_t i = 0; i < race->n_seen; i++) {
        const struct ks_race_seen *s = &race->seen[i];

        if (s->round > 0)
            out[n++] = (struct ks_visit_pass){ .device_id = s->device_id,
                                               .block_id = s->lease_id,
                                               .instance = s->instance,
                                               .round = s->round,
                                               .n_visit = s->n_visit,
                                               .is_void = is_void(s),
                                               .is_timed = counts[i],
                                               .is_clean = is_clean(s),
                                               .i = i };
    }
    return n;
}

static struct visit visit_of(const struct ks_race_seen *s, const struct ks_visit_pass *p)
{
    return (struct visit){ .lease_id = s->lease_id,
                           .instance = s->instance,
                           .round = s->round,
                           .n_ok = p->is_timed,
                           .is_closed = p->is_closed,
                           .counts = p->counts,
                           .is_clean = p->is_clean,
                           .is_failed = !p->is_timed,
                           .has_clean = p->is_timed && p->is_clean,
                           .sum = p->is_timed ? log(s->time_ns) : 0,
                           .mhz = p->is_timed ? log_mhz(s) : 0 };
}

/* One element per instance and lease, by round, lease, instance like the n passes. Attempts of one
 * lease are neighbours. */
static size_t visits_of(const struct ks_race *race, const struct ks_visit_pass *p, size_t n,
                        struct visit *out)
{
    size_t n_united = 0;

    for (size_t i = 0; i < n; i++) {
        struct visit *last = n_united ? &out[n_united - 1] : NULL;
        struct visit v = visit_of(&race->seen[p[i].i], &p[i]);

        if (p[i].device_id != race->config.device_id || p[i].is_void)
            continue;
        if (!last || !is_same(last, &v) || last->instance != v.instance) {
            out[n_united++] = v;
            continue;
        }
        last->n_ok += v.n_ok;
        last->is_clean &= v.is_clean;
        last->is_failed |= v.is_failed;
        last->has_clean |= v.has_clean;
        last->sum += v.sum;
        last->mhz += v.mhz;
    }
    return n_united;
}

static size_t find(const struct ks_race *race, uint64_t instance)
{
    size_t lo = 0, hi = race->n_members;

    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (race->members[mid].instance <= instance)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* A lease that counts is taken into the values. */
static void take_visit(struct ks_race *race, const struct visit *v, size_t n)
{
    uint64_t bit = 1ull << v->round;

    if (!v->counts)
        return;
    race->closed |= bit;
    for (size_t i = 0; i < n; i++) {
        size_t m = find(race, v[i].instance);
        struct value *x = &race->values[m];

        if (v[i].is_failed || race->members[m].state == KS_RACE_WITHDRAWN)
            continue;
        x->log_ns[v->round] = v[i].sum / v[i].n_ok;
        x->is_timed |= bit;
        x->log_mhz[v->round] = v[i].mhz / v[i].n_ok;
        if (v[i].is_clean) {
            x->is_clean |= bit;
            race->members[m].n_visits++;
        }
    }
}

static bool is_futile(const struct visit *v, size_t n)
{
    bool has_clean = false;

    for (size_t i = 0; i < n; i++)
        has_clean |= v[i].has_clean;
    return !has_clean || !v->is_closed;
}

/* A round follows a closed one, so that visits of later rounds than the last one that was not
 * futile came after it. */
static void count_futile(struct ks_race *race, const struct visit *v, size_t n)
{
    size_t from = 0;
    uint32_t last = 0; /* round of a visit that was not futile */

    race->n_futile = 0;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && is_same(&v[from], &v[i]))
            continue;
        if (is_futile(&v[from], i - from)) {
            race->n_futile += v[from].round > last;
        } else {
            last = v[from].round;
            race->n_futile = 0;
        }
        from = i;
    }
}

static void take_visits(struct ks_race *race, const struct visit *v, size_t n)
{
    size_t from = 0;

    for (size_t i = 1; i <= n; i++) {
        if (i < n && is_same(&v[from], &v[i]))
            continue;
        take_visit(race, &v[from], i - from);
        from = i;
    }
    count_futile(race, v, n);
}

/* --- instances */

static void take_first(struct value *x, const struct ks_race_seen *s)
{
    x->log_ns[0] = log(s->time_ns);
    x->is_timed |= 1;
    x->is_clean |= is_clean(s);
    x->log_mhz[0] = log_mhz(s);
    x->first_device = s->device_id;
}

/* The n observations of an instance. keys: scratch [n]; counts_out [n] */
static void take_instance(const struct ks_race_seen *s, size_t n, struct ks_attempt *keys,
                          bool *counts_out, struct ks_race_member *m, struct value *x)
{
    int final;

    *m = (struct ks_race_member){ .instance = s->instance, .state = KS_RACE_WITHDRAWN };
    *x = (struct value){ .is_clean = 0 };
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct ks_attempt){ s[i].attempt, s[i].round, KS_ROLE_CELL,
                                       s[i].outcome, s[i].flags, s[i].disturbance };
    final = ks_record_counts(keys, n, counts_out);
    if (final < 0 || keys[final].outcome != KS_O_OK) {
        memset(counts_out, 0, n * sizeof(*counts_out));
        return;
    }
    m->state = KS_RACE_CONTENDS;
    for (size_t i = 0; i < n; i++) {
        if (!counts_out[i])
            continue;
        x->last_spent_ns = spent(&s[i]);
        if (s[i].round == 0)
            take_first(x, &s[i]);
    }
}

static size_t count_instances(const struct ks_race *race)
{
    size_t n = 0;

    for (size_t i = 0; i < race->n_seen; i++)
        n += i == 0 || race->seen[i].instance != race->seen[i - 1].instance;
    return n;
}

static void take_instances(struct ks_race *race, struct ks_attempt *keys, bool *counts_out)
{
    size_t n = 0;

    for (size_t i = 0, end; i < race->n_seen; i = end) {
        for (end = i + 1; end < race->n_seen && race->seen[end].instance == race->seen[i].instance;)
            end++;
        take_instance(&race->seen[i], end - i, keys, &counts_out[i], &race->members[n],
                      &race->values[n]);
        n++;
    }
    race->n_members = n;
}

static void find_usual_clocks(struct value *x)
{
    double v[KS_RACE_ROUNDS_MAX], scratch[KS_RACE_ROUNDS_MAX];
    uint32_t n = 0;

    x->usual_log_mhz[0] = NAN;
    for (uint32_t r = 1; r < KS_RACE_ROUNDS_MAX; r++) {
        x->usual_log_mhz[r] = x->usual_log_mhz[r - 1];
        if (!(x->is_clean >> r & 1) || isnan(x->log_mhz[r]))
            continue;
        v[n++] = x->log_mhz[r];
        x->usual_log_mhz[r] = ks_over_rounds(v, n, KS_OVER_MEDIAN, scratch);
    }
}

static void choose_pilots(struct ks_race *race)
{
    uint32_t n = 0;

    for (size_t i = 0; i < race->n_members && n < race->config.n_pilots; i++)
        if (race->members[i].state == KS_RACE_CONTENDS) {
            race->values[i].is_pilot = 1;
            n++;
        }
}

uint64_t ks_race_spent(const struct ks_race *race)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < race->n_seen; i++)
        sum += race->seen[i].round > 0 ? spent(&race->seen[i]) : 0;
    return sum;
}

struct scratch { /* of ks_race_collect */
    struct visit *visits;
    struct ks_visit_pass *passes;
    struct ks_attempt *keys;
    bool *counts; /* all [n_seen] */
};

static bool scratch_init(struct scratch *w, size_t n_seen)
{
    w->visits = malloc((n_seen + 1) * sizeof(*w->visits));
    w->passes = malloc((n_seen + 1) * sizeof(*w->passes));
    w->keys = malloc((n_seen + 1) * sizeof(*w->keys));
    w->counts = calloc(n_seen + 1, sizeof(*w->counts));
    return w->visits && w->passes && w->keys && w->counts;
}

static void scratch_release(struct scratch *w)
{
    free(w->visits);
    free(w->passes);
    free(w->keys);
    free(w->counts);
}

int ks_race_collect(struct ks_race *race, struct ks_err *err)
{
    struct ks_race_member *members = NULL;
    struct value *values = NULL;
    struct scratch w;
    size_t n, n_passes;

    ks_race_unite(race);
    n = count_instances(race);
    members = malloc((n + 1) * sizeof(*members));
    values = malloc((n + 1) * sizeof(*values));
    if (!scratch_init(&w, race->n_seen) || !members || !values) {
        free(members);
        free(values);
        scratch_release(&w);
        return ks_fail(err, KS_ENOMEM, "out of memory evaluating a race of %zu instances", n);
    }
    free(race->members);
    free(race->values);
    race->members = members;
    race->values = values;
    race->closed = 0;
    take_instances(race, w.keys, w.counts);
    choose_pilots(race);
    n_passes = passes_of(race, w.counts, w.passes);
    ks_visits_close(w.passes, n_passes, race->config.passes);
    race->visited_device = ks_visits_device(w.passes, n_passes, race->config.device_id);
    take_visits(race, w.visits, visits_of(race, w.passes, n_passes, w.visits));
    for (size_t i = 0; i < race->n_members; i++)
        find_usual_clocks(&race->values[i]);
    scratch_release(&w);
    return 0;
}
