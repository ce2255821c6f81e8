/* SPDX-License-Identifier: MIT */
/* checks.h - the checks around the samples of a cell, which make sure that what is timed is the
 * work: inputs are exchanged at the same addresses, output and workspace are poisoned, the whole
 * output is compared or digested. check_plan.h decides which check stands where.
 *
 * At any time there are two sets of inputs (op/signs.h). Each was verified when it was new: the
 * output was compared with the reference, element by element, and its digest kept. A later launch
 * on the same set must leave the same digest. If it does not, its output is compared with the
 * reference as well: either it is wrong, or the kernel is not bitwise stable, and then every later
 * look is a comparison. */
#ifndef KS_WORKER_CHECKS_H
#define KS_WORKER_CHECKS_H

#include "worker/check_plan.h"
#include "worker/measure.h"
#include "worker/verify.h"

struct ks_worker;

struct ks_checks {
    struct ks_worker *w; /* borrowed */
    struct ks_plan plan;
    struct ks_tolerance tolerance;
    uint64_t rng; /* seeds of sets */
    struct {
        uint64_t seed, digest;
    } set[2];
    uint32_t now;         /* of set[]: what the inputs hold */
    uint64_t seed;        /* what they hold; 0: as they were made */
    uint64_t last_digest; /* of the output that was looked at last; 0: none */
    bool is_cold, must_restore;
    /* What a check found that ends the cell. */
    uint32_t outcome; /* enum ks_outcome; KS_O_NONE */
    char reason[160];
};

/* ks_checks_begin() - for one cell, before its warm-up; inputs are as they were made.
 * @seed [in] random, private, not 0: all that is drawn follows from it
 * The record gets max_error, n_zero, bitwise_reproducible, n_checked_launches, tolerance_check as
 * the checks go on. */
void ks_checks_begin(struct ks_checks *c, struct ks_worker *w, uint32_t numerics, uint64_t seed);

/* The hooks of struct ks_run; ctx is the struct ks_checks. */
int ks_checks_before(void *ctx, const struct ks_check *check, struct ks_err *err);
int ks_checks_after(void *ctx, const struct ks_check *check, struct ks_err *err);

/* Gives the inputs the signs again that they were made with, so that they can be compared with what
 * was made. KS_E* of the device. */
int ks_checks_end(struct ks_checks *c, struct ks_err *err);

#endif
