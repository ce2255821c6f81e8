/* SPDX-License-Identifier: MIT */
/* aliases.h - which instances are the same machine code, how many cells that saved, and whether the
 * aliases that were measured all the same (controls) agree with what they are aliases of. */
#ifndef KS_ANALYSIS_ALIASES_H
#define KS_ANALYSIS_ALIASES_H

#include "analysis/learn/join.h"
#include "analysis/learn/tables.h"

/* Groups of the file's instances; counts are zero. Points into t. KS_ENOMEM. */
int ks_aliases_find(const struct ks_tables *t, struct ks_aliases_found *out, struct ks_err *err);
/* Counts the rows of one problem. */
void ks_aliases_count(const struct ks_tables *t, const struct ks_join *join,
                      const struct ks_obs *rows, size_t n, struct ks_aliases_found *a);
void ks_aliases_sort(struct ks_aliases_found *a); /* once all are counted */
void ks_aliases_free(struct ks_aliases_found *a);

/* By how much two times differ, and by how much they may without being told apart: where their 95 %
 * intervals end, or the drift of their blocks' anchors, whichever is more; as parts of the first's
 * time. Rows of different blocks are scaled by the blocks' anchors where both have one. */
double ks_alias_difference(const struct ks_obs *first, const struct ks_obs *control,
                           double *noise_out);

#endif
