/* SPDX-License-Identifier: MIT */
/* sweep.h - every instance of a grid on every problem, on one device, one worker after another. */
#ifndef KS_TEST_GPU_SWEEP_H
#define KS_TEST_GPU_SWEEP_H

#include "build/build.h"
#include "grid/grid.h"
#include "tests/gpu/rows.h"

struct sweep_options {
    const char *program; /* ksweep-worker */
    uint64_t seed;       /* of the order of instances; not used in_order */
    bool in_order;       /* instances are measured as the grid has them */
    uint64_t until_ns;   /* no worker is started after that (CLOCK_MONOTONIC); 0 = no limit: cells
                            that are left then are skipped(reason) and counted as n_left */
};

/* rows_out: [cells of the grid], all known afterwards. KS_ECHILD: workers end before their first
 * cell; what the warden and the system return. */
int sweep_run(const struct ks_grid *g, const struct ks_build *b, struct ks_warden *warden,
              const struct sweep_options *opt, struct row *rows_out, struct totals *totals_out,
              struct ks_err *err);

#endif
