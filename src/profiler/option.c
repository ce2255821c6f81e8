/* SPDX-License-Identifier: MIT */
/* option.c - reads and writes an adapter's options by a table */
#include "profiler/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 16 };

static int read_choice(const struct ks_json *doc, const struct ks_node *n, const char *const *names,
                       int *out, struct ks_err *err)
{
    char known[128] = "", text[64];
    size_t used = 0;
    int rc = ks_node_text(doc, n, text, sizeof text, err);

    if (rc < 0)
        return rc;
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return 0;
        }
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                     names[i]);
    }
    return ks_node_fail(doc, n, err, "'%.40s' is not one of %s", text, known);
}

int ks_profiler_choice_option(const struct ks_json *doc, const struct ks_node *object,
                              const char *key, const char *const *names, int *out,
                              struct ks_err *err)
{
    const struct ks_node *n = object ? ks_node_at(object, key) : NULL;

    return n ? read_choice(doc, n, names, out, err) : 0;
}

static int read_word(const struct ks_profiler_option *o, const struct ks_json *doc,
                     const struct ks_node *n, int64_t *out, struct ks_err *err)
{
    const char *text = "";
    int rc = ks_node_str(doc, n, &text, err);

    if (rc < 0)
        return rc;
    if (strcmp(text, o->word) != 0)
        return ks_node_fail(doc, n, err, "'%.20s' is neither a number nor \"%s\"", text, o->word);
    *out = o->word_value;
    return 0;
}

static int read_int(const struct ks_profiler_option *o, const struct ks_json *doc,
                    const struct ks_node *n, int64_t *out, struct ks_err *err)
{
    int64_t v = 0;
    int rc;

    if (o->word && ks_node_kind(n) != KS_JSON_INT)
        return read_word(o, doc, n, out, err);
    rc = ks_node_int(doc, n, &v, err);
    if (rc < 0)
        return rc;
    if (v < o->least || v > o->most)
        return ks_node_fail(doc, n, err,
                            "%" PRId64 " is not in the range %" PRId64 " to %" PRId64 "%s%s%s", v,
                            o->least, o->most, o->word ? ", nor \"" : "", o->word ? o->word : "",
                            o->word ? "\"" : "");
    *out = v;
    return 0;
}

static int read_one(const struct ks_profiler_option *o, const struct ks_json *doc,
                    const struct ks_node *n, void *at, struct ks_err *err)
{
    switch (o->kind) {
    case KS_PROFILER_CHOICE:
        return read_choice(doc, n, o->names, at, err);
    case KS_PROFILER_BOOL:
        return ks_node_bool(doc, n, at, err);
    case KS_PROFILER_INT:
        return read_int(o, doc, n, at, err);
    case KS_PROFILER_TEXT:
        break;
    }
    return ks_node_text(doc, n, at, o->cap, err);
}

static int read_all(const struct ks_profiler_option *table, const struct ks_json *doc,
                    const struct ks_node *node, char *options, struct ks_err *err)
{
    const char *keys[MOST_OPTIONS + 1] = { NULL };
    int rc;

    for (size_t i = 0; i < MOST_OPTIONS && table[i].key; i++)
        keys[i] = table[i].key;
    rc = ks_node_only(doc, node, keys, err);
    for (; rc == 0 && table->key; table++) {
        const struct ks_node *n = ks_node_at(node, table->key);

        if (n)
            rc = read_one(table, doc, n, options + table->offset, err);
    }
    return rc;
}

int ks_profiler_options_read(const struct ks_profiler_option *table, const struct ks_json *doc,
                             const struct ks_node *node, const void *defaults, size_t size,
                             void **out, struct ks_err *err)
{
    char *options = malloc(size);
    int rc;

    if (!options)
        return ks_fail(err, KS_ENOMEM, "out of memory reading options");
    memcpy(options, defaults, size);
    rc = node ? read_all(table, doc, node, options, err) : 0;
    if (rc < 0)
        free(options);
    else
        *out = options;
    return rc;
}

static void write_int(const struct ks_profiler_option *o, int64_t v, struct ks_jw *w)
{
    if (o->word && v == o->word_value)
        ks_jw_str(w, o->key, o->word);
    else
        ks_jw_int(w, o->key, v);
}

void ks_profiler_options_write(const struct ks_profiler_option *table, const void *options,
                               struct ks_jw *w)
{
    for (; table->key; table++) {
        const void *at = (const char *)options + table->offset;

        if (table->kind == KS_PROFILER_CHOICE)
            ks_jw_str(w, table->key, table->names[*(const int *)at]);
        else if (table->kind == KS_PROFILER_BOOL)
            ks_jw_bool(w, table->key, *(const bool *)at);
        else if (table->kind == KS_PROFILER_INT)
            write_int(table, *(const int64_t *)at, w);
        else if (*(const char *)at)
            ks_jw_str(w, table->key, at);
    }
}
