/* SPDX-License-Identifier: MIT */
/* sweep_kit.h - sweeps with planted times and noise, in memory. */
#ifndef KS_TEST_SWEEP_KIT_H
#define KS_TEST_SWEEP_KIT_H

#include "analysis/learn/oracle.h"

struct sweep_noise {  /* standard deviations of logs */
    double round_sd;  /* an instance in a round */
    double sweep_sd;  /* an instance in a sweep: all its rounds */
    double common_sd; /* all instances of a round */
    double shared_sd; /* all instances of a problem in a sweep: all its rounds */
    double side_sd;   /* an instance on a side, before and from later_from on: all its sweeps */
    double drift_sd;  /* step of a random walk from problem to problem, within a sweep */
    double anchor_sd; /* the anchor of a problem's block, at either end; 0: there is none */
    double span;      /* of the middle half of a round's samples */
    double tail;      /* share of values that are late by an exponential of mean tail_mean */
    double tail_mean;
    double state;    /* an instance in a sweep is in one of two states, this much above or below */
    bool is_classed; /* slow instances are noisier, as label_error.h expects */
    uint32_t
        freedom; /* of the inverse chi-squared distribution of cells' variances; 0: all alike */
};

struct sweep_kit {
    uint64_t rng, seed;
    uint32_t n_sweeps, n_problems, n_instances;
    uint32_t n_rounds; /* of contenders */
    double contends;   /* relative: instances within this of the best have all rounds */
    struct sweep_noise noise;
    double loud; /* from sweep later_from on noise of rounds and sweeps is so many times as large;
                    0: as before */
    bool is_late_later; /* values are late from sweep later_from on only */
    double stretch;     /* log that is added to round 0 of the problems of disturbed stretches: */
    uint32_t stretch_sweep, stretch_every,
        stretch_length;  /* of every so many so many, in one sweep */
    double anchor_shift; /* of the block that is being measured */
    double *log_ns;      /* [n_problems][n_instances] truth */
    double *later;       /* [n_problems][n_instances] added from sweep later_from on */
    uint32_t later_from;
};

/* Plants times: the best of a problem and others up to 2.7 times slower, a tenth of them within 1
 * %. The caller fills `later` as wanted. */
void sweep_kit_open(struct sweep_kit *k, uint64_t seed, uint32_t n_sweeps, uint32_t n_problems,
                    uint32_t n_instances);
void sweep_kit_close(struct sweep_kit *k);
/* Measures all of it. The caller releases s. */
void sweep_kit_measure(struct sweep_kit *k, struct ks_sweeps *s);
void sweep_kit_trials(struct sweep_kit *k, struct ks_sweeps *s, struct ks_trials *t);
double sweep_kit_least(const struct sweep_kit *k, uint32_t problem); /* truth of the best */
double sweep_kit_uniform(uint64_t *rng);
double sweep_kit_normal(uint64_t *rng);

#endif
