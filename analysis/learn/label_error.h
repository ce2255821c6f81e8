/* SPDX-License-Identifier: MIT */
/* label_error.h - how far the label of a cell lies from the value that sweeps scatter around: the
 * 95 % interval of a label.
 *
 * scatter.h describes how the instances of one contest differ from each other; what all of them
 * share in a sweep is taken out there, because it decides nothing between them. A label is a time,
 * and the next sweep's label holds that shared part again. So here times are taken as they were
 * measured. The label of n rounds varies between sweeps with Student's t, whose squared scale is
 *     round[class] * (P + ks_over_variance(n)) / (P + 1),   P = KS_SPREAD_SWEEPS
 * (race/spread.h): a part that differs between the rounds of a sweep, and one that does not.
 *
 * Classes. Instances that are slow on a problem repeat worse than its fast ones: between two sweeps
 * of docs/measured/repeat.txt the time of an instance within 10 % of the best differs by 3 %
 * (median), that of one which is 35 % slower or more by 8 %.
 *
 * Estimation. From the differences between the sweeps of a cell; with fewer than 50 of these, from
 * those between successive rounds, too. The degrees of freedom are those at which |T| has the ratio
 * of the 90 % quantile to the median of the differences (each over its class's median), the scale
 * of a class is read from its 90 % quantile, with fewer than 50 differences from their median.
 * Moments of logs of cells' variances, as in scatter.h, would take the degrees of freedom from the
 * steadiest cells. The prior counts as 20 differences, for each class as for all of them together.
 * With neither sweeps nor rounds it is all there is; it is then smaller in proportion where samples
 * within a round scatter by less than on the machine that it is from, and larger where anchors vary
 * more (scatter.h): what they show is added to all classes alike.
 *
 * Medians. The variance of the median of n sweeps is that of the median of n normal values, unless
 * the cells that have n sweeps show otherwise. A cell with a fast and a slow state has a median in
 * one of them: it varies up to as much as one sweep does. It shows in how far medians are from
 * means, relative to the cell's own variance, which heavy tails change little. */
#ifndef KS_ANALYSIS_LABEL_ERROR_H
#define KS_ANALYSIS_LABEL_ERROR_H

#include "analysis/learn/scatter.h"

#define KS_LABEL_SWEEPS 16u

enum ks_label_class { /* of a cell, by its time over that of the best of its contest */
                      KS_LABEL_NEAR,   /* up to 10 % slower */
                      KS_LABEL_MIDDLE, /* up to 35 % */
                      KS_LABEL_FAR,
                      KS_LABEL_CLASSES
};
enum ks_label_class ks_label_class(double over_best); /* as a log */

struct ks_label_error {             /* of one domain; logs */
    double round[KS_LABEL_CLASSES]; /* squared scale of the label of one round between sweeps */
    double freedom;                 /* 1.2 to 100 */
    double t95[KS_LABEL_SWEEPS];    /* P(|T| > t95[n - 1]) = 0.05 for a label of n sweeps */
    size_t n_rounds, n_sweeps;      /* differences behind it: of rounds, of sweeps */
    double median[KS_LABEL_SWEEPS]; /* variance of the median of n sweeps over that of one */
};

/* ks_label_error_find() - from all contests of a domain. over: of the trials; s: of that domain.
 * Returns 0 or KS_ENOMEM. */
int ks_label_error_find(const struct ks_trials *t, uint32_t domain, enum ks_over over,
                        const struct ks_scatter *s, struct ks_label_error *out, struct ks_err *err);

/* The squared scale of a label of n_rounds >= 1 over that of one round. */
double ks_label_share(uint32_t n_rounds, enum ks_over over);

struct ks_label {      /* of a cell in one or more sweeps */
    double log_ns;     /* median over sweeps */
    double round;      /* squared scale of one round between sweeps, for this cell */
    double variance;   /* squared scale of the label */
    double freedom;    /* of Student's t */
    double half_width; /* of the 95 % interval, log */
};
/* ks_label_find() - t: [n] the trials of one instance in n >= 1 sweeps. With several of them the
 * cell's own variance counts with its n - 1 degrees of freedom beside that of its class.
 * @scratch [2 n] */
void ks_label_find(const struct ks_label_error *e, const struct ks_trial *t, size_t n,
                   enum ks_over over, double *scratch, struct ks_label *out);

#endif
