/* SPDX-License-Identifier: MIT */
/* series.h - what a trace implies over time, as counter events. */
#ifndef KS_ANALYSIS_TRACE_SERIES_H
#define KS_ANALYSIS_TRACE_SERIES_H

#include "base/buf.h"
#include "trace/model.h"

/* Appends ", {event}" per point: "Queue Length" per stream (launched and not yet begun) and "Memory
 * Bandwidth (GB/s)" per kind of copy. KS_ENOMEM. */
int ks_series_put(const struct ks_trace *t, struct ks_buf *to, struct ks_err *err);

#endif
