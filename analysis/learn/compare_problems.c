/* SPDX-License-Identifier: MIT */
/* What a comparison says over problems, with bootstrap intervals (Efron & Tibshirani 1993, 13.3:
 * percentiles; problems are drawn, because the cells of a problem belong together). */
#include "analysis/learn/compare.h"
#include "base/hash.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

#define N_DRAWS 1000u
#define SEED    14u
#define TIE     0.005 /* relative */

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

static void figures(const struct problem *const *p, size_t n, double *out)
{
    double cells = 0;

    for (int k = 0; k < N_FIGURES; k++)
        out[k] = 0;
    for (size_t i = 0; i < n; i++) {
        cells += p[i]->n_cells;
        out[CELLS] += p[i]->difference;
        out[BEST] += p[i]->best / (double)n;
        out[SUM_A] += p[i]->sum[0];
        out[SUM_B] += p[i]->sum[1];
        out[SAME] += p[i]->is_same / (double)n;
        out[TIED] += p[i]->is_tied / (double)n;
        out[REGRET_A] += p[i]->regret[0] / (double)n;
        out[REGRET_B] += p[i]->regret[1] / (double)n;
    }
    out[CELLS] = exp(out[CELLS] / cells);
    out[BEST] = exp(out[BEST]);
    out[RATIO] = out[SUM_B] / out[SUM_A];
}

static struct ks_interval interval(double value, double *draws)
{
    ks_stats_sort(draws, N_DRAWS);
    return (struct ks_interval){ .value = value,
                                 .lo = draws[N_DRAWS / 40],
                                 .hi = draws[N_DRAWS - 1 - N_DRAWS / 40] };
}

/* draws: [N_FIGURES][N_DRAWS]; chosen: [n] */
static void bootstrap(const struct problem *p, size_t n, const struct problem **chosen,
                      double *draws, struct ks_comparison *c)
{
    struct ks_interval *const to[N_FIGURES] = {
        [CELLS] = &c->cells,       [BEST] = &c->best,          [SUM_A] = &c->sum[0],
        [SUM_B] = &c->sum[1],      [RATIO] = &c->ratio,        [SAME] = &c->same_winner,
        [TIED] = &c->same_or_tied, [REGRET_A] = &c->regret[0], [REGRET_B] = &c->regret[1],
    };
    double value[N_FIGURES], drawn[N_FIGURES];
    uint64_t rng = SEED;

    for (size_t i = 0; i < n; i++)
        chosen[i] = &p[i];
    figures(chosen, n, value);
    for (size_t d = 0; d < N_DRAWS; d++) {
        for (size_t i = 0; i < n; i++)
            chosen[i] = &p[ks_rng_below(&rng, n)];
        figures(chosen, n, drawn);
        for (size_t k = 0; k < N_FIGURES; k++)
            draws[k * N_DRAWS + d] = drawn[k];
    }
    for (size_t k = 0; k < N_FIGURES; k++)
        *to[k] = interval(value[k], draws + k * N_DRAWS);
}

int ks_compare_problems(struct ks_comparison *c, const struct ks_sweeps *s, struct ks_err *err)
{
    struct problem *p = calloc(c->n_pairs + 1, sizeof(*p));
    const struct problem **chosen = calloc(c->n_pairs + 1, sizeof(*chosen));
    double *draws = calloc((size_t)N_FIGURES * N_DRAWS, sizeof(*draws));
    bool is_enough = p && chosen && draws;
    size_t n = 0;

    for (size_t i = 0, end; is_enough && i < c->n_pairs; i = end) {
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
    if (is_enough)
        bootstrap(p, n, chosen, draws, c);
    free(p);
    free(chosen);
    free(draws);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", c->n_pairs);
}
