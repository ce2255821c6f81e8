/* SPDX-License-Identifier: MIT */
/* coord_race.h - rounds beyond the first: the coordinator's races (race/race.h), one per problem
 * that has begun. Shared by coord_race.c (observations, decisions), coord_visit.c (visits as
 * leases), coord_expect.c (visits that are to come) and coord_rebuild.c (what earlier lives have
 * recorded).
 *
 *     first record of a problem -> book; round 0 complete -> begun, evaluated
 *       -> visit asked of the scheduler -> lease -> its end: evaluated -> next visit, or ended
 *
 * A book is dropped when its race has ended: its verdict is in the journal (KS_F_RACE), its part of
 * the pooled spread in the pools. */
#ifndef KS_MPI_COORD_RACE_H
#define KS_MPI_COORD_RACE_H

#include "mpi/msg.h"
#include "race/race.h"
#include "record/record.h"
#include "sched/eta.h"

struct ks_coord;

struct race_book {
    uint32_t i_problem, i_open;
    struct ks_race *race;
    struct ks_race_verdict verdict;
    struct ks_race_spread own;     /* in the pool of the device and class */
    uint64_t device_id;            /* whose visits count, once begun */
    uint64_t last_device, last_ns; /* of the newest record of a visit, when it began; 0: none */
    bool is_begun;
    bool has_news;   /* observations since it was evaluated last */
    bool is_waiting; /* its contenders run alone (coord_visit.c): no visit is asked for */
    uint64_t lease;  /* of the visit in flight; 0: none. Set by ks_coord_visit_hold */
    struct race_book *next_in_bucket;
    uint32_t n_unclosed;  /* visits in a row, on any device, that ended before all was measured */
    uint32_t n_losses;    /* of ranks in its visits, unless what costs them is known; of all lives,
                             but after a resume no more than let its contenders run alone */
    double cells_s;       /* that cells of round 0 took, in all lives */
    uint32_t n_withdrawn; /* instances, when the contenders ran alone; UINT32_MAX: they have not */
    struct race_work {
        double wall_s, n; /* of records */
    } spent, round_1,     /* so far */
        asked, first; /* expected, of the visit that was asked for last and of the first one; what
                         had its first one in an earlier life has that as it was */
};

struct race_pool { /* spread of a device and a class of cells */
    uint64_t device_id;
    uint32_t i_class;
    struct ks_race_spread spread;
};
struct race_first { /* the problem of a device's first record: it has pilots */
    uint64_t device_id, started_ns, problem;
};
enum { RACE_BUCKETS = 1024 }; /* of leases of visits in flight */
/* Refuted: a record came after it had ended that may change its label. Its verdict is withdrawn at
 * once; it is raced again, with all its records, when nothing else is left to do. */
enum race_state { RACE_NONE, RACE_BOOK, RACE_ENDED, RACE_REFUTED };

struct race_books {
    bool is_on;
    struct ks_race_config config;
    enum ks_statistic statistic; /* of the label, by the job's backend */
    uint8_t *state;              /* [n_problems] enum race_state */
    struct race_book **book;     /* [n_problems] NULL: none */
    struct race_book **open;     /* [n_open] those that are begun first */
    struct race_book *bucket[RACE_BUCKETS];
    struct race_pool *pools;   /* [n_pools] */
    struct race_first *firsts; /* [n_firsts] */
    uint32_t n_open, cap_open, n_pools, cap_pools, n_firsts, cap_firsts;
    uint32_t n_seen_complete; /* problems, when books were looked at last */
    bool may_begin;           /* a book may be complete */
    uint32_t n_begun, n_ended, n_ended_here, n_refuted, n_waiting;
    double mean_n;                     /* visits per problem, expected */
    struct ks_eta_visits wall_s, work; /* of races that have ended or begun: seconds, records */
    double past_cells_s;               /* of cells of earlier lives */
    struct ks_msg_lease msg;           /* scratch */
    uint64_t wanted[KS_VISIT_CELLS];
};

/* coord_race.c */
int ks_coord_race_open(struct ks_coord *c, struct ks_err *err);
void ks_coord_race_close(struct ks_coord *c);
/* Whether this record is of a race, and so to be decoded. */
bool ks_coord_race_wants(const struct ks_coord *c, const struct ks_record_head *r);
/* Of a record of an earlier life, also of a race that has ended: whether it is the first of its
 * device. */
int ks_coord_race_first(struct ks_coord *c, const struct ks_record_head *r, struct ks_err *err);
/* It is in the journal. */
int ks_coord_race_take(struct ks_coord *c, const struct ks_record *r, struct ks_err *err);
/* Any record that is in the journal now: withdraws the verdict of a race that has ended when an
 * instance that raced has failed, in whatever round, or one has a (further) attempt that is ok. */
int ks_coord_race_refute(struct ks_coord *c, const struct ks_record_head *r, struct ks_err *err);
/* Both, of a record that rank 0 has made. */
int ks_coord_race_heard(struct ks_coord *c, const struct ks_record *r, struct ks_err *err);
/* Races whose round 0 is complete begin. */
int ks_coord_race_begin(struct ks_coord *c, bool is_forced, uint64_t now_ns, struct ks_err *err);
int ks_coord_race_decide(struct ks_coord *c, struct race_book *b, struct ks_err *err);
/* From now on the visits on another device count. */
int ks_coord_race_move(struct ks_coord *c, struct race_book *b, uint64_t device_id,
                       struct ks_err *err);
int ks_coord_race_end(struct ks_coord *c, struct race_book *b, uint32_t stop, struct ks_err *err);
/* For later lives: n_losses and n_unclosed of a race that goes on. */
int ks_coord_race_save(struct ks_coord *c, struct race_book *b, struct ks_err *err);
/* The sweep ends: open races are cut, those that have not begun, too. */
int ks_coord_race_cut(struct ks_coord *c, struct ks_err *err);
struct ks_race_spread *ks_coord_race_pool(struct ks_coord *c, uint64_t device_id, uint32_t i_class,
                                          struct ks_err *err);
int ks_coord_race_note(struct ks_coord *c, uint32_t i_problem, const struct ks_record *r,
                       struct ks_err *err);

/* coord_expect.c */
/* Visits that are still expected, those asked for and in flight included (sched/eta.h): of a race
 * that has begun what its first visit, as round 0 says, and what it has had let expect, the visit
 * that it asks for at least; of other problems what their cells let expect. Before any round
 * 0 is complete, a guess from the job (sched/cost.h). What races had in earlier lives is known,
 * too. All 0 without visits; never negative. */
struct ks_visits_left {
    double n;
    double n_measured; /* measurements in them */
    double device_s;   /* all devices together */
    double later_s;    /* of these: of visits that were not asked of the scheduler yet */
    double each;       /* measurements of a problem whose round 0 is not complete */
};
void ks_coord_visits_left(const struct ks_coord *c, struct ks_visits_left *out);
void ks_coord_expect_open(struct ks_coord *c); /* before races are rebuilt */
/* Any record of an earlier life. */
void ks_coord_expect_past(struct ks_coord *c, const struct ks_record_head *r);
/* The race asks for its first visit, or, without one, ends; and it ends. */
void ks_coord_expect_first(struct race_books *r, struct race_book *b);
void ks_coord_expect_end(struct race_books *r, const struct race_book *b);

/* coord_visit.c */
/* The rank visits the problem of this cell, and nobody else was given that visit. */
bool ks_coord_is_visited_by(const struct ks_coord *c, uint32_t rank, const struct ks_cell *cell);
/* The visit in flight has this lease now; 0: there is none. */
void ks_coord_visit_hold(struct ks_coord *c, struct race_book *b, uint64_t lease);
int ks_coord_visit_ask(struct ks_coord *c, struct race_book *b, uint64_t now_ns,
                       struct ks_err *err);
/* A race whose contenders ran alone goes on when all of them have. */
int ks_coord_visit_go_on(struct ks_coord *c, struct race_book *b, uint64_t now_ns,
                         struct ks_err *err);
int ks_coord_visit_lease(struct ks_coord *c, uint32_t rank, const struct ks_lease *l,
                         struct ks_err *err);
/* A rank was lost while it visited the problem; nothing when its race is over. */
int ks_coord_visit_lost(struct ks_coord *c, uint32_t i_problem, struct ks_err *err);
/* A lease has ended; nothing when it is no visit. is_given_again: it was overdue, and the scheduler
 * still has its visit to give. */
int ks_coord_visit_end(struct ks_coord *c, uint64_t lease, bool is_given_again, uint64_t now_ns,
                       struct ks_err *err);

/* coord_rebuild.c */
int ks_coord_race_rebuild(struct ks_coord *c, struct ks_err *err);
/* Refuted races have books again, made of all their records. Reads the journal. */
int ks_coord_race_again(struct ks_coord *c, struct ks_err *err);

#endif
