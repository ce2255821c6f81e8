/* SPDX-License-Identifier: MIT */
/* stage.h - a results file from rows that a caller has, not from journals: what analysis/import
 * makes of other tools' files. Same tables, same columns, same checks; a value that was not given
 * is missing. About 100 bytes a row are held, some KB a problem and instance, and all samples. */
#ifndef KS_STORE_STAGE_H
#define KS_STORE_STAGE_H

#include "store/store.h"

struct ks_stage;

/* One attempt at a cell. Rows of tables are what the functions below returned. */
struct ks_stage_attempt {
    uint32_t run, problem, kernel;
    uint32_t device;         /* KS_NO_ROW: not known */
    uint32_t outcome, flags; /* enum ks_outcome, ks_flag */
    const char *reason;      /* one line, "" = none; copied */
    double time_ns;          /* KS_MISSING: none, or that of the samples */
    const double *sample_ns; /* [n_samples] each > 0 and finite; copied */
    uint32_t n_samples;
    uint64_t started_ns;             /* 0: not known */
    int64_t workspace_bytes;         /* 0: none, or not known */
    uint64_t n_elements, n_non_zero; /* of the output; n_elements 0: nobody has counted */
};

int ks_stage_create(struct ks_stage **stage_out, struct ks_err *err);
void ks_stage_destroy(struct ks_stage *s); /* NULL is fine */

/* ks_stage_add_run() - one source file.
 * @row_out [out] its texts and times are the caller's to fill until ks_stage_write; valid until the
 *   next run is added */
int ks_stage_add_run(struct ks_stage *s, struct ks_run_row **row_out, uint32_t *run_out,
                     struct ks_err *err);
struct ks_run_row *ks_stage_run(struct ks_stage *s, uint32_t run);
/* A line of provenance: a row of /hosts. */
int ks_stage_note(struct ks_stage *s, uint32_t run, const char *key, const char *value,
                  struct ks_err *err);
int ks_stage_add_device(struct ks_stage *s, uint32_t run, const struct ks_device_rec *rec,
                        uint32_t *row_out, struct ks_err *err);
/* The row of a problem, made unless its id is there. */
int ks_stage_add_problem(struct ks_stage *s, const struct ks_problem *p, uint32_t *row_out,
                         struct ks_err *err);
/* The same of one that no operator of ours has: its dimensions stay without values, its id is the
 * digest of the text. */
int ks_stage_add_foreign(struct ks_stage *s, const char *text, const char *name, uint32_t *row_out,
                         struct ks_err *err);
/* @text [in] "family=f abi=1 trait=value .. | attribute=value ..": its digest up to " | " is the id
 */
int ks_stage_add_instance(struct ks_stage *s, uint32_t run, const char *name, const char *text,
                          uint32_t *row_out, struct ks_err *err);
/* How its build ended and how long it took, in ns; 0: not known. */
void ks_stage_built(struct ks_stage *s, uint32_t kernel, uint32_t outcome, uint64_t compile_ns);
/* What its code object needs; borrowed until the next instance is added. */
struct ks_code_rec *ks_stage_code(struct ks_stage *s, uint32_t kernel);

/* ks_stage_find() - the first attempt at the cell (run, problem, instance): its number, or
 * KS_NO_ROW. */
uint32_t ks_stage_find(const struct ks_stage *s, uint32_t run, uint32_t problem, uint32_t kernel);
/* The first attempt at a cell makes its row of /measurements. KS_EUNSUPPORTED: too many rows. */
int ks_stage_add(struct ks_stage *s, const struct ks_stage_attempt *a, struct ks_err *err);
double ks_stage_time(const struct ks_stage *s, uint32_t attempt); /* ns; KS_MISSING: none */
uint32_t ks_stage_flags(const struct ks_stage *s, uint32_t attempt);
/* Changes what became of an attempt; its time stays. */
int ks_stage_mark(struct ks_stage *s, uint32_t attempt, uint32_t outcome, uint32_t flags,
                  const char *reason, struct ks_err *err);

/* ks_stage_write() - the file, as ks_store_gather writes it. The condition_id of a row is that of
 * its run. Returns 0; KS_ENOSPC, KS_EIO, KS_ENOMEM. The old file stays on failure. */
int ks_stage_write(struct ks_stage *s, const char *out_path, const struct ks_store_options *options,
                   struct ks_store_totals *totals_out, struct ks_err *err);

#endif
