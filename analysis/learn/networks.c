/* SPDX-License-Identifier: MIT */
/* networks.c - what the picks cost each network, by use counts */
#include "analysis/learn/networks.h"
#include "analysis/learn/bootstrap.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>

struct weighed { /* of a problem that counts: uses x ns */
    double best, picked;
};
struct drawing {
    const struct weighed *problems;
    size_t n;
};

static void regret(void *ctx, const uint32_t *unit, double *out)
{
    const struct drawing *d = ctx;
    double best = 0, picked = 0;

    for (size_t i = 0; i < d->n; i++) {
        best += d->problems[unit[i]].best;
        picked += d->problems[unit[i]].picked;
    }
    out[0] = picked / best - 1;
}

static int interval(const struct ks_scorecard_input *in, const struct weighed *problems, size_t n,
                    struct ks_network *w, struct ks_err *err)
{
    struct drawing d = { problems, n };
    const struct ks_bootstrap b = { .n_units = n,
                                    .n_figures = 1,
                                    .n_draws = in->n_bootstrap,
                                    .level = 0.95,
                                    .seed = ks_mix64(in->seed),
                                    .ctx = &d,
                                    .figures = regret };
    struct ks_interval of;
    int rc;

    if (n == 0 || in->n_bootstrap == 0 || isnan(w->ns[KS_BY_MODEL]))
        return 0;
    rc = ks_bootstrap(&b, &of, err);
    if (rc == 0) {
        w->regret_lo = of.lo;
        w->regret_hi = of.hi;
    }
    return rc;
}

/* NaN: the chooser has no pick for it. */
static double picked_ns(const struct ks_scorecard_input *in, uint32_t chooser, uint32_t problem)
{
    if (!in->picks[chooser] ||
        (chooser == KS_BY_CEILING && in->has_ceiling && !in->has_ceiling[problem]))
        return NAN;
    return in->cells->cells[in->picks[chooser][problem].cell].time_ns;
}

static struct weighed add_problem(const struct ks_scorecard_input *in, uint32_t problem,
                                  int64_t n_uses, struct ks_network *w)
{
    const struct ks_cells *c = in->cells;
    const double uses = (double)n_uses;
    const struct ks_pick *model = in->picks[KS_BY_MODEL];
    const struct weighed out = { uses * c->cells[c->problems[problem].best].time_ns,
                                 uses * picked_ns(in, KS_BY_MODEL, problem) };

    w->n_counted++;
    w->n_counted_uses += (uint64_t)n_uses;
    if (model && model[problem].any_cell != KS_NO_CELL)
        w->n_free_uses += (uint64_t)n_uses;
    w->best_ns += out.best;
    for (uint32_t i = 0; i < KS_N_CHOOSERS; i++)
        w->ns[i] += uses * picked_ns(in, i, problem);
    return out;
}

int ks_network_weigh(const struct ks_scorecard_input *in, const struct ks_problem_set *list,
                     const char *name, struct ks_network *out, struct ks_err *err)
{
    struct ks_network w = { .name = name, .n_problems = list->n };
    struct weighed *problems = malloc((list->n + 1u) * sizeof(*problems));
    int rc;

    if (!problems)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u problems", list->n);
    w.regret_lo = w.regret_hi = NAN;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct ks_packed_problem *p = &list->problems.rows[i];
        const int64_t n_uses = p->count > 1 ? p->count : 1;
        const uint32_t problem = ks_cells_find_problem(in->cells, p->id);

        w.n_uses += (uint64_t)n_uses;
        if (problem == UINT32_MAX || !in->is_wanted[problem])
            continue;
        problems[w.n_counted] = add_problem(in, problem, n_uses, &w);
    }
    rc = interval(in, problems, (size_t)w.n_counted, &w, err);
    free(problems);
    if (rc == 0)
        *out = w;
    return rc;
}
