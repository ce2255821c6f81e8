/* SPDX-License-Identifier: MIT */
/* choosers.h - who chooses an instance: the model, and what it stands beside. */
#ifndef KS_ANALYSIS_CHOOSERS_H
#define KS_ANALYSIS_CHOOSERS_H

#include "analysis/learn/baselines.h"
#include "analysis/learn/pick.h"

/* All but the model and the ceiling, fitted to training problems. Zero-initialised = empty. */
struct ks_choosers {
    const struct ks_cells *cells;         /* borrowed */
    const struct ks_featurizer *features; /* borrowed; NULL: no analytic model */
    struct ks_orders orders;
    struct ks_neighbours *neighbours;
    uint64_t seed;
};
/* @is_training [in] [c->n_problems]. KS_ENOMEM. */
int ks_choosers_fit(struct ks_choosers *out, const struct ks_cells *c, const bool *is_training,
                    const struct ks_featurizer *features, uint64_t seed, struct ks_err *err);
void ks_choosers_release(struct ks_choosers *ch);
bool ks_choosers_has_analytic(const struct ks_choosers *ch);

/* ks_choosers_pick() - @is_wanted [in] [n_problems]
 * @picks_out [out] [KS_N_CHOOSERS] arrays of [n_problems]; NULL: not wanted. KS_ENOMEM. */
int ks_choosers_pick(const struct ks_choosers *ch, const bool *is_wanted,
                     struct ks_pick *const *picks_out, struct ks_err *err);

#endif
