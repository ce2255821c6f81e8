/* SPDX-License-Identifier: MIT */
/* expr_scan.h - an expression's text as tokens. */
#ifndef KS_GRID_EXPR_SCAN_H
#define KS_GRID_EXPR_SCAN_H

#include "grid/expr_node.h"

enum ks_expr_token_kind {
    KS_EXPR_T_END,
    KS_EXPR_T_INT,
    KS_EXPR_T_REAL,
    KS_EXPR_T_TEXT,
    KS_EXPR_T_NAME,   /* also a keyword or a function */
    KS_EXPR_T_MEMBER, /* what stands behind c. */
    KS_EXPR_T_SIGN
};

struct ks_expr_token {
    enum ks_expr_token_kind kind;
    uint32_t at;
    int64_t value;
    double real;
    const char *text; /* in the pool; of a literal as it was written, without quotes */
};

struct ks_expr_scanner {
    struct ks_expr *e; /* its text and its pool of 4 bytes per character and 4 more */
    size_t at, pool_used;
    struct ks_err *err;
};

/* The token behind the last one; END again and again behind the end. */
int ks_expr_scan(struct ks_expr_scanner *s, struct ks_expr_token *out);

#endif
