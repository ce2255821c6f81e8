/* SPDX-License-Identifier: MIT */
/* summary.h - what a results file says in short: the best of every problem, how everything ended,
 * who measured, and how much there is to choose. */
#ifndef KS_ANALYSIS_SUMMARY_H
#define KS_ANALYSIS_SUMMARY_H

#include "analysis/aliases.h"
#include "analysis/view.h"

struct ks_best { /* of one problem */
    const struct ks_problem_row *problem;
    const struct ks_kernel_row *kernel; /* NULL: no instance is ok */
    double median_ns, se_ns, lo95_ns, hi95_ns;
    double gflops, gflops_se, gflops_lo95, gflops_hi95; /* KS_MISSING where flops are not known */
    double worst_over_best;
    uint32_t n_ok, n_rows;
    uint32_t n_codes; /* of the n_ok those that compete */
    uint32_t n_tied;  /* others that cannot be told from the best (stats.h), not counting those of
                         the same code */
};
/* What pruning left out, by what its controls say. */
struct ks_pruned_found {
    uint64_t n_left_out; /* cells */
    uint64_t n_controls; /* cells that were measured all the same */
    uint64_t n_compared; /* of them: ok, and so is a kept one of the problem */
    uint64_t n_better;   /* of them: faster than every kept one, beyond a tie */
    /* of the n_compared the one that does best: time of the best kept one / its own */
    double ratio;
    const struct ks_problem_row *problem;
    const struct ks_kernel_row *control;
};
struct ks_rank_count {
    const struct ks_device_row *device;
    uint64_t n_cells;
};
struct ks_summary {
    uint64_t n_cells, n_pending, n_dropped, outcome[KS_O_LIMIT], n_contaminated;
    struct ks_best *problems; /* [n_problems] in the order of the view */
    size_t n_problems;
    struct ks_rank_count *ranks; /* [n_ranks] that measured a cell */
    size_t n_ranks;
    double median_worst_over_best;     /* over problems with two ok codes or more; KS_MISSING */
    uint32_t n_winners;                /* instances that are best somewhere, untied */
    uint32_t n_codes;                  /* distinct code_ids among ok rows */
    const struct ks_kernel_row *fixed; /* ok everywhere and best on (geometric) average, of equal
                                          ones the first in the configs; or NULL */
    double fixed_share;                /* its speed relative to the best of each problem */
    struct ks_aliases_found aliases;
    struct ks_pruned_found pruned;
};

/* Times are compared within a block; when a problem was split over blocks they are scaled by the
 * blocks' anchors. Instances that are the same code compete as one: the one that was measured; the
 * others have its times. What is returned points into the view. */
int ks_summary_make(struct ks_view *v, struct ks_summary *out, struct ks_err *err);
void ks_summary_release(struct ks_summary *s);

#endif
