/* SPDX-License-Identifier: MIT */
/* rows.c - a frame that is filled row by row, then written in any format */
#include "analysis/out/rows.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

union cell {
    double f64;
    int64_t i64;
    const char *text;
};
_Static_assert(sizeof(union cell) == 8, "a column is an array of any of the three");

struct ks_rows {
    struct ks_df df;
    union cell *cells; /* [n_columns][cap] */
    uint8_t *missing;  /* likewise */
    uint32_t *code;    /* likewise; of texts: the row itself, KS_DF_NONE where it is missing */
    size_t cap;
};

int ks_rows_create(const struct ks_rows_column *columns, size_t n_columns, size_t n_rows,
                   struct ks_rows **rows_out, struct ks_err *err)
{
    struct ks_rows *r = calloc(1, sizeof(*r));

    if (r) {
        r->cap = n_rows + 1;
        r->df.n_columns = n_columns;
        r->df.columns = calloc(n_columns, sizeof(*r->df.columns));
        r->cells = calloc(n_columns * r->cap, sizeof(*r->cells));
        r->missing = malloc(n_columns * r->cap);
        r->code = malloc(n_columns * r->cap * sizeof(*r->code));
    }
    if (!r || !r->df.columns || !r->cells || !r->missing || !r->code) {
        ks_rows_destroy(r);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n_rows);
    }
    memset(r->missing, 1, n_columns * r->cap);
    memset(r->code, 0xff, n_columns * r->cap * sizeof(*r->code));
    for (size_t i = 0; i < n_columns; i++) {
        struct ks_df_column *c = &r->df.columns[i];

        *c = (struct ks_df_column){ .name = columns[i].name,
                                    .origin = columns[i].name,
                                    .unit = columns[i].unit,
                                    .type = columns[i].type,
                                    .show = columns[i].show,
                                    .missing = r->missing + i * r->cap };
        c->values.f64 = &r->cells[i * r->cap].f64;
        c->code = columns[i].type == KS_DF_TEXT ? r->code + i * r->cap : NULL;
    }
    *rows_out = r;
    return 0;
}

void ks_rows_destroy(struct ks_rows *r)
{
    if (!r)
        return;
    free(r->df.columns);
    free(r->cells);
    free(r->missing);
    free(r->code);
    free(r);
}

void ks_rows_next(struct ks_rows *r)
{
    assert(r->df.n_rows + 1 < r->cap);
    r->df.n_rows++;
}

static union cell *cell_at(struct ks_rows *r, size_t column, uint8_t type)
{
    size_t at = column * r->cap + r->df.n_rows - 1;

    (void)type; /* only assert() looks at it */
    assert(r->df.n_rows > 0 && r->df.columns[column].type == type);
    r->missing[at] = 0;
    r->code[at] = (uint32_t)(r->df.n_rows - 1);
    return &r->cells[at];
}

void ks_rows_text(struct ks_rows *r, size_t column, const char *text)
{
    cell_at(r, column, KS_DF_TEXT)->text = text;
}

void ks_rows_f64(struct ks_rows *r, size_t column, double v)
{
    if (isfinite(v))
        cell_at(r, column, KS_DF_F64)->f64 = v;
}

void ks_rows_i64(struct ks_rows *r, size_t column, int64_t v)
{
    cell_at(r, column, KS_DF_I64)->i64 = v;
}

const struct ks_df *ks_rows_df(struct ks_rows *r)
{
    for (size_t i = 0; i < r->df.n_columns; i++)
        r->df.columns[i].n_values = r->df.n_rows;
    return &r->df;
}

int ks_rows_write(struct ks_rows *r, const struct ks_format *format, struct ks_sink *to,
                  struct ks_err *err)
{
    const struct ks_df *f = ks_rows_df(r);
    void *state = calloc(1, format->state_size);
    int rc = state ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = format->begin(state, f, f->n_columns, to, err);
    if (rc == 0)
        rc = format->put(state, f, f->n_columns, to, err);
    if (rc == 0)
        rc = format->end(state, to, err);
    if (state)
        format->release(state);
    free(state);
    return rc;
}
