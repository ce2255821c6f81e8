/* SPDX-License-Identifier: MIT */
/* power_impl.h - what the parts of power.h share. */
#ifndef KS_TEST_POWER_IMPL_H
#define KS_TEST_POWER_IMPL_H

#include "power.h"

/* The products of one element, at hand. */
struct terms {
    const float *x, *w; /* [n] */
    int64_t n;
};

int64_t power_pick(uint64_t *rng, int64_t from, int64_t to);
/* Zeroed; ends the program without memory. */
void *power_array(int64_t n, size_t size);
int64_t most_products(const struct products *p);
/* The operands of the products of element i, operand b's taken from those of element b_of. */
struct terms gather(const struct subject *s, enum ks_data data, int64_t i, int64_t b_of, float *x,
                    float *w);

#endif
