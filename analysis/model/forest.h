/* SPDX-License-Identifier: MIT */
/* forest.h - trees of a trained model, as XGBoost saved them, in the flat form that selectors walk
 * (selector_core.h), and written for other programs. The sum of the leaves is a double; XGBoost
 * adds floats, so the two differ by rounding (1e-6 of the sum of the leaves' magnitudes, at most).
 */
#ifndef KS_ANALYSIS_FOREST_H
#define KS_ANALYSIS_FOREST_H

#include "analysis/model/selector_core.h"
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised = empty. */
struct ks_forest {
    struct ks_sel_node *nodes; /* [n_nodes] tree after tree; owned */
    float *gain, *cover;       /* [n_nodes] of splits, for exports; owned */
    struct ks_sel_tree *trees; /* [n_trees] owned */
    uint32_t n_nodes, n_trees;
    uint16_t n_features;
    double base; /* the model's base score */
};
void ks_forest_release(struct ks_forest *f);

/* ks_forest_read() - a model saved by XGBoosterSaveModel() of XGBoost 1.7 as JSON, tree by tree: as
 * large as ks_file_read() takes.
 * Returns 0; KS_EFORMAT: no such model, another booster than gbtree, several outputs, categorical
 * splits, a tree that is none, more than 32,767 features or 65,535 nodes in a tree; the message
 * names the place. KS_ENOMEM. */
int ks_forest_read(const char *path, struct ks_forest *forest_out, struct ks_err *err);
int ks_forest_parse(const char *text, size_t len, const char *name, struct ks_forest *forest_out,
                    struct ks_err *err);

/* row: [n_features]; NaN = missing. */
double ks_forest_predict(const struct ks_forest *f, const float *row);

/* ---- for other programs; names: [n_features] ---- */

/* LightGBM's text model: its `<=` of a double takes the float below each threshold, so that both go
 * the same way for every float; the base score is added to the leaves of the first tree. */
void ks_forest_write_lightgbm(const struct ks_forest *f, const char *const *names,
                              struct ks_buf *text_out);
/* XGBoost 1.7's JSON, without the statistics of training that predictions do not use. */
void ks_forest_write_xgboost(const struct ks_forest *f, const char *const *names,
                             struct ks_buf *json_out);

#endif
