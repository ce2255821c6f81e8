/* SPDX-License-Identifier: MIT */
/* index.h - the first pass over the journals: every name, device, block and event, and for every
 * record where it lies and what decides which one counts. About 100 bytes a record; samples are not
 * held. The second pass (produce.h) makes the rows. Private to src/store. */
#ifndef KS_STORE_INDEX_H
#define KS_STORE_INDEX_H

#include "journal/journal.h"
#include "record/attempt.h"
#include "record/found.h"
#include "record/statistic.h"
#include "store/keys.h"
#include "store/rows.h"
#include "store/schema.h"

#include <stdbool.h>

#define KS_INDEX_COLUMNS 128 /* columns of the widest table, with room */

struct ks_cell_info {
    uint32_t first, last; /* its records; KS_NO_ROW = none */
    uint32_t final;       /* the record of round 0 that decides; KS_NO_ROW = no outcome yet */
    uint32_t n_attempts, n_rounds;
    uint32_t n_kept;  /* records that count, of all rounds and passes */
    uint32_t i_race;  /* of its problem */
    double timing_ns; /* of all records */
    uint32_t max_started,
        max_done;     /* attempts; as resume sees it, a lost one is to be done again */
    uint32_t n_found; /* of a run of a program: rows of its that count */
    bool is_told;     /* and one of them says what went wrong with the run */
    bool is_hidden;   /* no row of /measurements: its rows say all */
    bool is_timed;    /* the outcome is ok, as if no attempt had been lost */
};

struct ks_race_info {       /* of a problem in a run */
    struct ks_race_rec rec; /* the one that counts; stop 0: none */
    double timing_ns;       /* of all its cells */
};

struct ks_record_ref {
    uint64_t offset, block, device;
    uint32_t segment, cell, next; /* next: record of the same cell */
    uint32_t position : 31;
    uint32_t counts : 1; /* ks_record_counts; of a visit: and ks_visits_close */
    uint32_t run_cell;   /* of an instance that a program reported: its run; else KS_NO_ROW */
    uint32_t n_visit;
    uint64_t worker; /* first half of the nonce */
    struct ks_attempt key;
};

struct ks_index {
    struct ks_list runs, hosts, devices, problems, kernels, traits, blocks, events;
    struct ks_keys host_keys;     /* run, rank, digest of key and value */
    struct ks_keys device_keys;   /* run, device, rank, digest of the boot id */
    struct ks_keys problem_keys;  /* problem id */
    struct ks_keys instance_keys; /* run, instance */
    struct ks_list instance_row;  /* [instance_keys] uint32_t: its newest row of kernels */
    struct ks_keys build_keys;    /* run, instance, build id */
    struct ks_list build_row;     /* [build_keys] uint32_t: row of kernels */
    struct ks_keys trait_keys;    /* instance: its traits are in */
    struct ks_keys code_keys;     /* code id -> code_group */
    struct ks_keys block_keys;    /* run, block */
    struct ks_keys cell_keys;     /* run, problem, instance, condition */
    struct ks_list cells;         /* [cell_keys] struct ks_cell_info */
    struct ks_keys race_keys;     /* run, problem */
    struct ks_list races;         /* [race_keys] struct ks_race_info */
    struct ks_list records;       /* struct ks_record_ref, in journal order, run after run */
    struct ks_list first_record;  /* [runs] uint32_t: of records */
    /* the tables as this file has them: problems with a column per dimension */
    struct ks_table_def defs[KS_T_COUNT];
    struct ks_column problem_columns[KS_INDEX_COLUMNS];
    uint32_t n_dims;
    uint32_t dims_op;             /* the operator of dim_of, + 1; 0: none yet */
    uint32_t dim_of[KS_MAX_DIMS]; /* where its dimensions are */
    uint32_t text_len[KS_T_COUNT][KS_INDEX_COLUMNS];
    size_t longest_reason, longest_protocol, longest_outcome, longest_tail, longest_box,
        longest_stop;
    uint64_t n_measurements, n_failures, n_mismatches, n_samples, n_journal_bytes, n_newer_frames;
    uint64_t n_repeats;        /* records that are there already: left out */
    bool has_rounds;           /* the attempt that counts has several records, of some cell */
    struct ks_record *scratch; /* decoded here: 14 KB */
    struct ks_buf texts;       /* of an instance that a program reported */
    struct ks_start start;
    /* [runs] of labels, borrowed; NULL: by the backends */
    const enum ks_statistic *statistics;
};

/* How far to read a journal: frames behind this place are counted as newer. 0, 0 = everything. */
struct ks_index_limit {
    uint32_t segment;
    uint64_t offset;
};

int ks_index_init(struct ks_index *x, struct ks_err *err);
void ks_index_release(struct ks_index *x);

/* Adds DIR/journal as the next run. KS_EEXIST when this run is already in. damage may be NULL. */
int ks_index_add(struct ks_index *x, const char *dir, struct ks_index_limit limit,
                 ks_journal_damage_fn damage, void *damage_ctx, struct ks_err *err);
/* After the last add: outcomes, counts, column lengths. */
int ks_index_finish(struct ks_index *x, struct ks_err *err);

/* The lengths of texts in the tables held here; of others what the caller has set as longest_*. */
void ks_index_measure(struct ks_index *x);

/* Rows by name; KS_NO_ROW when unknown. */
uint32_t ks_index_problem(const struct ks_index *x, uint64_t problem);
uint32_t ks_index_kernel(const struct ks_index *x, uint32_t run, uint64_t instance,
                         struct ks_id128 build);
uint32_t ks_index_block(const struct ks_index *x, uint32_t run, uint64_t block);
uint32_t ks_index_device(const struct ks_index *x, uint32_t run, const struct ks_device_rec *d);
/* The label's statistic of a run: what the caller has set, else by the backend of its devices. */
enum ks_statistic ks_index_statistic(const struct ks_index *x, uint32_t run);

/* The race of a problem in a run; made when it is new. */
int ks_index_race(struct ks_index *x, uint32_t run, uint64_t problem, uint32_t *i_out,
                  struct ks_err *err);

/* ---- names.c, names_grid.c: frames that are not records ---- */

/* Handles every such frame; one that does not decode is counted in the run's n_unreadable. */
int ks_index_name_frame(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                        struct ks_err *err);
void ks_index_seen(struct ks_index *x, uint32_t run, uint64_t realtime_ns);
int ks_index_on_problem(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                        struct ks_err *err);
int ks_index_on_instance(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                         struct ks_err *err);
int ks_index_on_build(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                      struct ks_err *err);
/* ks_index_put_problem() - what ks_index_on_problem does once the frame is decoded.
 * @p [in] NULL: it is only known as a text
 * An id that is there already stays as it is. KS_ENOMEM; KS_EUNSUPPORTED too many dimensions. */
int ks_index_put_problem(struct ks_index *x, uint64_t id, const char *name, const char *canonical,
                         int64_t count, const struct ks_problem *p, struct ks_err *err);
/* ks_index_put_instance() - the same of an instance.
 * @text [in] "family=f abi=1 trait=value ... | attribute=value ..."
 * @row_out [out] its row of kernels */
int ks_index_put_instance(struct ks_index *x, uint32_t run, uint64_t id, const char *name,
                          const char *text, uint32_t *row_out, struct ks_err *err);
/* ks_index_put_found() - an instance that a program reported, with its texts (record/found.h). */
int ks_index_put_found(struct ks_index *x, uint32_t run, uint64_t id,
                       const struct ks_found_texts *t, struct ks_err *err);
/* ---- decide.c ---- */

/* The final record of every cell, which records count, and how many rounds they are of. */
int ks_index_decide(struct ks_index *x, struct ks_err *err);
/* Whether a program reported the cell's instance. */
bool ks_index_is_found(const struct ks_index *x, const struct ks_cell_info *cell);

/* ---- found.c ---- */

/* n_found and n_absent_pairs of every run; hides the runs of programs whose rows say all. After
 * what counts was decided. */
int ks_index_count_found(struct ks_index *x, struct ks_err *err);

/* A record names its problem, instance and build: their rows exist afterwards, if only by id. */
int ks_index_name_record(struct ks_index *x, uint32_t run, const struct ks_record *r,
                         struct ks_err *err);
void ks_index_finish_blocks(struct ks_index *x);
int ks_index_group_codes(struct ks_index *x, struct ks_err *err);

#endif
