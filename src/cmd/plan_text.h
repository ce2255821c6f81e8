/* SPDX-License-Identifier: MIT */
/* plan_text.h - what `ksweep plan` says of a job, as text, for private use by cmd_plan.c. All
 * append to `to`; names and reasons are escaped as ks_cmd_put() does. */
#ifndef KS_CMD_PLAN_TEXT_H
#define KS_CMD_PLAN_TEXT_H

#include "base/buf.h"
#include "cmd/plan_codes.h"
#include "grid/grid.h"

#include <stdbool.h>
#include <stdint.h>

/* Sentences, one on a line; see ks_cmd_wrap(). */
void ks_plan_text(const struct ks_grid *g, const struct ks_plan_codes *k,
                  const struct ks_plan_totals *t, uint32_t devices, struct ks_buf *to);
/* The same of a job that runs programs: nothing is known of a run before it has ended. */
void ks_plan_programs_text(const struct ks_grid *g, struct ks_buf *to);

/* The problems in the order in which devices take them: a table, or a list where the table does not
 * fit into `width` columns (0: any number). is_all: more than the first ten. */
void ks_plan_problems_text(const struct ks_grid *g, const struct ks_plan_codes *k, bool is_all,
                           unsigned width, struct ks_buf *to);

#endif
