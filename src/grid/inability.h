/* SPDX-License-Identifier: MIT */
/* inability.h - why the set's device cannot run an instance; between kernel_adder.c and
 * inability.c. */
#ifndef KS_GRID_INABILITY_H
#define KS_GRID_INABILITY_H

#include "base/err.h"
#include "grid/expr.h"
#include "grid/family.h"
#include "grid/missing.h"

/* A family's `needs` and `inabilities`, parsed. */
struct ks_lacks {
    struct ks_expr *needs[KS_NEEDS_MAX];
    struct ks_expr *inabilities[KS_NEEDS_MAX];
};

/* Zeroed before; to be released after a failure, too. */
int ks_lacks_init(struct ks_lacks *l, const struct ks_family *f, struct ks_err *err);
void ks_lacks_release(struct ks_lacks *l);
/* A ks_concern_fn of a struct ks_lacks: what the row's expression says. */
int ks_lacks_concern(const void *lacks, const struct ks_family *f, const struct ks_instance *i,
                     uint32_t row, bool *out, struct ks_err *err);
/* Fills i->missing: what the CPU lacks, what the arch cannot do, that there is no kernel. */
int ks_lacks_find(const struct ks_lacks *l, const struct ks_kernel_set *set,
                  const struct ks_family *f, struct ks_instance *i, struct ks_err *err);

#endif
