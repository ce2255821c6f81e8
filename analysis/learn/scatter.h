/* SPDX-License-Identifier: MIT */
/* scatter.h - how much a value of an instance changes from round to round and from sweep to sweep:
 * variances pooled over the cells of a domain.
 *
 * The value of an instance in a sweep (struct ks_trial) varies between sweeps with
 *     one round:         single
 *     n rounds, n >= 2:  sweeps + rounds * ks_over_variance(n)
 * (of means for struct ks_trial's `aligned`, from which all of this is estimated).
 * `rounds` is estimated within sweeps, the other two between sweeps. What cannot be estimated comes
 * from a prior, whose variances count as PRIOR_FREEDOM observations. One sweep says nothing about
 * what differs between sweeps; but the prior's proportions are taken to hold on machines that are
 * noisier than the one that it is from, as the rounds or, without them, the anchors show: `sweeps`
 * is 0.28 times `rounds`, and all are as many times the prior as the variance of anchors within
 * blocks is that of moments in one worker. Cells do not all scatter alike: the variance of one cell
 * is inverse-chi-squared around the pooled one with `freedom` degrees of freedom, which are
 * estimated from how much the cells' own variances differ. Source: Smyth 2004, Linear models and
 * empirical Bayes methods, section 6.2. */
#ifndef KS_ANALYSIS_SCATTER_H
#define KS_ANALYSIS_SCATTER_H

#include "analysis/learn/trials.h"

struct ks_scatter { /* of one domain; variances of logs, the scale of a typical cell */
    double single, rounds, sweeps;
    double freedom;            /* of one cell's variance around these: 2.5 to 100 */
    double n_rounds, n_sweeps; /* degrees of freedom behind `rounds`, behind the other two; 0: the
                                  prior alone */
    double anchors;            /* their variance within blocks over that of the prior's moments: at
                                  least 1; and the degrees of freedom of one block's */
    double anchors_freedom;
};

/* Standard deviation between sweeps of values by this statistic over that of medians. */
double ks_statistic_scatter(enum ks_statistic statistic);

/* The prior alone, of values by this statistic: for medians standard deviations of 3.4 % for one
 * round, 3.0 % between rounds and 1.6 % between sweeps beyond that, for low quantiles 0.88 times
 * these; freedom 4. */
void ks_scatter_init(enum ks_statistic statistic, struct ks_scatter *out);
/* From all contests of a domain. Returns 0 or KS_ENOMEM. */
int ks_scatter_find(const struct ks_trials *t, uint32_t domain, struct ks_scatter *out,
                    struct ks_err *err);

/* The variance of a trial of n_rounds >= 1 between sweeps, of a typical cell; over: as its value
 * was made. */
double ks_scatter_variance(const struct ks_scatter *s, uint32_t n_rounds, enum ks_over over);
/* The same for a cell whose own values have a sum of squares and degrees of freedom: the mean of
 * both, weighted by degrees of freedom. */
double ks_scatter_own(const struct ks_scatter *s, double variance, double square, double freedom,
                      double *freedom_out);

/* ks_scatter_fit() - scale and degrees of freedom of the distribution of cells' variances.
 * @square, freedom [in] [n] of each cell: sum of squared deviations, degrees of freedom > 0;
 *   cells with a sum of 0 are left out
 * @scale_out [out] untouched when there is no cell. Moments of the logs of variances; of fewer than
 *   20 cells the freedom is 4. Returns the degrees of freedom of all cells together. */
double ks_scatter_fit(const double *square, const double *freedom, size_t n, double *scale_out,
                      double *freedom_out);

#endif
