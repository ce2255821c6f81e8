/* SPDX-License-Identifier: MIT */
/* eta.h - how long the rest of a sweep takes: one formula for the log, `ksweep status` and
 * `ksweep plan`. Pure.
 *
 * The scheduler expects what the cells that are left take by themselves (ks_sched_left). Devices
 * need more than that: references, workers, anchors, cells that fail, waiting. How much more is
 * learnt from the sweep: device time over the time that its records account for. */
#ifndef KS_SCHED_ETA_H
#define KS_SCHED_ETA_H

#include <stdint.h>

/* Begins as zero. */
struct ks_eta {
    double busy_s;  /* device time from when measuring began to each device's newest record */
    double known_s; /* of it: what the scheduler was told that cells and visits took */
};

/* A device has sent a record busy_s after the one before it; known_s of that is accounted for. */
void ks_eta_took(struct ks_eta *e, double busy_s, double known_s);

struct ks_eta_work {
    double cells_s, error; /* of ks_sched_left() */
    double visits_s;       /* expected, of all that are to come, likewise by themselves */
    double builds_s;       /* wall time before measuring begins */
    double since_s;        /* device time since each device's newest record, summed */
    uint32_t n_devices;    /* that work; 0 counts as 1 */
    uint32_t n_raced;      /* problems whose visits have ended in this sweep */
};

/* Wall seconds. Nine sweeps in ten are expected to end between low_s and high_s from now. */
struct ks_eta_time {
    double left_s, low_s, high_s;
};
struct ks_eta_time ks_eta_left(const struct ks_eta *e, const struct ks_eta_work *w);

/* What visits problems need: in seconds, or in any other unit that all fields share. Round 0 says
 * how large the first visit of a problem is: it has all that lie within the noise of the best. How
 * many times that all of its visits take is learnt from the problems whose visits have ended. */
struct ks_eta_visits {
    double guess, n_guess; /* before anything is known: all visits of a problem, and their number */
    double first;          /* first visits of the problems whose round 0 is complete, summed; a
                              problem that needs no visit has 0 */
    double cells_s;        /* that round 0 took of the problems where it is complete */
    double usual_cells_s;  /* and takes of a usual problem */
    double ended, ended_first; /* problems whose visits have ended: all visits; first ones */
    double open, open_first;   /* those that have had visits and need more: visits so far; first */
};
/* All visits of problems whose round 0 will take cells_s: problems differ in how many instances
 * they have, and how long these take. */
double ks_eta_visits_of(const struct ks_eta_visits *v, double cells_s);
/* What a problem still needs that has had `spent`; its first visit takes `first`, the next one
 * `next`. */
double ks_eta_visits_left(const struct ks_eta_visits *v, double first, double spent, double next);
/* Wall seconds until n instances are built, of which n_done took elapsed_s; before any is done a
 * guess for n_parallel compilers. */
double ks_eta_builds_s(uint32_t n, uint32_t n_done, double elapsed_s, uint32_t n_parallel);

#endif
