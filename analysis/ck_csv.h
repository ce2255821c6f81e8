/* SPDX-License-Identifier: MIT */
/* ck_csv.h - the 24 columns of Composable Kernel's grouped_conv_full_benchmark.py. */
#ifndef KS_ANALYSIS_CK_CSV_H
#define KS_ANALYSIS_CK_CSV_H

#include "analysis/view.h"

/* The ok rows of a view. latency_ms = median; non_zero counted over the whole output; problem_idx =
 * order of first appearance among the rows written. KS_EUNSUPPORTED, naming the problem, for what
 * the format cannot say: another operator, asymmetric padding, a second direction, dtype or layout,
 * an output that was not verified and therefore not counted. */
int ks_ck_csv(struct ks_view *v, struct ks_buf *out, struct ks_err *err);

#endif
