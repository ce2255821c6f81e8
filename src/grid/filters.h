/* SPDX-License-Identifier: MIT */
/* filters.h - a file of filters: one expression per line, all of which must hold, or a Python
 * filter of the form `def filter_config(c): return EXPR`. # begins a comment in both. */
#ifndef KS_GRID_FILTERS_H
#define KS_GRID_FILTERS_H

#include "base/err.h"
#include "grid/expr.h"

#include <stddef.h>
#include <stdint.h>

struct ks_filter {
    char *text;                 /* the expression */
    struct ks_expr_place place; /* file is that of the struct ks_filters */
};
struct ks_filters {
    char *path;
    struct ks_filter *list; /* [n] in the order of the file */
    uint32_t n;
};

/* Only the form is checked here: names and values belong to a family. KS_EINVAL with
 * "file:line:column" and what is accepted; KS_ENOENT, KS_EIO. Caller releases. */
int ks_filters_open(const char *path, struct ks_filters *out, struct ks_err *err);
/* The same from text; `name` stands for the file. */
int ks_filters_parse(const char *text, size_t len, const char *name, struct ks_filters *out,
                     struct ks_err *err);
void ks_filters_release(struct ks_filters *f); /* a zeroed one is fine */

#endif
