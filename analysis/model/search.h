/* SPDX-License-Identifier: MIT */
/* search.h - the inner folds: how each setting does, round by round, on folds that its models have
 * not seen. */
#ifndef KS_ANALYSIS_SEARCH_H
#define KS_ANALYSIS_SEARCH_H

#include "analysis/model/train.h"

struct ks_search {
    uint32_t n_folds, n_settings, max_rounds;
    uint32_t setting[KS_MAX_SETTINGS]; /* [n_settings] numbers of ks_settings() */
    /* [n_settings][n_folds outer][n_folds inner][max_rounds] mean of 1 - efficiency */
    float *loss;
    bool is_cut;
};
/* Zero-initialised = empty. KS_ENOMEM, KS_EINVAL. */
int ks_search_run(struct ks_search *s_out, const struct ks_fit_input *in,
                  const struct ks_train_options *options, const uint8_t *fold, struct ks_err *err);
void ks_search_release(struct ks_search *s);

#define KS_ALL_FOLDS UINT32_MAX
/* The best number of rounds of the i-th setting for an outer fold, or for all of them. */
struct ks_tried ks_search_score(const struct ks_search *s, uint32_t i, uint32_t outer);
/* The setting with the least loss, of equal ones the first. */
struct ks_tried ks_search_choose(const struct ks_search *s, uint32_t outer);

#endif
