/* SPDX-License-Identifier: MIT */
/* scorecard.h - how the model and its baselines do on some problems, in all the lines of a report.
 */
#ifndef KS_ANALYSIS_SCORECARD_H
#define KS_ANALYSIS_SCORECARD_H

#include "analysis/learn/choosers.h"

struct ks_scorecard_input { /* borrowed */
    const struct ks_cells *cells;
    const bool *is_wanted;             /* [n_problems] the problems that count */
    struct ks_pick *const *picks;      /* [KS_N_CHOOSERS] of [n_problems]; NULL: no such chooser */
    const struct ks_pick *class_picks; /* [n_problems]; NULL: none */
    const bool *has_class_pick;        /* [n_problems] */
    const bool *has_ceiling;           /* [n_problems] where the ceiling has a pick */
    uint32_t n_bootstrap;
    uint64_t seed;
};
/* s_out is the caller's to release. KS_EINVAL: no problem counts; KS_ENOMEM. */
int ks_scorecard_make(const struct ks_scorecard_input *in, struct ks_scorecard *s_out,
                      struct ks_err *err);

/* ks_worst_find() - the wanted problems on which the model's picks among the measured lose most,
 * worst first, with what is known of why.
 * @is_training [in] [n_problems] what the model has seen
 * @outside [in] [n_problems] what is outside of training; NULL: all are inside
 * @worst_out [out] [most]; texts are borrowed from the cells
 * Returns how many there are, or KS_ENOMEM. */
int ks_worst_find(const struct ks_scorecard_input *in, const bool *is_training,
                  const char *const *outside, struct ks_worst *worst_out, size_t most,
                  struct ks_err *err);

#endif
