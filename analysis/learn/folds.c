/* SPDX-License-Identifier: MIT */
#include "analysis/learn/folds.h"
#include "base/hash.h"

#include <stdlib.h>

struct hashed {
    uint64_t hash, id;
    size_t i;
};

static int compare(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The problems in the order of their hashes. */
static int shuffled(const struct ks_cells *c, uint64_t seed, struct hashed **order_out,
                    struct ks_err *err)
{
    struct hashed *order = malloc((c->n_problems + 1) * sizeof(*order));

    if (!order)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);
    for (size_t i = 0; i < c->n_problems; i++) {
        uint64_t id = c->problems[i].problem.id;

        order[i] = (struct hashed){ ks_mix64(id ^ ks_mix64(seed)), id, i };
    }
    qsort(order, c->n_problems, sizeof(*order), compare);
    *order_out = order;
    return 0;
}

int ks_folds_grouped(const struct ks_cells *c, uint32_t n_folds, uint64_t seed, uint8_t *fold_out,
                     struct ks_err *err)
{
    struct hashed *order;
    int rc;

    if (n_folds < 2 || n_folds > KS_MAX_FOLDS)
        return ks_fail(err, KS_EINVAL, "%u folds, but 2 to %d are allowed", n_folds, KS_MAX_FOLDS);
    if (c->n_problems < n_folds)
        return ks_fail(
            err, KS_EINVAL,
            "%zu problems cannot be split into %u folds: measure more problems, or use fewer folds",
            c->n_problems, n_folds);
    rc = shuffled(c, seed, &order, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < c->n_problems; i++)
        fold_out[order[i].i] = (uint8_t)(i % n_folds);
    free(order);
    return 0;
}

int ks_folds_sample(const struct ks_cells *c, size_t n, uint64_t seed, bool *is_in_out,
                    struct ks_err *err)
{
    struct hashed *order;
    int rc = shuffled(c, seed, &order, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < c->n_problems; i++)
        is_in_out[order[i].i] = n == 0 || i < n;
    free(order);
    return 0;
}
