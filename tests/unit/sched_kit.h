/* SPDX-License-Identifier: MIT */
/* sched_kit.h - what the tests of the scheduler share. */
#ifndef SCHED_KIT_H
#define SCHED_KIT_H

#include "sched/sched.h"

enum { PROBLEMS = 12, INSTANCES = 50, FIRST = 2 /* cells in a problem's first lease */ };

struct table { /* what cell_state answers (enum ks_cell_state), and how often it was asked */
    uint8_t is_done[PROBLEMS][INSTANCES];
    uint32_t n_asked[PROBLEMS];
};

extern const double ones[PROBLEMS]; /* seconds of a cell */

enum ks_cell_state state_of(void *ctx, uint32_t ip, uint32_t ii);
enum ks_cell_state state_of_any(void *ctx, uint32_t ip, uint32_t ii);
struct ks_sched *make_costly(struct table *t, uint32_t n_problems, uint32_t n_instances,
                             uint32_t batch, const double *cost, double overhead_s,
                             double patience_s);
struct ks_sched *make(struct table *t, uint32_t n_problems, uint32_t n_instances, uint32_t batch,
                      const double *cost);
void add(struct ks_sched *s, uint32_t device);
struct ks_lease must_lease(struct ks_sched *s, uint32_t device);
void must_not_lease(struct ks_sched *s, uint32_t device, double left, int want);
void finish(struct ks_sched *s, const struct ks_lease *l);
struct ks_sched_counts counts(const struct ks_sched *s);

#endif
