/* SPDX-License-Identifier: MIT */
/* sim_visible.h - which of a host's simulated devices a process sees; private to src/device. */
#ifndef KS_DEVICE_SIM_VISIBLE_H
#define KS_DEVICE_SIM_VISIBLE_H

#include "base/err.h"
#include "device/device.h"

#include <stdint.h>

/* As AMD's runtimes do it: ROCR_VISIBLE_DEVICES chooses among the n devices, then
 * HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES where that is unset or empty, among what is left by
 * its numbers in what is left. A list ends at its first entry that is no such number. index_out
 * [n], n at most KS_DEVICES_MAX. Returns how many are left. */
uint32_t ks_sim_visible(uint32_t n, uint32_t *index_out);

/* Address and unique name of the i-th device of a host. */
void ks_sim_id(uint32_t i, struct ks_device_id *out);

#endif
