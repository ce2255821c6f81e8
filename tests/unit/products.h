/* SPDX-License-Identifier: MIT */
/* products.h - which products make up each element of an output, straight from the definition of
 * the operator: an oracle that shares nothing with src/op beyond the struct of the problem. Small
 * problems only: memory is one entry a product. */
#ifndef KS_TEST_PRODUCTS_H
#define KS_TEST_PRODUCTS_H

#include "op/op.h"

/* Element i of the output is the sum over [first[i], first[i + 1]) of a[at.a] * b[at.b]. */
struct product {
    int32_t a, b; /* indices into the operands */
};
struct products {
    struct ks_abi_problem q;
    int64_t n_elements;
    int64_t *first;     /* [n_elements + 1] */
    struct product *at; /* [first[n_elements]] */
};

/* Ends the program without memory. */
void products_make(const struct ks_problem *p, struct products *out);
void products_release(struct products *p);

#endif
