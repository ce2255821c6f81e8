/* SPDX-License-Identifier: MIT */
/* expr_list.c - evaluates lists of values as Python writes them: range(), comprehensions, sums */
#include "grid/expr_number.h"

#include <string.h>

enum { MOST_STEPS = 100000 };

/* A loop variable and its value now. */
struct binding {
    const char *name;
    struct ks_expr_value value;
    const struct binding *outer;
};

struct builder {
    const struct ks_expr *e;
    const struct binding *names; /* of the loops around, the innermost first */
    struct ks_expr_value *values;
    uint32_t n, cap, n_steps;
    struct ks_err *err;
};

/* What becomes of each item of a sequence; `at`: where it stands in the text. */
typedef int (*item_fn)(struct builder *b, const void *ctx, uint32_t at,
                       const struct ks_expr_value *v);

static int walk(struct builder *b, int32_t i, item_fn take, const void *ctx);

static bool find_name(const void *ctx, const char *name, struct ks_expr_value *out)
{
    for (const struct binding *k = ctx; k; k = k->outer)
        if (strcmp(k->name, name) == 0) {
            *out = k->value;
            return true;
        }
    return false;
}

static int complain(const struct builder *b, uint32_t at, const char *what)
{
    return ks_expr_complain(b->e, at, b->err, "%s", what);
}

static bool is_truth(const struct ks_expr_node *n)
{
    return n->op == KS_EXPR_INT && strchr("TtFf", n->text[0]);
}

/* One value. True and False keep their names where they stand by themselves. */
static int read_value(struct builder *b, int32_t i, struct ks_expr_value *out)
{
    const struct ks_expr_node *n = &b->e->nodes[i];
    int rc;

    if (is_truth(n) && (n->text[0] == 't' || n->text[0] == 'f'))
        return complain(b, n->at, "write True or False");
    if (n->op == KS_EXPR_NEG && is_truth(&b->e->nodes[n->a]))
        return complain(b, n->at, "expected a number after '-'");
    rc = ks_expr_eval(b->e, i, find_name, b->names, out, b->err);
    if (rc == 0 && (out->kind == KS_EXPR_IS_LIST || out->kind == KS_EXPR_IS_TUPLE))
        return complain(b, n->at, "expected a single value, found a list");
    if (rc == 0 && is_truth(n))
        out->text = n->text;
    return rc;
}

static int count_step(struct builder *b, uint32_t at)
{
    if (++b->n_steps > MOST_STEPS)
        return ks_expr_complain(b->e, at, b->err, "more than %d steps", MOST_STEPS);
    return 0;
}

/* ---- sequences ---- */

static int walk_items(struct builder *b, const struct ks_expr_node *list, item_fn take,
                      const void *ctx)
{
    struct ks_expr_value v;
    int rc = 0;

    for (int32_t i = list->a; rc == 0 && i != KS_EXPR_NONE; i = b->e->nodes[i].next) {
        rc = count_step(b, b->e->nodes[i].at);
        if (rc == 0)
            rc = read_value(b, i, &v);
        if (rc == 0)
            rc = take(b, ctx, b->e->nodes[i].at, &v);
    }
    return rc;
}

static int read_whole(struct builder *b, int32_t i, int64_t *out)
{
    struct ks_expr_value v;
    int rc = read_value(b, i, &v);

    if (rc == 0 && v.kind != KS_EXPR_IS_INT)
        return complain(b, b->e->nodes[i].at, "range() takes whole numbers");
    if (rc == 0)
        *out = v.whole;
    return rc;
}

static int walk_range(struct builder *b, const struct ks_expr_node *range, item_fn take,
                      const void *ctx)
{
    struct ks_expr_value v = { .kind = KS_EXPR_IS_INT };
    int64_t given[3] = { 0 }, from, to, step;
    int32_t n = 0;
    int rc = 0;

    for (int32_t i = range->a; rc == 0 && i != KS_EXPR_NONE; i = b->e->nodes[i].next)
        rc = read_whole(b, i, &given[n++]);
    if (rc < 0)
        return rc;
    from = n > 1 ? given[0] : 0;
    to = n > 1 ? given[1] : given[0];
    step = n > 2 ? given[2] : 1;
    if (step == 0)
        return complain(b, range->at, "the step of range() must not be 0");
    for (v.whole = from; rc == 0 && (step > 0 ? v.whole < to : v.whole > to);) {
        rc = count_step(b, range->at);
        if (rc == 0)
            rc = take(b, ctx, range->at, &v);
        if (__builtin_add_overflow(v.whole, step, &v.whole))
            break;
    }
    return rc;
}

/* What the clauses of a comprehension have in common. */
struct comprehension {
    const struct ks_expr_node *each;
    item_fn take;
    const void *ctx;
};
struct loop {
    const struct comprehension *c;
    const struct ks_expr_node *clause;
};

static int walk_clauses(struct builder *b, const struct comprehension *c, int32_t i);

static int take_turn(struct builder *b, const void *ctx, uint32_t at, const struct ks_expr_value *v)
{
    const struct loop *loop = ctx;
    struct binding turn = { .name = loop->clause->text, .value = *v, .outer = b->names };
    int rc;

    (void)at;
    b->names = &turn;
    rc = walk_clauses(b, loop->c, loop->clause->next);
    b->names = turn.outer;
    return rc;
}

static int read_truth(struct builder *b, int32_t i, bool *out)
{
    struct ks_expr_value v;
    int rc = read_value(b, i, &v);

    if (rc == 0 && v.kind == KS_EXPR_IS_TEXT)
        return complain(b, b->e->nodes[i].at, "expected a number, found a string");
    if (rc == 0)
        *out = v.kind == KS_EXPR_IS_INT ? v.whole != 0 : v.real != 0;
    return rc;
}

static int walk_clauses(struct builder *b, const struct comprehension *c, int32_t i)
{
    const struct ks_expr_node *clause = i == KS_EXPR_NONE ? NULL : &b->e->nodes[i];
    const struct loop loop = { c, clause };
    struct ks_expr_value v;
    bool is_in = false;
    int rc;

    if (clause && clause->op == KS_EXPR_FOR)
        return walk(b, clause->a, take_turn, &loop);
    if (clause) {
        rc = read_truth(b, clause->a, &is_in);
        return rc == 0 && is_in ? walk_clauses(b, c, clause->next) : rc;
    }
    rc = read_value(b, c->each->a, &v);
    return rc < 0 ? rc : c->take(b, c->ctx, b->e->nodes[c->each->a].at, &v);
}

static bool is_list(const struct builder *b, int32_t i)
{
    enum ks_expr_op op = b->e->nodes[i].op;

    return op == KS_EXPR_LIST || op == KS_EXPR_ITEMS || op == KS_EXPR_EACH || op == KS_EXPR_ADD;
}

static int walk(struct builder *b, int32_t i, item_fn take, const void *ctx)
{
    const struct ks_expr_node *n = &b->e->nodes[i];
    const struct comprehension each = { n, take, ctx };
    int rc;

    switch (n->op) {
    case KS_EXPR_LIST:
    case KS_EXPR_TUPLE:
        return walk_items(b, n, take, ctx);
    case KS_EXPR_RANGE:
        return walk_range(b, n, take, ctx);
    case KS_EXPR_ITEMS:
        return walk(b, n->a, take, ctx);
    case KS_EXPR_EACH:
        return walk_clauses(b, &each, n->b);
    case KS_EXPR_ADD:
        if (!is_list(b, n->a) || !is_list(b, n->b))
            return complain(b, n->at, "only lists can be added: write list(..)");
        rc = walk(b, n->a, take, ctx);
        return rc < 0 ? rc : walk(b, n->b, take, ctx);
    default:
        return complain(b, n->at, "expected a list [..], list(..) or range(..)");
    }
}

/* ---- the values ---- */

static bool is_same(const struct ks_expr_value *a, const struct ks_expr_value *b)
{
    bool is_text = a->kind == KS_EXPR_IS_TEXT;

    return is_text == (b->kind == KS_EXPR_IS_TEXT) && ks_expr_order(a, b) == 0;
}

static int keep(struct builder *b, const void *ctx, uint32_t at, const struct ks_expr_value *v)
{
    (void)ctx;
    if (b->n == b->cap)
        return ks_expr_complain(b->e, at, b->err, "more than %u values", b->cap);
    for (uint32_t k = 0; k < b->n; k++)
        if (is_same(&b->values[k], v))
            return complain(b, at, "duplicate value");
    b->values[b->n++] = *v;
    return 0;
}

int ks_expr_values(const struct ks_expr *e, struct ks_expr_value *values_out, uint32_t cap,
                   uint32_t *n_out, struct ks_err *err)
{
    struct builder b = { .e = e, .values = values_out, .cap = cap, .err = err };
    int rc;

    if (e->nodes[e->root].op == KS_EXPR_TUPLE)
        return complain(&b, e->nodes[e->root].at, "expected a list [..] of values");
    rc = walk(&b, e->root, keep, NULL);
    if (rc == 0)
        *n_out = b.n;
    return rc;
}
