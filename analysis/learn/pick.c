/* SPDX-License-Identifier: MIT */
/* pick.c - the pick of each problem, its rank and efficiency, and their sums over problems */
#include "analysis/learn/pick.h"
#include "analysis/learn/metrics.h"

#include <math.h>
#include <stdlib.h>

static double score_of(const double *scores, uint32_t instance)
{
    return isnan(scores[instance]) ? INFINITY : scores[instance];
}

/* Whether cell a comes before cell b by score. */
static bool is_before(const struct ks_cells *c, const double *scores, size_t a, size_t b)
{
    double x = score_of(scores, c->cells[a].instance), y = score_of(scores, c->cells[b].instance);

    return x < y || (x == y && a < b);
}

/* The chosen cell, the score of the second, the place of the best. */
static void pick_measured(const struct ks_cells *c, const struct ks_cell_problem *p,
                          const double *scores, struct ks_pick *out)
{
    size_t second = KS_NO_CELL, end = p->first + p->n;

    out->cell = p->first;
    for (size_t i = p->first + 1; i < end; i++) {
        if (is_before(c, scores, i, out->cell)) {
            second = out->cell;
            out->cell = i;
        } else if (second == KS_NO_CELL || is_before(c, scores, i, second)) {
            second = i;
        }
    }
    for (size_t i = p->first; i < end; i++) {
        out->best_place += is_before(c, scores, i, p->best);
        out->rank += c->cells[i].time_ns < c->cells[out->cell].time_ns;
    }
    out->score = score_of(scores, c->cells[out->cell].instance);
    out->next_score =
        second == KS_NO_CELL ? out->score : score_of(scores, c->cells[second].instance);
}

static void best_of_k(const struct ks_cells *c, const struct ks_cell_problem *p,
                      const double *scores, struct ks_pick *out)
{
    for (size_t k = 0; k < KS_N_BEST_K; k++) {
        double least = INFINITY;

        for (size_t i = p->first; i < p->first + p->n; i++) {
            uint32_t place = 0;

            for (size_t j = p->first; j < p->first + p->n && place < ks_best_k[k]; j++)
                place += is_before(c, scores, j, i);
            if (place < ks_best_k[k] && c->cells[i].time_ns < least)
                least = c->cells[i].time_ns;
        }
        out->best_of_k[k] = c->cells[p->best].time_ns / least;
    }
}

static void pick_any(const struct ks_cells *c, uint32_t problem, const double *scores,
                     struct ks_pick *out)
{
    double least = INFINITY;

    out->any = UINT32_MAX;
    for (uint32_t i = 0; i < c->n_instances; i++) {
        bool is_better = out->any == UINT32_MAX || score_of(scores, i) < least;

        if (!is_better || ks_cells_is_refused(c, problem, i))
            continue;
        out->any = i;
        least = score_of(scores, i);
    }
    if (out->any != UINT32_MAX)
        out->any_cell = ks_cells_at(c, problem, out->any);
}

void ks_pick(const struct ks_cells *c, uint32_t problem, const double *scores,
             struct ks_pick *pick_out)
{
    const struct ks_cell_problem *p = &c->problems[problem];
    double best = c->cells[p->best].time_ns;
    struct ks_pick out = { .problem = problem, .any_cell = KS_NO_CELL };

    pick_measured(c, p, scores, &out);
    best_of_k(c, p, scores, &out);
    pick_any(c, problem, scores, &out);
    out.eff = best / c->cells[out.cell].time_ns;
    out.any_eff = out.any_cell == KS_NO_CELL ? 0 : best / c->cells[out.any_cell].time_ns;
    out.is_tied = ks_cells_tied(&c->cells[out.cell], &c->cells[p->best]);
    *pick_out = out;
}

size_t ks_pick_scored(const struct ks_cell_problem *p, const float *scores)
{
    size_t pick = p->first;

    for (size_t i = p->first; i < p->first + p->n; i++)
        if (scores[i] < scores[pick] || (isnan(scores[pick]) && !isnan(scores[i])))
            pick = i;
    return pick;
}

/* ---- sums ---- */

static double share(size_t n_yes, size_t n)
{
    return n ? (double)n_yes / (double)n : NAN;
}

static void count_tops(const struct ks_pick *picks, size_t n, struct ks_quality *q)
{
    size_t n_tied = 0, n_measured = 0;

    for (size_t k = 0; k < KS_N_TOP; k++) {
        size_t n_hit = 0, n_inside = 0;

        for (size_t i = 0; i < n; i++) {
            n_hit += picks[i].best_place < ks_top[k];
            n_inside += picks[i].rank < ks_top[k];
        }
        q->hit[k] = share(n_hit, n);
        q->inside[k] = share(n_inside, n);
    }
    for (size_t i = 0; i < n; i++) {
        n_tied += picks[i].is_tied;
        n_measured += picks[i].any_cell != KS_NO_CELL;
    }
    q->tied = share(n_tied, n);
    q->share = share(n_measured, n);
}

static void sum_times(const struct ks_cells *c, const struct ks_pick *picks, size_t n,
                      struct ks_quality *q)
{
    double best = 0, picked = 0;

    for (size_t k = 0; k < KS_N_BEST_K; k++) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += picks[i].best_of_k[k];
        q->best_of_k[k] = n ? sum / (double)n : NAN;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ks_cell_problem *p = &c->problems[picks[i].problem];
        double uses = p->problem.count > 1 ? (double)p->problem.count : 1;

        best += uses * c->cells[p->best].time_ns;
        picked += uses * c->cells[picks[i].cell].time_ns;
    }
    q->weighted = n ? best / picked : NAN;
}

/* The three lines; eff: [n] scratch. */
static int lines(const struct ks_pick *picks, size_t n, uint32_t n_bootstrap, uint64_t seed,
                 double *eff, struct ks_quality *q, struct ks_err *err)
{
    size_t n_measured = 0;
    int rc;

    for (size_t i = 0; i < n; i++)
        eff[i] = picks[i].eff;
    rc = ks_line(eff, n, n_bootstrap, seed, &q->measured, err);
    for (size_t i = 0; i < n; i++)
        eff[i] = picks[i].any_eff;
    if (rc == 0)
        rc = ks_line(eff, n, n_bootstrap, seed, &q->zero, err);
    for (size_t i = 0; i < n; i++)
        if (picks[i].any_cell != KS_NO_CELL)
            eff[n_measured++] = picks[i].any_eff;
    if (rc == 0)
        rc = ks_line(eff, n_measured, n_bootstrap, seed, &q->left_out, err);
    return rc;
}

/* How many measured cells of the problem are faster than this one. */
static uint32_t rank_of(const struct ks_cells *c, const struct ks_cell_problem *p, size_t cell)
{
    uint32_t rank = 0;

    for (size_t i = p->first; i < p->first + p->n; i++)
        rank += c->cells[i].time_ns < c->cells[cell].time_ns;
    return rank;
}

/* By the definitions of Composable Kernel's tools: the model's first of all instances. */
static int ck_scores(const struct ks_cells *c, const struct ks_pick *picks, size_t n,
                     struct ks_quality *q, struct ks_err *err)
{
    struct ks_ck_case *cases = calloc(n + 1, sizeof(*cases));
    int rc = cases ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct ks_cell_problem *p = &c->problems[picks[i].problem];
        size_t cell = picks[i].any_cell;

        cases[i].efficiency = cell == KS_NO_CELL ? -1 : picks[i].any_eff;
        cases[i].is_same = cell == p->best;
        cases[i].rank = cell == KS_NO_CELL ? UINT32_MAX : rank_of(c, p, cell);
    }
    if (rc == 0)
        rc = ks_ck_compare(cases, n, &q->ck_compare, err);
    if (rc == 0)
        rc = ks_ck_validate(cases, n, &q->ck_validate, err);
    free(cases);
    return rc;
}

int ks_quality(const struct ks_cells *c, const struct ks_pick *picks, size_t n,
               uint32_t n_bootstrap, uint64_t seed, struct ks_quality *out, struct ks_err *err)
{
    double *eff = malloc((n + 1) * sizeof(*eff));
    struct ks_quality q = { .n_problems = n };
    int rc = eff ? lines(picks, n, n_bootstrap, seed, eff, &q, err)
                 : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);

    if (rc == 0)
        rc = ck_scores(c, picks, n, &q, err);
    if (rc == 0) {
        count_tops(picks, n, &q);
        sum_times(c, picks, n, &q);
        *out = q;
    }
    free(eff);
    return rc;
}
