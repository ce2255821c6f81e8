/* SPDX-License-Identifier: MIT */
/* view.h - the measurements of a results file in the order of tables: problem by problem as the
 * file lists them, in a problem the instances as their configs list them, then run by run. Rows of
 * several runs are kept, or one per cell is chosen. */
#ifndef KS_ANALYSIS_VIEW_H
#define KS_ANALYSIS_VIEW_H

#include "store/store.h"

#include <stdint.h>

enum ks_merge {
    KS_MERGE_ALL,
    KS_MERGE_NEWEST, /* of the run that began last */
    KS_MERGE_MEDIAN  /* the ok row whose median time is the (lower) middle one; none ok: newest */
};
extern const char *const ks_merge_names[]; /* NULL-terminated */

struct ks_view;

/* Rows of one cell = same problem, instance, condition and device class. A row that no device
 * touched belongs to its run's class if that has only one. */
int ks_view_open(const char *path, enum ks_merge merge, struct ks_view **view_out,
                 struct ks_err *err);
void ks_view_close(struct ks_view *v); /* NULL is fine */
struct ks_store_file *ks_view_file(const struct ks_view *v);
uint64_t ks_view_n_dropped(const struct ks_view *v); /* rows that merging left out */
uint64_t ks_view_n_rows(const struct ks_view *v);

/* All rows of the next problem, in order. 1 = there are, 0 = no more. *rows_out is valid until the
 * next call. */
int ks_view_next(struct ks_view *v, const struct ks_row **rows_out, size_t *n_out,
                 struct ks_err *err);

#endif
