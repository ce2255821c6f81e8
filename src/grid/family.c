/* SPDX-License-Identifier: MIT */
/* family.c - reads the file of a kernel family: texts, backend, source, name patterns */
#include "grid/family.h"

#include "base/file.h"
#include "grid/family_read.h"
#include "grid/family_store.h"
#include "grid/fields.h"
#include "grid/find.h"
#include "grid/name_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_backend(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                        struct ks_err *err)
{
    const struct ks_node *n;
    int choice = 0;
    int rc = ks_grid_field_node(doc, root, "backend", KS_JSON_STRING, &n, err);

    if (rc == 0)
        rc = ks_grid_field_choice(doc, n, ks_family_backends, &choice, err);
    if (rc == 0)
        snprintf(f->backend, sizeof f->backend, "%s", ks_family_backends[choice]);
    return rc;
}

static int read_source(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                       struct ks_err *err)
{
    char name[sizeof f->source], dir[sizeof f->path], path[sizeof f->source];
    int rc;

    if (!ks_node_at(root, "source"))
        return 0;
    rc = ks_grid_field_text(doc, root, "source", NULL, name, sizeof name, err);
    if (rc < 0)
        return rc;
    ks_path_dir(dir, sizeof dir, f->path);
    rc = ks_path_join(path, sizeof path, dir, name, err);
    if (rc == 0 && !ks_path_exists(path))
        return ks_node_fail(doc, ks_node_at(root, "source"), err, "no file '%s'", path);
    return rc < 0 ? rc : ks_find_absolute(path, f->source, sizeof f->source, err);
}

/* `node` is the pattern's; every trait that it lacks has its default when it is an alias. */
static int check_pattern(const struct ks_json *doc, const struct ks_node *node,
                         const struct ks_family *f, const char *pattern, bool is_alias,
                         struct ks_err *err)
{
    struct ks_name_parts parts;
    char where[256];
    int rc = ks_name_parts(f, pattern, is_alias, &parts, err);

    if (rc == 0 && pattern[0] == '{')
        rc = ks_fail(err, KS_EINVAL, "must begin with a letter");
    if (rc == 0)
        return 0;
    ks_node_where(doc, node, where, sizeof where);
    return ks_err_context(err, rc, "%s", where);
}

static int read_name_alias(const struct ks_json *doc, const struct ks_node *n, struct ks_family *f,
                           struct ks_err *err)
{
    char *pattern = f->name_aliases[f->n_name_aliases];
    const char *text;
    int rc = ks_node_str(doc, n, &text, err);

    if (rc < 0)
        return rc;
    if (f->n_name_aliases == sizeof f->name_aliases / sizeof f->name_aliases[0])
        return ks_node_fail(doc, n, err, "too many patterns");
    if (!text[0] || text[strspn(text, KS_ANY_WORD "{}")] ||
        strlen(text) >= sizeof f->name_aliases[0])
        return ks_node_fail(doc, n, err, "'%s' must consist of %s{}", text, KS_ANY_WORD);
    memcpy(pattern, text, strlen(text) + 1);
    f->n_name_aliases++;
    return check_pattern(doc, n, f, pattern, true, err);
}

static int read_patterns(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                         struct ks_err *err)
{
    const struct ks_node *list;
    int rc = ks_grid_field_word(doc, root, "name_pattern", KS_ANY_WORD "{}", f->name_pattern,
                                sizeof f->name_pattern, err);

    if (rc == 0)
        rc = check_pattern(doc, ks_node_at(root, "name_pattern"), f, f->name_pattern, false, err);
    if (rc < 0 || !ks_node_at(root, "name_aliases"))
        return rc;
    rc = ks_grid_field_node(doc, root, "name_aliases", KS_JSON_ARRAY, &list, err);
    if (rc < 0)
        return rc;
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = read_name_alias(doc, n, f, err);
    return rc;
}

static int read_texts(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                      struct ks_err *err)
{
    int rc = ks_grid_field_word(doc, root, "name", KS_WORD, f->name, sizeof f->name, err);

    if (rc == 0)
        rc = ks_grid_field_text(doc, root, "why", "", f->why, sizeof f->why, err);
    if (rc == 0)
        rc = ks_grid_field_text(doc, root, "extra_flags", "", f->extra_flags, sizeof f->extra_flags,
                                err);
    return rc < 0 ? rc
                  : ks_grid_field_text(doc, root, "link_flags", "", f->link_flags,
                                       sizeof f->link_flags, err);
}

static int read_family(const struct ks_json *doc, struct ks_family *f, struct ks_err *err)
{
    static const char *const keys[] = { "name",         "why",         "operator",   "direction",
                                        "dtype",        "layout",      "ndim",       "backend",
                                        "source",       "extra_flags", "link_flags", "name_pattern",
                                        "name_aliases", "traits",      "rules",      "needs",
                                        "archs",        "unsupported", NULL };
    const struct ks_node *root = ks_json_root(doc);
    int rc = ks_node_kind(root) == KS_JSON_OBJECT
                 ? ks_node_only(doc, root, keys, err)
                 : ks_node_fail(doc, root, err, "a kernel family is an object { ... }");

    f->n_flags = 1; /* the first is "" */
    if (rc == 0)
        rc = read_texts(doc, root, f, err);
    if (rc == 0)
        rc = read_backend(doc, root, f, err);
    if (rc == 0)
        rc = read_source(doc, root, f, err);
    if (rc == 0)
        rc = ks_family_read_traits(doc, root, f, err);
    if (rc == 0)
        rc = ks_family_read_domain(doc, root, f, err);
    if (rc == 0)
        rc = read_patterns(doc, root, f, err);
    return rc < 0 ? rc : ks_family_read_rules(doc, root, f, err);
}

static int load_document(const struct ks_json *doc, const char *path, struct ks_family *f_out,
                         struct ks_err *err)
{
    struct ks_family *f = calloc(1, sizeof *f);
    int rc;

    if (!f)
        return ks_fail(err, KS_ENOMEM, "no memory for a kernel family");
    if (strlen(path) >= sizeof f->path) {
        rc = ks_fail(err, KS_EINVAL, "path longer than %zu characters", sizeof f->path - 1);
    } else {
        memcpy(f->path, path, strlen(path) + 1);
        rc = ks_family_begin(f, err);
    }
    if (rc == 0)
        rc = read_family(doc, f, err);
    if (rc == 0)
        rc = ks_family_fit(f, err);
    if (rc == 0)
        *f_out = *f;
    else
        ks_family_release(f);
    free(f);
    return rc;
}

int ks_family_load(const char *path, struct ks_family *f_out, struct ks_err *err)
{
    char absolute[sizeof f_out->path];
    struct ks_json *doc = NULL;
    int rc = ks_json_open(path, &doc, err);

    if (rc == 0)
        rc = ks_find_absolute(path, absolute, sizeof absolute, err);
    if (rc == 0)
        rc = load_document(doc, absolute, f_out, err);
    ks_json_close(doc);
    return rc;
}

int ks_family_parse(const char *text, size_t len, const char *name, struct ks_family *f_out,
                    struct ks_err *err)
{
    struct ks_json *doc = NULL;
    int rc = ks_json_parse(text, len, name, &doc, err);

    if (rc == 0)
        rc = load_document(doc, name, f_out, err);
    ks_json_close(doc);
    return rc;
}
