/* SPDX-License-Identifier: MIT */
/* verify.h - compare an output with its reference, element by element. Pure. */
#ifndef KS_WORKER_VERIFY_H
#define KS_WORKER_VERIFY_H

#include "op/op.h"
#include "record/record.h"
#include "worker/mask.h"

#include <stddef.h>
#include <stdint.h>

/* Shape of the output, slowest dim first, for boxes. */
struct ks_shape {
    int n_dims; /* 0: no box wanted */
    int64_t dim[6];
};

struct ks_verdict {
    uint64_t n_wrong;
    uint64_t n_zero;  /* elements equal to zero; V2 only */
    double max_error; /* V2: largest |o - R| / tolerance of the finite elements */
    uint32_t n_mismatches;
    struct ks_mismatch mismatch[KS_MISMATCH_MAX]; /* the first wrong ones, by index */
    int64_t box_lo[6], box_hi[6]; /* of all wrong ones, inclusive; valid when n_wrong > 0 */
};

/* ks_verify_exact() - V1: every element equals `want` bit for bit; zeros of either sign are equal,
 * because an exact integer 0 has no sign.
 * @got, @want [in] [n] elements of dtype; want holds the exact result rounded to dtype. */
void ks_verify_exact(const void *got, const void *want, size_t n, uint32_t dtype,
                     const struct ks_shape *shape, struct ks_verdict *out);

/* V1 of instances that are not held to exact bits: every element was written over a NaN poison, and
 * with a number. */
void ks_verify_written(const void *got, size_t n, uint32_t dtype, const struct ks_shape *shape,
                       struct ks_verdict *out);

/* Unit round-off of the accumulation that enum ks_numerics declares. */
double ks_u_acc(uint32_t numerics);

/* tolerance(R, A) = u_out |R| + (1 + u_out) g A + tiny.
 * Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1: a sum of L
 * products in any order is off by at most g A, g = L u / (1 - L u); then one rounding to the output
 * type. From L u = 1 on there is no bound: where A > 0 every finite number is within it. */
struct ks_tolerance {
    double u_out;   /* unit round-off of the output type */
    double scale_a; /* (1 + u_out) g */
    double tiny;    /* smallest subnormal of the output type */
};
/* @reduction L >= 1; @u_acc unit round-off of the accumulation, 2^-24 for fp32. */
struct ks_tolerance ks_tolerance_of(uint32_t dtype, int64_t reduction, double u_acc);
double ks_tolerance_at(const struct ks_tolerance *t, double r, double abs);

/* ks_verify_real() - V2: every element o satisfies |o - R| <= tolerance(R, A); NaN and infinities
 * do not, even where there is no bound.
 * @r, @abs [in] [n] reference and sum of absolute products. */
void ks_verify_real(const void *got, const double *r, const double *abs, size_t n, uint32_t dtype,
                    const struct ks_tolerance *t, const struct ks_shape *shape,
                    struct ks_verdict *out);

/* The same piece by piece, with references that may be masked (mask.h) and need not all be in
 * memory: a verdict is begun, then added to. got, want, r and abs point to element `first` of n.
 * Unmasked numbers are in registers, or in a chunk on the stack that is erased. Either both of r
 * and abs are masked or none is. */
void ks_verify_begin(const struct ks_shape *shape, struct ks_verdict *out);
void ks_verify_exact_more(const void *got, const struct ks_masked *want, size_t first, size_t n,
                          uint32_t dtype, const struct ks_shape *shape, struct ks_verdict *sum);
void ks_verify_real_more(const void *got, const struct ks_masked *r, const struct ks_masked *abs,
                         size_t first, size_t n, uint32_t dtype, const struct ks_tolerance *t,
                         const struct ks_shape *shape, struct ks_verdict *sum);

/* Copies what a verdict says of wrong elements into a record. */
void ks_verdict_record(const struct ks_verdict *v, const struct ks_shape *shape,
                       struct ks_record *r);

#endif
