/* SPDX-License-Identifier: MIT */
#include "grid/expr_node.h"

#include <string.h>

struct value {
    bool is_text;
    int64_t v;
    const char *text;
};

/* Nodes are evaluated once: the middle of a chain (a < b < c) belongs to two comparisons. */
struct walk {
    const struct ks_expr *e;
    ks_expr_name_fn name;
    const void *ctx;
    struct ks_err *err;
    bool is_known[KS_EXPR_NODES];
    struct value known[KS_EXPR_NODES];
};

static int eval(struct walk *w, int32_t i, struct value *out);

static int complain(const struct ks_expr *e, const struct ks_expr_node *n, struct ks_err *err,
                    const char *what)
{
    return ks_fail(err, KS_EINVAL, "column %u: %s in expression \"%.200s\"", n->column, what,
                   e->text);
}

static int eval_int(struct walk *w, int32_t i, int64_t *out)
{
    struct value v;
    int rc = eval(w, i, &v);

    if (rc < 0)
        return rc;
    if (v.is_text)
        return complain(w->e, &w->e->nodes[i], w->err, "a number is wanted here, not a text");
    *out = v.v;
    return 0;
}

static int divide(struct walk *w, const struct ks_expr_node *n, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return complain(w->e, n, w->err, "division by zero");
    if (b == -1) {
        if (n->op == KS_EXPR_DIV && a == INT64_MIN)
            return complain(w->e, n, w->err, "number out of range");
        *out = n->op == KS_EXPR_DIV ? -a : 0;
        return 0;
    }
    *out = n->op == KS_EXPR_DIV ? a / b : a % b;
    return 0;
}

static int eval_arithmetic(struct walk *w, const struct ks_expr_node *n, int64_t *out)
{
    int64_t a = 0, b = 0;
    bool is_over = false;
    int rc = eval_int(w, n->a, &a);

    if (rc == 0 && n->op != KS_EXPR_NEG)
        rc = eval_int(w, n->b, &b);
    if (rc < 0)
        return rc;
    if (n->op == KS_EXPR_DIV || n->op == KS_EXPR_MOD)
        return divide(w, n, a, b, out);
    if (n->op == KS_EXPR_ADD)
        is_over = __builtin_add_overflow(a, b, out);
    else if (n->op == KS_EXPR_MUL)
        is_over = __builtin_mul_overflow(a, b, out);
    else if (n->op == KS_EXPR_NEG)
        is_over = __builtin_sub_overflow((int64_t)0, a, out);
    else
        is_over = __builtin_sub_overflow(a, b, out);
    return is_over ? complain(w->e, n, w->err, "number out of range") : 0;
}

static int same_kind(struct walk *w, const struct ks_expr_node *n, const struct value *a,
                     const struct value *b)
{
    if (a->is_text != b->is_text)
        return complain(w->e, n, w->err, "a text is compared with a number");
    return 0;
}

static bool is_equal(const struct value *a, const struct value *b)
{
    return a->is_text ? strcmp(a->text, b->text) == 0 : a->v == b->v;
}

static bool is_ordered(enum ks_expr_op op, int64_t a, int64_t b)
{
    if (op == KS_EXPR_LT)
        return a < b;
    if (op == KS_EXPR_LE)
        return a <= b;
    return op == KS_EXPR_GT ? a > b : a >= b;
}

static int eval_compare(struct walk *w, const struct ks_expr_node *n, int64_t *out)
{
    struct value a, b;
    int rc = eval(w, n->a, &a);

    if (rc == 0)
        rc = eval(w, n->b, &b);
    if (rc == 0)
        rc = same_kind(w, n, &a, &b);
    if (rc < 0)
        return rc;
    if (n->op == KS_EXPR_EQ || n->op == KS_EXPR_NE) {
        *out = is_equal(&a, &b) == (n->op == KS_EXPR_EQ);
        return 0;
    }
    if (a.is_text)
        return complain(w->e, n, w->err, "texts have no order");
    *out = is_ordered(n->op, a.v, b.v);
    return 0;
}

static int eval_in(struct walk *w, const struct ks_expr_node *n, int64_t *out)
{
    struct value needle, item;
    int64_t is_in = 0;
    int rc = eval(w, n->a, &needle);

    for (int32_t i = n->b; rc == 0 && i != KS_EXPR_NONE; i = w->e->nodes[i].next) {
        rc = eval(w, i, &item);
        if (rc == 0)
            rc = same_kind(w, n, &needle, &item);
        if (rc == 0 && is_equal(&needle, &item))
            is_in = 1;
    }
    if (rc == 0)
        *out = is_in;
    return rc;
}

static int eval_extreme(struct walk *w, const struct ks_expr_node *n, int64_t *out)
{
    int64_t best = 0, v = 0;
    int rc = eval_int(w, n->a, &best);

    for (int32_t i = w->e->nodes[n->a].next; rc == 0 && i != KS_EXPR_NONE;
         i = w->e->nodes[i].next) {
        rc = eval_int(w, i, &v);
        if (rc == 0 && (n->op == KS_EXPR_MIN ? v < best : v > best))
            best = v;
    }
    if (rc == 0)
        *out = best;
    return rc;
}

static int eval_logic(struct walk *w, const struct ks_expr_node *n, int64_t *out)
{
    int64_t v = 0;
    int rc = eval_int(w, n->a, &v);

    if (rc == 0 && n->op == KS_EXPR_NOT)
        v = !v;
    else if (rc == 0 && (n->op == KS_EXPR_AND) == (v != 0))
        rc = eval_int(w, n->b, &v);
    if (rc == 0)
        *out = v != 0;
    return rc;
}

static int eval_name(struct walk *w, const struct ks_expr_node *n, struct value *out)
{
    const char *text = NULL;

    if (w->name(w->ctx, n->text, &out->v, &text)) {
        out->is_text = text != NULL;
        out->text = text;
        return 0;
    }
    return ks_fail(w->err, KS_EINVAL, "column %u: unknown name '%s' in expression \"%.200s\"",
                   n->column, n->text, w->e->text);
}

static int eval_node(struct walk *w, const struct ks_expr_node *n, struct value *out)
{
    switch (n->op) {
    case KS_EXPR_INT:
        out->v = n->value;
        return 0;
    case KS_EXPR_TEXT:
        out->is_text = true;
        out->text = n->text;
        return 0;
    case KS_EXPR_NAME:
        return eval_name(w, n, out);
    case KS_EXPR_NOT:
    case KS_EXPR_AND:
    case KS_EXPR_OR:
        return eval_logic(w, n, &out->v);
    case KS_EXPR_IN:
        return eval_in(w, n, &out->v);
    case KS_EXPR_MIN:
    case KS_EXPR_MAX:
        return eval_extreme(w, n, &out->v);
    case KS_EXPR_EQ:
    case KS_EXPR_NE:
    case KS_EXPR_LT:
    case KS_EXPR_LE:
    case KS_EXPR_GT:
    case KS_EXPR_GE:
        return eval_compare(w, n, &out->v);
    default:
        return eval_arithmetic(w, n, &out->v);
    }
}

static int eval(struct walk *w, int32_t i, struct value *out)
{
    struct value v = { 0 };
    int rc;

    if (w->is_known[i]) {
        *out = w->known[i];
        return 0;
    }
    rc = eval_node(w, &w->e->nodes[i], &v);
    if (rc < 0)
        return rc;
    w->is_known[i] = true;
    w->known[i] = v;
    *out = v;
    return 0;
}

int ks_expr_value(const struct ks_expr *e, ks_expr_name_fn name, const void *ctx, int64_t *out,
                  struct ks_err *err)
{
    struct walk w;

    w.e = e;
    w.name = name;
    w.ctx = ctx;
    w.err = err;
    memset(w.is_known, 0, (size_t)e->n_nodes * sizeof w.is_known[0]);
    return eval_int(&w, e->root, out);
}

int ks_expr_test(const struct ks_expr *e, ks_expr_name_fn name, const void *ctx, bool *out,
                 struct ks_err *err)
{
    int64_t v = 0;
    int rc = ks_expr_value(e, name, ctx, &v, err);

    if (rc < 0)
        return rc;
    *out = v != 0;
    return 0;
}
