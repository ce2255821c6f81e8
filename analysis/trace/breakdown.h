/* SPDX-License-Identifier: MIT */
/* breakdown.h - tables of `trace analyze` about waiting: idle streams, launches, queues, copies,
 * annotations, operators' own time on the host. Each function appends the rows of one trace. */
#ifndef KS_ANALYSIS_TRACE_BREAKDOWN_H
#define KS_ANALYSIS_TRACE_BREAKDOWN_H

#include "analysis/trace/table.h"
#include "analysis/trace/view.h"

extern const struct ks_table_column ks_idle_columns[], ks_launch_columns[], ks_queue_columns[],
    ks_copy_columns[], ks_note_columns[], ks_own_columns[];

/* Gaps between the work of a stream. host_wait: the next piece was launched after the last had
 * ended; kernel_wait: it was launched before, and the gap is below 30 us; other: longer. Work whose
 * launch is not in the trace counts as launched before. */
int ks_put_idle(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err);
/* Launches by the name of the call: its duration, the work's, and the delay from the call's end to
 * the work's beginning (0 when it began before). */
int ks_put_launches(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err);
/* Work that is launched and has not begun, per stream, at every change. */
int ks_put_queues(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err);
/* Rates of copies and fills as the trace gives them, by kind. */
int ks_put_copies(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err);
/* User annotations on devices (where: device) and on the host. */
int ks_put_notes(const struct ks_trace_view *v, struct ks_table *to, struct ks_err *err);
/* Operators on the host: time with and without the operators below them. */
int ks_put_own(const struct ks_trace_view *v, uint32_t n_top, struct ks_table *to,
               struct ks_err *err);

#endif
