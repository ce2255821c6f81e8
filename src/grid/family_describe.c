/* SPDX-License-Identifier: MIT */
/* family_describe.c - prints a kernel family as Markdown: domain, traits, attributes, rules */
#include "grid/family.h"
#include "op/op.h"

#include <string.h>

static const char *const role_texts[] = { [KS_ROLE_NONE] = "",
                                          [KS_ROLE_COMPILER] = "the compiler",
                                          [KS_ROLE_FLAGS] = "flags",
                                          [KS_ROLE_ARGUMENT] = "run-time argument",
                                          [KS_ROLE_NUMERICS] = "numerics",
                                          [KS_ROLE_THREADS] = "threads" };
_Static_assert(sizeof role_texts / sizeof role_texts[0] == KS_N_ROLES, "a text for each role");

static const char *value_text(const struct ks_trait *t, uint32_t v)
{
    if (t->is_bool)
        return t->value[v] ? "true" : "false";
    return t->text[v];
}

static void put_values(const struct ks_family *f, const struct ks_trait *t, struct ks_buf *b)
{
    for (uint32_t v = 0; v < t->n_values; v++) {
        const char *flags = f->flags + t->flags_at[v];

        ks_buf_printf(b, "%s%s", v ? ", " : "", value_text(t, v));
        if (t->role == KS_ROLE_FLAGS && flags[0])
            ks_buf_printf(b, " (`%s`)", flags);
    }
}

/* Where the value shows: a suffix, or its place in the pattern. */
static void put_place(const struct ks_trait *t, struct ks_buf *b)
{
    if (t->suffix[0])
        ks_buf_printf(b, "`%s`", t->suffix);
    else if (t->n_values > 1)
        ks_buf_printf(b, "`{%s}`", t->name);
}

static void put_trait(const struct ks_family *f, const struct ks_trait *t, struct ks_buf *b)
{
    ks_buf_printf(b, "| `%s` | ", t->name);
    put_values(f, t, b);
    ks_buf_printf(b, " | %s | ", value_text(t, t->i_default));
    put_place(t, b);
    ks_buf_printf(b, " | %s%s%s%s%s | %s |\n", t->macro[0] ? "`" : "", t->macro,
                  t->macro[0] ? "`" : "", t->macro[0] && t->role ? ", " : "", role_texts[t->role],
                  t->help);
}

/* One row per value of a trait with attributes. */
static void put_attributes(const struct ks_family *f, uint32_t t, struct ks_buf *b)
{
    uint32_t n = 0;

    for (uint32_t a = 0; a < f->n_attributes; a++)
        if (f->attributes[a].i_trait == t)
            ks_buf_printf(b, "%s `%s` |", n++ ? "" : "\n| value |", f->attributes[a].name);
    if (n == 0)
        return;
    ks_buf_printf(b, "\n|---|");
    for (uint32_t a = 0; a < n; a++)
        ks_buf_printf(b, "---|");
    for (uint32_t v = 0; v < f->traits[t].n_values; v++) {
        ks_buf_printf(b, "\n| %s |", value_text(&f->traits[t], v));
        for (uint32_t a = 0; a < f->n_attributes; a++)
            if (f->attributes[a].i_trait == t)
                ks_buf_printf(b, " %s |", f->attributes[a].text[v]);
    }
    ks_buf_printf(b, "\n");
}

static void put_domain(const struct ks_family *f, struct ks_buf *b)
{
    static const char *const names[] = { "direction", "dtype", "layout", "ndim" };
    const char *const fixed[] = { ks_direction_name(f->direction), ks_dtype_name(f->dtype),
                                  ks_layout_name(f->layout), NULL };

    ks_buf_printf(b, "Operator %s", f->op);
    for (int k = 0; k < 4; k++) {
        if (f->domain_trait[k])
            continue;
        if (fixed[k])
            ks_buf_printf(b, ", %s %s", names[k], fixed[k]);
        else if (f->ndim)
            ks_buf_printf(b, ", ndim %u", f->ndim);
        else
            ks_buf_printf(b, ", any ndim");
    }
    ks_buf_printf(b, "; backend %s; %s\n", f->backend,
                  f->source[0] ? "compiled here." : "no kernel of its own: a plug-in supplies it.");
}

static void put_rules(const struct ks_family *f, struct ks_buf *b)
{
    if (f->n_rules)
        ks_buf_printf(b, "\nCombinations that do not exist:\n\n");
    for (uint32_t i = 0; i < f->n_rules; i++)
        ks_buf_printf(b, "- `%s`: %s\n", f->rules[i].when, f->rules[i].why);
    if (f->n_needs || f->n_inabilities)
        ks_buf_printf(b, "\nCombinations that not every device can run:\n\n");
    for (uint32_t i = 0; i < f->n_needs; i++)
        ks_buf_printf(b, "- `%s`: needs %s\n", f->needs[i].when, f->needs[i].needs);
    for (uint32_t i = 0; i < f->n_inabilities; i++)
        ks_buf_printf(b, "- %s%s`%s`: %s\n", f->inabilities[i].arch,
                      f->inabilities[i].arch[0] ? ": " : "", f->inabilities[i].when,
                      f->inabilities[i].why);
}

void ks_family_describe(const struct ks_family *f, struct ks_buf *markdown_out)
{
    struct ks_buf *b = markdown_out;

    size_t n_why = strlen(f->why);

    ks_buf_printf(b, "## %s\n\n", f->name);
    if (n_why)
        ks_buf_printf(b, "%s%s\n\n", f->why, f->why[n_why - 1] == '.' ? "" : ".");
    put_domain(f, b);
    ks_buf_printf(b, "\nNames: `%s`", f->name_pattern);
    for (uint32_t i = 0; i < f->n_name_aliases; i++)
        ks_buf_printf(b, ", also read: `%s`", f->name_aliases[i]);
    ks_buf_printf(b, "\n\n| trait | values | default | in the name | compiled as | meaning |\n"
                     "|---|---|---|---|---|---|\n");
    for (uint32_t t = 0; t < f->n_traits; t++)
        put_trait(f, &f->traits[t], b);
    for (uint32_t t = 0; t < f->n_traits; t++)
        put_attributes(f, t, b);
    put_rules(f, b);
}
