/* SPDX-License-Identifier: MIT */
#include "profiler/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct ks_node *find(const struct ks_node *object, const char *key)
{
    return object ? ks_node_at(object, key) : NULL;
}

int ks_profiler_choice_option(const struct ks_json *doc, const struct ks_node *object,
                              const char *key, const char *const *names, int *out,
                              struct ks_err *err)
{
    const struct ks_node *n = find(object, key);
    char known[128] = "", text[64];
    size_t used = 0;
    int rc = n ? ks_node_text(doc, n, text, sizeof text, err) : 0;

    if (rc < 0 || !n)
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
    return ks_node_fail(doc, n, err, "'%.40s' is none of %s", text, known);
}

int ks_profiler_bool_option(const struct ks_json *doc, const struct ks_node *object,
                            const char *key, bool *out, struct ks_err *err)
{
    const struct ks_node *n = find(object, key);

    return n ? ks_node_bool(doc, n, out, err) : 0;
}

int ks_profiler_int_option(const struct ks_json *doc, const struct ks_node *object, const char *key,
                           int64_t least, int64_t most, int64_t *out, struct ks_err *err)
{
    const struct ks_node *n = find(object, key);
    int64_t v = 0;
    int rc = n ? ks_node_int(doc, n, &v, err) : 0;

    if (rc < 0 || !n)
        return rc;
    if (v < least || v > most)
        return ks_node_fail(doc, n, err, "%" PRId64 " is not within %" PRId64 " to %" PRId64, v,
                            least, most);
    *out = v;
    return 0;
}
