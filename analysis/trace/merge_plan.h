/* SPDX-License-Identifier: MIT */
/* merge_plan.h - where on a device's timeline kernels stand of which only the time and the operator
 * are known. Pure. Each queue runs its kernels one after the other, in the order of their launches:
 * start = max(launch + latency, end of the kernel before). */
#ifndef KS_TRACE_MERGE_PLAN_H
#define KS_TRACE_MERGE_PLAN_H

#include "analysis/trace/merge_kernels.h"
#include "trace/model.h"

/* Sum of two times; the nearest one that there is where it is beyond int64. */
static inline int64_t ks_ns_add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

struct ks_merge_rules {
    int64_t latency_ns; /* from an operator's begin to its kernel's start on an idle queue */
    int64_t least_ns;   /* operators with a shorter kernel_time are left out, as if they were not in
                           the trace, and so are shorter slices; 0: none */
    const char *const *drop; /* [n_drop] operators of exactly these names are left out, likewise */
    uint32_t n_drop;
};

/* The device time of an operator that is not within operators that have times themselves. */
struct ks_merge_slice {
    uint32_t op;       /* row of the host trace's operators */
    uint32_t entry;    /* of the kernels */
    int64_t launch_ns; /* the operator's begin */
    int64_t start_ns, dur_ns;
    int64_t device, stream;
    bool is_self; /* what the operators within leave of its time */
};
struct ks_merge_plan {
    struct ks_merge_slice *at; /* [n] owned; by launch */
    uint32_t n;
    uint32_t n_entries, n_matched; /* kernels of the file; those whose operator is in the trace */
    uint32_t n_short, n_dropped;   /* left out by the rules */
    uint32_t n_excess;             /* operators whose parts take longer than they do: their self
                                      time is 0 */
    int64_t excess_ns;             /* by so much */
    int64_t total_ns;              /* of all slices */
    int64_t latency_bound_ns;      /* from synchronising calls that waited: the latency is at least
                                      this; 0: none tells */
    uint32_t n_waits;
};
/* kernels: is_used is set. KS_ENOMEM. */
int ks_merge_plan_make(const struct ks_trace *host, struct ks_merge_kernels *kernels,
                       const struct ks_merge_rules *rules, struct ks_merge_plan *out,
                       struct ks_err *err);
void ks_merge_plan_release(struct ks_merge_plan *p);

/* How far a plan is from a trace of the same run with the kernels of its device. Times of both are
 * of the same clock. */
struct ks_merge_error {
    uint32_t n_true;                   /* External ids with kernels in the true trace */
    uint32_t n_both;                   /* of them those in the plan */
    double mean_ns, median_ns, max_ns; /* |start - true start| of the first kernel of each id */
    int64_t busy_ns, true_busy_ns;     /* union of intervals */
    int64_t sum_ns, true_sum_ns;
};
int ks_merge_error_of(const struct ks_trace *host, const struct ks_merge_plan *plan,
                      const struct ks_trace *truth, struct ks_merge_error *out, struct ks_err *err);

#endif
