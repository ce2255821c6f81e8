/* SPDX-License-Identifier: MIT */
/* expr_node.h - the tree between the expr_*.c files; of no use to anyone else. */
#ifndef KS_GRID_EXPR_NODE_H
#define KS_GRID_EXPR_NODE_H

#include "grid/expr.h"

#include <stddef.h>
#include <stdint.h>

enum { KS_EXPR_TEXT_MAX = 16384, KS_EXPR_NODES = 2048, KS_EXPR_DEPTH = 64, KS_EXPR_NONE = -1 };

enum ks_expr_op {
    KS_EXPR_INT,
    KS_EXPR_REAL,
    KS_EXPR_TEXT,
    KS_EXPR_NAME,
    KS_EXPR_LIST, /* a: first item or NONE */
    KS_EXPR_TUPLE,
    KS_EXPR_NEG,
    KS_EXPR_PLUS, /* unary */
    KS_EXPR_NOT,
    KS_EXPR_ABS,
    KS_EXPR_ADD,
    KS_EXPR_SUB,
    KS_EXPR_MUL,
    KS_EXPR_DIV,   /* / */
    KS_EXPR_FLOOR, /* // */
    KS_EXPR_MOD,
    KS_EXPR_POW,
    KS_EXPR_EQ,
    KS_EXPR_NE,
    KS_EXPR_LT,
    KS_EXPR_LE,
    KS_EXPR_GT,
    KS_EXPR_GE,
    KS_EXPR_IN,
    KS_EXPR_MIN, /* a: first of one list or of two and more values */
    KS_EXPR_MAX,
    KS_EXPR_AND,
    KS_EXPR_OR,
    /* sequences: only where ks_expr_parse_values() read the text */
    KS_EXPR_RANGE, /* a: first of one to three numbers */
    KS_EXPR_ITEMS, /* list(a) */
    KS_EXPR_EACH,  /* [a for x in .. if ..]; b: the first clause */
    KS_EXPR_FOR,   /* clause: for text in a; next: the clause behind it */
    KS_EXPR_IF     /* clause: if a */
};

struct ks_expr_node {
    enum ks_expr_op op;
    int32_t a, b;     /* operands; KS_EXPR_NONE: absent */
    int32_t next;     /* the item behind this one in a list */
    uint32_t at;      /* characters before it in the expression */
    int64_t value;    /* INT */
    double real;      /* REAL */
    const char *text; /* TEXT, NAME: in the expression's pool */
};

struct ks_expr {
    char *text; /* as given */
    char *pool; /* every word and literal, NUL-terminated */
    struct ks_expr_place place;
    struct ks_expr_node *nodes; /* operands stand before what uses them */
    int32_t root, n_nodes, cap_nodes;
};

/* The value of one node; a list's is its kind and first item. KS_EINVAL as ks_expr_value(). */
int ks_expr_eval(const struct ks_expr *e, int32_t i_node, ks_expr_name_fn name, const void *ctx,
                 struct ks_expr_value *out, struct ks_err *err);
/* KS_EINVAL "column 7: <text> (in expression ...)" or "file:line:column: <text>". */
int ks_expr_complain(const struct ks_expr *e, size_t at, struct ks_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
