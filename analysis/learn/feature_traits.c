/* SPDX-License-Identifier: MIT */
/* feature_traits.c - instances and problems out of the rows of a frame. */
#include "analysis/data/catalogue.h"
#include "analysis/learn/features_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns that describe an instance besides its traits: metadata of its code object. */
static const char *const code_columns[] = {
    "vgprs",     "agprs",     "sgprs",         "vgpr_spills",           "sgpr_spills",
    "lds_bytes", "wave_size", "scratch_bytes", "max_threads_per_block", "code_bytes",
    NULL
};
static const char *const other_columns[] = { "instance_id", "instance_name",       "family",
                                             "problem_id",  "/problems/canonical", NULL };

void ks_traits_release(struct ks_traits *t)
{
    for (size_t i = 0; t->columns && i < t->n_columns; i++)
        free(t->columns[i]);
    for (size_t i = 0; i < t->n_instances; i++) {
        free(t->names[i]);
        free(t->families[i]);
        for (size_t k = 0; k < t->n_columns; k++)
            free(t->values[i * t->n_columns + k].text);
    }
    free(t->columns);
    free(t->ids);
    free(t->names);
    free(t->families);
    free(t->values);
    *t = (struct ks_traits){ 0 };
}

static int need_all(struct ks_sources *s, const struct ks_store_file *f, const char *const *names,
                    struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && names[i]; i++)
        rc = ks_sources_need(s, f, names[i], NULL, err);
    return rc;
}

/* All traits of the file, through the list of the training table. */
int ks_features_need(struct ks_sources *sources, const struct ks_store_file *f, struct ks_err *err)
{
    struct ks_sources all = { 0 };
    int rc = need_all(sources, f, other_columns, err);

    if (rc == 0)
        rc = need_all(sources, f, code_columns, err);
    if (rc == 0)
        rc = ks_sources_training(&all, f, KS_COLUMNS_V2, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++)
        if (all.at[i].from == KS_FROM_TRAITS)
            rc = ks_sources_need(sources, f, all.at[i].name, NULL, err);
    ks_sources_release(&all);
    return rc;
}

static bool is_described(const struct ks_df_column *c)
{
    if (strncmp(c->name, KS_TRAIT_PREFIX, strlen(KS_TRAIT_PREFIX)) == 0)
        return true;
    for (size_t i = 0; code_columns[i]; i++)
        if (strcmp(code_columns[i], c->name) == 0)
            return true;
    return false;
}

uint32_t ks_traits_find(const struct ks_traits *t, uint64_t id)
{
    for (size_t i = 0; i < t->n_instances; i++)
        if (t->ids[i] == id)
            return (uint32_t)i;
    return UINT32_MAX;
}

static size_t find_column(const struct ks_traits *t, const char *name)
{
    for (size_t k = 0; k < t->n_columns; k++)
        if (strcmp(t->columns[k], name) == 0)
            return k;
    return SIZE_MAX;
}

const struct ks_trait_value *ks_traits_value(const struct ks_traits *t, size_t i_instance,
                                             const char *column)
{
    const size_t k = find_column(t, column);

    return k == SIZE_MAX ? NULL : &t->values[i_instance * t->n_columns + k];
}

/* ---- instances of a frame ---- */

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for the traits of instances");
}

/* Instances that are there already have no value in the new columns. */
static int widen(struct ks_traits *t, size_t n_columns, struct ks_err *err)
{
    const size_t cap = t->cap ? t->cap : 1;
    struct ks_trait_value *wide = malloc((cap * n_columns + 1) * sizeof(*wide));

    if (!wide)
        return no_memory(err);
    for (size_t i = 0; i < t->n_instances; i++)
        for (size_t k = 0; k < n_columns; k++)
            wide[i * n_columns + k] = k < t->n_columns ? t->values[i * t->n_columns + k]
                                                       : (struct ks_trait_value){ NAN, NULL };
    free(t->values);
    t->values = wide;
    t->n_columns = n_columns;
    return 0;
}

/* The columns of this frame that no earlier one had. */
static int add_columns(struct ks_traits *t, const struct ks_df *f, struct ks_err *err)
{
    char **columns = realloc(t->columns, (t->n_columns + f->n_columns + 1) * sizeof(*columns));
    size_t n = t->n_columns;
    int rc = 0;

    if (!columns)
        return no_memory(err);
    t->columns = columns;
    for (size_t i = 0; rc == 0 && i < f->n_columns; i++) {
        if (!is_described(&f->columns[i]) || find_column(t, f->columns[i].name) != SIZE_MAX)
            continue;
        t->columns[n] = strdup(f->columns[i].name);
        rc = t->columns[n] ? 0 : no_memory(err);
        n += rc == 0;
    }
    if (rc == 0 && n > t->n_columns)
        rc = widen(t, n, err);
    for (size_t k = t->n_columns; rc < 0 && k < n; k++)
        free(t->columns[k]);
    return rc;
}

/* NULL: this frame has no such column. */
static void bind(const struct ks_traits *t, const struct ks_df *f,
                 const struct ks_df_column **columns_out)
{
    for (size_t k = 0; k < t->n_columns; k++)
        columns_out[k] = ks_df_find(f, t->columns[k]);
}

static int grow(struct ks_traits *t, struct ks_err *err)
{
    const size_t cap = t->cap ? 2 * t->cap : 64;
    void *ids = realloc(t->ids, cap * sizeof(*t->ids)), *names, *families, *values;

    t->ids = ids ? ids : t->ids;
    names = realloc(t->names, cap * sizeof(*t->names));
    t->names = names ? names : t->names;
    families = realloc(t->families, cap * sizeof(*t->families));
    t->families = families ? families : t->families;
    values = realloc(t->values, (cap * t->n_columns + 1) * sizeof(*t->values));
    t->values = values ? values : t->values;
    if (!ids || !names || !families || !values)
        return no_memory(err);
    t->cap = cap;
    return 0;
}

/* What is known stays; c NULL: the frame has no such column. */
static int set_value(const struct ks_df_column *c, size_t row, struct ks_trait_value *out,
                     struct ks_err *err)
{
    if (!c || !ks_df_has(c, row) || out->text || !isnan(out->number))
        return 0;
    if (c->type == KS_DF_F64)
        out->number = ks_df_f64(c, row, NAN);
    else if (c->type == KS_DF_I64)
        out->number = (double)ks_df_i64(c, row, 0);
    else if (!(out->text = strdup(ks_df_text(c, row))))
        return no_memory(err);
    return 0;
}

static int add_instance(struct ks_traits *t, const struct ks_df_column *const *named, size_t row,
                        struct ks_err *err)
{
    const char *name = ks_df_text(named[1], row), *family = ks_df_text(named[2], row);
    const size_t i = t->n_instances;
    int rc = i == t->cap ? grow(t, err) : 0;

    if (rc < 0)
        return rc;
    t->ids[i] = (uint64_t)ks_df_i64(named[0], row, 0);
    t->names[i] = strdup(name ? name : "");
    t->families[i] = strdup(family ? family : "");
    for (size_t k = 0; k < t->n_columns; k++)
        t->values[i * t->n_columns + k] = (struct ks_trait_value){ NAN, NULL };
    t->n_instances++; /* from here on ks_traits_release() frees it */
    return t->names[i] && t->families[i] ? 0 : no_memory(err);
}

/* Values of the frame for what is not known yet of an instance: a file can lack what another one
 * has, such as code-object metadata. */
static int add_values(struct ks_traits *t, const struct ks_df_column *const *columns, size_t i,
                      size_t row, struct ks_err *err)
{
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < t->n_columns; k++)
        rc = set_value(columns[k], row, &t->values[i * t->n_columns + k], err);
    return rc;
}

/* Rows of one instance share the code of its id's column, so each code is looked up once. */
static int add_rows(struct ks_traits *t, const struct ks_df *f,
                    const struct ks_df_column *const *columns,
                    const struct ks_df_column *const *named, uint8_t *is_seen, struct ks_err *err)
{
    int rc = 0;

    for (size_t row = 0; rc == 0 && row < f->n_rows; row++) {
        const size_t at = ks_df_at(named[0], row);
        uint32_t i;

        if (!ks_df_has(named[0], row) || is_seen[at])
            continue;
        is_seen[at] = 1;
        i = ks_traits_find(t, (uint64_t)ks_df_i64(named[0], row, 0));
        if (i == UINT32_MAX) {
            i = (uint32_t)t->n_instances;
            rc = add_instance(t, named, row, err);
        }
        if (rc == 0)
            rc = add_values(t, columns, i, row, err);
    }
    return rc;
}

int ks_traits_add(struct ks_traits *t, const struct ks_df *f, struct ks_err *err)
{
    const struct ks_df_column *named[3], **columns = NULL;
    uint8_t *is_seen = NULL;
    int rc = ks_df_need(f, "instance_id", KS_DF_I64, &named[0], err);

    if (rc == 0)
        rc = ks_df_need(f, "instance_name", KS_DF_TEXT, &named[1], err);
    if (rc == 0)
        rc = ks_df_need(f, "family", KS_DF_TEXT, &named[2], err);
    if (rc == 0)
        rc = add_columns(t, f, err);
    if (rc < 0)
        return rc;
    columns = calloc(t->n_columns + 1, sizeof(*columns));
    is_seen = calloc((named[0]->code ? named[0]->n_values : f->n_rows) + 1, 1);
    rc = columns && is_seen ? 0 : no_memory(err);
    if (rc == 0)
        bind(t, f, columns);
    if (rc == 0)
        rc = add_rows(t, f, columns, named, is_seen, err);
    free(is_seen);
    free(columns);
    return rc;
}

int ks_frame_problem(const struct ks_df *f, size_t row, struct ks_problem *p_out,
                     struct ks_err *err)
{
    const struct ks_df_column *c;
    struct ks_err why;
    const char *text;
    int rc = ks_df_need(f, "/problems/canonical", KS_DF_TEXT, &c, err);

    if (rc < 0)
        return rc;
    text = ks_df_text(c, row);
    rc = text ? ks_problem_parse(text, p_out, &why) : KS_EFORMAT;
    return rc == KS_ENOMEM ? ks_fail(err, KS_ENOMEM, "%s", why.text) : rc == 0;
}
