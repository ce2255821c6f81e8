/* SPDX-License-Identifier: MIT */
/* counter_read.h - counters from files of profilers. A file's kind follows from its header.
 *
 * To add a kind: 1. analysis/trace/counters_<tool>.c with a `const struct ks_counter_reader`; 2.
 * its row in counter_read.c; 3. a unit test; the fuzz target takes it from the table. */
#ifndef KS_TRACE_COUNTER_READ_H
#define KS_TRACE_COUNTER_READ_H

#include "analysis/trace/counter_table.h"
#include "analysis/trace/csv_rows.h"

/* One CSV file on its way into a table. */
struct ks_counter_file {
    const char *path;
    const char *process; /* which run of the profiled program: part of a launch's identity */
    int64_t rank;        /* -1: unknown */
    struct ks_csv_rows *rows;
    const struct ks_csv_header *header;
    uint32_t text; /* path, among the table's texts */
    struct ks_counter_table *table;
};

/* Contract: `matches` decides by column names alone. `read` takes the records behind the header;
 * what is no launch is counted in n_other. KS_EFORMAT names file, line and column. */
struct ks_counter_reader {
    const char *name;
    bool (*matches)(const struct ks_csv_header *h);
    int (*read)(struct ks_counter_file *f, struct ks_err *err);
};
extern const struct ks_counter_reader ks_counters_ncu_details, ks_counters_ncu_raw,
    ks_counters_nsys_trace, ks_counters_nsys_summary, ks_counters_rocprof_counters,
    ks_counters_rocprof_kernels, ks_counters_rocprof_wide;

struct ks_counter_csv {
    const char *text; /* [len] */
    size_t len;
    const char *path, *process;
    int64_t rank;
};
/* Kernel traces of rocprofv3 come last: they add times to launches that have counters. */
enum ks_counter_phase { KS_COUNTERS_ALL_BUT_TIMES, KS_COUNTERS_TIMES };
enum ks_counter_result { KS_COUNTERS_NONE, KS_COUNTERS_READ, KS_COUNTERS_LATER };
/* Returns an enum ks_counter_result (NONE: no reader knows a header of it, nothing was read), or
 * KS_E* < 0. */
int ks_counter_csv_read(struct ks_counter_table *t, const struct ks_counter_csv *csv,
                        enum ks_counter_phase phase, struct ks_err *err);

/* Files and directories: every CSV file with counters, and every trace (.json, .json.gz) with CUPTI
 * ranges. Passes of rocprofv3 (pass_N/) are joined by dispatch and kernel. Files of a directory
 * that are neither are left alone; a file that was named is an error. KS_EFORMAT: no counters at
 * all. */
int ks_counter_paths_read(struct ks_counter_table *t, const char *const *paths, int n,
                          struct ks_err *err);
/* The number behind "rank" in "rank_3", "rank-3", "rank3"; the last one counts; -1: none. */
int64_t ks_counter_rank_of(const char *path);
/* A trace with ranges of the CUPTI range profiler: 1; 0: a trace without. */
int ks_counter_trace_read(struct ks_counter_table *t, const char *path, int64_t rank,
                          struct ks_err *err);

/* For readers: the row of a launch, with its file and rank. */
int ks_counter_file_row(struct ks_counter_file *f, int64_t dispatch, const char *kernel,
                        uint32_t *row_out, struct ks_err *err);
/* A whole number of the current record's column; `otherwise` where it is none. "Agent 4" is 4. */
int64_t ks_counter_whole(const struct ks_counter_file *f, size_t column, int64_t otherwise);

#endif
