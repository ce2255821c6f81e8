/* SPDX-License-Identifier: MIT */
/* dims.c - checks the dims of a problem and the number of elements that they give */
#include "op/dims.h"

#include <inttypes.h>

int ks_dims_check(const struct ks_problem *p, const int64_t *least, const int64_t *most,
                  struct ks_err *err)
{
    const char *const *names = ks_operators[p->op]->dim_names;

    for (int i = 0; names[i]; i++) {
        int64_t limit = most ? most[i] : KS_DIM_MAX;

        if (p->dim[i] == KS_DIM_REQUIRED)
            return ks_fail(err, KS_EINVAL, "%s is missing", names[i]);
        if (p->dim[i] < least[i] || p->dim[i] > limit)
            return ks_fail(err, KS_EINVAL,
                           "%s = %" PRId64 ", must be between %" PRId64 " and %" PRId64, names[i],
                           p->dim[i], least[i], limit);
    }
    return 0;
}

int64_t ks_dims_product(const int64_t *factors, int n)
{
    int64_t product = 1;

    for (int i = 0; i < n; i++) {
        if (factors[i] > KS_ELEMENTS_MAX / product)
            return KS_ELEMENTS_MAX + 1;
        product *= factors[i];
    }
    return product;
}

int ks_dims_check_elements(const struct ks_problem *p, const char *const names[3],
                           struct ks_err *err)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    const int64_t n[3] = { e.a, e.b, e.c };

    for (int i = 0; i < 3; i++)
        if (n[i] > KS_ELEMENTS_MAX)
            return ks_fail(err, KS_EINVAL, "%s: more than 2^40 elements", names[i]);
    return 0;
}
