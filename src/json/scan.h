/* SPDX-License-Identifier: MIT */
/* scan.h - private to src/json: the strict grammar, and the nodes it makes. */
#ifndef KS_JSON_SCAN_H
#define KS_JSON_SCAN_H

#include "base/err.h"
#include "json/json.h"

#include <stddef.h>
#include <stdint.h>

enum { KS_JSON_MAX_DEPTH = 64 };

/* Nodes lie in document order, so the first child of node i is node i + 1 and its next sibling is
 * node i + span. */
struct ks_node {
    enum ks_json_kind kind;
    uint32_t line;
    uint32_t up;         /* distance to the parent in nodes; 0 for the root */
    uint32_t span;       /* nodes of this subtree, itself included */
    uint32_t n_children; /* of an array or object */
    bool is_true;
    const char *key;  /* of a member, else NULL; lies in ks_nodes.strings */
    const char *text; /* of a string, else NULL; likewise */
    union {
        int64_t i;
        double d;
    } v;
};

struct ks_nodes {
    struct ks_node *at; /* owned */
    size_t n, cap;
    char *strings; /* owned: all keys and strings, decoded, each terminated */
};

/* Checks the whole text and fills nodes_out; the caller frees nodes_out->at and ->strings, also
 * after a failure. KS_EFORMAT "name:line: cause"; KS_ENOMEM. */
int ks_json_scan(const char *text, size_t len, const char *name, struct ks_nodes *nodes_out,
                 struct ks_err *err);

#endif
