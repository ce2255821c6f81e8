/* SPDX-License-Identifier: MIT */
/* compare_impl.h - between the compare*.c files; private to analysis/learn. */
#ifndef KS_ANALYSIS_COMPARE_IMPL_H
#define KS_ANALYSIS_COMPARE_IMPL_H

#include "analysis/learn/compare.h"

struct ks_compare_value { /* a cell in one sweep */
    uint64_t condition, class;
    uint32_t problem, instance, side, sweep;
    uint32_t outcome;        /* of an alias, as the other results: its representative's */
    uint32_t representative; /* of an alias, KS_NO_INSTANCE: not known */
    bool is_alias;           /* it has no time of its own */
    bool has_time, is_contender;
    uint32_t n_rounds;
    size_t pair; /* number, SIZE_MAX: none */
    double label;
    double aligned;    /* struct ks_trial */
    double apart;      /* from the mean of the cell's two sides, less the sweep's median of that */
    double others;     /* median of `apart` over the other cells of its problem, sweep and class */
    uint32_t n_others; /* 0: too few of them */
    double shared;     /* what is taken out of the label */
};
struct ks_compare_work {
    const struct ks_sweeps *s;
    struct ks_compare_value *values; /* [n] by problem, condition, class, instance, side, sweep */
    size_t n;
    uint32_t n_a;
    double *level;   /* [n_sweeps] */
    double *scratch; /* [n] */
    double level_square, level_freedom;
};

/* Of the outcomes of a cell in two sweeps the one that counts: a failure before a time, that before
 * what else is known. */
uint32_t ks_compare_worse(uint32_t a, uint32_t b);

/* The end of the values of one problem, which begin at `first`. */
size_t ks_compare_problem_end(const struct ks_compare_work *w, size_t first);

/* compare_problems.c: what is over problems. Returns 0 or KS_ENOMEM. */
int ks_compare_problems(const struct ks_compare_work *w, struct ks_comparison *c,
                        struct ks_err *err);
/* compare_shared.c: sets `shared` of values and pairs. Returns 0 or KS_ENOMEM. */
int ks_compare_shared(struct ks_compare_work *w, struct ks_comparison *c, struct ks_err *err);

/* What a cell shows of a change: its difference without what its problem shares or the whole one,
 * whichever is smaller; 0 where the two have unlike signs. */
double ks_compare_shown(double own, double whole);

#define KS_COMPARE_FREEDOM_MAX 100.0
#define KS_COMPARE_LIGHT       8.0 /* degrees of freedom from which on a tail is not heavy */
/* compare_errors.c: the degrees of freedom, at least 2.5, at which this quantile of absolute
 * differences is x when their median is `inner`; the fewest when that is 0. */
double ks_compare_freedom(double inner, double x, double quantile);

/* compare_steps.c: keeps the differences between rounds of each side (struct ks_comparison, late)
 * when one of them has heavy tails. Returns 0 or KS_ENOMEM. */
int ks_compare_steps(struct ks_comparison *c, const struct ks_trials *t, uint32_t n_a,
                     struct ks_err *err);
/* The largest chance, over sides, that a value of n_rounds is off by as much as x. 0: not known. */
double ks_compare_late(const struct ks_comparison *c, double x, uint32_t n_rounds);

#endif
