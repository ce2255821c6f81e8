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

/* The problems as CSV that ksweep reads, with_id: with their ids in front. */
void ks_problems_csv(const struct ks_problem_set *set, bool with_id, struct ks_buf *b);
void ks_problems_json(const struct ks_problem_set *set, struct ks_buf *b);
void ks_problems_counts(const struct ks_problem_set *set, const struct ks_problems_tally *t,
                        struct ks_buf *b);
void ks_problems_counts_json(const struct ks_problem_set *set, const struct ks_problems_tally *t,
                             struct ks_buf *b);
/* Which problems of `validation` stand in `training`, by id, with both places; how many. */
uint32_t ks_problems_leaks(const struct ks_problem_set *training,
                           const struct ks_problem_set *validation, bool as_json, struct ks_buf *b);

#endif
