/* SPDX-License-Identifier: MIT */
/* train.h - training with honest figures: settings are chosen by inner folds, every problem is
 * scored by a model that has not seen it, and the last model sees all.
 *
 * Inner folds: a model is fitted without folds i and j and evaluated on both. What it does on j
 * helps to choose the settings of outer fold i, and the other way round, so that no choice for a
 * fold has seen its problems. */
#ifndef KS_ANALYSIS_TRAIN_H
#define KS_ANALYSIS_TRAIN_H

#include "analysis/learn/choosers.h"
#include "analysis/learn/folds.h"
#include "analysis/model/fit.h"

#define KS_MAX_SETTINGS 32

/* The settings in the order in which they are tried; returns how many there are. */
size_t ks_settings(const struct ks_setting **settings_out);

struct ks_train_options {
    uint32_t n_folds;    /* 3 to KS_MAX_FOLDS */
    uint32_t n_settings; /* the first so many are tried */
    bool has_target;     /* of those with this target only */
    uint32_t target;     /* enum ks_target */
    uint32_t max_rounds, patience;
    size_t search_problems; /* at most so many choose the settings; 0 = all */
    /* Seconds in which trees are grown; 0: no limit. Half of it is for the first setting, no other
     * is begun after that; three quarters are over when the folds are fitted, seven eighths when
     * the classes are, each of those that are not fitted at the same time with an equal share. */
    double budget_s;
    uint64_t max_model_bytes; /* of model.json; 0: KS_MODEL_MAX, which readers take */
    bool has_class_folds;
    void *ctx;
    /* May be NULL. done: 0 to 1. */
    void (*progress)(void *ctx, const char *phase, double done);
    uint64_t (*now_ns)(void *ctx); /* the clock of the budget; NULL: ks_now_ns() */
};
uint64_t ks_train_now_ns(const struct ks_train_options *o);

struct ks_tried { /* by the inner folds */
    uint32_t setting, rounds;
    uint32_t depth, leaves; /* of its trees: as in struct ks_setting */
    double loss;            /* mean of 1 - efficiency */
};
/* ks_tried_scaled() - what the search found on n_sampled problems, for n_problems. All trees
 * together have more leaves by the root of the ratio; where that is at least about 1.4, the trees
 * have twice, four times, .. the leaves, at most KS_LEAVES_MAX, and are fewer. */
struct ks_tried ks_tried_scaled(struct ks_tried t, size_t n_problems, size_t n_sampled);
/* Bytes of model.json, if every leaf is at the bottom of its tree. */
double ks_tried_most_bytes(const struct ks_tried *t);

/* Zero-initialised = empty. Picks are by models or baselines that have not seen the problem; as
 * many rounds as were grown. */
struct ks_trained {
    uint8_t *fold;                          /* [n_problems] */
    struct ks_pick *picks[KS_N_CHOOSERS];   /* [n_problems] each; NULL = there is no such chooser */
    struct ks_pick *class_picks;            /* [n_problems] by models without the whole class */
    bool *has_class_pick;                   /* [n_problems] */
    bool has_classes;                       /* whether class_picks are there */
    float *scores;                          /* [n cells] */
    bool *is_outside;                       /* [n_problems] of the range of its fold's training */
    struct ks_tried chosen[KS_MAX_FOLDS];   /* of the outer folds */
    struct ks_tried last;                   /* of the last model */
    struct ks_tried tried[KS_MAX_SETTINGS]; /* [n_tried] over all folds */
    size_t n_tried;
    size_t n_outside; /* of is_outside: the model's pick is the first of the class's static order
                         (class_order.h) */
    bool is_cut;      /* the time budget ended the search */
    bool is_fit_cut;  /* it ended the growth of a fold's, a class's or the last model's trees */
    struct ks_fit fit;
    struct ks_featurizer features;
};

/* t_out is the caller's to release, whatever is returned. KS_EINVAL: too few problems, more trees
 * than model.json may have, a failure of the library; KS_ENOMEM. */
int ks_train(const struct ks_fit_input *in, const struct ks_train_options *options,
             struct ks_trained *t_out, struct ks_err *err);
void ks_trained_release(struct ks_trained *t, const struct ks_feature_source *source);

#endif
