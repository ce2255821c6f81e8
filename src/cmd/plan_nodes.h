/* SPDX-License-Identifier: MIT */
/* plan_nodes.h - what to request from Slurm for a job, for private use by cmd_plan.c. */
#ifndef KS_CMD_PLAN_NODES_H
#define KS_CMD_PLAN_NODES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_plan_work {
    double work_s;         /* device seconds of all cells and anchors */
    double longest_s;      /* of them, of the longest problem */
    double longest_cell_s; /* of the longest cell */
    const char *longest;   /* name of that problem, borrowed */
};

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

/* Both append to `to`; walltime_s 0 = not asked. */
void ks_plan_nodes_text(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                        struct ks_buf *to);
void ks_plan_nodes_json(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                        struct ks_buf *to);

#endif
