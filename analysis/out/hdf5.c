/* SPDX-License-Identifier: MIT */
/* hdf5.c - writes one HDF5 table, "/table" */
/* The rows and columns are those of the CSV, with types; ids are texts of hex digits, as there.
 * Texts have a fixed length, so the rows are read twice. */
#include "analysis/out/writer.h"
#include "store/flat.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {      /* of one column */
    size_t n_seen; /* values of its dictionary */
    uint32_t longest;
    bool is_negative; /* it has a number below 0: the usual missing value could be one of them */
};

struct state {
    struct ks_flat_column *columns; /* [n_columns] */
    struct seen *seen;              /* [n_columns] */
    size_t n_columns;
    struct ks_flat *file;
};

static void release(void *state)
{
    struct state *s = state;

    ks_flat_close(s->file);
    free(s->columns);
    free(s->seen);
}

static int allocate(struct state *s, size_t n, struct ks_err *err)
{
    if (s->seen)
        return 0;
    s->n_columns = n;
    s->columns = calloc(n + 1, sizeof(*s->columns));
    s->seen = calloc(n + 1, sizeof(*s->seen));
    return s->columns && s->seen ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

static bool is_hex(const struct ks_df_column *c)
{
    return c->type == KS_DF_I64 && c->show == KS_AS_HEX;
}

static int look(void *state, const struct ks_df *f, size_t n_columns, struct ks_err *err)
{
    struct state *s = state;
    int rc = allocate(s, n_columns, err);

    for (size_t i = 0; rc == 0 && i < n_columns; i++) {
        const struct ks_df_column *c = &f->columns[i];
        struct seen *t = &s->seen[i];

        for (size_t k = c->code ? t->n_seen : 0; c->type == KS_DF_F64 && k < c->n_values; k++)
            t->is_negative =
                t->is_negative || (!(c->missing && c->missing[k]) && c->values.f64[k] < 0);
        if (is_hex(c))
            t->longest = 16;
        for (size_t k = t->n_seen; c->type == KS_DF_TEXT && k < c->n_values; k++) {
            size_t n = c->values.text[k] ? strlen(c->values.text[k]) : 0;

            t->longest = n > t->longest ? (uint32_t)n : t->longest;
        }
        t->n_seen = c->n_values;
    }
    return rc;
}

static int begin(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err)
{
    struct state *s = state;
    int rc = allocate(s, n_columns, err);

    for (size_t i = 0; rc == 0 && i < n_columns; i++) {
        const struct ks_df_column *c = &f->columns[i];
        bool is_text = c->type == KS_DF_TEXT || is_hex(c);

        s->columns[i] =
            (struct ks_flat_column){ .name = c->name,
                                     .unit = c->unit ? c->unit : "",
                                     .type = is_text                ? KS_COL_TEXT
                                             : c->type == KS_DF_I64 ? KS_COL_I64
                                             : c->show == KS_AS_F32 ? KS_COL_F32
                                                                    : KS_COL_F64,
                                     .text_len = s->seen[i].longest,
                                     .no_real =
                                         s->seen[i].is_negative ? -FLT_MAX : KS_FLAT_NO_REAL };
    }
    return rc == 0 ? ks_flat_create(to->fd, "table of ksweep-analyze", s->columns, n_columns,
                                    &s->file, err)
                   : rc;
}

static int put_value(struct state *s, const struct ks_df_column *c, size_t i, size_t row,
                     struct ks_err *err)
{
    bool has = ks_df_has(c, row);
    void *to = ks_flat_at(s->file, i);
    int64_t whole = ks_df_i64(c, row, KS_FLAT_NO_I64);
    double real;

    if (is_hex(c)) {
        *(char *)to = '\0';
        if (has)
            snprintf(to, 17, "%016llx", (unsigned long long)whole);
    } else if (c->type == KS_DF_TEXT) {
        const char *text = has ? ks_df_text(c, row) : "";

        if (strlen(text) > s->seen[i].longest)
            return ks_fail(err, KS_EIO, "column '%s': the file changed while it was read", c->name);
        memcpy(to, text, strlen(text) + 1);
    } else if (c->type == KS_DF_I64) {
        memcpy(to, &whole, sizeof(whole));
    } else {
        real = ks_df_f64(c, row, s->columns[i].no_real);
        memcpy(to, &real, sizeof(real));
    }
    return 0;
}

static int put(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
               struct ks_err *err)
{
    struct state *s = state;
    int rc = 0;

    (void)to;
    for (size_t row = 0; rc == 0 && row < f->n_rows; row++) {
        for (size_t i = 0; rc == 0 && i < n_columns; i++)
            rc = put_value(s, &f->columns[i], i, row, err);
        if (rc == 0)
            rc = ks_flat_put(s->file, err);
    }
    return rc;
}

static int end(void *state, struct ks_sink *to, struct ks_err *err)
{
    struct state *s = state;

    (void)to;
    return ks_flat_finish(s->file, err);
}

const struct ks_format ks_format_hdf5 = {
    .name = "hdf5",
    .state_size = sizeof(struct state),
    .look = look,
    .begin = begin,
    .put = put,
    .end = end,
    .release = release,
};
