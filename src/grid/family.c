/* SPDX-License-Identifier: MIT */
#include "grid/family.h"

#include "base/file.h"
#include "grid/expr.h"
#include "grid/family_expr.h"
#include "grid/fields.h"
#include "grid/find.h"
#include "grid/name_parts.h"
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOWER    "abcdefghijklmnopqrstuvwxyz"
#define UPPER    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"
#define WORD     LOWER DIGITS "_"
#define ANY_WORD LOWER UPPER DIGITS "_"

int ks_family_trait(const struct ks_family *f, const char *trait)
{
    for (uint32_t i = 0; i < f->n_traits; i++)
        if (strcmp(f->traits[i].name, trait) == 0)
            return (int)i;
    return -1;
}

int ks_trait_value(const struct ks_trait *t, const char *text)
{
    for (uint32_t i = 0; i < t->n_values; i++)
        if (strcmp(t->text[i], text) == 0)
            return (int)i;
    return -1;
}

/* One value: its text and its number, both new. */
static int add_value(const struct ks_json *doc, const struct ks_node *n, struct ks_trait *t,
                     struct ks_err *err)
{
    const char *key = ks_node_key(n);
    char text[32];
    int64_t v;
    int rc = ks_node_int(doc, n, &v, err);

    if (rc < 0)
        return rc;
    if (t->n_values == KS_TRAIT_VALUES_MAX)
        return ks_node_fail(doc, n, err, "more than %d values", KS_TRAIT_VALUES_MAX);
    snprintf(text, sizeof text, "%lld", (long long)v);
    if (key && (!key[0] || key[strspn(key, WORD)] || strlen(key) >= sizeof t->text[0]))
        return ks_node_fail(doc, n, err, "a value's name has 1 to %zu characters of a-z 0-9 _",
                            sizeof t->text[0] - 1);
    for (uint32_t i = 0; i < t->n_values; i++)
        if (t->value[i] == v)
            return ks_node_fail(doc, n, err, "value %s stands twice", text);
    t->value[t->n_values] = v;
    snprintf(t->text[t->n_values], sizeof t->text[0], "%.23s", key ? key : text);
    t->n_values++;
    return 0;
}

static int read_values(const struct ks_json *doc, const struct ks_node *obj, struct ks_trait *t,
                       struct ks_err *err)
{
    bool is_name = t->kind == KS_TRAIT_NAME;
    const struct ks_node *list;
    int rc = ks_grid_field_node(doc, obj, "values", is_name ? KS_JSON_OBJECT : KS_JSON_ARRAY, &list,
                                err);

    if (rc < 0)
        return rc;
    if (ks_node_size(list) == 0)
        return ks_node_fail(doc, list, err, "at least one value is wanted");
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = add_value(doc, n, t, err);
    return rc;
}

static int read_default(const struct ks_json *doc, const struct ks_node *obj, struct ks_trait *t,
                        struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(obj, "default");
    uint32_t i_value;
    int rc;

    if (!n)
        return ks_node_fail(doc, obj, err, "key 'default' is missing (one of the values)");
    rc = ks_trait_value_node(doc, n, t, &i_value, err);
    if (rc == 0)
        t->i_default = i_value;
    return rc;
}

static int read_suffix(const struct ks_json *doc, const struct ks_node *obj, struct ks_trait *t,
                       struct ks_err *err)
{
    char *hole;
    int rc = ks_grid_field_text(doc, obj, "suffix", "", t->suffix, sizeof t->suffix, err);

    if (rc < 0 || !t->suffix[0])
        return rc;
    hole = strstr(t->suffix, "{}");
    if (!hole || hole == t->suffix || strspn(t->suffix, ANY_WORD) != (size_t)(hole - t->suffix) ||
        hole[2 + strspn(hole + 2, ANY_WORD)])
        return ks_node_fail(doc, ks_node_at(obj, "suffix"), err,
                            "'%s' must be letters, digits or '_', then {}", t->suffix);
    return 0;
}

static int check_trait_name(const struct ks_json *doc, const struct ks_node *obj,
                            const struct ks_family *f, const struct ks_trait *t, struct ks_err *err)
{
    static const char *const words[] = { "and", "or",   "not",   "in", "min",
                                         "max", "true", "false", NULL };

    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], t->name) == 0)
            return ks_node_fail(doc, ks_node_at(obj, "name"), err,
                                "'%s' is a word of the expression language", t->name);
    for (uint32_t i = 0; i < f->n_traits; i++) {
        if (strcmp(f->traits[i].name, t->name) == 0)
            return ks_node_fail(doc, ks_node_at(obj, "name"), err, "trait '%s' stands twice",
                                t->name);
        if (t->macro[0] && strcmp(f->traits[i].macro, t->macro) == 0)
            return ks_node_fail(doc, ks_node_at(obj, "macro"), err,
                                "macro '%s' is that of trait '%s'", t->macro, f->traits[i].name);
    }
    return 0;
}

static int read_trait(const struct ks_json *doc, const struct ks_node *obj, struct ks_family *f,
                      struct ks_err *err)
{
    static const char *const keys[] = { "name",   "macro",   "help",   "kind",
                                        "values", "default", "suffix", NULL };
    static const char *const kinds[] = { "int", "name", NULL };
    struct ks_trait *t = &f->traits[f->n_traits];
    const struct ks_node *n = NULL;
    int kind = 0;
    int rc = ks_node_only(doc, obj, keys, err);

    if (rc == 0)
        rc = ks_grid_field_word(doc, obj, "name", WORD, t->name, sizeof t->name, err);
    if (rc == 0 && ks_node_at(obj, "macro"))
        rc = ks_grid_field_word(doc, obj, "macro", ANY_WORD, t->macro, sizeof t->macro, err);
    if (rc == 0)
        rc = ks_grid_field_text(doc, obj, "help", NULL, t->help, sizeof t->help, err);
    if (rc == 0)
        rc = check_trait_name(doc, obj, f, t, err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, obj, "kind", KS_JSON_STRING, &n, err);
    if (rc == 0)
        rc = ks_grid_field_choice(doc, n, kinds, &kind, err);
    t->kind = kind == 0 ? KS_TRAIT_INT : KS_TRAIT_NAME;
    if (rc == 0)
        rc = read_values(doc, obj, t, err);
    if (rc == 0)
        rc = read_default(doc, obj, t, err);
    return rc < 0 ? rc : read_suffix(doc, obj, t, err);
}

static int read_traits(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                       struct ks_err *err)
{
    const struct ks_node *list;
    int rc = ks_grid_field_node(doc, root, "traits", KS_JSON_ARRAY, &list, err);

    if (rc < 0)
        return rc;
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        if (f->n_traits == KS_TRAITS_MAX)
            return ks_node_fail(doc, n, err, "more than %d traits", KS_TRAITS_MAX);
        rc = read_trait(doc, n, f, err);
        f->n_traits++;
    }
    return rc;
}

static int check_when(const struct ks_json *doc, const struct ks_node *obj,
                      const struct ks_family *f, const char *when, struct ks_err *err)
{
    char where[256];
    struct ks_expr *e = NULL;
    int rc = ks_family_expr(f, when, &e, err);

    ks_expr_free(e);
    if (rc == 0)
        return 0;
    ks_node_where(doc, ks_node_at(obj, "when"), where, sizeof where);
    return ks_err_context(err, rc, "%s", where);
}

static int read_rules(const struct ks_json *doc, const struct ks_node *list, struct ks_family *f,
                      struct ks_err *err)
{
    static const char *const keys[] = { "when", "why", NULL };
    int rc = 0;

    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        struct ks_rule *r = &f->rules[f->n_rules];

        if (f->n_rules == sizeof f->rules / sizeof f->rules[0])
            return ks_node_fail(doc, n, err, "too many rules");
        rc = ks_node_only(doc, n, keys, err);
        if (rc == 0)
            rc = ks_grid_field_text(doc, n, "when", NULL, r->when, sizeof r->when, err);
        if (rc == 0)
            rc = ks_grid_field_text(doc, n, "why", NULL, r->why, sizeof r->why, err);
        if (rc == 0)
            rc = check_when(doc, n, f, r->when, err);
        f->n_rules++;
    }
    return rc;
}

static int read_needs(const struct ks_json *doc, const struct ks_node *list, struct ks_family *f,
                      struct ks_err *err)
{
    static const char *const keys[] = { "when", "needs", NULL };
    int rc = 0;

    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        struct ks_isa_need *r = &f->needs[f->n_needs];

        if (f->n_needs == sizeof f->needs / sizeof f->needs[0])
            return ks_node_fail(doc, n, err, "too many needs");
        rc = ks_node_only(doc, n, keys, err);
        if (rc == 0)
            rc = ks_grid_field_text(doc, n, "when", NULL, r->when, sizeof r->when, err);
        if (rc == 0)
            rc = ks_grid_field_word(doc, n, "needs", WORD, r->needs, sizeof r->needs, err);
        if (rc == 0)
            rc = check_when(doc, n, f, r->when, err);
        f->n_needs++;
    }
    return rc;
}

/* An optional list: absent is empty. */
static int read_list(const struct ks_json *doc, const struct ks_node *root, const char *key,
                     int (*read)(const struct ks_json *, const struct ks_node *, struct ks_family *,
                                 struct ks_err *),
                     struct ks_family *f, struct ks_err *err)
{
    const struct ks_node *list;
    int rc;

    if (!ks_node_at(root, key))
        return 0;
    rc = ks_grid_field_node(doc, root, key, KS_JSON_ARRAY, &list, err);
    return rc < 0 ? rc : read(doc, list, f, err);
}

static int choose(const struct ks_json *doc, const struct ks_node *root, const char *key,
                  const char *(*name_of)(uint32_t), uint32_t n_names, uint32_t *out,
                  struct ks_err *err)
{
    const char *names[8] = { NULL };
    const struct ks_node *n;
    int choice = 0;
    int rc = ks_grid_field_node(doc, root, key, KS_JSON_STRING, &n, err);

    for (uint32_t i = 0; i < n_names && i < 7; i++)
        names[i] = name_of(i);
    if (rc == 0)
        rc = ks_grid_field_choice(doc, n, names, &choice, err);
    if (rc == 0)
        *out = (uint32_t)choice;
    return rc;
}

static int read_kind(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                     struct ks_err *err)
{
    static const char *const backends[] = { "host", "sim", NULL };
    const struct ks_node *n;
    int choice = 0;
    int rc = ks_grid_field_text(doc, root, "operator", NULL, f->op, sizeof f->op, err);

    if (rc == 0 && ks_operator_find(f->op, &f->i_op, err) < 0) {
        char where[256];

        ks_node_where(doc, ks_node_at(root, "operator"), where, sizeof where);
        return ks_err_context(err, KS_EINVAL, "%s", where);
    }
    if (rc == 0)
        rc = choose(doc, root, "direction", ks_direction_name, KS_N_DIRECTIONS, &f->direction, err);
    if (rc == 0)
        rc = choose(doc, root, "dtype", ks_dtype_name, KS_N_DTYPES, &f->dtype, err);
    if (rc == 0)
        rc = choose(doc, root, "layout", ks_layout_name, KS_N_LAYOUTS, &f->layout, err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, root, "backend", KS_JSON_STRING, &n, err);
    if (rc == 0)
        rc = ks_grid_field_choice(doc, n, backends, &choice, err);
    if (rc < 0)
        return rc;
    snprintf(f->backend, sizeof f->backend, "%s", backends[choice]);
    snprintf(f->domain, sizeof f->domain, "family is %s %s %s", ks_direction_name(f->direction),
             ks_dtype_name(f->dtype), ks_layout_name(f->layout));
    return 0;
}

static int read_source(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                       struct ks_err *err)
{
    char name[sizeof f->source], dir[sizeof f->path], path[sizeof f->source];
    int rc = ks_grid_field_text(doc, root, "source", NULL, name, sizeof name, err);

    if (rc < 0)
        return rc;
    ks_path_dir(dir, sizeof dir, f->path);
    rc = ks_path_join(path, sizeof path, dir, name, err);
    if (rc == 0 && !ks_path_exists(path))
        return ks_node_fail(doc, ks_node_at(root, "source"), err, "no file '%s'", path);
    return rc < 0 ? rc : ks_find_absolute(path, f->source, sizeof f->source, err);
}

static int read_pattern(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                        struct ks_err *err)
{
    struct ks_name_part parts[KS_NAME_PARTS];
    char where[256];
    size_t n_parts;
    int rc = ks_grid_field_word(doc, root, "name_pattern", ANY_WORD "{}", f->name_pattern,
                                sizeof f->name_pattern, err);

    if (rc < 0)
        return rc;
    rc = ks_name_parts(f, parts, &n_parts, err);
    if (rc == 0 && f->name_pattern[0] == '{')
        rc = ks_fail(err, KS_EINVAL, "must begin with a letter");
    if (rc == 0)
        return 0;
    ks_node_where(doc, ks_node_at(root, "name_pattern"), where, sizeof where);
    return ks_err_context(err, rc, "%s", where);
}

static int read_family(const struct ks_json *doc, struct ks_family *f, struct ks_err *err)
{
    static const char *const keys[] = {
        "name",   "why",         "operator",     "direction", "dtype", "layout", "backend",
        "source", "extra_flags", "name_pattern", "traits",    "rules", "needs",  NULL
    };
    const struct ks_node *root = ks_json_root(doc);
    char why[1024];
    int rc = ks_node_kind(root) == KS_JSON_OBJECT
                 ? ks_node_only(doc, root, keys, err)
                 : ks_node_fail(doc, root, err, "a kernel family is an object { ... }");

    if (rc == 0)
        rc = ks_grid_field_word(doc, root, "name", WORD, f->name, sizeof f->name, err);
    if (rc == 0)
        rc = ks_grid_field_text(doc, root, "why", "", why, sizeof why, err);
    if (rc == 0)
        rc = ks_grid_field_text(doc, root, "extra_flags", "", f->extra_flags, sizeof f->extra_flags,
                                err);
    if (rc == 0)
        rc = read_kind(doc, root, f, err);
    if (rc == 0)
        rc = read_source(doc, root, f, err);
    if (rc == 0)
        rc = read_traits(doc, root, f, err);
    if (rc == 0)
        rc = read_pattern(doc, root, f, err);
    if (rc == 0)
        rc = read_list(doc, root, "rules", read_rules, f, err);
    return rc < 0 ? rc : read_list(doc, root, "needs", read_needs, f, err);
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
        rc = read_family(doc, f, err);
    }
    if (rc == 0)
        *f_out = *f;
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
