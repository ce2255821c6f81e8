/* SPDX-License-Identifier: MIT */
/* analytic.h - the analytic model of a kernel's time: waves of tiles over units, compute and memory
 * roofs per level, launch cost (feature_core.c), with rates calibrated on a few measurements of a
 * device. It is a feature, the prior of instances that nobody measured, and a baseline: what one
 * gets without a sweep. Pure: no clock, no I/O. */
#ifndef KS_ANALYSIS_ANALYTIC_H
#define KS_ANALYSIS_ANALYTIC_H

#include "analysis/learn/features.h"

struct ks_timed_pair {
    const struct ks_problem *problem;
    uint32_t instance; /* into the specification's */
    double time_ns;    /* > 0 */
};

/* At most so many pairs are used: one, chosen by a fixed hash, from each of as many equal parts. */
#define KS_CALIBRATION_PAIRS 512

/* ks_feature_spec_calibrate() - fits launch cost and the three rates by least absolute error of the
 * logarithm, then each instance's bias: the median of what is left, 0 for instances with fewer than
 * three pairs. Call it with training rows only.
 * Returns 0; KS_EINVAL no pair, or a time that is not above 0; KS_ENOMEM: the spec is as it was. */
int ks_feature_spec_calibrate(struct ks_feature_spec *s, const struct ks_timed_pair *pairs,
                              size_t n, struct ks_err *err);

/* Launch cost, rates and biases of another specification with the same instances, for a device that
 * nothing was measured on; units and cache stay. KS_ENOMEM. */
int ks_feature_spec_take_rates(struct ks_feature_spec *s, const struct ks_feature_spec *from,
                               struct ks_err *err);

/* Modelled time in ns of a calibrated specification, with the instance's bias. */
double ks_analytic_time_ns(const struct ks_feature_spec *s, const struct ks_problem *p,
                           uint32_t i_instance);
/* The applicable instance with the least modelled time; UINT32_MAX: none applies. */
uint32_t ks_analytic_pick(const struct ks_feature_spec *s, const struct ks_problem *p);

#endif
