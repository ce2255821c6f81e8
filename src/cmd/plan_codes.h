/* SPDX-License-Identifier: MIT */
/* plan_codes.h - what `ksweep plan` knows of a grid before it runs: which cells can run, which are
 * left out, and how long the rest may take. */
#ifndef KS_CMD_PLAN_CODES_H
#define KS_CMD_PLAN_CODES_H

#include "cmd/plan_nodes.h"
#include "grid/grid.h"
#include "mpi/alias.h"
#include "mpi/refusals.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_warden;

/* Which instances can run here, by the domain of the problem: asked once, not once per cell. */
struct ks_plan_runnable {
    bool *is;    /* [domains * n_instances] */
    uint32_t *n; /* [domains] */
};

/* What is known of the instances' code. */
struct ks_plan_codes {
    struct ks_aliases aliases;
    bool *spills;     /* [n_instances]; NULL: not known */
    uint32_t n_built; /* instances whose code_id is in the cache */
    bool is_sim;      /* it runs no code */
    struct ks_plan_runnable runnable;
    struct ks_refusals refusals;
    bool *can_run;          /* [n_instances] of the problem that is looked at */
    char why[200];          /* nothing is known; "": something is */
    char why_refusals[200]; /* the same of what instances refuse */
};

struct ks_plan_totals {
    uint64_t n_runnable, n_refused, n_pruned, n_aliased;
    uint32_t n_without; /* problems without any cell */
    double cells_s, visits_s;
    struct ks_plan_work work; /* with all that devices need beside */
};

/* Whatever stands in the way of knowing is no reason not to plan: *out says what is not known.
 * cache_dir: of the kernels, NULL for the usual one. *out is to be released, whatever this returns.
 * KS_ENOMEM. */
int ks_plan_codes_find(const struct ks_grid *g, const char *cache_dir, bool trust_cache,
                       struct ks_warden *warden, struct ks_plan_codes *out, struct ks_err *err);
void ks_plan_codes_release(struct ks_plan_codes *k);

struct ks_plan_totals ks_plan_add_up(const struct ks_grid *g, const struct ks_plan_codes *k);
/* Instances that do not refuse problem i. */
uint32_t ks_plan_n_supported(const struct ks_grid *g, const struct ks_plan_codes *k, uint32_t i);

#endif
