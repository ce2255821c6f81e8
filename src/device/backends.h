/* SPDX-License-Identifier: MIT */
/* backends.h - the tables of all backends, one per row of base/backend.h; private to src/device.
 *
 * host  This machine's CPU, seen through the affinity mask of the process. locator: "".
 *
 * hip, cuda  AMD's GPUs through libamdhip64, NVIDIA's through libcuda; neither is linked. locator:
 *       "" or the PCI address of one of the visible devices.
 *
 * sim   No hardware: times are computed, virtual time passes without waiting. locator:
 *       comma-separated "seed=N" "ns=MEAN" (of one call) "sleep_us=N" (real time per timed call,
 *       for tests) "fail=none|run|self_test|all" "only=RANK" (fails on that one; the agent adds
 *       "rank=N") "n_devices=N" (of this host, with PCI addresses, seen through *_VISIBLE_DEVICES
 *       as AMD's runtimes see theirs; without it every process has one of its own). */
#ifndef KS_DEVICE_BACKENDS_H
#define KS_DEVICE_BACKENDS_H

#include "base/backend.h"
#include "device/device.h"

#define X(name, flags, archs, language) extern const struct ks_device_ops ks_device_##name;
KS_BACKENDS(X)
#undef X

#endif
