/* SPDX-License-Identifier: MIT */
/* roofline_chart.h - charts of the devices of a trace or of counters, ready for their writer. */
#ifndef KS_TRACE_ROOFLINE_CHART_H
#define KS_TRACE_ROOFLINE_CHART_H

#include "analysis/out/svg_roofline.h"
#include "analysis/trace/aggregate.h"
#include "analysis/trace/counter_lines.h"

struct ks_chart_options {
    const char *roofs, *peaks; /* files; NULL: found, or the shipped table */
    enum ks_group_by by;       /* of traces */
    enum ks_quantity level;    /* of counters: whose bytes */
    uint32_t top;              /* dots of a chart, at most; 0: all */
};

/* Owns what its charts point to. All zero is empty. */
struct ks_charts {
    struct ks_roofline *at; /* [n] */
    size_t n;
    char **texts; /* [n_texts] */
    size_t n_texts;
    void **arrays; /* [n_arrays] of dots and roofs */
    size_t n_arrays;
};

/* One chart per device that ran something. KS_EFORMAT and the like of the file; KS_ENOMEM. */
int ks_charts_add_trace(struct ks_charts *c, const char *path, const struct ks_chart_options *o,
                        struct ks_buf *notes, struct ks_err *err);
/* One chart per rank and device. paths: as of ks_counter_paths_read; roofs are those of a
 * roofline.csv beside the counters, unless options name others. */
int ks_charts_add_counters(struct ks_charts *c, const char *const *paths, int n,
                           const struct ks_chart_options *o, struct ks_err *err);
void ks_charts_release(struct ks_charts *c);

#endif
