/* SPDX-License-Identifier: MIT */
/* reader.c - reads a view batch by batch, one column after another */
#include "analysis/data/reader.h"
#include "analysis/data/fill.h"
#include "analysis/data/side.h"

#include <stdlib.h>
#include <string.h>

#define CACHED_ROWS ((size_t)128)

/* A column is of /measurements (fill), of a joined table (side), or neither: left to learn. */
struct column {
    unsigned from;
    struct ks_fill fill;
    struct ks_side side;
};

struct ks_reader {
    struct ks_view *view;
    struct column *columns; /* [n_columns] */
    struct ks_df frame;
    struct ks_place row_of[KS_N_FROM]; /* a joined table's row in a row of /measurements */
    uint32_t *code[KS_N_FROM];         /* [cap]; of KS_FROM_LEARN: KS_DF_NONE throughout */
    uint8_t *packed;                   /* [cap] rows */
    size_t batch_rows, cap;
};

/* The column of /measurements that is a row of the table. */
static const char *const row_columns[KS_N_FROM] = {
    [KS_T_RUNS] = "run",         [KS_T_PROBLEMS] = "problem", [KS_T_KERNELS] = "kernel",
    [KS_T_DEVICES] = "device",   [KS_T_BLOCKS] = "block",     [KS_FROM_TRAITS] = "kernel",
    [KS_FROM_CLASS] = "problem",
};

static void describe(const struct ks_source *source, struct ks_df_column *out)
{
    *out = (struct ks_df_column){ .name = source->name,
                                  .origin = source->def.name,
                                  .unit = source->is_ms ? "ms" : source->def.units,
                                  .role = source->def.role,
                                  .type = ks_source_type(source),
                                  .show = ks_source_show(source) };
}

static void show_side(const struct ks_side *side, struct ks_df_column *out)
{
    out->type = side->type;
    out->n_values = side->n;
    out->values.f64 = side->values.f64;
    out->missing = side->missing;
}

static int open_column(struct ks_reader *r, const struct ks_source *source, size_t i,
                       struct ks_err *err)
{
    struct ks_batch *b = ks_view_batch(r->view);
    struct column *c = &r->columns[i];
    int rc;

    describe(source, &r->frame.columns[i]);
    c->from = source->from;
    if (c->from == KS_FROM_LEARN)
        return 0;
    if (c->from == KS_T_MEASUREMENTS)
        return ks_fill_init(&c->fill, source, b, err);
    rc = ks_side_fill(ks_view_file(r->view), source, &c->side, err);
    if (rc == 0)
        rc = ks_batch_place(b, row_columns[c->from], &r->row_of[c->from], err);
    if (rc == 0)
        show_side(&c->side, &r->frame.columns[i]);
    return rc;
}

int ks_reader_open(struct ks_view *v, const struct ks_sources *sources, size_t batch_rows,
                   struct ks_reader **reader_out, struct ks_err *err)
{
    struct ks_reader *r = calloc(1, sizeof(*r));
    int rc = 0;

    if (r) {
        r->view = v;
        r->batch_rows = batch_rows ? batch_rows : KS_BATCH_ROWS;
        r->columns = calloc(sources->n + 1, sizeof(*r->columns));
        r->frame.columns = calloc(sources->n + 1, sizeof(*r->frame.columns));
        r->frame.n_columns = sources->n;
    }
    if (!r || !r->columns || !r->frame.columns)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < sources->n; i++)
        rc = open_column(r, &sources->at[i], i, err);
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
    free(r);
}

const struct ks_df *ks_reader_df(const struct ks_reader *r)
{
    return &r->frame;
}

/* ---- batches ---- */

static bool has_codes(unsigned from)
{
    return from == KS_FROM_LEARN || row_columns[from];
}

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
        if (r->columns[i].from == KS_T_MEASUREMENTS)
            rc = ks_fill_reserve(&r->columns[i].fill, n, err);
    for (unsigned from = 0; rc == 0 && from < KS_N_FROM; from++) {
        free(r->code[from]);
        r->code[from] = has_codes(from) ? malloc(n * sizeof(*r->code[from])) : NULL;
        if (has_codes(from) && !r->code[from])
            rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    }
    if (rc < 0)
        return rc;
    memset(r->code[KS_FROM_LEARN], 0xff, n * sizeof(*r->code[0]));
    r->cap = n;
    return 0;
}

/* The rows of joined tables; a row of /measurements may refer to none. */
static void fill_codes(struct ks_reader *r, size_t n)
{
    size_t stride = ks_batch_row_bytes(ks_view_batch(r->view));

    for (unsigned from = 0; from < KS_N_FROM; from++) {
        size_t n_rows = ks_side_rows(ks_view_file(r->view), from);
        const struct ks_place *p = &r->row_of[from];

        for (size_t i = 0; p->units && i < n; i++) {
            uint64_t row = (uint64_t)ks_place_i64(p, r->packed + i * stride);

            r->code[from][i] = row < n_rows ? (uint32_t)row : KS_DF_NONE;
        }
    }
}

/* Rows [at, at + n) of one column. */
static int fill_column(struct ks_reader *r, size_t i, size_t at, size_t n, struct ks_err *err)
{
    struct column *c = &r->columns[i];

    if (c->from != KS_T_MEASUREMENTS)
        return 0;
    return ks_fill_rows(&c->fill, r->packed, ks_batch_row_bytes(ks_view_batch(r->view)), at, n,
                        err);
}

static void show_column(struct ks_reader *r, size_t i, size_t n)
{
    const struct column *c = &r->columns[i];
    struct ks_df_column *shown = &r->frame.columns[i];

    if (c->from != KS_T_MEASUREMENTS) {
        shown->code = r->code[c->from];
        return;
    }
    shown->code = c->fill.code;
    shown->missing = c->fill.missing;
    shown->n_values = n;
    if (shown->type == KS_DF_TEXT) {
        shown->n_values = c->fill.words.n;
        shown->values.text = (const char *const *)c->fill.words.text;
    } else {
        shown->values.f64 = c->fill.values.f64;
    }
}

/* Rows are far longer than a column's value in them: so many at a time that they stay in a core's
 * cache while one column after another is taken from them. */
static int fill_columns(struct ks_reader *r, size_t n, struct ks_err *err)
{
    int rc = 0;

    for (size_t at = 0, some; rc == 0 && at < n; at += some) {
        some = n - at < CACHED_ROWS ? n - at : CACHED_ROWS;
        for (size_t i = 0; rc == 0 && i < r->frame.n_columns; i++)
            rc = fill_column(r, i, at, some, err);
    }
    for (size_t i = 0; rc == 0 && i < r->frame.n_columns; i++)
        show_column(r, i, n);
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
    rc = fill_columns(r, n, err);
    if (rc < 0)
        return rc;
    r->frame.first_row = first;
    r->frame.n_rows = n;
    *frame_out = &r->frame;
    return 1;
}

/* ---- joined tables ---- */

struct ks_joined {
    struct ks_side *sides; /* [n_columns] */
    size_t n_sides;
    struct ks_df frame;
};

static int join_column(struct ks_joined *j, const struct ks_store_file *f, enum ks_table_id table,
                       const char *name, struct ks_err *err)
{
    const struct ks_column *def = ks_table_column(&ks_table_defs[table], name);
    struct ks_source source = { .name = name, .from = table };
    size_t i = j->n_sides++;
    int rc;

    if (!def)
        return ks_fail(err, KS_EINVAL, "%s has no column '%s'", ks_table_defs[table].path, name);
    source.def = *def;
    rc = ks_side_fill(f, &source, &j->sides[i], err);
    if (rc < 0)
        return rc;
    describe(&source, &j->frame.columns[i]);
    show_side(&j->sides[i], &j->frame.columns[i]);
    return 0;
}

int ks_joined_open(const struct ks_store_file *f, enum ks_table_id table,
                   const char *const *columns, size_t n_columns, struct ks_joined **joined_out,
                   struct ks_err *err)
{
    struct ks_joined *j = calloc(1, sizeof(*j));
    int rc = 0;

    if (j) {
        j->sides = calloc(n_columns + 1, sizeof(*j->sides));
        j->frame.columns = calloc(n_columns + 1, sizeof(*j->frame.columns));
        j->frame.n_columns = n_columns;
        j->frame.n_rows = ks_side_rows(f, table);
    }
    if (!j || !j->sides || !j->frame.columns)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n_columns; i++)
        rc = join_column(j, f, table, columns[i], err);
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
    for (size_t i = 0; j->sides && i < j->n_sides; i++)
        ks_side_release(&j->sides[i]);
    free(j->sides);
    free(j->frame.columns);
    free(j);
}
