/* SPDX-License-Identifier: MIT */
/* gpu_identity.h - which GPUs a process sees; private to src/device. */
#ifndef KS_DEVICE_GPU_IDENTITY_H
#define KS_DEVICE_GPU_IDENTITY_H

#include "device/device.h"
#include "device/gpu_api.h"

/* "0000:c1:00.0" from any case, and from a domain of eight digits where four do. */
void ks_gpu_pci(const char *text, char *out, size_t cap);

/* "GPU-" and the serial that the runtime knows: AMD's are sixteen characters, NVIDIA's sixteen
 * bytes. "" when all of it is zero. */
void ks_gpu_uuid_text(const struct ks_gpu_uuid *uuid, char *out, size_t cap);

/* ks_gpu_list() - starts the runtime and lists what it shows to this process.
 * @locator   [in]  "": all; a PCI address: that one, if it is visible
 * @ids_out   [out] [KS_DEVICES_MAX]
 * @number_out[out] [KS_DEVICES_MAX] the runtime's numbers of them
 * Returns 0, also with none; KS_ENODEVICE for a locator that is no PCI address or an address that
 * is not visible; KS_EDEVICE when the runtime fails. */
int ks_gpu_list(const struct ks_gpu_api *api, const char *locator, struct ks_device_id *ids_out,
                int *numbers_out, uint32_t *n_out, struct ks_err *err);

/* As ks_gpu_list, of which the first is taken; none is KS_ENODEVICE. */
int ks_gpu_first(const struct ks_gpu_api *api, const char *locator, struct ks_device_id *id_out,
                 int *number_out, struct ks_err *err);

#endif
