/* SPDX-License-Identifier: MIT */
/* inquire.h - settles a doubt about a round (trust.h) with further samples, taken in pairs side by
 * side: one with new inputs and a poisoned output and workspace, one without any change. */
#ifndef KS_WORKER_INQUIRE_H
#define KS_WORKER_INQUIRE_H

#include "worker/measure.h"
#include "worker/trust.h"

struct ks_inquiry {
    bool is_settled;       /* the pairs confirm the doubt: the round's times are not trusted */
    struct ks_pair median; /* over all pairs taken */
};

/* ks_inquire() - to be called after ks_measure_samples(); uses the hooks and the plan of *r.
 * @doubt [in] not KS_DOUBT_NONE
 * @t     [in] the times that raised it
 * Returns 0; 1: a check has ended the cell; KS_ETIMEOUT: too many samples without a positive time;
 * other KS_E* of the device and of the hooks. */
int ks_inquire(struct ks_run *r, const struct ks_measure *m, enum ks_doubt doubt,
               const struct ks_round_times *t, struct ks_inquiry *out, struct ks_err *err);

#endif
