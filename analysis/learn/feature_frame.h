/* SPDX-License-Identifier: MIT */
/* feature_frame.h - the features of a whole table: what to compute them from, and a frame that has
 * them as columns. */
#ifndef KS_ANALYSIS_FEATURE_FRAME_H
#define KS_ANALYSIS_FEATURE_FRAME_H

#include "analysis/learn/features.h"
#include "record/columns.h"

/* Distinct problems and instances of a table. Zero-initialised = empty. */
struct ks_feature_basis {
    struct ks_problem *problems; /* [n_problems] in order of their first row; owned */
    size_t n_problems, cap;
    struct ks_traits traits;
    size_t n_unread; /* rows whose problem ks_frame_problem() does not read */
};
/* Adds those of a frame that has the columns of ks_features_need(). Rows of a problem stand
 * together. KS_EINVAL, KS_ENOMEM. */
int ks_feature_basis_add(struct ks_feature_basis *b, const struct ks_df *f, struct ks_err *err);
void ks_feature_basis_release(struct ks_feature_basis *b);

/* A frame whose last columns are features, named with the prefix. Zero-initialised = empty. */
struct ks_feature_frame {
    struct ks_df f;               /* borrows the columns of the frame it was made from */
    struct ks_df_column *columns; /* owned */
    double *values;               /* [features][n_rows] owned */
    uint8_t *missing;             /* likewise */
    float *x;                     /* [n_rows][features] scratch; owned */
    char (*names)[KS_FEATURE_NAME + sizeof(KS_FEATURE_PREFIX)]; /* [features] owned */
    size_t cap_rows;
};
/* ks_feature_frame_set() - the first n_columns columns of f, and behind them a column per feature.
 * Returns as ks_features_fill(). */
int ks_feature_frame_set(struct ks_feature_frame *ff, const struct ks_feature_spec *s,
                         const struct ks_df *f, size_t n_columns, struct ks_err *err);
void ks_feature_frame_release(struct ks_feature_frame *ff);

#endif
