/* SPDX-License-Identifier: MIT */
/* measured.h - every field that is recorded of a cell and every column of /measurements and
 * /attempts, once. From these rows are made: members of struct ks_record (record.h), the fields of
 * the journal (record.c), struct ks_row (store/rows.h) and the copy between the two, the schema of
 * results.h5, training.csv, and the tables of docs/results.md.
 *
 * To add a field: 1. its row here, with a tag that was never used; 2. the code that measures it
 * (M, T, P, R) or derives it (D, DT: store/produce.c); 3. KS_BLESS=1 for build/bin/test_store_table
 * and test_analysis_columns, which write the golden schema and the tables of docs/results.md. A
 * schema minor that was released only grows.
 *
 * M(tag, record type, type, name, show, unit, missing, role, where, doc, rules)   recorded
 * T(tag, bytes, name, role, where, doc, rules)                                    recorded text
 * P(tag, kind, path in ks_record, type, name, show, unit, missing, role, where, doc, rules)
 *                                        recorded in a member that is not named as the column
 * R(tag, kind, path in ks_record, rules)                                          no column
 * D(type, name, show, unit, missing, role, where, doc)                            derived, no tag
 * DT(bytes, name, role, where, doc)                                               derived text
 * Words are those of columns.h without their prefix; kinds and rules those of fields.h. */
#ifndef KS_RECORD_MEASURED_H
#define KS_RECORD_MEASURED_H

#include "record/columns.h"
#include "record/outcome.h"

#include <stdint.h>

/* clang-format off */
#define KS_MEASURED(M, T, P, R, D, DT)                                                             \
    /* rows of other tables in this file */                                                        \
    D(U32, run, PLAIN, "", NONE, PROVENANCE, BOTH, "row of `/runs`")                               \
    D(U32, problem, PLAIN, "", MISS(UINT32_MAX), PROVENANCE, BOTH, "row of `/problems`")           \
    D(U32, kernel, PLAIN, "", MISS(UINT32_MAX), PROVENANCE, BOTH,                                  \
      "row of `/kernels`: the instance as it was built for this record")                           \
    D(U32, device, PLAIN, "", MISS(UINT32_MAX), PROVENANCE, BOTH, "row of `/devices`")             \
    D(U32, block, PLAIN, "", MISS(UINT32_MAX), PROVENANCE, BOTH, "row of `/blocks`")               \
    /* what */                                                                                     \
    P(1, UINT, cell.problem, U64, problem_id, HEX, "", NONE, ID, ALL,                              \
      "digest of the problem: operator, sizes, data type, layout, direction", .required = true)    \
    P(2, UINT, cell.instance, U64, instance_id, HEX, "", NONE, ID, ALL,                            \
      "digest of the instance: family and traits; the same on every machine", .required = true)    \
    P(3, UINT, cell.condition, U64, condition_id, HEX, "", NONE, ID, ALL,                          \
      "digest of cache mode, data profile, clock policy and measurement protocol", )               \
    M(4, U32, U32, attempt, PLAIN, "", NONE, NEVER, ALL,                                           \
      "number of the attempt, from 1; in `/measurements` the one that counts", .lo = 1,            \
      .hi = UINT32_MAX, .def = 1, .required = true)                                                \
    D(U32, n_attempts, PLAIN, "", NONE, NEVER, VIEW_CSV, "records of the cell in round 0")         \
    D(U32, n_rounds, PLAIN, "", NONE, NEVER, VIEW_CSV,                                             \
      "rounds that count; `time_median_ns` and what belongs to it are over the samples of all of " \
      "them")                                                                                      \
    M(5, U32, U32, round_index, PLAIN, "", NONE, NEVER, ATTEMPTS,                                  \
      "number of the round, from 0; round 0 decides the outcome", )                                \
    M(6, U32, U8, role, PLAIN, "", NONE, PROVENANCE, ATTEMPTS,                                     \
      "0 the cell, 1 anchor of a block, 2 canary, 3 control of an alias; only role 0 makes "       \
      "outcomes", .lo = 0, .hi = KS_ROLE_CONTROL)                                                  \
    D(U8, is_final, PLAIN, "", NONE, PROVENANCE, ATTEMPTS,                                         \
      "1: this record made the row of `/measurements`")                                            \
    M(7, U32, U8, outcome, OUTCOME, "", NONE, LABEL, ALL,                                          \
      "how the cell ended: a number in HDF5, see `outcome_values`; its text in CSV", .lo = 1,      \
      .hi = KS_O_LIMIT - 1, .required = true)                                                      \
    DT(24, outcome_text, LABEL, BOTH, "the same as text")                                          \
    M(8, I32, I32, status_code, PLAIN, "", MISS(INT32_MIN), NEVER, ALL,                            \
      "signal of `crashed`, exit status of `exited`, return value or runtime's error of `launch_failed`", )           \
    M(9, U32, U32, outcome_flags, FLAGS, "", NONE, NEVER, ALL,                                     \
      "remarks beside the outcome: bits in HDF5, see `outcome_flags_bits`; in CSV texts that are " \
      "joined by a vertical bar", )                                                                \
    D(U8, is_confirmed, PLAIN, "", NONE, NEVER, VIEW_CSV,                                          \
      "0: a failure that no second device reproduced")                                             \
    M(10, U32, U8, phase, PLAIN, "", NONE, NEVER, BOTH, "where it ended, see `phase_values`",      \
      .lo = 0, .hi = KS_PH_EXIT)                                                                   \
    M(11, U32, U8, stop_reason, STOP, "", NONE, NEVER, ALL,                                        \
      "why sampling stopped: a number in HDF5, see `stop_reason_values`; its text in CSV",         \
      .lo = 0,                                                                                     \
      .hi = KS_STOP_FAILED)                                                                        \
    T(12, 160, reason, NEVER, ALL, "why it ended so, one line; \"\" if there is nothing to say", ) \
    M(13, U64, U64, representative_id, HEX, "", MISS(0), ID, ALL,                                  \
      "`instance_id` of the instance with the same machine code: of an `aliased` cell the one "    \
      "that was measured in its place, of a control (flag `aliased`) the one to compare with", )   \
    /* where and when */                                                                           \
    M(20, U64, U64, lease_id, HEX, "", MISS(0), ID, ATTEMPTS, "the lease it belonged to", )        \
    M(21, U64, U64, block_id, HEX, "", MISS(0), ID, ALL,                                           \
      "the block it was measured in; cells that nobody ran have none", )                           \
    M(22, U32, U32, position, PLAIN, "", MISS(UINT32_MAX), NEVER, ALL,                             \
      "position in its block, from 0, anchors included", )                                         \
    M(23, U32, U32, mpi_rank, PLAIN, "", NONE, PROVENANCE, ALL,                                    \
      "MPI rank that measured it or decided about it", )                                           \
    M(24, U64, U64, device_id, HEX, "", MISS(0), ID, ALL, "digest of the device", )                \
    R(25, ID128, worker, )                                                                         \
    D(U64, worker_id, HEX, "", MISS(0), ID, ATTEMPTS,                                              \
      "first half of the worker's nonce: records with the same value come from one process")       \
    M(26, U64, U64, seq, PLAIN, "", MISS(0), PROVENANCE, ATTEMPTS,                                 \
      "number of the record among those of its worker, from 1", )                                  \
    M(27, I32, I32, pid, PLAIN, "", NONE, PROVENANCE, BOTH, "process id of the worker", )          \
    M(28, I32, I32, cpu, PLAIN, "", NONE, PROVENANCE, ATTEMPTS,                                    \
      "logical CPU of the worker, -1 if not known", .def = -1)                                     \
    M(29, U64, U64, started_ns, PLAIN, "ns since 1970", MISS(0), PROVENANCE, ALL,                  \
      "when the cell began", )                                                                     \
    R(30, ID128, build_id, )                                                                       \
    R(31, ID128, code_id, )                                                                        \
    /* timing */                                                                                   \
    D(U32, n_samples, PLAIN, "", NONE, NEVER, ALL, "samples taken; 0 without timing")              \
    M(40, U32, U32, calls_per_sample, PLAIN, "", MISS(0), NEVER, ALL,                              \
      "kernel calls per sample; a sample is their mean time", )                                    \
    R(41, REALS, sample_ns, COUNT(n_samples), .rule = KS_POSITIVE)                                 \
    D(U64, sample_offset, PLAIN, "", NONE, PROVENANCE, ATTEMPTS,                                   \
      "first of its samples in `/samples/time_ns`")                                                \
    D(F32, time_median_ns, PLAIN, "ns", MISS(-1), LABEL, ALL, "median time of one call")           \
    D(F32, time_se_ns, PLAIN, "ns", MISS(-1), NEVER, ALL,                                          \
      "standard error of the median: half-width of its 68 % order-statistic interval, at least "   \
      "what the clock can resolve")                                                                \
    D(F32, time_mad_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV, "median absolute deviation")       \
    D(F32, time_ci95_lo_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV,                                \
      "lower end of the 95 % confidence interval of the median (order statistics)")                \
    D(F32, time_ci95_hi_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV,                                \
      "upper end of the 95 % confidence interval of the median")                                   \
    D(F32, time_min_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV, "fastest sample")                  \
    D(F32, time_p10_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV,                                    \
      "10th percentile (linear interpolation)")                                                    \
    D(F32, time_p90_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV, "90th percentile")                 \
    D(F32, time_max_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV, "slowest sample")                  \
    D(F32, time_mean_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV,                                   \
      "mean; for sums only, outliers dominate it")                                                 \
    M(42, F64, F32, verified_sample_ns, PLAIN, "ns", MISS(-1), NEVER, ALL,                         \
      "time of the last sample whose output was verified element by element", .rule = KS_FINITE,   \
      .def = -1)                                                                                   \
    M(43, F64, F32, clock_resolution_ns, PLAIN, "ns", MISS(-1), NEVER, ALL,                        \
      "resolution of the clock that took the samples", .rule = KS_FINITE)                          \
    D(F32, anchor_open_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV,                                 \
      "median time of the anchor at the start of the block")                                       \
    D(F32, anchor_close_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV,                                \
      "median time of the anchor at the end of the block")                                         \
    D(F32, time_over_anchor, PLAIN, "1", MISS(-1), LABEL, VIEW_CSV,                                \
      "`time_median_ns` over the mean of the anchor's two medians (or over the one there is): "    \
      "comparable between blocks and between devices of a class")                                  \
    /* where the time went */                                                                      \
    M(44, U64, U64, wall_ns, PLAIN, "ns", IF(RUN), NEVER, ALL,                                     \
      "wall time of the cell, from reading the request to sending the record", )                   \
    M(45, U64, U64, input_ns, PLAIN, "ns", NONE, NEVER, ATTEMPTS, "making inputs", )               \
    M(46, U64, U64, reference_ns, PLAIN, "ns", NONE, NEVER, ATTEMPTS,                              \
      "computing references (once per problem)", )                                                 \
    M(47, U64, U64, load_ns, PLAIN, "ns", NONE, NEVER, ATTEMPTS, "loading the artefact", )         \
    M(48, U64, U64, exact_check_ns, PLAIN, "ns", NONE, NEVER, ATTEMPTS, "the exact check", )       \
    M(49, U64, U64, warmup_ns, PLAIN, "ns", IF(RUN), NEVER, ALL, "warming up", )                   \
    M(120, U32, U8, warmup_end, PLAIN, "", NONE, NEVER, ALL,                                       \
      "why the warm-up ended: 0 there was none or it failed, 1 `warmup_ms` were over, 2 clock and "\
      "times of the device were flat, 3 they were not flat after 2 s",                             \
      .lo = 0, .hi = KS_WARM_LIMIT)                                                                \
    M(50, U64, U64, timing_ns, PLAIN, "ns", IF(RUN), NEVER, ALL, "taking samples", )               \
    M(51, U64, U64, tolerance_check_ns, PLAIN, "ns", NONE, NEVER, ATTEMPTS,                        \
      "the tolerance check", )                                                                     \
    /* verification */                                                                             \
    M(55, U32, U8, exact_check, CHECK, "", NONE, NEVER, ALL,                                       \
      "every output element, bit for bit, on integer data: 0 not run, 1 passed, 2 failed",         \
      .lo = 0, .hi = 2)                                                                            \
    M(56, U32, U8, tolerance_check, CHECK, "", NONE, NEVER, ALL,                                   \
      "every output element, within a proven error bound, on random data: 0 not run, 1 passed, "   \
      "2 failed", .lo = 0, .hi = 2)                                                                \
    M(57, F64, F32, max_error, PLAIN, "tolerances", MISS(-1), NEVER, ALL,                          \
      "largest error of an output element over its tolerance; 3.4028235e38 if the output has NaN " \
      "or infinity", ) /* in the record NaN or infinite where the output is */                     \
    M(58, U64, U64, n_wrong, PLAIN, "", IF(CHECKED), NEVER, ALL, "wrong output elements", )        \
    M(59, U64, U64, n_zero, PLAIN, "", IF(TOLERANCED), NEVER, ALL,                                 \
      "elements of the verified output that are zero", )                                           \
    M(60, U64, U64, n_elements, PLAIN, "", MISS(0), NEVER, ALL, "elements of the output", )        \
    R(61, EACH, mismatch, COUNT(n_mismatches), .each = &mismatch_fields)                           \
    R(62, INTS, box_lo, COUNT(n_box))                                                              \
    R(63, INTS, box_hi, COUNT(n_box))                                                              \
    M(64, U32, U8, bitwise_reproducible, YES_NO, "", NONE, NEVER, ALL,                             \
      "whether two launches on the same random data gave the same bits: 0 not known, 1 yes, 2 no", \
      .lo = 0, .hi = 2)                                                                            \
    M(65, U32, U32, n_checked_launches, PLAIN, "", MISS(0), NEVER, ALL,                            \
      "launches on random data, warm-up included, whose whole output was compared with the "       \
      "reference, or by its digest with one that was", )                                           \
    D(F32, wrong_launch_share_ucb95, PLAIN, "1", MISS(-1), NEVER, ALL,                             \
      "upper 95 % confidence bound of the share of launches with a wrong output: "                 \
      "1 - 0.05^(1 / `n_checked_launches`)")                                                       \
    M(66, F64, F32, verified_over_timed, PLAIN, "1", MISS(-1), NEVER, ALL,                         \
      "median time of the verified samples (new inputs, poisoned output) over that of the others", \
      .rule = KS_FINITE, .def = -1)                                                                \
    M(67, F64, F32, floor_ns, PLAIN, "ns", MISS(-1), NEVER, ALL,                                   \
      "least time in which a call can do the work; a time below half of it is `untrusted`",        \
      .rule = KS_FINITE, .def = -1)                                                                \
    R(68, UINT, check_seed, )                                                                      \
    /* noise while timing */                                                                       \
    M(70, U64, U64, involuntary_switches, PLAIN, "", IF(TIMED), NEVER, ALL,                        \
      "involuntary context switches of the worker while timing", )                                 \
    M(71, U64, U64, cpu_ns, PLAIN, "ns", NONE, NEVER, BOTH,                                        \
      "CPU time of the worker while timing", )                                                     \
    M(72, U64, U64, span_ns, PLAIN, "ns", NONE, NEVER, BOTH,                                       \
      "wall time from the first timed sample to the last", )                                       \
    M(73, F64, F32, canary_ratio, PLAIN, "1", MISS(-1), NEVER, ALL,                                \
      "time of the canary loop over its idle baseline", .rule = KS_FINITE)                         \
    M(74, F64, F32, disturbance, PLAIN, "1", MISS(-1), NEVER, ALL,                                 \
      "largest of (indicator - idle baseline) / limit over all noise indicators, at least 0; "     \
      "above 1 the attempt is `contaminated`", .rule = KS_FINITE, .def = -1)                       \
    /* abnormal ends */                                                                            \
    R(80, UINT, fault_address, )                                                                   \
    M(81, U64, U64, peak_bytes, PLAIN, "bytes", MISS(0), NEVER, ALL,                               \
      "most memory that the worker had resident on the host", )                                    \
    R(82, UINT, n_denied, )                                                                        \
    R(83, INT, denied_call, .def = -1)                                                             \
    R(84, RAW, tail, COUNT(n_tail))                                                                \
    M(85, I64, I64, workspace_bytes, PLAIN, "bytes", IF(RUN), NEVER, ALL,                          \
      "workspace that the instance asked for", )                                                   \
    R(86, UINT, n_printed, )                                                                       \
    /* the device: before the first sample, after the last, extremes of all readings */            \
    P(90, REAL, before.clock_mhz, F32, clock_before_mhz, PLAIN, "MHz", MISS(-1), NEVER, ALL,       \
      "clock of the device before the first sample", .rule = KS_FINITE, .def = -1)                 \
    P(91, REAL, before.memory_clock_mhz, F32, memory_clock_before_mhz, PLAIN, "MHz", MISS(-1),     \
      NEVER, ATTEMPTS, "memory clock before the first sample", .rule = KS_FINITE, .def = -1)       \
    P(92, REAL, before.power_w, F32, power_before_w, PLAIN, "W", MISS(-1), NEVER, ATTEMPTS,        \
      "power before the first sample; missing where the device counts energy",                     \
      .rule = KS_FINITE, .def = -1)                                                                \
    P(93, REAL, before.temperature_c, F32, temperature_before_c, PLAIN, "Celsius", MISS(-1),       \
      NEVER,                                                                                       \
      ATTEMPTS, "temperature before the first sample", .rule = KS_FINITE, .def = -1)               \
    P(94, REAL, before.busy, F32, busy_before, PLAIN, "1", MISS(-1), NEVER, ALL,                   \
      "share of the device in use before the first sample", .rule = KS_FINITE, .def = -1)          \
    P(95, REAL, after.clock_mhz, F32, clock_after_mhz, PLAIN, "MHz", MISS(-1), NEVER, ALL,         \
      "clock after the last sample", .rule = KS_FINITE, .def = -1)                                 \
    P(96, REAL, after.memory_clock_mhz, F32, memory_clock_after_mhz, PLAIN, "MHz", MISS(-1),       \
      NEVER,                                                                                       \
      ATTEMPTS, "memory clock after the last sample", .rule = KS_FINITE, .def = -1)                \
    P(97, REAL, after.power_w, F32, power_after_w, PLAIN, "W", MISS(-1), NEVER, ATTEMPTS,          \
      "where the device counts energy the mean power from before the first sample to after the "   \
      "last, missing below 1 s; else its reading after the last sample",                           \
      .rule = KS_FINITE, .def = -1)                                                                \
    P(98, REAL, after.temperature_c, F32, temperature_after_c, PLAIN, "Celsius", MISS(-1), NEVER,  \
      ALL, "temperature after the last sample", .rule = KS_FINITE, .def = -1)                      \
    P(99, REAL, after.busy, F32, busy_after, PLAIN, "1", MISS(-1), NEVER, ATTEMPTS,                \
      "share of the device in use after the last sample", .rule = KS_FINITE, .def = -1)            \
    M(100, F64, F32, clock_min_mhz, PLAIN, "MHz", MISS(-1), NEVER, ALL,                            \
      "lowest clock of all readings, those between batches of samples included",                   \
      .rule = KS_FINITE, .def = -1)                                                                \
    M(121, F64, F32, clock_timed_mhz, PLAIN, "MHz", MISS(-1), NEVER, ALL,                          \
      "mean clock of the compute units while samples were taken, by their own counters",           \
      .rule = KS_FINITE, .def = -1)                                                                \
    M(101, F64, F32, power_max_w, PLAIN, "W", MISS(-1), NEVER, ALL,                                \
      "highest power of all readings; missing where the device counts energy",                     \
      .rule = KS_FINITE, .def = -1)                                                                \
    M(102, I64, I64, throttle_reasons, PLAIN, "", MISS(-1), NEVER, ALL,                            \
      "the vendor's bits for why clocks were held back, all that were seen", .def = -1)            \
    /* rounds */                                                                                   \
    M(103, U32, U32, n_visit, PLAIN, "", MISS(0), NEVER, ATTEMPTS,                                 \
      "instances in the visit that the record belongs to; a visit is one round of one block", )    \
    D(F32, rounds_time_ns, PLAIN, "ns", MISS(-1), LABEL, VIEW_CSV,                                 \
      "time of one call over all rounds: in a round the mean (of logs) of `rounds_statistic` of "  \
      "its records, over rounds the median; contaminated rounds count only where all are")         \
    D(F32, rounds_ci95_lo_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV,                              \
      "of the best instance of a problem with visits: lower end of the 95 % interval of the "      \
      "value that sweeps scatter around, from the variance between rounds of its device and "      \
      "class and 0.28 times that for what differs between sweeps only; missing where an earlier "  \
      "version compared the visits by another statistic than `rounds_statistic`")                    \
    D(F32, rounds_ci95_hi_ns, PLAIN, "ns", MISS(-1), NEVER, VIEW_CSV, "upper end")                 \
    DT(8, rounds_statistic, NEVER, VIEW_CSV,                                                       \
      "what `rounds_time_ns` is of the samples of one record: `median`, `low` (10 % quantile; "    \
      "on host), `groups`, `minimum`; \"\" without a time")                                        \
    DT(8, rounds_stop, NEVER, VIEW_CSV,                                                            \
      "why the visits of the problem ended: `alone`, `tied`, `regret`, `time`, `rounds`, "         \
      "`noisy`, `cut`; \"\" if it had none")                                                       \
    D(F32, time_share, PLAIN, "1", MISS(-1), NEVER, VIEW_CSV,                                      \
      "share of the time in which samples of the problem were taken that was spent on this cell, " \
      "in all attempts and rounds")                                                                \
    /* programs that time kernels themselves (docs/profilers.md) */                                \
    M(104, U64, U64, run_instance, HEX, "", MISS(0), ID, ALL,                                      \
      "of a row that another program printed: `instance_id` of that program's run", )              \
    T(105, 160, protocol, NEVER, ALL,                                                              \
      "who timed and verified, and how, when it was not ksweep: program, version, warm-up, "       \
      "repeats, cache, statistic; \"\" if it was ksweep", )                                        \
    M(106, I64, I64, split_k_used, PLAIN, "", MISS(INT32_MIN), NEVER, ALL,                         \
      "split-k that the program says it used", .def = INT32_MIN)                                   \
    M(107, F64, F32, printed_flops_per_s, PLAIN, "flop/s", MISS(-1), NEVER, ALL,                   \
      "rate that the program printed", .rule = KS_FINITE, .def = -1)                               \
    M(108, F64, F32, printed_bytes_per_s, PLAIN, "B/s", MISS(-1), NEVER, ALL,                      \
      "memory rate that the program printed", .rule = KS_FINITE, .def = -1)                        \
    M(109, U64, U64, output_line, PLAIN, "", MISS(0), PROVENANCE, ALL,                             \
      "line of the program's output, from 1", )                                                    \
    /* where the record is */                                                                      \
    D(U64, attempt_row, PLAIN, "", NONE, PROVENANCE, VIEW, "row of `/attempts`")                   \
    D(U32, journal_segment, PLAIN, "", NONE, PROVENANCE, ATTEMPTS,                                 \
      "segment of the journal that holds the record")                                              \
    D(U64, journal_offset, PLAIN, "bytes", NONE, PROVENANCE, ATTEMPTS,                             \
      "where in the segment its frame begins")
/* clang-format on */

#endif
