/* SPDX-License-Identifier: MIT */
/* store.h - results.h5: made whole from journals, checked against them, read row by row. The only
 * module that knows HDF5; docs/results.md describes the file.
 *
 * HDF5 need not be thread-safe: use these functions from one thread. */
#ifndef KS_STORE_H
#define KS_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "record/statistic.h"
#include "store/rows.h"
#include "store/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_SCHEMA_MAJOR 1
#define KS_SCHEMA_MINOR 7

/* ---- gather ---- */

struct ks_store_options {
    const char *program; /* "ksweep 0.1.0", stored; NULL = "ksweep" */
    uint32_t chunk_rows; /* 0 = about 1 MiB a chunk */
    bool use_named_file; /* tests: as on file systems without O_TMPFILE */
};

struct ks_store_totals {
    uint32_t n_runs;
    uint64_t n_cells, n_done, n_pending; /* n_cells = n_done + n_pending */
    uint64_t n_outcome[KS_O_LIMIT];      /* of the rows of /measurements */
    uint64_t n_found, n_absent_pairs;    /* sums of these columns of /runs */
    uint64_t n_found_need_look;          /* of n_found */
    uint64_t n_contaminated;
    uint64_t n_attempts, n_samples; /* rows of /attempts and /samples */
    uint64_t n_unreadable, n_unknown_frames, n_damaged_places, n_torn_tails;
    uint64_t n_journal_bytes, n_file_bytes;
    char kept_as[KS_PATH_BYTES + 256]; /* the file that was there has measurements that the journals
                                          have lost, and this name now; "": there was none */
};

/* ks_store_gather() - journals of one or more run directories -> one HDF5 file, at any time, also
 * while they grow: what was appended after the first look waits for the next gather.
 * @dirs [in] [n_dirs] directories that hold journal/; one run each
 * @out_path [in] replaced only when the new file is whole: written under no name, closed, read back
 *   and compared, synced, renamed. A file there that was made from more of a run's journal than
 * there is now (it was cut back, or restored from an older copy) is kept under another name.
 * @totals_out [out] may be NULL
 * Returns 0; KS_ENOENT no journal; KS_EEXIST two directories of one run; KS_EOWNER a directory with
 * segments of two runs; KS_ENOSPC, KS_EIO, KS_ENOMEM. After a failure the old file is as it was.
 * Memory: about 100 bytes a record, some KB a problem and instance. Blocks: yes. */
int ks_store_gather(const char *const *dirs, size_t n_dirs, const char *out_path,
                    const struct ks_store_options *options, struct ks_store_totals *totals_out,
                    struct ks_err *err);

/* How long a gather of so many journal bytes takes at most, in s; for deciding whether it fits what
 * is left of a grace period. From tests/bench/bench_gather.c, with a margin of three. */
double ks_store_predict_s(uint64_t journal_bytes);
/* Bytes of DIR/journal; 0 when there is none. */
uint64_t ks_store_journal_bytes(const char *dir);

/* ---- check ---- */

struct ks_store_check {
    struct ks_buf findings; /* one line each; "" = all is well. Owned: caller releases */
    struct ks_buf notes;    /* lines worth knowing that are no defect (torn tails, newer records) */
    uint64_t n_findings, n_notes;
    uint64_t n_frames, n_rows; /* read in journals; compared with them */
    bool has_journal, has_file, is_compared;
};

/* ks_store_check() - integrity of a run directory or of an HDF5 file. Journals: every frame
 * readable. File: every dataset readable, HDF5's checksums and our own right. Both: every row of
 * every table is what the journals say, column by column; a file of several runs is compared when
 * all their directories are where they were. Outputs of programs: there, whole, and of the digest
 * in the journal. Returns 0 whatever was found; KS_ENOENT when there is
 * nothing to check, KS_EUNSUPPORTED a file of another schema major, KS_ENOMEM. */
int ks_store_check(const char *path, struct ks_store_check *out, struct ks_err *err);

/* ---- read ---- */

struct ks_store_file;

struct ks_store_info {
    uint64_t schema_major, schema_minor;
    char program[64];
    uint32_t n_runs, n_hosts, n_devices, n_problems, n_kernels, n_traits, n_blocks, n_dims;
    uint64_t n_measurements, n_attempts, n_samples, n_cells, n_pending, n_events;
};

/* KS_ENOENT, KS_EIO; KS_EFORMAT not ours; KS_EUNSUPPORTED of another schema major. */
int ks_store_open(const char *path, struct ks_store_file **out, struct ks_err *err);
void ks_store_close(struct ks_store_file *f); /* NULL is fine */

/* The small tables are held in memory. Borrowed until close; i below the number in info. */
const struct ks_store_info *ks_store_info(const struct ks_store_file *f);
const struct ks_run_row *ks_store_run(const struct ks_store_file *f, uint32_t i);
const struct ks_host_row *ks_store_host(const struct ks_store_file *f, uint32_t i);
const struct ks_device_row *ks_store_device(const struct ks_store_file *f, uint32_t i);
const struct ks_problem_row *ks_store_problem(const struct ks_store_file *f, uint32_t i);
const struct ks_kernel_row *ks_store_kernel(const struct ks_store_file *f, uint32_t i);
const struct ks_trait_row *ks_store_trait(const struct ks_store_file *f, uint32_t i);
const struct ks_block_row *ks_store_block(const struct ks_store_file *f, uint32_t i);
const char *ks_store_dim_name(const struct ks_store_file *f,
                              uint32_t i); /* of ks_problem_row.dim */
/* The value of an instance's trait, NULL when it has none of that name. */
const char *ks_store_trait_value(const struct ks_store_file *f, uint64_t instance,
                                 const char *trait);

/* Row i of /measurements or /attempts; fast in order, one chunk is held. */
int ks_store_measurement(struct ks_store_file *f, uint64_t i, struct ks_row *out,
                         struct ks_err *err);
int ks_store_attempt(struct ks_store_file *f, uint64_t i, struct ks_row *out, struct ks_err *err);
/* ks_store_statistics() - the label's statistic of every run: what its rows of /measurements say;
 * without a time or in a file older than that column by the backend (record/rounds.h).
 * @out [out] [n_runs]. KS_EIO; KS_EFORMAT a statistic that is not known. */
int ks_store_statistics(struct ks_store_file *f, enum ks_statistic *out, struct ks_err *err);
/* Row i of /events; likewise. */
int ks_store_event(struct ks_store_file *f, uint64_t i, struct ks_event_row *out,
                   struct ks_err *err);
/* Samples [offset, offset + n) in ns. */
int ks_store_samples(struct ks_store_file *f, uint64_t offset, size_t n, float *ns_out,
                     struct ks_err *err);

/* Columns, types, units and attributes of a file as text, one line each, without its data: what a
 * schema version promises. */
int ks_store_schema_text(const char *path, struct ks_buf *text_out, struct ks_err *err);

#endif
