/* SPDX-License-Identifier: MIT */
/* expr_parse.c - parses expressions by recursive descent into nodes in one array */
#include "grid/expr_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct ks_expr *e;
    struct ks_expr_scanner scanner;
    bool has_sequences; /* range(), list() and comprehensions are known */
    int depth;
    struct ks_expr_token now;
    struct ks_err *err;
};

static int parse_or(struct parser *p, int32_t *out);

static int complain(struct parser *p, uint32_t at, const char *what)
{
    return ks_expr_complain(p->e, at, p->err, "%s", what);
}

static int unexpected(struct parser *p)
{
    if (p->now.kind == KS_EXPR_T_END)
        return complain(p, p->now.at, "unexpected end");
    if (p->now.kind == KS_EXPR_T_SIGN && strcmp(p->now.text, "=") == 0)
        return complain(p, p->now.at, "write == to compare, not '='");
    return ks_expr_complain(p->e, p->now.at, p->err, "unexpected '%.40s'", p->now.text);
}

static int advance(struct parser *p)
{
    return ks_expr_scan(&p->scanner, &p->now);
}

static bool is_at(const struct parser *p, enum ks_expr_token_kind kind, const char *text)
{
    return p->now.kind == kind && strcmp(p->now.text, text) == 0;
}

static bool is_sign(const struct parser *p, const char *sign)
{
    return is_at(p, KS_EXPR_T_SIGN, sign);
}

static int expect(struct parser *p, const char *sign)
{
    return is_sign(p, sign) ? advance(p) : unexpected(p);
}

static int add_node(struct parser *p, struct ks_expr_node node, int32_t *out)
{
    struct ks_expr *e = p->e;

    if (e->n_nodes == KS_EXPR_NODES)
        return complain(p, node.at, "too many terms");
    if (e->n_nodes == e->cap_nodes) {
        int32_t cap = e->cap_nodes ? 2 * e->cap_nodes : 16;
        struct ks_expr_node *more = realloc(e->nodes, (size_t)cap * sizeof *more);

        if (!more)
            return ks_fail(p->err, KS_ENOMEM, "no memory for an expression");
        e->nodes = more;
        e->cap_nodes = cap;
    }
    node.next = KS_EXPR_NONE;
    e->nodes[e->n_nodes] = node;
    *out = e->n_nodes++;
    return 0;
}

static int add_op(struct parser *p, enum ks_expr_op op, int32_t a, int32_t b, uint32_t at,
                  int32_t *out)
{
    return add_node(p, (struct ks_expr_node){ .op = op, .a = a, .b = b, .at = at }, out);
}

struct items {
    int32_t first, n;
    bool has_comma; /* behind any of them */
};

/* "a, b, ..." up to what is no comma behind an item, or to `close`. */
static int parse_some(struct parser *p, const char *close, struct items *out)
{
    int32_t last = KS_EXPR_NONE, item;
    int rc = 0;

    *out = (struct items){ .first = KS_EXPR_NONE };
    while (rc == 0 && !is_sign(p, close)) {
        rc = parse_or(p, &item);
        if (rc < 0)
            return rc;
        if (last == KS_EXPR_NONE)
            out->first = item;
        else
            p->e->nodes[last].next = item;
        last = item;
        out->n++;
        if (!is_sign(p, ","))
            break;
        out->has_comma = true;
        rc = advance(p);
    }
    return rc;
}

/* The same and `close`; also none; a comma may stand behind the last. */
static int parse_items(struct parser *p, const char *close, struct items *out)
{
    int rc = parse_some(p, close, out);

    return rc < 0 ? rc : expect(p, close);
}

/* for name in sequence | if condition */
static int parse_clause(struct parser *p, int32_t *out)
{
    bool is_for = is_at(p, KS_EXPR_T_NAME, "for");
    struct ks_expr_node node = { .op = is_for ? KS_EXPR_FOR : KS_EXPR_IF,
                                 .b = KS_EXPR_NONE,
                                 .at = p->now.at };
    int rc = advance(p);

    if (rc == 0 && is_for) {
        if (p->now.kind != KS_EXPR_T_NAME)
            return unexpected(p);
        node.text = p->now.text;
        rc = advance(p);
        if (rc == 0 && !is_at(p, KS_EXPR_T_NAME, "in"))
            return unexpected(p);
        if (rc == 0)
            rc = advance(p);
    }
    if (rc == 0)
        rc = parse_or(p, &node.a);
    return rc < 0 ? rc : add_node(p, node, out);
}

/* "for x in .. [for ..] [if ..]" behind the body of a comprehension. */
static int parse_comprehension(struct parser *p, int32_t body, uint32_t at, int32_t *out)
{
    int32_t first = KS_EXPR_NONE, last = KS_EXPR_NONE, clause;
    int rc = 0;

    while (rc == 0 && (is_at(p, KS_EXPR_T_NAME, "for") || is_at(p, KS_EXPR_T_NAME, "if"))) {
        rc = parse_clause(p, &clause);
        if (rc < 0)
            return rc;
        if (last == KS_EXPR_NONE)
            first = clause;
        else
            p->e->nodes[last].next = clause;
        last = clause;
    }
    if (rc == 0)
        rc = expect(p, "]");
    return rc < 0 ? rc : add_op(p, KS_EXPR_EACH, body, first, at, out);
}

static int parse_list(struct parser *p, int32_t *out)
{
    uint32_t at = p->now.at;
    struct items items;
    int rc = advance(p);

    if (rc == 0)
        rc = parse_some(p, "]", &items);
    if (rc == 0 && p->has_sequences && items.n == 1 && !items.has_comma &&
        is_at(p, KS_EXPR_T_NAME, "for"))
        return parse_comprehension(p, items.first, at, out);
    if (rc == 0)
        rc = expect(p, "]");
    return rc < 0 ? rc : add_op(p, KS_EXPR_LIST, items.first, KS_EXPR_NONE, at, out);
}

/* (a) is a; (), (a,) and (a, b) are tuples. */
static int parse_bracket(struct parser *p, int32_t *out)
{
    uint32_t at = p->now.at;
    struct items items;
    int rc = advance(p);

    if (rc == 0)
        rc = parse_items(p, ")", &items);
    if (rc < 0)
        return rc;
    if (items.n == 1 && !items.has_comma) {
        *out = items.first;
        return 0;
    }
    return add_op(p, KS_EXPR_TUPLE, items.first, KS_EXPR_NONE, at, out);
}

static bool is_list(const struct parser *p, int32_t i)
{
    enum ks_expr_op op = p->e->nodes[i].op;

    return op == KS_EXPR_LIST || op == KS_EXPR_TUPLE;
}

struct function {
    const char *name;
    enum ks_expr_op op;
};

/* min and max take one list or two and more values, as in Python. */
static int check_arguments(struct parser *p, const struct function *f, const struct items *items,
                           uint32_t at)
{
    bool is_short =
        items->n == 1 && (!is_list(p, items->first) || p->e->nodes[items->first].a == KS_EXPR_NONE);

    switch (f->op) {
    case KS_EXPR_ABS:
        return items->n == 1 ? 0 : complain(p, at, "abs() takes one number");
    case KS_EXPR_ITEMS:
        return items->n == 1 ? 0 : complain(p, at, "list() takes one sequence");
    case KS_EXPR_RANGE:
        return items->n >= 1 && items->n <= 3
                   ? 0
                   : complain(p, at, "range() takes one to three numbers");
    default:
        if (items->n > 0 && !is_short)
            return 0;
        return ks_expr_complain(p->e, at, p->err,
                                "%s() takes two or more values, or one list that is not empty",
                                f->name);
    }
}

static int parse_call(struct parser *p, const struct ks_expr_token *name, int32_t *out)
{
    static const struct function functions[] = { { "min", KS_EXPR_MIN },
                                                 { "max", KS_EXPR_MAX },
                                                 { "abs", KS_EXPR_ABS },
                                                 { "range", KS_EXPR_RANGE },
                                                 { "list", KS_EXPR_ITEMS } };
    size_t n = p->has_sequences ? 5 : 3, i = 0;
    struct items items;
    int rc;

    while (i < n && strcmp(functions[i].name, name->text) != 0)
        i++;
    if (i == n)
        return ks_expr_complain(p->e, name->at, p->err,
                                "unknown function '%.40s' (there are min, max, abs%s)", name->text,
                                p->has_sequences ? ", range, list" : "");
    rc = advance(p);
    if (rc == 0)
        rc = parse_items(p, ")", &items);
    if (rc == 0)
        rc = check_arguments(p, &functions[i], &items, name->at);
    if (rc < 0)
        return rc;
    if (items.n == 1 && (functions[i].op == KS_EXPR_MIN || functions[i].op == KS_EXPR_MAX))
        items.first = p->e->nodes[items.first].a;
    return add_op(p, functions[i].op, items.first, KS_EXPR_NONE, name->at, out);
}

static bool is_keyword(const char *word)
{
    return strcmp(word, "and") == 0 || strcmp(word, "or") == 0 || strcmp(word, "not") == 0 ||
           strcmp(word, "in") == 0;
}

/* -1: neither. */
static int truth_of(const char *word)
{
    if (strcmp(word, "True") == 0 || strcmp(word, "true") == 0)
        return 1;
    return strcmp(word, "False") == 0 || strcmp(word, "false") == 0 ? 0 : -1;
}

static int parse_name(struct parser *p, int32_t *out)
{
    struct ks_expr_token name = p->now;
    struct ks_expr_node node = { .op = KS_EXPR_NAME, .a = KS_EXPR_NONE, .b = KS_EXPR_NONE };
    int truth = truth_of(name.text), rc;

    if (is_keyword(name.text))
        return unexpected(p);
    rc = advance(p);
    if (rc < 0)
        return rc;
    if (is_sign(p, "("))
        return parse_call(p, &name, out);
    node.op = truth < 0 ? KS_EXPR_NAME : KS_EXPR_INT;
    node.value = truth;
    node.text = name.text;
    node.at = name.at;
    return add_node(p, node, out);
}

static int parse_literal(struct parser *p, enum ks_expr_op op, int32_t *out)
{
    const struct ks_expr_token *t = &p->now;
    int rc = add_node(p,
                      (struct ks_expr_node){ .op = op,
                                             .a = KS_EXPR_NONE,
                                             .b = KS_EXPR_NONE,
                                             .at = t->at,
                                             .value = t->value,
                                             .real = t->real,
                                             .text = t->text },
                      out);

    return rc < 0 ? rc : advance(p);
}

static int parse_primary(struct parser *p, int32_t *out)
{
    switch (p->now.kind) {
    case KS_EXPR_T_INT:
        return parse_literal(p, KS_EXPR_INT, out);
    case KS_EXPR_T_REAL:
        return parse_literal(p, KS_EXPR_REAL, out);
    case KS_EXPR_T_TEXT:
        return parse_literal(p, KS_EXPR_TEXT, out);
    case KS_EXPR_T_MEMBER:
        return parse_literal(p, KS_EXPR_NAME, out);
    case KS_EXPR_T_NAME:
        return parse_name(p, out);
    default:
        if (is_sign(p, "["))
            return parse_list(p, out);
        return is_sign(p, "(") ? parse_bracket(p, out) : unexpected(p);
    }
}

static int parse_unary(struct parser *p, int32_t *out);

/* primary ** unary: binds more than a sign before it, less than one behind it. */
static int parse_power(struct parser *p, int32_t *out)
{
    int rc = parse_primary(p, out);
    uint32_t at = p->now.at;
    int32_t right;

    if (rc < 0 || !is_sign(p, "**"))
        return rc;
    rc = advance(p);
    if (rc == 0)
        rc = parse_unary(p, &right);
    return rc < 0 ? rc : add_op(p, KS_EXPR_POW, *out, right, at, out);
}

static int parse_unary(struct parser *p, int32_t *out)
{
    bool is_minus = is_sign(p, "-"), is_signed = is_minus || is_sign(p, "+");
    uint32_t at = p->now.at;
    int32_t inner;
    int rc;

    if (++p->depth > KS_EXPR_DEPTH)
        return complain(p, at, "nested too deeply");
    rc = is_signed ? advance(p) : parse_power(p, out);
    if (rc == 0 && is_signed)
        rc = parse_unary(p, &inner);
    p->depth--;
    if (rc < 0 || !is_signed)
        return rc;
    return add_op(p, is_minus ? KS_EXPR_NEG : KS_EXPR_PLUS, inner, KS_EXPR_NONE, at, out);
}

struct binary {
    const char *sign;
    enum ks_expr_op op;
};

static const struct binary *binary_at(const struct parser *p, const struct binary *table)
{
    for (; table->sign; table++)
        if (is_at(p, isalpha((unsigned char)table->sign[0]) ? KS_EXPR_T_NAME : KS_EXPR_T_SIGN,
                  table->sign))
            return table;
    return NULL;
}

/* operand (sign operand)*, from the left. */
static int parse_left(struct parser *p, const struct binary *table,
                      int (*operand)(struct parser *, int32_t *), int32_t *out)
{
    const struct binary *b;
    int rc = operand(p, out);

    while (rc == 0 && (b = binary_at(p, table)) != NULL) {
        uint32_t at = p->now.at;
        int32_t right;

        rc = advance(p);
        if (rc == 0)
            rc = operand(p, &right);
        if (rc == 0)
            rc = add_op(p, b->op, *out, right, at, out);
    }
    return rc;
}

static int parse_term(struct parser *p, int32_t *out)
{
    static const struct binary table[] = { { "*", KS_EXPR_MUL },
                                           { "/", KS_EXPR_DIV },
                                           { "//", KS_EXPR_FLOOR },
                                           { "%", KS_EXPR_MOD },
                                           { NULL, KS_EXPR_INT } };

    return parse_left(p, table, parse_unary, out);
}

static int parse_sum(struct parser *p, int32_t *out)
{
    static const struct binary table[] = { { "+", KS_EXPR_ADD },
                                           { "-", KS_EXPR_SUB },
                                           { NULL, KS_EXPR_INT } };

    return parse_left(p, table, parse_term, out);
}

/* One link behind `left`: "< sum", "in sum" or "not in sum"; *right_out: what the next link of a
 * chain compares with. */
static int parse_link(struct parser *p, const struct binary *b, int32_t left, int32_t *out,
                      int32_t *right_out)
{
    uint32_t at = p->now.at;
    bool is_not = b->op == KS_EXPR_NOT;
    int rc = advance(p);

    if (rc == 0 && is_not)
        rc = is_at(p, KS_EXPR_T_NAME, "in") ? advance(p) : unexpected(p);
    if (rc == 0)
        rc = parse_sum(p, right_out);
    if (rc == 0)
        rc = add_op(p, is_not ? KS_EXPR_IN : b->op, left, *right_out, at, out);
    if (rc == 0 && is_not)
        rc = add_op(p, KS_EXPR_NOT, *out, KS_EXPR_NONE, at, out);
    return rc;
}

/* sum (comparison sum)*: a < b < c means a < b and b < c. */
static int parse_compare(struct parser *p, int32_t *out)
{
    static const struct binary table[] = { { "==", KS_EXPR_EQ }, { "!=", KS_EXPR_NE },
                                           { "<=", KS_EXPR_LE }, { "<", KS_EXPR_LT },
                                           { ">=", KS_EXPR_GE }, { ">", KS_EXPR_GT },
                                           { "in", KS_EXPR_IN }, { "not", KS_EXPR_NOT },
                                           { NULL, KS_EXPR_INT } };
    const struct binary *b;
    int32_t left, right, link, all = KS_EXPR_NONE;
    int rc = parse_sum(p, &left);

    while (rc == 0 && (b = binary_at(p, table)) != NULL) {
        uint32_t at = p->now.at;

        rc = parse_link(p, b, left, &link, &right);
        if (rc == 0 && all != KS_EXPR_NONE)
            rc = add_op(p, KS_EXPR_AND, all, link, at, &link);
        if (rc < 0)
            return rc;
        all = link;
        left = right;
    }
    if (rc == 0)
        *out = all == KS_EXPR_NONE ? left : all;
    return rc;
}

static int parse_not(struct parser *p, int32_t *out)
{
    uint32_t at = p->now.at;
    int32_t inner;
    int rc;

    if (!is_at(p, KS_EXPR_T_NAME, "not"))
        return parse_compare(p, out);
    if (++p->depth > KS_EXPR_DEPTH)
        return complain(p, at, "nested too deeply");
    rc = advance(p);
    if (rc == 0)
        rc = parse_not(p, &inner);
    p->depth--;
    return rc < 0 ? rc : add_op(p, KS_EXPR_NOT, inner, KS_EXPR_NONE, at, out);
}

static int parse_and(struct parser *p, int32_t *out)
{
    static const struct binary table[] = { { "and", KS_EXPR_AND }, { NULL, KS_EXPR_INT } };

    return parse_left(p, table, parse_not, out);
}

static int parse_or(struct parser *p, int32_t *out)
{
    static const struct binary table[] = { { "or", KS_EXPR_OR }, { NULL, KS_EXPR_INT } };

    return parse_left(p, table, parse_and, out);
}

static int parse_all(struct ks_expr *e, bool has_sequences, struct ks_err *err)
{
    struct parser p = {
        .e = e, .scanner = { .e = e, .err = err }, .has_sequences = has_sequences, .err = err
    };
    int rc = advance(&p);

    if (rc == 0)
        rc = parse_or(&p, &e->root);
    return rc == 0 && p.now.kind != KS_EXPR_T_END ? unexpected(&p) : rc;
}

static int parse(const char *text, const struct ks_expr_place *place, bool has_sequences,
                 struct ks_expr **e_out, struct ks_err *err)
{
    size_t n = strlen(text);
    struct ks_expr *e = calloc(1, sizeof *e);
    int rc;

    if (e) {
        e->place = *place;
        e->text = strdup(text);
        e->pool = n <= KS_EXPR_TEXT_MAX ? malloc(4 * n + 4) : NULL;
    }
    if (e && e->text && n > KS_EXPR_TEXT_MAX)
        rc = ks_expr_complain(e, 0, err, "longer than %d characters", KS_EXPR_TEXT_MAX);
    else if (!e || !e->text || !e->pool)
        rc = ks_fail(err, KS_ENOMEM, "no memory for an expression");
    else
        rc = parse_all(e, has_sequences, err);
    if (rc < 0) {
        ks_expr_free(e);
        return rc;
    }
    *e_out = e;
    return 0;
}

int ks_expr_parse_at(const char *text, const struct ks_expr_place *place, struct ks_expr **e_out,
                     struct ks_err *err)
{
    return parse(text, place, false, e_out, err);
}

int ks_expr_parse(const char *text, struct ks_expr **e_out, struct ks_err *err)
{
    const struct ks_expr_place nowhere = { NULL, 1, 1 };

    return parse(text, &nowhere, false, e_out, err);
}

int ks_expr_parse_values(const char *text, struct ks_expr **e_out, struct ks_err *err)
{
    const struct ks_expr_place nowhere = { NULL, 1, 1 };

    return parse(text, &nowhere, true, e_out, err);
}

const char *ks_expr_next_name(const struct ks_expr *e, int32_t *i_at)
{
    while (*i_at < e->n_nodes) {
        const struct ks_expr_node *n = &e->nodes[(*i_at)++];

        if (n->op == KS_EXPR_NAME)
            return n->text;
    }
    return NULL;
}

void ks_expr_free(struct ks_expr *e)
{
    if (!e)
        return;
    free(e->text);
    free(e->pool);
    free(e->nodes);
    free(e);
}
