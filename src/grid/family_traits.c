/* SPDX-License-Identifier: MIT */
/* family_traits.c - reads a family's traits: values, attributes, aliases, default, suffix, role */
#include "grid/family_expr.h"
#include "grid/family_read.h"
#include "grid/fields.h"

#include <stdio.h>
#include <string.h>

/* One trait on its way into the family. */
struct reader {
    const struct ks_json *doc;
    const struct ks_node *obj;
    struct ks_family *f;
    struct ks_trait *t;
    uint32_t i_attribute, n_attributes; /* those of this trait, in the family's list */
    struct ks_err *err;
};

static bool is_word(const char *text, size_t cap)
{
    return text[0] && strlen(text) < cap && !text[strspn(text, KS_ANY_WORD)];
}

/* One value of an attribute: the first decides whether it is a number or a text. */
static int add_attribute_value(const struct reader *r, const struct ks_node *n,
                               struct ks_attribute *a)
{
    uint32_t v = r->t->n_values;
    const char *text;
    int rc;

    if (v == 0)
        a->kind = ks_node_kind(n) == KS_JSON_STRING ? KS_TRAIT_NAME : KS_TRAIT_INT;
    if (a->kind == KS_TRAIT_INT) {
        rc = ks_node_int(r->doc, n, &a->value[v], r->err);
        if (rc == 0)
            snprintf(a->text[v], sizeof a->text[v], "%lld", (long long)a->value[v]);
        return rc;
    }
    rc = ks_node_str(r->doc, n, &text, r->err);
    if (rc < 0)
        return rc;
    if (!is_word(text, sizeof a->text[v]))
        return ks_node_fail(r->doc, n, r->err,
                            "a string value must have 1 to %zu characters of a-z A-Z 0-9 _",
                            sizeof a->text[v] - 1);
    memcpy(a->text[v], text, strlen(text) + 1);
    return 0;
}

static int add_attribute_values(const struct reader *r, const struct ks_node *list)
{
    const struct ks_node *n = ks_node_first(list);
    int rc = 0;

    if (ks_node_kind(list) != KS_JSON_ARRAY || ks_node_size(list) != r->n_attributes)
        return ks_node_fail(r->doc, list, r->err, "expected a list of %u values, one per attribute",
                            r->n_attributes);
    for (uint32_t k = 0; rc == 0 && k < r->n_attributes; k++, n = ks_node_next(n))
        rc = add_attribute_value(r, n, &r->f->attributes[r->i_attribute + k]);
    return rc;
}

/* One value: its text and its number, both new. The number of a composite value is its position. */
static int add_value(const struct reader *r, const struct ks_node *n)
{
    const char *key = ks_node_key(n);
    struct ks_trait *t = r->t;
    char text[KS_VALUE_TEXT];
    int64_t v = t->n_values;
    bool is_true = false;
    int rc;

    if (t->n_values == KS_TRAIT_VALUES_MAX)
        return ks_node_fail(r->doc, n, r->err, "more than %d values", KS_TRAIT_VALUES_MAX);
    if (t->is_bool)
        rc = ks_node_bool(r->doc, n, &is_true, r->err);
    else
        rc = r->n_attributes ? add_attribute_values(r, n) : ks_node_int(r->doc, n, &v, r->err);
    if (rc < 0)
        return rc;
    if (t->is_bool)
        v = is_true;
    snprintf(text, sizeof text, "%lld", (long long)v);
    if (key && !is_word(key, sizeof t->text[0]))
        return ks_node_fail(r->doc, n, r->err,
                            "the name of a value must have 1 to %zu characters of a-z A-Z 0-9 _",
                            sizeof t->text[0] - 1);
    for (uint32_t i = 0; i < t->n_values; i++)
        if (t->value[i] == v)
            return ks_node_fail(r->doc, n, r->err, "duplicate value %s", text);
    t->value[t->n_values] = v;
    snprintf(t->text[t->n_values], sizeof t->text[0], "%s", key ? key : text);
    t->n_values++;
    return 0;
}

static int check_new_name(const struct reader *r, const struct ks_node *n, const char *name)
{
    static const char *const words[] = { "and", "or",   "not",   "in", "min",
                                         "max", "true", "false", NULL };
    const struct ks_family *f = r->f;

    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], name) == 0)
            return ks_node_fail(r->doc, n, r->err, "'%s' is a reserved word of filter expressions",
                                name);
    for (uint32_t i = 0; i < f->n_traits; i++)
        if (strcmp(f->traits[i].name, name) == 0 || strcmp(f->traits[i].key, name) == 0)
            return ks_node_fail(r->doc, n, r->err, "duplicate trait '%s'", name);
    for (uint32_t i = 0; i < f->n_attributes; i++)
        if (strcmp(f->attributes[i].name, name) == 0)
            return ks_node_fail(r->doc, n, r->err, "'%s' is an attribute of trait '%s'", name,
                                f->traits[f->attributes[i].i_trait].name);
    return 0;
}

static int add_attribute(struct reader *r, const struct ks_node *n)
{
    struct ks_family *f = r->f;
    struct ks_attribute *a = &f->attributes[f->n_attributes];
    const char *name;
    int rc = ks_node_str(r->doc, n, &name, r->err);

    if (rc < 0)
        return rc;
    if (f->n_attributes == KS_ATTRIBUTES_MAX)
        return ks_node_fail(r->doc, n, r->err, "more than %d attributes", KS_ATTRIBUTES_MAX);
    if (!is_word(name, sizeof a->name) || strchr(KS_DIGITS, name[0]))
        return ks_node_fail(r->doc, n, r->err, "'%s' must begin with a letter and consist of %s",
                            name, KS_ANY_WORD);
    if (strcmp(name, r->t->name) == 0)
        return ks_node_fail(r->doc, n, r->err, "'%s' is the trait itself", name);
    rc = check_new_name(r, n, name);
    if (rc < 0)
        return rc;
    memcpy(a->name, name, strlen(name) + 1);
    a->i_trait = f->n_traits;
    f->n_attributes++;
    r->n_attributes++;
    return 0;
}

static int read_attributes(struct reader *r)
{
    const struct ks_node *list;
    int rc = 0;

    if (!ks_node_at(r->obj, "attributes"))
        return 0;
    if (r->t->kind != KS_TRAIT_NAME)
        return ks_node_fail(r->doc, ks_node_at(r->obj, "attributes"), r->err,
                            "only traits of kind 'name' have attributes");
    rc = ks_grid_field_node(r->doc, r->obj, "attributes", KS_JSON_ARRAY, &list, r->err);
    if (rc == 0 && ks_node_size(list) == 0)
        rc = ks_node_fail(r->doc, list, r->err, "expected at least one attribute");
    if (rc < 0)
        return rc;
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = add_attribute(r, n);
    return rc;
}

static void take_both(struct ks_trait *t)
{
    for (t->n_values = 0; t->n_values < 2; t->n_values++) {
        t->value[t->n_values] = t->n_values;
        snprintf(t->text[t->n_values], sizeof t->text[0], "%u", t->n_values);
    }
}

static int read_values(const struct reader *r)
{
    bool is_name = r->t->kind == KS_TRAIT_NAME;
    const struct ks_node *list;
    int rc;

    if (r->t->is_bool && !ks_node_at(r->obj, "values")) {
        take_both(r->t);
        return 0;
    }
    rc = ks_grid_field_node(r->doc, r->obj, "values", is_name ? KS_JSON_OBJECT : KS_JSON_ARRAY,
                            &list, r->err);
    if (rc < 0)
        return rc;
    if (ks_node_size(list) == 0)
        return ks_node_fail(r->doc, list, r->err, "expected at least one value");
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = add_value(r, n);
    return rc;
}

static int read_default(const struct reader *r)
{
    const struct ks_node *n = ks_node_at(r->obj, "default");
    uint32_t i_value;
    int rc;

    if (!n)
        return ks_node_fail(r->doc, r->obj, r->err, "key 'default' is missing (one of the values)");
    rc = ks_trait_value_node(r->doc, n, r->t, &i_value, r->err);
    if (rc == 0)
        r->t->i_default = i_value;
    return rc;
}

static int add_alias(const struct reader *r, const struct ks_node *n)
{
    struct ks_trait *t = r->t;
    const char *text = ks_node_key(n);
    uint32_t i_value;
    int rc;

    if (t->n_aliases == sizeof t->aliases / sizeof t->aliases[0])
        return ks_node_fail(r->doc, n, r->err, "too many aliases");
    if (!is_word(text, sizeof t->aliases[0].text))
        return ks_node_fail(r->doc, n, r->err, "'%s' is not a word", text);
    if (ks_trait_value(t, text) >= 0)
        return ks_node_fail(r->doc, n, r->err, "'%s' is a value of the trait", text);
    rc = ks_trait_value_node(r->doc, n, t, &i_value, r->err);
    if (rc < 0)
        return rc;
    memcpy(t->aliases[t->n_aliases].text, text, strlen(text) + 1);
    t->aliases[t->n_aliases++].i_value = i_value;
    return 0;
}

static int read_aliases(const struct reader *r)
{
    const struct ks_node *list;
    int rc = 0;

    if (!ks_node_at(r->obj, "aliases"))
        return 0;
    rc = ks_grid_field_node(r->doc, r->obj, "aliases", KS_JSON_OBJECT, &list, r->err);
    if (rc < 0)
        return rc;
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = add_alias(r, n);
    return rc;
}

static int read_suffix(const struct reader *r)
{
    struct ks_trait *t = r->t;
    char *hole;
    size_t n_before;
    int rc = ks_grid_field_text(r->doc, r->obj, "suffix", "", t->suffix, sizeof t->suffix, r->err);

    if (rc < 0 || !t->suffix[0])
        return rc;
    hole = strstr(t->suffix, "{}");
    n_before = hole ? (size_t)(hole - t->suffix) : strlen(t->suffix);
    if (n_before == 0 || strspn(t->suffix, KS_ANY_WORD) != n_before ||
        (hole && hole[2 + strspn(hole + 2, KS_ANY_WORD)]))
        return ks_node_fail(r->doc, ks_node_at(r->obj, "suffix"), r->err,
                            "'%s' must be letters, digits or '_', then {}", t->suffix);
    if (!hole && t->n_values > 2)
        return ks_node_fail(r->doc, ks_node_at(r->obj, "suffix"), r->err,
                            "'%s' has no {}, so it cannot distinguish the %u values", t->suffix,
                            t->n_values);
    return 0;
}

static int add_flags(const struct reader *r, const struct ks_node *n, uint32_t i_value)
{
    struct ks_family *f = r->f;
    const char *text;
    int rc = ks_node_str(r->doc, n, &text, r->err);
    size_t size;

    if (rc < 0)
        return rc;
    size = strlen(text) + 1;
    if (f->n_flags + size > sizeof f->flags)
        return ks_node_fail(r->doc, n, r->err, "all flags together exceed %zu characters",
                            sizeof f->flags - 1);
    memcpy(f->flags + f->n_flags, text, size);
    r->t->flags_at[i_value] = (uint16_t)f->n_flags;
    f->n_flags += (uint32_t)size;
    return 0;
}

static int read_flags(const struct reader *r)
{
    const struct ks_node *list, *n;
    int rc;

    if (r->t->role != KS_ROLE_FLAGS)
        return ks_node_at(r->obj, "flags")
                   ? ks_node_fail(r->doc, ks_node_at(r->obj, "flags"), r->err,
                                  "only a trait of role 'flags' has flags")
                   : 0;
    rc = ks_grid_field_node(r->doc, r->obj, "flags", KS_JSON_ARRAY, &list, r->err);
    if (rc == 0 && ks_node_size(list) != r->t->n_values)
        rc = ks_node_fail(r->doc, list, r->err, "expected %u strings, one per value",
                          r->t->n_values);
    if (rc < 0)
        return rc;
    n = ks_node_first(list);
    for (uint32_t v = 0; rc == 0 && n; v++, n = ks_node_next(n))
        rc = add_flags(r, n, v);
    return rc;
}

static int check_role(const struct reader *r)
{
    static const char *const numerics[] = { "fp32", "truncating", "v2_only" };
    const struct ks_trait *t = r->t;
    const struct ks_node *n = ks_node_at(r->obj, "role");

    if (t->role == KS_ROLE_COMPILER || t->role == KS_ROLE_NUMERICS || t->role == KS_ROLE_THREADS) {
        const bool has_names = t->role != KS_ROLE_THREADS;

        if ((t->kind == KS_TRAIT_NAME) != has_names)
            return ks_node_fail(r->doc, n, r->err, "its values must be %s",
                                has_names ? "names (kind 'name')" : "integers (kind 'int')");
        if (ks_family_role(r->f, t->role) >= 0)
            return ks_node_fail(r->doc, n, r->err, "trait '%s' already has this role",
                                r->f->traits[ks_family_role(r->f, t->role)].name);
    }
    for (uint32_t v = 0; t->role == KS_ROLE_THREADS && v < t->n_values; v++)
        if (t->value[v] < 1 || t->value[v] > KS_THREADS_MAX)
            return ks_node_fail(r->doc, n, r->err, "its values must be 1 to %d", KS_THREADS_MAX);
    for (uint32_t v = 0; t->role == KS_ROLE_NUMERICS && v < t->n_values; v++) {
        int64_t k = t->value[v];

        if (k < 0 || k > KS_NUMERICS_V2_ONLY || strcmp(t->text[v], numerics[k]) != 0)
            return ks_node_fail(
                r->doc, n, r->err,
                "its values must be from \"fp32\": 0, \"truncating\": 1, \"v2_only\": 2");
    }
    return 0;
}

static int read_role(const struct reader *r)
{
    const struct ks_node *n;
    int choice = 0;
    int rc = 0;

    r->t->role = KS_ROLE_NONE;
    if (!ks_node_at(r->obj, "role"))
        return 0;
    rc = ks_grid_field_node(r->doc, r->obj, "role", KS_JSON_STRING, &n, r->err);
    if (rc == 0)
        rc = ks_grid_field_choice(r->doc, n, ks_trait_role_names + 1, &choice, r->err);
    if (rc < 0)
        return rc;
    r->t->role = (enum ks_trait_role)(choice + 1); /* one that says something */
    return check_role(r);
}

static int read_absent(const struct reader *r)
{
    static const char *const meanings[] = { "default", "all", NULL };
    int choice = 0;
    int rc = 0;

    if (ks_node_at(r->obj, "absent"))
        rc = ks_grid_field_choice(r->doc, ks_node_at(r->obj, "absent"), meanings, &choice, r->err);
    r->t->is_all_when_absent = choice == 1;
    return rc;
}

static int read_names(const struct reader *r)
{
    static const char *const keys[] = { "name",   "key",     "macro",  "help",       "kind",
                                        "values", "default", "suffix", "attributes", "aliases",
                                        "role",   "flags",   "absent", NULL };
    struct ks_trait *t = r->t;
    int rc = ks_node_only(r->doc, r->obj, keys, r->err);

    if (rc == 0)
        rc = ks_grid_field_word(r->doc, r->obj, "name", KS_ANY_WORD, t->name, sizeof t->name,
                                r->err);
    if (rc == 0)
        rc = check_new_name(r, ks_node_at(r->obj, "name"), t->name);
    if (rc == 0 && ks_node_at(r->obj, "key"))
        rc = ks_grid_field_word(r->doc, r->obj, "key", KS_ANY_WORD, t->key, sizeof t->key, r->err);
    if (rc == 0 && t->key[0])
        rc = check_new_name(r, ks_node_at(r->obj, "key"), t->key);
    if (rc == 0 && ks_node_at(r->obj, "macro"))
        rc = ks_grid_field_word(r->doc, r->obj, "macro", KS_ANY_WORD, t->macro, sizeof t->macro,
                                r->err);
    for (uint32_t i = 0; rc == 0 && t->macro[0] && i < r->f->n_traits; i++)
        if (strcmp(r->f->traits[i].macro, t->macro) == 0)
            rc = ks_node_fail(r->doc, ks_node_at(r->obj, "macro"), r->err,
                              "macro '%s' is already used by trait '%s'", t->macro,
                              r->f->traits[i].name);
    return rc < 0
               ? rc
               : ks_grid_field_text(r->doc, r->obj, "help", NULL, t->help, sizeof t->help, r->err);
}

static int read_trait(struct reader *r)
{
    static const char *const kinds[] = { "int", "name", "bool", NULL };
    const struct ks_node *n = NULL;
    int kind = 0;
    int rc = read_names(r);

    if (rc == 0)
        rc = ks_grid_field_node(r->doc, r->obj, "kind", KS_JSON_STRING, &n, r->err);
    if (rc == 0)
        rc = ks_grid_field_choice(r->doc, n, kinds, &kind, r->err);
    r->t->kind = kind == 1 ? KS_TRAIT_NAME : KS_TRAIT_INT;
    r->t->is_bool = kind == 2;
    if (rc == 0)
        rc = read_attributes(r);
    if (rc == 0)
        rc = read_values(r);
    if (rc == 0)
        rc = read_aliases(r);
    if (rc == 0)
        rc = read_default(r);
    if (rc == 0)
        rc = read_suffix(r);
    if (rc == 0)
        rc = read_role(r);
    if (rc == 0)
        rc = read_flags(r);
    return rc < 0 ? rc : read_absent(r);
}

int ks_family_read_traits(const struct ks_json *doc, const struct ks_node *root,
                          struct ks_family *f, struct ks_err *err)
{
    const struct ks_node *list;
    int rc = ks_grid_field_node(doc, root, "traits", KS_JSON_ARRAY, &list, err);

    if (rc < 0)
        return rc;
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        struct reader r = {
            .doc = doc, .obj = n, .f = f, .i_attribute = f->n_attributes, .err = err
        };

        if (f->n_traits == KS_TRAITS_MAX)
            return ks_node_fail(doc, n, err, "more than %d traits", KS_TRAITS_MAX);
        r.t = &f->traits[f->n_traits];
        rc = read_trait(&r);
        f->n_traits++;
    }
    return rc;
}
