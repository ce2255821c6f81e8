/* SPDX-License-Identifier: MIT */
/* warm.h - `train --warm`: a model whose training goes on with new problems. Its trees and its
 * feature_spec.json stay as they are, but for the range, which the new problems widen; further
 * trees are fitted to what they leave. */
#ifndef KS_ANALYSIS_WARM_H
#define KS_ANALYSIS_WARM_H

#include "analysis/cmd/dataset.h"
#include "analysis/model/model_dir.h"

/* Zero-initialised = empty. */
struct ks_warm {
    struct ks_model model;     /* problems, cells and scores of its training */
    struct ks_buf trees, spec; /* model.json, feature_spec.json */
    struct ks_feature_spec features;
    char digest[65]; /* SHA-256 of model.json */
    size_t n_trees;
};
/* w_out is the caller's to release, whatever is returned. KS_ENOENT, KS_EFORMAT: no model, or its
 * files do not fit each other. */
int ks_warm_open(struct ks_warm *w_out, const char *dir, uint32_t n_threads, struct ks_err *err);
/* Whether the model can go on with these data: same operator, device class, condition and kind of
 * times (unless is_mixed), and no instance that its feature_spec.json does not have. KS_EINVAL. */
int ks_warm_check(const struct ks_warm *w, const char *dir, const struct ks_dataset *d,
                  bool is_mixed, struct ks_err *err);
void ks_warm_release(struct ks_warm *w);

/* The new cells behind those of the model, with folds, scores, picks and sources of both, as
 * ks_model_write() wants them. Zero-initialised = empty. */
struct ks_warm_union {
    struct ks_cells cells;
    struct ks_mixed sources;   /* the model's, then those that are new */
    struct ks_trained trained; /* borrows all but fold, scores, is_outside and the model's picks, of
                                  which `cell` is set */
};
/* out is the caller's to release, whatever is returned. KS_ENOMEM. */
int ks_warm_unite(const struct ks_warm *w, const struct ks_dataset *fresh,
                  const struct ks_trained *t, struct ks_warm_union *out, struct ks_err *err);
void ks_warm_union_release(struct ks_warm_union *u);

#endif
