/* SPDX-License-Identifier: MIT */
/* gpu_judge_kit.h - the judge (kernels/judge.h) on the emulator, to be asked by tests. */
#ifndef KS_TEST_GPU_JUDGE_KIT_H
#define KS_TEST_GPU_JUDGE_KIT_H

#include "gpu_case.h"
#include "judge.h"
#include "kernels/gpu/emu/simt.h"

struct judges {
    struct gpu_set set;
    const struct gpu_instance *of[KS_N_DTYPES];
};

/* One call, in an order of threads. */
struct ask {
    struct ks_judge_call call;
    const void *a, *b;
    void *c;
    int order;
};

/* A call of no problem in particular. */
struct ask ask_of(uint32_t task, uint32_t dtype, uint64_t n, uint32_t n_parts);
/* What the entry's run() returns; @parts [n_parts]. */
int try_ask(const struct judges *j, const struct ask *q, struct ks_judge_part *parts);
/* The call must succeed; all its parts together. */
struct ks_judge_part ask(const struct judges *j, const struct ask *q);

/* Zeros; fails the test where there is no memory. Room for one where n is 0. */
void *array(size_t n, size_t size);

/* Setup and teardown of a group: *state is a struct judges. */
int judges_open(void **state);
int judges_close(void **state);

#endif
