/* SPDX-License-Identifier: MIT */
/* compare_problems.c - means over problems; intervals resample problems with all their cells */
#include "analysis/learn/compare.h"

#include <math.h>
#include <stdlib.h>

#define SEED 14u
#define TIE  0.005 /* relative */

struct problem {
    double n_cells, difference; /* sum over cells */
    double best, sum[2];        /* log of B / A of the best times; uses x ns */
    double is_same, is_tied, regret[2];
};

enum { CELLS, BEST, SUM_A, SUM_B, RATIO, SAME, TIED, REGRET_A, REGRET_B, N_FIGURES };

/* ---- one problem ---- */

static const struct ks_pair *winner(const struct ks_pair *p, size_t n, uint32_t side)
{
    const struct ks_pair *best = p;

    for (size_t i = 1; i < n; i++)
        best = p[i].log_ns[side] < best->log_ns[side] ? &p[i] : best;
    return best;
}

static void sum_up(const struct ks_pair *p, size_t n, double n_uses, struct problem *out)
{
    const struct ks_pair *a = winner(p, n, 0), *b = winner(p, n, 1);

    *out = (struct problem){ .n_cells = (double)n, .best = b->log_ns[1] - a->log_ns[0] };
    for (size_t i = 0; i < n; i++)
        out->difference += p[i].difference;
    out->sum[0] = n_uses * exp(a->log_ns[0]);
    out->sum[1] = n_uses * exp(b->log_ns[1]);
    out->regret[0] = expm1(a->log_ns[1] - b->log_ns[1]);
    out->regret[1] = expm1(b->log_ns[0] - a->log_ns[0]);
    out->is_same = a == b;
    out->is_tied = out->regret[0] <= TIE && out->regret[1] <= TIE;
}

/* ---- over problems ---- */

struct drawing {
    const struct problem *problems;
    size_t n;
};

static void figures(void *ctx, const uint32_t *unit, double *out)
{
    const struct drawing *d = ctx;
    const double n = (double)d->n;
    double cells = 0;

    for (int k = 0; k < N_FIGURES; k++)
        out[k] = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct problem *p = &d->problems[unit[i]];

        cells += p->n_cells;
        out[CELLS] += p->difference;
        out[BEST] += p->best / n;
        out[SUM_A] += p->sum[0];
        out[SUM_B] += p->sum[1];
        out[SAME] += p->is_same / n;
        out[TIED] += p->is_tied / n;
        out[REGRET_A] += p->regret[0] / n;
        out[REGRET_B] += p->regret[1] / n;
    }
    out[CELLS] = exp(out[CELLS] / cells);
    out[BEST] = exp(out[BEST]);
    out[RATIO] = out[SUM_B] / out[SUM_A];
}

static int bootstrap(const struct problem *p, size_t n, struct ks_comparison *c, struct ks_err *err)
{
    struct ks_interval *const to[N_FIGURES] = {
        [CELLS] = &c->cells,       [BEST] = &c->best,          [SUM_A] = &c->sum[0],
        [SUM_B] = &c->sum[1],      [RATIO] = &c->ratio,        [SAME] = &c->same_winner,
        [TIED] = &c->same_or_tied, [REGRET_A] = &c->regret[0], [REGRET_B] = &c->regret[1],
    };
    struct drawing d = { p, n };
    const struct ks_bootstrap b = { .n_units = n,
                                    .n_figures = N_FIGURES,
                                    .n_draws = KS_BOOTSTRAP_DRAWS,
                                    .level = 0.95,
                                    .seed = SEED,
                                    .ctx = &d,
                                    .figures = figures };
    struct ks_interval of[N_FIGURES];
    int rc = ks_bootstrap(&b, of, err);

    for (int k = 0; rc == 0 && k < N_FIGURES; k++)
        *to[k] = of[k];
    return rc;
}

int ks_compare_problems(struct ks_comparison *c, const struct ks_sweeps *s, struct ks_err *err)
{
    struct problem *p = calloc(c->n_pairs + 1, sizeof(*p));
    size_t n = 0;
    int rc;

    if (!p)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", c->n_pairs);
    for (size_t i = 0, end; i < c->n_pairs; i = end) {
        const struct ks_pair *at = &c->pairs[i];

        for (end = i + 1; end < c->n_pairs && c->pairs[end].problem == at->problem &&
                          c->pairs[end].domain == at->domain;)
            end++;
        sum_up(at, end - i, (double)s->problems[at->problem].n_uses, &p[n]);
        for (uint32_t side = 0; side < 2; side++)
            c->worst_regret[side] = fmax(c->worst_regret[side], p[n].regret[side]);
        n++;
    }
    c->n_problems = n;
    rc = n ? bootstrap(p, n, c, err) : 0;
    free(p);
    return rc;
}
