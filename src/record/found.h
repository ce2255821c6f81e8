/* SPDX-License-Identifier: MIT */
/* found.h - what is recorded of programs that time kernels themselves (docs/profilers.md).
 *
 * A run of a program on a problem is a cell of the grid like any other: it has attempts, and a
 * record (KS_F_DONE) per attempt. What it prints is journalled before that record:
 *   KS_F_FOUND    one per instance that it reported, as it comes
 *   KS_F_PROGRAM  one per attempt: the command, and the file with the whole output
 * All of them carry the worker's nonce. The rows of a run are those whose nonce and attempt are
 * those of the record that counts (ks_found_counts); those of a run that was interrupted have no
 * such record, and do not count. */
#ifndef KS_RECORD_FOUND_H
#define KS_RECORD_FOUND_H

#include "record/record.h"

#include <stdbool.h>

/* Texts of an instance, beside its record. Borrowed; NUL-terminated. */
struct ks_found_texts {
    const char *name;      /* as the program printed it, of any length */
    const char *family;    /* the adapter: "ckprofiler" */
    const char *canonical; /* the text whose digest is its id */
    const char *traits;    /* "key=value" lines: split_k=4\ntile=128\n */
};

/* ks_found_encode() - the record of one instance.
 * @r [in] cell.instance: id of the instance; run_instance: of the program's run; attempt and
 * worker: those of the run; seq: number of the row in the run, from 1; round_index: the repeat,
 * from 0. Texts that do not fit a frame are cut. */
void ks_found_encode(const struct ks_record *r, const struct ks_found_texts *t,
                     struct ks_buf *body_out);

/* KS_EFORMAT as ks_record_decode(), or without a name. Texts point into `texts`, which the caller
 * releases. */
int ks_found_decode(const void *body, size_t n, struct ks_record *r_out,
                    struct ks_found_texts *t_out, struct ks_buf *texts, struct ks_err *err);

/* Which process recorded something, in which attempt. */
struct ks_found_key {
    uint64_t worker; /* first half of its nonce */
    uint32_t attempt;
};

/* ks_found_counts() - the one rule by which rows of a run are chosen: a row counts if the same
 * process printed it in the same attempt as the record that counts.
 * @row  [in] of a record of KS_F_FOUND
 * @done [in] of the final record of the run row->run_instance on the row's problem and condition
 *            of the grid; NULL: the run has none, and is repeated whole */
bool ks_found_counts(const struct ks_found_key *row, const struct ks_found_key *done);

struct ks_program_run { /* KS_F_PROGRAM */
    struct ks_cell cell;
    uint32_t attempt;
    struct ks_id128 worker;
    char adapter[32], version[32];
    char command[4096];  /* as a shell takes it; cut at its end */
    char file[128];      /* in DIR/output, gzip; "" nothing was printed */
    uint8_t digest[32];  /* SHA-256 of the output, not compressed */
    uint64_t n_bytes;    /* printed */
    uint64_t n_kept;     /* of them in the file: less only beyond KS_PROGRAM_KEPT_MAX */
    uint64_t n_rows;     /* KS_F_FOUND */
    uint64_t n_other;    /* lines that were no row and no known text */
    uint64_t n_cut;      /* lines whose end was lost for their length */
    int64_t n_told;      /* instances that the program says it has; -1: it does not say */
    uint32_t outcome;    /* of the run */
    int32_t exit_status; /* of its last process; minus the signal that ended it */
    uint64_t wall_ns;
};
#define KS_PROGRAM_KEPT_MAX (1ull << 30)
void ks_program_run_encode(const struct ks_program_run *v, struct ks_buf *body_out);
int ks_program_run_decode(const void *body, size_t n, struct ks_program_run *out,
                          struct ks_err *err);

/* KS_F_MSG_OUTPUT: a piece of a compressed output on its way to its file; the bytes are passed
 * beside it. */
#define KS_PIECE_MAX 65536u
struct ks_program_piece {
    char file[128];
    uint64_t offset;  /* in the file */
    uint32_t is_last; /* the file is complete with it */
};
void ks_program_piece_encode(const struct ks_program_piece *v, const void *bytes, size_t n_bytes,
                             struct ks_buf *body_out);
/* *bytes_out is borrowed from body. KS_EFORMAT also for a file name that is none of ours. */
int ks_program_piece_decode(const void *body, size_t n, struct ks_program_piece *out,
                            const void **bytes_out, size_t *n_bytes_out, struct ks_err *err);

struct ks_req_program { /* KS_F_REQ_PROGRAM: what the cells that follow run */
    char adapter[32];
    char path[1024];        /* a program, or a directory with one */
    char options[8192];     /* JSON */
    char environment[4096]; /* NAME=VALUE lines */
    char work_dir[1024];    /* a directory for this worker alone, made if missing */
    uint32_t silence_s;     /* without output, the program is ended */
    uint32_t timeout_s;     /* of the whole run */
    uint32_t repeat;        /* number of the run among those of the same problem, from 0 */
};
void ks_req_program_encode(const struct ks_req_program *v, struct ks_buf *body_out);
int ks_req_program_decode(const void *body, size_t n, struct ks_req_program *out,
                          struct ks_err *err);

#endif
