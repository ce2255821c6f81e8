/* SPDX-License-Identifier: MIT */
/* fit.h - one model fitted to some of the problems: everything that is learned, features included,
 * sees those only. */
#ifndef KS_ANALYSIS_FIT_H
#define KS_ANALYSIS_FIT_H

#include "analysis/learn/matrix.h"
#include "analysis/learn/objective.h"
#include "analysis/learn/pick.h"
#include "analysis/model/booster.h"
#include "base/file.h"

/* What is searched over. */
struct ks_setting {
    uint32_t target;                     /* enum ks_target */
    uint32_t depth, n_parallel, max_bin; /* max_bin: a split is between two of so many quantiles */
    uint32_t leaves; /* 0: trees grow level by level; else up to so many leaves, the one that gains
                        most is split next */
    double eta, min_child, subsample, colsample, lambda;
};

/* A tree of more levels may have more nodes than a selector can number (selector_core.h). */
#define KS_DEPTH_MAX  15
#define KS_LEAVES_MAX (1u << KS_DEPTH_MAX)
/* The size of model.json, at most: what ks_file_read() takes. */
#define KS_MODEL_MAX KS_FILE_MAX

/* Where features come from. */
struct ks_feature_source {
    void *ctx;
    /* Features fitted to training problems. @is_training [in] [c->n_problems]. f_out is released
     * by release(). Returns 0 or KS_E*. */
    int (*fit)(void *ctx, const struct ks_cells *c, const bool *is_training,
               struct ks_featurizer *f_out, struct ks_err *err);
    void (*release)(struct ks_featurizer *f);
};

struct ks_fit_input { /* borrowed */
    const struct ks_cells *cells;
    const struct ks_feature_source *source;
    uint32_t n_threads;
    uint64_t seed;
    bool use_counts, use_lost;    /* weigh problems by use; train on lost pairs, too */
    const struct ks_buf *start;   /* every fit continues this model (booster.h); NULL: none */
    const struct ks_cells *known; /* that it was trained on: none of `cells`; NULL: none */
};

/* The cells of some problems, with their features. Zero-initialised = empty. */
struct ks_fit_rows {
    struct ks_pair_row *at; /* [n] whole problems */
    size_t n, n_problems;
    struct ks_matrix x;
};
/* @is_in [in] [c->n_problems]. use_lost: lost pairs, too. KS_ENOMEM. */
int ks_fit_rows_make(const struct ks_cells *c, const struct ks_featurizer *f, const bool *is_in,
                     bool use_lost, struct ks_fit_rows *rows_out, struct ks_err *err);
void ks_fit_rows_release(struct ks_fit_rows *r);
/* Mean of 1 - efficiency of the picks by these scores [r->n], of rows without lost ones; NaN
 * without a problem. */
double ks_fit_rows_loss(const struct ks_cells *c, const struct ks_fit_rows *r, const float *scores);

/* Zero-initialised = empty. */
struct ks_fit {
    struct ks_setting setting;
    struct ks_objective objective;
    struct ks_booster *booster;
};
/* ks_fit_begin() - a model without trees.
 * @watched [in] [n_watched] rows whose loss is wanted after each round
 * f_out is the caller's to end, whatever is returned. */
int ks_fit_begin(struct ks_fit *f_out, const struct ks_fit_input *in,
                 const struct ks_setting *setting, const struct ks_featurizer *features,
                 const struct ks_fit_rows *train, const struct ks_fit_rows *const *watched,
                 size_t n_watched, struct ks_err *err);
int ks_fit_rounds(struct ks_fit *f, uint32_t n, struct ks_err *err);
void ks_fit_end(struct ks_fit *f);

/* When the growth of trees ends. */
struct ks_deadline {
    uint64_t at_ns; /* 0: never */
    uint64_t (*now_ns)(void *ctx);
    void *ctx;
};
static inline bool ks_deadline_is_over(const struct ks_deadline *d)
{
    return d->at_ns && d->now_ns(d->ctx) >= d->at_ns;
}

/* ks_fit_whole() - a whole fit, with features of its own.
 * @rounds_io [in,out] at most so many; how many there are: fewer, but at least one, if the deadline
 * is over before
 * *features_out: caller releases. */
int ks_fit_whole(struct ks_fit *f_out, const struct ks_fit_input *in,
                 const struct ks_setting *setting, const bool *is_training, uint32_t *rounds_io,
                 const struct ks_deadline *deadline, struct ks_featurizer *features_out,
                 struct ks_err *err);

/* ks_score_problems() - scores of all instances for problems, and what they choose.
 * @is_wanted [in] [c->n_problems]
 * @picks_out [out] [c->n_problems] those that are wanted are set
 * @scores_out [out] [c->n] scores of the wanted problems' cells; NULL: not wanted
 * Returns 0; KS_ENOMEM; KS_EINVAL. */
int ks_score_problems(struct ks_booster *b, const struct ks_featurizer *f, const struct ks_cells *c,
                      const bool *is_wanted, struct ks_pick *picks_out, float *scores_out,
                      struct ks_err *err);

#endif
