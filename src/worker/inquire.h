/* SPDX-License-Identifier: MIT */
/* inquire.h - a doubt about a round is looked into: samples that new inputs, output and workspace
 * stand before, and samples before which nothing changed, in pairs side by side. */
#ifndef KS_WORKER_INQUIRE_H
#define KS_WORKER_INQUIRE_H

#include "worker/measure.h"
#include "worker/trust.h"

struct ks_inquiry {
    bool is_settled;       /* the times cannot be believed */
    struct ks_pair median; /* of all pairs that were taken */
};

/* ks_inquire() - after ks_measure_samples(), with its hooks and plan.
 * @doubt not KS_DOUBT_NONE; @t what raised it
 * Returns 0; 1: a check has ended the cell; KS_E*; KS_ETIMEOUT: samples without a positive time. */
int ks_inquire(struct ks_run *r, const struct ks_measure *m, enum ks_doubt doubt,
               const struct ks_round_times *t, struct ks_inquiry *out, struct ks_err *err);

#endif
