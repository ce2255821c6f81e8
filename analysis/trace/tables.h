/* SPDX-License-Identifier: MIT */
/* tables.h - the tables of `trace analyze`; each function appends the rows of one trace. */
#ifndef KS_ANALYSIS_TRACE_TABLES_H
#define KS_ANALYSIS_TRACE_TABLES_H

#include "analysis/trace/table.h"
#include "analysis/trace/view.h"

/* Times in microseconds, rates in TFLOP/s and GB/s, shares in percent. The first column is the
 * trace's file. */
extern const struct ks_table_column ks_summary_columns[], ks_work_columns[], ks_kernel_columns[],
    ks_operator_columns[], ks_shape_columns[];

void ks_put_summary(const struct ks_trace_view *v, struct ks_table *to);
/* Time of each set of types that ran at once. */
void ks_put_work(const struct ks_trace_view *v, struct ks_table *to);
/* n_top: lines per device, 0: all; the rest is one line. */
int ks_put_groups(const struct ks_trace_view *v, enum ks_group_by by, uint32_t n_top,
                  struct ks_table *to, struct ks_err *err);

#endif
