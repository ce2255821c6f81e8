/* SPDX-License-Identifier: MIT */
/* fake_hip_kit.h - a process that uses the fake HIP runtime. A runtime reads its environment once,
 * so each case is a process of its own. */
#ifndef KS_TESTS_FAKE_HIP_KIT_H
#define KS_TESTS_FAKE_HIP_KIT_H

#include "device/gpu_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 1000, BLOCKS = 16 };

/* A process that has opened device 0 and holds three vectors there, a = i, b = 2 i, c poisoned. */
struct host {
    struct ks_gpu_api api;
    void *stream, *module, *add;
    ks_gpu_ptr a, b, c;
    float out[N];
};

#define must(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x);                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

struct host_case {
    const char *config;
    void (*body)(struct host *);
    int signal; /* that ends it, 0: none */
};

/* Of a shared object with the kernel "add" and others; bytes_out may be NULL. */
const void *host_image(size_t *bytes_out);
void host_open(struct host *h);
void host_prepare(struct host *h);
int host_launch(struct host *h); /* c = a + b; returns the runtime's code */
/* How many elements of c are not a + b; -1: cannot be read. */
int host_n_wrong(struct host *h);

/* The wait status of a child that has this configuration; is_open: of KSWEEP_FAKE_HIP's device 0.
 */
int end_of(const char *config, void (*body)(struct host *), bool is_open);
/* Each case ends as it says. */
void check_cases(const struct host_case *cases, size_t n);

#endif
