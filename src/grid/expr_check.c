/* SPDX-License-Identifier: MIT */
/* expr_check.c - checks the kinds, names and values in an expression before it is evaluated */
#include "grid/expr_node.h"
#include "op/op.h"

#include <stdio.h>
#include <string.h>

enum { ALL_BYTES = 240 }; /* of a list of all names */
enum kind { NUMBER, TEXT, LIST, TUPLE };

/* Nodes are appended after their operands, so that one pass from the first to the last sees every
 * operand's kind before it is used. */
struct checker {
    const struct ks_expr *e;
    ks_expr_name_fn name;
    ks_expr_value_fn value;
    const char *const *nearest_of;
    const void *ctx;
    struct ks_err *err;
    uint8_t kind[KS_EXPR_NODES]; /* enum kind */
};

static int complain(const struct checker *c, const struct ks_expr_node *n, const char *what)
{
    return ks_expr_complain(c->e, n->at, c->err, "%s", what);
}

/* ", did you mean 'x'" or "". */
static void hint(const char *word, const char *const *known, char out[64])
{
    const char *near = known ? ks_word_nearest(word, known) : NULL;

    out[0] = '\0';
    if (near)
        snprintf(out, 64, ", did you mean '%.40s'", near);
}

/* "; known are a, b, c" or "". What has no room is left out, and said so. */
static void list(const char *const *known, char out[ALL_BYTES])
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; known && known[i]; i++) {
        const char *gap = i ? ", " : "; known are ";

        if (n + strlen(gap) + strlen(known[i]) + sizeof(", ...") > ALL_BYTES) {
            snprintf(out + n, ALL_BYTES - n, ", ...");
            return;
        }
        n += (size_t)snprintf(out + n, ALL_BYTES - n, "%s%s", gap, known[i]);
    }
}

static int check_name(struct checker *c, int32_t i)
{
    const struct ks_expr_node *n = &c->e->nodes[i];
    struct ks_expr_value v = { .kind = KS_EXPR_IS_INT };
    char near[64], all[ALL_BYTES];

    if (c->name(c->ctx, n->text, &v)) {
        c->kind[i] = v.kind == KS_EXPR_IS_TEXT ? TEXT : NUMBER;
        return 0;
    }
    hint(n->text, c->nearest_of, near);
    list(c->nearest_of, all);
    return ks_expr_complain(c->e, n->at, c->err, "unknown name '%.40s'%s%s", n->text, near, all);
}

/* A text that the name can never have: the comparison would always give the same. */
static int check_value(const struct checker *c, int32_t i_name, int32_t i_text)
{
    const struct ks_expr_node *name = &c->e->nodes[i_name], *text = &c->e->nodes[i_text];
    const char *const *known = NULL;
    char near[64], all[ALL_BYTES];

    if (!c->value || name->op != KS_EXPR_NAME || text->op != KS_EXPR_TEXT ||
        c->value(c->ctx, name->text, text->text, &known))
        return 0;
    hint(text->text, known, near);
    list(known, all);
    return ks_expr_complain(c->e, text->at, c->err, "'%.40s' is not a value of '%.40s'%s%s",
                            text->text, name->text, near, all);
}

static bool is_list(const struct checker *c, int32_t i)
{
    return c->kind[i] == LIST || c->kind[i] == TUPLE;
}

static int check_kinds(const struct checker *c, const struct ks_expr_node *n, int32_t a, int32_t b)
{
    if (c->kind[a] == c->kind[b])
        return 0;
    if (is_list(c, a) && is_list(c, b))
        return complain(c, n, "a list [..] is compared with a tuple (..)");
    if (is_list(c, a) || is_list(c, b))
        return complain(c, n, "a list is compared with a single value");
    return complain(c, n, "a string is compared with a number");
}

/* Can a and b be equal? Of lists only pairs of items are compared. */
static int check_equal(const struct checker *c, const struct ks_expr_node *n, int32_t a, int32_t b)
{
    int rc = check_kinds(c, n, a, b);

    if (rc == 0 && !is_list(c, a)) {
        rc = check_value(c, a, b);
        return rc < 0 ? rc : check_value(c, b, a);
    }
    if (rc < 0)
        return rc;
    a = c->e->nodes[a].a;
    b = c->e->nodes[b].a;
    while (rc == 0 && a != KS_EXPR_NONE && b != KS_EXPR_NONE) {
        rc = check_equal(c, n, a, b);
        a = c->e->nodes[a].next;
        b = c->e->nodes[b].next;
    }
    return rc;
}

static int check_ordered(const struct checker *c, const struct ks_expr_node *n, int32_t a,
                         int32_t b)
{
    int rc = check_kinds(c, n, a, b);

    return rc == 0 && is_list(c, a)
               ? complain(c, n, "lists cannot be ordered: compare with == or !=")
               : rc;
}

static int check_in(const struct checker *c, const struct ks_expr_node *n)
{
    int rc = 0;

    if (c->kind[n->b] == NUMBER)
        return complain(c, &c->e->nodes[n->b], "expected a list or a string after 'in'");
    if (c->kind[n->b] == TEXT)
        return check_kinds(c, n, n->a, n->b);
    for (int32_t i = c->e->nodes[n->b].a; rc == 0 && i != KS_EXPR_NONE; i = c->e->nodes[i].next)
        rc = check_equal(c, n, n->a, i);
    return rc;
}

static int check_extreme(struct checker *c, const struct ks_expr_node *n, int32_t i)
{
    int rc = 0;

    c->kind[i] = c->kind[n->a];
    for (int32_t k = c->e->nodes[n->a].next; rc == 0 && k != KS_EXPR_NONE; k = c->e->nodes[k].next)
        rc = check_ordered(c, n, n->a, k);
    return rc;
}

static int check_number(const struct checker *c, int32_t i)
{
    if (i == KS_EXPR_NONE || c->kind[i] == NUMBER)
        return 0;
    return complain(c, &c->e->nodes[i],
                    c->kind[i] == TEXT ? "expected a number, found a string"
                                       : "expected a number, found a list");
}

static int check_node(struct checker *c, int32_t i)
{
    const struct ks_expr_node *n = &c->e->nodes[i];
    int rc;

    switch (n->op) {
    case KS_EXPR_INT:
    case KS_EXPR_REAL:
        return 0;
    case KS_EXPR_NAME:
        return check_name(c, i);
    case KS_EXPR_TEXT:
        c->kind[i] = TEXT;
        return 0;
    case KS_EXPR_LIST:
    case KS_EXPR_TUPLE:
        c->kind[i] = n->op == KS_EXPR_LIST ? LIST : TUPLE;
        return 0;
    case KS_EXPR_MIN:
    case KS_EXPR_MAX:
        return check_extreme(c, n, i);
    case KS_EXPR_IN:
        return check_in(c, n);
    case KS_EXPR_EQ:
    case KS_EXPR_NE:
        return check_equal(c, n, n->a, n->b);
    case KS_EXPR_LT:
    case KS_EXPR_LE:
    case KS_EXPR_GT:
    case KS_EXPR_GE:
        return check_ordered(c, n, n->a, n->b);
    default:
        rc = check_number(c, n->a);
        return rc < 0 ? rc : check_number(c, n->b);
    }
}

int ks_expr_check(const struct ks_expr *e, ks_expr_name_fn name, ks_expr_value_fn value,
                  const char *const *nearest_of, const void *ctx, struct ks_err *err)
{
    struct checker c = {
        .e = e, .name = name, .value = value, .nearest_of = nearest_of, .ctx = ctx, .err = err
    };
    int rc = 0;

    for (int32_t i = 0; rc == 0 && i < e->n_nodes; i++)
        rc = check_node(&c, i);
    return rc < 0 ? rc : check_number(&c, e->root);
}
