/* SPDX-License-Identifier: MIT */
/* held_chances.c - counts how often chances come true, and bounds regret, in the other sweeps */
#include "analysis/learn/held_out.h"

#include <math.h>
#include <stdlib.h>

/* ---- chances ---- */

static const double bins[KS_HELD_BINS] = { 0.01, 0.1, 0.3, 0.6, 0.9, 1 };

double ks_held_bin(uint32_t i)
{
    return bins[i];
}

struct scores { /* of one kind of chance */
    double *brier;
    uint32_t *problem;
    size_t n;
};
struct label { /* of one answer */
    uint32_t problem;
    double regret[KS_HELD_REGRETS]; /* logs */
};
struct work {
    const struct ks_sweeps *s;
    unsigned statistic, over;
    double margin;
    struct scores best, near;
    struct ks_calibration *out;
    struct ks_trials trials; /* of all sweeps, each by itself */
    struct label *labels;
    size_t n_labels;
    double *table; /* [instances of a contest][n_sweeps] aligned */
    uint32_t *instance;
    size_t n_rows;
};

static void score(struct ks_reliability *r, struct scores *s, double chance, bool is_so,
                  uint32_t problem)
{
    uint32_t bin = 0;

    while (bin + 1 < KS_HELD_BINS && chance > bins[bin])
        bin++;
    r->n[bin]++;
    r->predicted[bin] += chance;
    r->seen[bin] += is_so;
    s->brier[s->n] = (chance - is_so) * (chance - is_so);
    s->problem[s->n++] = problem;
}

static const struct ks_chance *find_chance(const struct ks_oracle *o, const struct ks_answer *a,
                                           uint32_t instance)
{
    for (size_t i = a->first; i < a->first + a->n; i++)
        if (o->chances[i].instance == instance)
            return &o->chances[i];
    return NULL;
}

static void score_answer(struct work *w, const struct ks_oracle *o, const struct ks_answer *a,
                         const struct ks_oracle *held, const struct ks_answer *b)
{
    const struct ks_chance *least = &held->chances[b->first];
    double reach = least->estimate + log1p(w->margin);

    for (size_t i = a->first; i < a->first + a->n; i++) {
        const struct ks_chance *c = &o->chances[i], *there = find_chance(held, b, c->instance);

        if (!there)
            continue;
        score(&w->out->best, &w->best, c->best, there == least, a->problem);
        score(&w->out->near, &w->near, c->near, there->estimate <= reach, a->problem);
    }
}

/* ---- regret ---- */

/* Instances of a contest that have a time in every sweep. */
static void fill_table(struct work *w, const struct ks_contest *c)
{
    const struct ks_trial *t = &w->trials.trials[c->first];
    const size_t n_sweeps = w->s->n_sweeps;

    w->n_rows = 0;
    for (size_t i = 0, end; i < c->n; i = end) {
        for (end = i + 1; end < c->n && t[end].instance == t[i].instance;)
            end++;
        if (end - i < n_sweeps)
            continue;
        for (size_t k = 0; k < n_sweeps; k++)
            w->table[w->n_rows * n_sweeps + k] = t[i + k].aligned;
        w->instance[w->n_rows++] = t[i].instance;
    }
}

static double mean_in(const struct work *w, size_t row, uint32_t mask)
{
    double sum = 0, n = 0;

    for (uint32_t k = 0; k < w->s->n_sweeps; k++)
        if (mask >> k & 1) {
            sum += w->table[row * w->s->n_sweeps + k];
            n++;
        }
    return sum / n;
}

static size_t fastest_in(const struct work *w, uint32_t mask)
{
    size_t best = 0;

    for (size_t i = 1; i < w->n_rows; i++)
        if (mean_in(w, i, mask) < mean_in(w, best, mask))
            best = i;
    return best;
}

/* By how much the label is slower than the best. In each held sweep than the one that all others
 * name: it may not be the best, and so this is too little. Then than the fastest of the held sweeps
 * themselves: it owes that to luck as well, and so this is too much. */
static void bound_regret(struct work *w, const struct ks_answer *a, const struct ks_chance *c,
                         uint32_t train)
{
    const uint32_t all = (1u << w->s->n_sweeps) - 1, held = all & ~train;
    struct label *l = &w->labels[w->n_labels];
    double least = 0, n = 0, most;
    size_t row = 0;

    while (row < w->n_rows && w->instance[row] != c->instance)
        row++;
    if (row == w->n_rows) {
        w->out->n_not_held++;
        return;
    }
    for (uint32_t k = 0; k < w->s->n_sweeps; k++)
        if (held >> k & 1) {
            least +=
                mean_in(w, row, 1u << k) - mean_in(w, fastest_in(w, all & ~(1u << k)), 1u << k);
            n++;
        }
    least /= n;
    most = mean_in(w, row, held) - mean_in(w, fastest_in(w, held), held);
    *l = (struct label){
        .problem = a->problem,
        .regret = { [KS_HELD_EXPECTED] = c->regret, [KS_HELD_LEAST] = least, [KS_HELD_MOST] = most }
    };
    w->n_labels++;
}

static int by_label(const void *x, const void *y)
{
    const struct label *a = x, *b = y;

    return (a->problem > b->problem) - (a->problem < b->problem);
}

static int finish_regret(struct work *w, struct ks_err *err)
{
    double *value = calloc(w->n_labels + 1, sizeof(*value));
    uint32_t *problem = calloc(w->n_labels + 1, sizeof(*problem));
    int rc = value && problem ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    qsort(w->labels, w->n_labels, sizeof(*w->labels), by_label);
    for (unsigned k = 0; rc == 0 && k < KS_HELD_REGRETS; k++) {
        for (size_t i = 0; i < w->n_labels; i++) {
            value[i] = w->labels[i].regret[k];
            problem[i] = w->labels[i].problem;
        }
        rc = ks_quantiles_of(value, problem, w->n_labels, &w->out->regret[k], err);
    }
    w->out->n_labels = w->n_labels;
    free(value);
    free(problem);
    return rc;
}

/* ---- sweeps ---- */

static int make_oracle(struct work *w, uint32_t mask, struct ks_oracle *out, struct ks_err *err)
{
    struct ks_sweeps some;
    struct ks_trials t = { 0 };
    int rc = ks_sweeps_pick(w->s, mask, &some, err);

    *out = (struct ks_oracle){ 0 };
    if (rc < 0)
        return rc;
    rc = ks_trials_make(&some, w->statistic, w->over, &t, err);
    if (rc == 0)
        rc = ks_oracle_make(&t, w->s->n_domains, w->over, w->margin, out, err);
    ks_trials_release(&t);
    ks_sweeps_drop(&some);
    return rc;
}

static int hold_out(struct work *w, uint32_t mask, struct ks_err *err)
{
    struct ks_oracle o, held = { 0 };
    int rc = make_oracle(w, mask, &o, err);

    if (rc == 0)
        rc = make_oracle(w, ((1u << w->s->n_sweeps) - 1) & ~mask, &held, err);
    for (size_t i = 0; rc == 0 && i < o.n_answers; i++) {
        const struct ks_answer *a = &o.answers[i];

        for (size_t k = 0; k < held.n_answers; k++)
            if (held.answers[k].domain == a->domain && held.answers[k].problem == a->problem)
                score_answer(w, &o, a, &held, &held.answers[k]);
        for (size_t k = 0; k < w->trials.n_contests; k++)
            if (w->trials.contests[k].domain == a->domain &&
                w->trials.contests[k].problem == a->problem) {
                fill_table(w, &w->trials.contests[k]);
                bound_regret(w, a, &o.chances[a->first], mask);
            }
    }
    ks_oracle_release(&o);
    ks_oracle_release(&held);
    return rc;
}

struct scored {
    uint32_t problem;
    double brier;
};

static int by_problem(const void *x, const void *y)
{
    const struct scored *a = x, *b = y;

    return (a->problem > b->problem) - (a->problem < b->problem);
}

/* Means of the bins, and the Brier score over problems. */
static int finish(struct ks_reliability *r, struct scores *s, struct ks_err *err)
{
    struct scored *all = calloc(s->n + 1, sizeof(*all));

    if (!all)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu chances", s->n);
    for (uint32_t b = 0; b < KS_HELD_BINS; b++) {
        r->predicted[b] /= r->n[b] ? (double)r->n[b] : 1;
        r->seen[b] /= r->n[b] ? (double)r->n[b] : 1;
    }
    for (size_t i = 0; i < s->n; i++) {
        all[i].problem = s->problem[i];
        all[i].brier = s->brier[i];
    }
    qsort(all, s->n, sizeof(*all), by_problem);
    for (size_t i = 0; i < s->n; i++) {
        s->problem[i] = all[i].problem;
        s->brier[i] = all[i].brier;
    }
    free(all);
    return ks_quantiles_of(s->brier, s->problem, s->n, &r->brier, err);
}

static bool scores_init(struct scores *s, size_t n)
{
    s->brier = calloc(n, sizeof(*s->brier));
    s->problem = calloc(n, sizeof(*s->problem));
    return s->brier && s->problem;
}

static void scores_release(struct scores *s)
{
    free(s->brier);
    free(s->problem);
}

static int work_init(struct work *w, struct ks_err *err)
{
    const struct ks_sweeps *s = w->s;
    int rc = ks_trials_make(s, w->statistic, w->over, &w->trials, err);

    if (rc < 0)
        return rc;
    w->labels = calloc(w->trials.n_contests * s->n_sweeps + 1, sizeof(*w->labels));
    w->table = calloc(w->trials.most + 1, sizeof(*w->table));
    w->instance = calloc(w->trials.most + 1, sizeof(*w->instance));
    if (!w->labels || !w->table || !w->instance ||
        !scores_init(&w->best, s->n_rounds * s->n_sweeps + 1) ||
        !scores_init(&w->near, s->n_rounds * s->n_sweeps + 1))
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", s->n_rounds);
    return 0;
}

static void work_release(struct work *w)
{
    ks_trials_release(&w->trials);
    scores_release(&w->best);
    scores_release(&w->near);
    free(w->labels);
    free(w->table);
    free(w->instance);
}

int ks_held_calibration(const struct ks_sweeps *s, unsigned statistic, unsigned over,
                        uint32_t n_train, double margin, struct ks_calibration *out,
                        struct ks_err *err)
{
    struct work w = { .s = s, .statistic = statistic, .over = over, .margin = margin, .out = out };
    int rc;

    *out = (struct ks_calibration){ .n_train = n_train, .n_held = s->n_sweeps - n_train };
    if (s->n_sweeps > KS_YARDSTICK_SWEEPS)
        return ks_fail(err, KS_EINVAL, "%u sweeps, at most %u are supported", s->n_sweeps,
                       (unsigned)KS_YARDSTICK_SWEEPS);
    if (n_train == 0 || n_train >= s->n_sweeps)
        return ks_fail(err, KS_EINVAL,
                       "%u sweeps, of which %u are for training: none is left to test", s->n_sweeps,
                       n_train);
    rc = work_init(&w, err);
    for (uint32_t i = 0; rc == 0 && i + n_train <= s->n_sweeps; i++)
        rc = hold_out(&w, ((1u << n_train) - 1) << i, err);
    if (rc == 0)
        rc = finish(&out->best, &w.best, err);
    if (rc == 0)
        rc = finish(&out->near, &w.near, err);
    if (rc == 0)
        rc = finish_regret(&w, err);
    work_release(&w);
    return rc;
}
