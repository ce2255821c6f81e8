/* SPDX-License-Identifier: MIT */
#include "grid/family_expr.h"

#include "grid/fields.h"

#include <stdio.h>
#include <string.h>

/* Known words, NULL-terminated, for "did you mean". */
struct words {
    const struct ks_family *f;
    struct ks_instance first; /* any values: only kinds are asked for */
    const char *trait[KS_TRAITS_MAX + 1];
    const char *value[KS_TRAITS_MAX][KS_TRAIT_VALUES_MAX + 1];
};

bool ks_family_name(const void *scope, const char *name, int64_t *value_out, const char **text_out)
{
    const struct ks_family_scope *s = scope;
    int t = ks_family_trait(s->f, name);

    if (t < 0)
        return false;
    *value_out = s->f->traits[t].value[s->i->value[t]];
    *text_out = s->f->traits[t].kind == KS_TRAIT_NAME ? s->f->traits[t].text[s->i->value[t]] : NULL;
    return true;
}

static bool name_of_words(const void *ctx, const char *name, int64_t *value_out,
                          const char **text_out)
{
    const struct words *w = ctx;
    struct ks_family_scope scope = { w->f, &w->first };

    return ks_family_name(&scope, name, value_out, text_out);
}

static bool value_of_words(const void *ctx, const char *name, const char *text,
                           const char *const **known_out)
{
    const struct words *w = ctx;
    int t = ks_family_trait(w->f, name);

    if (t < 0)
        return true;
    *known_out = w->value[t];
    return ks_trait_value(&w->f->traits[t], text) >= 0;
}

static void list_values(const struct ks_trait *t, const char **out)
{
    for (uint32_t i = 0; i < t->n_values; i++)
        out[i] = t->text[i];
    out[t->n_values] = NULL;
}

int ks_family_expr(const struct ks_family *f, const char *text, struct ks_expr **e_out,
                   struct ks_err *err)
{
    struct words w = { .f = f };
    struct ks_expr *e;
    int rc = ks_expr_parse(text, &e, err);

    if (rc < 0)
        return rc;
    for (uint32_t t = 0; t < f->n_traits; t++) {
        w.trait[t] = f->traits[t].name;
        list_values(&f->traits[t], w.value[t]);
    }
    rc = ks_expr_check(e, name_of_words, value_of_words, w.trait, &w, err);
    if (rc < 0) {
        ks_expr_free(e);
        return rc;
    }
    *e_out = e;
    return 0;
}

int ks_trait_value_node(const struct ks_json *doc, const struct ks_node *n,
                        const struct ks_trait *t, uint32_t *i_out, struct ks_err *err)
{
    const char *known[KS_TRAIT_VALUES_MAX + 1];
    const char *name = NULL;
    char text[64], hint[64];
    int64_t v = 0;
    int i;
    int rc =
        t->kind == KS_TRAIT_NAME ? ks_node_str(doc, n, &name, err) : ks_node_int(doc, n, &v, err);

    if (rc < 0)
        return rc;
    if (name)
        snprintf(text, sizeof text, "%.63s", name);
    else
        snprintf(text, sizeof text, "%lld", (long long)v);
    i = ks_trait_value(t, text);
    if (i < 0) {
        list_values(t, known);
        ks_grid_field_hint(text, known, hint, sizeof hint);
        return ks_node_fail(doc, n, err, "'%s' is no value of trait '%s'%s", text, t->name, hint);
    }
    *i_out = (uint32_t)i;
    return 0;
}
