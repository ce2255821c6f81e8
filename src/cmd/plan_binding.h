/* SPDX-License-Identifier: MIT */
/* plan_binding.h - `ksweep plan JOB --show-binding`: the map of ranks, for private use by
 * cmd_plan.c.
 */
#ifndef KS_CMD_PLAN_BINDING_H
#define KS_CMD_PLAN_BINDING_H

#include "grid/job.h"
#include "mpi/seat.h"

#include <stdbool.h>

/* Every rank of the launch calls this; rank 0 prints the map of all. Returns 0; KS_EINVAL where
 * `ksweep run` would refuse it, on rank 0 only. */
int ks_plan_binding(const struct ks_job *job, const struct ks_seat_options *o, bool is_json,
                    struct ks_warden *warden, struct ks_err *err);

#endif
