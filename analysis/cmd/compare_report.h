/* SPDX-License-Identifier: MIT */
/* compare_report.h - what `compare` says of two sides: the text for people, and which cells break
 * the rules of --fail-if. */
#ifndef KS_ANALYSIS_COMPARE_REPORT_H
#define KS_ANALYSIS_COMPARE_REPORT_H

#include "analysis/cmd/input.h"
#include "analysis/learn/compare.h"

struct ks_compare_answer { /* borrowed */
    const struct ks_input *in;
    const struct ks_comparison *c;
    uint32_t n_a;        /* sweeps of side A */
    unsigned over;       /* enum ks_over */
    double margin, rate; /* relative; of false discoveries */
    /* of --fail-if */
    bool refuses_failures;
    const char *slower; /* "slower:3%"; NULL: there is no limit */
    double limit;       /* log */
    size_t n_slower, n_blind;
    double smallest; /* ks_compare_smallest() at the limit */
};

/* Relative: the median over the cells in which a slowdown can be found; NAN: there are none, or no
 * memory. */
double ks_compare_smallest(const struct ks_comparison *c);
/* The cell breaks a rule of --fail-if. */
bool ks_compare_is_refused(const struct ks_compare_answer *a, const struct ks_pair *p);
/* Appended. */
void ks_compare_report(const struct ks_compare_answer *a, struct ks_buf *to);

#endif
