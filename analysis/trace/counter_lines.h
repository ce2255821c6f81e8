/* SPDX-License-Identifier: MIT */
/* counter_lines.h - what is reported of counters: a line per launch, or per rank, device and
 * kernel or operator, with FLOPs, bytes, rates and intensities; and that as a frame for the
 * writers. */
#ifndef KS_TRACE_COUNTER_LINES_H
#define KS_TRACE_COUNTER_LINES_H

#include "analysis/data/frame.h"
#include "analysis/trace/counter_formula.h"

enum ks_counter_by { KS_LINES_BY_LAUNCH, KS_LINES_BY_KERNEL, KS_LINES_BY_TOP, KS_LINES_BY_BOTTOM };
extern const char *const ks_counter_by_names[]; /* NULL-terminated */

/* Sums over launches: a quantity is known only where every launch of the line has it. */
struct ks_counter_line {
    struct ks_counter_row row; /* of a line of several launches what they share */
    struct ks_quantities q;
    uint32_t source; /* row of the table: the first launch */
};
struct ks_counter_lines {
    struct ks_counter_line *at; /* [n], owned; by rank, then file and dispatch, or (groups) device,
                                   then the longest time first, then the most FLOPs */
    size_t n;
    enum ks_counter_by by;
};
int ks_counter_lines_make(const struct ks_counter_table *t, enum ks_counter_by by,
                          struct ks_counter_lines *out, struct ks_err *err);
void ks_counter_lines_release(struct ks_counter_lines *l);

/* The frame borrows from both. Lines per launch end in a column per counter. */
struct ks_counter_frame;
int ks_counter_frame_create(const struct ks_counter_table *t, const struct ks_counter_lines *l,
                            struct ks_counter_frame **out, struct ks_err *err);
const struct ks_df *ks_counter_frame_df(const struct ks_counter_frame *f);
void ks_counter_frame_destroy(struct ks_counter_frame *f); /* NULL is fine */

#endif
