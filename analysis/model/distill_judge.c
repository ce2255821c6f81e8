/* SPDX-License-Identifier: MIT */
/* distill_judge.c - how good tables are on problems that they have not seen, the static order, and
 * smallest sets. */
#include "analysis/model/distill.h"

#include <stdlib.h>

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for a decision table");
}

static double best_of(const struct ks_losses *l, size_t problem, const uint16_t *list, uint32_t n)
{
    double best = 1;

    for (uint32_t k = 0; k < n && list[k] != KS_SEL_NONE; k++) {
        const double loss = (double)l->loss[problem * l->n_candidates + list[k]];

        best = loss < best ? loss : best;
    }
    return best;
}

int ks_distill_validate(const struct ks_losses *l, const struct ks_distill_options *options,
                        uint32_t k, double *loss_out, struct ks_err *err)
{
    const uint32_t n = k < options->width ? k : options->width;
    double sum = 0;
    int rc = 0;

    for (uint32_t fold = 0; rc == 0 && fold < l->n_folds; fold++) {
        struct ks_distilled t = { 0 };

        rc = ks_distill(l, fold, options, &t, err);
        for (size_t p = 0; rc == 0 && p < l->n_problems; p++)
            if (l->fold[p] == fold)
                sum += best_of(l, p, ks_distilled_list(&t, l->q + p * KS_FX_N_QUANTITIES), n);
        ks_distilled_release(&t);
    }
    if (rc == 0)
        *loss_out = sum / (double)l->n_problems;
    return rc;
}

int ks_distill_choose(const struct ks_losses *l, struct ks_distill_options *options_io,
                      struct ks_err *err)
{
    static const uint32_t depths[] = { 2, 4, 6, 8, 10 };
    uint32_t best_depth = depths[0];
    double best = 2, loss = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(depths) / sizeof(depths[0]); i++) {
        options_io->depth = depths[i];
        rc = l->n_folds > 1 ? ks_distill_validate(l, options_io, 1, &loss, err) : 0;
        if (rc == 0 && loss < best) {
            best = loss;
            best_depth = depths[i];
        }
    }
    options_io->depth = best_depth;
    return rc;
}

/* ---- one candidate after the other ---- */

int ks_losses_smallest(const struct ks_losses *l, double enough, uint32_t most, uint16_t *set_out,
                       double *loss_out, struct ks_err *err)
{
    double *covered = malloc((l->n_problems + 1) * sizeof(*covered));
    double *sum = malloc((l->n_candidates + 1) * sizeof(*sum));
    uint32_t n = 0;

    for (size_t p = 0; covered && p < l->n_problems; p++)
        covered[p] = 1;
    while (covered && sum && n < most && (n == 0 || loss_out[n - 1] > enough)) {
        size_t best = 0;

        for (size_t k = 0; k < l->n_candidates; k++) {
            sum[k] = 0;
            for (size_t p = 0; p < l->n_problems; p++) {
                const double loss = (double)l->loss[p * l->n_candidates + k];

                sum[k] += loss < covered[p] ? loss : covered[p];
            }
            best = sum[k] < sum[best] ? k : best;
        }
        set_out[n] = (uint16_t)best;
        loss_out[n++] = sum[best] / (double)l->n_problems;
        for (size_t p = 0; p < l->n_problems; p++)
            if ((double)l->loss[p * l->n_candidates + best] < covered[p])
                covered[p] = (double)l->loss[p * l->n_candidates + best];
        if (n > 1 && loss_out[n - 1] >= loss_out[n - 2])
            break;
    }
    free(covered);
    free(sum);
    return n ? (int)n : no_memory(err);
}

struct ranked {
    double loss;
    uint16_t candidate;
};

static int by_loss(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->loss < y->loss || x->loss > y->loss)
        return x->loss < y->loss ? -1 : 1;
    return (int)x->candidate - (int)y->candidate;
}

int ks_losses_order(const struct ks_losses *l, uint16_t *order_out, struct ks_err *err)
{
    struct ranked *r = calloc(l->n_candidates + 1, sizeof(*r));

    if (!r)
        return no_memory(err);
    for (size_t k = 0; k < l->n_candidates; k++) {
        r[k].candidate = (uint16_t)k;
        for (size_t p = 0; p < l->n_problems; p++)
            r[k].loss += (double)l->loss[p * l->n_candidates + k];
    }
    qsort(r, l->n_candidates, sizeof(*r), by_loss);
    for (size_t k = 0; k < l->n_candidates; k++)
        order_out[k] = r[k].candidate;
    free(r);
    return 0;
}
