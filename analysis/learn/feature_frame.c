/* SPDX-License-Identifier: MIT */
/* feature_frame.c - computes the features of a table's rows as the columns of a frame */
#include "analysis/learn/feature_frame.h"
#include "record/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what features are computed from ---- */

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for the features of a table");
}

static int add_problem(struct ks_feature_basis *b, const struct ks_problem *p, struct ks_err *err)
{
    if (b->n_problems == b->cap) {
        const size_t cap = b->cap ? 2 * b->cap : 256;
        struct ks_problem *more = realloc(b->problems, cap * sizeof(*more));

        if (!more)
            return no_memory(err);
        b->problems = more;
        b->cap = cap;
    }
    b->problems[b->n_problems++] = *p;
    return 0;
}

int ks_feature_basis_add(struct ks_feature_basis *b, const struct ks_df *f, struct ks_err *err)
{
    const struct ks_df_column *c;
    bool has_problem = false;
    int rc = ks_df_need(f, "/problems/canonical", KS_DF_TEXT, &c, err);

    for (size_t row = 0; rc >= 0 && row < f->n_rows; row++) {
        if (row == 0 || ks_df_at(c, row) != ks_df_at(c, row - 1)) {
            struct ks_problem p;

            rc = ks_frame_problem(f, row, &p, err);
            has_problem = rc == 1;
            if (has_problem && (!b->n_problems || b->problems[b->n_problems - 1].id != p.id))
                rc = add_problem(b, &p, err);
        }
        b->n_unread += !has_problem;
    }
    return rc < 0 ? rc : ks_traits_add(&b->traits, f, err);
}

void ks_feature_basis_release(struct ks_feature_basis *b)
{
    free(b->problems);
    ks_traits_release(&b->traits);
    *b = (struct ks_feature_basis){ 0 };
}

/* ---- a frame with features ---- */

void ks_feature_frame_release(struct ks_feature_frame *ff)
{
    free(ff->columns);
    free(ff->values);
    free(ff->missing);
    free(ff->x);
    free(ff->names);
    *ff = (struct ks_feature_frame){ 0 };
}

static int name_columns(struct ks_feature_frame *ff, const struct ks_feature_spec *s,
                        size_t n_columns, struct ks_err *err)
{
    ff->columns = calloc(n_columns + s->n_features, sizeof(*ff->columns));
    ff->names = calloc(s->n_features, sizeof(*ff->names));
    if (!ff->columns || !ff->names)
        return no_memory(err);
    for (size_t i = 0; i < s->n_features; i++)
        snprintf(ff->names[i], sizeof(ff->names[i]), KS_FEATURE_PREFIX "%s", s->features[i].name);
    return 0;
}

static int reserve(struct ks_feature_frame *ff, const struct ks_feature_spec *s, size_t n_columns,
                   size_t n_rows, struct ks_err *err)
{
    const size_t n = (n_rows + 1) * s->n_features;

    if (!ff->columns && name_columns(ff, s, n_columns, err) < 0)
        return KS_ENOMEM;
    if (ff->x && n_rows <= ff->cap_rows)
        return 0;
    free(ff->values);
    free(ff->missing);
    free(ff->x);
    ff->values = malloc(n * sizeof(*ff->values));
    ff->missing = malloc(n);
    ff->x = malloc(n * sizeof(*ff->x));
    ff->cap_rows = n_rows;
    return ff->values && ff->missing && ff->x ? 0 : no_memory(err);
}

static void set_column(struct ks_feature_frame *ff, const struct ks_feature_spec *s, size_t i,
                       size_t n_rows, struct ks_df_column *out)
{
    double *values = ff->values + i * n_rows;
    uint8_t *missing = ff->missing + i * n_rows;

    for (size_t row = 0; row < n_rows; row++) {
        const float x = ff->x[row * s->n_features + i];

        missing[row] = (uint8_t)(isnan(x) != 0);
        values[row] = (double)x;
    }
    *out = (struct ks_df_column){ .name = ff->names[i],
                                  .unit = s->features[i].unit,
                                  .role = KS_CR_FEATURE,
                                  .type = KS_DF_F64,
                                  .show = KS_AS_F32,
                                  .n_values = n_rows,
                                  .values.f64 = values,
                                  .missing = missing };
}

int ks_feature_frame_set(struct ks_feature_frame *ff, const struct ks_feature_spec *s,
                         const struct ks_df *f, size_t n_columns, struct ks_err *err)
{
    int rc = reserve(ff, s, n_columns, f->n_rows, err), n_unknown;

    n_unknown = rc = rc == 0 ? ks_features_fill(s, f, ff->x, err) : rc;
    if (rc < 0)
        return rc;
    memcpy(ff->columns, f->columns, n_columns * sizeof(*ff->columns));
    for (size_t i = 0; i < s->n_features; i++)
        set_column(ff, s, i, f->n_rows, &ff->columns[n_columns + i]);
    ff->f = (struct ks_df){ .columns = ff->columns,
                            .n_columns = n_columns + s->n_features,
                            .n_rows = f->n_rows,
                            .first_row = f->first_row };
    return n_unknown;
}
