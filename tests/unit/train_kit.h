/* SPDX-License-Identifier: MIT */
/* train_kit.h - a small table to train on: instance i is best where the sizes of a problem say so;
 * every seventh pair is not measured. */
#ifndef KS_TEST_TRAIN_KIT_H
#define KS_TEST_TRAIN_KIT_H

#include "analysis/model/train.h"

enum { TKIT_PROBLEMS = 36, TKIT_INSTANCES = 4 };

/* Caller releases. */
void tkit_cells(struct ks_cells *c);
/* Four features; one of them follows from the times of the training problems. */
extern const struct ks_feature_source tkit_source;
/* 3 folds, 2 settings, 12 rounds; classes are left out. */
extern const struct ks_train_options tkit_options;
/* On one thread. Caller releases with tkit_source. */
void tkit_train(const struct ks_cells *c, uint64_t seed, struct ks_trained *t);

#endif
