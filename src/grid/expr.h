/* SPDX-License-Identifier: MIT */
/* expr.h - safe filter expressions, a part of Python's: comparison (also chained), `and or not`,
 * `in` and `not in` over lists, tuples and texts, + - * / // % **, min max abs, numbers, texts,
 * True and False. `c.tile_n >= 128 and c.pipeline == 'packed'` and plain names alike.
 *
 * What is accepted means what it means in Python, with these limits: whole numbers have 64 bits and
 * real ones are finite (beyond: an error, never another value); `/` takes whole numbers up to 2^53,
 * where it is exact as in Python; `and`, `or` and `not` take numbers; comparing a text with a
 * number, or a list with anything but its like, is an error. true and false also stand for True and
 * False. Errors point at the column, or at the place in a file. */
#ifndef KS_GRID_EXPR_H
#define KS_GRID_EXPR_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_expr;

enum ks_expr_kind {
    KS_EXPR_IS_INT,
    KS_EXPR_IS_REAL,
    KS_EXPR_IS_TEXT,
    KS_EXPR_IS_LIST, /* this and the next: inside an evaluation, never a name's value */
    KS_EXPR_IS_TUPLE
};

struct ks_expr_value {
    enum ks_expr_kind kind;
    int64_t whole;    /* IS_INT; of a list its first item */
    double real;      /* IS_REAL; finite */
    const char *text; /* IS_TEXT; borrowed */
};

/* Looks a name up. false = unknown name. */
typedef bool (*ks_expr_name_fn)(const void *ctx, const char *name, struct ks_expr_value *out);

/* Where an expression's first character stands; file NULL: errors say "column 7". */
struct ks_expr_place {
    const char *file; /* borrowed as long as the expression lives */
    unsigned line, column;
};

/* KS_EINVAL: "column 7: unexpected ')'" and the expression. */
int ks_expr_parse(const char *text, struct ks_expr **e_out, struct ks_err *err);
/* The same of a text in a file: every error of this expression begins with "file:line:column". */
int ks_expr_parse_at(const char *text, const struct ks_expr_place *place, struct ks_expr **e_out,
                     struct ks_err *err);
/* Unknown names and texts compared with numbers are KS_EINVAL with the column, and so are division
 * by zero and overflow. What `and` and `or` need not look at is not evaluated. */
int ks_expr_test(const struct ks_expr *e, ks_expr_name_fn name, const void *ctx, bool *out,
                 struct ks_err *err);
/* As above; the whole number itself (a comparison is 0 or 1). A text is KS_EINVAL, and so is a real
 * number that is not whole. */
int ks_expr_value(const struct ks_expr *e, ks_expr_name_fn name, const void *ctx, int64_t *out,
                  struct ks_err *err);

/* Is `text` a possible value of the name? *known_out (NULL-terminated, borrowed): all of them. */
typedef bool (*ks_expr_value_fn)(const void *ctx, const char *name, const char *text,
                                 const char *const **known_out);

/* Names and kinds of all branches without evaluating any: what a typing error would otherwise hide
 * until some instance reaches it. value (NULL: not asked) also checks the texts that a name is
 * compared with by ==, != or in. nearest_of: NULL, or the known names (NULL-terminated). */
int ks_expr_check(const struct ks_expr *e, ks_expr_name_fn name, ks_expr_value_fn value,
                  const char *const *nearest_of, const void *ctx, struct ks_err *err);
/* As ks_expr_parse(), of a text that names values: besides all above it may hold range(), list()
 * and comprehensions, "[2 ** i for i in range(6) if i != 3]". Such an expression is for
 * ks_expr_values() alone. */
int ks_expr_parse_values(const char *text, struct ks_expr **e_out, struct ks_err *err);
/* The values of a list, "[16, -2.5, 'a', True]", of list(), range(), a comprehension, or of lists
 * added up, as they are in Python: True and False are whole numbers whose text says so, else only a
 * text has a text. KS_EINVAL with the column for anything else, for more than cap values, for
 * values that are equal, and for more than 100,000 steps on the way. */
int ks_expr_values(const struct ks_expr *e, struct ks_expr_value *values_out, uint32_t cap,
                   uint32_t *n_out, struct ks_err *err);
/* What a name is called elsewhere; NULL: nothing. */
typedef const char *(*ks_expr_rename_fn)(const void *ctx, const char *name);
/* Appends the expression (is_negated: its opposite) with every bracket written out and only with
 * what the T1 schema lists: `in` becomes comparisons, abs becomes max, a chain becomes `and`.
 * false: a name or a part has no such form, or the text would be longer than most; a part may have
 * been written then. */
bool ks_expr_print_plain(const struct ks_expr *e, bool is_negated, ks_expr_rename_fn rename,
                         const void *ctx, size_t most, struct ks_buf *text_out);
/* The names that stand in an expression, as they are met, repeated ones too: the i-th, NULL behind
 * the last. *i_at: zero before the first call. */
const char *ks_expr_next_name(const struct ks_expr *e, int32_t *i_at);
void ks_expr_free(struct ks_expr *e); /* NULL is fine */

#endif
