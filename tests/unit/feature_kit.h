/* SPDX-License-Identifier: MIT */
/* feature_kit.h - a small table for tests of features and selectors: some convolutions, four
 * instances of the CPU's forward family, as a frame has them. */
#ifndef KS_TEST_FEATURE_KIT_H
#define KS_TEST_FEATURE_KIT_H

#include "analysis/learn/features.h"

#define FKIT_ROWS      8 /* two problems of four instances */
#define FKIT_INSTANCES 4

struct fkit {
    struct ks_df f;
    struct ks_df_column columns[12];
    char *canonical[2];
    struct ks_problem problems[2];
    struct ks_traits traits;
};
/* A square 2-D convolution with "same" padding; fails the test when it is none. */
struct ks_problem fkit_conv(uint32_t direction, int64_t n, int64_t g, int64_t c, int64_t k,
                            int64_t size, int64_t filter, int64_t stride);
/* The i-th of a series of such convolutions, fp32 forward, of many shapes. */
struct ks_problem fkit_problem(size_t i);

void fkit_make(struct fkit *t); /* one group of 64 channels; 32 groups of 4 */
void fkit_release(struct fkit *t);

/* A specification over fkit_problem(0 .. n - 1) and the four instances. */
void fkit_spec(struct fkit *t, size_t n_problems, struct ks_feature_spec *out);

#endif
