/* SPDX-License-Identifier: MIT */
/* expr_print.c - prints an expression in a plainer language, for filters of exported configs */
#include "grid/expr_node.h"

#include <string.h>

struct printer {
    const struct ks_expr *e;
    ks_expr_rename_fn rename;
    const void *ctx;
    size_t end; /* the buffer's length that must not be passed */
    struct ks_buf *to;
};

static bool print(struct printer *p, int32_t i);

static bool has_room(const struct printer *p)
{
    return ks_buf_ok(p->to) && p->to->len <= p->end;
}

static bool print_name(struct printer *p, const struct ks_expr_node *n)
{
    const char *name = p->rename(p->ctx, n->text);

    if (name)
        ks_buf_printf(p->to, "%s", name);
    return name != NULL;
}

static bool print_literal(struct printer *p, const struct ks_expr_node *n)
{
    char real[32];

    if (n->op == KS_EXPR_TEXT) {
        char quote = strchr(n->text, '\'') ? '"' : '\'';

        ks_buf_printf(p->to, "%c%s%c", quote, n->text, quote);
    } else if (n->op == KS_EXPR_REAL) {
        ks_f64_text(n->real, real);
        ks_buf_printf(p->to, "%s%s", real, strpbrk(real, ".e") ? "" : ".0");
    } else {
        ks_buf_printf(p->to, "%lld", (long long)n->value);
    }
    return true;
}

static bool print_two(struct printer *p, int32_t a, const char *sign, int32_t b)
{
    bool is_done;

    ks_buf_printf(p->to, "(");
    is_done = print(p, a);
    ks_buf_printf(p->to, " %s ", sign);
    is_done = is_done && print(p, b);
    ks_buf_printf(p->to, ")");
    return is_done;
}

/* sign(a), as "not (a)", "-(a)". */
static bool print_one(struct printer *p, const char *sign, int32_t a)
{
    bool is_done;

    ks_buf_printf(p->to, "(%s", sign);
    is_done = print(p, a);
    ks_buf_printf(p->to, ")");
    return is_done;
}

static bool is_list(const struct printer *p, int32_t i)
{
    return p->e->nodes[i].op == KS_EXPR_LIST || p->e->nodes[i].op == KS_EXPR_TUPLE;
}

/* a == b; lists item by item. */
static bool print_equal(struct printer *p, int32_t a, int32_t b)
{
    const struct ks_expr_node *nodes = p->e->nodes;
    bool is_done = true;

    if (!is_list(p, a) || !is_list(p, b))
        return !is_list(p, a) && !is_list(p, b) && print_two(p, a, "==", b);
    a = nodes[a].a;
    b = nodes[b].a;
    if (a == KS_EXPR_NONE || b == KS_EXPR_NONE) {
        ks_buf_printf(p->to, "(1 == %d)", a == b);
        return true;
    }
    ks_buf_printf(p->to, "(");
    while (is_done && a != KS_EXPR_NONE && b != KS_EXPR_NONE) {
        is_done = print_equal(p, a, b);
        a = nodes[a].next;
        b = nodes[b].next;
        ks_buf_printf(p->to, a != KS_EXPR_NONE && b != KS_EXPR_NONE ? " and " : "");
    }
    ks_buf_printf(p->to, a == b ? ")" : " and 1 == 0)");
    return is_done && has_room(p);
}

static bool print_in(struct printer *p, const struct ks_expr_node *n)
{
    bool is_done = true;

    if (!is_list(p, n->b))
        return false;
    ks_buf_printf(p->to, "(");
    for (int32_t i = p->e->nodes[n->b].a; is_done && i != KS_EXPR_NONE; i = p->e->nodes[i].next) {
        is_done = print_equal(p, n->a, i);
        ks_buf_printf(p->to, p->e->nodes[i].next != KS_EXPR_NONE ? " or " : "");
    }
    ks_buf_printf(p->to, p->e->nodes[n->b].a == KS_EXPR_NONE ? "1 == 0)" : ")");
    return is_done;
}

static bool print_call(struct printer *p, const struct ks_expr_node *n)
{
    bool is_done = true;

    if (n->op != KS_EXPR_ABS && p->e->nodes[n->a].next == KS_EXPR_NONE)
        return print(p, n->a);
    ks_buf_printf(p->to, n->op == KS_EXPR_MIN ? "min(" : "max(");
    for (int32_t i = n->a; is_done && i != KS_EXPR_NONE; i = p->e->nodes[i].next) {
        is_done = print(p, i);
        ks_buf_printf(p->to, p->e->nodes[i].next != KS_EXPR_NONE ? ", " : "");
    }
    if (n->op == KS_EXPR_ABS) {
        ks_buf_printf(p->to, ", ");
        is_done = is_done && print_one(p, "-", n->a);
    }
    ks_buf_printf(p->to, ")");
    return is_done;
}

static bool print(struct printer *p, int32_t i)
{
    static const char *const signs[] = {
        [KS_EXPR_ADD] = "+",    [KS_EXPR_SUB] = "-", [KS_EXPR_MUL] = "*",  [KS_EXPR_DIV] = "/",
        [KS_EXPR_FLOOR] = "//", [KS_EXPR_MOD] = "%", [KS_EXPR_POW] = "**", [KS_EXPR_LT] = "<",
        [KS_EXPR_LE] = "<=",    [KS_EXPR_GT] = ">",  [KS_EXPR_GE] = ">=",  [KS_EXPR_AND] = "and",
        [KS_EXPR_OR] = "or"
    };
    const struct ks_expr_node *n = &p->e->nodes[i];

    if (!has_room(p))
        return false;
    switch (n->op) {
    case KS_EXPR_INT:
    case KS_EXPR_REAL:
    case KS_EXPR_TEXT:
        return print_literal(p, n);
    case KS_EXPR_NAME:
        return print_name(p, n);
    case KS_EXPR_LIST:
    case KS_EXPR_TUPLE:
        return false;
    case KS_EXPR_NEG:
        return print_one(p, "-", n->a);
    case KS_EXPR_NOT:
        return print_one(p, "not ", n->a);
    case KS_EXPR_PLUS:
        return print(p, n->a);
    case KS_EXPR_EQ:
        return print_equal(p, n->a, n->b);
    case KS_EXPR_NE:
        if (!is_list(p, n->a) && !is_list(p, n->b))
            return print_two(p, n->a, "!=", n->b);
        ks_buf_printf(p->to, "(not ");
        if (!print_equal(p, n->a, n->b))
            return false;
        ks_buf_printf(p->to, ")");
        return true;
    case KS_EXPR_IN:
        return print_in(p, n);
    case KS_EXPR_ABS:
    case KS_EXPR_MIN:
    case KS_EXPR_MAX:
        return print_call(p, n);
    default:
        return print_two(p, n->a, signs[n->op], n->b);
    }
}

bool ks_expr_print_plain(const struct ks_expr *e, bool is_negated, ks_expr_rename_fn rename,
                         const void *ctx, size_t most, struct ks_buf *text_out)
{
    struct printer p = {
        .e = e, .rename = rename, .ctx = ctx, .end = text_out->len + most, .to = text_out
    };
    int32_t root = e->root;

    if (is_negated && e->nodes[root].op == KS_EXPR_NOT) {
        is_negated = false;
        root = e->nodes[root].a;
    }
    return (is_negated ? print_one(&p, "not ", root) : print(&p, root)) && has_room(&p);
}
