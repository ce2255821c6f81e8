/* SPDX-License-Identifier: MIT */
#include "analysis/data/reader.h"
#include "analysis/data/fill.h"
#include "analysis/data/side.h"
#include "base/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column is of /measurements (fill), of a joined table (side), or neither: left to learn. */
struct column {
    uint8_t from; /* enum ks_from */
    struct ks_fill fill;
    struct ks_side side;
};

struct ks_reader {
    struct ks_view *view;
    struct ks_names names;
    struct column *columns; /* [n_columns] */
    struct ks_df frame;
    struct ks_place row_of[KS_N_FROM]; /* a joined table's row in a row of /measurements */
    uint32_t *code[KS_N_FROM];         /* [cap]; of KS_FROM_LEARN: KS_DF_NONE throughout */
    uint8_t *packed;                   /* [cap] rows */
    size_t batch_rows, cap;
};

static const char *const row_columns[KS_N_FROM] = {
    [KS_FROM_RUN] = "run",       [KS_FROM_PROBLEM] = "problem", [KS_FROM_KERNEL] = "kernel",
    [KS_FROM_DEVICE] = "device", [KS_FROM_BLOCK] = "block",
};

static bool is_joined(uint8_t from)
{
    return from != KS_FROM_ROW && from != KS_FROM_LEARN;
}

/* ---- names ---- */

static int unknown(const struct ks_store_file *f, const char *name, struct ks_err *err)
{
    struct ks_names names = { 0 };
    const char *near;
    int rc = ks_training_columns(f, &names, err);

    if (rc == 0)
        rc = ks_names_add(&names, "", err); /* makes room for the end */
    if (rc == 0) {
        free(names.at[--names.n]);
        names.at[names.n] = NULL;
        near = ks_nearest(name, (const char *const *)names.at);
        rc = ks_fail(err, KS_EINVAL, "there is no column '%s'%s%s%s", name,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    ks_names_release(&names);
    return rc;
}

/* The dimension of that name, UINT32_MAX if the file has none. */
static uint32_t dim_of(const struct ks_store_file *f, const char *name)
{
    for (uint32_t i = 0; i < ks_store_info(f)->n_dims; i++)
        if (strcmp(ks_store_dim_name(f, i), name) == 0)
            return i;
    return UINT32_MAX;
}

/* Values of a joined column; *from_out: of which table. KS_EINVAL: no such column. */
static int load_side(const struct ks_store_file *f, const char *name, struct ks_side *side,
                     uint8_t *from_out, struct ks_err *err)
{
    const struct ks_source *s = ks_source_find(name);
    const size_t prefix = strlen(KS_TRAIT_PREFIX);
    uint32_t dim = dim_of(f, name);

    *from_out = s ? s->from : KS_FROM_PROBLEM;
    if (s)
        return ks_side_fill(f, s, side, err);
    if (dim != UINT32_MAX)
        return ks_side_dim(f, dim, side, err);
    *from_out = KS_FROM_KERNEL;
    if (strncmp(name, KS_TRAIT_PREFIX, prefix) == 0)
        return ks_side_trait(f, name + prefix, side, err);
    return unknown(f, name, err);
}

static void show_side(const struct ks_side *side, struct ks_df_column *out)
{
    out->type = side->type;
    out->n_values = side->n;
    out->values.f64 = side->values.f64;
    out->missing = side->missing;
}

static void describe(const char *name, struct ks_df_column *out)
{
    const struct ks_source *s = ks_source_find(name);

    *out = (struct ks_df_column){ .name = name,
                                  .unit = s ? s->unit : "",
                                  .type = s ? s->type : KS_DF_I64,
                                  .show = s ? s->show : KS_AS_NUMBER };
}

/* ---- opening ---- */

static int open_column(struct ks_reader *r, size_t i, struct ks_err *err)
{
    const char *name = r->names.at[i];
    const struct ks_source *s = ks_source_find(name);
    struct column *c = &r->columns[i];
    struct ks_df_column *shown = &r->frame.columns[i];
    int rc = 0;

    describe(name, shown);
    c->from = s ? s->from : KS_FROM_PROBLEM;
    if (c->from == KS_FROM_ROW) {
        rc = ks_fill_init(&c->fill, s, ks_view_batch(r->view), err);
        if (rc == 0)
            shown->type = ks_fill_type(&c->fill);
    } else if (c->from != KS_FROM_LEARN) {
        rc = load_side(ks_view_file(r->view), name, &c->side, &c->from, err);
        if (rc == 0)
            show_side(&c->side, shown);
    }
    if (rc == 0 && is_joined(c->from))
        rc = ks_batch_place(ks_view_batch(r->view), row_columns[c->from], &r->row_of[c->from], err);
    return rc;
}

static int copy_names(struct ks_reader *r, const char *const *columns, size_t n, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = ks_names_add(&r->names, columns[i], err);
    if (rc < 0)
        return rc;
    r->columns = calloc(n + 1, sizeof(*r->columns));
    r->frame.columns = calloc(n + 1, sizeof(*r->frame.columns));
    r->frame.n_columns = n;
    return r->columns && r->frame.columns ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

int ks_reader_open(struct ks_view *v, const char *const *columns, size_t n_columns,
                   size_t batch_rows, struct ks_reader **reader_out, struct ks_err *err)
{
    struct ks_reader *r = calloc(1, sizeof(*r));
    int rc = r ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0) {
        r->view = v;
        r->batch_rows = batch_rows ? batch_rows : KS_BATCH_ROWS;
        rc = copy_names(r, columns, n_columns, err);
    }
    for (size_t i = 0; rc == 0 && i < n_columns; i++)
        rc = open_column(r, i, err);
    if (rc < 0) {
        ks_reader_close(r);
        return rc;
    }
    *reader_out = r;
    return 0;
}

void ks_reader_close(struct ks_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->columns && i < r->frame.n_columns; i++) {
        ks_fill_release(&r->columns[i].fill);
        ks_side_release(&r->columns[i].side);
    }
    for (size_t i = 0; i < KS_N_FROM; i++)
        free(r->code[i]);
    free(r->columns);
    free(r->frame.columns);
    free(r->packed);
    ks_names_release(&r->names);
    free(r);
}

const struct ks_df *ks_reader_df(const struct ks_reader *r)
{
    return &r->frame;
}

/* ---- batches ---- */

static int reserve(struct ks_reader *r, size_t n, struct ks_err *err)
{
    int rc = 0;

    if (n <= r->cap)
        return 0;
    r->cap = 0;
    free(r->packed);
    r->packed = malloc(n * ks_batch_row_bytes(ks_view_batch(r->view)));
    if (!r->packed)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    for (size_t i = 0; rc == 0 && i < r->frame.n_columns; i++)
        if (r->columns[i].from == KS_FROM_ROW)
            rc = ks_fill_reserve(&r->columns[i].fill, n, err);
    for (size_t i = KS_FROM_RUN; rc == 0 && i < KS_N_FROM; i++) {
        free(r->code[i]);
        r->code[i] = malloc(n * sizeof(*r->code[i]));
        if (!r->code[i])
            rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    }
    if (rc == 0)
        memset(r->code[KS_FROM_LEARN], 0xff, n * sizeof(*r->code[0]));
    if (rc == 0)
        r->cap = n;
    return rc;
}

/* The rows of joined tables; a row of /measurements may refer to none. */
static void fill_codes(struct ks_reader *r, size_t n)
{
    size_t stride = ks_batch_row_bytes(ks_view_batch(r->view));

    for (uint8_t from = KS_FROM_RUN; from < KS_FROM_LEARN; from++) {
        size_t n_rows = ks_side_rows(ks_view_file(r->view), from);
        const struct ks_place *p = &r->row_of[from];

        for (size_t i = 0; p->len && i < n; i++) {
            uint64_t row = (uint64_t)ks_place_i64(p, r->packed + i * stride);

            r->code[from][i] = row < n_rows ? (uint32_t)row : KS_DF_NONE;
        }
    }
}

static int fill_column(struct ks_reader *r, size_t i, size_t n, struct ks_err *err)
{
    struct column *c = &r->columns[i];
    struct ks_df_column *shown = &r->frame.columns[i];
    int rc;

    if (c->from != KS_FROM_ROW) {
        shown->code = r->code[c->from];
        return 0;
    }
    rc = ks_fill_rows(&c->fill, r->packed, ks_batch_row_bytes(ks_view_batch(r->view)), n, err);
    shown->code = c->fill.code;
    shown->missing = c->fill.missing;
    shown->n_values = n;
    if (shown->type == KS_DF_TEXT) {
        shown->n_values = c->fill.words.n;
        shown->values.text = (const char *const *)c->fill.words.text;
    } else {
        shown->values.f64 = c->fill.values.f64;
    }
    return rc;
}

int ks_reader_next(struct ks_reader *r, struct ks_df **frame_out, struct ks_err *err)
{
    uint64_t first = r->frame.first_row + r->frame.n_rows;
    const uint64_t *rows;
    size_t n;
    int rc;

    ks_view_rows(r->view, first, r->batch_rows, &rows, &n);
    if (n == 0)
        return 0;
    rc = reserve(r, n, err);
    if (rc == 0)
        rc = ks_batch_rows(ks_view_batch(r->view), rows, n, r->packed, err);
    if (rc < 0)
        return rc;
    fill_codes(r, n);
    for (size_t i = 0; rc == 0 && i < r->frame.n_columns; i++)
        rc = fill_column(r, i, n, err);
    if (rc < 0)
        return rc;
    r->frame.first_row = first;
    r->frame.n_rows = n;
    *frame_out = &r->frame;
    return 1;
}

/* ---- joined tables ---- */

struct ks_joined {
    struct ks_names names;
    struct ks_side *sides; /* [n_columns] */
    struct ks_df frame;
};

static int join_column(struct ks_joined *j, const struct ks_store_file *f, enum ks_from from,
                       const char *name, struct ks_err *err)
{
    const struct ks_source *s = ks_source_find(name);
    size_t i = j->frame.n_columns;
    uint8_t found;
    int rc;

    if (s && !is_joined(s->from))
        return ks_fail(err, KS_EINVAL, "'%s' is not a column of a joined table", name);
    rc = ks_names_add(&j->names, name, err);
    if (rc == 0)
        rc = load_side(f, name, &j->sides[i], &found, err);
    if (rc < 0)
        return rc;
    describe(j->names.at[i], &j->frame.columns[i]);
    show_side(&j->sides[i], &j->frame.columns[i]);
    j->frame.n_columns++;
    return found == from ? 0 : ks_fail(err, KS_EINVAL, "'%s' is a column of another table", name);
}

int ks_joined_open(const struct ks_store_file *f, enum ks_from from, const char *const *columns,
                   size_t n_columns, struct ks_joined **joined_out, struct ks_err *err)
{
    struct ks_joined *j = calloc(1, sizeof(*j));
    int rc = 0;

    if (j) {
        j->sides = calloc(n_columns + 1, sizeof(*j->sides));
        j->frame.columns = calloc(n_columns + 1, sizeof(*j->frame.columns));
        j->frame.n_rows = ks_side_rows(f, from);
    }
    if (!j || !j->sides || !j->frame.columns)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n_columns; i++)
        rc = join_column(j, f, from, columns[i], err);
    if (rc < 0) {
        ks_joined_close(j);
        return rc;
    }
    *joined_out = j;
    return 0;
}

const struct ks_df *ks_joined_df(const struct ks_joined *j)
{
    return &j->frame;
}

void ks_joined_close(struct ks_joined *j)
{
    if (!j)
        return;
    for (size_t i = 0; j->sides && i < j->names.n; i++)
        ks_side_release(&j->sides[i]);
    free(j->sides);
    free(j->frame.columns);
    ks_names_release(&j->names);
    free(j);
}
