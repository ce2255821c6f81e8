/* SPDX-License-Identifier: MIT */
/* rows.h - what became of every cell of a sweep, as CSV and as a summary for people. */
#ifndef KS_TEST_GPU_ROWS_H
#define KS_TEST_GPU_ROWS_H

#include "base/buf.h"
#include "base/sampling.h"
#include "grid/grid.h"
#include "record/record.h"

#include <stdbool.h>
#include <stdint.h>

struct row {
    uint64_t problem, instance;
    bool is_known; /* its outcome */
    uint32_t outcome;
    uint32_t n_samples, calls;
    double median_ns, mad_ns, lo95_ns, hi95_ns;
    double sampled_ns; /* all samples together */
    double max_error;
    uint64_t wall_ns, input_ns, reference_ns, load_ns, exact_ns, warmup_ns, timing_ns, verify_ns;
    double clock_mhz, timed_mhz, min_clock_mhz, max_power_w, temperature_c;
    int64_t throttle;
    uint32_t flags;
    char reason[160];
};

struct totals {         /* of a sweep */
    uint64_t device_ns; /* workers on the device, from start to end */
    uint32_t n_workers, n_deaths;
    uint32_t n_left;      /* cells for which no time was left */
    double warmup_cap_ns; /* of one cell: the longest that a worker warms up */
};

void row_take(struct row *row, const struct ks_record *r);
/* A cell without a record. */
void row_end(struct row *row, const struct ks_grid *g, uint32_t i_cell, uint32_t outcome,
             const char *reason);

/* The longest warm-up of a GPU's cell: until it is flat, KS_WARM_FLAT_MAX_MS at most
 * (worker/warm.c).
 */
double rows_warmup_cap_ns(const struct ks_sampling *m);
/* Of the device's time: samples, and warm-up up to warmup_cap_ns per cell. */
double rows_share(const struct row *rows, uint64_t n, const struct totals *t);

/* From [problems x instances of g] to [cells of g]: other pairs have no row. */
void rows_pack(const struct ks_grid *g, struct row *rows);
/* rows: [cells of g] */
void rows_csv(const struct row *rows, uint64_t n, struct ks_buf *out);
/* Outcomes, reasons, spread, share of the device's time in samples and warm-up, and the best
 * instance of each problem. */
void rows_summary(const struct ks_grid *g, const struct row *rows, const struct totals *t,
                  struct ks_buf *out);
/* Cells that ended as none should (ks_outcome_needs_look). */
uint64_t rows_n_bad(const struct row *rows, uint64_t n);

struct table {        /* of a CSV file */
    struct row *rows; /* owned; what a comparison needs is filled in */
    uint64_t n;
};
int table_read(const char *path, struct table *out, struct ks_err *err);
void table_release(struct table *t);
const struct row *table_find(const struct table *t, uint64_t problem, uint64_t instance);

/* The fastest of a problem that is ok, NULL: none. */
const struct row *table_best(const struct table *t, uint64_t problem);

#endif
