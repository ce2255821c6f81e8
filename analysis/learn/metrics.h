/* SPDX-License-Identifier: MIT */
/* metrics.h - what a list of efficiencies says in short. Efficiency of a pick: the rate of the pick
 * over the best rate of the problem, 0 to 1. */
#ifndef KS_ANALYSIS_METRICS_H
#define KS_ANALYSIS_METRICS_H

#include "analysis/data/quality.h"
#include "base/err.h"

#include <stdbool.h>

#include <stddef.h>
#include <stdint.h>

/* sorted[floor(q n)], as Composable Kernel's compare_ml_vs_oracle.py; NaN of none. */
double ks_quantile_index(const double *sorted, size_t n, double q);

/* ks_line() - mean, quantiles, and intervals of mean and P10 by resampling problems.
 * @eff [in,out] [n] sorted on return
 * @n_bootstrap [in] resamples; 0 = no intervals
 * Returns 0; KS_ENOMEM. n 0: all NaN. */
int ks_line(double *eff, size_t n, uint32_t n_bootstrap, uint64_t seed, struct ks_line *line_out,
            struct ks_err *err);

/* ---- Composable Kernel's own definitions ---- */

/* One problem of both tools' tables. */
struct ks_ck_case {
    double efficiency; /* rate of the model's first over the oracle's; < 0: the pick was not
                          measured */
    bool is_same;      /* the pick is the oracle's best by name */
    uint32_t rank;     /* of the pick among the measured by rate, 0 = best */
};
/* compare_ml_vs_oracle.py: an unmeasured pick counts 0, P10 = sorted[n / 10], P50 = sorted[n / 2],
 * "top-5": the pick is among the oracle's five best.
 * validate_ml_vs_oracle.py: an unmeasured pick is left out, P10 and P50 interpolate.
 * Efficiencies in percent; NaN of none. KS_ENOMEM. */
int ks_ck_compare(const struct ks_ck_case *cases, size_t n, struct ks_ck_scores *out,
                  struct ks_err *err);
int ks_ck_validate(const struct ks_ck_case *cases, size_t n, struct ks_ck_scores *out,
                   struct ks_err *err);

#endif
