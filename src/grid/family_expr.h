/* SPDX-License-Identifier: MIT */
/* family_expr.h - a family's traits as names of expressions and as words of JSON files. */
#ifndef KS_GRID_FAMILY_EXPR_H
#define KS_GRID_FAMILY_EXPR_H

#include "base/err.h"
#include "grid/expr.h"
#include "grid/family.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_family_scope {
    const struct ks_family *f;
    const struct ks_instance *i; /* only its values are read */
};

/* Parse, and check every name and value against the family. */
int ks_family_expr(const struct ks_family *f, const char *text, struct ks_expr **e_out,
                   struct ks_err *err);
/* The same of a text in a file; see ks_expr_parse_at(). */
int ks_family_expr_at(const struct ks_family *f, const char *text,
                      const struct ks_expr_place *place, struct ks_expr **e_out,
                      struct ks_err *err);
/* The same, but texts that no value has may stand in it: a condition of another tool, whose values
 * may be a selection of those that it was written for. */
int ks_family_condition(const struct ks_family *f, const char *text, struct ks_expr **e_out,
                        struct ks_err *err);
/* A rule of the family; it may be such a condition where the family is of another tool. */
int ks_family_rule(const struct ks_family *f, uint32_t i_rule, struct ks_expr **e_out,
                   struct ks_err *err);
/* ks_expr_name_fn over a struct ks_family_scope: traits by name or key, and attributes. */
bool ks_family_name(const void *scope, const char *name, struct ks_expr_value *out);
/* The trait on which a name of an expression depends, -1 for a name that is unknown. */
int ks_family_name_trait(const struct ks_family *f, const char *name);
/* A scalar of a JSON file (14, "packed", true for 1) as the index of a value; KS_EINVAL names the
 * nearest. */
int ks_trait_value_node(const struct ks_json *doc, const struct ks_node *n,
                        const struct ks_trait *t, uint32_t *i_out, struct ks_err *err);

#endif
