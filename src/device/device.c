/* SPDX-License-Identifier: MIT */
/* device.c - the table of backends, the check that one is complete, and unknown telemetry */
#include "device/device.h"

#include "device/backends.h"

#include <string.h>

const struct ks_device_ops *const ks_device_backends[] = {
#define X(name, flags, archs, language) &ks_device_##name,
    KS_BACKENDS(X)
#undef X
        NULL,
};

const struct ks_device_ops *ks_device_find(const char *name)
{
    for (size_t i = 0; ks_device_backends[i] != NULL; i++) {
        if (strcmp(ks_device_backends[i]->name, name) == 0)
            return ks_device_backends[i];
    }
    return NULL;
}

struct ks_telemetry ks_telemetry_unknown(void)
{
    return (struct ks_telemetry){ .now = { .clock_mhz = KS_UNKNOWN,
                                           .memory_clock_mhz = KS_UNKNOWN,
                                           .power_w = KS_UNKNOWN,
                                           .temperature_c = KS_UNKNOWN,
                                           .busy = KS_UNKNOWN },
                                  .throttle = -1,
                                  .energy_j = KS_UNKNOWN };
}

double ks_power_between(const struct ks_telemetry *from, const struct ks_telemetry *to)
{
    if (from->energy_j < 0 || to->energy_j < from->energy_j ||
        to->at_ns < from->at_ns + KS_ENERGY_UPDATES * KS_ENERGY_UPDATE_NS)
        return KS_UNKNOWN;
    return (to->energy_j - from->energy_j) * 1e9 / (double)(to->at_ns - from->at_ns);
}

int ks_device_check(const struct ks_device_ops *ops, struct ks_err *err)
{
    const struct {
        const char *name;
        bool is_set;
    } slots[] = {
        { "name", ops->name != NULL },
        { "list", ops->list != NULL },
        { "open", ops->open != NULL },
        { "close", ops->close != NULL },
        { "props", ops->props != NULL },
        { "alloc", ops->alloc != NULL },
        { "free", ops->free != NULL },
        { "upload", ops->upload != NULL },
        { "download", ops->download != NULL },
        { "fill", ops->fill != NULL },
        { "host_view", ops->host_view != NULL },
        { "module_open", ops->module_open != NULL },
        { "module_close", ops->module_close != NULL },
        { "module_entry", ops->module_entry != NULL },
        { "time_samples", ops->time_samples != NULL },
        { "flush", ops->flush != NULL },
        { "touch", ops->touch != NULL },
        { "canary", ops->canary != NULL },
        { "self_test", ops->self_test != NULL },
        { "telemetry", ops->telemetry != NULL },
        { "limits", ops->limits != NULL },
    };

    if (ops->abi != KS_DEVICE_ABI)
        return ks_fail(err, KS_EINVAL, "device backend '%s' has ABI %u, not %u",
                       ops->name != NULL ? ops->name : "?", ops->abi, KS_DEVICE_ABI);
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        if (!slots[i].is_set)
            return ks_fail(err, KS_EINVAL, "device backend '%s' has no %s",
                           ops->name != NULL ? ops->name : "?", slots[i].name);
    }
    return 0;
}
