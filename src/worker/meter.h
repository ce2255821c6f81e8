/* SPDX-License-Identifier: MIT */
/* meter.h - the mean clock of a GPU's compute units while samples were taken, by their own
 * counters: a kernel of the judge reads them before and after the samples, in their stream. A
 * driver's reading is of a moment in which nothing runs. */
#ifndef KS_WORKER_METER_H
#define KS_WORKER_METER_H

#include "device/device.h"
#include "kernels/judge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_meter {
    struct ks_device *dev;        /* borrowed; NULL: there is no meter */
    struct ks_judge_call call;    /* KS_JUDGE_CLOCK */
    struct ks_clock_probe probe;  /* for ks_timing.clock; call and ticks are its own */
    void *ticks;                  /* owned, device memory: [2][call.n_parts] struct ks_judge_tick */
    struct ks_judge_tick *copies; /* owned: the same */
    double chunk_mhz;             /* of the last chunk; KS_UNKNOWN: not known */
    double first_mhz, last_mhz;   /* of chunks with a known clock since ks_meter_begin(), or
                                     KS_UNKNOWN */
    double cycles, ns;            /* sums since ks_meter_begin() */
};

/* ks_meter_open() - try the judge's clock on a device.
 * @entry   [in] the judge; must live longer
 * @problem [in] of the judge, which wants one in every call
 * @n_units [in] compute units of the device
 * Returns 0, with meter_out->dev NULL where the device has no such counters or the judge does not
 * read them; KS_ENOMEM; KS_EDEVMEM; KS_EDEVLOST. Its address must not change afterwards. */
int ks_meter_open(struct ks_device *dev, const struct ks_abi_entry *entry,
                  const struct ks_abi_problem *problem, uint32_t n_units,
                  struct ks_meter *meter_out, struct ks_err *err);
void ks_meter_close(struct ks_meter *m); /* a zeroed one is fine */

void ks_meter_begin(struct ks_meter *m);
/* After a ks_timing with this meter's probe: sets chunk_mhz. Samples that took less than 0.2 ms
 * tell no clock, and change neither first_mhz nor last_mhz nor the sums. */
int ks_meter_read(struct ks_meter *m, struct ks_err *err);
/* Whether the clock is, to within `share`, what it was at ks_meter_begin(). */
bool ks_meter_is_steady(const struct ks_meter *m, double share);
/* Mean since ks_meter_begin(), KS_UNKNOWN without any. */
double ks_meter_mhz(const struct ks_meter *m);

/* Cycles per ns between two sets of n ticks, by the units that are in both; the median. *ns_out:
 * the time between. 0: fewer than half of them can be paired. scratch: [n] */
double ks_ticks_clock(const struct ks_judge_tick *from, const struct ks_judge_tick *to, uint32_t n,
                      double *scratch, double *ns_out);

#endif
