/* SPDX-License-Identifier: MIT */
/* expr_number.h - Python's arithmetic and order on whole and real numbers. */
#ifndef KS_GRID_EXPR_NUMBER_H
#define KS_GRID_EXPR_NUMBER_H

#include "grid/expr_node.h"

/* a op b for numbers; b is not looked at for one operand (NEG, PLUS, ABS). Returns NULL, or what is
 * wrong ("division by zero", "number out of range"; static) with *out untouched. */
const char *ks_expr_arithmetic(enum ks_expr_op op, const struct ks_expr_value *a,
                               const struct ks_expr_value *b, struct ks_expr_value *out);
/* Below 0, 0, above 0: a before b. Two numbers (exact, also a whole with a real) or two texts. */
int ks_expr_order(const struct ks_expr_value *a, const struct ks_expr_value *b);

#endif
