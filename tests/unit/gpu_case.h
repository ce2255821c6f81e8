/* SPDX-License-Identifier: MIT */
/* gpu_case.h - instances of the GPU families on the CPU: both halves of each are compiled for the
 * emulator of kernels/gpu/emu, several instances in one object, and held to the reference as host
 * kernels are (kernel_case.h), in three orders of threads that must agree bit for bit unless they
 * add atomically. */
#ifndef KS_TEST_GPU_CASE_H
#define KS_TEST_GPU_CASE_H

#include "grid/family.h"
#include "kernel_case.h"
#include "kernels/gpu/emu/simt.h"

struct gpu_instance {
    const struct ks_instance *traits;
    const struct ks_abi_entry *entry;
    struct ks_domain domain;
    void *device;              /* the loaded image of its unit */
    const char *kernels;       /* in it: <kernels>_kernel<j> */
    struct ks_simt_pool *pool; /* its set's */
    bool is_unordered;         /* sums in the order of blocks, so other bits in another one */
    uint32_t n_run;            /* problems it ran */
};

struct gpu_set {
    char dir[256];     /* temporary: sources and objects */
    char kernels[512]; /* directory of the kernels' sources */
    struct ks_kernel_set all;
    struct gpu_instance *instances; /* [n] the chosen ones, built */
    uint32_t n;
    struct ks_simt_pool *pool; /* from launch to launch of all of them; owned */
};

/* What to take of a config and from where. */
struct gpu_choice {
    const char *kernels; /* a copy of kernels/; NULL: the source tree's */
    const char *config;  /* its name in configs/ */
    const char *filter;  /* over traits; "": all */
    uint32_t n;          /* so many of them, chosen so that soon each value of each trait occurs */
    uint64_t seed;
};

/* Compiles the chosen instances. Fails the test where a source does not compile. Objects stay
 * loaded until the program ends. */
void gpu_set_open(struct gpu_set *s, const struct gpu_choice *choice);
/* Also of one that is zero, or whose opening failed. */
void gpu_set_close(struct gpu_set *s);

/* Value of a trait of kind int of an instance. */
int gpu_trait(const struct gpu_set *s, const struct gpu_instance *i, const char *name);

/* Runs an instance that supports the problem on both kinds of data, random data in three orders of
 * threads; sanitized, once, in each order by turns. Fails the test unless everything is right. */
void gpu_case_run(struct gpu_instance *i, const struct kernel_case *c);

/* Whether an instance is of the problem's operator, direction, type, layout and dims. */
bool gpu_is_of_domain(const struct gpu_instance *i, const struct ks_problem *p);

/* Every instance of a set on problems of its operator and direction that are easily got wrong; each
 * must run at least two. */
void gpu_sweep(struct gpu_set *s);

/* All of a main of a test over one config: as many instances as $KSWEEP_KERNEL_SAMPLE says (a
 * number or "all"; 8, with sanitizers 1), chosen by $KSWEEP_TEST_SEED. */
int gpu_tests_run(const char *name, const char *config);

#endif
