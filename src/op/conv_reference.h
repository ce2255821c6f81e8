/* SPDX-License-Identifier: MIT */
/* conv_reference.h - the slots reference, prove_exact and prove_real of grouped_conv (see op.h).
 * The proofs share no index arithmetic and no summation with the reference. */
#ifndef KS_OP_CONV_REFERENCE_H
#define KS_OP_CONV_REFERENCE_H

#include "op/op.h"

int ks_conv_reference(const struct ks_problem *p, const void *a, const void *b, double *r_out,
                      double *abs_out, struct ks_err *err);
int ks_conv_prove_exact(const struct ks_problem *p, const void *a, const void *b, const double *r,
                        uint64_t seed, struct ks_err *err);
int ks_conv_prove_real(const struct ks_problem *p, const void *a, const void *b, const double *r,
                       const double *abs, uint64_t seed, int n_sample, struct ks_err *err);

/* Parts of ks_conv_reference(): operands as fp32, abs NULL when not wanted. */
int ks_conv_gather(const struct ks_abi_problem *q, const float *a, const float *b, double *r,
                   double *abs, struct ks_err *err); /* forward and backward data */
int ks_conv_weights(const struct ks_abi_problem *q, const float *input, const float *d_output,
                    double *r, double *abs, struct ks_err *err); /* backward weight */

#endif
