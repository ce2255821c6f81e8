/* SPDX-License-Identifier: MIT */
/* family_expr.c - parses expressions whose names and values are those of a kernel family */
#include "grid/family_expr.h"

#include "grid/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 2 * KS_TRAITS_MAX + KS_ATTRIBUTES_MAX };

/* What an expression is checked against. */
struct words {
    const struct ks_family *f;
    struct ks_instance first;         /* any values: only kinds are asked for */
    const char *name[MOST_NAMES + 1]; /* NULL-terminated, for "did you mean" */
    const char **value; /* [KS_TRAIT_VALUES_MAX + 1] of the name that was asked for last */
};

/* A trait by its name or its key. */
static int find_trait(const struct ks_family *f, const char *name)
{
    for (uint32_t t = 0; t < f->n_traits; t++)
        if (strcmp(f->traits[t].name, name) == 0 || strcmp(f->traits[t].key, name) == 0)
            return (int)t;
    return -1;
}

static const struct ks_attribute *find_attribute(const struct ks_family *f, const char *name)
{
    for (uint32_t a = 0; a < f->n_attributes; a++)
        if (strcmp(f->attributes[a].name, name) == 0)
            return &f->attributes[a];
    return NULL;
}

int ks_family_name_trait(const struct ks_family *f, const char *name)
{
    int t = find_trait(f, name);
    const struct ks_attribute *a = t < 0 ? find_attribute(f, name) : NULL;

    return a ? (int)a->i_trait : t;
}

bool ks_family_name(const void *scope, const char *name, struct ks_expr_value *out)
{
    const struct ks_family_scope *s = scope;
    int t = find_trait(s->f, name);
    const struct ks_attribute *a = t < 0 ? find_attribute(s->f, name) : NULL;
    enum ks_trait_kind kind;
    uint32_t v;

    if (t < 0 && !a)
        return false;
    kind = a ? a->kind : s->f->traits[t].kind;
    v = s->i->value[a ? a->i_trait : (uint32_t)t];
    *out =
        (struct ks_expr_value){ .kind = kind == KS_TRAIT_NAME ? KS_EXPR_IS_TEXT : KS_EXPR_IS_INT };
    if (kind == KS_TRAIT_INT)
        out->whole = a ? a->value[v] : s->f->traits[t].value[v];
    else
        out->text = a ? a->text[v] : s->f->traits[t].text[v];
    if (!a && s->f->traits[t].is_real)
        *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_REAL, .real = strtod(out->text, NULL) };
    return true;
}

static bool name_of_words(const void *ctx, const char *name, struct ks_expr_value *out)
{
    const struct words *w = ctx;
    struct ks_family_scope scope = { w->f, &w->first };

    return ks_family_name(&scope, name, out);
}

static bool list_values(const char (*texts)[KS_VALUE_TEXT], uint32_t n, const char *text,
                        const char **out)
{
    bool is_among = false;

    for (uint32_t i = 0; i < n; i++) {
        out[i] = texts[i];
        is_among |= strcmp(texts[i], text) == 0;
    }
    out[n] = NULL;
    return is_among;
}

/* Aliases are no values here: they never compare equal. */
static bool value_of_words(const void *ctx, const char *name, const char *text,
                           const char *const **known_out)
{
    const struct words *w = ctx;
    int t = find_trait(w->f, name);
    const struct ks_attribute *a = t < 0 ? find_attribute(w->f, name) : NULL;
    uint32_t i_trait = a ? a->i_trait : (uint32_t)t;

    if (t < 0 && !a)
        return true;
    *known_out = w->value;
    return list_values(a ? a->text : w->f->traits[i_trait].text, w->f->traits[i_trait].n_values,
                       text, w->value);
}

static void list_names(const struct ks_family *f, const char **out)
{
    size_t n = 0;

    for (uint32_t t = 0; t < f->n_traits; t++) {
        out[n++] = f->traits[t].name;
        if (f->traits[t].key[0])
            out[n++] = f->traits[t].key;
    }
    for (uint32_t a = 0; a < f->n_attributes; a++)
        out[n++] = f->attributes[a].name;
    out[n] = NULL;
}

static int parse_checked(const struct ks_family *f, const char *text,
                         const struct ks_expr_place *place, ks_expr_value_fn value,
                         struct ks_expr **e_out, struct ks_err *err)
{
    const char *values[KS_TRAIT_VALUES_MAX + 1];
    struct words w = { .f = f, .value = values };
    struct ks_expr *e;
    int rc = ks_expr_parse_at(text, place, &e, err);

    if (rc < 0)
        return rc;
    list_names(f, w.name);
    rc = ks_expr_check(e, name_of_words, value, w.name, &w, err);
    if (rc < 0) {
        ks_expr_free(e);
        return rc;
    }
    *e_out = e;
    return 0;
}

int ks_family_expr_at(const struct ks_family *f, const char *text,
                      const struct ks_expr_place *place, struct ks_expr **e_out, struct ks_err *err)
{
    return parse_checked(f, text, place, value_of_words, e_out, err);
}

int ks_family_expr(const struct ks_family *f, const char *text, struct ks_expr **e_out,
                   struct ks_err *err)
{
    const struct ks_expr_place nowhere = { NULL, 1, 1 };

    return parse_checked(f, text, &nowhere, value_of_words, e_out, err);
}

int ks_family_condition(const struct ks_family *f, const char *text, struct ks_expr **e_out,
                        struct ks_err *err)
{
    const struct ks_expr_place nowhere = { NULL, 1, 1 };

    return parse_checked(f, text, &nowhere, NULL, e_out, err);
}

int ks_family_rule(const struct ks_family *f, uint32_t i_rule, struct ks_expr **e_out,
                   struct ks_err *err)
{
    bool is_ours = strcmp(f->op, "none") != 0;

    return (is_ours ? ks_family_expr : ks_family_condition)(f, f->rules[i_rule].when, e_out, err);
}

/* The node as the text that a value has: 14, "packed"; true and false are the numbers 1 and 0. */
static int value_text(const struct ks_json *doc, const struct ks_node *n, const struct ks_trait *t,
                      char out[64], struct ks_err *err)
{
    const char *name;
    int64_t v = 0;
    bool is_true = false;
    int rc;

    if (t->kind == KS_TRAIT_NAME) {
        rc = ks_node_str(doc, n, &name, err);
        if (rc == 0)
            snprintf(out, 64, "%.63s", name);
        return rc;
    }
    if (n && ks_node_kind(n) == KS_JSON_BOOL) {
        rc = ks_node_bool(doc, n, &is_true, err);
        v = is_true;
    } else {
        rc = ks_node_int(doc, n, &v, err);
    }
    if (rc == 0)
        snprintf(out, 64, "%lld", (long long)v);
    return rc;
}

int ks_trait_value_node(const struct ks_json *doc, const struct ks_node *n,
                        const struct ks_trait *t, uint32_t *i_out, struct ks_err *err)
{
    const char *known[KS_TRAIT_VALUES_MAX + 1];
    char text[64], hint[64];
    int i, rc = value_text(doc, n, t, text, err);

    if (rc < 0)
        return rc;
    i = ks_trait_value(t, text);
    if (i < 0) {
        list_values(t->text, t->n_values, text, known);
        ks_grid_field_hint(text, known, hint, sizeof hint);
        return ks_node_fail(doc, n, err, "'%s' is not a value of trait '%s'%s", text, t->name,
                            hint);
    }
    *i_out = (uint32_t)i;
    return 0;
}
