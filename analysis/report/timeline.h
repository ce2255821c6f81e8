/* SPDX-License-Identifier: MIT */
/* timeline.h - a sweep as a trace for Perfetto and chrome://tracing (Trace Event Format, JSON).
 *
 * A process per rank with a track each for leases, blocks, workers and cells; phases are nested in
 * their cell and samples in the phase that took them; events of the run (losses, deaths,
 * quarantines) are instants of their rank. A process for builds, whose compile times are recorded,
 * but not when they began: they are drawn before the first cell. Times are microseconds since the
 * first run began. */
#ifndef KS_REPORT_TIMELINE_H
#define KS_REPORT_TIMELINE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

enum ks_timeline_samples {
    KS_SAMPLES_AUTO, /* while there are at most KS_TIMELINE_SAMPLES of them */
    KS_SAMPLES_YES,
    KS_SAMPLES_NO
};
#define KS_TIMELINE_SAMPLES 200000u

struct ks_timeline_counts {
    uint64_t n_cells, n_leases, n_blocks, n_workers, n_samples, n_builds, n_events;
    uint64_t n_samples_left_out, n_not_run; /* records of cells that no worker ran */
};

/* ks_timeline_write() - one trace of all runs of a results file.
 * @path [in] the file, or the directory of a run
 * @out_path [in] gzip where it ends in ".gz"; replaced whole or not at all
 * Returns 0; errors of ks_store_open and ks_trace_output_open; KS_ENOMEM.
 * Memory: about 120 bytes a record. */
int ks_timeline_write(const char *path, const char *out_path, enum ks_timeline_samples samples,
                      struct ks_timeline_counts *counts_out, struct ks_err *err);

#endif
