/* SPDX-License-Identifier: MIT */
/* kernel_export.c - writes a kernel set as JSON, and reads it back against its families */
#include "grid/kernel_export.h"

#include "base/file.h"
#include "base/hash.h"
#include "grid/family_expr.h"
#include "grid/fields.h"
#include "grid/find.h"
#include "grid/kernel_set_impl.h"
#include "grid/t1.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ks_kernel_export_is(const struct ks_node *root)
{
    return ks_node_at(root, "metadata") && ks_node_at(root, "kernels");
}

/* ---- writing ---- */

/* Below the installed data as "kernels/x.json", else as it is. */
static const char *portable_path(const char *path)
{
    char data[1024];
    size_t n;

    if (ks_data_path(data, sizeof data, "kernels", NULL) < 0 ||
        ks_find_absolute(data, data, sizeof data, NULL) < 0)
        return path;
    n = strlen(data) - strlen("kernels");
    return strncmp(path, data, strlen(data)) == 0 && path[strlen(data)] == '/' ? path + n : path;
}

/* The name of a config file; of an export, those that it names. */
static int put_config(const char *path, struct ks_jw *w, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    const struct ks_node *root;
    int rc = ks_json_open(path, &doc, err);

    if (rc < 0)
        return rc;
    root = ks_json_root(doc);
    if (ks_node_kind(root) == KS_JSON_OBJECT && ks_kernel_export_is(root)) {
        const struct ks_node *list = ks_node_at(ks_node_at(root, "metadata"), "config_files");

        for (const struct ks_node *n = ks_node_first(list); n; n = ks_node_next(n))
            ks_jw_node(w, NULL, n);
    } else {
        ks_jw_str(w, NULL, path);
    }
    ks_json_close(doc);
    return 0;
}

static int put_metadata(const struct ks_kernel_set *set, const char *const *config_files,
                        const char *arch, struct ks_jw *w, struct ks_err *err)
{
    int rc = 0;

    ks_jw_open(w, "metadata", '{');
    ks_jw_open(w, "config_files", '[');
    for (; rc == 0 && *config_files; config_files++)
        rc = put_config(*config_files, w, err);
    ks_jw_close(w, ']');
    ks_jw_str(w, "arch", arch);
    ks_jw_u64(w, "count", set->n_instances);
    ks_jw_open(w, "families", '[');
    for (uint32_t i = 0; i < set->n_families; i++) {
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "name", set->families[i].name);
        ks_jw_str(w, "path", portable_path(set->families[i].path));
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_jw_close(w, '}');
    return rc;
}

void ks_kernel_put_traits(const struct ks_family *f, const struct ks_instance *i, struct ks_jw *w)
{
    ks_jw_open(w, "traits", '{');
    for (uint32_t t = 0; t < f->n_traits; t++) {
        const struct ks_trait *trait = &f->traits[t];

        if (trait->is_bool)
            ks_jw_bool(w, trait->name, trait->value[i->value[t]] != 0);
        else if (trait->kind == KS_TRAIT_INT)
            ks_jw_int(w, trait->name, trait->value[i->value[t]]);
        else
            ks_jw_str(w, trait->name, trait->text[i->value[t]]);
    }
    ks_jw_close(w, '}');
    if (f->n_attributes == 0)
        return;
    ks_jw_open(w, "attributes", '{');
    for (uint32_t k = 0; k < f->n_attributes; k++) {
        const struct ks_attribute *a = &f->attributes[k];
        uint8_t v = i->value[a->i_trait];

        if (a->kind == KS_TRAIT_INT)
            ks_jw_int(w, a->name, a->value[v]);
        else
            ks_jw_str(w, a->name, a->text[v]);
    }
    ks_jw_close(w, '}');
}

static void put_kernel(const struct ks_family *f, const struct ks_instance *i, struct ks_jw *w)
{
    char hex[17];

    ks_hex64(i->id, hex);
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "id", hex);
    ks_jw_str(w, "name", i->name);
    ks_jw_str(w, "family", f->name);
    ks_kernel_put_traits(f, i, w);
    ks_jw_close(w, '}');
}

int ks_kernel_export(const struct ks_kernel_set *set, const char *const *config_files,
                     const char *arch, struct ks_buf *json_out, struct ks_err *err)
{
    struct ks_jw w;
    int rc;

    ks_jw_init(&w, json_out, true);
    ks_jw_open(&w, NULL, '{');
    rc = put_metadata(set, config_files, arch, &w, err);
    ks_jw_open(&w, "kernels", '[');
    for (uint32_t i = 0; i < set->n_instances; i++)
        put_kernel(&set->families[set->instances[i].i_family], &set->instances[i], &w);
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(json_out, "\n");
    if (rc == 0 && !ks_buf_ok(json_out))
        rc = ks_fail(err, KS_ENOMEM, "no memory for %" PRIu32 " instances", set->n_instances);
    return rc;
}

/* ---- reading ---- */

enum { MOST_FAMILIES = 64 };

struct reader {
    struct ks_adder *a;
    uint32_t i_family[MOST_FAMILIES]; /* in the set */
    uint32_t n_families;
};

/* A T1 file is a family, too: its own set is not wanted, only its parameters. */
static int add_t1(struct ks_adder *a, const struct ks_json *doc, const char *path, uint32_t *i_out)
{
    struct ks_family *f = calloc(1, sizeof *f);
    int rc = f ? ks_t1_family(doc, path, f, a->err)
               : ks_fail(a->err, KS_ENOMEM, "no memory for a kernel family");

    if (rc == 0)
        rc = ks_adder_family(a, f, i_out);
    free(f);
    return rc;
}

static int find_family(struct ks_adder *a, const struct ks_node *path_node, uint32_t *i_out)
{
    char dir[1024], path[1024], where[256];
    struct ks_json *doc = NULL;
    const char *name = NULL;
    int rc = ks_node_str(a->doc, path_node, &name, a->err);

    if (rc < 0)
        return rc;
    ks_path_dir(dir, sizeof dir, a->path);
    rc = ks_find_file(dir, name, path, sizeof path, a->err);
    if (rc == 0)
        rc = ks_json_open(path, &doc, a->err);
    if (rc == 0 && ks_t1_is(ks_json_root(doc)))
        rc = add_t1(a, doc, path, i_out);
    else if (rc == 0)
        rc = ks_adder_family_file(a, path, path_node, i_out);
    ks_json_close(doc);
    if (rc == 0)
        return 0;
    ks_node_where(a->doc, path_node, where, sizeof where);
    return ks_err_context(a->err, rc, "%s", where);
}

static int read_family(struct reader *r, const struct ks_node *obj)
{
    static const char *const keys[] = { "name", "path", NULL };
    struct ks_adder *a = r->a;
    const char *name = NULL;
    uint32_t i = 0;
    int rc = ks_node_only(a->doc, obj, keys, a->err);

    if (rc == 0)
        rc = ks_node_str(a->doc, ks_node_at(obj, "name"), &name, a->err);
    if (rc == 0 && !ks_node_at(obj, "path"))
        rc = ks_node_fail(a->doc, obj, a->err, "key 'path' is missing (a text)");
    if (rc == 0)
        rc = find_family(a, ks_node_at(obj, "path"), &i);
    if (rc < 0)
        return rc;
    if (strcmp(a->set->families[i].name, name) != 0)
        return ks_node_fail(a->doc, obj, a->err, "the family there is '%s', not '%s'",
                            a->set->families[i].name, name);
    if (r->n_families == MOST_FAMILIES)
        return ks_node_fail(a->doc, obj, a->err, "more than %d families", MOST_FAMILIES);
    r->i_family[r->n_families++] = i;
    return 0;
}

static int read_metadata(struct reader *r, const struct ks_node *meta, uint64_t n_kernels)
{
    static const char *const keys[] = { "config_files", "arch", "count", "families", NULL };
    struct ks_adder *a = r->a;
    const struct ks_node *list = NULL;
    const char *text = NULL;
    int64_t count = 0;
    int rc = ks_node_only(a->doc, meta, keys, a->err);

    if (rc == 0)
        rc = ks_grid_field_node(a->doc, meta, "config_files", KS_JSON_ARRAY, &list, a->err);
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = ks_node_str(a->doc, n, &text, a->err);
    if (rc == 0)
        rc = ks_node_str(a->doc, ks_node_at(meta, "arch"), &text, a->err);
    if (rc == 0)
        rc = ks_node_int(a->doc, ks_node_at(meta, "count"), &count, a->err);
    if (rc == 0 && (count < 0 || (uint64_t)count != n_kernels))
        rc = ks_node_fail(a->doc, ks_node_at(meta, "count"), a->err,
                          "is %" PRId64 ", but the file has %" PRIu64
                          " kernels: it is damaged, export it again",
                          count, n_kernels);
    if (rc == 0)
        rc = ks_grid_field_node(a->doc, meta, "families", KS_JSON_ARRAY, &list, a->err);
    for (const struct ks_node *n = rc == 0 ? ks_node_first(list) : NULL; rc == 0 && n;
         n = ks_node_next(n))
        rc = read_family(r, n);
    return rc;
}

static int read_traits(const struct reader *r, const struct ks_family *f,
                       const struct ks_node *traits, struct ks_instance *i)
{
    const char *names[KS_TRAITS_MAX + 1] = { NULL };
    const struct ks_json *doc = r->a->doc;
    int rc;

    for (uint32_t t = 0; t < f->n_traits; t++)
        names[t] = f->traits[t].name;
    rc = ks_node_only(doc, traits, names, r->a->err);
    for (uint32_t t = 0; rc == 0 && t < f->n_traits; t++) {
        const struct ks_node *n = ks_node_at(traits, names[t]);
        uint32_t v = 0;

        if (!n)
            return ks_node_fail(
                doc, traits, r->a->err,
                "trait '%s' is missing: if the family gained it since, export the config again",
                names[t]);
        rc = ks_trait_value_node(doc, n, &f->traits[t], &v, r->a->err);
        i->value[t] = (uint8_t)v;
    }
    return rc;
}

/* They follow from the traits: another value is a mistake of who wrote the file. */
static int check_attribute(const struct reader *r, const struct ks_attribute *a, uint8_t v,
                           const struct ks_node *n)
{
    const char *text = "";
    char number[32];
    int64_t whole = 0;
    int rc;

    if (!n)
        return 0;
    if (a->kind == KS_TRAIT_INT) {
        rc = ks_node_int(r->a->doc, n, &whole, r->a->err);
        snprintf(number, sizeof number, "%" PRId64, a->value[v]);
        if (rc < 0 || whole == a->value[v])
            return rc;
    } else {
        rc = ks_node_str(r->a->doc, n, &text, r->a->err);
        if (rc < 0 || strcmp(text, a->text[v]) == 0)
            return rc;
    }
    return ks_node_fail(r->a->doc, n, r->a->err, "must be %s, which follows from the traits",
                        a->kind == KS_TRAIT_INT ? number : a->text[v]);
}

static int check_attributes(const struct reader *r, const struct ks_family *f,
                            const struct ks_node *attributes, const struct ks_instance *i)
{
    const char *names[KS_ATTRIBUTES_MAX + 1] = { NULL };
    int rc;

    if (!attributes)
        return 0;
    for (uint32_t k = 0; k < f->n_attributes; k++)
        names[k] = f->attributes[k].name;
    rc = ks_node_only(r->a->doc, attributes, names, r->a->err);
    for (uint32_t k = 0; rc == 0 && k < f->n_attributes; k++)
        rc = check_attribute(r, &f->attributes[k], i->value[f->attributes[k].i_trait],
                             ks_node_at(attributes, names[k]));
    return rc;
}

/* Name and id of what was added last, unless a filter kept it out. */
static int check_kernel(const struct reader *r, const struct ks_node *obj, uint32_t n_before,
                        uint64_t n_filtered)
{
    const struct ks_kernel_set *s = r->a->set;
    const struct ks_json *doc = r->a->doc;
    const char *id = NULL, *name = NULL;
    char hex[17];
    int rc = ks_node_str(doc, ks_node_at(obj, "id"), &id, r->a->err);

    if (rc == 0)
        rc = ks_node_str(doc, ks_node_at(obj, "name"), &name, r->a->err);
    if (rc < 0 || r->a->n_filtered > n_filtered)
        return rc;
    if (s->n_instances == n_before)
        return ks_node_fail(doc, obj, r->a->err,
                            "a rule of the family excludes '%s': if the rule is newer than the "
                            "file, export it again",
                            name);
    ks_hex64(s->instances[n_before].id, hex);
    if (strcmp(hex, id) != 0 || strcmp(s->instances[n_before].name, name) != 0)
        return ks_node_fail(doc, obj, r->a->err,
                            "'%s' with id %s is now '%s' with id %s: if the family has changed "
                            "since, export the config again",
                            name, id, s->instances[n_before].name, hex);
    return 0;
}

static int read_kernel(const struct reader *r, const struct ks_node *obj)
{
    static const char *const keys[] = { "id", "name", "family", "traits", "attributes", NULL };
    struct ks_adder *a = r->a;
    const struct ks_node *traits = NULL;
    struct ks_instance i = { 0 };
    uint32_t n_before = a->set->n_instances, k = 0;
    uint64_t n_filtered = a->n_filtered;
    const char *family = NULL;
    int rc = ks_node_only(a->doc, obj, keys, a->err);

    if (rc == 0)
        rc = ks_node_str(a->doc, ks_node_at(obj, "family"), &family, a->err);
    while (rc == 0 && k < r->n_families &&
           strcmp(a->set->families[r->i_family[k]].name, family) != 0)
        k++;
    if (rc == 0 && k == r->n_families)
        rc = ks_node_fail(a->doc, ks_node_at(obj, "family"), a->err,
                          "'%s' is not among metadata.families", family);
    if (rc == 0)
        rc = ks_grid_field_node(a->doc, obj, "traits", KS_JSON_OBJECT, &traits, a->err);
    if (rc == 0)
        rc = read_traits(r, &a->set->families[r->i_family[k]], traits, &i);
    if (rc == 0)
        rc = check_attributes(r, &a->set->families[r->i_family[k]], ks_node_at(obj, "attributes"),
                              &i);
    if (rc == 0)
        rc = ks_adder_instance(a, r->i_family[k], &i);
    return rc < 0 ? rc : check_kernel(r, obj, n_before, n_filtered);
}

static int read_export(struct ks_adder *a, const struct ks_node *root)
{
    static const char *const keys[] = { "metadata", "kernels", NULL };
    const struct ks_node *meta = NULL, *list = NULL;
    struct reader r = { .a = a };
    int rc = ks_node_only(a->doc, root, keys, a->err);

    if (rc == 0)
        rc = ks_grid_field_node(a->doc, root, "metadata", KS_JSON_OBJECT, &meta, a->err);
    if (rc == 0)
        rc = ks_grid_field_node(a->doc, root, "kernels", KS_JSON_ARRAY, &list, a->err);
    if (rc == 0)
        rc = read_metadata(&r, meta, ks_node_size(list));
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = ks_node_kind(n) == KS_JSON_OBJECT
                 ? read_kernel(&r, n)
                 : ks_node_fail(a->doc, n, a->err, "a kernel is an object { ... }");
    return rc;
}

const struct ks_kernel_reader ks_read_export = { ks_kernel_export_is, read_export };
