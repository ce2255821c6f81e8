/* SPDX-License-Identifier: MIT */
/* access.c - typed access to JSON nodes, with messages that name file, line and path */
#include "base/opt.h"
#include "json/json.h"
#include "json/scan.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_NAME = 160 }; /* of a file in a message */

static size_t index_in(const struct ks_node *parent, const struct ks_node *n)
{
    size_t i = 0;

    for (const struct ks_node *c = ks_node_first(parent); c && c != n; c = ks_node_next(c))
        i++;
    return i;
}

/* Append to a text that may be full already. */
__attribute__((format(printf, 4, 5))) static void add(char *out, size_t cap, size_t *used,
                                                      const char *fmt, ...)
{
    va_list ap;
    int k;

    if (*used >= cap)
        return;
    va_start(ap, fmt);
    k = vsnprintf(out + *used, cap - *used, fmt, ap);
    va_end(ap);
    *used += k < 0 ? 0 : (size_t)k;
}

static void add_path(const struct ks_node *n, char *out, size_t cap, size_t *used)
{
    const struct ks_node *chain[KS_JSON_MAX_DEPTH + 1];
    size_t depth = 0;

    for (; n->up && depth < KS_JSON_MAX_DEPTH; n -= n->up)
        chain[depth++] = n;
    for (size_t i = depth; i--;) {
        const char *key = chain[i]->item->string;

        if (key)
            add(out, cap, used, "%s%s", i + 1 == depth ? "" : ".", key);
        else
            add(out, cap, used, "[%zu]", index_in(chain[i] - chain[i]->up, chain[i]));
    }
}

/* A long name is shown by its end, so that there is always room for line and key. */
static void add_name(const char *name, char *out, size_t cap, size_t *used)
{
    const size_t n = strlen(name);
    const char *at = n > LONGEST_NAME ? name + n - LONGEST_NAME : name;

    while (at > name && (*at & 0xc0) == 0x80) /* inside a character of UTF-8 */
        at++;
    add(out, cap, used, "%s%s", at > name ? "..." : "", at);
}

void ks_node_where(const struct ks_json *doc, const struct ks_node *n, char *out, size_t cap)
{
    size_t used = 0;

    if (!cap)
        return;
    out[0] = 0;
    if (doc)
        add_name(ks_json_name(doc), out, cap, &used);
    if (!n)
        return;
    add(out, cap, &used, ":%u", n->line);
    if (!n->up)
        return;
    add(out, cap, &used, ": ");
    add_path(n, out, cap, &used);
}

int ks_node_fail(const struct ks_json *doc, const struct ks_node *n, struct ks_err *err,
                 const char *fmt, ...)
{
    char where[256], cause[320];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(cause, sizeof(cause), fmt, ap);
    va_end(ap);
    ks_node_where(doc, n, where, sizeof(where));
    return ks_fail(err, KS_EINVAL, "%s: %s", where, cause);
}

static const char *kind_text(enum ks_json_kind kind)
{
    static const char *const words[] = { "null",     "a boolean", "a whole number", "a number",
                                         "a string", "an array",  "an object" };
    return words[kind];
}

static int wrong_kind(const struct ks_json *doc, const struct ks_node *n, enum ks_json_kind want,
                      struct ks_err *err)
{
    if (!n)
        return ks_node_fail(doc, n, err, "%s is missing", kind_text(want));
    return ks_node_fail(doc, n, err, "expected %s, found %s", kind_text(want), kind_text(n->kind));
}

int ks_node_bool(const struct ks_json *doc, const struct ks_node *n, bool *out, struct ks_err *err)
{
    if (!n || n->kind != KS_JSON_BOOL)
        return wrong_kind(doc, n, KS_JSON_BOOL, err);
    *out = cJSON_IsTrue(n->item);
    return 0;
}

int ks_node_int(const struct ks_json *doc, const struct ks_node *n, int64_t *out,
                struct ks_err *err)
{
    if (!n || n->kind != KS_JSON_INT)
        return wrong_kind(doc, n, KS_JSON_INT, err);
    *out = n->v.i;
    return 0;
}

int ks_node_real(const struct ks_json *doc, const struct ks_node *n, double *out,
                 struct ks_err *err)
{
    if (!n || (n->kind != KS_JSON_REAL && n->kind != KS_JSON_INT))
        return wrong_kind(doc, n, KS_JSON_REAL, err);
    *out = n->kind == KS_JSON_REAL ? n->v.d : (double)n->v.i;
    return 0;
}

int ks_node_str(const struct ks_json *doc, const struct ks_node *n, const char **out,
                struct ks_err *err)
{
    if (!n || n->kind != KS_JSON_STRING)
        return wrong_kind(doc, n, KS_JSON_STRING, err);
    *out = n->item->valuestring;
    return 0;
}

int ks_node_text(const struct ks_json *doc, const struct ks_node *n, char *out, size_t cap,
                 struct ks_err *err)
{
    char number[32];
    const char *text = number;

    switch (n ? n->kind : KS_JSON_NULL) {
    case KS_JSON_BOOL:
        text = cJSON_IsTrue(n->item) ? "yes" : "no";
        break;
    case KS_JSON_INT:
        snprintf(number, sizeof(number), "%lld", (long long)n->v.i);
        break;
    case KS_JSON_REAL:
        ks_f64_text(n->v.d, number);
        break;
    case KS_JSON_STRING:
        text = n->item->valuestring;
        break;
    default:
        return ks_node_fail(doc, n, err, "expected a number, a boolean or a string");
    }
    if (strlen(text) >= cap)
        return ks_node_fail(doc, n, err, "the string is longer than %zu bytes", cap - 1);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

static bool is_among(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (!strcmp(*keys, key))
            return true;
    return false;
}

int ks_node_only(const struct ks_json *doc, const struct ks_node *obj, const char *const *keys,
                 struct ks_err *err)
{
    if (!obj || obj->kind != KS_JSON_OBJECT)
        return wrong_kind(doc, obj, KS_JSON_OBJECT, err);
    for (const struct ks_node *c = ks_node_first(obj); c; c = ks_node_next(c)) {
        const char *key = c->item->string, *near;

        if (is_among(key, keys))
            continue;
        near = ks_nearest(key, keys);
        if (near)
            return ks_node_fail(doc, c, err, "unknown key '%s'; did you mean '%s'?", key, near);
        return ks_node_fail(doc, c, err, "unknown key '%s'", key);
    }
    return 0;
}
