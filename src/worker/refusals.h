/* SPDX-License-Identifier: MIT */
/* refusals.h - which problems the instances themselves refuse, asked without a device: for `ksweep
 * plan`. */
#ifndef KS_WORKER_REFUSALS_H
#define KS_WORKER_REFUSALS_H

#include "base/err.h"

/* ks_worker_refusals() - reads a question from fd_in (record/request.h: KS_REFUSALS_KIND), loads
 * the objects in the worker's cage and writes a byte per pair to fd_out, '1' = refused, '0' = not:
 * for each problem all kernels, in the order of the question.
 * Returns 0; KS_EFORMAT: not such a question; KS_ELOAD: an object or an entry is not there; KS_EIO,
 * KS_ENOMEM. */
int ks_worker_refusals(int fd_in, int fd_out, struct ks_err *err);

#endif
