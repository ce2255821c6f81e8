/* SPDX-License-Identifier: MIT */
/* problems_view.h - how `ksweep problems` shows a set. */
#ifndef KS_CMD_PROBLEMS_VIEW_H
#define KS_CMD_PROBLEMS_VIEW_H

#include "base/buf.h"
#include "grid/problems.h"

#include <stdbool.h>
#include <stdint.h>

/* What became of a set between reading and showing it. */
struct ks_problems_tally {
    int n_files;
    uint32_t n_distinct, n_excluded; /* as read; taken out by --exclude */
};

/* The problems as CSV that ksweep reads; is_listing: with what ksweep derives of each in front (id,
 * shape class, products per output element, operations, bytes when each operand is touched once).
 * Where the source told device times the last column is total_time_ns. */
void ks_problems_csv(const struct ks_problem_set *set, bool is_listing, struct ks_buf *b);
void ks_problems_json(const struct ks_problem_set *set, struct ks_buf *b);
void ks_problems_counts(const struct ks_problem_set *set, const struct ks_problems_tally *t,
                        struct ks_buf *b);
void ks_problems_counts_json(const struct ks_problem_set *set, const struct ks_problems_tally *t,
                             struct ks_buf *b);
struct ks_problems_leaks {
    uint32_t n;            /* problems of the validation set that stand in the training set */
    uint32_t n_same_shape; /* others whose shape does, in another direction, dtype or layout */
};
/* Writes which problems of `validation` stand in `training`, by id, with both places. */
int ks_problems_leaks(const struct ks_problem_set *training,
                      const struct ks_problem_set *validation, bool as_json, struct ks_buf *b,
                      struct ks_problems_leaks *out, struct ks_err *err);

#endif
