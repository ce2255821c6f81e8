/* SPDX-License-Identifier: MIT */
/* family_rules.c - reads a family's rules, and what keeps instances from running on some devices */
#include "grid/expr.h"
#include "grid/family_expr.h"
#include "grid/family_read.h"
#include "grid/fields.h"

#include <stdio.h>
#include <string.h>

#define WORDS KS_ANY_WORD "-*"

/* The expression at obj.when; every name and value in it is the family's. */
static int read_when(const struct ks_json *doc, const struct ks_node *obj,
                     const struct ks_family *f, char when[KS_EXPR_FIELD], struct ks_err *err)
{
    char where[256];
    struct ks_expr *e = NULL;
    int rc = ks_grid_field_text(doc, obj, "when", NULL, when, KS_EXPR_FIELD, err);

    if (rc < 0)
        return rc;
    rc = ks_family_expr(f, when, &e, err);
    ks_expr_free(e);
    if (rc == 0)
        return 0;
    ks_node_where(doc, ks_node_at(obj, "when"), where, sizeof where);
    return ks_err_context(err, rc, "%s", where);
}

static int read_rule(const struct ks_json *doc, const struct ks_node *n, struct ks_family *f,
                     struct ks_err *err)
{
    static const char *const keys[] = { "when", "why", NULL };
    struct ks_rule *r = &f->rules[f->n_rules];
    int rc;

    if (f->n_rules == KS_RULES_MAX)
        return ks_node_fail(doc, n, err, "more than %d rules", KS_RULES_MAX);
    rc = ks_node_only(doc, n, keys, err);
    if (rc == 0)
        rc = ks_grid_field_text(doc, n, "why", NULL, r->why, sizeof r->why, err);
    if (rc == 0)
        rc = read_when(doc, n, f, r->when, err);
    f->n_rules++;
    return rc;
}

static int read_need(const struct ks_json *doc, const struct ks_node *n, struct ks_family *f,
                     struct ks_err *err)
{
    static const char *const keys[] = { "when", "needs", NULL };
    struct ks_isa_need *r = &f->needs[f->n_needs];
    int rc;

    if (f->n_needs == KS_NEEDS_MAX)
        return ks_node_fail(doc, n, err, "more than %d needs", KS_NEEDS_MAX);
    rc = ks_node_only(doc, n, keys, err);
    if (rc == 0)
        rc = ks_grid_field_word(doc, n, "needs", KS_WORD, r->needs, sizeof r->needs, err);
    if (rc == 0)
        rc = read_when(doc, n, f, r->when, err);
    f->n_needs++;
    return rc;
}

/* A name or a list of names, as one text with blanks between them. */
static int read_archs(const struct ks_json *doc, const struct ks_node *n, char *out, size_t cap,
                      struct ks_err *err)
{
    const struct ks_node *item = ks_node_kind(n) == KS_JSON_ARRAY ? ks_node_first(n) : n;
    size_t used = 0;

    if (!item)
        return ks_node_fail(doc, n, err, "expected at least one name");
    for (; item; item = item == n ? NULL : ks_node_next(item)) {
        const char *text;
        int rc = ks_node_str(doc, item, &text, err);

        if (rc < 0)
            return rc;
        if (!text[0] || text[strspn(text, WORDS)] || strcspn(text, "*") + 1 < strlen(text))
            return ks_node_fail(doc, item, err,
                                "'%s' is not an arch (gfx942, or gfx9* for several)", text);
        if (used + strlen(text) + 2 > cap)
            return ks_node_fail(doc, item, err, "all names together exceed %zu characters",
                                cap - 1);
        used += (size_t)snprintf(out + used, cap - used, "%s%s", used ? " " : "", text);
    }
    return 0;
}

static int read_inability(const struct ks_json *doc, const struct ks_node *n, struct ks_family *f,
                          struct ks_err *err)
{
    static const char *const keys[] = { "when", "arch", "why", NULL };
    struct ks_inability *r = &f->inabilities[f->n_inabilities];
    int rc;

    if (f->n_inabilities == KS_NEEDS_MAX)
        return ks_node_fail(doc, n, err, "more than %d entries", KS_NEEDS_MAX);
    rc = ks_node_only(doc, n, keys, err);
    if (rc == 0 && ks_node_at(n, "arch"))
        rc = read_archs(doc, ks_node_at(n, "arch"), r->arch, sizeof r->arch, err);
    if (rc == 0)
        rc = ks_grid_field_text(doc, n, "why", NULL, r->why, sizeof r->why, err);
    if (rc == 0)
        rc = read_when(doc, n, f, r->when, err);
    f->n_inabilities++;
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
    if (rc < 0)
        return rc;
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = read(doc, n, f, err);
    return rc;
}

int ks_family_read_rules(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                         struct ks_err *err)
{
    int rc = read_list(doc, root, "rules", read_rule, f, err);

    if (rc == 0)
        rc = read_list(doc, root, "needs", read_need, f, err);
    if (rc == 0 && ks_node_at(root, "archs"))
        rc = read_archs(doc, ks_node_at(root, "archs"), f->archs, sizeof f->archs, err);
    return rc < 0 ? rc : read_list(doc, root, "unsupported", read_inability, f, err);
}
