/* SPDX-License-Identifier: MIT */
#include "grid/expr_number.h"

static int literal(const struct ks_expr *e, int32_t i, struct ks_expr_value *out,
                   struct ks_err *err);

/* A number behind a minus sign. */
static const char *negative(const struct ks_expr *e, int32_t i, struct ks_expr_value *out)
{
    struct ks_expr_value v;

    if (literal(e, i, &v, NULL) < 0 || v.text)
        return "a number is wanted behind '-'";
    return ks_expr_arithmetic(KS_EXPR_NEG, &v, NULL, out);
}

static int literal(const struct ks_expr *e, int32_t i, struct ks_expr_value *out,
                   struct ks_err *err)
{
    const struct ks_expr_node *n = &e->nodes[i];
    const char *wrong = NULL;

    switch (n->op) {
    case KS_EXPR_TEXT:
        *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_TEXT, .text = n->text };
        break;
    case KS_EXPR_REAL:
        *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_REAL, .real = n->real };
        break;
    case KS_EXPR_INT:
        *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_INT, .whole = n->value };
        if (n->text[0] == 'T' || n->text[0] == 'F')
            out->text = n->text;
        if (n->text[0] == 't' || n->text[0] == 'f')
            wrong = "write True or False";
        break;
    case KS_EXPR_NEG:
        wrong = negative(e, n->a, out);
        break;
    default:
        wrong = "only literals may stand in this list: numbers, texts, True, False";
    }
    return wrong ? ks_expr_complain(e, n->at, err, "%s", wrong) : 0;
}

static bool is_same(const struct ks_expr_value *a, const struct ks_expr_value *b)
{
    bool is_text = a->kind == KS_EXPR_IS_TEXT;

    return is_text == (b->kind == KS_EXPR_IS_TEXT) && ks_expr_order(a, b) == 0;
}

int ks_expr_literals(const struct ks_expr *e, struct ks_expr_value *values_out, uint32_t cap,
                     uint32_t *n_out, struct ks_err *err)
{
    const struct ks_expr_node *root = &e->nodes[e->root];
    uint32_t n = 0;

    if (root->op != KS_EXPR_LIST)
        return ks_expr_complain(e, root->at, err, "a list [..] of literals is wanted");
    for (int32_t i = root->a; i != KS_EXPR_NONE; i = e->nodes[i].next) {
        int rc;

        if (n == cap)
            return ks_expr_complain(e, e->nodes[i].at, err, "more than %u values", cap);
        rc = literal(e, i, &values_out[n], err);
        if (rc < 0)
            return rc;
        for (uint32_t k = 0; k < n; k++)
            if (is_same(&values_out[k], &values_out[n]))
                return ks_expr_complain(e, e->nodes[i].at, err, "this value stands twice");
        n++;
    }
    *n_out = n;
    return 0;
}
