/* SPDX-License-Identifier: MIT */
/* mixed.h - rows of several sources in one table (--mixed). Times of different device classes,
 * conditions or statistics cannot be compared, and a model is trained on how the instances of one
 * problem compare: each problem keeps the rows of one source. */
#ifndef KS_ANALYSIS_MIXED_H
#define KS_ANALYSIS_MIXED_H

#include "analysis/learn/matrix.h"

enum ks_mixed_kind { KS_MIXED_CELL, KS_MIXED_LOST, KS_MIXED_REFUSED, KS_MIXED_TRUNCATED };

/* A row that waits. */
struct ks_mixed_row {
    struct ks_timed_cell cell; /* of the other kinds only problem and instance count */
    uint32_t source;           /* index into ks_mixed.sources */
    size_t file;
    enum ks_mixed_kind kind;
    size_t i; /* in the order in which they were added */
};
/* Zero-initialised = empty. */
struct ks_mixed {
    struct ks_time_source *sources; /* [n_sources] owned */
    size_t n_sources, cap_sources;
    struct ks_mixed_row *rows; /* [n] owned */
    size_t n, cap;
    size_t n_rows,
        n_problems; /* ks_mixed_settle(): times that were left out, in how many problems */
};
/* Finds or adds the source. KS_ENOMEM. */
int ks_mixed_source(struct ks_mixed *m, const struct ks_time_source *source, uint32_t *source_out,
                    struct ks_err *err);
/* KS_ENOMEM. */
int ks_mixed_add(struct ks_mixed *m, enum ks_mixed_kind kind, const struct ks_timed_cell *cell,
                 const struct ks_time_source *source, struct ks_err *err);
/* ks_mixed_settle() - adds to a table, which has all problems and instances but is not finished,
 * for each problem the rows of the source that has most times of it, of equal ones the first. No
 * row waits afterwards. Of the sources those that some problem keeps stay, the one with most
 * problems first, of equal ones the first added; the table's problems number them.
 * KS_EINVAL: ks_cells_add(); KS_ENOMEM. */
int ks_mixed_settle(struct ks_mixed *m, struct ks_cells *c, struct ks_err *err);
void ks_mixed_release(struct ks_mixed *m);

#endif
