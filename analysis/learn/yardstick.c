/* SPDX-License-Identifier: MIT */
/* yardstick.c - regret over all splits of the sweeps into three groups, with its quantiles */
#include "analysis/learn/yardstick.h"
#include "analysis/learn/bootstrap.h"
#include "record/outcome.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 5u

/* ---- quantiles ---- */

static double mean_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

struct drawing {
    const double *value;
    const size_t *first; /* [n_problems + 1] where each problem's values begin */
    size_t n_problems;
    double *drawn; /* scratch: n_problems times the most values of one */
};

/* P90 and mean. */
static void figures(void *ctx, const uint32_t *unit, double *out)
{
    const struct drawing *d = ctx;
    size_t n = 0;

    for (size_t i = 0; i < d->n_problems; i++) {
        const size_t first = d->first[unit[i]], n_here = d->first[unit[i] + 1] - first;

        memcpy(d->drawn + n, d->value + first, n_here * sizeof(*d->drawn));
        n += n_here;
    }
    ks_stats_sort(d->drawn, n);
    out[0] = ks_stats_quantile(d->drawn, n, 0.9);
    out[1] = mean_of(d->drawn, n);
}

static size_t list_problems(const uint32_t *problem, size_t n, size_t *first, size_t *most_out)
{
    size_t n_problems = 0;

    *most_out = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && problem[end] == problem[i];)
            end++;
        *most_out = end - i > *most_out ? end - i : *most_out;
        first[n_problems++] = i;
    }
    first[n_problems] = n;
    return n_problems;
}

/* d->drawn: room for n values, too */
static int summarize(const struct drawing *d, size_t n, struct ks_quantiles *out,
                     struct ks_err *err)
{
    struct drawing drawing = *d;
    const struct ks_bootstrap b = { .n_units = d->n_problems,
                                    .n_figures = 2,
                                    .n_draws = KS_BOOTSTRAP_DRAWS,
                                    .level = 0.9,
                                    .seed = SEED,
                                    .ctx = &drawing,
                                    .figures = figures };
    struct ks_interval of[2];
    int rc;

    memcpy(d->drawn, d->value, n * sizeof(*d->drawn));
    ks_stats_sort(d->drawn, n);
    out->p50 = ks_stats_quantile(d->drawn, n, 0.5);
    out->p99 = ks_stats_quantile(d->drawn, n, 0.99);
    rc = ks_bootstrap(&b, of, err);
    if (rc < 0)
        return rc;
    out->p90 = of[0].value;
    out->p90_lo = of[0].lo;
    out->p90_hi = of[0].hi;
    out->mean = of[1].value;
    out->mean_lo = of[1].lo;
    out->mean_hi = of[1].hi;
    return 0;
}

int ks_quantiles_of(const double *value, const uint32_t *problem, size_t n,
                    struct ks_quantiles *out, struct ks_err *err)
{
    size_t *first = calloc(n + 1, sizeof(*first)), most = 0;
    struct drawing d = { .value = value, .first = first };
    int rc = first ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu values", n);

    *out = (struct ks_quantiles){ 0 };
    if (rc == 0 && n > 0) {
        d.n_problems = list_problems(problem, n, first, &most);
        d.drawn = calloc(d.n_problems * most + n, sizeof(*d.drawn));
        rc = d.drawn ? summarize(&d, n, out, err)
                     : ks_fail(err, KS_ENOMEM, "out of memory for %zu values", n);
    }
    free(first);
    free(d.drawn);
    return rc;
}

/* ---- some of the sweeps ---- */

int ks_sweeps_pick(const struct ks_sweeps *s, uint32_t mask, struct ks_sweeps *out,
                   struct ks_err *err)
{
    struct ks_sweep_round *rounds = calloc(s->n_rounds + 1, sizeof(*rounds));

    if (!rounds)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", s->n_rounds);
    *out = *s;
    out->rounds = rounds;
    out->n_rounds = 0;
    for (size_t i = 0; i < s->n_rounds; i++)
        if (mask >> s->rounds[i].sweep & 1)
            rounds[out->n_rounds++] = s->rounds[i];
    return 0;
}

void ks_sweeps_drop(struct ks_sweeps *picked)
{
    free(picked->rounds);
    *picked = (struct ks_sweeps){ 0 };
}

/* ---- regret ---- */

/* An instance that every sweep has. */
struct rival {
    size_t first_round[KS_YARDSTICK_SWEEPS], n_rounds[KS_YARDSTICK_SWEEPS];
    double label[KS_YARDSTICK_SWEEPS]; /* aligned within its sweep; log; infinite: it was dropped */
    double *time;                      /* [2^n_sweeps] ns by group of sweeps; 0: not computed yet */
};
struct work {
    const struct ks_sweeps *s;
    const struct ks_yardstick_options *o;
    struct rival *rivals;
    size_t n_rivals;
    double *samples; /* scratch: all samples of an instance */
    double *regret, *floor;
    uint32_t *problem; /* of each regret */
    size_t n, cap;
};

static double time_of(struct work *w, struct rival *r, uint32_t mask)
{
    size_t n = 0;

    if (r->time[mask] > 0)
        return r->time[mask];
    for (uint32_t sweep = 0; sweep < w->s->n_sweeps; sweep++)
        for (size_t i = 0; (mask >> sweep & 1) && i < r->n_rounds[sweep]; i++) {
            const struct ks_sweep_round *round = &w->s->rounds[r->first_round[sweep] + i];

            for (uint32_t k = 0; k < round->n_samples; k++)
                w->samples[n++] = w->s->ns[round->first_sample + k];
        }
    ks_stats_sort(w->samples, n);
    r->time[mask] = w->o->is_minimum ? w->samples[0] : ks_stats_quantile(w->samples, n, 0.5);
    return r->time[mask];
}

static size_t best_by_time(struct work *w, uint32_t mask)
{
    size_t best = 0;

    for (size_t i = 1; i < w->n_rivals; i++)
        if (time_of(w, &w->rivals[i], mask) < time_of(w, &w->rivals[best], mask))
            best = i;
    return best;
}

static double label_of(const struct work *w, const struct rival *r, uint32_t mask)
{
    double x[KS_YARDSTICK_SWEEPS], scratch[KS_YARDSTICK_SWEEPS];
    size_t n = 0;

    for (uint32_t sweep = 0; sweep < w->s->n_sweeps; sweep++)
        if (mask >> sweep & 1) {
            if (isinf(r->label[sweep]))
                return INFINITY;
            x[n++] = r->label[sweep];
        }
    return ks_over_rounds(x, n, w->o->over, scratch);
}

static size_t best_by_label(const struct work *w, uint32_t mask)
{
    size_t best = 0;

    for (size_t i = 1; i < w->n_rivals; i++)
        if (label_of(w, &w->rivals[i], mask) < label_of(w, &w->rivals[best], mask))
            best = i;
    return best;
}

static int put_regret(struct work *w, uint32_t problem, uint32_t a, uint32_t c1, uint32_t c2,
                      struct ks_err *err)
{
    size_t best = best_by_time(w, c1);
    double least = time_of(w, &w->rivals[best], c2);

    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 1024;
        double *regret = realloc(w->regret, cap * sizeof(*regret));
        double *floor_ = regret ? realloc(w->floor, cap * sizeof(*floor_)) : NULL;
        uint32_t *of = floor_ ? realloc(w->problem, cap * sizeof(*of)) : NULL;

        w->regret = regret ? regret : w->regret;
        w->floor = floor_ ? floor_ : w->floor;
        if (!of)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu values", cap);
        w->problem = of;
        w->cap = cap;
    }
    w->regret[w->n] = time_of(w, &w->rivals[best_by_label(w, a)], c2) / least - 1;
    w->floor[w->n] = time_of(w, &w->rivals[best_by_time(w, a)], c2) / least - 1;
    w->problem[w->n++] = problem;
    return 0;
}

static uint32_t n_bits(uint32_t mask)
{
    uint32_t n = 0;

    for (; mask; mask &= mask - 1)
        n++;
    return n;
}

/* Every A and C1; C2 is what is left. */
static int split_problem(struct work *w, uint32_t problem, struct ks_err *err)
{
    uint32_t all = (1u << w->s->n_sweeps) - 1;
    int rc = 0;

    for (uint32_t a = 1; rc == 0 && a <= all; a++)
        for (uint32_t c1 = 1; rc == 0 && n_bits(a) == w->o->n_a && c1 <= all; c1++)
            if ((c1 & a) == 0 && n_bits(c1) == w->o->n_c1)
                rc = put_regret(w, problem, a, c1, all & ~a & ~c1, err);
    return rc;
}

static bool find_label(const struct ks_trials *t, const struct ks_contest *c, uint32_t instance,
                       uint32_t sweep, double *out)
{
    for (size_t i = c->first; i < c->first + c->n; i++)
        if (t->trials[i].instance == instance && t->trials[i].sweep == sweep) {
            *out = t->trials[i].is_contender ? t->trials[i].aligned : INFINITY;
            return true;
        }
    return false;
}

/* r: rounds [first, end) of one contest and instance, by sweep. */
static void add_rival(struct work *w, const struct ks_trials *t, const struct ks_contest *c,
                      size_t first, size_t end)
{
    struct rival *rival = &w->rivals[w->n_rivals];
    double *time = rival->time;

    *rival = (struct rival){ .time = time };
    for (size_t i = first; i < end; i++) {
        const struct ks_sweep_round *r = &w->s->rounds[i];

        if (r->outcome != KS_O_OK)
            return;
        if (rival->n_rounds[r->sweep]++ == 0)
            rival->first_round[r->sweep] = i;
    }
    for (uint32_t sweep = 0; sweep < w->s->n_sweeps; sweep++)
        if (!find_label(t, c, w->s->rounds[first].instance, sweep, &rival->label[sweep]))
            return;
    memset(time, 0, (1u << w->s->n_sweeps) * sizeof(*time));
    w->n_rivals++;
}

static int regret_of_contest(struct work *w, const struct ks_trials *t, const struct ks_contest *c,
                             size_t first, size_t end, struct ks_err *err)
{
    w->n_rivals = 0;
    for (size_t i = first, next; i < end; i = next) {
        for (next = i + 1; next < end && w->s->rounds[next].instance == w->s->rounds[i].instance;)
            next++;
        add_rival(w, t, c, i, next);
    }
    return w->n_rivals > 1 ? split_problem(w, c->problem, err) : 0;
}

static int reserve(struct work *w, struct ks_err *err)
{
    size_t n = w->s->n_instances;

    w->samples = calloc(w->s->n_ns + 1, sizeof(*w->samples));
    w->rivals = calloc(n + 1, sizeof(*w->rivals));
    for (size_t i = 0; w->rivals && i <= n; i++) {
        w->rivals[i].time = calloc(1u << w->s->n_sweeps, sizeof(double));
        if (!w->rivals[i].time)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu instances", n);
    }
    return w->samples && w->rivals ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

static void release(struct work *w)
{
    for (size_t i = 0; w->rivals && i <= w->s->n_instances; i++)
        free(w->rivals[i].time);
    free(w->rivals);
    free(w->samples);
    free(w->regret);
    free(w->floor);
    free(w->problem);
}

static int regret_of_all(struct work *w, const struct ks_trials *t, struct ks_err *err)
{
    const struct ks_sweeps *s = w->s;
    size_t k = 0;
    int rc = 0;

    for (size_t i = 0, end; rc == 0 && i < s->n_rounds; i = end, k++) {
        for (end = i + 1; end < s->n_rounds && s->rounds[end].domain == s->rounds[i].domain &&
                          s->rounds[end].problem == s->rounds[i].problem;)
            end++;
        rc = regret_of_contest(w, t, &t->contests[k], i, end, err);
    }
    return rc;
}

int ks_yardstick_regret(const struct ks_sweeps *s, const struct ks_yardstick_options *o,
                        struct ks_yardstick *out, struct ks_err *err)
{
    struct work w = { .s = s, .o = o };
    struct ks_trials t = { 0 };
    int rc;

    *out = (struct ks_yardstick){ 0 };
    if (o->n_a + o->n_c1 >= s->n_sweeps || s->n_sweeps > KS_YARDSTICK_SWEEPS)
        return ks_fail(err, KS_EINVAL,
                       "%u sweeps cannot form groups of %u, %u and the rest: give %u to %u sweeps",
                       s->n_sweeps, o->n_a, o->n_c1, o->n_a + o->n_c1 + 1, KS_YARDSTICK_SWEEPS);
    rc = ks_trials_make(s, o->statistic, o->over, &t, err);
    if (rc == 0)
        rc = reserve(&w, err);
    if (rc == 0)
        rc = regret_of_all(&w, &t, err);
    if (rc == 0 && w.n == 0)
        rc = ks_fail(err, KS_EINVAL, "no problem has two instances with a time in every sweep");
    if (rc == 0)
        rc = ks_quantiles_of(w.regret, w.problem, w.n, &out->regret, err);
    if (rc == 0)
        rc = ks_quantiles_of(w.floor, w.problem, w.n, &out->floor, err);
    out->n_regrets = w.n;
    for (size_t i = 0; i < w.n; i++)
        out->n_problems += i == 0 || w.problem[i] != w.problem[i - 1];
    release(&w);
    ks_trials_release(&t);
    return rc;
}
