/* SPDX-License-Identifier: MIT */
/* selector_kit.h - a trained model for the tests of trees and selectors. */
#ifndef KS_TEST_SELECTOR_KIT_H
#define KS_TEST_SELECTOR_KIT_H

#include "analysis/model/booster.h"
#include "analysis/model/forest.h"
#include "feature_kit.h"

#define N_PROBLEMS 150

struct made {
    struct fkit kit;
    struct ks_feature_spec spec;
    struct ks_problem problems[N_PROBLEMS];
    struct ks_cells cells;
    struct ks_matrix x;
    const char *names[KS_FEATURES_MAX];
    struct ks_booster *booster;
    struct ks_buf json;
};

/* Group set-up and tear-down: a struct made. */
int skit_make(void **state);
int skit_release(void **state);
/* A matrix of its cells' features, m->x, is made again. */
void skit_featurize(struct made *m);
/* Caller releases. */
void skit_forest(const struct made *m, struct ks_forest *f);
void skit_put_text(const char *dir, const char *name, const struct ks_buf *b);

#endif
