/* SPDX-License-Identifier: MIT */
/* sched_kit.c - a table of cells and a scheduler over it, for tests of the scheduler */
#include "sched_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

enum ks_cell_state state_of(void *ctx, uint32_t ip, uint32_t ii)
{
    struct table *t = ctx;
    t->n_asked[ip]++;
    return (enum ks_cell_state)t->is_done[ip][ii];
}

enum ks_cell_state state_of_any(void *ctx, uint32_t ip, uint32_t ii)
{
    (void)ctx;
    (void)ip;
    (void)ii;
    return KS_CELL_RUN;
}

struct ks_sched *make_costly(struct table *t, uint32_t n_problems, uint32_t n_instances,
                             uint32_t batch, const double *cost, double overhead_s,
                             double patience_s)
{
    uint64_t seed[PROBLEMS];
    struct ks_sched *s = NULL;
    struct ks_err err;
    for (uint32_t i = 0; i < n_problems; i++)
        seed[i] = 1000 + i;
    struct ks_sched_config c = { .n_problems = n_problems,
                                 .n_instances = n_instances,
                                 .cost_s = cost,
                                 .seed = seed,
                                 .batch = batch,
                                 .overhead_s = overhead_s,
                                 .patience_s = patience_s,
                                 .cell_state = state_of,
                                 .ctx = t };
    if (ks_sched_create(&c, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

struct ks_sched *make(struct table *t, uint32_t n_problems, uint32_t n_instances, uint32_t batch,
                      const double *cost)
{
    return make_costly(t, n_problems, n_instances, batch, cost, 0, 1e6);
}

const double ones[PROBLEMS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

void add(struct ks_sched *s, uint32_t device)
{
    assert_int_equal(ks_sched_device_add(s, device, NULL), 0);
}

struct ks_lease must_lease(struct ks_sched *s, uint32_t device)
{
    struct ks_lease l = { 0 };
    assert_int_equal(ks_sched_next(s, device, 0, INFINITY, &l, NULL), KS_SCHED_LEASE);
    return l;
}

void must_not_lease(struct ks_sched *s, uint32_t device, double left, int want)
{
    struct ks_lease l;
    memset(&l, 0x5a, sizeof(l));
    struct ks_lease was;
    memcpy(&was, &l, sizeof(l));
    assert_int_equal(ks_sched_next(s, device, 0, left, &l, NULL), want);
    assert_memory_equal(&l, &was, sizeof(l));
}

void finish(struct ks_sched *s, const struct ks_lease *l)
{
    for (uint32_t k = 0; k < l->n; k++)
        ks_sched_done(s, l->i_problem, l->i_instance[k], KS_NO_DEVICE, 1);
    ks_sched_lease_end(s, l->id);
}

struct ks_sched_counts counts(const struct ks_sched *s)
{
    struct ks_sched_counts n;
    ks_sched_counts(s, &n);
    return n;
}
