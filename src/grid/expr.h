/* SPDX-License-Identifier: MIT */
/* expr.h - safe filter expressions: comparison, and or not in, + - * / %, min max, strings, lists.
 * `c.tile_n >= 128 and c.pipeline == 'packed'` and plain names alike. Errors point at the column.
 */
#ifndef KS_GRID_EXPR_H
#define KS_GRID_EXPR_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_expr;

/* Looks a name up: an integer, or a text (text_out != NULL wins). false = unknown name. */
typedef bool (*ks_expr_name_fn)(const void *ctx, const char *name, int64_t *value_out,
                                const char **text_out);

/* KS_EINVAL: "column 7: unexpected ')'" and the expression. */
int ks_expr_parse(const char *text, struct ks_expr **e_out, struct ks_err *err);
/* Unknown names and texts compared with numbers are KS_EINVAL with the column, and so are division
 * by zero and overflow. What `and` and `or` need not look at is not evaluated. */
int ks_expr_test(const struct ks_expr *e, ks_expr_name_fn name, const void *ctx, bool *out,
                 struct ks_err *err);
/* As above; the number itself (a comparison is 0 or 1). A text is KS_EINVAL. */
int ks_expr_value(const struct ks_expr *e, ks_expr_name_fn name, const void *ctx, int64_t *out,
                  struct ks_err *err);

/* Is `text` a possible value of the name? *known_out (NULL-terminated, borrowed): all of them. */
typedef bool (*ks_expr_value_fn)(const void *ctx, const char *name, const char *text,
                                 const char *const **known_out);

/* Names and kinds of all branches without evaluating any: what a typing error would otherwise hide
 * until some instance reaches it. value (NULL: not asked) also judges the texts that a name is
 * compared with by ==, != or in. nearest_of: NULL, or the known names (NULL-terminated). */
int ks_expr_check(const struct ks_expr *e, ks_expr_name_fn name, ks_expr_value_fn value,
                  const char *const *nearest_of, const void *ctx, struct ks_err *err);
void ks_expr_free(struct ks_expr *e); /* NULL is fine */

#endif
