/* SPDX-License-Identifier: MIT */
/* spans.h - how long a device was busy, and with what: unions of intervals, exact to the ns. */
#ifndef KS_ANALYSIS_TRACE_SPANS_H
#define KS_ANALYSIS_TRACE_SPANS_H

#include "trace/model.h"

/* Types of a device's work, as bits. */
enum { KS_WORK_COMPUTE = 1, KS_WORK_COMMUNICATION = 2, KS_WORK_MEMORY = 4, KS_N_WORK_SETS = 8 };
extern const char *const ks_work_names[KS_N_WORK_SETS]; /* "compute", "compute+memory", ... */

/* Of a row of t->gpu, by its kind and its kernel's name. */
unsigned ks_work_of(const struct ks_trace *t, uint32_t i);

struct ks_busy {
    int64_t first_ns, last_ns; /* of the work; first > last: none */
    int64_t
        set_ns[KS_N_WORK_SETS]; /* [set of types]: time when exactly these types ran; [0] idle */
    int64_t sum_ns;             /* of kernels, copies and fills one by one */
};

/* Time when any of the types in `mask` ran. */
int64_t ks_busy_ns(const struct ks_busy *b, unsigned mask);

/* Of one device. keep [gpu.n]: 0 = leave the row out; NULL: all. KS_ENOMEM. */
int ks_busy_of(const struct ks_trace *t, uint32_t device, const uint8_t *keep, struct ks_busy *out,
               struct ks_err *err);

#endif
