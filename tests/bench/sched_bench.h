/* SPDX-License-Identifier: MIT */
/* sched_bench.h - a cluster in virtual time, for bench_sched: what cells really take, devices that
 * are slow or die, and three ways to hand out the work. */
#ifndef SCHED_BENCH_H
#define SCHED_BENCH_H

#include "grid/job.h"

#include <stdbool.h>
#include <stdint.h>

/* The table tests/bench/data/costs.csv (see tests/tools/costs.py), read at many points. */
enum { TENTHS = 10, DRAWS = 16384 };
struct costs {
    double call_s[TENTHS][DRAWS], spread[TENTHS][DRAWS], residual[TENTHS][DRAWS];
};
/* Exits with a message when the table cannot be read. */
void costs_read(const char *path, struct costs *out);

struct device_plan {
    double slowness; /* 1: as usual */
    double lost_at;  /* INFINITY: never */
};
struct work {
    uint32_t n_problems, n_instances, n_devices, batch;
    uint64_t seed;
    const struct costs *costs;
    struct ks_job_measure measure;
    double timeout_s;                          /* of a call */
    double overhead_s, latency_s, detection_s; /* of a lease; of a lease asked for; of a loss */
    double *call_s, *prior_s;                  /* [n_problems] truly; guessed, of a cell */
    uint8_t *tenth;                            /* [n_problems] of the table */
    struct device_plan *device;                /* [n_devices] */
    double total_s, longest_s;                 /* of all cells on a usual device */
};
/* Problems and usual devices. */
void work_make(struct work *w);
/* Of n problems and n devices: slow ones, and losses at any time within span_s. */
void work_faults(struct work *w, double share_slow, double slowness, double share_lost,
                 double span_s);
/* What docs/benchmarks.md says; with faults 10 % of the devices are slow by 1.5, 1 % are lost. */
struct work work_usual(uint32_t n_devices, uint32_t problems_per_device, uint32_t n_instances,
                       bool has_faults, const struct costs *costs);
void work_free(struct work *w);
double work_cell_s(const struct work *w, uint32_t i_problem, uint32_t i_instance);
double work_anchor_s(const struct work *w, uint32_t i_problem);
/* Nobody can do it in less: the devices' speeds for as long as they live, the longest cell. */
double work_bound_s(const struct work *w, double lost_s);

struct result {
    double makespan_s;
    double lost_s;    /* device time spent on cells that were not finished, at usual speed */
    double anchors_s; /* device time */
    double cells_s;
    uint32_t n_split;
    uint64_t n_leases;
    double next_ns; /* of real time, a call of ks_sched_next; 0: not told */
};
struct result run_sched(const struct work *w);
/* Each device has as many cells as any, in the order of the list; what lost ones leave is shared
 * the same way after the end. */
struct result run_static(const struct work *w);
/* Batches in the order of the list, to whoever is free. */
struct result run_fifo(const struct work *w);

#endif
