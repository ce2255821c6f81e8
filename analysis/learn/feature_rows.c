/* SPDX-License-Identifier: MIT */
/* feature_rows.c - the values of the features. */
#include "analysis/learn/features_impl.h"

#include <math.h>
#include <stdlib.h>

uint32_t ks_feature_spec_find(const struct ks_feature_spec *s, uint64_t instance_id)
{
    for (size_t i = 0; i < s->n_instances; i++)
        if (s->instances[i].id == instance_id)
            return (uint32_t)i;
    return UINT32_MAX;
}

static void put_problem(const struct ks_feature_spec *s, const double *q, float *row_out)
{
    for (size_t i = 0; i < s->n_problem; i++)
        row_out[i] = ks_fx_problem_feature(q, (int)s->features[i].index);
}

static void put_instance(const struct ks_feature_spec *s, const double *q,
                         const struct ks_feature_instance *x, float *row_out)
{
    double pair[KS_FX_N_PAIRS];
    const size_t first_pair = s->n_problem + s->n_values;

    for (size_t i = 0; i < s->n_values; i++)
        row_out[s->n_problem + i] = (float)x->value[i];
    ks_fx_pairs(q, &x->fx, &s->device, pair);
    for (size_t i = first_pair; i < s->n_features; i++)
        row_out[i] = ks_fx_pair_feature(pair, (int)s->features[i].index);
}

void ks_features_row(const struct ks_feature_spec *s, const struct ks_problem *p,
                     uint32_t i_instance, float *row_out)
{
    const struct ks_fx_problem x = ks_feature_problem(p);
    double q[KS_FX_N_QUANTITIES];

    ks_fx_quantities(&x, q);
    put_problem(s, q, row_out);
    put_instance(s, q, &s->instances[i_instance], row_out);
}

bool ks_feature_applies(const struct ks_feature_spec *s, const struct ks_problem *p,
                        uint32_t i_instance)
{
    const struct ks_fx_problem x = ks_feature_problem(p);
    double q[KS_FX_N_QUANTITIES];

    ks_fx_quantities(&x, q);
    return ks_fx_applies(&x, q, &s->instances[i_instance].fx) != 0;
}

/* ---- range ---- */

/* A size may exceed the range by a factor of two; a small number such as a stride may not. The
 * intensity is a continuous ratio, so its magnitude says nothing. */
static double margin(int quantity, double limit)
{
    return quantity == KS_FX_INTENSITY || limit > 16 ? 2 : 1;
}

void ks_feature_limits(const struct ks_feature_spec *s, double *least_out, double *most_out)
{
    for (int i = 0; i < KS_FX_N_QUANTITIES; i++) {
        least_out[i] = s->lo[i] / margin(i, s->lo[i]);
        most_out[i] = s->hi[i] * margin(i, s->hi[i]);
    }
}

const char *ks_feature_outside(const struct ks_feature_spec *s, const struct ks_problem *p)
{
    const struct ks_fx_problem x = ks_feature_problem(p);
    double q[KS_FX_N_QUANTITIES], least[KS_FX_N_QUANTITIES], most[KS_FX_N_QUANTITIES];
    uint32_t i = 0;

    ks_fx_quantities(&x, q);
    ks_feature_limits(s, least, most);
    if (!ks_fx_is_outside(q, least, most))
        return NULL;
    while (!(q[i] < least[i] || q[i] > most[i]))
        i++;
    return ks_feature_quantity_name(s->op, i);
}

/* ---- frames ---- */

/* The problem of the previous row is kept: rows of a frame stand problem by problem. */
struct filling {
    const struct ks_feature_spec *s;
    const struct ks_df *f;
    const struct ks_df_column *instance, *problem;
    size_t at; /* of the problem in its column */
    bool has_problem;
    double q[KS_FX_N_QUANTITIES];
};

static void put_missing(const struct ks_feature_spec *s, size_t first, float *row_out)
{
    for (size_t i = first; i < s->n_features; i++)
        row_out[i] = NAN;
}

static int read_problem(struct filling *fill, size_t row, struct ks_err *err)
{
    const uint32_t op = fill->s->op;
    struct ks_fx_problem x;
    struct ks_problem p;
    int rc = ks_frame_problem(fill->f, row, &p, err);

    if (rc < 0)
        return rc;
    fill->has_problem = rc == 1;
    if (!fill->has_problem)
        return 0;
    if (p.op != op)
        return ks_fail(err, KS_EINVAL,
                       "row %zu is a problem of '%s', but the features are for '%s'", row,
                       ks_operators[p.op]->name, ks_operators[op]->name);
    x = ks_feature_problem(&p);
    ks_fx_quantities(&x, fill->q);
    return 0;
}

static int fill_row(struct filling *fill, size_t row, float *row_out, struct ks_err *err)
{
    const struct ks_feature_spec *s = fill->s;
    const size_t at = ks_df_at(fill->problem, row);
    uint32_t i;

    if (row == 0 || at != fill->at) {
        int rc = read_problem(fill, row, err);

        if (rc < 0)
            return rc;
        fill->at = at;
    }
    if (!fill->has_problem) {
        put_missing(s, 0, row_out);
        return 0;
    }
    put_problem(s, fill->q, row_out);
    i = ks_feature_spec_find(s, (uint64_t)ks_df_i64(fill->instance, row, 0));
    if (i == UINT32_MAX) {
        put_missing(s, s->n_problem, row_out);
        return 1;
    }
    put_instance(s, fill->q, &s->instances[i], row_out);
    return 0;
}

int ks_features_fill(const struct ks_feature_spec *s, const struct ks_df *f, float *x_out,
                     struct ks_err *err)
{
    struct filling fill = { .s = s, .f = f };
    int n_unknown = 0;
    int rc = ks_df_need(f, "instance_id", KS_DF_I64, &fill.instance, err);

    if (rc == 0)
        rc = ks_df_need(f, "/problems/canonical", KS_DF_TEXT, &fill.problem, err);
    for (size_t row = 0; rc >= 0 && row < f->n_rows; row++) {
        rc = fill_row(&fill, row, x_out + row * s->n_features, err);
        n_unknown += rc > 0;
    }
    return rc < 0 ? rc : n_unknown;
}
