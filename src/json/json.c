/* SPDX-License-Identifier: MIT */
/* json.c - parses JSON strictly: scanned first, then paired with cJSON's tree; no duplicate keys */
#include "json/json.h"
#include "base/file.h"
#include "json/scan.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct ks_json {
    char *name;
    struct ks_nodes nodes;
    cJSON *tree; /* its strings and keys are what nodes lend */
};

void ks_json_close(struct ks_json *doc)
{
    if (!doc)
        return;
    cJSON_Delete(doc->tree);
    free(doc->nodes.at);
    free(doc->name);
    free(doc);
}

static int by_key(const void *a, const void *b)
{
    const struct ks_node *x = *(const struct ks_node *const *)a;
    const struct ks_node *y = *(const struct ks_node *const *)b;
    int order = strcmp(x->item->string, y->item->string);

    /* Equal keys stay in document order, so that the message names the second one. */
    return order ? order : (x > y) - (x < y);
}

static int unique_keys(const struct ks_json *doc, const struct ks_node *obj, struct ks_err *err)
{
    const struct ks_node **sorted;
    char where[256];
    size_t n = 0;
    int rc = 0;

    if (obj->kind != KS_JSON_OBJECT || ks_node_size(obj) < 2)
        return 0;
    sorted = malloc(ks_node_size(obj) * sizeof(*sorted));
    if (!sorted)
        return ks_fail(err, KS_ENOMEM, "%s: out of memory", doc->name);
    for (const struct ks_node *c = ks_node_first(obj); c; c = ks_node_next(c))
        sorted[n++] = c;
    qsort(sorted, n, sizeof(*sorted), by_key);
    for (size_t i = 1; i < n && rc == 0; i++) {
        if (strcmp(sorted[i - 1]->item->string, sorted[i]->item->string) != 0)
            continue;
        ks_node_where(doc, sorted[i], where, sizeof(where));
        rc = ks_fail(err, KS_EFORMAT, "%s: duplicate key '%s' (first on line %u)", where,
                     sorted[i]->item->string, sorted[i - 1]->line);
    }
    free(sorted);
    return rc;
}

static bool is_kind(const cJSON *item, enum ks_json_kind kind)
{
    static const int types[] = {
        [KS_JSON_NULL] = cJSON_NULL,     [KS_JSON_BOOL] = cJSON_True | cJSON_False,
        [KS_JSON_INT] = cJSON_Number,    [KS_JSON_REAL] = cJSON_Number,
        [KS_JSON_STRING] = cJSON_String, [KS_JSON_ARRAY] = cJSON_Array,
        [KS_JSON_OBJECT] = cJSON_Object,
    };

    return (item->type & types[kind]) != 0;
}

/* The value that stands behind nodes.at[i] in the document; NULL behind the last one. */
static cJSON *item_after(const struct ks_nodes *nodes, size_t i)
{
    const cJSON *item = nodes->at[i].item;

    if (item->child)
        return item->child;
    for (; !item->next; item = nodes->at[i].item) {
        if (nodes->at[i].up == 0)
            return NULL;
        i -= nodes->at[i].up;
    }
    return item->next;
}

/* Both passes saw the same text, so that values pair up in document order. */
static int bind_tree(struct ks_json *doc, struct ks_err *err)
{
    struct ks_nodes *nodes = &doc->nodes;
    cJSON *item = doc->tree;

    for (size_t i = 0; i < nodes->n; i++) {
        if (!item || !is_kind(item, nodes->at[i].kind))
            return ks_fail(
                err, KS_EFORMAT,
                "%s:%u: libcjson %s does not read this value as the same kind: report the file",
                doc->name, nodes->at[i].line, cJSON_Version());
        item->valueint = (int)i;
        nodes->at[i].item = item;
        item = item_after(nodes, i);
    }
    return 0;
}

static int refuse_size(const char *name, struct ks_err *err)
{
    return ks_fail(err, KS_EFORMAT, "%s: larger than %d MiB, the limit for JSON", name,
                   KS_JSON_MAX_BYTES >> 20);
}

static int build(struct ks_json *doc, const char *text, size_t len, struct ks_err *err)
{
    int rc;

    if (len > KS_JSON_MAX_BYTES)
        return refuse_size(doc->name, err);
    rc = ks_json_scan(text, len, doc->name, &doc->nodes, err);
    if (rc < 0)
        return rc;
    doc->tree = cJSON_ParseWithLengthOpts(text, len, NULL, false);
    if (!doc->tree) /* the grammar holds, so that only memory can be missing */
        return ks_fail(err, KS_ENOMEM, "%s: out of memory", doc->name);
    rc = bind_tree(doc, err);
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
    struct stat st;
    int rc;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > KS_JSON_MAX_BYTES)
        return refuse_size(path, err);
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
    return n ? n->item->string : NULL;
}

size_t ks_node_size(const struct ks_node *n)
{
    return n ? (size_t)cJSON_GetArraySize(n->item) : 0;
}

unsigned ks_node_line(const struct ks_node *n)
{
    return n ? n->line : 0;
}

/* The node of an item of the tree that n belongs to. */
static const struct ks_node *node_of(const struct ks_node *n, const cJSON *item)
{
    return item ? n - n->item->valueint + item->valueint : NULL;
}

const struct ks_node *ks_node_first(const struct ks_node *n)
{
    return n ? node_of(n, n->item->child) : NULL;
}

const struct ks_node *ks_node_next(const struct ks_node *n)
{
    return n ? node_of(n, n->item->next) : NULL;
}

const struct ks_node *ks_node_at(const struct ks_node *obj, const char *key)
{
    if (!obj || obj->kind != KS_JSON_OBJECT)
        return NULL;
    return node_of(obj, cJSON_GetObjectItemCaseSensitive(obj->item, key));
}
