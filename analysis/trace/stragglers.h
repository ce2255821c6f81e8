/* SPDX-License-Identifier: MIT */
/* stragglers.h - which of several ranks the others wait for, from the durations of their
 * collectives alone: clocks of different hosts are never compared. */
#ifndef KS_ANALYSIS_TRACE_STRAGGLERS_H
#define KS_ANALYSIS_TRACE_STRAGGLERS_H

#include "analysis/trace/table.h"
#include "analysis/trace/view.h"

/* A device of a trace. */
struct ks_straggler_rank {
    char *trace; /* owned; name of the file */
    int64_t rank, device;
    int64_t busy_ns, compute_ns, communication_ns, span_ns;
    int64_t *collective_ns; /* [n] owned; durations in the order of their begins */
    uint32_t n;
};
struct ks_stragglers {
    struct ks_straggler_rank *ranks;
    size_t n, cap;
};

extern const struct ks_table_column ks_straggler_columns[];

/* KS_ENOMEM. */
int ks_stragglers_add(struct ks_stragglers *s, const struct ks_trace_view *v, struct ks_err *err);
/* Nothing of fewer than two ranks. A collective lasts from when its own rank comes until the last
 * one has come: of the n-th collective of all ranks the shortest belongs to the rank that came
 * last. Its waited_us is the time of its collectives above the shortest, its held_up_us how long
 * the first to come waited for it; both are missing where the ranks' numbers of collectives differ.
 * Ranks that hold up the others longest come first. */
int ks_stragglers_put(const struct ks_stragglers *s, struct ks_table *to, struct ks_err *err);
void ks_stragglers_release(struct ks_stragglers *s);

#endif
