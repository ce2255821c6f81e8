/* SPDX-License-Identifier: MIT */
/* references.h - references of the problems ahead, made by workers on the host while the device
 * measures. */
#ifndef KS_TEST_GPU_REFERENCES_H
#define KS_TEST_GPU_REFERENCES_H

#include "grid/grid.h"
#include "tests/gpu/link.h"

#define REFERENCES_AHEAD 16u

enum reference_state { REFERENCE_NONE, REFERENCE_RUNNING, REFERENCE_READY, REFERENCE_FAILED };

struct reference {
    enum reference_state state;
    int fd; /* owned: sealed memory; -1 none */
    struct link link;
};

struct references {
    const struct ks_grid *grid; /* borrowed */
    struct ks_warden *warden;   /* borrowed */
    const char *program;        /* ksweep-worker; borrowed */
    const struct ks_measure *measure;
    struct reference *of; /* owned, [problems of the grid] */
    uint32_t n_parallel;  /* workers at a time */
};

int references_init(struct references *r, struct ks_err *err); /* the borrowed fields are set */
void references_release(struct references *r);
/* Starts what may run of problem i_problem and those behind it. */
int references_want(struct references *r, uint32_t i_problem, struct ks_err *err);
/* true when that child was one of ours. */
bool references_ended(struct references *r, const struct ks_child_end *end);
void references_drop(struct references *r, uint32_t i_problem); /* is needed no more */

#endif
