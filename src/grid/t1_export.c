/* SPDX-License-Identifier: MIT */
/* t1_export.c - writes a kernel set as a T1 file: values, conditions, what its origin said */
#include "base/file.h"
#include "grid/family_expr.h"
#include "grid/t1.h"
#include "grid/t1_space.h"

#include <string.h>

/* The T1 file that the family was read from, or NULL. */
struct origin {
    struct ks_json *doc;
    const struct ks_node *root, *parameters;
};

static int open_origin(const struct ks_family *f, struct origin *o, struct ks_err *err)
{
    int rc;

    if (strcmp(f->op, "none") != 0)
        return 0;
    rc = ks_json_open(f->path, &o->doc, err);
    if (rc < 0)
        return rc;
    o->root = ks_json_root(o->doc);
    o->parameters = ks_node_at(ks_node_at(o->root, "ConfigurationSpace"), "TuningParameters");
    return 0;
}

static const struct ks_node *parameter_of(const struct origin *o, const char *name)
{
    for (const struct ks_node *n = ks_node_first(o->parameters); n; n = ks_node_next(n)) {
        const char *text = NULL;

        if (ks_node_str(o->doc, ks_node_at(n, "Name"), &text, NULL) == 0 && strcmp(text, name) == 0)
            return n;
    }
    return NULL;
}

static enum ks_t1_type type_of(const struct origin *o, const struct ks_node *parameter,
                               const struct ks_trait *t)
{
    const char *text = NULL;

    if (parameter && ks_node_str(o->doc, ks_node_at(parameter, "Type"), &text, NULL) == 0 &&
        ks_t1_type_from(text) >= 0)
        return (enum ks_t1_type)ks_t1_type_from(text);
    if (t->is_bool)
        return KS_T1_BOOL;
    if (t->is_real)
        return KS_T1_FLOAT;
    return t->kind == KS_TRAIT_NAME ? KS_T1_STRING : KS_T1_INT;
}

static void put_values(const struct ks_t1_space *s, uint32_t t, enum ks_t1_type type,
                       struct ks_buf *out)
{
    const struct ks_trait *trait = &s->f->traits[t];

    ks_buf_printf(out, "[");
    for (uint32_t k = 0; k < s->n[t]; k++) {
        ks_buf_printf(out, k ? ", " : "");
        if (type == KS_T1_BOOL)
            ks_buf_printf(out, trait->value[s->value[t][k]] ? "True" : "False");
        else
            ks_t1_literal(trait, s->value[t][k], out);
    }
    ks_buf_printf(out, "]");
}

/* What the origin says of the parameter besides is kept. */
static void put_parameter(const struct ks_t1_space *s, const struct origin *o, uint32_t t,
                          struct ks_jw *w)
{
    const struct ks_trait *trait = &s->f->traits[t];
    const struct ks_node *from = parameter_of(o, trait->name);
    enum ks_t1_type type = type_of(o, from, trait);
    struct ks_buf values;

    ks_buf_init(&values);
    put_values(s, t, type, &values);
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "Name", trait->name);
    ks_jw_str(w, "Type", ks_t1_type_name(type));
    ks_jw_str(w, "Values", ks_buf_text(&values));
    for (const struct ks_node *n = ks_node_first(from); n; n = ks_node_next(n)) {
        const char *key = ks_node_key(n);

        if (strcmp(key, "Name") != 0 && strcmp(key, "Type") != 0 && strcmp(key, "Values") != 0)
            ks_jw_node(w, key, n);
    }
    ks_jw_close(w, '}');
    w->to->failed |= values.failed;
    ks_buf_release(&values);
}

/* Each name that the expression needs, once. */
static int put_names(const struct ks_t1_space *s, const char *text, struct ks_jw *w,
                     struct ks_err *err)
{
    bool is_put[KS_TRAITS_MAX] = { false };
    struct ks_expr *e = NULL;
    const char *name;
    int32_t at = 0;
    int rc = ks_family_condition(s->f, text, &e, err);

    ks_jw_open(w, "Parameters", '[');
    while (rc == 0 && (name = ks_expr_next_name(e, &at)) != NULL) {
        int t = ks_family_name_trait(s->f, name);

        if (t >= 0 && !is_put[t])
            ks_jw_str(w, NULL, s->f->traits[t].name);
        is_put[t < 0 ? 0 : t] |= t >= 0;
    }
    ks_jw_close(w, ']');
    ks_expr_free(e);
    return rc;
}

static int put_space(const struct ks_t1_space *s, const struct origin *o, struct ks_jw *w,
                     struct ks_err *err)
{
    const char *text = ks_buf_text(&s->conditions);
    int rc = 0;

    ks_jw_open(w, "ConfigurationSpace", '{');
    ks_jw_open(w, "TuningParameters", '[');
    for (uint32_t t = 0; t < s->f->n_traits; t++)
        put_parameter(s, o, t, w);
    ks_jw_close(w, ']');
    ks_jw_open(w, "Conditions", '[');
    for (uint32_t k = 0; rc == 0 && k < s->n_conditions; k++, text += strlen(text) + 1) {
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "Expression", text);
        rc = put_names(s, text, w, err);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_jw_close(w, '}');
    return rc;
}

static void put_size(const char *key, struct ks_jw *w)
{
    ks_jw_open(w, key, '{');
    ks_jw_str(w, "X", "1");
    ks_jw_str(w, "Y", "1");
    ks_jw_str(w, "Z", "1");
    ks_jw_close(w, '}');
}

/* Ours launches its kernels itself: the sizes say nothing. */
static void put_kernel(const struct ks_family *f, struct ks_jw *w)
{
    const struct ks_backend *b = ks_family_backend(f);

    ks_jw_open(w, "KernelSpecification", '{');
    ks_jw_str(w, "Language", b ? b->language : "C");
    ks_jw_str(w, "KernelName", f->name);
    ks_jw_str(w, "KernelFile", ks_path_base(f->source));
    put_size("GlobalSize", w);
    put_size("LocalSize", w);
    ks_jw_close(w, '}');
}

static int put_document(const struct ks_t1_space *s, const struct origin *o, struct ks_jw *w,
                        struct ks_err *err)
{
    int rc = 0;

    ks_jw_open(w, NULL, '{');
    if (!o->root) {
        ks_jw_open(w, "General", '{');
        ks_jw_int(w, "FormatVersion", 1);
        ks_jw_close(w, '}');
        rc = put_space(s, o, w, err);
        put_kernel(s->f, w);
    }
    for (const struct ks_node *n = ks_node_first(o->root); rc == 0 && n; n = ks_node_next(n)) {
        if (strcmp(ks_node_key(n), "ConfigurationSpace") == 0)
            rc = put_space(s, o, w, err);
        else
            ks_jw_node(w, ks_node_key(n), n);
    }
    ks_jw_close(w, '}');
    ks_buf_printf(w->to, "\n");
    if (rc == 0 && !ks_buf_ok(w->to))
        rc = ks_fail(err, KS_ENOMEM, "no memory for a T1 file");
    return rc;
}

int ks_t1_export(const struct ks_kernel_set *set, const char *const *filters,
                 struct ks_buf *json_out, struct ks_err *err)
{
    struct ks_t1_space space = { 0 };
    struct origin origin = { 0 };
    struct ks_jw w;
    int rc = ks_t1_space_init(&space, set, filters, err);

    if (rc == 0)
        rc = open_origin(space.f, &origin, err);
    ks_jw_init(&w, json_out, true);
    if (rc == 0)
        rc = put_document(&space, &origin, &w, err);
    ks_json_close(origin.doc);
    ks_t1_space_release(&space);
    return rc;
}
