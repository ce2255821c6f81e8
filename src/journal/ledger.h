/* SPDX-License-Identifier: MIT */
/* ledger.h - what a journal says of every cell: kept up to date by the coordinator, read back by
 * resume, status and cell. Cells that were never mentioned have no entry. */
#ifndef KS_JOURNAL_LEDGER_H
#define KS_JOURNAL_LEDGER_H

#include "base/err.h"
#include "journal/journal.h"
#include "record/record.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_ledger;

/* A cell is final when every attempt that was started has its record; else the highest started
 * attempt is open: it was lost and has to be measured (again). */
struct ks_ledger_cell {
    struct ks_cell cell;
    uint32_t outcome, flags; /* of the attempt that counts (ks_record_final); KS_O_NONE: none yet */
    uint32_t attempt;        /* that attempt; 0 none */
    uint32_t n_attempts;     /* recorded in round 0, role cell */
    uint32_t max_started, max_done;
    uint64_t device; /* that measured that attempt; 0 unknown */
    uint64_t offset; /* of the record that counts: in segment `segment` of the journal */
    uint32_t segment;
    uint32_t first; /* private: its attempts */
};
bool ks_ledger_is_final(const struct ks_ledger_cell *c);
/* The attempt a new lease must use: the lost one, else one more than the last; 1 for NULL. */
uint32_t ks_ledger_next_attempt(const struct ks_ledger_cell *c);

struct ks_ledger_problem {
    uint64_t id;
    uint32_t n_final, n_touched;
    uint32_t n_ok;     /* final cells that are ok */
    uint32_t n_absent; /* instances that it has no cell with */
    /* visits, by the KS_F_RACE that counts: enum ks_race_stop, 0 = there is none; instances then */
    uint32_t race_stop, race_members;
    uint64_t race_spent_ns, race_seen, race_label;
    uint32_t race_losses, race_unclosed;
    uint64_t n_visit_records; /* records of role cell of rounds beyond 0 */
    int64_t count;
    char name[96];
};
struct ks_ledger_counts {
    uint64_t outcome[KS_O_LIMIT]; /* final cells by outcome */
    uint64_t n_final, n_contaminated, n_records, n_starts;
    uint64_t n_visit_records;   /* of all problems */
    uint64_t n_races, n_cut;    /* problems whose visits have ended; were cut */
    uint64_t n_controls;        /* final cells that are aliases and were measured all the same */
    uint64_t n_prune_controls;  /* the same of those that pruning would have left out */
    uint64_t first_ns, last_ns; /* realtime of the oldest and newest record; 0 none */
};

int ks_ledger_create(struct ks_ledger **l_out, struct ks_err *err);
void ks_ledger_destroy(struct ks_ledger *l); /* NULL is fine */

/* Take in one journal frame of any type (unknown ones are ignored). KS_EFORMAT for a body that does
 * not decode: nothing is changed. */
int ks_ledger_apply(struct ks_ledger *l, const struct ks_journal_frame *f, struct ks_err *err);
/* The two that change cells, for values already decoded. KS_ENOMEM. */
int ks_ledger_start(struct ks_ledger *l, const struct ks_start *s, struct ks_err *err);
int ks_ledger_done(struct ks_ledger *l, const struct ks_record_head *r, uint32_t segment,
                   uint64_t offset, struct ks_err *err);
int ks_ledger_race(struct ks_ledger *l, const struct ks_race_rec *r, struct ks_err *err);
/* true when this very attempt and round of a cell (NULL: of one without an entry) has a record
 * already. */
bool ks_ledger_has(const struct ks_ledger *l, const struct ks_ledger_cell *c, uint32_t attempt,
                   uint32_t round);
/* The same of this record, of which the first durable one wins: in round 0 there is one of an
 * attempt, in later rounds one of each position in a block. */
bool ks_ledger_has_record(const struct ks_ledger *l, const struct ks_ledger_cell *c,
                          const struct ks_record_head *r);

/* The attempt that counts came from a worker; else the cell was settled without one. */
bool ks_ledger_is_from_worker(const struct ks_ledger *l, const struct ks_ledger_cell *c);

/* One of its records, of whatever round, is ok. c may be NULL. */
bool ks_ledger_was_ok(const struct ks_ledger *l, const struct ks_ledger_cell *c);
/* Another device than this one has recorded an attempt with the same outcome. Devices that are 0
 * (unknown) or that is_trusted denies do not count. */
bool ks_ledger_failed_elsewhere(const struct ks_ledger *l, const struct ks_ledger_cell *c,
                                uint32_t outcome, uint64_t device,
                                bool (*is_trusted)(void *ctx, uint64_t device), void *ctx);

const struct ks_ledger_cell *ks_ledger_find(const struct ks_ledger *l, const struct ks_cell *c);
size_t ks_ledger_n_cells(const struct ks_ledger *l);
const struct ks_ledger_cell *ks_ledger_cell(const struct ks_ledger *l, size_t i);
size_t ks_ledger_n_problems(const struct ks_ledger *l);
const struct ks_ledger_problem *ks_ledger_problem(const struct ks_ledger *l, size_t i);
const struct ks_ledger_problem *ks_ledger_problem_find(const struct ks_ledger *l, uint64_t id);
void ks_ledger_counts(const struct ks_ledger *l, struct ks_ledger_counts *out);

size_t ks_ledger_n_instances(const struct ks_ledger *l);
uint64_t ks_ledger_instance(const struct ks_ledger *l, size_t i); /* id */

/* Of the newest KS_F_JOB: its numbers and text (borrowed); NULL when there is none. */
const struct ks_job_rec *ks_ledger_job(const struct ks_ledger *l, const char **text_out);
/* build_id of an instance by the newest KS_F_BUILD that was ready; zero when unknown. */
struct ks_id128 ks_ledger_build(const struct ks_ledger *l, uint64_t instance);
/* Hosts that the run lost in any of its lives, each once: "node3 node7", "" none. At most 511
 * bytes; a name that has no place any more is left out (the events have all). */
const char *ks_ledger_lost_hosts(const struct ks_ledger *l);
void ks_ledger_lost_host(struct ks_ledger *l, const char *host); /* "": one that nobody knew */
/* Name of an instance (KS_F_INSTANCE), NULL when unknown. */
const char *ks_ledger_instance_name(const struct ks_ledger *l, uint64_t instance);

/* Read all segments of DIR/journal. Frames that do not decode are counted in *n_bad_out. */
int ks_ledger_read(const char *dir, struct ks_ledger **l_out, ks_journal_damage_fn on_damage,
                   void *ctx, struct ks_journal_totals *totals_out, uint64_t *n_bad_out,
                   struct ks_err *err);

#endif
