/* SPDX-License-Identifier: MIT */
/* scorecard.h - how the model and its baselines do on some problems, in all the lines of a report,
 * and which problems lie outside of what training has seen. */
#ifndef KS_ANALYSIS_SCORECARD_H
#define KS_ANALYSIS_SCORECARD_H

#include "analysis/learn/choosers.h"

/* ks_scorecard_make() - @is_wanted [in] [n_problems] the problems that count
 * @picks [in] [KS_N_CHOOSERS] arrays of [n_problems]; NULL: there is no such chooser
 * @class_picks, has_class_pick [in] [n_problems] or NULL
 * s_out is the caller's to release. KS_EINVAL: no problem counts; KS_ENOMEM. */
int ks_scorecard_make(const struct ks_cells *c, const bool *is_wanted, struct ks_pick *const *picks,
                      const struct ks_pick *class_picks, const bool *has_class_pick,
                      uint32_t n_bootstrap, uint64_t seed, struct ks_scorecard *s_out,
                      struct ks_err *err);

/* ---- the range of training ---- */

struct ks_range { /* of training problems of one operator */
    uint32_t op;
    int64_t lo[KS_MAX_DIMS], hi[KS_MAX_DIMS];
    double flops_lo, flops_hi;
    bool has_direction[KS_N_DIRECTIONS], has_dtype[KS_N_DTYPES], has_layout[KS_N_LAYOUTS];
};
void ks_range_fit(struct ks_range *r_out, const struct ks_cells *c, const bool *is_training);
/* NULL: inside. Else what is outside: the name of a dimension, "flops", "direction", "dtype",
 * "layout" or "operator". Half the smallest to twice the largest value seen is inside. */
const char *ks_range_outside(const struct ks_range *r, const struct ks_problem *p);

#endif
