/* SPDX-License-Identifier: MIT */
/* measure_bench.h - a run on a simulated device whose times are prescribed, with hooks that count.
 */
#ifndef KS_TEST_MEASURE_BENCH_H
#define KS_TEST_MEASURE_BENCH_H

#include "device/backends.h"
#include "device/device_fault.h"
#include "worker/measure.h"

struct bench {
    struct ks_device *sim, *dev;
    struct ks_module *mod;
    struct ks_abi_problem problem;
    struct ks_run run;
    struct ks_plan plan;
    struct ks_round round;
    struct ks_record *rec;
    int n_before, n_after;
    double first_expected_ns;
    /* what was asked for */
    uint32_t n_checks[KS_CHECK_KINDS], n_looks;
    int is_in_check;
    uint32_t fail_before, fail_after; /* the n-th call from 1 */
    int fail_with;
};

void open_bench(struct bench *b, const struct ks_fault_plan *plan);
void close_bench(struct bench *b);
/* Its samples are checked from now on, as a plan with this seed says. */
void plan_checks(struct bench *b, uint64_t seed);

/* 5 to 200 samples, half a second, a target of 0.5 %, warm, no warm-up. */
extern const struct ks_measure usual;

#endif
