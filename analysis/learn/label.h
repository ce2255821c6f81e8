/* SPDX-License-Identifier: MIT */
/* label.h - a measured row as learning and reports see it, and the one definition each of a usable
 * row, a scaled time, a tie and a winner. */
#ifndef KS_ANALYSIS_LABEL_H
#define KS_ANALYSIS_LABEL_H

#include "analysis/data/catalogue.h"
#include "analysis/data/findings.h"
#include "record/stats.h"

#define KS_OBS_NONE UINT32_MAX

struct ks_obs {
    uint32_t run, problem, kernel, device, block; /* rows of their tables, KS_OBS_NONE = none */
    uint64_t instance_id, condition_id;
    uint64_t representative_id; /* instance with the same code that it points to; 0 = none */
    uint32_t outcome, flags, n_samples;
    const char *reason;                        /* "" = none */
    double median_ns, se_ns, lo95_ns, hi95_ns; /* or KS_NOT_KNOWN */
    double time_over_anchor;                   /* or KS_NOT_KNOWN */
    double anchor_ns, anchor_drift;            /* of the block, or KS_NOT_KNOWN */
};

/* ---- from a frame ---- */

#define KS_OBS_COLUMNS 20

struct ks_obs_reader {
    const struct ks_df_column *column[KS_OBS_COLUMNS];
};
/* Adds the columns that a frame must have for ks_obs_bind. KS_ENOMEM. */
int ks_obs_need(struct ks_sources *sources, const struct ks_store_file *f, struct ks_err *err);
/* For this batch. KS_EINVAL: the frame lacks a column. */
int ks_obs_bind(const struct ks_df *f, struct ks_obs_reader *reader_out, struct ks_err *err);
void ks_obs_read(const struct ks_obs_reader *reader, size_t row, struct ks_obs *out);

/* ---- definitions ---- */

/* A usable row has a time that may be compared: the outcome is ok, the median is known, and the
 * file knows the instance. */
bool ks_is_usable(const struct ks_obs *row);

/* The numbers of the usable rows of a batch whose problem is known, too.
 * @rows_out [out] [n_rows of f]
 * Returns 0; KS_EINVAL the frame lacks a column that ks_obs_need adds. */
int ks_usable_rows(const struct ks_df *f, uint32_t *rows_out, size_t *n_out, struct ks_err *err);

/* A time to compare with others of the same problem. */
struct ks_timed {
    const struct ks_obs *row;
    struct ks_stats stats; /* median, se and 95 % interval, scaled */
    double drift;          /* of the block's anchor, relative; 0 = not known */
};
/* Times are comparable as they are within a block. If the usable rows of a problem lie in several
 * blocks that all have an anchor time, they are scaled by it. */
bool ks_needs_scaling(const struct ks_obs *rows, size_t n);
/* reference_ns: the anchor time that times are scaled to; 0 = as they are. */
struct ks_timed ks_scaled_time(const struct ks_obs *row, double reference_ns);

/* A tie: the 95 % intervals overlap, or the medians differ by no more than the larger anchor drift,
 * as a part of the best's median. */
bool ks_is_tied(const struct ks_timed *a, const struct ks_timed *best);

/* The winner has the smallest scaled median, of equal ones the first. n > 0. */
size_t ks_winner(const struct ks_timed *t, size_t n);

#endif
