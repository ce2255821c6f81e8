/* SPDX-License-Identifier: MIT */
/* class_order.h - the static order of each shape class (grid/problem_class.h), which chooses for
 * problems outside the range of training: in cross-validation, in validate and in selectors alike.
 *
 * A class's static order: instances by their mean efficiency over the training problems of the
 * class, 0 where not measured; of equal ones by the static order of all problems, which is the same
 * over all of them. A class with fewer than KS_CLASS_ORDER_LEAST problems has the static order of
 * all. */
#ifndef KS_ANALYSIS_CLASS_ORDER_H
#define KS_ANALYSIS_CLASS_ORDER_H

#include "analysis/learn/pick.h"
#include "grid/problem_class.h"

#define KS_CLASS_ORDER_LEAST 5

/* Zero-initialised = empty. */
struct ks_class_orders {
    size_t n_instances;
    size_t n_problems[KS_N_PROBLEM_CLASSES]; /* of training */
    size_t n_ranked[KS_N_PROBLEM_CLASSES];   /* instances that training measured in the class: they
                          come first, the others follow in the order of all problems */
    uint32_t *order; /* [KS_N_PROBLEM_CLASSES + 1][n_instances] instances, the best first; the last
                        row is that of all problems; owned */
};
/* @is_training [in] [c->n_problems]; NULL: all
 * @known [in] further problems, all of them training, with instances of their own numbers; NULL:
 * none KS_ENOMEM. */
int ks_class_orders_fit(struct ks_class_orders *o_out, const struct ks_cells *c,
                        const bool *is_training, const struct ks_cells *known, struct ks_err *err);
void ks_class_orders_release(struct ks_class_orders *o);

/* Whether the class has an order of its own. */
bool ks_class_orders_has(const struct ks_class_orders *o, uint32_t class_id);
/* The static order of a class, or of all problems: [n_instances], borrowed. class_id
 * KS_N_PROBLEM_CLASSES: of all. */
const uint32_t *ks_class_orders_of(const struct ks_class_orders *o, uint32_t class_id);

/* The place of each instance in the order of a class; rank_out: [n_instances]. */
void ks_class_orders_rank(const struct ks_class_orders *o, uint32_t class_id, double *rank_out);

/* ks_fall_back() - problems outside the range of the features' training get the first instance of
 * their class's static order instead of the model's pick.
 * @is_training, is_wanted [in] [c->n_problems] what orders are fitted to; whose picks count
 * @known [in] as for ks_class_orders_fit()
 * @picks_io [in,out] [c->n_problems]
 * @outside_out [out] [c->n_problems] what lies outside; NULL: inside, or not wanted. May be NULL
 * @n_out [out] how many there are
 * Returns 0; KS_ENOMEM. */
int ks_fall_back(const struct ks_cells *c, const struct ks_featurizer *f, const bool *is_training,
                 const struct ks_cells *known, const bool *is_wanted, struct ks_pick *picks_io,
                 const char **outside_out, size_t *n_out, struct ks_err *err);

#endif
