/* SPDX-License-Identifier: MIT */
/* grid_impl.h - between grid.c and those who fill a grid: grid_load.c from a job, plain_read.c from
 * the plain form. */
#ifndef KS_GRID_GRID_IMPL_H
#define KS_GRID_GRID_IMPL_H

#include "base/err.h"
#include "grid/grid.h"

/* May a grid be for this arch? What a GPU's "native" is must be known: instances are checked
 * against it.
 */
int ks_grid_check_arch(const struct ks_job *job, struct ks_err *err);
/* Of problems, families, instances and job: condition, digest, the order of ids, texts. */
int ks_grid_index(struct ks_grid *g, struct ks_err *err);
/* What ks_grid_index() makes ks_grid.digest of, for any condition. */
int ks_grid_digest(const struct ks_grid *g, uint64_t condition, uint64_t *digest_out,
                   struct ks_err *err);

#endif
