/* SPDX-License-Identifier: MIT */
/* problem_class.h - the shape class of a problem: one division for samples, benchmarks and reports.
 */
#ifndef KS_GRID_PROBLEM_CLASS_H
#define KS_GRID_PROBLEM_CLASS_H

#include "op/op.h"

#include <stdint.h>

/* X(constant, name, rule). The first rule that holds decides, in this order. "Steps" are strides or
 * dilations along axes that the problem has; a filter extent of 1 has no dilation. */
#define KS_PROBLEM_CLASS_LIST(X)                                                                   \
    X(KS_CLASS_OTHER_OPERATOR, "other_operator", "no grouped_conv")                                \
    X(KS_CLASS_3D, "3d", "three spatial dims")                                                     \
    X(KS_CLASS_1D, "1d", "one spatial dim")                                                        \
    X(KS_CLASS_FULLY_CONNECTED, "fully_connected",                                                 \
      "one group; the filter covers the whole unpadded input: one output point")                   \
    X(KS_CLASS_DEPTHWISE, "depthwise", "several groups of one input channel")                      \
    X(KS_CLASS_GROUPED, "grouped", "several groups")                                               \
    X(KS_CLASS_STEM, "stem", "at most 4 input channels")                                           \
    X(KS_CLASS_DILATED, "dilated", "a dilation above 1")                                           \
    X(KS_CLASS_STRIDED, "strided", "a stride above 1")                                             \
    X(KS_CLASS_POINTWISE, "1x1", "filter 1x1")                                                     \
    X(KS_CLASS_3X3, "3x3", "filter 3x3")                                                           \
    X(KS_CLASS_LARGE_FILTER, "large_filter", "a filter extent of 5 or more")                       \
    X(KS_CLASS_OTHER, "other", "anything else")

enum ks_problem_class_id {
#define X(constant, name, rule) constant,
    KS_PROBLEM_CLASS_LIST(X)
#undef X
        KS_N_PROBLEM_CLASSES
};

/* Class of a valid problem, by shape alone: not direction, dtype or layout. */
enum ks_problem_class_id ks_problem_class(const struct ks_problem *p);
/* Channels of one group on the narrower side, which bound how wide a kernel's vectors can be;
 * INT64_MAX where there is one group, and of other operators. */
int64_t ks_problem_group_width(const struct ks_problem *p);
const char *ks_problem_class_name(uint32_t class_id); /* "?" when there is no such class */
const char *ks_problem_class_rule(uint32_t class_id); /* what decides, for people */

#endif
