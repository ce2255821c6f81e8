/* SPDX-License-Identifier: MIT */
/* train_kit.h - a small table to train on: instance i is best where the sizes of a problem say so;
 * every seventh pair is not measured. */
#ifndef KS_TEST_TRAIN_KIT_H
#define KS_TEST_TRAIN_KIT_H

#include "analysis/model/train.h"

enum { TKIT_PROBLEMS = 36, TKIT_INSTANCES = 4 };

/* Caller releases. */
void tkit_cells(struct ks_cells *c);
/* On one thread, of tkit_source. */
struct ks_fit_input tkit_input(const struct ks_cells *c, uint64_t seed);
/* Four features; one of them follows from the times of the training problems. */
extern const struct ks_feature_source tkit_source;
/* 3 folds, 2 settings, 12 rounds; classes are left out. */
extern const struct ks_train_options tkit_options;
/* Fails the test if the training fails. Caller releases with tkit_source. */
void tkit_train(const struct ks_fit_input *in, const struct ks_train_options *o,
                struct ks_trained *t);

/* The table, and what training on it by seed 1 and tkit_options gives: as the *state of a test or
 * of a group, whose tests only read it. */
struct tkit {
    struct ks_cells cells;
    struct ks_trained trained;
};
int tkit_open(void **state);
int tkit_close(void **state);

#endif
