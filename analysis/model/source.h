/* SPDX-License-Identifier: MIT */
/* source.h - features by a specification (learn/features.h), created from and calibrated on the
 * training problems of each fit. */
#ifndef KS_ANALYSIS_SOURCE_H
#define KS_ANALYSIS_SOURCE_H

#include "analysis/learn/features.h"
#include "analysis/model/fit.h"

/* Each device has a specification of its own, which differs from the others in the device and its
 * calibration only; the model's is that of the first. A device without a training problem gets the
 * rates of the first one that has some. */
struct ks_spec_source { /* borrowed */
    const struct ks_traits *traits;
    /* feature_spec.json of a model that is continued, instead of one from the training problems,
     * which only widen its range; it stands for devices[0]. NULL: none */
    const struct ks_buf *given;
    const struct ks_cells *known;       /* that this model was trained on; NULL: none */
    const struct ks_fx_device *devices; /* [n_devices] the model's first */
    size_t n_devices;
    const uint32_t *device_of; /* [sources of times] the device of each; NULL: of the same number */
};
/* The source's functions; ctx is `from`. */
struct ks_feature_source ks_spec_source(struct ks_spec_source *from);

/* ks_spec_featurizer() - features of a finished specification, whatever the source of a problem.
 * @spec [in,out] taken on success
 * @is_training [in] [c->n_problems] whose instances a model with these features offers
 * f_out is released with ks_spec_release; c and spec's problems stay borrowed. KS_ENOMEM. */
int ks_spec_featurizer(struct ks_feature_spec *spec, const struct ks_cells *c,
                       const bool *is_training, struct ks_featurizer *f_out, struct ks_err *err);
void ks_spec_release(struct ks_featurizer *f);
/* The specification of a featurizer of this source. */
const struct ks_feature_spec *ks_spec_of(const struct ks_featurizer *f);

#endif
