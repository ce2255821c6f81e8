/* SPDX-License-Identifier: MIT */
/* kernel_case.h - one problem with its data and references, and kernels of the host families held
 * to them: exact data bit for bit (V1), random data within the bound (V2), guards around every
 * buffer. Built as in a job. */
#ifndef KS_TEST_KERNEL_CASE_H
#define KS_TEST_KERNEL_CASE_H

#include "build_util.h"
#include "op/op.h"
#include "worker/verify.h"

/* A buffer between guards; both filled with bytes. */
struct guarded {
    uint8_t *all, *data;
    size_t n;
    uint8_t guard;
};

struct kernel_case {
    struct ks_problem p;
    struct ks_abi_problem abi;
    struct ks_extents n;
    struct guarded a[2], b[2]; /* [enum ks_data]; guards are NaN */
    void *want;                /* of exact data, rounded to the type */
    double *real, *abs;        /* of random data */
};

/* Takes a finished problem. Fails the test on any error. */
void kernel_case_open(struct kernel_case *c, const struct ks_problem *p);
void kernel_case_close(struct kernel_case *c);

/* Runs an entry that supports the problem on both kinds of data; fails the test with the entry's
 * and the problem's name unless everything is right. */
void kernel_case_run(const struct kernel_case *c, const struct ks_abi_entry *e);

/* One kind of data, its launches through `gpu` (NULL: a host's entry). The output goes to got_out,
 * too, unless NULL: as many elements as the problem's c. */
void kernel_case_run_on(const struct kernel_case *c, const struct ks_abi_entry *e,
                        const struct ks_abi_gpu *gpu, enum ks_data data, void *got_out);

/* Fails the test and names the entry, what is wrong, and the problem. */
void kernel_case_fail(const struct kernel_case *c, const struct ks_abi_entry *e, const char *what);

/* $KSWEEP_KERNEL_SAMPLE is "all" (tests/kernels.sh host). */
bool kernel_tests_are_whole(void);

/* Whether kernel_build() builds all instances: in whole tests without sanitizers. What holds of all
 * of them cannot be asked otherwise. */
bool kernel_build_is_complete(void);

/* A grid over the configs (names in kernels/configs, NULL ends) and one problem, built. Unless the
 * tests are whole, it is a sample that has each value of each trait and each pair of values of
 * pipeline, dtype, layout and ndim. In sanitized builds the kernels are sanitized, too, and are
 * that sample in whole tests, four that this CPU runs otherwise. */
void kernel_build(struct place *p, const struct ks_problem *problem, const char *const *configs);

/* Whether this CPU can run what the configs promise a choice on: x86-64-v3 (AVX2, FMA, F16C).
 * False is said once for each `what`. */
bool kernel_cpu_has_choice(const char *what);

/* The entry of instance i of a built grid; NULL when this host cannot build or run it. Objects stay
 * loaded until the program ends. */
const struct ks_abi_entry *kernel_entry(const struct place *p, uint32_t i);

/* All of a main: starts a warden and runs one test, whose state is an open place. */
int kernel_tests_run(const char *name, CMUnitTestFunction test);

#endif
