/* SPDX-License-Identifier: MIT */
/* fields.c - reads fields of JSON objects: texts, words, choices, with hints for typing errors */
#include "grid/fields.h"

#include "op/op.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = { "null",     "true or false", "a whole number", "a number",
                                          "a string", "a list",        "an object" };

void ks_grid_field_hint(const char *word, const char *const *names, char *out, size_t cap)
{
    const char *near = ks_word_nearest(word, names);

    out[0] = '\0';
    if (near)
        snprintf(out, cap, ", did you mean '%s'", near);
}

int ks_grid_field_node(const struct ks_json *doc, const struct ks_node *obj, const char *key,
                       enum ks_json_kind kind, const struct ks_node **out, struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(obj, key);

    if (!n)
        return ks_node_fail(doc, obj, err, "key '%s' is missing (%s)", key, kind_names[kind]);
    if (ks_node_kind(n) != kind)
        return ks_node_fail(doc, n, err, "expected %s, found %s", kind_names[kind],
                            kind_names[ks_node_kind(n)]);
    *out = n;
    return 0;
}

int ks_grid_field_text(const struct ks_json *doc, const struct ks_node *obj, const char *key,
                       const char *otherwise, char *out, size_t cap, struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(obj, key);
    const char *text = otherwise;
    int rc = 0;

    if (!n && !otherwise)
        return ks_node_fail(doc, obj, err, "key '%s' is missing (a string)", key);
    if (n)
        rc = ks_node_str(doc, n, &text, err);
    if (rc < 0)
        return rc;
    if (strlen(text) >= cap)
        return ks_node_fail(doc, n, err, "longer than %zu characters", cap - 1);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

int ks_grid_field_word(const struct ks_json *doc, const struct ks_node *obj, const char *key,
                       const char *allowed, char *out, size_t cap, struct ks_err *err)
{
    int rc = ks_grid_field_text(doc, obj, key, NULL, out, cap, err);
    const struct ks_node *n = ks_node_at(obj, key);

    if (rc < 0)
        return rc;
    if (!out[0] || out[strspn(out, allowed)] || strchr("0123456789.-", out[0]))
        return ks_node_fail(doc, n, err, "'%s' must begin with a letter and consist of %s", out,
                            allowed);
    return 0;
}

static void list_names(const char *const *names, char *out, size_t cap)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; names[i] && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, "%s%s", i ? ", " : "", names[i]);
}

int ks_grid_field_choice(const struct ks_json *doc, const struct ks_node *n,
                         const char *const *names, int *out, struct ks_err *err)
{
    const char *text;
    char hint[64], all[160];
    int rc = ks_node_str(doc, n, &text, err);

    if (rc < 0)
        return rc;
    for (int i = 0; names[i]; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    ks_grid_field_hint(text, names, hint, sizeof hint);
    list_names(names, all, sizeof all);
    return ks_node_fail(doc, n, err, "'%s' is not known%s; known: %s", text, hint, all);
}
