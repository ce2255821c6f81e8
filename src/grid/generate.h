/* SPDX-License-Identifier: MIT */
/* generate.h - declarative problem sets, between generate.c (reads the document) and
 * generate_set.c (runs through one of its sets); of no use to anyone else. */
#ifndef KS_GRID_GENERATE_H
#define KS_GRID_GENERATE_H

#include "grid/expr.h"
#include "grid/import.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

enum { KS_GEN_NAMES = 64, KS_GEN_LOOPS = 32, KS_GEN_COLUMNS = 16, KS_GEN_MOST = 1000000 };

/* What a name of a set stands for: a dim by its index, or one of these. */
enum ks_gen_target {
    KS_GEN_DIRECTION = KS_MAX_DIMS,
    KS_GEN_DTYPE,
    KS_GEN_LAYOUT,
    KS_GEN_COUNT,
    KS_GEN_HELPER /* only for expressions */
};

struct ks_gen_name {
    char name[32];
    int target;
    bool is_used; /* by an expression */
    bool is_set;
    int64_t value;    /* a word: its index */
    const char *text; /* a word: itself, borrowed from the document; NULL: a number */
    /* What sets it: a loop, or else `node`, a number or a word, or else `expr`. */
    bool is_loop;
    const struct ks_node *node;
    struct ks_expr *expr;
};

/* A list of "for": its names take the values of one row after the other. */
struct ks_gen_loop {
    int first_name, n_names; /* n_names > 1: a row is a list */
    const struct ks_node *list, *row;
};

/* One set, ready to run. Names stand in the order in which they get their values. */
struct ks_gen_set {
    struct ks_import *im;
    const struct ks_json *doc;
    uint32_t op;
    char name[KS_NAME_MAX];
    const struct ks_node *node;
    struct ks_gen_name names[KS_GEN_NAMES];
    int n_names;
    struct ks_gen_loop loops[KS_GEN_LOOPS];
    int n_loops;
    struct ks_expr *when; /* NULL: always */
    const struct ks_node *when_node;
    uint64_t n_left; /* combinations that the document may still have */
};

/* The value of node `n` into a name: a number, or for direction, dtype and layout a word. KS_EINVAL
 * with file, line and key. */
int ks_gen_assign(const struct ks_gen_set *s, struct ks_gen_name *name, const struct ks_node *n);
/* Names that have a value or a default, for expressions. */
bool ks_gen_lookup(const void *set, const char *name, struct ks_expr_value *out);

/* Every combination of the loops, the first loop slowest: taken, refused, or left out by `when`.
 * KS_EINVAL, and none is looked at, when there are more than the document may still have. */
int ks_gen_run(struct ks_gen_set *s);

#endif
