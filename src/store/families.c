/* SPDX-License-Identifier: MIT */
/* families.c - writes a table per family, whose columns are typed by the traits' values */
#include "store/families.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_CAP sizeof(((struct ks_trait_row *)0)->value)

struct family {
    const char *name;
    char path[160];
    struct ks_column columns[KS_INDEX_COLUMNS];
    char names[KS_INDEX_COLUMNS][sizeof(KS_TRAIT_PREFIX) + sizeof(((struct ks_trait_row *)0)->key)];
    uint32_t text_len[KS_INDEX_COLUMNS];
    struct ks_table_def def;
    uint64_t n_rows;
};

static bool is_whole_number(const char *text, int64_t *out)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (end == text || *end || errno || isspace((unsigned char)*text))
        return false;
    *out = v;
    return true;
}

static const struct ks_trait_row *trait_at(const struct ks_index *x, size_t i)
{
    return ks_list_at(&x->traits, i);
}

static bool is_of(const struct ks_trait_row *t, const struct family *f)
{
    return strcmp(t->family, f->name) == 0;
}

static bool is_column_of(const struct ks_column *c, const char *key)
{
    return strcmp(c->name + strlen(KS_TRAIT_PREFIX), key) == 0;
}

static int column_of(struct family *f, const char *key, size_t *k_out, struct ks_err *err)
{
    struct ks_table_def *def = &f->def;

    for (*k_out = 1; *k_out < def->n_columns; (*k_out)++)
        if (is_column_of(&f->columns[*k_out], key))
            return 0;
    if (def->n_columns == KS_INDEX_COLUMNS)
        return ks_fail(err, KS_EUNSUPPORTED, "family '%s' has more than %d traits", f->name,
                       KS_INDEX_COLUMNS - 1);
    snprintf(f->names[*k_out], sizeof(f->names[0]), KS_TRAIT_PREFIX "%s", key);
    f->columns[def->n_columns++] = (struct ks_column){ .name = f->names[*k_out],
                                                       .type = KS_COL_I64,
                                                       .fill = KS_FILL_MISSING,
                                                       .cap = TEXT_CAP,
                                                       .missing = (double)KS_MISSING_DIM,
                                                       .units = "" };
    return 0;
}

/* Columns in order of first appearance; integers unless a value says otherwise. */
static int find_columns(const struct ks_index *x, struct family *f, struct ks_err *err)
{
    int64_t number;
    size_t k;

    for (size_t i = 0; i < x->traits.n; i++) {
        const struct ks_trait_row *t = trait_at(x, i);
        int rc;

        if (!is_of(t, f))
            continue;
        rc = column_of(f, t->key, &k, err);
        if (rc < 0)
            return rc;
        if (!is_whole_number(t->value, &number))
            f->columns[k].type = KS_COL_TEXT;
        if (strlen(t->value) > f->text_len[k])
            f->text_len[k] = (uint32_t)strlen(t->value);
        f->n_rows += i == 0 || trait_at(x, i - 1)->instance_id != t->instance_id;
    }
    return 0;
}

static void place_columns(struct family *f)
{
    size_t at = sizeof(uint64_t);

    for (size_t k = 1; k < f->def.n_columns; k++) {
        struct ks_column *c = &f->columns[k];

        if (c->type == KS_COL_TEXT)
            c->fill = KS_FILL_NONE;
        c->offset = (uint32_t)at;
        at += c->type == KS_COL_TEXT ? TEXT_CAP : sizeof(int64_t);
    }
    f->def.row_size = at;
}

static void put_value(const struct family *f, const struct ks_trait_row *t, char *row)
{
    for (size_t k = 1; k < f->def.n_columns; k++) {
        const struct ks_column *c = &f->columns[k];
        int64_t number;

        if (!is_column_of(c, t->key))
            continue;
        if (c->type == KS_COL_TEXT)
            memcpy(row + c->offset, t->value, TEXT_CAP);
        else if (is_whole_number(t->value, &number))
            memcpy(row + c->offset, &number, sizeof(number));
    }
}

static void blank_row(const struct family *f, uint64_t instance, char *row)
{
    int64_t missing = KS_MISSING_DIM;

    memset(row, 0, f->def.row_size);
    memcpy(row, &instance, sizeof(instance));
    for (size_t k = 1; k < f->def.n_columns; k++)
        if (f->columns[k].type == KS_COL_I64)
            memcpy(row + f->columns[k].offset, &missing, sizeof(missing));
}

/* Traits of one instance lie together. */
static int put_rows(const struct ks_index *x, const struct family *f, struct ks_table_writer *w,
                    struct ks_err *err)
{
    char *row = malloc(f->def.row_size);
    int rc = row ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < x->traits.n; i++) {
        const struct ks_trait_row *t = trait_at(x, i);

        if (!is_of(t, f))
            continue;
        if (i == 0 || trait_at(x, i - 1)->instance_id != t->instance_id)
            blank_row(f, t->instance_id, row);
        put_value(f, t, row);
        if (i + 1 == x->traits.n || trait_at(x, i + 1)->instance_id != t->instance_id)
            rc = ks_table_put(w, row, err);
    }
    free(row);
    return rc;
}

/* Names become part of a path; "long" is the table of all families. */
static void name_path(struct family *f)
{
    size_t start = (size_t)snprintf(f->path, sizeof(f->path), "/kernel_traits/");

    snprintf(f->path + start, sizeof(f->path) - start, "%s%s", f->name,
             strcmp(f->name, "long") == 0 ? "_" : "");
    for (char *p = f->path + start; *p; p++)
        if (*p == '/' || (start && p == f->path + start && *p == '.'))
            *p = '_';
}

static int write_family(const struct ks_index *x, const char *name, hid_t file,
                        struct ks_list *digests, struct ks_err *err)
{
    struct family f = { .name = name };
    struct ks_table_writer w = { 0 };
    struct ks_digest *d;
    void *added;
    int rc;

    f.columns[0] = (struct ks_column){ .name = "instance_id", .type = KS_COL_U64, .units = "" };
    name_path(&f);
    f.def = (struct ks_table_def){ f.path, "traits of a family", f.columns, 1, 0 };
    rc = find_columns(x, &f, err);
    if (rc < 0 || f.n_rows == 0)
        return rc;
    place_columns(&f);
    rc = ks_table_create(&w, file, &f.def, f.text_len, f.n_rows, 0, err);
    if (rc == 0)
        rc = put_rows(x, &f, &w, err);
    if (rc == 0)
        rc = ks_table_finish(&w, err);
    if (rc == 0)
        rc = ks_list_add(digests, &added, err);
    if (rc == 0) {
        d = added;
        *d = (struct ks_digest){ .n = w.rows.n_rows, .crc = w.rows.crc };
        memcpy(d->path, f.path, sizeof(d->path));
    }
    ks_table_drop(&w);
    return rc;
}

int ks_families_write(const struct ks_index *x, hid_t file, struct ks_list *digests,
                      struct ks_err *err)
{
    for (size_t i = 0; i < x->traits.n; i++) {
        const char *name = trait_at(x, i)->family;
        bool is_first = name[0] != '\0';
        int rc;

        for (size_t k = 0; is_first && k < i; k++)
            is_first = strcmp(trait_at(x, k)->family, name) != 0;
        rc = is_first ? write_family(x, name, file, digests, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}
