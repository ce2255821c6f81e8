/* SPDX-License-Identifier: MIT */
/* prune.h - cells that are left out of a sweep because of what their code object says. Pure. */
#ifndef KS_MPI_PRUNE_H
#define KS_MPI_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ks_pruning { KS_PRUNE_NONE = 0, KS_PRUNE_SPILL = 1 }; /* as ks_job_prunings */

/* Of a command line: "job", as the job says, or one of ks_job_prunings. */
extern const char *const ks_prune_choices[];
void ks_prune_choose(unsigned choice, unsigned *by_io);

#define KS_PRUNE_WHY 80u

/* Whether a kernel keeps registers in memory, and a line that says so. Its numbers may be -1, not
 * known: then it does not. */
bool ks_prune_spills(int32_t vgpr_spills, int64_t scratch_bytes, char why_out[KS_PRUNE_WHY]);

/* Whether this cell is measured all the same. A draw of its own for each cell, from its ids alone,
 * and not that of ks_alias_is_control. */
bool ks_prune_is_control(uint64_t problem, uint64_t instance, double share);

#endif
