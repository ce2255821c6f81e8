/* SPDX-License-Identifier: MIT */
/* t1_import.c - reads a T1 file as a kernel family: parameters are traits, conditions rules */
#include "grid/expr.h"
#include "grid/family_expr.h"
#include "grid/family_store.h"
#include "grid/fields.h"
#include "grid/find.h"
#include "grid/kernel_set_impl.h"
#include "grid/name_parts.h"
#include "grid/t1.h"
#include "grid/t1_space.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = { "int", "uint", "float", "bool", "string", NULL };

int ks_t1_type_from(const char *name)
{
    for (int i = 0; type_names[i]; i++)
        if (strcmp(type_names[i], name) == 0)
            return i;
    return -1;
}

const char *ks_t1_type_name(enum ks_t1_type type)
{
    return type_names[type];
}

bool ks_t1_is(const struct ks_node *root)
{
    return ks_node_at(root, "ConfigurationSpace") != NULL;
}

/* Puts "file:line: key" before an error that names a column of the text at `n`. */
static int at_node(const struct ks_json *doc, const struct ks_node *n, int rc, struct ks_err *err)
{
    char where[256];

    if (rc == 0)
        return 0;
    ks_node_where(doc, n, where, sizeof where);
    return ks_err_context(err, rc, "%s", where);
}

/* ---- parameters ---- */

/* The value as the trait's text; what is wrong with it, or NULL. */
static const char *value_text(enum ks_t1_type type, const struct ks_expr_value *v,
                              char out[KS_VALUE_TEXT])
{
    bool is_text = v->kind == KS_EXPR_IS_TEXT, is_real = v->kind == KS_EXPR_IS_REAL;
    bool is_truth = !is_text && v->text;
    char real[32];

    if (is_text != (type == KS_T1_STRING) || (is_real && type != KS_T1_FLOAT) ||
        (is_truth && type != KS_T1_BOOL))
        return "a value is not of the parameter's type";
    if (type == KS_T1_UINT && v->whole < 0)
        return "a uint must not be negative";
    if (type == KS_T1_BOOL && (v->whole & ~(int64_t)1))
        return "a bool must be True or False";
    if (is_text && (!v->text[0] || strlen(v->text) >= KS_VALUE_TEXT))
        return "a string must have 1 to 31 characters";
    for (const char *c = is_text ? v->text : ""; *c; c++)
        if (!isgraph((unsigned char)*c))
            return "a string must be ASCII without blanks";
    if (type == KS_T1_FLOAT) {
        ks_f64_text(is_real ? v->real : (double)v->whole, real);
        snprintf(out, KS_VALUE_TEXT, "%.31s", real);
    } else if (is_text) {
        snprintf(out, KS_VALUE_TEXT, "%s", v->text);
    } else {
        snprintf(out, KS_VALUE_TEXT, "%lld", (long long)v->whole);
    }
    return NULL;
}

static int add_value(enum ks_t1_type type, const struct ks_expr_value *v, struct ks_trait *t,
                     struct ks_err *err)
{
    const char *wrong = value_text(type, v, t->text[t->n_values]);

    if (wrong)
        return ks_fail(err, KS_EINVAL, "%s (%s), see value %u", wrong, ks_t1_type_name(type),
                       t->n_values + 1);
    t->value[t->n_values] = t->kind == KS_TRAIT_INT ? v->whole : (int64_t)t->n_values;
    t->n_values++;
    return 0;
}

/* What Python makes of the text: a list. */
static int read_values(const char *text, enum ks_t1_type type, struct ks_trait *t,
                       struct ks_err *err)
{
    struct ks_expr_value values[KS_TRAIT_VALUES_MAX];
    struct ks_expr *e = NULL;
    uint32_t n = 0;
    int rc = ks_expr_parse_values(text, &e, err);

    if (rc == 0)
        rc = ks_expr_values(e, values, KS_TRAIT_VALUES_MAX, &n, err);
    if (rc == 0 && n == 0)
        rc = ks_fail(err, KS_EINVAL, "expected at least one value");
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = add_value(type, &values[i], t, err);
    ks_expr_free(e);
    return rc;
}

static int check_name(const struct ks_json *doc, const struct ks_node *n, const struct ks_family *f,
                      const char *name, struct ks_err *err)
{
    static const char *const words[] = { "and",   "or",   "not",   "in", "True",
                                         "False", "true", "false", NULL };

    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], name) == 0)
            return ks_node_fail(doc, n, err, "'%s' is a reserved word of filter expressions", name);
    if (ks_family_trait(f, name) >= 0)
        return ks_node_fail(doc, n, err, "duplicate parameter '%s'", name);
    return 0;
}

static int read_parameter(const struct ks_json *doc, const struct ks_node *obj, struct ks_family *f,
                          struct ks_err *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    struct ks_trait *t = &f->traits[f->n_traits];
    const struct ks_node *values = NULL, *type_node = NULL;
    const char *text = NULL;
    char name[sizeof t->name];
    int type = 0;
    int rc = ks_node_kind(obj) == KS_JSON_OBJECT
                 ? ks_grid_field_word(doc, obj, "Name", allowed, name, sizeof name, err)
                 : ks_node_fail(doc, obj, err, "a parameter is an object { ... }");

    if (rc == 0)
        rc = check_name(doc, ks_node_at(obj, "Name"), f, name, err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, obj, "Type", KS_JSON_STRING, &type_node, err);
    if (rc == 0)
        rc = ks_grid_field_choice(doc, type_node, type_names, &type, err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, obj, "Values", KS_JSON_STRING, &values, err);
    if (rc == 0)
        rc = ks_node_str(doc, values, &text, err);
    if (rc < 0)
        return rc;
    memcpy(t->name, name, sizeof name);
    t->kind = type == KS_T1_FLOAT || type == KS_T1_STRING ? KS_TRAIT_NAME : KS_TRAIT_INT;
    t->is_real = type == KS_T1_FLOAT;
    return at_node(doc, values, read_values(text, (enum ks_t1_type)type, t, err), err);
}

static int read_parameters(const struct ks_json *doc, const struct ks_node *space,
                           struct ks_family *f, struct ks_err *err)
{
    const struct ks_node *list = NULL;
    int rc = ks_grid_field_node(doc, space, "TuningParameters", KS_JSON_ARRAY, &list, err);

    if (rc == 0 && ks_node_size(list) == 0)
        rc = ks_node_fail(doc, list, err, "expected at least one parameter");
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        if (f->n_traits == KS_TRAITS_MAX)
            return ks_node_fail(doc, n, err, "more than %d parameters", KS_TRAITS_MAX);
        rc = read_parameter(doc, n, f, err);
        f->n_traits++;
    }
    return rc;
}

/* ---- conditions ---- */

/* The parameters that a condition says it names. */
static int check_list(const struct ks_json *doc, const struct ks_node *obj,
                      const struct ks_family *f, struct ks_err *err)
{
    const char *names[KS_TRAITS_MAX + 1] = { NULL };
    const struct ks_node *list = NULL;
    int i_name, rc;

    if (!ks_node_at(obj, "Parameters"))
        return 0;
    for (uint32_t t = 0; t < f->n_traits; t++)
        names[t] = f->traits[t].name;
    rc = ks_grid_field_node(doc, obj, "Parameters", KS_JSON_ARRAY, &list, err);
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = ks_grid_field_choice(doc, n, names, &i_name, err);
    return rc;
}

/* A rule says what is left out, a condition what is let in. */
static int read_condition(const struct ks_json *doc, const struct ks_node *obj, struct ks_family *f,
                          struct ks_err *err)
{
    struct ks_rule *r = &f->rules[f->n_rules];
    char text[KS_T1_CONDITION + 1];
    struct ks_expr *e = NULL;
    int rc = ks_node_kind(obj) == KS_JSON_OBJECT
                 ? ks_grid_field_text(doc, obj, "Expression", NULL, text, sizeof text, err)
                 : ks_node_fail(doc, obj, err, "a condition is an object { ... }");

    if (rc == 0 && strchr(text, '#'))
        rc = ks_node_fail(doc, ks_node_at(obj, "Expression"), err,
                          "comments are not allowed in a condition");
    if (rc < 0)
        return rc;
    rc = ks_family_condition(f, text, &e, err);
    ks_expr_free(e);
    if (rc < 0)
        return at_node(doc, ks_node_at(obj, "Expression"), rc, err);
    snprintf(r->when, sizeof r->when, "not (%s)", text);
    snprintf(r->why, sizeof r->why, "%.*s%s", (int)sizeof r->why - 4, text,
             strlen(text) > sizeof r->why - 4 ? "..." : "");
    return check_list(doc, obj, f, err);
}

static int read_conditions(const struct ks_json *doc, const struct ks_node *space,
                           struct ks_family *f, struct ks_err *err)
{
    const struct ks_node *list = NULL;
    int rc = 0;

    if (ks_node_at(space, "Conditions"))
        rc = ks_grid_field_node(doc, space, "Conditions", KS_JSON_ARRAY, &list, err);
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        if (f->n_rules == KS_RULES_MAX)
            return ks_node_fail(doc, n, err, "more than %d conditions", KS_RULES_MAX);
        rc = read_condition(doc, n, f, err);
        f->n_rules++;
    }
    return rc;
}

/* ---- the kernel ---- */

static int check_version(const struct ks_json *doc, const struct ks_node *root, struct ks_err *err)
{
    const struct ks_node *general = ks_node_at(root, "General"), *n;
    int64_t v = 0;
    int rc = 0;

    if (general)
        rc = ks_grid_field_node(doc, root, "General", KS_JSON_OBJECT, &general, err);
    n = rc == 0 && general ? ks_node_at(general, "FormatVersion") : NULL;
    if (n)
        rc = ks_node_int(doc, n, &v, err);
    if (rc == 0 && n && v != 1)
        rc = ks_node_fail(doc, n, err, "format version %lld is not supported, only 1 is",
                          (long long)v);
    return rc;
}

/* "t1_xgemm" of "Xgemm": letters, digits and '_'. */
static int read_kernel_name(const struct ks_json *doc, const struct ks_node *spec,
                            struct ks_family *f, struct ks_err *err)
{
    char text[sizeof f->name - 3];
    int rc = ks_grid_field_text(doc, spec, "KernelName", NULL, text, sizeof text, err);

    if (rc < 0)
        return rc;
    for (char *c = text; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
    snprintf(f->name, sizeof f->name, "t1_%s", text);
    return 0;
}

static int read_kernel(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                       struct ks_err *err)
{
    static const char *const languages[] = { "OpenCL", "CUDA", "Vulkan", "Hypertuner",
                                             "HIP",    "C",    NULL };
    const struct ks_node *spec = NULL, *n = NULL;
    int choice,
        rc = ks_grid_field_node(doc, root, "KernelSpecification", KS_JSON_OBJECT, &spec, err);

    if (rc == 0)
        rc = ks_grid_field_node(doc, spec, "Language", KS_JSON_STRING, &n, err);
    if (rc == 0)
        rc = ks_grid_field_choice(doc, n, languages, &choice, err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, spec, "KernelFile", KS_JSON_STRING, &n, err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, spec, "GlobalSize", KS_JSON_OBJECT, &n, err);
    if (rc == 0)
        rc = ks_grid_field_node(doc, spec, "LocalSize", KS_JSON_OBJECT, &n, err);
    return rc < 0 ? rc : read_kernel_name(doc, spec, f, err);
}

/* ---- the family ---- */

/* "t1_xgemm_MWG{MWG}_NWG{NWG}": what has one value only is left out. false: too long. */
static bool make_pattern(struct ks_family *f, bool has_names)
{
    int n = snprintf(f->name_pattern, sizeof f->name_pattern, "%s", f->name);

    for (uint32_t t = 0; t < f->n_traits && n < (int)sizeof f->name_pattern; t++)
        if (f->traits[t].n_values > 1)
            n += snprintf(f->name_pattern + n, sizeof f->name_pattern - (size_t)n, "_%s{%s}",
                          has_names ? f->traits[t].name : "", f->traits[t].name);
    return n < (int)sizeof f->name_pattern;
}

static int choose_pattern(const struct ks_json *doc, struct ks_family *f, struct ks_err *err)
{
    struct ks_name_parts parts;
    int rc;

    if (make_pattern(f, true) && ks_name_parts(f, f->name_pattern, false, &parts, NULL) == 0)
        return 0;
    if (!make_pattern(f, false))
        return ks_node_fail(doc, ks_json_root(doc), err,
                            "instances would have names that are too long");
    rc = ks_name_parts(f, f->name_pattern, false, &parts, err);
    return at_node(doc, ks_json_root(doc), rc, err);
}

static int read_family(const struct ks_json *doc, const char *path, struct ks_family *f,
                       struct ks_err *err)
{
    const struct ks_node *root = ks_json_root(doc), *space = NULL;
    int rc = ks_grid_field_node(doc, root, "ConfigurationSpace", KS_JSON_OBJECT, &space, err);

    if (rc == 0 && strlen(path) >= sizeof f->path)
        rc = ks_fail(err, KS_EINVAL, "path longer than %zu characters", sizeof f->path - 1);
    if (rc == 0)
        rc = check_version(doc, root, err);
    if (rc == 0)
        rc = read_kernel(doc, root, f, err);
    if (rc == 0)
        rc = read_parameters(doc, space, f, err);
    if (rc == 0)
        rc = read_conditions(doc, space, f, err);
    if (rc < 0)
        return rc;
    memcpy(f->path, path, strlen(path) + 1);
    snprintf(f->op, sizeof f->op, "none");
    f->i_op = UINT32_MAX;
    snprintf(f->backend, sizeof f->backend, "host");
    return choose_pattern(doc, f, err);
}

int ks_t1_family(const struct ks_json *doc, const char *path, struct ks_family *f_out,
                 struct ks_err *err)
{
    struct ks_family *f = calloc(1, sizeof *f);
    int rc = f ? ks_family_begin(f, err) : ks_fail(err, KS_ENOMEM, "no memory for a kernel family");

    if (rc == 0)
        rc = read_family(doc, path, f, err);
    if (rc == 0)
        rc = ks_family_fit(f, err);
    if (rc == 0)
        *f_out = *f;
    else if (f)
        ks_family_release(f);
    free(f);
    return rc;
}

/* ---- as a kernel config ---- */

static int add_all(struct ks_adder *a, uint32_t i_family)
{
    const struct ks_family *f = &a->set->families[i_family];
    struct ks_product p = { 0 };

    for (uint32_t t = 0; t < f->n_traits; t++)
        for (uint32_t v = 0; v < f->traits[t].n_values; v++)
            p.choice[t][p.n[t]++] = (uint8_t)v;
    return ks_adder_product(a, i_family, &p);
}

static int read_t1(struct ks_adder *a, const struct ks_node *root)
{
    struct ks_family *f = calloc(1, sizeof *f);
    char path[sizeof f->path];
    uint32_t i_family = 0;
    int rc = f ? ks_find_absolute(a->path, path, sizeof path, a->err)
               : ks_fail(a->err, KS_ENOMEM, "no memory for a kernel family");

    if (rc == 0)
        rc = ks_t1_family(a->doc, path, f, a->err);
    if (rc == 0)
        rc = ks_adder_family(a, f, &i_family);
    free(f);
    return rc < 0 ? rc : at_node(a->doc, root, add_all(a, i_family), a->err);
}

const struct ks_kernel_reader ks_read_t1 = { ks_t1_is, read_t1 };
