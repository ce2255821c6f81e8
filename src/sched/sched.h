/* SPDX-License-Identifier: MIT */
/* sched.h - which device measures which cells next. Pure: time, losses and results are arguments,
 * nothing is read or written elsewhere, so that tests run it in virtual time.
 *
 * Problems are taken in the order given (priority) and completed one after another. A device works
 * on one problem at a time: a block. An active problem is split over a second device only when its
 * expected time exceeds a quarter of the expected remaining work per device, or its device is gone.
 * Memory: one small record per problem and one byte per instance of the problems being measured. */
#ifndef KS_SCHED_H
#define KS_SCHED_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_LEASE_CELLS  64u
#define KS_LOSSES_ALONE 2u /* a cell in flight at so many losses is leased alone, last */
#define KS_LOSSES_FINAL 3u /* and at so many its outcome is worker_lost */
#define KS_NO_DEVICE    UINT32_MAX

struct ks_sched;

/* What the scheduler learns of a cell when its problem is opened. */
enum ks_cell_state {
    KS_CELL_RUN,    /* to be measured */
    KS_CELL_DONE,   /* has its outcome (resumed) */
    KS_CELL_SETTLED /* gets it without being run, now or later, from the caller, or is no cell at
                       all; how many of a problem's are so is what is expected of those to come */
};
typedef enum ks_cell_state (*ks_cell_state_fn)(void *ctx, uint32_t i_problem, uint32_t i_instance);

struct ks_sched_config {
    uint32_t n_problems, n_instances;
    const double *cost_s; /* [n_problems] expected seconds of one cell; copied */
    const uint64_t *seed; /* [n_problems] of the random order of instances; copied */
    uint32_t batch;       /* most cells a lease, 1..KS_LEASE_CELLS */
    double overhead_s;    /* of starting a lease: a worker, its share of the anchors */
    double reach_s;       /* a device may hold so much whatever its share is: what it takes to get
                         the next lease */
    double patience_s;    /* a lease is not overdue before so much silence: one cell at its worst */
    ks_cell_state_fn cell_state; /* called once per cell when its problem is opened */
    void *ctx;
};

struct ks_lease {
    uint64_t id;    /* from 1, unique in this scheduler's life */
    uint64_t block; /* number of the block, from 1, unique likewise */
    uint32_t device, i_problem;
    bool opens, closes; /* first and last lease of its block, as known when it was given */
    bool is_alone;      /* a cell that was in flight at losses: run it by itself */
    bool is_confirm;    /* cells that are done, to be run once more on this other device */
    bool is_visit;      /* of i_problem; n is 0: the caller knows what it measures */
    uint32_t n;         /* may be 0: only closes the block */
    uint32_t i_instance[KS_LEASE_CELLS];
    double expected_s;
    double deadline_s; /* on the caller's clock, as known when it was given */
};

int ks_sched_create(const struct ks_sched_config *c, struct ks_sched **s_out, struct ks_err *err);
void ks_sched_destroy(struct ks_sched *s); /* NULL is fine */

/* Devices are small numbers chosen by the caller (ranks). KS_EINVAL when it exists already. */
int ks_sched_device_add(struct ks_sched *s, uint32_t device, struct ks_err *err);
/* The device gets no more leases; its running ones may still end. */
void ks_sched_device_drain(struct ks_sched *s, uint32_t device);
/* Gone: every cell of its leases that is not done is pooled again; its losses are counted. Cells at
 * KS_LOSSES_FINAL are appended to condemned_out [cap] as (i_problem, i_instance) pairs, their
 * number returned: the caller records worker_lost and calls ks_sched_done for each. is_rank_loss
 * false (a drained device gave its lease back) counts no loss. */
uint32_t ks_sched_device_lost(struct ks_sched *s, uint32_t device, bool is_rank_loss,
                              uint32_t (*condemned_out)[2], uint32_t cap);

/* No new leases while paused (the device is doubted); its running ones may end. It does not count
 * as working. */
void ks_sched_device_pause(struct ks_sched *s, uint32_t device, bool is_paused);

/* KS_SCHED_LEASE: *out filled. KS_SCHED_WAIT: nothing now, ask again after an event.
 * KS_SCHED_OVER: every cell is done, every visit over. KS_ENOMEM < 0. now_s: the caller's clock,
 * from any start, never backwards. time_left_s: no lease is given that is not expected to end
 * within it, after all that the device holds already (infinity = no limit). */
enum { KS_SCHED_OVER = 0, KS_SCHED_LEASE = 1, KS_SCHED_WAIT = 2 };
int ks_sched_next(struct ks_sched *s, uint32_t device, double now_s, double time_left_s,
                  struct ks_lease *out, struct ks_err *err);

/* The cell has its durable outcome, whoever measured it (KS_NO_DEVICE: nobody), also when another
 * device has it leased meanwhile. Unknown or repeated calls are ignored. elapsed_s teaches the cost
 * model (<= 0: unknown). */
void ks_sched_done(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance, uint32_t device,
                   double elapsed_s);
/* Cells of leases whose deadline has passed are pooled again for other devices; their number. The
 * deadline follows the lease's expected time and moves with its progress. The old lease stays
 * known: what it still records counts, and its device gets no new lease before it ends. */
uint32_t ks_sched_reissue(struct ks_sched *s, double now_s);
/* A lease of this device was given again and has not ended since. */
bool ks_sched_is_overdue(const struct ks_sched *s, uint32_t device);
/* A done cell is to be run once more on any device but this one: 1 = pooled. 0 = there is no other
 * device (paused, drained and lost ones do not count); nothing has changed. It is not done until
 * ks_sched_done says so again. KS_ENOMEM. */
int ks_sched_confirm(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance, uint32_t device,
                     struct ks_err *err);
/* Pending confirmations that no device is left for: they are done as they were, and appended to
 * cells_out [cap] as (i_problem, i_instance) pairs. Their number; call again while it is cap. */
uint32_t ks_sched_unconfirmable(struct ks_sched *s, uint32_t (*cells_out)[2], uint32_t cap);
/* No lease has it or will get it, unless it is reopened. False before its problem is opened. */
bool ks_sched_is_done(const struct ks_sched *s, uint32_t i_problem, uint32_t i_instance);
/* The device reported the end of a lease: cells not done go back to the pool. False: it was a visit
 * that was given again before, and is not over. */
bool ks_sched_lease_end(struct ks_sched *s, uint64_t lease);
/* A done cell must be measured again (its device turned out to be bad). */
int ks_sched_reopen(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance,
                    struct ks_err *err);

/* The same of a cell that was in flight at KS_LOSSES_ALONE losses, in visits: it is leased alone,
 * after all others, and one more loss makes its outcome worker_lost. A cell that is not done stays
 * as it is. */
int ks_sched_reopen_alone(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance,
                          struct ks_err *err);

/* A visit: work of one problem beside its cells, in a block of its own. The scheduler knows of it
 * what is said here, and gives it as one lease (is_visit) that opens and closes its block.
 *
 * It goes to its device, and to any other one once that is lost, drained, paused or overdue. A
 * visit that is due comes before problems that nobody has begun, but after confirmations and
 * problems that lost their device, and not behind a lease of the same problem. Where a device would
 * get nothing else, the gap shrinks: it gets the visit that is due first. */
struct ks_visit {
    uint32_t i_problem;
    uint32_t device;     /* KS_NO_DEVICE: any */
    double not_before_s; /* on the clock of ks_sched_next */
    double expected_s;   /* of the visit without its anchors and its worker */
};
/* One visit per problem at a time: the next one after ks_sched_lease_end of the one before. A visit
 * whose device is lost or overdue before that is given again. KS_ENOMEM. */
int ks_sched_visit(struct ks_sched *s, const struct ks_visit *v, struct ks_err *err);
/* The visit that the device has in work: its oldest lease, those behind that one wait. Borrowed
 * until the next change; NULL: none. */
const struct ks_lease *ks_sched_visited(const struct ks_sched *s, uint32_t device);
/* Visits that will be asked for later are expected to take so many device seconds in all. */
void ks_sched_expect_visits(struct ks_sched *s, double expected_s);
/* No cell of the problem is to be given or in flight. False before it is opened. */
bool ks_sched_is_complete(const struct ks_sched *s, uint32_t i_problem);

/* It was opened: the scheduler knows which of its cells are done. */
bool ks_sched_is_begun(const struct ks_sched *s, uint32_t i_problem);

struct ks_sched_counts {
    uint32_t n_complete, n_partial, n_untouched; /* problems */
    uint64_t n_leased;                           /* cells in flight */
    uint32_t n_split;                            /* problems that were given to a second device */
    uint32_t n_leases_open;
    uint32_t n_visits;  /* asked for and not ended */
    double remaining_s; /* expected work left, device seconds; with visits that are expected */
};
void ks_sched_counts(const struct ks_sched *s, struct ks_sched_counts *out);

/* For an estimate of the time left (eta.h): what the cells that are left take by themselves,
 * visits not counted. Unlike remaining_s it expects as many of them to take no time, because their
 * instance refuses the problem, as did so far. */
struct ks_sched_left {
    double cells_s; /* device seconds */
    double done_s;  /* of the cells that are done, as was told */
    double error;   /* standard error of its logarithm */
};
void ks_sched_left(const struct ks_sched *s, struct ks_sched_left *out);
/* The error before anything has been measured. */
double ks_sched_guess_error(uint32_t n_problems);

#endif
