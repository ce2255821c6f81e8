/* SPDX-License-Identifier: MIT */
#include "analysis/data/catalogue.h"
#include "analysis/data/training_v1.h"
#include "base/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* The tables whose columns are joined, in their order among the columns of a role. */
static const enum ks_table_id joined_tables[] = { KS_T_RUNS,    KS_T_PROBLEMS, KS_T_MEASUREMENTS,
                                                  KS_T_KERNELS, KS_T_DEVICES,  KS_T_BLOCKS };

#define D(type_, name_, units_, role_, doc_)                                                       \
    { .name = #name_,                                                                              \
      .type = KS_COL_##type_,                                                                      \
      .role = KS_CR_##role_,                                                                       \
      .units = (units_),                                                                           \
      .doc = (doc_) },
static const struct ks_column computed[] = { KS_COMPUTED_COLUMNS(D) };
static const struct ks_column of_oracle[] = { KS_ORACLE_COLUMNS(D) };
#undef D

static const struct ks_column any_trait = {
    .name = KS_TRAIT_PREFIX "*",
    .type = KS_COL_TEXT,
    .role = KS_CR_FEATURE,
    .units = "",
    .doc = "trait of the instance's family, or attribute of a trait",
};

static const struct ks_column problem_class = {
    .name = "problem_class",
    .type = KS_COL_TEXT,
    .role = KS_CR_FEATURE,
    .units = "",
    .doc = "shape class of the problem: the first that fits of those that `ksweep problems` lists",
};

void ks_sources_release(struct ks_sources *s)
{
    for (size_t i = 0; i < s->n_owned; i++)
        free(s->owned[i]);
    free(s->owned);
    free(s->at);
    *s = (struct ks_sources){ 0 };
}

static int add(struct ks_sources *s, const struct ks_column *def, unsigned from, struct ks_err *err)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 128;
        struct ks_source *more = realloc(s->at, cap * sizeof(*more));

        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu columns", cap);
        s->at = more;
        s->cap = cap;
    }
    s->at[s->n++] = (struct ks_source){ .name = def->name, .def = *def, .from = from };
    return 0;
}

static bool has_name(const struct ks_sources *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->at[i].name, name) == 0)
            return true;
    return false;
}

/* ---- traits ---- */

/* name: with the prefix; copied. */
static int add_trait(struct ks_sources *s, const char *name, struct ks_err *err)
{
    struct ks_column def = any_trait;
    char **owned = realloc(s->owned, (s->n_owned + 1) * sizeof(*owned));

    if (owned)
        s->owned = owned;
    if (!owned || !(owned[s->n_owned] = strdup(name)))
        return ks_fail(err, KS_ENOMEM, "out of memory for a column");
    def.name = owned[s->n_owned++];
    return add(s, &def, KS_FROM_TRAITS, err);
}

/* Distinct keys in order of first appearance. */
static int add_traits(struct ks_sources *s, const struct ks_store_file *f, struct ks_err *err)
{
    int rc = f ? 0 : add(s, &any_trait, KS_FROM_TRAITS, err);

    for (uint32_t i = 0; f && rc == 0 && i < ks_store_info(f)->n_traits; i++) {
        char name[sizeof(KS_TRAIT_PREFIX) + sizeof(ks_store_trait(f, i)->key)];

        snprintf(name, sizeof(name), KS_TRAIT_PREFIX "%s", ks_store_trait(f, i)->key);
        if (!has_name(s, name))
            rc = add_trait(s, name, err);
    }
    return rc;
}

static bool is_trait(const struct ks_store_file *f, const char *name)
{
    const size_t prefix = strlen(KS_TRAIT_PREFIX);

    if (strncmp(name, KS_TRAIT_PREFIX, prefix) != 0)
        return false;
    for (uint32_t i = 0; i < ks_store_info(f)->n_traits; i++)
        if (strcmp(ks_store_trait(f, i)->key, name + prefix) == 0)
            return true;
    return false;
}

/* ---- training.csv ---- */

/* Dimensions of the file, or those of all operators. */
static int add_dims(struct ks_sources *s, const struct ks_store_file *f, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; f && rc == 0 && i < ks_store_info(f)->n_dims; i++) {
        struct ks_column def = ks_dim_column_def(ks_store_dim_name(f, i), i);

        rc = add(s, &def, KS_T_PROBLEMS, err);
    }
    for (int op = 0; !f && rc == 0 && ks_operators[op]; op++) {
        for (int i = 0; rc == 0 && ks_operators[op]->dim_names[i]; i++) {
            struct ks_column def =
                ks_dim_column_def(ks_dim_column(ks_operators[op]->dim_names[i]), 0);

            rc = has_name(s, def.name) ? 0 : add(s, &def, KS_T_PROBLEMS, err);
        }
    }
    return rc;
}

static int add_table(struct ks_sources *s, const struct ks_store_file *f, enum ks_table_id t,
                     uint8_t role, struct ks_err *err)
{
    const struct ks_table_def *def = &ks_table_defs[t];
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < def->n_columns; k++)
        if (def->columns[k].is_in_csv && def->columns[k].role == role)
            rc = add(s, &def->columns[k], t, err);
    if (rc == 0 && t == KS_T_PROBLEMS && role == KS_CR_FEATURE)
        rc = add_dims(s, f, err);
    if (rc == 0 && t == KS_T_PROBLEMS && role == KS_CR_FEATURE)
        rc = add(s, &problem_class, KS_FROM_CLASS, err);
    if (rc == 0 && t == KS_T_KERNELS && role == KS_CR_FEATURE)
        rc = add_traits(s, f, err);
    return rc;
}

static int add_all(struct ks_sources *s, const struct ks_store_file *f, struct ks_err *err)
{
    int rc = 0;

    for (uint8_t role = 0; role < KS_CR_COUNT; role++) {
        for (size_t t = 0; rc == 0 && t < N(joined_tables); t++)
            rc = add_table(s, f, joined_tables[t], role, err);
        for (size_t i = 0; rc == 0 && i < N(computed); i++)
            if (computed[i].role == role)
                rc = add(s, &computed[i], KS_FROM_LEARN, err);
    }
    return rc;
}

/* Moves the columns of a name, or of all dimensions or traits, to the end of `to`. */
static void move_v1(const struct ks_sources *s, const char *old, struct ks_source *to, size_t *n_io)
{
    const char *now = ks_column_new_name(KS_RENAMED_CSV, old);

    for (size_t i = 0; i < s->n; i++) {
        const struct ks_source *k = &s->at[i];
        bool is_dim =
            k->from == KS_T_PROBLEMS && !ks_table_column(&ks_table_defs[k->from], k->def.name);
        bool is_it = strcmp(old, KS_V1_DIMS) == 0     ? is_dim
                     : strcmp(old, KS_V1_TRAITS) == 0 ? k->from == KS_FROM_TRAITS
                                                      : !is_dim && strcmp(k->def.name, now) == 0;

        if (!is_it || *n_io == s->n)
            continue;
        to[*n_io] = *k;
        to[*n_io].name = ks_column_old_name(KS_RENAMED_CSV, k->def.name);
        to[*n_io].is_ms = ks_v1_is_ms(to[*n_io].name);
        if (strcmp(now, "block_id") == 0)
            to[*n_io].def.show = KS_SHOW_PLAIN; /* decimal */
        (*n_io)++;
    }
}

static int order_v1(struct ks_sources *s, struct ks_err *err)
{
    struct ks_source *ordered = malloc((s->n + 1) * sizeof(*ordered));
    size_t n = 0;

    if (!ordered)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu columns", s->n);
    for (size_t i = 0; ks_v1_columns[i]; i++)
        move_v1(s, ks_v1_columns[i], ordered, &n);
    free(s->at);
    s->at = ordered;
    s->cap = s->n + 1;
    s->n = n;
    return 0;
}

int ks_sources_training(struct ks_sources *s, const struct ks_store_file *f,
                        enum ks_columns_version version, struct ks_err *err)
{
    int rc = add_all(s, f, err);

    return rc == 0 && version == KS_COLUMNS_V1 ? order_v1(s, err) : rc;
}

int ks_sources_oracle(struct ks_sources *s, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N(of_oracle); i++)
        rc = add(s, &of_oracle[i], KS_FROM_LEARN, err);
    return rc;
}

/* ---- by name ---- */

static int unknown(const struct ks_store_file *f, const char *name, struct ks_err *err)
{
    struct ks_sources s = { 0 };
    const char **names = NULL, *near = NULL;
    int rc = ks_sources_training(&s, f, KS_COLUMNS_V2, err);

    if (rc == 0) {
        names = calloc(s.n + 1, sizeof(*names));
        for (size_t i = 0; names && i < s.n; i++)
            names[i] = s.at[i].name;
        near = names ? ks_nearest(name, names) : NULL;
        rc = ks_fail(err, KS_EINVAL, "unknown column '%s'%s%s%s", name,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    free(names);
    ks_sources_release(&s);
    return rc;
}

/* "/blocks/anchor_ns": of that table. */
static const struct ks_column *find_by_path(const char *name, unsigned *from_out)
{
    const char *end = strrchr(name, '/');

    for (unsigned t = 0; end && t < KS_T_COUNT; t++) {
        const char *path = ks_table_defs[t].path;

        if (strlen(path) != (size_t)(end - name) || strncmp(path, name, strlen(path)) != 0)
            continue;
        *from_out = t;
        return ks_table_column(&ks_table_defs[t], end + 1);
    }
    return NULL;
}

static const struct ks_column *find_in_tables(const char *name, unsigned *from_out)
{
    const struct ks_column *c = ks_table_column(&ks_table_defs[KS_T_MEASUREMENTS], name);

    *from_out = KS_T_MEASUREMENTS;
    for (size_t t = 0; !c && t < N(joined_tables); t++) {
        *from_out = joined_tables[t];
        c = ks_table_column(&ks_table_defs[*from_out], name);
        c = c && c->is_in_csv ? c : NULL;
    }
    if (!c && strcmp(name, problem_class.name) == 0) {
        *from_out = KS_FROM_CLASS;
        c = &problem_class;
    }
    for (size_t i = 0; !c && i < N(computed); i++) {
        *from_out = KS_FROM_LEARN;
        c = strcmp(computed[i].name, name) == 0 ? &computed[i] : NULL;
    }
    return c ? c : find_by_path(name, from_out);
}

int ks_sources_need(struct ks_sources *s, const struct ks_store_file *f, const char *name,
                    const char *number_as, struct ks_err *err)
{
    const struct ks_column *found;
    unsigned from;
    int rc;

    if (has_name(s, number_as ? number_as : name))
        return 0;
    for (uint32_t i = 0; i < ks_store_info(f)->n_dims; i++) {
        struct ks_column def = ks_dim_column_def(ks_store_dim_name(f, i), i);

        if (strcmp(def.name, name) == 0)
            return add(s, &def, KS_T_PROBLEMS, err);
    }
    found = find_in_tables(name, &from);
    if (!found)
        return is_trait(f, name) ? add_trait(s, name, err) : unknown(f, name, err);
    rc = add(s, found, from, err);
    if (rc == 0) {
        s->at[s->n - 1].name = number_as ? number_as : name;
        s->at[s->n - 1].is_number = number_as != NULL;
    }
    return rc;
}

/* ---- as a column of a frame ---- */

uint8_t ks_source_type(const struct ks_source *source)
{
    const struct ks_column *c = &source->def;
    bool is_word = c->show != KS_SHOW_PLAIN && c->show != KS_SHOW_HEX && !source->is_number;

    if (c->type == KS_COL_TEXT || c->type == KS_COL_POINTER || is_word)
        return KS_DF_TEXT;
    return source->is_ms || c->type == KS_COL_F32 || c->type == KS_COL_F64 ? KS_DF_F64 : KS_DF_I64;
}

uint8_t ks_source_show(const struct ks_source *source)
{
    if (source->def.show == KS_SHOW_HEX)
        return KS_AS_HEX;
    if (source->def.type == KS_COL_F32)
        return KS_AS_F32;
    return source->def.type == KS_COL_U64 && !source->is_ms ? KS_AS_UNSIGNED : KS_AS_NUMBER;
}
