/* SPDX-License-Identifier: MIT */
/* bad.h - failures that nobody has confirmed: void if their device turns out to be bad. There may
 * be as many as a sweep has cells, so they are found by their cell in constant time. */
#ifndef KS_MPI_BAD_H
#define KS_MPI_BAD_H

#include "base/err.h"
#include "sched/sched.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_bad_cell {
    uint32_t rank, i_problem, i_instance, attempt; /* rank KS_NO_DEVICE: not here any more */
    uint32_t n_asked;
    bool is_asked;   /* another device is to run it */
    bool is_due;     /* to be asked for as soon as may be */
    bool is_vouched; /* the canary has passed since */
    uint32_t next;   /* private */
};
struct ks_bad {            /* zero-initialise */
    struct ks_bad_cell *v; /* [n] in no order */
    uint32_t n, cap;
    uint32_t *first; /* [cap] private */
};

/* NULL: there is none. */
struct ks_bad_cell *ks_bad_find(const struct ks_bad *l, uint32_t i_problem, uint32_t i_instance);
/* Of nobody yet. Not for a cell that is there. NULL: KS_ENOMEM. */
struct ks_bad_cell *ks_bad_add(struct ks_bad *l, uint32_t i_problem, uint32_t i_instance,
                               struct ks_err *err);
/* The last one takes its place. */
void ks_bad_drop(struct ks_bad *l, struct ks_bad_cell *b);
void ks_bad_release(struct ks_bad *l);

#endif
