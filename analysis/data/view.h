/* SPDX-License-Identifier: MIT */
/* view.h - which measurements of a results file, in which order: problem by problem as the file
 * lists them, in a problem the instances as their configs list them, then run by run. Rows of
 * several runs are kept, or one per cell is chosen. About 60 bytes a row. */
#ifndef KS_ANALYSIS_VIEW_H
#define KS_ANALYSIS_VIEW_H

#include "store/batch.h"
#include "store/store.h"

#include <stdint.h>

enum ks_merge {
    KS_MERGE_ALL,
    KS_MERGE_NEWEST, /* of the run that began last */
    KS_MERGE_MEDIAN  /* the ok row whose median time is the (lower) middle one; none ok: newest */
};
extern const char *const ks_merge_names[]; /* NULL-terminated */

struct ks_view;

/* ks_results_path() - the results file that a command is given: a file, or the directory of a run,
 * whose results.h5 is meant.
 * Returns 0; KS_ENOENT the directory has none, with the command that makes it; KS_EINVAL the path
 * is too long. */
int ks_results_path(const char *path, char *out, size_t cap, struct ks_err *err);

/* Rows of one cell = same problem, instance, condition and device class. A row that no device
 * touched belongs to its run's class if that has only one. */
/* path: as ks_results_path */
int ks_view_open(const char *path, enum ks_merge merge, struct ks_view **view_out,
                 struct ks_err *err);
void ks_view_close(struct ks_view *v); /* NULL is fine */
struct ks_store_file *ks_view_file(const struct ks_view *v);
uint64_t ks_view_n_dropped(const struct ks_view *v); /* rows that merging left out */
uint64_t ks_view_n_rows(const struct ks_view *v);

/* ks_view_rows() - the numbers in /measurements of the rows from `first` on.
 * Whole problems, so many that there are at most max_rows, but at least one problem.
 * @rows_out [out] [*n_out] borrowed until the view is closed; 0 at the end */
void ks_view_rows(const struct ks_view *v, uint64_t first, size_t max_rows,
                  const uint64_t **rows_out, size_t *n_out);

/* Reads the rows themselves; borrowed from the view. */
struct ks_batch *ks_view_batch(const struct ks_view *v);

#endif
