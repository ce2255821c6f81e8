/* SPDX-License-Identifier: MIT */
/* bootstrap.h - intervals of figures over units that belong to nobody else, such as problems or
 * cells: as many units are drawn with replacement as there are, again and again, and an interval
 * lies between two quantiles of the figure (percentile method, Efron & Tibshirani 1993, 13.3). */
#ifndef KS_ANALYSIS_BOOTSTRAP_H
#define KS_ANALYSIS_BOOTSTRAP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define KS_BOOTSTRAP_DRAWS 1000u

struct ks_interval {
    double value, lo, hi; /* value: of all units, each once */
};

struct ks_bootstrap {
    size_t n_units; /* > 0 */
    uint32_t n_figures, n_draws;
    double level; /* share of the draws between lo and hi, such as 0.95 */
    uint64_t seed;
    void *ctx;
    /* The figures of these units. @unit [in] [n_units], @out [out] [n_figures]. */
    void (*figures)(void *ctx, const uint32_t *unit, double *out);
};

/* @out [out] [n_figures]. The same units, seed and draws give the same intervals. KS_ENOMEM. */
int ks_bootstrap(const struct ks_bootstrap *b, struct ks_interval *out, struct ks_err *err);

#endif
