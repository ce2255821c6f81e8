/* SPDX-License-Identifier: MIT */
/* sample.c - compares a random sample of a double reference with sums in long double */
#include "op/sample.h"

#include "base/hash.h"

#include <inttypes.h>
#include <math.h>

static long double get(const void *base, int64_t i, uint32_t dtype)
{
    return dtype == KS_FP32 ? ((const float *)base)[i] : ks_element_get(base, i, dtype);
}

void ks_sample_add(struct ks_sample *s, const struct ks_sample_run *run)
{
    for (int64_t i = run->n - 1; i >= 0; i--) {
        long double product = get(run->a, run->at_a + i * run->step_a, run->dtype) *
                              get(run->b, run->at_b + i * run->step_b, run->dtype);

        s->r += product;
        s->abs += fabsl(product);
    }
}

static int compare(const char *what, int64_t element, double got, long double want,
                   long double tolerance, struct ks_err *err)
{
    if (fabsl(got - want) <= tolerance)
        return 0;
    return ks_fail(err, KS_EDEVICE,
                   "the reference's %s[%" PRId64
                   "] is %.17g, the direct sum is %.17Lg, tolerance %.3Lg",
                   what, element, got, want, tolerance);
}

int64_t ks_sample_draw(uint64_t *seed, uint64_t n)
{
    return (int64_t)ks_rng_below(seed, n);
}

int ks_sample_compare(const struct ks_problem *p, const double *r, const double *abs, uint64_t seed,
                      int n_sample, ks_sample_fn sum, const void *ctx, struct ks_err *err)
{
    uint64_t n = (uint64_t)ks_operators[p->op]->extents(p).c;
    /* Sums of L exact products: relative to sum |x||w| at most L u / (1 - L u), u = 2^-53 (Higham,
     * Accuracy and Stability, 4.2); L < 2^40, and long double adds less than the rest. */
    long double bound = 1.001L * 0x1p-53L * (long double)ks_operators[p->op]->reduction(p);
    int rc = 0;

    for (int i = 0; rc == 0 && i < n_sample; i++) {
        int64_t element = ks_sample_draw(&seed, n);
        struct ks_sample want = { 0, 0 };

        sum(ctx, element, &want);
        rc = compare("R", element, r[element], want.r, bound * want.abs, err);
        if (rc == 0 && abs)
            rc = compare("A", element, abs[element], want.abs, bound * want.abs, err);
    }
    return rc;
}
