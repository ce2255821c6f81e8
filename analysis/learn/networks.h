/* SPDX-License-Identifier: MIT */
/* networks.h - what picks cost networks: regret weighted by use counts. */
#ifndef KS_ANALYSIS_NETWORKS_H
#define KS_ANALYSIS_NETWORKS_H

#include "analysis/learn/scorecard.h"
#include "grid/problems.h"

/* ks_network_weigh() - times of a network's problems by each chooser's picks. Of the list those
 * count that in->is_wanted says; use counts are the list's.
 * @name [in] borrowed by *out
 * KS_ENOMEM. */
int ks_network_weigh(const struct ks_scorecard_input *in, const struct ks_problem_set *list,
                     const char *name, struct ks_network *out, struct ks_err *err);

#endif
