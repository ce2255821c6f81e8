/* SPDX-License-Identifier: MIT */
/* merge_write.h - a host trace with the slices of a plan put in: the bytes of the trace stay as
 * they are, events are inserted behind the last one. */
#ifndef KS_TRACE_MERGE_WRITE_H
#define KS_TRACE_MERGE_WRITE_H

#include "analysis/trace/merge_plan.h"
#include "base/buf.h"
#include "trace/reader.h"

/* Numbers that the trace does not use: of flows, and of processes. */
struct ks_merge_ids {
    int64_t first_flow;  /* and all above it */
    int64_t first_pid;   /* likewise */
    bool has_events;     /* the array holds at least one */
    uint64_t events_end; /* place of its ']' */
};
/* Reads `source` from its present position to the end. KS_EFORMAT: the events are not closed, or
 * ids leave no room above them. */
int ks_merge_ids_find(struct ks_trace_source *source, struct ks_merge_ids *out, struct ks_err *err);

/* The events: per slice a kernel, a flow from its operator, and where it is known the memory in
 * use; per device and queue a name. Begins with a comma where has_events. */
void ks_merge_events_put(const struct ks_trace *host, const struct ks_merge_kernels *kernels,
                         const struct ks_merge_plan *plan, const struct ks_merge_ids *ids,
                         struct ks_buf *to);

/* A JSON string with its quotes. */
void ks_merge_string_put(const char *text, struct ks_buf *to);

#endif
