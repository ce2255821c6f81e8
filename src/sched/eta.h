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

/* Seconds of visits that a problem needs. guess_s: before any was seen; spent_s: what the problems
 * have had whose visits have ended, and those that have had some. The latter will need more. */
double ks_eta_visits_mean_s(double guess_s, double spent_s, uint32_t n_ended, uint32_t n_begun);
/* Seconds of visits that a problem still needs when it has had spent_s and problems need mean_s. */
double ks_eta_visits_s(double mean_s, double spent_s);
/* Wall seconds until n instances are built, of which n_done took elapsed_s; before any is done a
 * guess for n_parallel compilers. */
double ks_eta_builds_s(uint32_t n, uint32_t n_done, double elapsed_s, uint32_t n_parallel);

#endif
