/* SPDX-License-Identifier: MIT */
/* cell_impl.h - a cell on its way: what cell.c and cell_timed.c share. Private to them. */
#ifndef KS_WORKER_CELL_IMPL_H
#define KS_WORKER_CELL_IMPL_H

#include "worker/checks.h"
#include "worker/measure.h"
#include "worker/worker.h"

struct cell {
    struct ks_worker *w;
    const struct ks_req_cell *req;
    const struct ks_abi_entry *entry;
    struct ks_run run;
    struct ks_checks checks;
    struct ks_round round;
    struct ks_sentinel *sentinel; /* suspects' worker only */
    uint32_t calls;
    bool has_run; /* the kernel was launched: what it shares must be looked at */
};

/* The cell ends here. Returns 1. */
int ks_cell_end_as(struct cell *c, enum ks_outcome outcome, int32_t code, const char *reason);
void ks_cell_prepare_run(struct cell *c, enum ks_data data);
/* Guards of output and workspace; the output can be looked at afterwards. 0; 1: the cell has ended;
 * KS_E*. */
int ks_cell_check_guards(struct cell *c, struct ks_err *err);

/* cell_timed.c: phases, as in cell.c's table of steps: 0 go on, 1 the cell has ended, KS_E*. */
int ks_cell_warm(struct cell *c, struct ks_err *err);
int ks_cell_timing(struct cell *c, struct ks_err *err);
int ks_cell_verify(struct cell *c, struct ks_err *err);

#endif
