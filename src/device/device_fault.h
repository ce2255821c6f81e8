/* SPDX-License-Identifier: MIT */
/* device_fault.h - a device for tests: passes every call on to another one, except that the n-th
 * call of one slot fails, and that times may be prescribed. Not in the table of backends. */
#ifndef KS_DEVICE_FAULT_H
#define KS_DEVICE_FAULT_H

#include "device/device.h"

enum ks_fault_slot {
    KS_FAULT_NONE,
    KS_FAULT_PROPS,
    KS_FAULT_ALLOC,
    KS_FAULT_UPLOAD,
    KS_FAULT_DOWNLOAD,
    KS_FAULT_FILL,
    KS_FAULT_MODULE_OPEN,
    KS_FAULT_MODULE_ENTRY,
    KS_FAULT_TIME,
    KS_FAULT_FLUSH,
    KS_FAULT_TOUCH,
    KS_FAULT_CANARY,
    KS_FAULT_SELF_TEST,
    KS_FAULT_SLOTS
};

struct ks_fault_plan {
    enum ks_fault_slot slot; /* KS_FAULT_NONE: nothing fails */
    uint32_t nth;            /* from 0 */
    enum ks_code code;
    bool is_hidden; /* host_view returns NULL, as for a GPU */
    uint32_t queue; /* samples worth asking for at once; 0: 1 */
    /* time_samples runs the kernel, then reports calls * times_ns[i] for its i-th sample; after the
     * last the last is repeated. NULL: the real time. Borrowed. */
    const double *times_ns;
    uint32_t n_times;
    uint32_t skip; /* this call of time_samples, from 1, runs no kernel and says nothing; 0 none */
    /* The clock that the i-th look at the telemetry finds; the last is repeated. NULL: as the inner
     * device says. Borrowed. */
    const double *clocks_mhz;
    uint32_t n_clocks;
    /* The i-th look at the telemetry finds i times these; 0: as the inner device says. */
    double energy_step_j;
    uint64_t energy_step_ns;
};

/* Takes nothing: `inner` is borrowed and must live longer. */
int ks_fault_wrap(struct ks_device *inner, const struct ks_fault_plan *plan,
                  struct ks_device **dev_out, struct ks_err *err);
/* How often a slot was called. */
uint32_t ks_fault_calls(const struct ks_device *dev, enum ks_fault_slot slot);

#endif
