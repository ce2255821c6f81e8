/* SPDX-License-Identifier: MIT */
/* refusals.h - which cells' instances refuse their problem, asked of a worker, as far as they are
 * built. */
#ifndef KS_MPI_REFUSALS_H
#define KS_MPI_REFUSALS_H

#include "base/err.h"
#include "build/build.h"
#include "grid/grid.h"
#include "spawn/warden.h"

#include <stdbool.h>
#include <stdint.h>

/* Asked at most; of more problems, one in so many. */
#define KS_REFUSALS_PAIRS    20000000ull
#define KS_REFUSALS_PROBLEMS 100000ull

/* Zero: nothing is known. ks_refusals_release() frees it. */
struct ks_refusals {
    char *answer;   /* [asked problems * n_kernels] '0' or '1' */
    int32_t *place; /* [n_instances] of each among the kernels; -1: not built */
    uint32_t n_kernels;
    uint32_t stride; /* 1: all problems were asked */
};

/* KS_EDEVICE: the worker failed, in its own words. Blocks for a minute at most. */
int ks_refusals_ask(const struct ks_grid *g, const struct ks_build *b, struct ks_warden *warden,
                    struct ks_refusals *out, struct ks_err *err);
void ks_refusals_release(struct ks_refusals *r);
/* Of an instance that is not built, and of problems that nobody was asked about, a neighbour's. */
bool ks_refusals_has(const struct ks_refusals *r, uint32_t i_problem, uint32_t i_instance);

#endif
