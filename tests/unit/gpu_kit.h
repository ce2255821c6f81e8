/* SPDX-License-Identifier: MIT */
/* gpu_kit.h - an open GPU over a stub of its runtime (gpu_stub.h), with kernels, for one test. */
#ifndef KS_TEST_GPU_KIT_H
#define KS_TEST_GPU_KIT_H

#include "device/backends.h"
#include "tests/unit/gpu_stub.h"

struct gpu_fixture {
    char dir[256], kernels[512], plugin[512], library[2][512];
    struct stub *stubs[2]; /* HIP's, CUDA's */
};

/* One open device with its kernels. */
struct gpu_bench {
    struct stub *stub;
    struct ks_device *dev;
    struct ks_module *mod;
    const struct ks_abi_entry *entry;
    struct ks_abi_problem p;
    struct ks_abi_buffers buf;
    struct ks_err err;
    int kernel_rc;
    float *c; /* where buf.c really is: the stub's memory is the host's */
};

/* Builds stubs and kernels below a directory of their own and points KSWEEP_*_LIBRARY at them. */
int gpu_setup(void **state);
int gpu_teardown(void **state);

/* Opens HIP's or CUDA's device, the artefact at `path` and its entry; asserts success. */
void gpu_bench_open(const struct gpu_fixture *f, int is_cuda, const char *path, const char *name,
                    struct gpu_bench *b);
void gpu_bench_close(struct gpu_bench *b);
/* time_samples of the bench's problem; the cause of a failure is in b->err and b->kernel_rc. */
int gpu_sample(struct gpu_bench *b, uint32_t calls, uint32_t n, bool is_cold, double *ns);

#endif
