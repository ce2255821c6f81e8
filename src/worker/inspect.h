/* SPDX-License-Identifier: MIT */
/* inspect.h - what a kernel left behind is looked at where it is: by the host, in memory that it
 * sees or in copies of it, or by the judge on the device. cell.c asks one table of operations and
 * does not know which. */
#ifndef KS_WORKER_INSPECT_H
#define KS_WORKER_INSPECT_H

#include "worker/buffers.h"
#include "worker/verify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_worker;

/* Outputs are those of the last launch. Slots return 0 or KS_E*; those that return a bool: true
 * when all is intact; else *rc_out is 0 and reason_out [cap] says what is not, or it is KS_E*. */
struct ks_inspector {
    /* After every launch, before the other slots: guards of output and workspace; repaired. */
    bool (*guards)(struct ks_worker *w, char *reason_out, size_t cap, int *rc_out,
                   struct ks_err *err);
    /* V1, and V1 of what is not held to exact bits. */
    int (*exact)(struct ks_worker *w, struct ks_verdict *out, struct ks_err *err);
    int (*written)(struct ks_worker *w, struct ks_verdict *out, struct ks_err *err);
    /* V2. */
    int (*real)(struct ks_worker *w, const struct ks_tolerance *t, struct ks_verdict *out,
                struct ks_err *err);
    /* Differs for outputs that differ; comparable with itself only. */
    int (*hash)(struct ks_worker *w, uint64_t *hash_out, struct ks_err *err);
    /* KS_Z_REAL_A, KS_Z_REAL_B: the signs of an input are changed as w->set.signs say. KS_Z_C:
     * those of the output, where `real` finds it; twice, for it is the same again. */
    int (*flip)(struct ks_worker *w, enum ks_zone_name zone, struct ks_err *err);
    /* After every cell: inputs and references are as they were made; what is not is made again. */
    bool (*inputs)(struct ks_worker *w, char *reason_out, size_t cap, int *rc_out,
                   struct ks_err *err);
};

extern const struct ks_inspector ks_inspector_host;  /* inspect.c */
extern const struct ks_inspector ks_inspector_judge; /* inspect_judge.c */

#endif
