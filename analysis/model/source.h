/* SPDX-License-Identifier: MIT */
/* source.h - features by a specification (learn/features.h), created from and calibrated on the
 * training problems of each fit. */
#ifndef KS_ANALYSIS_SOURCE_H
#define KS_ANALYSIS_SOURCE_H

#include "analysis/learn/features.h"
#include "analysis/model/fit.h"

struct ks_spec_source { /* borrowed */
    const struct ks_traits *traits;
    struct ks_fx_device device;
};
/* The source's functions; ctx is `from`. */
struct ks_feature_source ks_spec_source(struct ks_spec_source *from);

/* Features by a specification that is given, whatever the training problems are; ctx is the text of
 * its feature_spec.json, borrowed. */
struct ks_feature_source ks_given_source(struct ks_buf *feature_spec);

/* ks_spec_featurizer() - features of a finished specification.
 * @spec [in,out] taken on success
 * f_out is released with ks_spec_release; c and spec's problems stay borrowed. KS_ENOMEM. */
int ks_spec_featurizer(struct ks_feature_spec *spec, const struct ks_cells *c,
                       struct ks_featurizer *f_out, struct ks_err *err);
void ks_spec_release(struct ks_featurizer *f);
/* The specification of a featurizer of this source. */
const struct ks_feature_spec *ks_spec_of(const struct ks_featurizer *f);

#endif
