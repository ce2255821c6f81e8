/* SPDX-License-Identifier: MIT */
/* check_plan.h - which samples of a cell are checked, and how: at random places that no kernel can
 * know, as often as a share of the time allows. Pure: times and costs are arguments. */
#ifndef KS_WORKER_CHECK_PLAN_H
#define KS_WORKER_CHECK_PLAN_H

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

#define KS_PLACES 7u /* samples of each round that are checked whatever it costs */
/* Of these, so many samples are taken at least where results are verified. */
#define KS_LEAST_CHECKED 5u
/* Samples of one call, of each kind, where others have several: at least; so many are kept. */
#define KS_SINGLES     4u
#define KS_SINGLES_MAX 32u

struct ks_plan {
    uint64_t rng;
    double cost_ns[KS_CHECK_KINDS]; /* of a check of each kind, lately; NONE: of a look */
    uint32_t n_verified;
    uint32_t n_places, i_place;
    uint32_t place[KS_PLACES]; /* ascending */
    uint32_t kind[KS_PLACES];
    uint32_t n_singles[KS_CHECK_KINDS];
};

/* @seed random and private; everything that is drawn follows from it. */
void ks_plan_init(struct ks_plan *p, uint64_t seed);

/* Before the first sample: choose the places of the checks that every round has, below `horizon`
 * (>= 1), the number of samples that there will be at least. */
void ks_plan_place(struct ks_plan *p, uint32_t horizon);

/* ks_plan_next() - the check of the next sample.
 * @n         [in]  samples so far
 * @unit_ns   [in]  time of as many samples as are asked for at once, about; 0: not known
 * @is_last   [in]  nothing else is wanted: only what is still missing
 * @most_out  [out] so many samples may be asked for with it, >= 1 */
struct ks_check ks_plan_next(struct ks_plan *p, uint32_t n, double unit_ns, bool is_last,
                             uint32_t *most_out);
/* The same for launch i (from 0) of a warm-up. */
struct ks_check ks_plan_warm(struct ks_plan *p, uint32_t i, double unit_ns);
/* Whether every check that a round has was asked for. */
bool ks_plan_is_done(const struct ks_plan *p);

/* Whether a sample of one call is to be taken next, where others have several and take unit_ns.
 * is_last: it is, unless there are enough. Counts it. */
bool ks_plan_single(struct ks_plan *p, double unit_ns, bool is_last, struct ks_check *out);

/* What a check has cost, ns. */
void ks_plan_note(struct ks_plan *p, const struct ks_check *c, double cost_ns);

#endif
