/* SPDX-License-Identifier: MIT */
/* evaluation.h - a model from its directory, evaluated on problems that it has not seen. */
#ifndef KS_ANALYSIS_EVALUATION_H
#define KS_ANALYSIS_EVALUATION_H

#include "analysis/cmd/dataset.h"
#include "analysis/learn/scorecard.h"
#include "analysis/model/model_dir.h"

/* A model with the cells of its training and those to evaluate in one table, so that both number
 * problems and instances alike. Zero-initialised = empty. */
struct ks_evaluation {
    struct ks_model model;
    struct ks_cells cells;
    bool *is_training, *is_wanted; /* [n_problems] */
    struct ks_featurizer features;
    const char **outside; /* [n_problems] what is outside of training; NULL: inside */
    struct ks_pick *picks[KS_N_CHOOSERS]; /* [n_problems] each; NULL: no such chooser */
    bool *has_ceiling;                    /* [n_problems] */
    size_t n_outside;
};

/* Reads the model only. j_out is the caller's to release, whatever is returned. */
int ks_evaluation_open(struct ks_evaluation *j_out, const char *dir, uint32_t n_threads,
                       struct ks_err *err);
/* ks_evaluation_run() - picks of the model and its baselines for problems that it was not trained
 * on. Problems outside the range of training get the first of their class's static order that is
 * there, as from a selector.
 * @dir [in] that of the model, for its feature_spec.json
 * @test [in] finished cells, none of a training problem */
int ks_evaluation_run(struct ks_evaluation *j, const char *dir, const struct ks_cells *test,
                      struct ks_err *err);
/* Adds the picks of an independent sweep where it has the problem. KS_EINVAL: it has none. */
int ks_evaluation_ceiling(struct ks_evaluation *j, const struct ks_cells *sweep,
                          struct ks_err *err);
struct ks_scorecard_input ks_evaluation_input(const struct ks_evaluation *j, uint32_t n_bootstrap);
void ks_evaluation_release(struct ks_evaluation *j);

#endif
