/* SPDX-License-Identifier: MIT */
#include "grid/expr_node.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum token_kind { T_END, T_INT, T_TEXT, T_NAME, T_SIGN };

struct token {
    enum token_kind kind;
    unsigned column;
    int64_t value;
    const char *text; /* in the pool */
};

struct parser {
    struct ks_expr *e;
    size_t at, pool_used;
    int depth;
    struct token now;
    struct ks_err *err;
};

static int parse_or(struct parser *p, int32_t *out);

static int complain(struct parser *p, unsigned column, const char *what, const char *word)
{
    return ks_fail(p->err, KS_EINVAL, "column %u: %s%s%s%s in expression \"%.200s\"", column, what,
                   word ? " '" : "", word ? word : "", word ? "'" : "", p->e->text);
}

static int unexpected(struct parser *p)
{
    if (p->now.kind == T_END)
        return complain(p, p->now.column, "unexpected end", NULL);
    if (p->now.kind == T_SIGN && strcmp(p->now.text, "=") == 0)
        return complain(p, p->now.column, "write == to compare, not", "=");
    if (p->now.kind == T_SIGN && strchr("&|!", p->now.text[0]) && p->now.text[0])
        return complain(p, p->now.column, "write and, or, not instead of", p->now.text);
    return complain(p, p->now.column, "unexpected", p->now.text);
}

/* Room is certain: the pool is twice the text and every word has at least one character. */
static const char *keep(struct parser *p, const char *from, size_t n)
{
    char *to = p->e->pool + p->pool_used;

    memcpy(to, from, n);
    to[n] = '\0';
    p->pool_used += n + 1;
    return to;
}

static int scan_number(struct parser *p, const char *s)
{
    char *end;

    errno = 0;
    p->now.value = strtoll(s, &end, 10);
    p->now.kind = T_INT;
    p->now.text = keep(p, s, (size_t)(end - s));
    if (errno == ERANGE)
        return complain(p, p->now.column, "number out of range", p->now.text);
    if (*end == '.' || isalpha((unsigned char)*end) || *end == '_')
        return complain(p, p->now.column, "only whole numbers are allowed, not",
                        keep(p, s, (size_t)(end - s) + 1));
    p->at += (size_t)(end - s);
    return 0;
}

static int scan_text(struct parser *p, const char *s)
{
    const char *end = strchr(s + 1, s[0]);

    if (!end)
        return complain(p, p->now.column, "text without closing quote", NULL);
    p->now.kind = T_TEXT;
    p->now.text = keep(p, s + 1, (size_t)(end - s - 1));
    p->at += (size_t)(end - s) + 1;
    return 0;
}

static size_t word_length(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

/* A name; "c." before it means nothing. */
static int scan_name(struct parser *p, const char *s)
{
    size_t n = word_length(s);

    if (s[n] == '.') {
        if (n != 1 || s[0] != 'c' || !word_length(s + 2) || isdigit((unsigned char)s[2]))
            return complain(p, p->now.column, "only c. may stand before a name, not",
                            keep(p, s, n + 1));
        s += 2;
        p->at += 2;
        n = word_length(s);
    }
    p->now.kind = T_NAME;
    p->now.text = keep(p, s, n);
    p->at += n;
    return 0;
}

static int scan_sign(struct parser *p, const char *s)
{
    size_t n = strchr("=!<>", s[0]) && s[1] == '=' ? 2 : 1;

    p->now.kind = T_SIGN;
    p->now.text = keep(p, s, n);
    p->at += n;
    if (!strchr("=!<>+-*/%()[],&|", s[0]))
        return complain(p, p->now.column, "unexpected",
                        isprint((unsigned char)s[0]) ? p->now.text : "byte that is no ASCII text");
    return 0;
}

static int advance(struct parser *p)
{
    const char *s;

    while (isspace((unsigned char)p->e->text[p->at]))
        p->at++;
    s = p->e->text + p->at;
    p->now = (struct token){ .column = (unsigned)p->at + 1, .text = "" };
    if (!*s)
        return 0;
    if (isdigit((unsigned char)*s))
        return scan_number(p, s);
    if (*s == '\'' || *s == '"')
        return scan_text(p, s);
    if (isalpha((unsigned char)*s) || *s == '_')
        return scan_name(p, s);
    return scan_sign(p, s);
}

static bool is_at(const struct parser *p, enum token_kind kind, const char *text)
{
    return p->now.kind == kind && strcmp(p->now.text, text) == 0;
}

static int expect(struct parser *p, const char *sign)
{
    return is_at(p, T_SIGN, sign) ? advance(p) : unexpected(p);
}

static int add_node(struct parser *p, enum ks_expr_op op, int32_t a, int32_t b, unsigned column,
                    int32_t *out)
{
    struct ks_expr *e = p->e;

    if (e->n_nodes == KS_EXPR_NODES)
        return complain(p, column, "too many terms", NULL);
    e->nodes[e->n_nodes] =
        (struct ks_expr_node){ .op = op, .a = a, .b = b, .next = KS_EXPR_NONE, .column = column };
    *out = e->n_nodes++;
    return 0;
}

/* "a, b, ..." up to `close`; at least one. */
static int parse_items(struct parser *p, const char *close, int32_t *first_out)
{
    int32_t last = KS_EXPR_NONE, item;
    int rc;

    for (;;) {
        rc = parse_or(p, &item);
        if (rc < 0)
            return rc;
        if (last == KS_EXPR_NONE)
            *first_out = item;
        else
            p->e->nodes[last].next = item;
        last = item;
        if (!is_at(p, T_SIGN, ","))
            return expect(p, close);
        rc = advance(p);
        if (rc < 0)
            return rc;
    }
}

static int parse_call(struct parser *p, const struct token *name, int32_t *out)
{
    bool is_min = strcmp(name->text, "min") == 0;
    int32_t first = KS_EXPR_NONE;
    int rc;

    if (!is_min && strcmp(name->text, "max") != 0)
        return complain(p, name->column, "unknown function", name->text);
    rc = advance(p);
    if (rc == 0)
        rc = parse_items(p, ")", &first);
    if (rc < 0)
        return rc;
    return add_node(p, is_min ? KS_EXPR_MIN : KS_EXPR_MAX, first, KS_EXPR_NONE, name->column, out);
}

static bool is_keyword(const char *word)
{
    return strcmp(word, "and") == 0 || strcmp(word, "or") == 0 || strcmp(word, "not") == 0 ||
           strcmp(word, "in") == 0;
}

static int parse_name(struct parser *p, int32_t *out)
{
    struct token name = p->now;
    bool is_true = strcmp(name.text, "true") == 0;
    int rc;

    if (is_keyword(name.text))
        return unexpected(p);
    rc = advance(p);
    if (rc < 0)
        return rc;
    if (is_at(p, T_SIGN, "("))
        return parse_call(p, &name, out);
    if (is_true || strcmp(name.text, "false") == 0) {
        rc = add_node(p, KS_EXPR_INT, KS_EXPR_NONE, KS_EXPR_NONE, name.column, out);
        if (rc == 0)
            p->e->nodes[*out].value = is_true;
        return rc;
    }
    rc = add_node(p, KS_EXPR_NAME, KS_EXPR_NONE, KS_EXPR_NONE, name.column, out);
    if (rc == 0)
        p->e->nodes[*out].text = name.text;
    return rc;
}

static int parse_literal(struct parser *p, int32_t *out)
{
    struct token t = p->now;
    int rc = add_node(p, t.kind == T_INT ? KS_EXPR_INT : KS_EXPR_TEXT, KS_EXPR_NONE, KS_EXPR_NONE,
                      t.column, out);

    if (rc < 0)
        return rc;
    p->e->nodes[*out].value = t.value;
    p->e->nodes[*out].text = t.text;
    return advance(p);
}

static int parse_primary(struct parser *p, int32_t *out)
{
    int rc;

    if (p->now.kind == T_INT || p->now.kind == T_TEXT)
        return parse_literal(p, out);
    if (p->now.kind == T_NAME)
        return parse_name(p, out);
    rc = expect(p, "(");
    if (rc == 0)
        rc = parse_or(p, out);
    return rc < 0 ? rc : expect(p, ")");
}

static int parse_unary(struct parser *p, int32_t *out)
{
    unsigned column = p->now.column;
    int32_t inner;
    int rc;

    if (!is_at(p, T_SIGN, "-"))
        return parse_primary(p, out);
    if (++p->depth > KS_EXPR_DEPTH)
        return complain(p, column, "nested too deeply", NULL);
    rc = advance(p);
    if (rc == 0)
        rc = parse_unary(p, &inner);
    p->depth--;
    return rc < 0 ? rc : add_node(p, KS_EXPR_NEG, inner, KS_EXPR_NONE, column, out);
}

struct binary {
    const char *sign;
    enum ks_expr_op op;
};

static const struct binary *binary_at(const struct parser *p, const struct binary *table)
{
    for (; table->sign; table++)
        if (is_at(p, isalpha((unsigned char)table->sign[0]) ? T_NAME : T_SIGN, table->sign))
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
        unsigned column = p->now.column;
        int32_t right;

        rc = advance(p);
        if (rc == 0)
            rc = operand(p, &right);
        if (rc == 0)
            rc = add_node(p, b->op, *out, right, column, out);
    }
    return rc;
}

static int parse_term(struct parser *p, int32_t *out)
{
    static const struct binary table[] = {
        { "*", KS_EXPR_MUL }, { "/", KS_EXPR_DIV }, { "%", KS_EXPR_MOD }, { NULL, KS_EXPR_INT }
    };

    return parse_left(p, table, parse_unary, out);
}

static int parse_sum(struct parser *p, int32_t *out)
{
    static const struct binary table[] = { { "+", KS_EXPR_ADD },
                                           { "-", KS_EXPR_SUB },
                                           { NULL, KS_EXPR_INT } };

    return parse_left(p, table, parse_term, out);
}

/* One link behind `left`: "< sum", "in [..]" or "not in [..]". *right_out: what the next link of a
 * chain compares with, KS_EXPR_NONE behind a list. */
static int parse_link(struct parser *p, const struct binary *b, int32_t left, int32_t *out,
                      int32_t *right_out)
{
    unsigned column = p->now.column;
    bool is_not = b->op == KS_EXPR_NOT;
    int32_t right = KS_EXPR_NONE;
    int rc = advance(p);

    *right_out = KS_EXPR_NONE;
    if (rc == 0 && b->op != KS_EXPR_IN && !is_not) {
        rc = parse_sum(p, &right);
        *right_out = right;
        return rc < 0 ? rc : add_node(p, b->op, left, right, column, out);
    }
    if (rc == 0 && is_not)
        rc = is_at(p, T_NAME, "in") ? advance(p) : unexpected(p);
    if (rc == 0)
        rc = expect(p, "[");
    if (rc == 0)
        rc = parse_items(p, "]", &right);
    if (rc == 0)
        rc = add_node(p, KS_EXPR_IN, left, right, column, out);
    if (rc == 0 && is_not)
        rc = add_node(p, KS_EXPR_NOT, *out, KS_EXPR_NONE, column, out);
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
    int32_t left, link = KS_EXPR_NONE, all = KS_EXPR_NONE;
    int rc = parse_sum(p, &left);

    if (rc < 0)
        return rc;
    while ((b = binary_at(p, table)) != NULL) {
        unsigned column = p->now.column;
        int32_t right;

        if (left == KS_EXPR_NONE)
            return unexpected(p);
        rc = parse_link(p, b, left, &link, &right);
        if (rc == 0 && all != KS_EXPR_NONE)
            rc = add_node(p, KS_EXPR_AND, all, link, column, &link);
        if (rc < 0)
            return rc;
        all = link;
        left = right;
    }
    *out = all == KS_EXPR_NONE ? left : all;
    return 0;
}

static int parse_not(struct parser *p, int32_t *out)
{
    unsigned column = p->now.column;
    int32_t inner;
    int rc;

    if (!is_at(p, T_NAME, "not"))
        return parse_compare(p, out);
    if (++p->depth > KS_EXPR_DEPTH)
        return complain(p, column, "nested too deeply", NULL);
    rc = advance(p);
    if (rc == 0)
        rc = parse_not(p, &inner);
    p->depth--;
    return rc < 0 ? rc : add_node(p, KS_EXPR_NOT, inner, KS_EXPR_NONE, column, out);
}

static int parse_and(struct parser *p, int32_t *out)
{
    static const struct binary table[] = { { "and", KS_EXPR_AND }, { NULL, KS_EXPR_INT } };

    return parse_left(p, table, parse_not, out);
}

static int parse_or(struct parser *p, int32_t *out)
{
    static const struct binary table[] = { { "or", KS_EXPR_OR }, { NULL, KS_EXPR_INT } };
    int rc;

    if (++p->depth > KS_EXPR_DEPTH)
        return complain(p, p->now.column, "nested too deeply", NULL);
    rc = parse_left(p, table, parse_and, out);
    p->depth--;
    return rc;
}

int ks_expr_parse(const char *text, struct ks_expr **e_out, struct ks_err *err)
{
    size_t n = strlen(text);
    struct parser p = { .err = err };
    int rc;

    if (n > KS_EXPR_TEXT_MAX)
        return ks_fail(err, KS_EINVAL, "expression longer than %d characters", KS_EXPR_TEXT_MAX);
    p.e = calloc(1, sizeof *p.e);
    if (p.e) {
        p.e->text = strdup(text);
        p.e->pool = malloc(4 * n + 4);
    }
    if (!p.e || !p.e->text || !p.e->pool) {
        rc = ks_fail(err, KS_ENOMEM, "no memory for an expression");
        goto out;
    }
    rc = advance(&p);
    if (rc == 0)
        rc = parse_or(&p, &p.e->root);
    if (rc == 0 && p.now.kind != T_END)
        rc = unexpected(&p);
out:
    if (rc < 0) {
        ks_expr_free(p.e);
        return rc;
    }
    *e_out = p.e;
    return 0;
}

void ks_expr_free(struct ks_expr *e)
{
    if (!e)
        return;
    free(e->text);
    free(e->pool);
    free(e);
}
