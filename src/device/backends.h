/* SPDX-License-Identifier: MIT */
/* backends.h - the backends device.c puts into its table; private to src/device. */
#ifndef KS_DEVICE_BACKENDS_H
#define KS_DEVICE_BACKENDS_H

#include "device/device.h"

/* This machine's CPU, seen through the affinity mask of the process. locator: "". */
extern const struct ks_device_ops ks_device_host;

/* AMD's GPUs through libamdhip64, NVIDIA's through libcuda; neither is linked. locator: "" or the
 * PCI address of one of the visible devices. */
extern const struct ks_device_ops ks_device_hip;
extern const struct ks_device_ops ks_device_cuda;

/* No hardware: times are computed, virtual time passes without waiting. locator: comma-separated
 * "seed=N" "ns=MEAN" (of one call) "sleep_us=N" (real time per timed call, for tests)
 * "fail=none|run|self_test|all" "only=RANK" (fails on that one; the agent adds "rank=N")
 * "n_devices=N" (of this host, with PCI addresses, seen through *_VISIBLE_DEVICES as AMD's runtimes
 * see theirs; without it every process has one of its own). */
extern const struct ks_device_ops ks_device_sim;

#endif
