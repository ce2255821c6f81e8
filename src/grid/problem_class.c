/* SPDX-License-Identifier: MIT */
/* problem_class.c - the shape class of a problem, and the channels of its groups */
#include "grid/problem_class.h"

#include "op/conv.h"

#include <stdbool.h>

static const char *const names[KS_N_PROBLEM_CLASSES] = {
#define X(constant, name, rule) [constant] = name,
    KS_PROBLEM_CLASS_LIST(X)
#undef X
};
static const char *const rules[KS_N_PROBLEM_CLASSES] = {
#define X(constant, name, rule) [constant] = rule,
    KS_PROBLEM_CLASS_LIST(X)
#undef X
};

static bool is_fully_connected(const int64_t *d)
{
    for (int axis = 1; axis < 3; axis++)
        if (d[KS_CONV_DI + axis] != d[KS_CONV_Z + axis] || d[KS_CONV_PAD_D_LO + axis] ||
            d[KS_CONV_PAD_D_HI + axis] || d[KS_CONV_DILATION_D + axis] > 1)
            return false;
    return d[KS_CONV_G] == 1;
}

static bool has_dilation(const int64_t *d)
{
    for (int axis = 0; axis < 3; axis++)
        if (d[KS_CONV_Z + axis] > 1 && d[KS_CONV_DILATION_D + axis] > 1)
            return true;
    return false;
}

static bool has_filter(const int64_t *d, int64_t extent)
{
    return d[KS_CONV_Y] == extent && d[KS_CONV_X] == extent;
}

static enum ks_problem_class_id class_of_2d(const int64_t *d)
{
    if (is_fully_connected(d))
        return KS_CLASS_FULLY_CONNECTED;
    if (d[KS_CONV_G] > 1)
        return d[KS_CONV_G] == d[KS_CONV_C_TOTAL] ? KS_CLASS_DEPTHWISE : KS_CLASS_GROUPED;
    if (d[KS_CONV_C_TOTAL] <= 4)
        return KS_CLASS_STEM;
    if (has_dilation(d))
        return KS_CLASS_DILATED;
    if (d[KS_CONV_STRIDE_H] > 1 || d[KS_CONV_STRIDE_W] > 1)
        return KS_CLASS_STRIDED;
    if (has_filter(d, 1))
        return KS_CLASS_POINTWISE;
    if (has_filter(d, 3))
        return KS_CLASS_3X3;
    return d[KS_CONV_Y] >= 5 || d[KS_CONV_X] >= 5 ? KS_CLASS_LARGE_FILTER : KS_CLASS_OTHER;
}

enum ks_problem_class_id ks_problem_class(const struct ks_problem *p)
{
    if (ks_operators[p->op] != &ks_operator_grouped_conv)
        return KS_CLASS_OTHER_OPERATOR;
    if (p->dim[KS_CONV_NDIM] != 2)
        return p->dim[KS_CONV_NDIM] == 3 ? KS_CLASS_3D : KS_CLASS_1D;
    return class_of_2d(p->dim);
}

int64_t ks_problem_group_width(const struct ks_problem *p)
{
    const int64_t *d = p->dim;

    if (ks_operators[p->op] != &ks_operator_grouped_conv || d[KS_CONV_G] <= 1)
        return INT64_MAX;
    return (d[KS_CONV_C_TOTAL] < d[KS_CONV_K_TOTAL] ? d[KS_CONV_C_TOTAL] : d[KS_CONV_K_TOTAL]) /
           d[KS_CONV_G];
}

const char *ks_problem_class_name(uint32_t class_id)
{
    return class_id < KS_N_PROBLEM_CLASSES ? names[class_id] : "?";
}

const char *ks_problem_class_rule(uint32_t class_id)
{
    return class_id < KS_N_PROBLEM_CLASSES ? rules[class_id] : "?";
}
