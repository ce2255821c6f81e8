/* SPDX-License-Identifier: MIT */
/* join.h - of the rows of one problem, the one that an alias or a control points to: that of the
 * instance with the same machine code that was measured in its place. */
#ifndef KS_ANALYSIS_JOIN_H
#define KS_ANALYSIS_JOIN_H

#include "analysis/learn/label.h"

struct ks_join {
    const struct ks_obs **rows; /* [n] by instance, condition, run; borrowed */
    size_t n, cap;
};

/* Takes the rows of the next problem; zero-initialise before the first. KS_ENOMEM. */
int ks_join_problem(struct ks_join *j, const struct ks_obs *rows, size_t n, struct ks_err *err);
/* Of the same run, else of any (merging keeps one row per cell). NULL: the row points to none, or
 * that one has no row. */
const struct ks_obs *ks_join_first(const struct ks_join *j, const struct ks_obs *row);
void ks_join_release(struct ks_join *j);

/* The row that says how the code of this one did: itself, of an alias the one it points to. NULL:
 * nobody knows. */
const struct ks_obs *ks_join_code(const struct ks_join *j, const struct ks_obs *row);

#endif
