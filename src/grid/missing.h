/* SPDX-License-Identifier: MIT */
/* missing.h - why a set's device cannot run an instance, wherever it is known from which rows of
 * its family concern it: expressions (inability.c) or a plain file (plain_read.c). */
#ifndef KS_GRID_MISSING_H
#define KS_GRID_MISSING_H

#include "base/err.h"
#include "grid/family.h"

#include <stdbool.h>
#include <stdint.h>

/* Rows of a family that may concern an instance: its needs, and behind them its inabilities. */
static inline uint32_t ks_missing_n_rows(const struct ks_family *f)
{
    return f->n_needs + f->n_inabilities;
}
typedef int (*ks_concern_fn)(const void *ctx, const struct ks_family *f,
                             const struct ks_instance *i, uint32_t row, bool *out,
                             struct ks_err *err);

/* Fills i->missing: what the CPU lacks, what the arch cannot do, that there is no kernel. */
int ks_missing_find(const struct ks_kernel_set *set, const struct ks_family *f,
                    ks_concern_fn concerns, const void *ctx, struct ks_instance *i,
                    struct ks_err *err);

#endif
