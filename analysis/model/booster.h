/* SPDX-License-Identifier: MIT */
/* booster.h - boosted trees, grown one round at a time: the only code that knows XGBoost. A model's
 * score is the sum of its leaves; the base score is 0.
 *
 * The same parameters, seed, threads and data give the same bytes. Failures of the library are
 * KS_EINVAL with its own message. */
#ifndef KS_ANALYSIS_BOOSTER_H
#define KS_ANALYSIS_BOOSTER_H

#include "analysis/learn/matrix.h"
#include "analysis/learn/objective.h"
#include "base/buf.h"

struct ks_booster_params {
    uint32_t depth, n_parallel, max_bin; /* levels; trees per round; bins of a column's values */
    uint32_t leaves; /* 0: level by level; else the leaf that gains most first, up to so many */
    double eta, min_child, subsample, colsample, lambda;
    uint32_t n_threads; /* > 0 */
    uint64_t seed;      /* below 2^31 */
    const struct ks_buf
        *start; /* what ks_booster_save() wrote of a model to continue; NULL: none */
};

struct ks_booster;

/* ks_booster_create() - no tree yet but those of params->start, whose features must be as many as
 * the columns.
 * @train [in] copied
 * @watched [in] [n_watched] matrices whose scores are wanted after each round; copied
 * @names [in] [train->n_cols] */
int ks_booster_create(struct ks_booster **b_out, const struct ks_booster_params *params,
                      const struct ks_matrix *train, const char *const *names,
                      const struct ks_matrix *const *watched, size_t n_watched, struct ks_err *err);
void ks_booster_destroy(struct ks_booster *b); /* NULL is fine */

/* One more round. o: of the rows of the training matrix. */
int ks_booster_round(struct ks_booster *b, const struct ks_objective *o, struct ks_err *err);
/* Scores of a watched matrix [its n_rows]; borrowed until the next call. */
int ks_booster_watch(struct ks_booster *b, size_t i_watched, const float **scores_out,
                     struct ks_err *err);

/* From now on ks_booster_predict() sums the trees of the first rounds only, with those that it
 * started from; 0: all. */
void ks_booster_score_by(struct ks_booster *b, uint32_t n_rounds);

/* Columns that it was trained on. KS_EINVAL. */
int ks_booster_n_features(struct ks_booster *b, size_t *n_out, struct ks_err *err);
/* @scores_out [out] [m->n_rows]. KS_EINVAL: another number of columns. */
int ks_booster_predict(struct ks_booster *b, const struct ks_matrix *m, float *scores_out,
                       struct ks_err *err);

/* XGBoost's JSON, appended. */
int ks_booster_save(struct ks_booster *b, struct ks_buf *json_out, struct ks_err *err);
/* For prediction. `name` stands for the file in messages. */
int ks_booster_load(struct ks_booster **b_out, const void *json, size_t len, const char *name,
                    uint32_t n_threads, struct ks_err *err);

/* Total gain of the splits by each feature. @gain_out [out] [n_cols] */
int ks_booster_gain(struct ks_booster *b, const char *const *names, size_t n_cols, double *gain_out,
                    struct ks_err *err);

/* "1.7.4" */
void ks_booster_version(char text_out[32]);

#endif
