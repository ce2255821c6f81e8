/* SPDX-License-Identifier: MIT */
/* cost.h - how long a cell takes, guessed before anything has run: the operator's roofline and the
 * job's measuring rules. Finished cells teach the scheduler better (model.c). */
#ifndef KS_SCHED_COST_H
#define KS_SCHED_COST_H

#include "grid/job.h"
#include "grid/problem_class.h"

/* What one device is assumed to reach; conservative, because most instances are far from best. */
struct ks_cost_rates {
    double flops_per_s, bytes_per_s;
    double call_s;  /* of a call that does nothing */
    double lanes;   /* channels per group that fill the vectors of usual kernels */
    double wide;    /* kernels whose vectors are full reach so many times flops_per_s */
    double extra_s; /* of a cell beside what ks_cost_cell_s() knows */
};
struct ks_cost_rates ks_cost_rates(const struct ks_job *job);

/* Seconds of one kernel call: whichever of arithmetic (FLOPs) and memory traffic (bytes) takes
 * longer. Source: Williams, Waterman, Patterson 2009, "Roofline". */
double ks_cost_call_s(const struct ks_cost_rates *r, double flops, double bytes);
/* Seconds of one cell whose kernel takes call_s: warm-up, samples as the job asks for them,
 * verification. */
double ks_cost_cell_s(const struct ks_job_measure *m, double call_s);
/* Seconds of one cell, of a usual instance on a usual device: both of the above, but groups too
 * narrow for vectors are slower. width: ks_problem_group_width(). */
double ks_cost_work_s(const struct ks_job *job, double flops, double bytes, double width);
double ks_cost_problem_s(const struct ks_job *job, const struct ks_problem *p);

/* Seconds of a visit of n_cells measurements whose samples take kernel_s in all. */
double ks_cost_visit_s(const struct ks_job_measure *m, uint32_t n_cells, double kernel_s);
/* Visits of a problem, before anything is known of it; 0 where the job asks for none. */
double ks_cost_n_visits(const struct ks_job *job);
/* Measurements of cells in all visits of a problem of n_instances, likewise; anchors not included.
 */
double ks_cost_n_visited(const struct ks_job *job, uint32_t n_instances);
/* Seconds of all visits of a problem whose cells take cell_s, before anything is known of it; 0
 * where the job asks for none. */
double ks_cost_visits_s(const struct ks_job *job, double cell_s);

/* Bytes on disk of one attempt to measure a cell of this problem, in the journal and in results.h5
 * together: a record and its samples. Measured: docs/measured/bench-store.txt and a run of
 * jobs/quickstart.json. */
double ks_cost_attempt_bytes(const struct ks_job *job, const struct ks_problem *p);
/* Of a cell that takes max_samples samples in every attempt, all retries that the job allows
 * (isolate, contention), once more as a suspect, and every visit. Not counted is what failed
 * attempts leave (what the kernel printed), and what losses of hosts and --retry repeat. */
double ks_cost_most_cell_bytes(const struct ks_job *job);
/* Of a cell that is not measured: unsupported, an alias, left out. */
#define KS_COST_ROW_BYTES 500.0

/* Of a run of a program, until the first ones have ended: nothing is known of it. */
#define KS_COST_PROGRAM_S 10.0

/* For so long a device that works may be silent: a cell, or a run of a program, that meets every
 * deadline, and again at each retry. */
double ks_cost_silence_s(const struct ks_job *job);

#endif
