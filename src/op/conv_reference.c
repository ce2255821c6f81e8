/* SPDX-License-Identifier: MIT */
/* conv_reference.c - a convolution's reference: operands as floats, then by its direction */
#include "op/conv_reference.h"
#include "op/conv_view.h"

#include <stdlib.h>

int ks_conv_reference(const struct ks_problem *p, const void *a, const void *b, double *r_out,
                      double *abs_out, struct ks_err *err)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    const float *a_floats, *b_floats;
    float *a_owned = NULL, *b_owned = NULL;
    struct ks_abi_problem q;
    int rc = ks_operand_floats(a, e.a, p->dtype, &a_owned, &a_floats, err);

    if (rc == 0)
        rc = ks_operand_floats(b, e.b, p->dtype, &b_owned, &b_floats, err);
    ks_operators[p->op]->to_abi(p, &q);
    ks_conv_flatten(&q);
    if (rc == 0)
        rc = p->direction == KS_BACKWARD_WEIGHT
                 ? ks_conv_weights(&q, a_floats, b_floats, r_out, abs_out, err)
                 : ks_conv_gather(&q, a_floats, b_floats, r_out, abs_out, err);
    free(a_owned);
    free(b_owned);
    return rc;
}
