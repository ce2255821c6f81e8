/* SPDX-License-Identifier: MIT */
/* distill.h - a small decision table over quantities of the problem: splits, and at each leaf a
 * list of candidates. Trained on what picks lose, not on labels: a split is the one that lessens
 * the loss of the best single candidate of each side most. */
#ifndef KS_ANALYSIS_DISTILL_H
#define KS_ANALYSIS_DISTILL_H

#include "analysis/learn/features.h"
#include "analysis/learn/matrix.h"
#include "analysis/model/selector_core.h"

#define KS_FOLD_BIT(fold) (UINT64_C(1) << (fold))

/* What each candidate loses on each problem: 1 - best time / time; 1 where it was not measured.
 * Zero-initialised = empty. */
struct ks_losses {
    size_t n_problems, n_candidates;
    double *q;     /* [n_problems][KS_FX_N_QUANTITIES] */
    float *loss;   /* [n_problems][n_candidates] */
    uint8_t *fold; /* [n_problems] */
    uint32_t n_folds;
};
/* ks_losses_init() - @candidates [in] [n] instances of the specification
 * @fold [in] [c->n_problems]. Returns 0; KS_ENOMEM; KS_EINVAL no problem. */
int ks_losses_init(struct ks_losses *l_out, const struct ks_cells *c,
                   const struct ks_feature_spec *s, const uint32_t *candidates, size_t n,
                   const uint8_t *fold, struct ks_err *err);
void ks_losses_release(struct ks_losses *l);

/* Zero-initialised = empty. */
struct ks_distilled {
    struct ks_sel_split *splits; /* [n_splits] the first is the root; owned */
    uint16_t *lists;             /* [n_lists][width] candidates, best first; owned */
    uint16_t *best; /* [n_splits] the best single candidate of the node's problems; owned */
    size_t n_splits, n_lists;
    uint16_t width;
};
void ks_distilled_release(struct ks_distilled *t);

struct ks_distill_options {
    uint32_t depth, min_problems; /* of a leaf */
    uint16_t width;
};
#define KS_NO_FOLD UINT32_MAX
/* ks_distill() - a table from the problems of some folds; a leaf's list begins with its best
 * candidate and goes on with those that lessen the loss of the best of the list most.
 * @without [in] bit f: the problems of fold f are left out; 0 = none
 * KS_ENOMEM; KS_EINVAL: no problem left. */
int ks_distill(const struct ks_losses *l, uint64_t without,
               const struct ks_distill_options *options, struct ks_distilled *table_out,
               struct ks_err *err);
/* The list of a problem's leaf [width]; borrowed. */
const uint16_t *ks_distilled_list(const struct ks_distilled *t, const double *q);

/* ks_distill_choose() - the depth (2 to 10) whose first candidates lose least, each problem by a
 * table that has not seen its fold.
 * @outer [in] a fold that must not be seen: neither by these tables nor by their evaluation;
 * KS_NO_FOLD
 * @options_io [in,out] only `depth` changes; 2 if fewer than two other folds have problems
 * KS_ENOMEM. */
int ks_distill_choose(const struct ks_losses *l, uint32_t outer,
                      struct ks_distill_options *options_io, struct ks_err *err);

/* ks_losses_smallest() - one candidate after the other, each the one that lessens the loss of the
 * best of the set most, until the set loses at most `enough` or has `most`.
 * @without [in] as in ks_distill(); at least one problem must be left
 * @set_out [out] [most]; @loss_out [out] [most] mean loss after each. Returns how many; KS_ENOMEM.
 */
int ks_losses_smallest(const struct ks_losses *l, uint64_t without, double enough, uint32_t most,
                       uint16_t *set_out, double *loss_out, struct ks_err *err);

#endif
