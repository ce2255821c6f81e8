/* SPDX-License-Identifier: MIT */
/* folds.h - which problems are held out together. A fold never splits a problem, so no row of a
 * held-out problem is in training. */
#ifndef KS_ANALYSIS_FOLDS_H
#define KS_ANALYSIS_FOLDS_H

#include "analysis/learn/matrix.h"

#define KS_MAX_FOLDS 32

/* ks_folds_grouped() - folds of nearly equal numbers of problems, by a hash of problem and seed.
 * @n_folds [in] 2 to KS_MAX_FOLDS
 * @fold_out [out] [c->n_problems] below n_folds
 * Depends on the set of problems, not on their order. KS_EINVAL: fewer problems than folds, or
 * n_folds out of range; KS_ENOMEM. */
int ks_folds_grouped(const struct ks_cells *c, uint32_t n_folds, uint64_t seed, uint8_t *fold_out,
                     struct ks_err *err);

/* ks_folds_sample() - marks at most n problems, each fold's share of them, by the same kind of
 * hash. n 0: all. @is_in_out [out] [c->n_problems]. KS_ENOMEM. */
int ks_folds_sample(const struct ks_cells *c, size_t n, uint64_t seed, bool *is_in_out,
                    struct ks_err *err);

#endif
