/* SPDX-License-Identifier: MIT */
/* judge.h - verification on the device: references, comparisons and digests by the kernels of
 * kernels/judge.h, so that an output never crosses the bus unless it is wrong.
 *
 * Nothing that the device says is believed unproved: of a problem's first worker the host proves
 * the references (V3) and keeps their digests in the memfd of references.h; a later worker's must
 * have the same digests. Before a cell is judged, one planted wrong element must be found, and
 * nothing else. What is found wrong is looked at again by the host, whose verdict counts. */
#ifndef KS_WORKER_JUDGE_H
#define KS_WORKER_JUDGE_H

#include "device/device.h"
#include "kernels/judge.h"
#include "worker/buffers.h"
#include "worker/verify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The same number as KS_JUDGE_DIGEST, by the host. */
uint64_t ks_judge_digest_host(const void *bytes, size_t n);

#endif
