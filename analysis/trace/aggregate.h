/* SPDX-License-Identifier: MIT */
/* aggregate.h - a device's work added up by kernel, operator, or operator and shapes. */
#ifndef KS_ANALYSIS_TRACE_AGGREGATE_H
#define KS_ANALYSIS_TRACE_AGGREGATE_H

#include "analysis/trace/charge.h"
#include "analysis/trace/peaks.h"

enum ks_group_by { KS_BY_KERNEL, KS_BY_OPERATOR, KS_BY_SHAPE };

/* One line. Kernels and copies (with fills) of the same operator are two lines. FLOPs are summed
 * over the rows where they are known, and divided by their time. */
struct ks_group {
    uint32_t device;    /* row of devices */
    uint32_t name;      /* of t->names; KS_NAME_NONE: no operator */
    uint32_t shape;     /* of t->shapes; KS_TRACE_NONE */
    uint64_t count;     /* kernels, or calls of the operator that launched some */
    uint64_t n_kernels; /* copies and fills included */
    int64_t ns, min_ns, max_ns;
    double sum2_ns; /* squares, for the deviation */
    double flop, bytes, bytes_with_flop;
    int64_t flop_ns, bytes_ns; /* time of the rows whose FLOPs, bytes are known */
    int64_t units_ns[KS_N_UNITS];
    unsigned work;    /* of spans.h; 0: mixed */
    bool is_estimate; /* some bytes are those of the inputs alone */
};

struct ks_groups {
    struct ks_group *rows; /* [n] owned; by device, then time, longest first */
    uint32_t n;
};

/* keep: as in ks_busy_of. KS_ENOMEM. */
int ks_aggregate(const struct ks_trace *t, const struct ks_charge *c, enum ks_group_by by,
                 const uint8_t *keep, struct ks_groups *out, struct ks_err *err);
void ks_groups_release(struct ks_groups *g);
/* Adds b to a; name and shape of a stay. */
void ks_group_add(struct ks_group *a, const struct ks_group *b);

/* What follows for a line on its device; NaN or NULL where it is unknown. */
struct ks_rates {
    double flop_per_s, bytes_per_s, flop_per_byte;
    enum ks_units units;                   /* on which most of its time was spent */
    double compute_share, bandwidth_share; /* of the peaks, 0 to 1 */
    const char *bound;                     /* "compute", "memory" */
};
struct ks_rates ks_group_rates(const struct ks_group *g, const struct ks_peak *p);

#endif
