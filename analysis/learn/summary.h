/* SPDX-License-Identifier: MIT */
/* summary.h - what a results file says in short (struct ks_summary): the best of every problem, how
 * everything ended, who measured, and how much there is to choose. Fed batch by batch. */
#ifndef KS_ANALYSIS_SUMMARY_H
#define KS_ANALYSIS_SUMMARY_H

#include "analysis/learn/label.h"
#include "analysis/learn/tables.h"

struct ks_summarizer;

/* The columns that batches must have: ks_obs_need.
 * Times are compared by the definitions of label.h. Instances that are the same code compete as
 * one: the one that was measured; the others have its times.
 * t is borrowed and outlives the summary. KS_ENOMEM. */
int ks_summarizer_create(const struct ks_tables *t, struct ks_summarizer **out, struct ks_err *err);
void ks_summarizer_destroy(struct ks_summarizer *c); /* NULL is fine */

/* The next batch; whole problems. KS_ENOMEM; KS_EINVAL the frame lacks a column. */
int ks_summarizer_add(struct ks_summarizer *c, const struct ks_df *f, struct ks_err *err);
/* After the last batch. *out is the caller's to release; n_cells, n_pending and n_dropped are left
 * 0. KS_ENOMEM. */
int ks_summarizer_end(struct ks_summarizer *c, struct ks_summary *out, struct ks_err *err);
void ks_summary_release(struct ks_summary *s);

#endif
