/* SPDX-License-Identifier: MIT */
/* sched_impl.h - the scheduler's state. sched.c: life, devices, problems; books.c: what becomes of
 * leases and cells; confirm.c: cells that are run once more elsewhere; visit.c: visits; model.c:
 * what cells cost; lease.c: choices; heap.c: open problems in order. */
#ifndef KS_SCHED_IMPL_H
#define KS_SCHED_IMPL_H

#include "sched/sched.h"

#include <stddef.h>

#define KS_NONE UINT32_MAX

enum cell_state {
    CELL_FREE,
    CELL_ALONE, /* free, but was in flight at losses: waits for all others */
    CELL_LEASED,
    CELL_CONFIRM, /* done, to be run once more */
    CELL_DONE,
    CELL_STATES
};
/* One byte a cell: its state, whether it is being confirmed, and how often it was in flight at a
 * loss. */
#define MARK_STATE   7u
#define MARK_CONFIRM 8u
#define MARK_LOSS    16u

struct confirm { /* waits or is leased; done cells are removed */
    uint32_t i_instance, device;
};

enum ks_queue {
    QUEUE_ORPHANS, /* free cells and no device: first those of the first problem */
    QUEUE_WORKED,  /* free cells and devices: first where a device has most left */
    N_QUEUES,
    QUEUE_NONE
};
struct active { /* a problem that is open: begun, not complete */
    uint32_t i_problem;
    uint8_t *mark; /* [n_instances] */
    void *order;   /* [n_instances] seeded random order, uint16_t where that is enough */
    uint32_t next; /* where in order to look for a free cell */
    uint32_t n[CELL_STATES];
    uint32_t n_devices; /* that have it as their current problem */
    struct confirm *confirms;
    uint32_t n_confirms, cap_confirms;
    double guess_s;  /* of one cell, when it was opened */
    double cost_s;   /* of one cell on a usual device */
    double learnt_s; /* what the cells done took, reckoned for a usual device */
    uint32_t n_learnt;
    double left_s;   /* its part of the scheduler's open_s */
    uint32_t i_open; /* in the scheduler's list */
    enum ks_queue queue;
    uint32_t i_queue;
    double key;            /* the greatest of a queue comes first */
    uint32_t i_confirming; /* in the scheduler's list, KS_NONE: not there */
};

struct problem {
    struct active *a; /* NULL unless open */
    double prior_s;   /* of one cell, as the caller guessed */
    uint64_t seed;
    bool is_complete, is_split, is_touched;
};

struct device {
    bool is_open, is_drained, is_paused;
    uint32_t visits;       /* that wait for it, the first due first; KS_NONE */
    uint32_t last_problem; /* of the lease it got last, KS_NONE: none */

    uint32_t n_overdue;
    uint64_t block;       /* 0 = none, or its last lease closes it */
    struct active *at;    /* of the open block */
    uint32_t first, last; /* its leases, oldest first */
    double held_s;        /* expected, of all its leases */
    uint32_t run_problem; /* the one it measured last, in leases that have ended: */
    double run_s;         /* its cells' time and */
    uint32_t n_run;       /* number */
    double residual;      /* sum over problems of log(time / guessed) */
    uint32_t n_residuals;
};

struct visit { /* waits in a list, or is leased */
    struct ks_visit what;
    uint32_t next; /* of its list, or of the free places */
};

struct lease_book { /* one lease in flight */
    struct ks_lease lease;
    uint32_t visit; /* place in visits; KS_NONE: it is none, or is given again */
    bool is_open, is_overdue;
    uint32_t next, previous;  /* of the same device */
    uint32_t next_in_bucket;  /* or in the list of free ones */
    double cell_s, left_s;    /* expected, on this device */
    double begun_s, cells_s;  /* begun: at the latest; time of its cells that are done */
    uint32_t n_done, n_timed; /* timed: and it is known how long they took */
};

struct queue { /* has room for all that are open */
    struct active **v;
    uint32_t n;
};

enum { KS_CLASSES = 12 };
struct prior_class {    /* problems whose cells were guessed to take about the same */
    double prior_s;     /* of one cell, the greatest */
    double untouched_s; /* of the problems never opened, by the guesses, if all runs */
    double known_s,
        known_prior_s; /* of problems with cells done: all their cells, and as guessed */
};

struct ks_sched {
    struct ks_sched_config c;
    struct problem *problems;
    struct device *devices; /* [n_devices] by number */
    uint32_t n_devices, cap_devices;
    uint32_t n_working; /* may get leases now */
    uint32_t n_usable;  /* the same, but those that are overdue count */
    struct lease_book *leases;
    uint32_t n_leases, cap_leases, free_lease;
    uint32_t *bucket; /* [n_buckets] first lease whose id falls there */
    uint32_t n_buckets;
    double check_s; /* no deadline is before */
    struct active **open;
    uint32_t n_open, cap_open;
    struct queue queue[N_QUEUES];
    uint32_t first;    /* problems before this one are not untouched */
    uint32_t *longest; /* untouched problems, longest first; NULL before the last quarter */
    uint32_t n_longest, i_longest;
    struct visit *visits;
    uint32_t n_places, cap_places, free_place;
    uint32_t stray;                     /* visits whose device is not usable: a list */
    uint32_t n_visits;                  /* waiting or leased */
    double visits_s, expected_visits_s; /* of these; of those to come */
    uint64_t next_lease, next_block;
    uint32_t n_touched, n_complete, n_split, n_leases_open;
    struct active **confirming; /* problems whose confirmations may be given now */
    uint32_t n_confirming;
    uint64_t n[CELL_STATES]; /* of open problems */
    double now_s;            /* the latest that was told */
    struct prior_class class[KS_CLASSES];
    double known_s, known_prior_s; /* of all classes */
    double spread;     /* a cell's deviation from what was expected, relative, squared: mean */
    double open_s;     /* of the open ones, expected */
    double spent_s;    /* of cells done */
    double overhead_s; /* of a lease, learnt */
    uint64_t n_settled, n_run;   /* cells of opened problems that were not done before */
    uint64_t n_timed, n_untimed; /* cells done here: with a time, without */
    double off, off_square;      /* log(a cell's mean time / the guess) of complete problems */
    uint32_t n_off;
    double residual, residual_square; /* of all devices */
    uint32_t n_residuals;
};

/* sched.c */
struct device *ks_sched_device(struct ks_sched *s, uint32_t number);
enum device_change { DEVICE_GONE, DEVICE_DRAINED, DEVICE_PAUSED, DEVICE_OVERDUE };
/* by: 1 or 0 (paused), 1 or -1 leases (overdue). Keeps the counts of devices. */
void ks_sched_change_device(struct ks_sched *s, struct device *d, enum device_change what, int by);
bool ks_sched_is_usable(const struct device *d); /* neither lost, drained nor paused */
/* Make problem i ready for leasing; one without free cells becomes complete at once. KS_ENOMEM. */
int ks_sched_open_problem(struct ks_sched *s, uint32_t i, struct ks_err *err);
/* A problem that is not open, all its cells done so far; ks_sched_update must follow. KS_ENOMEM. */
int ks_sched_open_again(struct ks_sched *s, uint32_t i, struct ks_err *err);
uint32_t ks_sched_order(const struct ks_sched *s, const struct active *a, uint32_t k);
enum cell_state ks_sched_state(const struct active *a, uint32_t i_instance);
void ks_sched_set_state(struct ks_sched *s, struct active *a, uint32_t i_instance,
                        enum cell_state to);
/* After cells, devices or cost have changed: its place in the queues; whether it is complete. Then
 * a may be gone. */
void ks_sched_update(struct ks_sched *s, struct active *a);
void ks_sched_leave_block(struct ks_sched *s, struct device *d);

/* books.c */
/* Fills id and deadline. */
int ks_sched_book(struct ks_sched *s, struct device *d, struct ks_lease *l, double cell_s,
                  struct ks_err *err);
/* Where a cell that is not done waits to be given. */
enum cell_state ks_sched_pooled(const struct active *a, uint32_t i_instance);
/* A cell that was done is open again. The lease in which it was done may be open, too: at its end
 * it must not take the cell for its own, which is another's by then. */
void ks_sched_disown(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance);

/* model.c */
void ks_sched_count_prior(struct ks_sched *s, double prior_s);   /* a problem that is untouched */
void ks_sched_touch_prior(struct ks_sched *s, double prior_s);   /* it is so no more */
double ks_sched_guess(const struct ks_sched *s, double prior_s); /* corrected by what was learnt */
double ks_sched_remaining(const struct ks_sched *s);
void ks_sched_learn_problem(struct ks_sched *s, const struct active *a);
double ks_sched_share_s(const struct ks_sched *s); /* of one working device in what remains */
double ks_sched_slowness(const struct ks_sched *s, const struct device *d); /* 1: as usual */
void ks_sched_learn_cell(struct ks_sched *s, struct device *d, struct active *a, double elapsed_s);
void ks_sched_learn_lease(struct ks_sched *s, struct device *d, const struct lease_book *b);

/* confirm.c */
bool ks_sched_may_confirm(const struct active *a, uint32_t device);
/* The device that must not confirm is doubted: it waits for the verdict. */
bool ks_sched_is_urgent(struct ks_sched *s, const struct active *a);
/* Put it into the list of those whose confirmations may be given, or take it out. */
void ks_sched_list_confirms(struct ks_sched *s, struct active *a);
void ks_sched_take_confirms(struct ks_sched *s, struct ks_lease *l, uint32_t want);
/* The device that must not run this cell, KS_NO_DEVICE: any may. */
uint32_t ks_sched_excluded(const struct active *a, uint32_t i_instance);
void ks_sched_forget_confirm(struct active *a, uint32_t i_instance);

/* visit.c */
/* KS_SCHED_LEASE, KS_SCHED_WAIT: none may be given now; KS_ENOMEM. is_idle: there is nothing else
 * for this device, so that the gap shrinks. */
int ks_sched_give_visit(struct ks_sched *s, uint32_t device, bool is_idle, double time_left_s,
                        struct ks_lease *out, struct ks_err *err);
/* A visit fits into the time left, whether it is due or not. */
bool ks_sched_has_visit(struct ks_sched *s, struct device *d, double time_left_s);
/* It is over. False: it was given again, and stays. */
bool ks_sched_end_visit(struct ks_sched *s, struct lease_book *b);
void ks_sched_again_visit(struct ks_sched *s, struct lease_book *b); /* for another device */
void ks_sched_stray_visits(struct ks_sched *s, struct device *d);    /* d is not usable any more */

/* heap.c */
void ks_queue_put(struct queue *q, struct active *a); /* room was reserved */
void ks_queue_take(struct queue *q, struct active *a);
void ks_queue_moved(struct queue *q, struct active *a); /* its key has changed */

#endif
