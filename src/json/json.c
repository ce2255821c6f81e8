/* SPDX-License-Identifier: MIT */
#include "json/json.h"
#include "base/file.h"
#include "json/scan.h"

#include <stdlib.h>
#include <string.h>

struct ks_json {
    char *name;
    struct ks_nodes nodes;
};

void ks_json_close(struct ks_json *doc)
{
    if (!doc)
        return;
    free(doc->nodes.at);
    free(doc->nodes.strings);
    free(doc->name);
    free(doc);
}

static int by_key(const void *a, const void *b)
{
    const struct ks_node *x = *(const struct ks_node *const *)a;
    const struct ks_node *y = *(const struct ks_node *const *)b;
    int order = strcmp(x->key, y->key);

    /* Equal keys stay in document order, so that the message names the second one. */
    return order ? order : (x > y) - (x < y);
}

static int unique_keys(const struct ks_json *doc, const struct ks_node *obj, struct ks_err *err)
{
    const struct ks_node **sorted;
    size_t n = 0;
    int rc = 0;

    if (obj->kind != KS_JSON_OBJECT || obj->n_children < 2)
        return 0;
    sorted = malloc(obj->n_children * sizeof(*sorted));
    if (!sorted)
        return ks_fail(err, KS_ENOMEM, "%s: out of memory", doc->name);
    for (const struct ks_node *c = ks_node_first(obj); c; c = ks_node_next(c))
        sorted[n++] = c;
    qsort(sorted, n, sizeof(*sorted), by_key);
    for (size_t i = 1; i < n && rc == 0; i++)
        if (!strcmp(sorted[i - 1]->key, sorted[i]->key))
            rc = ks_fail(err, KS_EFORMAT, "%s:%u: key '%s' stands twice, first in line %u",
                         doc->name, sorted[i]->line, sorted[i]->key, sorted[i - 1]->line);
    free(sorted);
    return rc;
}

static int build(struct ks_json *doc, const char *text, size_t len, struct ks_err *err)
{
    int rc = ks_json_scan(text, len, doc->name, &doc->nodes, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < doc->nodes.n && rc == 0; i++)
        rc = unique_keys(doc, &doc->nodes.at[i], err);
    return rc;
}

int ks_json_parse(const char *text, size_t len, const char *name, struct ks_json **doc_out,
                  struct ks_err *err)
{
    struct ks_json *doc = calloc(1, sizeof(*doc));
    int rc;

    if (doc)
        doc->name = strdup(name);
    if (!doc || !doc->name)
        rc = ks_fail(err, KS_ENOMEM, "%s: out of memory", name);
    else
        rc = build(doc, text, len, err);
    if (rc < 0) {
        ks_json_close(doc);
        return rc;
    }
    *doc_out = doc;
    return 0;
}

int ks_json_open(const char *path, struct ks_json **doc_out, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = ks_file_read(path, &text, err);
    if (rc == 0)
        rc = ks_json_parse(ks_buf_text(&text), text.len, path, doc_out, err);
    ks_buf_release(&text);
    return rc;
}

const char *ks_json_name(const struct ks_json *doc)
{
    return doc->name;
}

const struct ks_node *ks_json_root(const struct ks_json *doc)
{
    return doc->nodes.at;
}

enum ks_json_kind ks_node_kind(const struct ks_node *n)
{
    return n ? n->kind : KS_JSON_NULL;
}

const char *ks_node_key(const struct ks_node *n)
{
    return n ? n->key : NULL;
}

size_t ks_node_size(const struct ks_node *n)
{
    return n ? n->n_children : 0;
}

unsigned ks_node_line(const struct ks_node *n)
{
    return n ? n->line : 0;
}

const struct ks_node *ks_node_first(const struct ks_node *n)
{
    return n && n->n_children ? n + 1 : NULL;
}

const struct ks_node *ks_node_next(const struct ks_node *n)
{
    const struct ks_node *parent;

    if (!n || !n->up)
        return NULL;
    parent = n - n->up;
    return n + n->span < parent + parent->span ? n + n->span : NULL;
}

const struct ks_node *ks_node_at(const struct ks_node *obj, const char *key)
{
    if (!obj || obj->kind != KS_JSON_OBJECT)
        return NULL;
    for (const struct ks_node *c = ks_node_first(obj); c; c = ks_node_next(c))
        if (!strcmp(c->key, key))
            return c;
    return NULL;
}
