/* SPDX-License-Identifier: MIT */
/* retime.h - picks and oracle by new times. The oracle is chosen by the least of several noisy
 * times, so the time it was chosen by is too low on average; a time measured after the choice is
 * not. */
#ifndef KS_ANALYSIS_RETIME_H
#define KS_ANALYSIS_RETIME_H

#include "analysis/learn/pick.h"

/* Whether the pick and the oracle of its problem are different instances, so that only new times
 * tell what the pick loses. */
bool ks_retime_differs(const struct ks_cells *c, const struct ks_pick *pick);

/* ks_retime() - efficiency of picks: new time of the oracle over new time of the pick. The oracle
 * stays the instance that the first times chose; so an efficiency may be above 1.
 * @is_wanted, picks [in] [c->n_problems]
 * @beside [in] [c->n_problems] other picks that this one is compared with: a problem counts only
 * where new times tell what these lose, too; NULL: none
 * @again [in] finished cells of the new measurement, where problems and instances have the same ids
 * Returns 0; KS_EINVAL: no problem with two instances was timed again (with `beside`: no problem
 * counts); KS_ENOMEM. */
int ks_retime(const struct ks_cells *c, const bool *is_wanted, const struct ks_pick *picks,
              const struct ks_pick *beside, const struct ks_cells *again, uint32_t n_bootstrap,
              uint64_t seed, struct ks_retimed *out, struct ks_err *err);

#endif
