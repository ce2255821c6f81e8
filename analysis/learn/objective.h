/* SPDX-License-Identifier: MIT */
/* objective.h - what a model's score is fitted to. A score orders the candidates of one problem:
 * the lowest is the pick. */
#ifndef KS_ANALYSIS_OBJECTIVE_H
#define KS_ANALYSIS_OBJECTIVE_H

#include "analysis/learn/matrix.h"

/* X(constant, name, meaning of the score) */
#define KS_TARGET_LIST(X)                                                                          \
    X(KS_TARGET_LOG_TIME, "log_time", "ln(time / best time of the problem)")                       \
    X(KS_TARGET_LOG_RATE, "log_rate", "-ln(rate), rate in flop/ns, less its mean")                 \
    X(KS_TARGET_PAIRWISE, "pairwise", "an order only: pairs weighted by their loss of rate")       \
    X(KS_TARGET_LOSS, "loss", "1 - best time of the problem / time")
enum ks_target {
#define X(constant, name, meaning) constant,
    KS_TARGET_LIST(X)
#undef X
        KS_N_TARGETS
};
const char *ks_target_name(uint32_t target);    /* "?" when there is no such target */
const char *ks_target_meaning(uint32_t target); /* "?" likewise */
/* KS_N_TARGETS: no target of that name. */
uint32_t ks_target_from(const char *name);

#define KS_LOST_FACTOR 10.0
#define KS_LOST_WEIGHT 0.2 /* of a measured one; not of pairs */

struct ks_objective {
    enum ks_target target;
    size_t n;
    double *y;      /* [n] what the score should be; ln(time) for KS_TARGET_PAIRWISE */
    double *weight; /* [n] */
    size_t *first;  /* [n_groups + 1] rows of group g: [first[g], first[g + 1]) */
    size_t n_groups;
    bool *is_fast; /* [n] KS_TARGET_PAIRWISE: among the fastest few of its group */
};

/* ks_objective_init() - for the rows of a training matrix.
 * @rows [in] [n] those of a problem stand together; lost ones count as KS_LOST_FACTOR times slower
 *   than the best of their problem
 * @use_counts [in] weigh problems by how often they are used (ln(1 + count))
 * Weights average to 1; those of pairs are per problem only and scaled so that the second
 * derivatives average to 1 at first. KS_ENOMEM. */
int ks_objective_init(struct ks_objective *o_out, enum ks_target target, const struct ks_cells *c,
                      const struct ks_pair_row *rows, size_t n, bool use_counts,
                      struct ks_err *err);
void ks_objective_release(struct ks_objective *o);

/* First and second derivatives of the loss at these scores; all arrays [o->n]. */
void ks_objective_gradient(const struct ks_objective *o, const float *scores, float *first_out,
                           float *second_out);

#endif
