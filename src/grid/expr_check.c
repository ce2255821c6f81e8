/* SPDX-License-Identifier: MIT */
#include "base/opt.h"
#include "grid/expr_node.h"

#include <string.h>

/* Nodes are appended after their operands, so that one pass from the first to the last sees every
 * operand's kind before it is used. */
struct checker {
    const struct ks_expr *e;
    ks_expr_name_fn name;
    ks_expr_value_fn value;
    const char *const *nearest_of;
    const void *ctx;
    struct ks_err *err;
    bool is_text[KS_EXPR_NODES];
};

static int complain(const struct checker *c, unsigned column, const char *what)
{
    return ks_fail(c->err, KS_EINVAL, "column %u: %s in expression \"%.200s\"", column, what,
                   c->e->text);
}

static int check_name(struct checker *c, int32_t i)
{
    const struct ks_expr_node *n = &c->e->nodes[i];
    const char *text = NULL, *near;
    int64_t v;

    if (c->name(c->ctx, n->text, &v, &text)) {
        c->is_text[i] = text != NULL;
        return 0;
    }
    near = c->nearest_of ? ks_nearest(n->text, c->nearest_of) : NULL;
    return ks_fail(c->err, KS_EINVAL, "column %u: unknown name '%s'%s%s%s in expression \"%.200s\"",
                   n->column, n->text, near ? ", did you mean '" : "", near ? near : "",
                   near ? "'" : "", c->e->text);
}

/* A text that the name can never have: the comparison would always give the same. */
static int check_value(const struct checker *c, int32_t i_name, int32_t i_text)
{
    const struct ks_expr_node *name = &c->e->nodes[i_name], *text = &c->e->nodes[i_text];
    const char *const *known = NULL;
    const char *near;

    if (!c->value || name->op != KS_EXPR_NAME || text->op != KS_EXPR_TEXT ||
        c->value(c->ctx, name->text, text->text, &known))
        return 0;
    near = known ? ks_nearest(text->text, known) : NULL;
    return ks_fail(c->err, KS_EINVAL,
                   "column %u: '%s' is no value of '%s'%s%s%s in expression \"%.200s\"",
                   text->column, text->text, name->text, near ? ", did you mean '" : "",
                   near ? near : "", near ? "'" : "", c->e->text);
}

static int check_pair(const struct checker *c, const struct ks_expr_node *n, int32_t a, int32_t b)
{
    int rc;

    if (c->is_text[a] != c->is_text[b])
        return complain(c, n->column, "a text is compared with a number");
    if (n->op != KS_EXPR_EQ && n->op != KS_EXPR_NE && n->op != KS_EXPR_IN)
        return c->is_text[a] ? complain(c, n->column, "texts have no order") : 0;
    rc = check_value(c, a, b);
    return rc < 0 ? rc : check_value(c, b, a);
}

static int check_number(const struct checker *c, int32_t i)
{
    if (i != KS_EXPR_NONE && c->is_text[i])
        return complain(c, c->e->nodes[i].column, "a number is wanted here, not a text");
    return 0;
}

static int check_numbers(const struct checker *c, int32_t first)
{
    int rc = 0;

    for (int32_t i = first; rc == 0 && i != KS_EXPR_NONE; i = c->e->nodes[i].next)
        rc = check_number(c, i);
    return rc;
}

static int check_node(struct checker *c, int32_t i)
{
    const struct ks_expr_node *n = &c->e->nodes[i];
    int rc = 0;

    if (n->op == KS_EXPR_INT)
        return 0;
    if (n->op == KS_EXPR_NAME)
        return check_name(c, i);
    if (n->op == KS_EXPR_TEXT) {
        c->is_text[i] = true;
        return 0;
    }
    if (n->op == KS_EXPR_MIN || n->op == KS_EXPR_MAX)
        return check_numbers(c, n->a);
    if (n->op == KS_EXPR_IN) {
        for (int32_t k = n->b; rc == 0 && k != KS_EXPR_NONE; k = c->e->nodes[k].next)
            rc = check_pair(c, n, n->a, k);
        return rc;
    }
    if (n->op >= KS_EXPR_EQ && n->op <= KS_EXPR_GE)
        return check_pair(c, n, n->a, n->b);
    rc = check_number(c, n->a);
    return rc < 0 ? rc : check_number(c, n->b);
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
