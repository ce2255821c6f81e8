/* SPDX-License-Identifier: MIT */
/* yardstick_sweeps.c - agreement of the winners of two sweeps, and what a sweep cost */
#include "analysis/learn/yardstick.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

static const struct ks_trial *winner(const struct ks_trial *t, size_t n, uint32_t sweep)
{
    const struct ks_trial *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (t[i].sweep == sweep && t[i].is_contender && (!best || t[i].aligned < best->aligned))
            best = &t[i];
    return best;
}

static const struct ks_trial *of_instance(const struct ks_trial *t, size_t n, uint32_t sweep,
                                          uint32_t instance)
{
    for (size_t i = 0; i < n; i++)
        if (t[i].sweep == sweep && t[i].instance == instance)
            return &t[i];
    return NULL;
}

/* In sweep `of` the other sweep's winner is within the margin of its own. */
static bool is_tied(const struct ks_trial *t, size_t n, const struct ks_trial *own,
                    const struct ks_trial *other, double margin)
{
    const struct ks_trial *there = of_instance(t, n, own->sweep, other->instance);

    return there && there->aligned <= own->aligned + log1p(margin);
}

static void add_pair(const struct ks_trial *t, size_t n, uint32_t i, uint32_t k, double margin,
                     struct ks_agreement *out)
{
    const struct ks_trial *a = winner(t, n, i), *b = winner(t, n, k);
    bool in_a, in_b;

    if (!a || !b)
        return;
    in_a = is_tied(t, n, a, b, margin);
    in_b = is_tied(t, n, b, a, margin);
    out->n++;
    out->same += a->instance == b->instance;
    out->tied += in_a || in_b;
    out->tied_both += in_a && in_b;
}

int ks_yardstick_agreement(const struct ks_sweeps *s, unsigned statistic, unsigned over,
                           double margin, struct ks_agreement *out, struct ks_err *err)
{
    struct ks_trials t;
    int rc = ks_trials_make(s, statistic, over, &t, err);

    *out = (struct ks_agreement){ 0 };
    if (rc < 0)
        return rc;
    for (size_t c = 0; c < t.n_contests; c++)
        for (uint32_t i = 0; i < s->n_sweeps; i++)
            for (uint32_t k = i + 1; k < s->n_sweeps; k++)
                add_pair(&t.trials[t.contests[c].first], t.contests[c].n, i, k, margin, out);
    if (out->n) {
        out->same /= (double)out->n;
        out->tied /= (double)out->n;
        out->tied_both /= (double)out->n;
    }
    ks_trials_release(&t);
    return 0;
}

int ks_yardstick_cost(const struct ks_sweeps *s, struct ks_cost *out, struct ks_err *err)
{
    struct ks_trials t;
    double *x;
    size_t n = 0;
    int rc = ks_trials_make(s, KS_STATISTIC_MEDIAN, KS_OVER_MEDIAN, &t, err);

    *out = (struct ks_cost){ 0 };
    if (rc < 0)
        return rc;
    x = calloc(t.n_contests * s->n_sweeps + 1, sizeof(*x));
    for (size_t c = 0; x && c < t.n_contests; c++)
        for (uint32_t sweep = 0; sweep < s->n_sweeps; sweep++) {
            const struct ks_trial *at = &t.trials[t.contests[c].first];
            const struct ks_trial *best = winner(at, t.contests[c].n, sweep);
            double first = 0, spent = 0;

            for (size_t i = 0; i < t.contests[c].n; i++) {
                first += at[i].sweep == sweep ? at[i].first_ns : 0;
                spent += at[i].sweep == sweep ? at[i].spent_ns : 0;
            }
            if (first <= 0)
                continue;
            x[n++] = spent / first;
            out->rounds_of_label += best->n_rounds;
        }
    if (x && n > 0) {
        ks_stats_sort(x, n);
        out->over_first = (x[(n - 1) / 2] + x[n / 2]) / 2;
        out->over_ten = out->over_first / 10;
        out->rounds_of_label /= (double)n;
    }
    ks_trials_release(&t);
    free(x);
    return x ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}
