/* SPDX-License-Identifier: MIT */
/* gpu_stub.h - a runtime of a GPU without a GPU, made while a test runs: one source for HIP's names
 * and CUDA's. Its memory is the host's, its clock is virtual and all that is enqueued happens when
 * somebody waits. */
#ifndef KS_TEST_GPU_STUB_H
#define KS_TEST_GPU_STUB_H

#include <stddef.h>

/* Found in the library as `stub`; a test reads and writes it between calls. */
struct stub {
    int n_devices;
    int init_code;         /* what hipInit or cuInit says */
    const char *fail_name; /* calls whose name ends so ... */
    int fail_nth;          /* ... fail from their n-th on, counted from 0 since the name was set */
    int fail_code;
    int sticky;       /* what every call says from now on */
    double ns_launch; /* of a kernel; may be negative */
    double ns_per_byte;
    int is_mig, is_partitioned; /* named as an instance of MIG; all devices on one socket */
    int n_busy;                 /* contexts that another process holds, before the device is free */
    int is_eager;        /* functions of the host are called at once, not when their turn comes */
    size_t memory, used; /* bytes */
    int max_threads, static_shared, occupancy, shared_limit, shared_plain, registers;
    const char *arch;
    const char *uuid;           /* 16 bytes; NULL: all zero */
    unsigned event_flags_known; /* others are invalid */
    /* what was seen */
    unsigned n_launches, n_pending, max_pending, n_gates, n_sweeps, n_blocks, n_loaded;
    unsigned last_grid[3], last_block, last_shared;
    unsigned n_retained;  /* contexts asked for */
    unsigned event_flags; /* of the event that was created last */
    int dynamic_shared;   /* set for a function by CUDA's cuFuncSetAttribute */
    char log[2048];       /* "init count alloc ..": the first letters of what was enqueued */
    size_t n_log;
};

/* Builds DIR/NAME.so with HIP's or CUDA's names and loads it; never unloaded. `defines` is put
 * before the source. Path to out. */
struct stub *stub_build(const char *dir, const char *name, int is_cuda, const char *defines,
                        char *out, size_t cap);
/* All of it as it was when the library was built. */
void stub_reset(struct stub *s);

#endif
