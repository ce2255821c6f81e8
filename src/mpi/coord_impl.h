/* SPDX-License-Identifier: MIT */
/* coord_impl.h - the coordinator's state, shared by coord.c (frames, journal), coord_lease.c (cells
 * and leases), coord_record.c (records), coord_confirm.c (failures), coord_alias.c (instances that
 * are the same code), coord_prune.c (cells that nobody measures), coord_race.c, coord_visit.c,
 * coord_expect.c and coord_rebuild.c (rounds beyond the first: coord_race.h), coord_build.c (who
 * compiles), coord_ranks.c (who is there), coord_progress.c (how far it is) and coord_noise.c (busy
 * machines). */
#ifndef KS_MPI_COORD_IMPL_H
#define KS_MPI_COORD_IMPL_H

#include "mpi/alias.h"
#include "mpi/bad.h"
#include "mpi/chaos.h"
#include "mpi/coord.h"
#include "mpi/coord_race.h"
#include "mpi/msg.h"
#include "mpi/prune.h"
#include "sched/eta.h"
#include "sched/sched.h"

/* What rank 0 holds of what they fetch is a window of each of them (share.h). */
#define KS_COORD_FETCHING 16u

enum rank_state {
    RANK_AWAITED,  /* has not said hello */
    RANK_BUILDING, /* or waits until others have built */
    RANK_READY,    /* may measure, or only watches */
    RANK_LEAVING,  /* was told that the job is over */
    RANK_GONE,     /* said goodbye */
    RANK_LOST
};

struct rank {
    enum rank_state state;
    bool measures, is_broken;
    bool is_quarantined; /* nothing that it says counts any more */
    bool is_doubted;     /* paused until its failures are confirmed or refuted elsewhere */
    bool is_proven;      /* a record of it was ok */
    bool has_returned;   /* after it was declared lost */
    bool is_overdue;     /* and its lease was given again */
    uint64_t device_id;
    uint32_t n_row;                 /* failures since its last cell that was not one */
    uint32_t n_asked;               /* failures that others are to run */
    uint32_t n_refuted, n_measured; /* since one of its failures was confirmed */
    uint32_t n_leases;
    struct ks_id128 target, cache; /* what it builds, into which cache (build/build.h) */
    uint32_t i_site, i_family, i_host;
    uint32_t n_jobs, n_missing, n_tries;
    uint32_t n_lacking; /* instances that it has no compiler for, where rank 0 has one */
    uint32_t n_orders;  /* of coord_build.c without an answer; the last one is: */
    bool is_compiling;  /* to compile */
    uint32_t source;    /* to fetch from this rank; KS_SHARE_NOBODY: it is not */
    bool has_told, has_looked, has_fetched; /* n_missing; a full cache; less than it lacked */
    double lease_n;                         /* cells of the lease given last */
    double cell_s;                          /* wall time of its cells lately, with what was measured
                                               again; 0: none yet */
    uint32_t n_held;                        /* cells of its leases that are not over */
    uint64_t busy_until_ns;                 /* with what it holds, as expected */
    uint64_t repeated_ns; /* attempts of cells that are measured once more, not yet accounted */
    uint64_t seen_ns;
    uint64_t n_records, n_acked; /* received; acknowledged */
    uint64_t n_cells;            /* that are over */
    uint64_t counted_ns;         /* its time until then is accounted for (eta.h); 0: none is */
    uint32_t i_problem;          /* of its newest lease */
    int32_t pid;
    char host[64];
};

struct alias_choice { /* which instance of a group is measured */
    uint32_t i_problem, i_instance;
};
struct alias_books {
    struct ks_id128 *code, *build; /* [n_instances] as told before measuring began; zero: not */
    bool *is_disputed;             /* [n_instances] told in two ways */
    struct ks_aliases groups;
    struct alias_choice *chosen; /* [groups.n_groups] the last that was asked for */
};

struct prune_books {
    char (*why)[KS_PRUNE_WHY]; /* [n_instances] as told before measuring began; "": measured */
    bool *is_told;             /* [n_instances] */
};

enum { NOISE_CAUSES = 4 };
struct noise_books { /* why attempts of this life are contaminated */
    struct {
        char text[64];
        uint64_t n;
    } cause[NOISE_CAUSES];
    uint32_t n_causes;
    uint64_t n_others; /* attempts with other causes than these */
    bool has_told;
};

struct ks_coord {
    struct ks_coord_config c;
    struct rank *ranks; /* [n_ranks] */
    uint32_t n_ranks;
    struct ks_site *sites;   /* [2 n_ranks] scratch of coord_build.c, NULL until all are known */
    struct ks_kin *families; /* [n_ranks] */
    uint32_t n_fetching;     /* ranks, KS_COORD_FETCHING at most */
    struct ks_sched *sched;
    struct alias_books alias;
    struct prune_books prune;
    struct race_books races;
    uint64_t block_base;
    uint64_t started_ns, measuring_ns, last_beat_ns, pending_since_ns, synced_ns;
    uint64_t away_ns;           /* that rank 0 was held up, in all */
    uint64_t position, durable; /* of the journal */
    bool is_draining, is_over_sent, is_measuring, is_complete;
    /* To commit at once: a rank waits for the acknowledgement of KS_COORD_MANY records, or this one
     * was away and may not own the journal any more. */
    bool is_pressed;
    bool is_quiet; /* see ks_coord_be_quiet */
    uint64_t between_ns;
    char reason[160];
    uint32_t n_lost;
    struct ks_bad bad;
    bool has_due; /* of bad */
    bool may_ask; /* something may have changed since nobody could be asked for them */
    uint64_t reissued_ns;
    struct ks_buf acked;  /* lines for ack_log, written after the next sync */
    uint64_t n_done_here; /* cells finished in this life, for the rate */
    struct ks_eta eta;
    struct noise_books noise;
    uint32_t n_worked;      /* ranks that measure, while there were any */
    uint32_t n_built_first; /* instances, when it was looked first */
    bool has_looked_at_builds;
    uint64_t n_failed; /* here; failed holds the newest, oldest first */
    struct ks_progress_failure failed[KS_PROGRESS_FAILURES];
    struct ks_log_often failures, deaths; /* lines of the log */
    struct ks_record *record;             /* scratch */
    struct ks_buf body;                   /* scratch */
    struct ks_chaos chaos;
};

/* coord.c */
int ks_coord_append(struct ks_coord *c, uint16_t type, struct ks_err *err); /* c->body */
/* coord_output.c */
int ks_coord_take_output(struct ks_coord *c, const struct ks_frame *f, struct ks_err *err);
int ks_coord_append_body(struct ks_coord *c, uint16_t type, const void *body, size_t n,
                         struct ks_err *err);
int ks_coord_take_event(struct ks_coord *c, const struct ks_frame *f, struct ks_err *err);
int ks_coord_event(struct ks_coord *c, uint32_t kind, uint32_t rank, struct ks_err *err,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));
int ks_coord_send(struct ks_coord *c, uint32_t to, uint16_t type, uint64_t a, uint64_t b,
                  struct ks_err *err);
int ks_coord_sync(struct ks_coord *c, struct ks_err *err);

/* coord_lease.c */
int ks_coord_open_sched(struct ks_coord *c, struct ks_err *err);
/* A lease of n cells goes to this rank. */
void ks_coord_note_lease(struct ks_coord *c, uint32_t rank, const struct ks_lease *l, uint32_t n);
int ks_coord_give_leases(struct ks_coord *c, uint64_t now_ns, struct ks_err *err);
struct ks_cell ks_coord_cell(const struct ks_coord *c, uint32_t i_problem, uint32_t i_instance);
/* The outcome that a cell has without being run, KS_O_NONE: it is to be run. */
uint32_t ks_coord_settled(const struct ks_coord *c, uint32_t i_problem, uint32_t i_instance,
                          const char **why_out);
/* --retry asks for this cell, which has an outcome. */
bool ks_coord_is_asked_again(const struct ks_coord *c, const struct ks_ledger_cell *known);
/* What the journal knows of a cell; NULL: nothing that counts. */
const struct ks_ledger_cell *ks_coord_known(const struct ks_coord *c, uint32_t i_problem,
                                            uint32_t i_instance);
/* The cell has (again) no final outcome until this attempt has one. */
int ks_coord_announce(struct ks_coord *c, uint32_t i_problem, uint32_t i_instance, uint32_t attempt,
                      uint32_t rank, enum ks_start_why why, struct ks_err *err);

/* coord_record.c */
int ks_coord_take_record(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                         struct ks_err *err);
/* A record that no rank made; its attempt and time are set here. */
int ks_coord_write_record(struct ks_coord *c, struct ks_record *r, struct ks_err *err);
int ks_coord_write_outcome(struct ks_coord *c, uint32_t i_problem, uint32_t i_instance,
                           uint32_t outcome, const char *reason, struct ks_err *err);
void ks_coord_log_failure(struct ks_coord *c, const struct ks_record *r);

/* The cell's outcome is final and another device's. */
bool ks_coord_is_anothers(const struct ks_coord *c, uint32_t from, const struct ks_cell *cell);

/* coord_noise.c */
/* By the baseline of a device's core, when the rank greets. */
void ks_coord_warn_busy(const struct ks_coord *c, uint32_t rank, const struct ks_device_rec *d);
/* A record that is in the ledger. */
void ks_coord_note_noise(struct ks_coord *c, const struct ks_record *r);

/* coord_progress.c */
/* A record of this rank has come, which accounts for known_s of its time. */
void ks_coord_note_time(struct ks_coord *c, uint32_t rank, double known_s);
void ks_coord_note_failure(struct ks_coord *c, const struct ks_record *r);

/* coord_alias.c */
int ks_coord_alias_open(struct ks_coord *c, struct ks_err *err);
void ks_coord_alias_close(struct ks_coord *c);
/* A KS_F_BUILD frame; those after measuring has begun change nothing. */
int ks_coord_alias_told(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                        struct ks_err *err);
int ks_coord_alias_begin(struct ks_coord *c, struct ks_err *err); /* once, before the first lease */
/* The instance that is measured in place of this one; KS_NO_ALIAS: none, it is measured itself. */
uint32_t ks_coord_alias_of(struct ks_coord *c, uint32_t i_problem, uint32_t i_instance);
/* Of a cell that could be run and has no final outcome: KS_CELL_SETTLED when it is an alias, which
 * has its outcome now or gets it as soon as the instance that is measured in its place has one. */
enum ks_cell_state ks_coord_alias_state(struct ks_coord *c, uint32_t i_problem,
                                        uint32_t i_instance);
/* The outcome of a cell has become final: those that wait for it get theirs. When it cannot run,
 * the next of its group is measured. code: what was measured, zero when nothing was. Uses
 * c->record. */
int ks_coord_alias_settle(struct ks_coord *c, uint32_t i_problem, uint32_t i_instance,
                          struct ks_id128 code, struct ks_err *err);

/* coord_prune.c */
int ks_coord_prune_open(struct ks_coord *c, struct ks_err *err);
void ks_coord_prune_close(struct ks_coord *c);
/* What a host's build of an instance needs, before measuring has begun. */
void ks_coord_prune_told(struct ks_coord *c, uint32_t i_instance, const struct ks_code_rec *code);
/* Why the cell is not measured; NULL: it is. Borrowed. */
const char *ks_coord_pruned(const struct ks_coord *c, uint32_t i_problem, uint32_t i_instance);
/* It is measured only to see what is left out. */
bool ks_coord_is_prune_control(const struct ks_coord *c, const struct ks_cell *cell);

/* coord_confirm.c */
/* Another device may say whether this failure is the kernel's. */
bool ks_coord_is_confirmable(uint32_t outcome, uint32_t flags);
uint32_t ks_coord_rank_of(const struct ks_coord *c, uint64_t device); /* KS_NO_DEVICE: none */
/* A failure of a cell (known: before it) that another device has shown, too. */
bool ks_coord_is_reproduced(struct ks_coord *c, const struct ks_ledger_cell *known,
                            const struct ks_record_head *r);
void ks_coord_went_well(struct ks_coord *c, uint32_t from); /* a cell, at the first attempt */
/* A cell has its final outcome from this rank; the scheduler knows. */
int ks_coord_weigh(struct ks_coord *c, uint32_t from, uint32_t i_problem, uint32_t i_instance,
                   const struct ks_record_head *r, bool is_confirmed, struct ks_err *err);
/* It killed whoever was asked: nobody says more of the failure that it had before. */
int ks_coord_was_condemned(struct ks_coord *c, uint32_t i_problem, uint32_t i_instance,
                           struct ks_err *err);
/* A failure of an earlier life, met while its problem is opened. */
int ks_coord_ask_again(struct ks_coord *c, uint32_t i_problem, uint32_t i_instance,
                       const struct ks_ledger_cell *known, struct ks_err *err);
int ks_coord_step_confirm(struct ks_coord *c, struct ks_err *err);
int ks_coord_void_failures(struct ks_coord *c, uint32_t rank, struct ks_err *err);
/* The failures of this rank so far are its kernels'. */
void ks_coord_canary_passed(struct ks_coord *c, uint32_t from);

/* coord_build.c */
/* A rank has done what it was told, or says at first what it lacks. */
int ks_coord_build_end(struct ks_coord *c, uint32_t from, uint32_t n_missing, struct ks_err *err);
/* Whatever is next on every host: when a rank has come, has built, or is gone. */
int ks_coord_advance_builds(struct ks_coord *c, struct ks_err *err);
/* Packs on their way from rank to rank. */
int ks_coord_fetch(struct ks_coord *c, uint32_t from, const struct ks_frame *f, struct ks_err *err);
int ks_coord_sent(struct ks_coord *c, uint32_t from, const struct ks_frame *f, struct ks_err *err);

/* coord_ranks.c */
bool ks_coord_is_alive(const struct rank *r); /* neither gone nor lost */
int ks_coord_hello(struct ks_coord *c, uint32_t from, const struct ks_frame *f, struct ks_err *err);
int ks_coord_bye(struct ks_coord *c, uint32_t from, bool is_broken, bool is_quarantined,
                 struct ks_err *err);
int ks_coord_watch(struct ks_coord *c, uint64_t now_ns, struct ks_err *err);
int ks_coord_dismiss(struct ks_coord *c, struct ks_err *err); /* tell everyone that it is over */
/* Its leases go back; cells that were in flight at too many losses are over. */
int ks_coord_release_device(struct ks_coord *c, uint32_t i, bool is_loss, struct ks_err *err);
/* A frame of a rank that was declared lost, or was quarantined. */
int ks_coord_late_frame(struct ks_coord *c, uint32_t from, const struct ks_frame *f,
                        struct ks_err *err);
bool ks_coord_can_measure(const struct rank *r);       /* now or soon */
uint32_t ks_coord_n_working(const struct ks_coord *c); /* ranks that can */

#endif
