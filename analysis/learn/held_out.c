/* SPDX-License-Identifier: MIT */
#include "analysis/learn/held_out.h"
#include "race/student.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

/* ---- intervals ---- */

static uint32_t class_of(uint32_t n_rounds)
{
    return n_rounds < 2 ? 0 : n_rounds < 3 ? 1 : n_rounds < 6 ? 2 : 3;
}

/* All that one sweep says alone. */
struct alone {
    struct ks_trials t;
    struct ks_scatter *scatter; /* [n_domains] */
};

static int alone_make(const struct ks_sweeps *s, uint32_t sweep, unsigned statistic, unsigned over,
                      struct alone *out, struct ks_err *err)
{
    struct ks_sweeps one;
    int rc = ks_sweeps_pick(s, 1u << sweep, &one, err);

    *out = (struct alone){ .scatter = NULL };
    if (rc < 0)
        return rc;
    rc = ks_trials_make(&one, statistic, over, &out->t, err);
    ks_sweeps_drop(&one);
    if (rc < 0)
        return rc;
    out->scatter = calloc(s->n_domains + 1u, sizeof(*out->scatter));
    if (!out->scatter)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t d = 0; rc == 0 && d < s->n_domains; d++)
        rc = ks_scatter_find(&out->t, d, over, &out->scatter[d], err);
    return rc;
}

static void alone_release(struct alone *a)
{
    ks_trials_release(&a->t);
    free(a->scatter);
}

static const struct ks_contest *find_contest(const struct ks_trials *t, const struct ks_contest *c)
{
    for (size_t i = 0; i < t->n_contests; i++)
        if (t->contests[i].domain == c->domain && t->contests[i].problem == c->problem)
            return &t->contests[i];
    return NULL;
}

/* Counts one label; `half` collects half-widths of its class. */
static void count_label(const struct ks_scatter *s, const struct ks_scatter *next_s, unsigned over,
                        const struct ks_trial *t, const struct ks_trial *next,
                        struct ks_coverage *c, double *half)
{
    double own = ks_scatter_variance(s, t->n_rounds, over);
    double both = own + ks_scatter_variance(next_s, next->n_rounds, over);
    double h = ks_scatter_half_width(s, t->n_rounds, over);

    c->promised += 1 - 2 * ks_student_tail(h / sqrt(both), s->freedom);
    c->seen += fabs(next->label - t->label) <= h;
    half[c->n++] = h;
}

static void cover(const struct alone *a, const struct alone *next, unsigned over,
                  struct ks_coverage *out, double *const *half)
{
    for (size_t i = 0; i < a->t.n_contests; i++) {
        const struct ks_contest *c = &a->t.contests[i], *d = find_contest(&next->t, c);

        for (size_t k = 0; d && k < c->n; k++) {
            const struct ks_trial *t = &a->t.trials[c->first + k];
            uint32_t class = class_of(t->n_rounds);

            for (size_t m = d->first; m < d->first + d->n; m++)
                if (next->t.trials[m].instance == t->instance)
                    count_label(&a->scatter[c->domain], &next->scatter[c->domain], over, t,
                                &next->t.trials[m], &out[class], half[class]);
        }
    }
}

static void finish_coverage(struct ks_coverage *c, double *half)
{
    if (c->n == 0)
        return;
    c->promised /= (double)c->n;
    c->seen /= (double)c->n;
    ks_stats_sort(half, c->n);
    c->half_width = half[c->n / 2];
}

int ks_held_coverage(const struct ks_sweeps *s, unsigned statistic, unsigned over,
                     struct ks_coverage out[KS_HELD_CLASSES], struct ks_err *err)
{
    double *half[KS_HELD_CLASSES] = { NULL };
    struct alone *a = calloc(s->n_sweeps + 1u, sizeof(*a));
    int rc = a ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (uint32_t k = 0; k < KS_HELD_CLASSES; k++) {
        out[k] = (struct ks_coverage){ 0 };
        half[k] = calloc(s->n_rounds + 1, sizeof(double));
        if (rc == 0 && !half[k])
            rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", s->n_rounds);
    }
    if (rc == 0 && s->n_sweeps < 2)
        rc = ks_fail(err, KS_EINVAL, "coverage needs at least two sweeps");
    for (uint32_t i = 0; rc == 0 && i < s->n_sweeps; i++)
        rc = alone_make(s, i, statistic, over, &a[i], err);
    for (uint32_t i = 0; rc == 0 && i < s->n_sweeps; i++)
        cover(&a[i], &a[(i + 1) % s->n_sweeps], over, out, half);
    for (uint32_t k = 0; k < KS_HELD_CLASSES; k++) {
        if (rc == 0)
            finish_coverage(&out[k], half[k]);
        free(half[k]);
    }
    for (uint32_t i = 0; a && i < s->n_sweeps; i++)
        alone_release(&a[i]);
    free(a);
    return rc;
}

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
struct work {
    const struct ks_sweeps *s;
    unsigned statistic, over;
    double margin;
    struct scores best, near;
    struct ks_calibration *out;
    size_t n_labels;
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
        if (i == a->first) {
            w->out->expected_regret += c->regret;
            w->out->seen_regret += there->estimate - least->estimate;
            w->n_labels++;
        }
    }
}

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
    for (size_t i = 0; rc == 0 && i < o.n_answers; i++)
        for (size_t k = 0; k < held.n_answers; k++)
            if (held.answers[k].domain == o.answers[i].domain &&
                held.answers[k].problem == o.answers[i].problem)
                score_answer(w, &o, &o.answers[i], &held, &held.answers[k]);
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

int ks_held_calibration(const struct ks_sweeps *s, unsigned statistic, unsigned over,
                        uint32_t n_train, double margin, struct ks_calibration *out,
                        struct ks_err *err)
{
    struct work w = { .s = s, .statistic = statistic, .over = over, .margin = margin, .out = out };
    int rc = 0;

    *out = (struct ks_calibration){ .n_train = n_train, .n_held = s->n_sweeps - n_train };
    if (n_train == 0 || n_train >= s->n_sweeps || s->n_sweeps > KS_YARDSTICK_SWEEPS)
        return ks_fail(err, KS_EINVAL,
                       "%u sweeps, of which %u are for training: none is left to test", s->n_sweeps,
                       n_train);
    if (!scores_init(&w.best, s->n_rounds * s->n_sweeps + 1) ||
        !scores_init(&w.near, s->n_rounds * s->n_sweeps + 1))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", s->n_rounds);
    for (uint32_t i = 0; rc == 0 && i + n_train <= s->n_sweeps; i++)
        rc = hold_out(&w, ((1u << n_train) - 1) << i, err);
    if (rc == 0)
        rc = finish(&out->best, &w.best, err);
    if (rc == 0)
        rc = finish(&out->near, &w.near, err);
    if (w.n_labels) {
        out->expected_regret /= (double)w.n_labels;
        out->seen_regret /= (double)w.n_labels;
    }
    scores_release(&w.best);
    scores_release(&w.near);
    return rc;
}
