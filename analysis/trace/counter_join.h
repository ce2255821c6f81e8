/* SPDX-License-Identifier: MIT */
/* counter_join.h - what a trace knows of launches whose counters came from elsewhere. */
#ifndef KS_TRACE_COUNTER_JOIN_H
#define KS_TRACE_COUNTER_JOIN_H

#include "analysis/trace/counter_table.h"
#include "trace/model.h"

/* Gives row `at` the operator: its stack, names and shapes. op KS_TRACE_NONE: nothing. */
int ks_counter_join_op(struct ks_counter_table *t, const struct ks_trace *trace, uint32_t op,
                       uint32_t at, struct ks_err *err);

/* Gives launches of kernels the operators of a trace of the same program, and their times where the
 * counters have none: the n-th launch of a kernel is the trace's n-th, where both have as many.
 * n_joined_out: rows that found their kernel. KS_ENOMEM. */
int ks_counter_join(struct ks_counter_table *t, const struct ks_trace *trace,
                    uint32_t *n_joined_out, struct ks_err *err);

#endif
