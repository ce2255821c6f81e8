/* SPDX-License-Identifier: MIT */
/* sample.h - the proof of a double reference by direct recomputation of a sample (DESIGN V3). */
#ifndef KS_OP_SAMPLE_H
#define KS_OP_SAMPLE_H

#include "op/op.h"

/* One element of the result: R and A = sum |x||w|, summed in another order than the reference. */
struct ks_sample {
    long double r, abs;
};
typedef void (*ks_sample_fn)(const void *ctx, int64_t element, struct ks_sample *out);

/* The next element that is looked at, of n > 0. */
int64_t ks_sample_draw(uint64_t *seed, uint64_t n);

/* Compares n_sample elements of r, and of abs unless it is NULL, with what `sum` gives for them.
 * Returns 0; KS_EDEVICE naming the first that differs by more than double rounding allows. */
int ks_sample_compare(const struct ks_problem *p, const double *r, const double *abs, uint64_t seed,
                      int n_sample, ks_sample_fn sum, const void *ctx, struct ks_err *err);

/* Adds products of n elements of dtype that lie steps apart, the last one first. */
struct ks_sample_run {
    const void *a, *b;
    int64_t at_a, step_a, at_b, step_b, n;
    uint32_t dtype;
};
void ks_sample_add(struct ks_sample *s, const struct ks_sample_run *run);

#endif
