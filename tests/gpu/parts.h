/* SPDX-License-Identifier: MIT */
/* parts.h - what ksweep-gpu can do beside sweeping. Each prints its report; 0: as it should be, 1:
 * not, KS_E*. */
#ifndef KS_TEST_GPU_PARTS_H
#define KS_TEST_GPU_PARTS_H

#include "build/build.h"
#include "grid/grid.h"
#include "tests/gpu/rows.h"

/* Two sweeps of the same cells: outcomes that differ, times, and what the winner of one loses in
 * the other. limit: greatest regret at P90, 0.005 = 0.5 %. */
int compare_tables(const struct table *a, const struct table *b, double limit, struct ks_err *err);

/* The device's table itself, in this process: every slot, errors that must not hurt, times that
 * make sense. Instances of the grid that are built lend their modules. */
int conformance_run(const struct ks_grid *g, const struct ks_build *b, struct ks_err *err);

/* The best instance of each problem of a sweep beside a vendor's library. */
int peer_run(const struct ks_grid *g, const struct table *t, struct ks_err *err);

/* One convolution by cuDNN. */
struct cudnn;
/* KS_ENOENT: there is no such library; the message says where it was looked for. */
int cudnn_open(struct cudnn **out, struct ks_err *err);
void cudnn_close(struct cudnn *c);
const char *cudnn_name(const struct cudnn *c);
/* ns_out: the fastest algorithm's median. KS_EUNSUPPORTED: it has none for this problem. */
int cudnn_forward(struct cudnn *c, const struct ks_abi_problem *p, double *ns_out,
                  struct ks_err *err);

#endif
