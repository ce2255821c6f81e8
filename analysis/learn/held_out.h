/* SPDX-License-Identifier: MIT */
/* held_out.h - what was said of one sweep against what other sweeps show: do intervals hold the
 * next sweep's value, do chances come true? */
#ifndef KS_ANALYSIS_HELD_OUT_H
#define KS_ANALYSIS_HELD_OUT_H

#include "analysis/learn/oracle.h"
#include "analysis/learn/yardstick.h"

#define KS_HELD_ROUNDS 4u /* cells of 1, 2, 3 to 5, and of more rounds */
#define KS_HELD_TIMES  3u /* thirds of the cells by their time, the shortest first */
#define KS_HELD_BINS   6u /* of chances: below 1, 10, 30, 60, 90 %, and above */

struct ks_coverage { /* of some labels, by those of the next sweep */
    size_t n;
    double promised; /* of intervals for the value that sweeps scatter around: the label and the
                        next sweep each have their own error */
    double seen;
    double half_width; /* median, as a log */
};
struct ks_coverages { /* of the same labels, divided in three ways */
    struct ks_coverage rounds[KS_HELD_ROUNDS], class[KS_LABEL_CLASSES], time[KS_HELD_TIMES];
};
/* ks_held_coverage() - the labels and intervals of each n_train >= 1 sweeps in a row, made from
 * these alone, against the labels of the sweep after them (after the last comes the first). Rounds
 * are the fewest of the n_train sweeps. KS_EINVAL no sweep is left; KS_ENOMEM. */
int ks_held_coverage(const struct ks_sweeps *s, unsigned statistic, unsigned over, uint32_t n_train,
                     struct ks_coverages *out, struct ks_err *err);

struct ks_reliability { /* of one kind of chance */
    size_t n[KS_HELD_BINS];
    double predicted[KS_HELD_BINS], seen[KS_HELD_BINS]; /* means */
    struct ks_quantiles brier; /* of (chance - what came true)^2: mean with its 90 % interval */
};
enum ks_held_regret { /* of labels */
                      KS_HELD_EXPECTED,
                      KS_HELD_LEAST, /* seen, against the best that sweeps name which do not time
                                        it; too little on average */
                      KS_HELD_MOST,  /* seen, against the fastest of the sweeps that time it; too
                                        much */
                      KS_HELD_REGRETS
};
struct ks_calibration {
    uint32_t n_train, n_held; /* sweeps */
    struct ks_reliability best, near;
    size_t n_labels, n_not_held; /* labels; others have no time in one of the sweeps */
    struct ks_quantiles regret[KS_HELD_REGRETS]; /* logs */
};
/* ks_held_calibration() - the oracle of each n_train sweeps in a row against that of all others:
 * what is the best there, or within the margin of it, counts as so. Regret is compared on the
 * instances that have a time in every sweep.
 * KS_EINVAL no sweep is left; KS_ENOMEM. */
int ks_held_calibration(const struct ks_sweeps *s, unsigned statistic, unsigned over,
                        uint32_t n_train, double margin, struct ks_calibration *out,
                        struct ks_err *err);
/* The upper end of bin i, 0.01 .. 1. */
double ks_held_bin(uint32_t i);

#endif
