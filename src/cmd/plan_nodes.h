/* SPDX-License-Identifier: MIT */
/* plan_nodes.h - what to request from Slurm for a job, for private use by cmd_plan.c and
 * cmd_slurm.c. */
#ifndef KS_CMD_PLAN_NODES_H
#define KS_CMD_PLAN_NODES_H

#include "base/buf.h"
#include "base/err.h"
#include "grid/grid.h"
#include "spawn/warden.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_plan_work {
    double work_s;                      /* device seconds of all cells and anchors */
    double longest_s;                   /* of them, of the longest problem */
    double longest_cell_s;              /* of the longest cell */
    const char *longest;                /* name of that problem, borrowed */
    double disk_bytes, most_disk_bytes; /* of the run's directory; most: every cell takes
                                           ks_cost_most_cell_bytes() */
    double cache_bytes;                 /* of instances that are not built yet */
};

#define KS_PLAN_MARGIN 1.25 /* estimates are estimates */

struct ks_plan_fit {
    uint32_t nodes;
    double expected_s;
    uint64_t request_s; /* walltime: expected and a quarter, start and gathering, in 5 minutes */
};

/* What `nodes` nodes of `per_node` devices take: no less than the longest problem on one device. */
struct ks_plan_fit ks_plan_fit_nodes(const struct ks_plan_work *w, uint32_t per_node,
                                     uint32_t nodes);
/* The fewest nodes whose request is within walltime_s. False when no number is, because of the
 * longest problem: *fit_out is then the most nodes that are of use. */
bool ks_plan_fit_walltime(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                          struct ks_plan_fit *fit_out);

/* A time limit as sbatch reads it: "04:00:00", "2-00:05:00". */
void ks_plan_request_text(uint64_t s, char *out, size_t cap);

/* The work of a grid as `ksweep plan` estimates it (plan_codes.c). cache_dir: of its kernels, NULL
 * = default. out->longest is borrowed from the grid. KS_ENOMEM. */
int ks_plan_work_of(const struct ks_grid *g, const char *cache_dir, struct ks_warden *warden,
                    struct ks_plan_work *out, struct ks_err *err);

/* Both append to `to`; walltime_s 0 = not asked. */
void ks_plan_nodes_text(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                        struct ks_buf *to);
void ks_plan_nodes_json(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                        struct ks_buf *to);

#endif
