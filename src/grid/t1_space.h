/* SPDX-License-Identifier: MIT */
/* t1_space.h - a set of instances as values and conditions that make up exactly it; between the
 * t1_*.c files. */
#ifndef KS_GRID_T1_SPACE_H
#define KS_GRID_T1_SPACE_H

#include "base/buf.h"
#include "base/err.h"
#include "grid/expr.h"
#include "grid/family.h"

#include <stdbool.h>
#include <stdint.h>

/* Characters of an expression that ks_t1_family() reads. */
enum { KS_T1_CONDITION = KS_EXPR_FIELD - (int)sizeof "not ()" - 1 };

struct ks_t1_space {
    const struct ks_family *f;
    const struct ks_instance **instances; /* [n_instances] by their values */
    uint32_t n_instances;
    uint32_t n[KS_TRAITS_MAX]; /* values that occur; combined in this order, the first trait
                                slowest, they come as the instances do if any order has that */
    uint8_t value[KS_TRAITS_MAX][KS_TRAIT_VALUES_MAX];
    struct ks_expr *given[KS_RULES_MAX]; /* rules, then filters */
    bool is_rule[KS_RULES_MAX];
    const char *given_text[KS_RULES_MAX];
    uint64_t n_hits[KS_RULES_MAX]; /* combinations of the values that it keeps out */
    uint32_t n_given;
    struct ks_buf conditions; /* texts, each NUL-terminated */
    uint32_t n_conditions;
};

/* Zeroed before; to be released after a failure, too. Finds values and conditions. */
int ks_t1_space_init(struct ks_t1_space *s, const struct ks_kernel_set *set,
                     const char *const *filters, struct ks_err *err);
void ks_t1_space_release(struct ks_t1_space *s);

/* Appends a value as a Python literal. */
void ks_t1_literal(const struct ks_trait *t, uint32_t i_value, struct ks_buf *text_out);
/* Adds a condition; KS_EUNSUPPORTED when there are more than a reader takes. */
int ks_t1_condition(struct ks_t1_space *s, const char *text, struct ks_err *err);
/* Adds conditions that keep every one of `extra` [n_extra] (n_traits bytes each: values by trait)
 * out and all instances in. */
int ks_t1_conditions_against(struct ks_t1_space *s, const uint8_t *extra, uint32_t n_extra,
                             struct ks_err *err);

#endif
