/* SPDX-License-Identifier: MIT */
/* measure_impl.h - chunks of samples: what measure.c and warm.c share. Private to them. */
#ifndef KS_WORKER_MEASURE_IMPL_H
#define KS_WORKER_MEASURE_IMPL_H

#include "worker/measure.h"

struct ks_chunk {
    uint32_t calls, n;
    bool is_cold;
    double expected_ns; /* of all of it; 0 = not known */
    double ns[KS_CHUNK_MAX];
    double cost_ns; /* of one sample, on the wall, with all that is around it but checks */
};

/* A chunk and its check; 0, 1 (the check has ended the cell), KS_E*. */
int ks_chunk_run(struct ks_run *r, struct ks_chunk *c, const struct ks_check *check,
                 struct ks_err *err);
bool ks_is_time(double ns);
/* Samples without a positive time are taken out; how many are left. */
uint32_t ks_chunk_keep_good(struct ks_chunk *c);
/* KS_ETIMEOUT when it is more than KS_SAMPLES_FAILED. */
int ks_too_many_failed(uint32_t n_failed, struct ks_err *err);
/* Wall time without what checks took, or the device's own time, whichever is ahead: a simulated
 * device does not wait. checks_ns: r->checks_ns at `from`. */
double ks_elapsed_ns(const struct ks_run *r, uint64_t from, double checks_ns, double device_ns);

#endif
