/* SPDX-License-Identifier: MIT */
/* sweeps_impl.h - inside of sweeps: records of /attempts, and which of them are kept. */
#ifndef KS_ANALYSIS_SWEEPS_IMPL_H
#define KS_ANALYSIS_SWEEPS_IMPL_H

#include "analysis/data/sweeps.h"
#include "record/record.h"

struct ks_sweep_entry { /* a record of role cell while its file is read */
    struct ks_cell cell;
    uint64_t sample_offset, device_id, representative_id;
    uint32_t run, attempt, problem_row, kernel_row, device_row, n_visit, flags;
    double disturbance;
    bool is_final; /* the file says that it decides its cell */
    struct ks_sweep_round round;
    /* set by ks_sweeps_choose */
    bool is_timed; /* it counts by ks_record_counts, and its cell is ok */
    bool counts;
};

/* Where the entries of the cell of the one at `first` end; e [n] are sorted by cell. */
size_t ks_sweeps_cell_end(const struct ks_sweep_entry *e, size_t first, size_t n);
/* ks_sweeps_choose() - which entries count, as sweeps.h says; sets round.is_elsewhere.
 * @e [inout] [n] of one problem in one run, sorted by cell. KS_ENOMEM. */
int ks_sweeps_choose(struct ks_sweep_entry *e, size_t n, struct ks_err *err);

#endif
