/* SPDX-License-Identifier: MIT */
/* pick.h - what scores choose for a problem, and how good that is. The candidate with the lowest
 * score is chosen, of equal ones the first. */
#ifndef KS_ANALYSIS_PICK_H
#define KS_ANALYSIS_PICK_H

#include "analysis/data/quality.h"
#include "analysis/learn/matrix.h"

struct ks_pick {
    uint32_t problem;
    size_t cell;                   /* chosen among the measured cells of the problem */
    double eff;                    /* its efficiency */
    uint32_t any;                  /* instance chosen among all that are not refused */
    size_t any_cell;               /* its cell; KS_NO_CELL: not measured */
    double any_eff;                /* its efficiency; 0: not measured */
    uint32_t rank;                 /* of `cell` among the measured by time, 0 = the best */
    uint32_t best_place;           /* of the best cell among the measured by score, 0 = chosen */
    bool is_tied;                  /* the time of `cell` cannot be told from the best */
    double best_of_k[KS_N_BEST_K]; /* efficiency of the fastest of the first 1, 2, 4 by score */
    double score, next_score;      /* of `cell` and of the second by score; equal without one */
};

/* ks_pick() - @scores [in] [c->n_instances] lower is better; NaN ranks last. */
void ks_pick(const struct ks_cells *c, uint32_t problem, const double *scores,
             struct ks_pick *pick_out);

/* The measured cell of a problem with the lowest score, the first if none has one. @scores [in] [n
 * cells]; NaN = none */
size_t ks_pick_scored(const struct ks_cell_problem *p, const float *scores);

/* ks_quality() - sums up picks.
 * @picks [in] [n] of problems that count
 * Returns 0; KS_ENOMEM. */
int ks_quality(const struct ks_cells *c, const struct ks_pick *picks, size_t n,
               uint32_t n_bootstrap, uint64_t seed, struct ks_quality *out, struct ks_err *err);

#endif
