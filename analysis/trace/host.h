/* SPDX-License-Identifier: MIT */
/* host.h - what each thread of the host did: operators and calls cut into pieces that do not
 * overlap, each of the innermost one. */
#ifndef KS_ANALYSIS_TRACE_HOST_H
#define KS_ANALYSIS_TRACE_HOST_H

#include "trace/model.h"

struct ks_host_piece {
    int64_t begin_ns, end_ns; /* begin < end */
    uint32_t name, track;
    uint32_t call; /* row of calls; KS_TRACE_NONE: an operator */
};

struct ks_host {
    struct ks_host_piece *pieces; /* by track, then time */
    uint32_t n;
    uint32_t *first; /* [n_tracks + 1] of pieces */
    uint32_t *ends;  /* [n_ends] pieces behind which their thread is idle, by their end */
    uint32_t n_ends;
};

/* KS_ENOMEM. To be released in any case. */
int ks_host_flatten(const struct ks_trace *t, struct ks_host *out, struct ks_err *err);
void ks_host_release(struct ks_host *h);

/* The last piece of the track that begins before ns; KS_TRACE_NONE. */
uint32_t ks_host_before(const struct ks_host *h, uint32_t track, int64_t ns);
/* The last piece of any track that ends at ns or before, with nothing directly behind it. */
uint32_t ks_host_ended(const struct ks_host *h, int64_t ns);

#endif
