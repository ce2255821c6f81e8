/* SPDX-License-Identifier: MIT */
/* sched_impl.h - the scheduler's state, shared by sched.c (books) and lease.c (choices). */
#ifndef KS_SCHED_IMPL_H
#define KS_SCHED_IMPL_H

#include "sched/sched.h"

#include <stddef.h>

enum cell_mark { MARK_FREE, MARK_LEASED, MARK_DONE, MARK_CONFIRM };

struct problem {
    uint8_t *mark;   /* [n_instances] enum cell_mark; NULL unless open */
    uint32_t *order; /* [n_instances] seeded random order; NULL unless open */
    uint32_t next;   /* where in order to look for a free cell */
    uint32_t n_free, n_leased, n_confirm;
    uint32_t n_devices; /* that have it as their current problem */
    bool is_complete, is_split, is_touched;
    double prior_s; /* of one cell, as the caller guessed */
    double cost_s;  /* of one cell: the guess corrected by what others taught, then learnt */
    uint32_t n_learnt;
    uint64_t seed;
};

struct device {
    uint32_t number;
    bool is_open, is_drained, is_paused;
    uint64_t block;     /* 0 = none, or its last lease closes it */
    uint32_t i_problem; /* of the open block */
};

struct lease_book { /* one lease in flight */
    struct ks_lease lease;
    bool is_open, is_overdue;
};

struct confirm { /* a done cell that waits for another device */
    uint32_t i_problem, i_instance, device;
};

struct loss { /* a cell that was in flight when a rank was lost */
    uint32_t i_problem, i_instance, n;
};

struct ks_sched {
    struct ks_sched_config c;
    struct problem *problems;
    struct device *devices;
    uint32_t n_devices, cap_devices;
    struct lease_book *leases;
    uint32_t n_leases, cap_leases;
    struct loss *losses;
    uint32_t n_losses, cap_losses;
    struct confirm *confirms;
    uint32_t n_confirms, cap_confirms;
    double now_s;   /* the latest that was told */
    uint32_t first; /* problems before this one are complete or open */
    uint32_t *open; /* [n_open] indices of open problems */
    uint32_t n_open, cap_open;
    uint64_t next_lease, next_block;
    uint32_t n_complete, n_split;
    uint64_t n_leased;
    double untouched_s;              /* of the problems never opened, by the priors, if all runs */
    uint64_t n_settled, n_run;       /* cells of opened problems that were not done before */
    double learnt_s, learnt_prior_s; /* cells done: how long they took, and by the priors */
};

struct device *ks_sched_device(struct ks_sched *s, uint32_t number);
/* Make problem i ready for leasing (marks and order); a problem without free cells becomes
 * complete at once. KS_ENOMEM. */
int ks_sched_open_problem(struct ks_sched *s, uint32_t i, struct ks_err *err);
void ks_sched_settle(struct ks_sched *s, uint32_t i); /* complete it if nothing is left */
struct loss *ks_sched_loss(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance);
double ks_sched_scale(const struct ks_sched *s); /* how much longer than guessed cells take */
double ks_sched_remaining(const struct ks_sched *s);
uint32_t ks_sched_n_in_flight(const struct ks_sched *s, const struct ks_lease *l); /* not done */

const struct confirm *ks_sched_confirm_of(const struct ks_sched *s, uint32_t i_problem,
                                          uint32_t i_instance);
bool ks_sched_is_working(const struct device *d);

/* Grow *array (elements of `size`) to hold n + 1. */
int ks_sched_grow(void **array, uint32_t n, uint32_t *cap, size_t size, struct ks_err *err);

#endif
