/* SPDX-License-Identifier: MIT */
/* expr_node.h - the tree between expr_parse.c and expr.c; of no use to anyone else. */
#ifndef KS_GRID_EXPR_NODE_H
#define KS_GRID_EXPR_NODE_H

#include "grid/expr.h"

#include <stdint.h>

enum { KS_EXPR_TEXT_MAX = 4096, KS_EXPR_NODES = 512, KS_EXPR_DEPTH = 64, KS_EXPR_NONE = -1 };

enum ks_expr_op {
    KS_EXPR_INT,
    KS_EXPR_TEXT,
    KS_EXPR_NAME,
    KS_EXPR_NEG,
    KS_EXPR_NOT,
    KS_EXPR_ADD,
    KS_EXPR_SUB,
    KS_EXPR_MUL,
    KS_EXPR_DIV,
    KS_EXPR_MOD,
    KS_EXPR_EQ,
    KS_EXPR_NE,
    KS_EXPR_LT,
    KS_EXPR_LE,
    KS_EXPR_GT,
    KS_EXPR_GE,
    KS_EXPR_IN,  /* a: needle, b: first item */
    KS_EXPR_MIN, /* a: first item */
    KS_EXPR_MAX,
    KS_EXPR_AND,
    KS_EXPR_OR
};

struct ks_expr_node {
    enum ks_expr_op op;
    int32_t a, b;     /* operands; KS_EXPR_NONE: absent */
    int32_t next;     /* the item behind this one in a list */
    unsigned column;  /* from 1 */
    int64_t value;    /* INT */
    const char *text; /* TEXT, NAME: in the expression's pool */
};

struct ks_expr {
    char *text; /* as given */
    char *pool; /* every word and literal, NUL-terminated */
    int32_t root;
    int32_t n_nodes;
    struct ks_expr_node nodes[KS_EXPR_NODES];
};

#endif
