/* SPDX-License-Identifier: MIT */
/* features_impl.h - between the feature*.c files; private to analysis/learn. */
#ifndef KS_ANALYSIS_FEATURES_IMPL_H
#define KS_ANALYSIS_FEATURES_IMPL_H

#include "analysis/learn/features.h"

/* A value by the name of its column; NULL: no such column. */
const struct ks_trait_value *ks_traits_value(const struct ks_traits *t, size_t i_instance,
                                             const char *column);

/* Domain, needs and tile of an instance from its family and traits (feature_instance.c). */
void ks_feature_instance_set(const struct ks_traits *t, size_t i_instance, uint32_t op,
                             struct ks_fx_instance *out);

/* Name, unit and meaning of the features of feature_core.h (feature_names.c). A dimension is named
 * by its operator; "" : the operator has no such quantity. */
void ks_feature_describe(uint32_t op, enum ks_feature_kind kind, uint32_t index,
                         struct ks_feature *out);
/* Of a quantity: a dimension's name, "flops", "dtype"; static. */
const char *ks_feature_quantity_name(uint32_t op, uint32_t index);
/* The digest of a specification without its field digest. KS_ENOMEM. */
int ks_feature_spec_sign(const struct ks_feature_spec *s, uint64_t *digest_out, struct ks_err *err);

#endif
