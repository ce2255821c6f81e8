/* SPDX-License-Identifier: MIT */
/* critical.h - the critical path: from the end of the last work back to the begin, always to what
 * finished last of all that the present piece had to wait for. */
#ifndef KS_ANALYSIS_TRACE_CRITICAL_H
#define KS_ANALYSIS_TRACE_CRITICAL_H

#include "analysis/trace/table.h"
#include "analysis/trace/view.h"

enum ks_bound_by {
    KS_PATH_COMPUTE,       /* a kernel */
    KS_PATH_COMMUNICATION, /* a collective */
    KS_PATH_MEMORY,        /* a copy or fill */
    KS_PATH_LAUNCH,        /* from the begin of a launch to its work */
    KS_PATH_QUEUE,         /* between the work that was waited for and the next */
    KS_PATH_HOST,          /* operators and calls */
    KS_PATH_HOST_IDLE,     /* no operator and no call on the thread */
    KS_N_PATHS
};

/* One piece of the path. name: of the work, operator or call; KS_NAME_NONE: idle. */
struct ks_path_part {
    enum ks_bound_by by;
    uint32_t name;
    int64_t begin_ns, end_ns; /* begin < end */
};
struct ks_path {
    struct ks_path_part *parts; /* from the last to the first; each begins where the next ends */
    size_t n, cap;
};

/* KS_ENOMEM. To be released in any case. */
int ks_path_of(const struct ks_trace_view *v, struct ks_path *out, struct ks_err *err);
void ks_path_release(struct ks_path *p);

extern const struct ks_table_column ks_critical_columns[], ks_part_columns[];
/* Times of the path by what bounds it, and a total. */
void ks_put_critical(const struct ks_trace_view *v, const struct ks_path *p, struct ks_table *to);
/* The same by name, the longest first. KS_ENOMEM. */
int ks_put_parts(const struct ks_trace_view *v, const struct ks_path *p, uint32_t n_top,
                 struct ks_table *to, struct ks_err *err);

#endif
