/* SPDX-License-Identifier: MIT */
/* merge.h - several results files as one, without their journals. */
#ifndef KS_STORE_MERGE_H
#define KS_STORE_MERGE_H

#include "store/store.h"

struct ks_merge_totals {
    uint32_t n_runs, n_devices, n_problems; /* of the new file; devices by id */
    uint32_t n_runs_repeated;               /* copies of a run that were left out */
    uint64_t n_cells, n_pending, n_attempts;
};

/* ks_store_merge() - the union of the files' runs.
 * Runs are the same if their ids are: of copies the one counts that was gathered further. Problems,
 * traits and code groups are joined by id; devices, instances and blocks belong to their run, and
 * keep their ids. Cells of different runs are never joined (`table --merge` chooses among them).
 * @paths [in] [n_paths] of any schema minor; @out_path may be one of them
 * Returns 0; KS_ENOENT, KS_EFORMAT a file that cannot be read; KS_ENOSPC, KS_EIO, KS_ENOMEM. The
 * old file stays on failure. Memory: as ks_store_gather, and 8 bytes a row of /attempts. */
int ks_store_merge(const char *const *paths, size_t n_paths, const char *out_path,
                   const struct ks_store_options *options, struct ks_merge_totals *totals_out,
                   struct ks_err *err);

#endif
