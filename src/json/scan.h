/* SPDX-License-Identifier: MIT */
/* scan.h - private to src/json: the strict grammar, and what cJSON does not keep of a value. */
#ifndef KS_JSON_SCAN_H
#define KS_JSON_SCAN_H

#include "base/err.h"
#include "json/json.h"

#include <stddef.h>
#include <stdint.h>

struct cJSON;

enum { KS_JSON_MAX_DEPTH = 64 };

/* One value. The values of a document lie in an array in document order; `item` is the value in
 * cJSON's tree, and item->valueint the index in the array, so that node - item->valueint is the
 * root and a neighbour in the tree is found in the array at once. */
struct ks_node {
    const struct cJSON *item; /* NULL until json.c has bound the tree */
    uint32_t line;            /* from 1 */
    uint32_t up;              /* distance to the parent in the array; 0 for the root */
    enum ks_json_kind kind;
    union {
        int64_t i; /* KS_JSON_INT */
        double d;  /* KS_JSON_REAL */
    } v;
};

struct ks_nodes {
    struct ks_node *at; /* owned */
    size_t n, cap;
};

/* Checks the whole text (grammar, UTF-8, numbers, depth) and appends its values to nodes_out,
 * without `item`; the caller frees nodes_out->at, also after a failure. Strings are checked, not
 * decoded. KS_EFORMAT "name:line: cause"; KS_ENOMEM. */
int ks_json_scan(const char *text, size_t len, const char *name, struct ks_nodes *nodes_out,
                 struct ks_err *err);

#endif
