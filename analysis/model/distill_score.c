/* SPDX-License-Identifier: MIT */
/* distill_score.c - how good tables are on problems that they have not seen, and smallest sets. */
#include "analysis/model/distill.h"

#include <stdlib.h>

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for a decision table");
}

/* ---- depth ---- */

static const uint32_t depths[] = { 2, 4, 6, 8, 10 };
enum { N_DEPTHS = sizeof(depths) / sizeof(depths[0]) };

/* Adds what the table loses on a problem when it is cut off at each of the depths: a table of less
 * depth is the top of a deeper one. */
static void add_by_depth(const struct ks_losses *l, const struct ks_distilled *t, size_t problem,
                         double *sum_io)
{
    const double *q = l->q + problem * KS_FX_N_QUANTITIES;
    uint32_t depth = 0;
    size_t at = 0;

    for (size_t i = 0; i < N_DEPTHS; i++) {
        for (; depth < depths[i] && t->splits[at].quantity >= 0; depth++)
            at = (size_t)t->splits[at].left + !(q[t->splits[at].quantity] <= t->splits[at].at);
        sum_io[i] += (double)l->loss[problem * l->n_candidates + t->best[at]];
    }
}

/* Whether a fold has problems, and others are left without it and the outer one. */
static bool can_score(const struct ks_losses *l, uint32_t outer, uint32_t fold)
{
    bool has_own = false, has_others = false;

    for (size_t p = 0; p < l->n_problems; p++) {
        has_own = has_own || l->fold[p] == fold;
        has_others = has_others || (l->fold[p] != fold && l->fold[p] != outer);
    }
    return fold != outer && has_own && has_others;
}

static int score_fold(const struct ks_losses *l, uint32_t outer, uint32_t fold,
                      const struct ks_distill_options *deepest, double *sum_io, struct ks_err *err)
{
    const uint64_t without = KS_FOLD_BIT(fold) | (outer == KS_NO_FOLD ? 0 : KS_FOLD_BIT(outer));
    struct ks_distilled t = { 0 };
    int rc = ks_distill(l, without, deepest, &t, err);

    for (size_t p = 0; rc == 0 && p < l->n_problems; p++)
        if (l->fold[p] == fold)
            add_by_depth(l, &t, p, sum_io);
    ks_distilled_release(&t);
    return rc;
}

int ks_distill_choose(const struct ks_losses *l, uint32_t outer,
                      struct ks_distill_options *options_io, struct ks_err *err)
{
    struct ks_distill_options deepest = *options_io;
    double sum[N_DEPTHS] = { 0 };
    size_t best = 0;
    int rc = 0;

    deepest.depth = depths[N_DEPTHS - 1];
    for (uint32_t fold = 0; rc == 0 && fold < l->n_folds; fold++)
        if (can_score(l, outer, fold))
            rc = score_fold(l, outer, fold, &deepest, sum, err);
    for (size_t i = 1; i < N_DEPTHS; i++)
        best = sum[i] < sum[best] ? i : best;
    if (rc == 0)
        options_io->depth = depths[best];
    return rc;
}

/* ---- one candidate after the other ---- */

/* covered[p]: what the best of a set loses on problem p; < 0: the problem does not count. */
static size_t choose_next(const struct ks_losses *l, const double *covered, double *sum)
{
    size_t best = 0;

    for (size_t k = 0; k < l->n_candidates; k++) {
        sum[k] = 0;
        for (size_t p = 0; p < l->n_problems; p++) {
            const double loss = (double)l->loss[p * l->n_candidates + k];

            sum[k] += covered[p] < 0 ? 0 : loss < covered[p] ? loss : covered[p];
        }
        best = sum[k] < sum[best] ? k : best;
    }
    return best;
}

static void cover(const struct ks_losses *l, size_t candidate, double *covered)
{
    for (size_t p = 0; p < l->n_problems; p++)
        if ((double)l->loss[p * l->n_candidates + candidate] < covered[p])
            covered[p] = (double)l->loss[p * l->n_candidates + candidate];
}

int ks_losses_smallest(const struct ks_losses *l, uint64_t without, double enough, uint32_t most,
                       uint16_t *set_out, double *loss_out, struct ks_err *err)
{
    double *covered = malloc((l->n_problems + 1) * sizeof(*covered));
    double *sum = malloc((l->n_candidates + 1) * sizeof(*sum));
    size_t n_problems = 0;
    uint32_t n = 0;

    for (size_t p = 0; covered && p < l->n_problems; p++) {
        const bool is_in = !(without & KS_FOLD_BIT(l->fold[p]));

        covered[p] = is_in ? 1 : -1;
        n_problems += is_in;
    }
    while (covered && sum && n < most && (n == 0 || loss_out[n - 1] > enough)) {
        const size_t best = choose_next(l, covered, sum);

        set_out[n] = (uint16_t)best;
        loss_out[n++] = sum[best] / (double)n_problems;
        cover(l, best, covered);
        if (n > 1 && loss_out[n - 1] >= loss_out[n - 2])
            break;
    }
    free(covered);
    free(sum);
    return n ? (int)n : no_memory(err);
}
