/* SPDX-License-Identifier: MIT */
/* op_bench.h - a problem with its operands and what the operator's reference says of it. */
#ifndef KS_TEST_OP_BENCH_H
#define KS_TEST_OP_BENCH_H

#include "op/op.h"

#define BENCH_GUARD 12345.0

struct bench {
    struct ks_problem p;
    const struct ks_operator *op;
    struct ks_extents e;
    void *a, *b;
    double *r, *abs; /* [e.c + 1], all BENCH_GUARD until bench_compute(); the last one stays so */
};

struct bench bench_of(const struct ks_problem *p, enum ks_data data);
void bench_release(struct bench *t);
int bench_compute(struct bench *t, bool wants_abs, struct ks_err *err);
int bench_prove_exact(const struct bench *t, uint64_t seed, struct ks_err *err);
int bench_prove_real(const struct bench *t, int n_sample, struct ks_err *err);

/* Both kinds of data: the reference is what the definition gives (products.h), both proofs agree,
 * and the work is what there are products and elements in them. Fails the test otherwise. */
void bench_check(const struct ks_problem *p);

#endif
