/* SPDX-License-Identifier: MIT */
/* tables.h - the columns of the tables of results.h5 besides /measurements and /attempts
 * (measured.h), and those that training.csv computes. In tables whose members have the names of
 * their columns the list makes the struct as well (store/rows.h).
 *
 * C(type, name, show, unit, missing, role, where, doc)          a member of the row's struct
 * T(bytes, name, role, where, doc)                              a text, with its terminator
 * P(path, type, name, show, unit, missing, role, where, doc)    a member of another name
 * PT(path, name, role, where, doc)                              a text of another name
 * Words are those of columns.h without their prefix. */
#ifndef KS_RECORD_TABLES_H
#define KS_RECORD_TABLES_H

#include "record/columns.h"

/* clang-format off */
#define KS_RUN_COLUMNS(C, T, P, PT)                                                                \
    T(33, run_id, ID, CSV, "random id of the run: 32 hex digits")                                  \
    T(64, job_name, PROVENANCE, FILE, "name in the job file")                                      \
    T(KS_PATH_BYTES, dir, PROVENANCE, FILE, "directory it was gathered from")                      \
    T(40, version, PROVENANCE, FILE, "of the program that wrote the newest segment")               \
    C(U64, grid_digest, HEX, "", NONE, ID, FILE,                                                   \
      "digest of the grid: condition, problems, instances")                                        \
    C(U64, condition_id, HEX, "", NONE, ID, FILE,                                                  \
      "digest of cache mode, data profile, clock policy and measurement protocol")                 \
    C(U64, n_problems, PLAIN, "", NONE, PROVENANCE, FILE, "in the grid")                           \
    C(U64, n_instances, PLAIN, "", NONE, PROVENANCE, FILE, "in the grid")                          \
    C(U64, n_cells, PLAIN, "", NONE, PROVENANCE, FILE,                                             \
      "pairs of a problem and an instance that computes such problems")                            \
    C(U64, n_done, PLAIN, "", NONE, PROVENANCE, FILE, "cells with an outcome")                     \
    C(U64, n_pending, PLAIN, "", NONE, PROVENANCE, FILE,                                           \
      "cells without one; n_cells = n_done + n_pending")                                           \
    C(U64, n_found, PLAIN, "", NONE, PROVENANCE, FILE,                                             \
      "rows of `/measurements` that programs printed; they are no cells")                          \
    C(U64, n_absent_pairs, PLAIN, "", NONE, PROVENANCE, FILE,                                      \
      "pairs of a problem and an instance that a program reported for other problems of the same " \
      "direction, data type and layout, but not for this one; they have no row")                   \
    C(U64, started_ns, PLAIN, "ns since 1970", NONE, PROVENANCE, FILE,                             \
      "when the first segment was made")                                                           \
    C(U64, last_ns, PLAIN, "ns since 1970", NONE, PROVENANCE, FILE,                                \
      "newest record, event or segment")                                                           \
    C(U32, n_segments, PLAIN, "", NONE, PROVENANCE, FILE,                                          \
      "segments of the journal: 1 and one per resume")                                             \
    C(U64, n_frames, PLAIN, "", NONE, PROVENANCE, FILE, "frames of the journal that were read")    \
    C(U64, n_records, PLAIN, "", NONE, PROVENANCE, FILE,                                           \
      "frames that are records of an attempt and round")                                           \
    C(U64, n_unreadable, PLAIN, "", NONE, PROVENANCE, FILE,                                        \
      "frames that are whole by their checksum but hold values this program does not know")        \
    C(U64, n_unknown_frames, PLAIN, "", NONE, PROVENANCE, FILE,                                    \
      "frames of types this program does not know")                                                \
    C(U64, n_damaged_places, PLAIN, "", NONE, PROVENANCE, FILE,                                    \
      "damaged places of the journal; a record lost there is pending")                             \
    C(U64, n_torn_tails, PLAIN, "", NONE, PROVENANCE, FILE,                                        \
      "segments that end within a frame, as a kill leaves them")                                   \
    C(U32, end_segment, PLAIN, "", NONE, PROVENANCE, FILE,                                         \
      "segment of the last frame that was gathered")                                               \
    C(U64, end_offset, PLAIN, "bytes", NONE, PROVENANCE, FILE,                                     \
      "where in that segment the frame begins")                                                    \
    C(POINTER, job, PLAIN, "", NONE, PROVENANCE, FILE, "resolved job file, JSON")

#define KS_HOST_COLUMNS(C, T, P, PT)                                                               \
    C(U32, run, PLAIN, "", NONE, PROVENANCE, FILE, "row of `/runs`")                               \
    C(U32, mpi_rank, PLAIN, "", NONE, PROVENANCE, FILE, "MPI rank")                                \
    C(U32, segment, PLAIN, "", NONE, PROVENANCE, FILE,                                             \
      "first segment of the journal that says so")                                                 \
    T(192, host, PROVENANCE, FILE, "host name")                                                    \
    T(64, key, PROVENANCE, FILE,                                                                   \
      "e.g. `cpu_model`, `microcode`, `governor`, `kernel`, `mpi`, `compiler`, `git`")             \
    T(2700, value, PROVENANCE, FILE, "its value")

#define KS_DEVICE_COLUMNS(C, T, P, PT)                                                             \
    C(U32, run, PLAIN, "", NONE, PROVENANCE, FILE, "row of `/runs`")                               \
    P(rec.device_id, U64, device_id, HEX, "", NONE, ID, FILE, "digest of the device")              \
    P(rec.device_class, U64, device_class_id, HEX, "", NONE, ID, CSV,                              \
      "digest of vendor, architecture, units, memory, mode and driver: what a model is trained "   \
      "for")                                                                                       \
    P(rec.rank, U32, mpi_rank, PLAIN, "", NONE, PROVENANCE, FILE, "MPI rank that measures on it")  \
    P(rec.local_rank, U32, local_rank, PLAIN, "", NONE, PROVENANCE, FILE, "rank on its host")      \
    PT(rec.host, host, PROVENANCE, CSV, "host name")                                               \
    PT(rec.text, text, PROVENANCE, FILE, "what the id was made of")                                \
    PT(rec.backend, backend, PROVENANCE, CSV, "`host`, `hip`, `cuda`, `sim`")                     \
    PT(rec.arch, arch, FEATURE, CSV, "architecture")                                               \
    PT(rec.model, device_model, FEATURE, CSV, "name of the CPU or GPU")                            \
    PT(rec.core_set, core_set, PROVENANCE, FILE, "CPUs that the worker is pinned to")              \
    PT(rec.boot_id, boot_id, PROVENANCE, FILE, "boot of the host; a device has a row per boot")    \
    P(rec.idle_switches_per_s, F64, idle_switches_per_s, PLAIN, "1/s", MISS(-1), PROVENANCE,       \
      FILE, "idle baseline at the start: involuntary context switches")                            \
    P(rec.idle_stolen, F64, idle_stolen, PLAIN, "1", MISS(-1), PROVENANCE, FILE,                   \
      "idle baseline: share of the time that others took")                                         \
    PT(rec.pci, pci_address, PROVENANCE, FILE, "address of a GPU")                                 \
    PT(rec.numa, numa_nodes, PROVENANCE, FILE,                                                     \
      "NUMA nodes nearest to its core, from which its worker's memory comes")                      \
    PT(rec.host_domain, host_domain, PROVENANCE, FILE,                                             \
      "host backend: `core`, `l3`, `socket`, one of which each rank measures on")                  \
    P(rec.n_neighbours, U32, n_cache_neighbours, PLAIN, "", MISS(0), PROVENANCE, CSV,              \
      "ranks that measured under the same last-level cache, itself too")                           \
    P(rec.n_memory_neighbours, U32, n_memory_neighbours, PLAIN, "", MISS(0), PROVENANCE, CSV,      \
      "ranks that measured on cores of the same NUMA nodes, itself too")                           \
    P(rec.n_units, U32, n_compute_units, PLAIN, "", MISS(0), PROVENANCE, CSV,                     \
      "compute units or multiprocessors of a GPU")                                                 \
    P(rec.memory_bytes, U64, memory_bytes, PLAIN, "bytes", MISS(0), PROVENANCE, CSV,              \
      "memory of a GPU")                                                                           \
    PT(rec.driver, driver_version, PROVENANCE, CSV, "driver of a GPU")

#define KS_PROBLEM_COLUMNS(C, T, P, PT)                                                            \
    C(U64, problem_id, HEX, "", NONE, ID, FILE,                                                    \
      "digest of the problem: operator, sizes, data type, layout, direction")                      \
    T(32, operator, FEATURE, CSV, "e.g. `grouped_conv`")                                           \
    T(24, direction, FEATURE, CSV, "`forward`, `backward_data`, `backward_weight`")                \
    T(16, dtype, FEATURE, CSV, "data type: `fp32`, `fp16`, `bf16`")                                \
    T(16, layout, FEATURE, CSV, "`nhwgc`, `ngchw`")                                                \
    T(192, problem_name, PROVENANCE, CSV, "free text of the list")                                 \
    C(I64, n_uses, PLAIN, "", NONE, PROVENANCE, CSV,                                               \
      "how often its source uses it: `count` of the problem list")                                 \
    C(F64, flops, PLAIN, "flop", MISS(-1), FEATURE, CSV,                                           \
      "floating-point operations: 2 per multiply-add, padding taps counted")                       \
    C(F64, min_bytes, PLAIN, "bytes", MISS(-1), FEATURE, CSV,                                      \
      "memory traffic if every operand is touched once")                                           \
    C(I64, reduction, PLAIN, "", MISS(INT64_MIN), FEATURE, CSV,                                   \
      "products per output element, at most")                                                      \
    C(I64, out_d, PLAIN, "", MISS(INT64_MIN), FEATURE, CSV, "output depth of a convolution")       \
    C(I64, out_h, PLAIN, "", MISS(INT64_MIN), FEATURE, CSV, "output height of a convolution")      \
    C(I64, out_w, PLAIN, "", MISS(INT64_MIN), FEATURE, CSV, "output width of a convolution")       \
    T(KS_CANONICAL, canonical, ID, FILE, "the text whose digest is problem_id")

#define KS_KERNEL_COLUMNS(C, T, P, PT)                                                             \
    C(U32, run, PLAIN, "", NONE, PROVENANCE, FILE, "row of `/runs`")                               \
    C(U64, instance_id, HEX, "", NONE, ID, FILE,                                                   \
      "digest of the instance: family and traits; the same on every machine")                      \
    C(U32, i_instance, PLAIN, "", NONE, PROVENANCE, FILE, "order in the configs of its run")       \
    T(192, instance_name, ID, CSV, "name of the instance, unique within a run")                    \
    T(64, family, FEATURE, CSV, "kernel family, see `/kernel_traits`")                             \
    C(U8, outcome, OUTCOME, "", NONE, PROVENANCE, FILE,                                            \
      "of the build: `ok`, `build_failed`, `build_timeout`, `unsupported`; 0 not built")           \
    T(24, outcome_text, PROVENANCE, FILE, "the same as text")                                      \
    T(256, reason, PROVENANCE, FILE, "the compiler's first error line")                            \
    T(33, build_id, ID, CSV,                                                                       \
      "digest of sources, compiler, flags and target: 32 hex digits; \"\" not built")              \
    T(33, code_id, ID, CSV,                                                                        \
      "digest of the machine code: 32 hex digits; rows of one code_id must not be split between "  \
      "training and test")                                                                         \
    C(U32, code_group, PLAIN, "", MISS(UINT32_MAX), ID, FILE,                                      \
      "number of the group of rows with this code_id")                                             \
    C(U8, is_cached, PLAIN, "", NONE, PROVENANCE, FILE, "1: was in the cache")                     \
    C(U64, compile_ns, PLAIN, "ns", NONE, PROVENANCE, FILE,                                        \
      "its share of the unit's compile time")                                                      \
    C(U64, object_bytes, PLAIN, "bytes", NONE, PROVENANCE, FILE, "size of the artefact")           \
    T(96, compiler, PROVENANCE, FILE, "name and version of the compiler")                          \
    T(KS_CANONICAL, canonical, ID, FILE, "the text whose digest is instance_id")                   \
    PT(code.target, target, PROVENANCE, FILE,                                                      \
      "what a GPU's code object is for: `gfx942`, `sm_90`; \"\" for a host's kernel")              \
    P(code.vgprs, I32, vgprs, PLAIN, "", MISS(-1), FEATURE, CSV,                                   \
      "vector registers per lane; from gfx90a on with the accumulators; NVIDIA: registers")        \
    P(code.agprs, I32, agprs, PLAIN, "", MISS(-1), FEATURE, CSV,                                   \
      "accumulators among the vector registers")                                                   \
    P(code.sgprs, I32, sgprs, PLAIN, "", MISS(-1), FEATURE, CSV, "scalar registers per wave")      \
    P(code.vgpr_spills, I32, vgpr_spills, PLAIN, "", MISS(-1), FEATURE, CSV,                       \
      "vector registers spilled to memory; a cubin does not say")                                  \
    P(code.sgpr_spills, I32, sgpr_spills, PLAIN, "", MISS(-1), FEATURE, CSV,                       \
      "scalar registers spilled")                                                                  \
    P(code.lds_bytes, I64, lds_bytes, PLAIN, "bytes", MISS(-1), FEATURE, CSV,                      \
      "LDS (shared memory) per block; what a launch adds is known of our own kernels only")        \
    P(code.scratch_bytes, I64, scratch_bytes, PLAIN, "bytes", MISS(-1), FEATURE, CSV,              \
      "stack and spills per lane")                                                                 \
    P(code.kernarg_bytes, I64, kernarg_bytes, PLAIN, "bytes", MISS(-1), FEATURE, CSV,              \
      "arguments of a launch")                                                                     \
    P(code.wave, I32, wave_size, PLAIN, "", MISS(-1), FEATURE, CSV, "lanes per wave or warp")      \
    P(code.max_threads, I32, max_threads_per_block, PLAIN, "", MISS(-1), FEATURE, CSV,             \
      "largest number of threads per block")                                                       \
    P(code.code_bytes, I64, code_bytes, PLAIN, "bytes", MISS(-1), FEATURE, CSV,                    \
      "machine code of the kernel")

#define KS_TRAIT_COLUMNS(C, T, P, PT)                                                              \
    C(U64, instance_id, HEX, "", NONE, ID, FILE,                                                   \
      "digest of the instance: family and traits; the same on every machine")                      \
    T(64, family, FEATURE, FILE, "kernel family")                                                  \
    T(32, key, FEATURE, FILE, "name of the trait")                                                 \
    T(64, value, FEATURE, FILE, "its value as text")

#define KS_BLOCK_COLUMNS(C, T, P, PT)                                                              \
    C(U32, run, PLAIN, "", NONE, PROVENANCE, FILE, "row of `/runs`")                               \
    P(rec.block_id, U64, block_id, HEX, "", NONE, ID, FILE, "unique within its run")               \
    P(rec.problem, U64, problem_id, HEX, "", NONE, ID, FILE,                                       \
      "digest of the problem: operator, sizes, data type, layout, direction")                      \
    P(rec.device_id, U64, device_id, HEX, "", NONE, ID, FILE, "digest of the device")              \
    P(rec.anchor, U64, anchor_instance_id, HEX, "", MISS(0), ID, FILE,                             \
      "instance that opens and closes the block")                                                  \
    P(rec.rank, U32, mpi_rank, PLAIN, "", NONE, PROVENANCE, FILE, "MPI rank that measured it")     \
    P(rec.n_cells, U32, n_cells, PLAIN, "", NONE, PROVENANCE, FILE, "cells leased in it")          \
    P(rec.is_closed, U32, is_closed, PLAIN, "", NONE, PROVENANCE, FILE,                            \
      "1: it was closed in order")                                                                 \
    P(rec.open_ns, F64, anchor_open_ns, PLAIN, "ns", MISS(-1), NEVER, FILE,                        \
      "median time of the anchor at the start")                                                    \
    P(rec.open_lo_ns, F64, anchor_open_ci95_lo_ns, PLAIN, "ns", MISS(-1), NEVER, FILE,             \
      "lower end of its 95 % confidence interval")                                                 \
    P(rec.open_hi_ns, F64, anchor_open_ci95_hi_ns, PLAIN, "ns", MISS(-1), NEVER, FILE,             \
      "upper end")                                                                                 \
    P(rec.close_ns, F64, anchor_close_ns, PLAIN, "ns", MISS(-1), NEVER, FILE,                      \
      "median time of the anchor at the end")                                                      \
    P(rec.close_lo_ns, F64, anchor_close_ci95_lo_ns, PLAIN, "ns", MISS(-1), NEVER, FILE,           \
      "lower end of its 95 % confidence interval")                                                 \
    P(rec.close_hi_ns, F64, anchor_close_ci95_hi_ns, PLAIN, "ns", MISS(-1), NEVER, FILE,           \
      "upper end")                                                                                 \
    C(F64, anchor_ns, PLAIN, "ns", MISS(-1), NEVER, FILE,                                          \
      "mean of the two medians, or the one there is")                                              \
    C(F64, anchor_drift, PLAIN, "1", MISS(-1), NEVER, CSV,                                         \
      "abs(anchor_close_ns / anchor_open_ns - 1): times of the block that differ by less are "     \
      "ties")                                                                                      \
    P(rec.opened_ns, U64, opened_ns, PLAIN, "ns since 1970", NONE, PROVENANCE, FILE,               \
      "when it was opened")                                                                        \
    P(rec.closed_ns, U64, closed_ns, PLAIN, "ns since 1970", MISS(0), PROVENANCE, FILE,            \
      "when it was closed")

#define KS_EVENT_COLUMNS(C, T, P, PT)                                                              \
    C(U32, run, PLAIN, "", NONE, PROVENANCE, FILE, "row of `/runs`")                               \
    C(U8, kind, PLAIN, "", NONE, PROVENANCE, FILE, "number of the kind")                           \
    T(24, kind_text, PROVENANCE, FILE,                                                             \
      "the same as text: `info`, `rank_lost`, `worker_death`, `quarantine`, ...")                  \
    P(rec.rank, U32, mpi_rank, PLAIN, "", NONE, PROVENANCE, FILE, "MPI rank that it is about")     \
    P(rec.realtime_ns, U64, realtime_ns, PLAIN, "ns since 1970", NONE, PROVENANCE, FILE,           \
      "when it happened")                                                                          \
    PT(rec.host, host, PROVENANCE, FILE, "host name")                                              \
    PT(rec.text, text, PROVENANCE, FILE, "one line")

#define KS_FAILURE_COLUMNS(C, T, P, PT)                                                            \
    C(U64, attempt_row, PLAIN, "", NONE, PROVENANCE, FILE, "row of `/attempts`")                   \
    C(U64, fault_address, PLAIN, "", NONE, NEVER, FILE, "address of the fault")                    \
    C(U32, n_denied, PLAIN, "", NONE, NEVER, FILE, "system calls that the filter refused")         \
    C(U8, is_denied_counted, PLAIN, "", NONE, NEVER, FILE,                                         \
      "0: refused calls are not counted, as on a GPU; `n_denied` says nothing then")               \
    C(I32, denied_call, PLAIN, "", MISS(-1), NEVER, FILE, "number of the last one")                \
    C(U64, n_wrong, PLAIN, "", NONE, NEVER, FILE, "wrong output elements")                         \
    T(KS_BOX_TEXT, wrong_box, NEVER, FILE,                                                         \
      "bounding box of all wrong elements, inclusive: `lo..hi` per output dimension")              \
    T(KS_TAIL_MAX + 1, output_tail, NEVER, FILE, "the last 4 KiB that the cell printed")

#define KS_MISMATCH_COLUMNS(C, T, P, PT)                                                           \
    C(U64, attempt_row, PLAIN, "", NONE, PROVENANCE, FILE, "row of `/attempts`")                   \
    C(U32, i_mismatch, PLAIN, "", NONE, PROVENANCE, FILE,                                          \
      "number among those of its attempt, from 0; at most 16")                                     \
    C(I64, element, PLAIN, "", NONE, NEVER, FILE, "flat index in the output")                      \
    C(F64, got, PLAIN, "", NONE, NEVER, FILE, "as the kernel left it: may be NaN or infinite")     \
    C(F64, want, PLAIN, "", NONE, NEVER, FILE, "reference")                                        \
    C(F64, tolerance, PLAIN, "", NONE, NEVER, FILE, "allowed difference")

/* Computed for training.csv: D(type, name, unit, role, doc). */
#define KS_COMPUTED_COLUMNS(D)                                                                     \
    D(F64, gflops_per_s, "Gflop/s", LABEL, "`flops` over `time_median_ns`, of `ok` rows only")     \
    D(F64, gbytes_per_s, "GB/s", LABEL, "`min_bytes` over `time_median_ns`, of `ok` rows only")    \
    D(TEXT, code_outcome, "", LABEL,                                                               \
      "outcome of the machine code: the row's own, of an `aliased` row that of its "               \
      "representative")                                                                            \
    D(F32, code_time_median_ns, "ns", LABEL,                                                       \
      "`time_median_ns` of the row that `code_outcome` is from")                                   \
    D(F32, code_time_over_anchor, "1", LABEL, "`time_over_anchor` of that row")                    \
    D(F32, code_rounds_time_ns, "ns", LABEL,                                                       \
      "`rounds_time_ns` of that row: the label's time over all rounds")
/* clang-format on */

#endif
