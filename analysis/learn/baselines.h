/* SPDX-License-Identifier: MIT */
/* baselines.h - what a selector must beat: choices that need no model. All are fitted to training
 * problems only and give scores like a model's: lower is better. */
#ifndef KS_ANALYSIS_BASELINES_H
#define KS_ANALYSIS_BASELINES_H

#include "analysis/learn/matrix.h"

/* X(constant, name, meaning) */
#define KS_ORDER_LIST(X)                                                                           \
    X(KS_ORDER_FIXED, "best fixed instance",                                                       \
      "by mean efficiency over all problems, 0 where not measured")                                \
    X(KS_ORDER_WINS, "static order", "by the number of problems won")                              \
    X(KS_ORDER_EFFICIENCY, "static order by efficiency", "by mean efficiency where measured")      \
    X(KS_ORDER_REGRET, "static order by log time", "by mean ln(time / best time) where measured")
enum ks_order {
#define X(constant, name, meaning) constant,
    KS_ORDER_LIST(X)
#undef X
        KS_N_ORDERS
};
const char *ks_order_name(uint32_t order);

/* What training says of each instance, whatever the problem. */
struct ks_instance_stats {
    size_t n_cells, n_wins;
    double sum_eff, sum_log; /* of efficiencies, of ln(time / best time) */
};

struct ks_orders {
    size_t n_instances, n_problems;
    struct ks_instance_stats *stats; /* [n_instances] */
    double *place[KS_N_ORDERS];      /* [n_instances] 0 = first: scores */
    uint32_t best;                   /* the order with the highest mean efficiency in training */
};
/* @is_training [in] [c->n_problems]. KS_ENOMEM. */
int ks_orders_fit(struct ks_orders *o_out, const struct ks_cells *c, const bool *is_training,
                  struct ks_err *err);
void ks_orders_release(struct ks_orders *o);

/* ks_neighbours_*() - the mean of ln(time / best time) over the three training problems nearest by
 * the logarithms of their dimensions. Problems of another operator, direction, data type or layout
 * are farther than any of the same. */
struct ks_neighbours;
/* c is that of the training problems, borrowed. KS_ENOMEM. */
int ks_neighbours_create(struct ks_neighbours **n_out, const struct ks_cells *c,
                         const bool *is_training, struct ks_err *err);
void ks_neighbours_destroy(struct ks_neighbours *n); /* NULL is fine */
/* @scores_out [out] [n_instances of c]; what no neighbour measured comes after the others, in the
 * order of `otherwise` [same]. */
void ks_neighbours_score(const struct ks_neighbours *n, const struct ks_problem *p,
                         const double *otherwise, double *scores_out);

/* Seeded random scores for one problem. */
void ks_random_scores(uint64_t problem_id, uint64_t seed, size_t n, double *scores_out);

#endif
