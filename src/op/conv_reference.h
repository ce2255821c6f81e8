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

/* An operand of n elements as fp32: borrowed from src, or owned (caller frees; else NULL). */
int ks_conv_floats(const struct ks_problem *p, const void *src, int64_t n, float **owned_out,
                   const float **floats_out, struct ks_err *err);

/* KS_EUNSUPPORTED, naming what is not there, unless references exist for this problem. */
int ks_conv_referable(const struct ks_problem *p, struct ks_err *err);

#endif
