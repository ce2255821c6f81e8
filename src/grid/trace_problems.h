/* SPDX-License-Identifier: MIT */
/* trace_problems.h - an operator of a trace as canonical problems. */
#ifndef KS_GRID_TRACE_PROBLEMS_H
#define KS_GRID_TRACE_PROBLEMS_H

#include "base/err.h"
#include "op/op.h"
#include "trace/operators.h"

enum { KS_TRACE_PROBLEMS_MAX = 2 }; /* backward: data and weight */

enum ks_trace_problem_kind {
    KS_TRACE_PROBLEM_NONE, /* neither a convolution nor a matrix product */
    KS_TRACE_PROBLEM_CONV,
    KS_TRACE_PROBLEM_GEMM,
    KS_TRACE_PROBLEM_REFUSED
};
struct ks_trace_problem {
    enum ks_trace_problem_kind kind;
    const char *why; /* REFUSED: static text */
    uint32_t dtype, layout;
    bool is_ambiguous; /* the layout (trans_a, trans_b) does not follow from the strides */
    int64_t trans_a, trans_b;
    union {
        struct ks_trace_conv conv;
        struct ks_trace_gemm gemm;
    } as;
};
/* shapes: an entry of ks_trace.shapes; "": none was recorded. */
void ks_trace_problem_of(const char *name, const char *shapes, struct ks_trace_problem *out);

/* The problems, without count and name, not yet finished. Returns how many (0: the output mask asks
 * for none); KS_EINVAL: extents that contradict each other. */
int ks_trace_problem_make(const struct ks_trace_problem *t,
                          struct ks_problem problems_out[KS_TRACE_PROBLEMS_MAX],
                          struct ks_err *err);

/* Device time of an operator by what its kernels' names say they compute. */
struct ks_trace_times {
    int64_t data_ns, weight_ns, either_ns;
};
void ks_trace_times_add(struct ks_trace_times *t, const char *kernel, int64_t ns);
/* Of n problems of one operator: time of kernels whose names tell goes there, the rest equally. */
void ks_trace_times_share(const struct ks_trace_times *t, const struct ks_problem *p, int n,
                          int64_t *ns_out);

#endif
