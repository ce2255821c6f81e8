/* SPDX-License-Identifier: MIT */
/* need.h - which problems are worth measuring next: those that make a model lose less on a whole
 * list. What it is expected to lose on a problem is in proportion to the distance of the nearest
 * measured problem, in the space of the problem's features, each with standard deviation 1: at the
 * distance that training problems have from other folds it loses what out-of-fold picks lose, on
 * all of them and, with a quarter of the weight, on the nearest five. So problems are spread as the
 * list is, more of them where the model is bad, and one far from all others helps itself only. */
#ifndef KS_ANALYSIS_NEED_H
#define KS_ANALYSIS_NEED_H

#include "analysis/learn/matrix.h"

struct ks_needed {
    uint32_t i;      /* in the pool */
    double distance; /* to the nearest problem that is measured or chosen before it */
    double loss;     /* expected 1 - efficiency */
    double value;    /* what measuring it saves: expected loss times uses, summed over the pool */
};

/* ks_need_choose() - the most valuable problems of a pool, one after the other: what is chosen
 * counts as measured for the next.
 * @fold, loss [in] [c->n_problems] fold of each training problem and what its out-of-fold pick
 *   loses
 * @pool [in] [n_pool] problems that are not in training
 * @use_counts [in] weigh by .count
 * @out [out] [n_wanted], n_wanted <= n_pool
 * Returns 0; KS_ENOMEM. */
int ks_need_choose(const struct ks_cells *c, const uint8_t *fold, const double *loss,
                   const struct ks_problem *pool, size_t n_pool, bool use_counts, size_t n_wanted,
                   struct ks_needed *out, struct ks_err *err);

#endif
