/* SPDX-License-Identifier: MIT */
/* check_plan.h - chooses which samples of a cell are checked, and how: at random places that a
 * kernel cannot predict, as often as a share of the samples' time allows. Pure: times and costs are
 * arguments. */
#ifndef KS_WORKER_CHECK_PLAN_H
#define KS_WORKER_CHECK_PLAN_H

#include "base/sampling.h"

#include <stdbool.h>
#include <stdint.h>

/* What is done before a sample. */
enum ks_check_kind {
    KS_CHECK_NONE,
    KS_CHECK_PLACEBO,  /* the memory traffic of FRESH, but nothing changes */
    KS_CHECK_FRESH,    /* the inputs are exchanged for the other of two sets; workspace poisoned */
    KS_CHECK_VERIFIED, /* inputs that no launch has seen, output and workspace poisoned; afterwards
                          every element is compared with the reference */
    KS_CHECK_KINDS
};

struct ks_check {
    uint32_t kind;     /* enum ks_check_kind */
    bool is_looked_at; /* the whole output afterwards; always but for NONE */
};

/* Samples of one call in rounds whose samples have several: of each kind at least KS_SINGLES are
 * taken, and the last KS_SINGLES_MAX kept. */
#define KS_SINGLES     4u
#define KS_SINGLES_MAX 32u

struct ks_plan {
    uint64_t rng;
    bool is_visit; /* no check but those that are placed */
    uint32_t n_visit_places;
    double cost_ns[KS_CHECK_KINDS]; /* of a check of each kind, lately; NONE: of a look */
    uint32_t n_verified;
    uint32_t n_places, i_place;
    uint32_t place[KS_PLACES]; /* ascending */
    uint32_t kind[KS_PLACES];
    uint32_t n_singles[KS_CHECK_KINDS];
};

/* @seed random and private; everything that is drawn follows from it. */
void ks_plan_init(struct ks_plan *p, uint64_t seed);

/* A visit of an instance that was verified in round 0: one verified sample, or none, and nothing
 * else. After ks_plan_init. */
void ks_plan_visit(struct ks_plan *p, bool is_verified);

/* Before the first sample: chooses the places of the checks that every round has.
 * @horizon [in] >= 1; samples that the round will have at least: places are below it */
void ks_plan_place(struct ks_plan *p, uint32_t horizon);

/* ks_plan_next() - the check of the next sample.
 * @n         [in]  samples so far
 * @unit_ns   [in]  approximate time of a chunk of samples; 0: not known
 * @is_last   [in]  the stop rule has spoken: only checks that are still missing are returned
 * @most_out  [out] samples that the chunk with this check may have at most, >= 1 */
struct ks_check ks_plan_next(struct ks_plan *p, uint32_t n, double unit_ns, bool is_last,
                             uint32_t *most_out);
/* The same for launch i (from 0) of a warm-up. */
struct ks_check ks_plan_warm(struct ks_plan *p, uint32_t i, double unit_ns);
/* Whether all checks that every round has were returned. */
bool ks_plan_is_done(const struct ks_plan *p);

/* Whether the next sample shall have one call only, in a round whose samples have several and take
 * unit_ns; counts it. is_last: true until there are KS_SINGLES of each kind. */
bool ks_plan_single(struct ks_plan *p, double unit_ns, bool is_last, struct ks_check *out);

/* Adds the cost of a check that was made, ns, to the plan's estimate; one that is much higher than
 * those before it counts little. */
void ks_plan_note(struct ks_plan *p, const struct ks_check *c, double cost_ns);

#endif
