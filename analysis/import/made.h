/* SPDX-License-Identifier: MIT */
/* made.h - a table that `ksweep-analyze table` wrote, as CSV or HDF5, read back as frames of the
 * same columns. Types, units and roles are those of the one column table
 * (analysis/data/catalogue.h). Memory: a batch, and the distinct texts. */
#ifndef KS_ANALYSIS_MADE_H
#define KS_ANALYSIS_MADE_H

#include "analysis/data/frame.h"

#include <stdbool.h>

struct ks_made;

/* KS_EFORMAT: an unknown column, with the nearest name; not such a table. KS_ENOENT, KS_EIO,
 * KS_ENOMEM. */
int ks_made_open(const char *path, struct ks_made **made_out, struct ks_err *err);
void ks_made_close(struct ks_made *m); /* NULL is fine */
/* Its columns, with no rows before the first batch. */
const struct ks_df *ks_made_df(const struct ks_made *m);
/* 1; 0 = no more rows; KS_EFORMAT "file:line: ..." a value that the column cannot have; KS_EIO,
 * KS_ENOMEM. *frame_out: borrowed until the next call. */
int ks_made_next(struct ks_made *m, struct ks_df **frame_out, struct ks_err *err);

/* Is the file an HDF5 file with such a table? */
bool ks_made_is_hdf5_table(const char *path);

#endif
