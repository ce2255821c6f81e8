/* SPDX-License-Identifier: MIT */
/* expr.c - evaluates parsed expressions with Python's meaning of comparisons and logic */
#include "grid/expr_number.h"

#include <math.h>
#include <string.h>

/* Nodes are evaluated once: the middle of a chain (a < b < c) belongs to two comparisons, and a
 * list's items are compared with every item of another. */
struct walk {
    const struct ks_expr *e;
    ks_expr_name_fn name;
    const void *ctx;
    struct ks_err *err;
    bool is_known[KS_EXPR_NODES];
    struct ks_expr_value known[KS_EXPR_NODES];
};

static int eval(struct walk *w, int32_t i, struct ks_expr_value *out);

static int complain(struct walk *w, const struct ks_expr_node *n, const char *what)
{
    return ks_expr_complain(w->e, n->at, w->err, "%s", what);
}

static bool is_number(const struct ks_expr_value *v)
{
    return v->kind == KS_EXPR_IS_INT || v->kind == KS_EXPR_IS_REAL;
}

static bool is_list(const struct ks_expr_value *v)
{
    return v->kind == KS_EXPR_IS_LIST || v->kind == KS_EXPR_IS_TUPLE;
}

static int eval_number(struct walk *w, int32_t i, struct ks_expr_value *out)
{
    int rc = eval(w, i, out);

    if (rc < 0 || is_number(out))
        return rc;
    return complain(w, &w->e->nodes[i],
                    out->kind == KS_EXPR_IS_TEXT ? "expected a number, found a string"
                                                 : "expected a number, found a list");
}

static int eval_truth(struct walk *w, int32_t i, struct ks_expr_value *v_out, bool *out)
{
    int rc = eval_number(w, i, v_out);

    if (rc == 0)
        *out = v_out->kind == KS_EXPR_IS_INT ? v_out->whole != 0 : v_out->real != 0;
    return rc;
}

static void give_truth(bool is_true, struct ks_expr_value *out)
{
    *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_INT, .whole = is_true };
}

static int eval_arithmetic(struct walk *w, const struct ks_expr_node *n, struct ks_expr_value *out)
{
    struct ks_expr_value a, b = { 0 };
    const char *wrong;
    int rc = eval_number(w, n->a, &a);

    if (rc == 0 && n->b != KS_EXPR_NONE)
        rc = eval_number(w, n->b, &b);
    if (rc < 0)
        return rc;
    wrong = ks_expr_arithmetic(n->op, &a, &b, out);
    return wrong ? complain(w, n, wrong) : 0;
}

/* Both numbers, both texts, or both lists of one kind of bracket. */
static int same_kind(struct walk *w, const struct ks_expr_node *n, const struct ks_expr_value *a,
                     const struct ks_expr_value *b)
{
    if (a->kind == b->kind || (is_number(a) && is_number(b)))
        return 0;
    if (is_list(a) && is_list(b))
        return complain(w, n, "a list [..] is compared with a tuple (..)");
    if (is_list(a) || is_list(b))
        return complain(w, n, "a list is compared with a single value");
    return complain(w, n, "a string is compared with a number");
}

/* Lists of different length are not equal, whatever is in them. */
static bool same_length(const struct walk *w, int32_t a, int32_t b)
{
    while (a != KS_EXPR_NONE && b != KS_EXPR_NONE) {
        a = w->e->nodes[a].next;
        b = w->e->nodes[b].next;
    }
    return a == b;
}

static int is_equal(struct walk *w, const struct ks_expr_node *n, const struct ks_expr_value *a,
                    const struct ks_expr_value *b, bool *out)
{
    int32_t i = (int32_t)a->whole, k = (int32_t)b->whole;
    bool is_same = true;
    int rc = same_kind(w, n, a, b);

    if (rc < 0)
        return rc;
    if (!is_list(a)) {
        *out = ks_expr_order(a, b) == 0;
        return 0;
    }
    is_same = same_length(w, i, k);
    while (rc == 0 && is_same && i != KS_EXPR_NONE) {
        rc = is_equal(w, n, &w->known[i], &w->known[k], &is_same);
        i = w->e->nodes[i].next;
        k = w->e->nodes[k].next;
    }
    if (rc == 0)
        *out = is_same;
    return rc;
}

static bool is_ordered(enum ks_expr_op op, int order)
{
    if (op == KS_EXPR_LT)
        return order < 0;
    if (op == KS_EXPR_LE)
        return order <= 0;
    return op == KS_EXPR_GT ? order > 0 : order >= 0;
}

static int eval_compare(struct walk *w, const struct ks_expr_node *n, struct ks_expr_value *out)
{
    struct ks_expr_value a, b;
    bool is_same = false;
    int rc = eval(w, n->a, &a);

    if (rc == 0)
        rc = eval(w, n->b, &b);
    if (rc == 0 && (n->op == KS_EXPR_EQ || n->op == KS_EXPR_NE)) {
        rc = is_equal(w, n, &a, &b, &is_same);
        give_truth(is_same == (n->op == KS_EXPR_EQ), out);
        return rc;
    }
    if (rc == 0)
        rc = same_kind(w, n, &a, &b);
    if (rc == 0 && is_list(&a))
        return complain(w, n, "lists cannot be ordered: compare with == or !=");
    if (rc == 0)
        give_truth(is_ordered(n->op, ks_expr_order(&a, &b)), out);
    return rc;
}

/* All items are looked at, so that a kind that does not fit is seen wherever it stands. */
static int eval_in(struct walk *w, const struct ks_expr_node *n, struct ks_expr_value *out)
{
    struct ks_expr_value needle, hay;
    bool is_in = false;
    int rc = eval(w, n->a, &needle);

    if (rc == 0)
        rc = eval(w, n->b, &hay);
    if (rc < 0)
        return rc;
    if (is_number(&hay))
        return complain(w, &w->e->nodes[n->b], "expected a list or a string after 'in'");
    if (hay.kind == KS_EXPR_IS_TEXT) {
        rc = same_kind(w, n, &needle, &hay);
        is_in = rc == 0 && strstr(hay.text, needle.text) != NULL;
    } else {
        for (int32_t i = (int32_t)hay.whole; rc == 0 && i != KS_EXPR_NONE;
             i = w->e->nodes[i].next) {
            bool is_same = false;

            rc = is_equal(w, n, &needle, &w->known[i], &is_same);
            is_in = is_in || is_same;
        }
    }
    give_truth(is_in, out);
    return rc;
}

/* The first of equal ones, as in Python. */
static int eval_extreme(struct walk *w, const struct ks_expr_node *n, struct ks_expr_value *out)
{
    struct ks_expr_value best, v;
    int rc = eval(w, n->a, &best);

    for (int32_t i = w->e->nodes[n->a].next; rc == 0 && i != KS_EXPR_NONE;
         i = w->e->nodes[i].next) {
        rc = eval(w, i, &v);
        if (rc == 0)
            rc = same_kind(w, n, &best, &v);
        if (rc == 0 && is_list(&v))
            return complain(w, n, "lists cannot be ordered: compare with == or !=");
        if (rc == 0 &&
            is_ordered(n->op == KS_EXPR_MIN ? KS_EXPR_LT : KS_EXPR_GT, ks_expr_order(&v, &best)))
            best = v;
    }
    if (rc == 0)
        *out = best;
    return rc;
}

/* `and` and `or` give the operand that decided, as in Python. */
static int eval_logic(struct walk *w, const struct ks_expr_node *n, struct ks_expr_value *out)
{
    struct ks_expr_value v;
    bool is_true = false;
    int rc = eval_truth(w, n->a, &v, &is_true);

    if (rc == 0 && n->op == KS_EXPR_NOT)
        give_truth(!is_true, &v);
    else if (rc == 0 && (n->op == KS_EXPR_AND) == is_true)
        rc = eval_number(w, n->b, &v);
    if (rc == 0)
        *out = v;
    return rc;
}

static int eval_list(struct walk *w, const struct ks_expr_node *n, struct ks_expr_value *out)
{
    struct ks_expr_value v;
    int rc = 0;

    for (int32_t i = n->a; rc == 0 && i != KS_EXPR_NONE; i = w->e->nodes[i].next)
        rc = eval(w, i, &v);
    out->kind = n->op == KS_EXPR_LIST ? KS_EXPR_IS_LIST : KS_EXPR_IS_TUPLE;
    out->whole = n->a;
    return rc;
}

static int eval_name(struct walk *w, const struct ks_expr_node *n, struct ks_expr_value *out)
{
    if (w->name(w->ctx, n->text, out))
        return 0;
    return ks_expr_complain(w->e, n->at, w->err, "unknown name '%.40s'", n->text);
}

static int eval_node(struct walk *w, const struct ks_expr_node *n, struct ks_expr_value *out)
{
    switch (n->op) {
    case KS_EXPR_INT:
        out->whole = n->value;
        return 0;
    case KS_EXPR_REAL:
        out->kind = KS_EXPR_IS_REAL;
        out->real = n->real;
        return 0;
    case KS_EXPR_TEXT:
        out->kind = KS_EXPR_IS_TEXT;
        out->text = n->text;
        return 0;
    case KS_EXPR_NAME:
        return eval_name(w, n, out);
    case KS_EXPR_LIST:
    case KS_EXPR_TUPLE:
        return eval_list(w, n, out);
    case KS_EXPR_NOT:
    case KS_EXPR_AND:
    case KS_EXPR_OR:
        return eval_logic(w, n, out);
    case KS_EXPR_IN:
        return eval_in(w, n, out);
    case KS_EXPR_MIN:
    case KS_EXPR_MAX:
        return eval_extreme(w, n, out);
    case KS_EXPR_EQ:
    case KS_EXPR_NE:
    case KS_EXPR_LT:
    case KS_EXPR_LE:
    case KS_EXPR_GT:
    case KS_EXPR_GE:
        return eval_compare(w, n, out);
    case KS_EXPR_RANGE:
    case KS_EXPR_ITEMS:
    case KS_EXPR_EACH:
        return complain(w, n, "expected a single value, found a sequence");
    default:
        return eval_arithmetic(w, n, out);
    }
}

static int eval(struct walk *w, int32_t i, struct ks_expr_value *out)
{
    struct ks_expr_value v = { .kind = KS_EXPR_IS_INT };
    int rc;

    if (!w->is_known[i]) {
        rc = eval_node(w, &w->e->nodes[i], &v);
        if (rc < 0)
            return rc;
        w->is_known[i] = true;
        w->known[i] = v;
    }
    *out = w->known[i];
    return 0;
}

static void begin(struct walk *w, const struct ks_expr *e, ks_expr_name_fn name, const void *ctx,
                  struct ks_err *err)
{
    w->e = e;
    w->name = name;
    w->ctx = ctx;
    w->err = err;
    memset(w->is_known, 0, (size_t)e->n_nodes * sizeof w->is_known[0]);
}

int ks_expr_eval(const struct ks_expr *e, int32_t i_node, ks_expr_name_fn name, const void *ctx,
                 struct ks_expr_value *out, struct ks_err *err)
{
    struct walk w;

    begin(&w, e, name, ctx, err);
    return eval(&w, i_node, out);
}

int ks_expr_value(const struct ks_expr *e, ks_expr_name_fn name, const void *ctx, int64_t *out,
                  struct ks_err *err)
{
    struct ks_expr_value v;
    struct walk w;
    int rc;

    begin(&w, e, name, ctx, err);
    rc = eval_number(&w, e->root, &v);
    if (rc < 0)
        return rc;
    if (v.kind == KS_EXPR_IS_REAL && !(v.real == floor(v.real) && fabs(v.real) <= 0x1p53))
        return complain(&w, &e->nodes[e->root], "expected a whole number");
    *out = v.kind == KS_EXPR_IS_REAL ? (int64_t)v.real : v.whole;
    return 0;
}

int ks_expr_test(const struct ks_expr *e, ks_expr_name_fn name, const void *ctx, bool *out,
                 struct ks_err *err)
{
    struct ks_expr_value v;
    struct walk w;

    begin(&w, e, name, ctx, err);
    return eval_truth(&w, e->root, &v, out);
}
