/* SPDX-License-Identifier: MIT */
/* op_cases.c - problems for tests, from short text and at random */
#include "tests/unit/op_cases.h"

#include "base/hash.h"
#include "op/conv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool set_one(struct ks_problem *p, const char *key, const char *value)
{
    int dim = ks_problem_dim(p->op, key), choice = -1;

    if (dim >= 0) {
        p->dim[dim] = strtoll(value, NULL, 10);
        return true;
    }
    if (strcmp(key, "direction") == 0)
        p->direction = (uint32_t)(choice = ks_direction_from(value));
    else if (strcmp(key, "dtype") == 0)
        p->dtype = (uint32_t)(choice = ks_dtype_from(value));
    else if (strcmp(key, "layout") == 0)
        p->layout = (uint32_t)(choice = ks_layout_from(value));
    return choice >= 0;
}

bool op_case_set(struct ks_problem *p, const char *fields)
{
    char key[32], value[32];
    int n = 0;

    while (sscanf(fields, " %31[^= ]=%31s%n", key, value, &n) == 2) {
        if (!set_one(p, key, value))
            return false;
        fields += n;
    }
    return *fields == '\0';
}

static int finish_case(struct ks_problem p, const char *basis, const char *fields,
                       struct ks_problem *p_out, struct ks_err *err)
{
    int rc;

    if (!op_case_set(&p, basis) || !op_case_set(&p, fields))
        return ks_fail(err, KS_EINVAL, "test case '%s' is no list of fields", fields);
    rc = ks_problem_finish(&p, err);
    if (rc == 0)
        *p_out = p;
    return rc;
}

int op_case(const char *fields, struct ks_problem *p_out, struct ks_err *err)
{
    return finish_case(ks_problem_blank(0),
                       "ndim=2 c_total=4 k_total=4 hi=5 wi=6 y=3 x=3 pad_h_lo=1 pad_w_lo=1 "
                       "pad_h_hi=1 pad_w_hi=1",
                       fields, p_out, err);
}

int op_case_gemm(const char *fields, struct ks_problem *p_out, struct ks_err *err)
{
    uint32_t op;
    int rc = ks_operator_find("gemm", &op, err);

    return rc < 0 ? rc : finish_case(ks_problem_blank(op), "m=3 n=4 k=5", fields, p_out, err);
}

static int64_t pick(uint64_t *rng, int64_t low, int64_t high)
{
    return low + (int64_t)ks_rng_below(rng, (uint64_t)(high - low + 1));
}

static void pick_axis(uint64_t *rng, struct ks_problem *p, int axis)
{
    int64_t *d = p->dim + axis;

    d[KS_CONV_DI] = pick(rng, 1, axis == 2 ? 21 : 6);
    d[KS_CONV_Z] = pick(rng, 1, 4);
    d[KS_CONV_STRIDE_D] = pick(rng, 1, 3);
    d[KS_CONV_DILATION_D] = pick(rng, 1, 3);
    d[KS_CONV_PAD_D_LO] = pick(rng, 0, 4);
    d[KS_CONV_PAD_D_HI] = pick(rng, 0, 4);
}

static void pick_channels(uint64_t *rng, struct ks_problem *p)
{
    bool is_depthwise = pick(rng, 0, 3) == 0, is_wide = pick(rng, 0, 7) == 0;
    int64_t g = pick(rng, 1, is_depthwise ? 20 : 3);

    p->dim[KS_CONV_N] = pick(rng, 1, 2);
    p->dim[KS_CONV_G] = g;
    p->dim[KS_CONV_C_TOTAL] = g * (is_depthwise ? 1 : pick(rng, 1, 9));
    p->dim[KS_CONV_K_TOTAL] = g * (is_depthwise ? 1 : pick(rng, 1, is_wide ? 140 : 11));
}

struct ks_problem op_case_random(uint64_t *rng, uint32_t dtype)
{
    struct ks_problem p;

    do {
        p = ks_problem_blank(0);
        p.dtype = dtype;
        p.dim[KS_CONV_NDIM] = pick(rng, 1, 3);
        pick_channels(rng, &p);
        for (int axis = 3 - (int)p.dim[KS_CONV_NDIM]; axis < 3; axis++)
            pick_axis(rng, &p, axis);
    } while (ks_problem_finish(&p, NULL) < 0); /* a filter larger than its input */
    return p;
}
