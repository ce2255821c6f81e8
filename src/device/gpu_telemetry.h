/* SPDX-License-Identifier: MIT */
/* gpu_telemetry.h - clocks, power and heat of a GPU: AMD from sysfs, NVIDIA from NVML; private to
 * src/device. What is not told stays unknown. */
#ifndef KS_DEVICE_GPU_TELEMETRY_H
#define KS_DEVICE_GPU_TELEMETRY_H

#include "device/device.h"

#define KS_GPU_SYSFS "/sys/bus/pci/devices"
#define KS_GPU_NVML  "libnvidia-ml.so.1"

/* First line of ROOT/PCI/NAME; "" when it cannot be read. */
void ks_gpu_sysfs_text(const char *root, const char *pci, const char *name, char *out, size_t cap);

/* From ROOT/PCI and its hwmon directory. The kernel does not tell reasons of throttling that could
 * be relied on. Source: Linux, Documentation/gpu/amdgpu/thermal.rst. */
void ks_gpu_sysfs_telemetry(const char *root, const char *pci, struct ks_telemetry *out);

struct ks_nvml; /* an open one */
/* NULL when the library or the device is not there. It is never unloaded. */
struct ks_nvml *ks_nvml_open(const char *library, const char *pci);
void ks_nvml_close(struct ks_nvml *nvml); /* NULL is fine */
/* Energy where it is counted, if it is wanted, and never power then: its reading would be of the
 * second before. */
void ks_nvml_telemetry(struct ks_nvml *nvml, bool with_energy, struct ks_telemetry *out);
double ks_nvml_clock_mhz(struct ks_nvml *nvml); /* of the SMs; one call */
/* Version of the kernel driver, "580.65.06"; "" unknown. */
void ks_nvml_driver(struct ks_nvml *nvml, char *out, size_t cap);

#endif
