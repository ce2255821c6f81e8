/* SPDX-License-Identifier: MIT */
/* frames.h - the rows that `table` writes, batch by batch: of a results file, or of a table that
 * was written before. */
#ifndef KS_ANALYSIS_FRAMES_H
#define KS_ANALYSIS_FRAMES_H

#include "analysis/data/catalogue.h"
#include "analysis/data/view.h"
#include "analysis/learn/chances.h"

#include <stdbool.h>

struct ks_frames;

/* Columns behind those of the version; of a results file only. */
struct ks_frames_more {
    struct ks_chances *chances; /* what the oracle says; borrowed; NULL: no such columns */
    bool has_features; /* a column per feature (learn/features.h), chosen from all of the rows,
                          which are read twice */
};

/* v: rows of the results file at `path`, in the columns of this version; borrowed. NULL: the table
 * at `path` (analysis/import/made.h). KS_EFORMAT: features are wanted, but no row has a problem
 * that can be read. */
int ks_frames_open(struct ks_view *v, enum ks_columns_version version, const char *path,
                   const struct ks_frames_more *more, struct ks_frames **frames_out,
                   struct ks_err *err);
void ks_frames_close(struct ks_frames *f); /* NULL is fine */
/* Its columns; those from *n_columns_out on are only needed to derive others. */
const struct ks_df *ks_frames_df(const struct ks_frames *f, size_t *n_columns_out);
/* Rows whose features are missing, because their problem cannot be read (ks_frame_problem); 0
 * without features. */
size_t ks_frames_n_unread(const struct ks_frames *f);
/* 1; 0 = no more rows; an error. Derived columns have their values. */
int ks_frames_next(struct ks_frames *f, struct ks_df **frame_out, struct ks_err *err);
/* From the first row again. */
int ks_frames_rewind(struct ks_frames *f, struct ks_err *err);

#endif
