/* SPDX-License-Identifier: MIT */
/* rows.h - one struct per table of results.h5, as plain values. The columns of the file, their
 * units, their meaning and what stands for "missing" are in schema.c, once, for writer, reader,
 * check and docs/results.md. A member named like a column holds that column.
 *
 * Missing: numbers of rows KS_NO_ROW; times, ratios and errors KS_MISSING; others as in schema.c.
 */
#ifndef KS_STORE_ROWS_H
#define KS_STORE_ROWS_H

#include "base/hash.h"
#include "op/op.h"
#include "record/record.h"
#include "record/stats.h"

#include <stdint.h>

#define KS_NO_ROW       UINT32_MAX
#define KS_MISSING      (-1.0)    /* of a double: no time, ratio or error is negative */
#define KS_MISSING_CODE INT32_MIN /* of ks_row.code */
#define KS_MISSING_DIM  INT64_MIN /* the operator has no such dimension */
#define KS_STORE_DIMS   48        /* distinct dimension names of all operators in one file */
#define KS_CANONICAL    1024
#define KS_BOX_TEXT     256
#define KS_PATH_BYTES   1024

struct ks_run_row {
    char run_id[33];         /* 32 hex digits */
    char name[64];           /* of the job */
    char dir[KS_PATH_BYTES]; /* where it was gathered from */
    char version[40];        /* of the program that wrote the newest segment */
    uint64_t grid_digest, condition_id;
    uint64_t n_problems, n_instances, n_cells, n_done, n_pending;
    uint64_t started_ns, last_ns; /* realtime: first segment, newest record or event */
    uint32_t n_segments;
    uint64_t n_frames, n_records;
    uint64_t n_unreadable; /* records whose frame is whole but whose content this program
                              does not understand: their cells are pending */
    uint64_t n_unknown_frames, n_damaged_places, n_torn_tails;
    uint32_t end_segment; /* the last frame that was gathered */
    uint64_t end_offset;
    const char *job;          /* resolved job file, JSON; owned by whoever holds the row */
    char path[KS_PATH_BYTES]; /* of the directory as it was given; not in the file */
};

struct ks_host_row { /* provenance of a host, one row per value */
    uint32_t run, rank, segment;
    char host[192], key[64], value[2700]; /* the flags of a CPU are the longest */
};

struct ks_device_row {
    uint32_t run;
    struct ks_device_rec rec;
};

struct ks_problem_row {
    uint64_t problem_id;
    char op[32], direction[24], dtype[16], layout[16], name[192];
    int64_t count;
    double flops, min_bytes;
    int64_t reduction;
    int64_t dim[KS_STORE_DIMS]; /* by the names in the file's columns */
    int64_t out_d, out_h, out_w;
    char canonical[KS_CANONICAL];
    struct ks_problem problem; /* parsed from canonical; has_problem 0: could not be */
    uint32_t has_problem;
};

struct ks_kernel_row { /* one instance as built in one run; several rows when it was rebuilt */
    uint32_t run;
    uint64_t instance_id;
    char name[192], family[64], canonical[KS_CANONICAL];
    uint32_t i_instance; /* order of the instance in the run's configs */
    uint8_t outcome, is_cached;
    char outcome_text[24], reason[256], compiler[96];
    char build_id[33], code_id[33]; /* 32 hex digits, "" = none */
    uint32_t code_group;            /* rows with the same code_id */
    uint64_t compile_ns, object_bytes;
    struct ks_code_rec code; /* what is not known is -1 */
};

struct ks_trait_row {
    uint64_t instance_id;
    char family[64], key[32], value[64];
};

struct ks_block_row {
    uint32_t run;
    struct ks_block rec;
    double anchor_ns, anchor_drift;
};

struct ks_event_row {
    uint32_t run;
    uint8_t kind;
    char kind_text[24];
    struct ks_event_rec rec;
};

/* /attempts and /measurements: what is known of one attempt and round, or of one cell. */
struct ks_row {
    uint32_t run, problem, kernel, device, block; /* rows of their tables */
    uint64_t problem_id, instance_id, condition_id;
    uint32_t attempt, round, n_attempts, n_rounds;
    uint8_t role, outcome, phase, stop, is_final, confirmed;
    char outcome_text[24], reason[160];
    int32_t code;
    uint32_t flags;
    uint64_t alias_id; /* instance with the same code: what an aliased cell points to, and what a
                          control is compared with; 0 none */
    uint64_t lease_id, block_id, device_id, worker, seq;
    uint32_t position, rank;
    int32_t pid, cpu;
    uint64_t started_ns;
    uint32_t n_samples, calls;
    uint64_t sample_offset;
    double median_ns, mad_ns, se_ns, lo95_ns, hi95_ns, min_ns, max_ns, p10_ns, p90_ns, mean_ns;
    double poison_sample_ns, clock_ns;
    double anchor_open_ns, anchor_close_ns, time_over_anchor;
    uint64_t wall_ns, input_ns, reference_ns, load_ns, exact_ns, warmup_ns, timing_ns, verify_ns;
    uint8_t v1, v2, bitwise_stable;
    double max_error;
    uint64_t n_wrong, n_zero, n_elements;
    uint32_t n_checked;
    double wrong_share_hi95, verified_over_timed, floor_ns;
    uint64_t involuntary_switches, cpu_ns, span_ns;
    double canary_ratio, disturbance;
    struct ks_reading before, after; /* of the device, as in ks_record: unknown is KS_MISSING */
    double min_clock_mhz, max_power_w;
    int64_t throttle;
    uint64_t peak_bytes;
    int64_t workspace_bytes;
    uint64_t attempt_row; /* /measurements: the row of /attempts it stands for */
    uint32_t segment;     /* where its frame lies in the journal */
    uint64_t offset;
};

struct ks_failure_row { /* what an attempt that went wrong left behind */
    uint64_t attempt_row;
    uint64_t fault_address;
    uint32_t n_denied;
    int32_t denied_call;
    uint64_t n_wrong;
    char wrong_box[KS_BOX_TEXT]; /* "0..0,3..7,..": bounding box of the wrong elements, inclusive */
    char tail[KS_TAIL_MAX + 1];
};

struct ks_mismatch_row {
    uint64_t attempt_row;
    uint32_t rank_in_attempt; /* from 0 */
    int64_t index;
    double got, want, tolerance; /* got as the kernel left it: may be NaN or infinite */
};

#endif
