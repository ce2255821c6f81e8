/* SPDX-License-Identifier: MIT */
/* gpu_identity.c - lists GPUs by PCI address, and gives each an id that outlives a reboot */
#include "device/gpu_identity.h"

#include "device/gpu_telemetry.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ks_gpu_pci(const char *text, char *out, size_t cap)
{
    size_t domain = strcspn(text, ":");

    while (domain > 4 && *text == '0') {
        text++;
        domain--;
    }
    snprintf(out, cap, "%s", text);
    for (char *c = out; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
}

void ks_gpu_uuid_text(const struct ks_gpu_uuid *uuid, char *out, size_t cap)
{
    unsigned char b[sizeof(uuid->bytes)];
    bool is_text = true, is_zero = true;

    memcpy(b, uuid->bytes, sizeof(b));
    for (size_t i = 0; i < sizeof(b); i++) {
        is_text = is_text && isalnum(b[i]);
        is_zero = is_zero && b[i] == 0;
    }
    if (is_zero)
        out[0] = '\0';
    else if (is_text)
        snprintf(out, cap, "GPU-%.16s", uuid->bytes);
    else
        snprintf(out, cap,
                 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                 b[14], b[15]);
}

/* An instance of a MIG device: its UUID is its own, and the tools print it with another prefix.
 * Source: NVIDIA MIG user guide; nvidia-smi -L. */
static bool is_mig(const struct ks_gpu_api *api, int dev)
{
    char name[96] = "";

    return api->vendor == KS_GPU_CUDA &&
           api->device_name(name, (int)sizeof(name), dev) == KS_GPU_OK &&
           strstr(name, " MIG ") != NULL;
}

/* Partitions of an AMD socket have its serial in common; the function of their PCI address tells
 * them apart. */
static void add_partition(struct ks_device_id *id)
{
    const char *function = strchr(id->pci, '.');
    size_t at = strlen(id->unique);

    if (function != NULL && strcmp(function, ".0") != 0)
        snprintf(id->unique + at, sizeof(id->unique) - at, "/%s", function + 1);
}

/* The runtime's UUID, else AMD's serial from the kernel, else the place it is plugged into. */
static void identify(const struct ks_gpu_api *api, int dev, struct ks_device_id *id)
{
    struct ks_gpu_uuid uuid = { { 0 } };
    char pci[32] = "", serial[40] = "";

    if (api->device_pci(pci, sizeof(pci), dev) == KS_GPU_OK)
        ks_gpu_pci(pci, id->pci, sizeof(id->pci));
    if (api->device_uuid != NULL && api->device_uuid(&uuid, dev) == KS_GPU_OK)
        ks_gpu_uuid_text(&uuid, id->unique, sizeof(id->unique));
    if (id->unique[0] != '\0' && is_mig(api, dev))
        memcpy(id->unique, "MIG", 3);
    if (id->unique[0] != '\0' && api->vendor == KS_GPU_HIP)
        add_partition(id);
    if (id->unique[0] != '\0')
        return;
    ks_gpu_sysfs_text(KS_GPU_SYSFS, id->pci, "unique_id", serial, sizeof(serial));
    if (serial[0] != '\0')
        snprintf(id->unique, sizeof(id->unique), "GPU-%s", serial);
    else
        snprintf(id->unique, sizeof(id->unique), "pci/%s", id->pci);
}

static int count_devices(const struct ks_gpu_api *api, int *n_out, struct ks_err *err)
{
    int n = 0;
    int code = api->init(0);

    if (code == KS_GPU_OK)
        code = api->device_count(&n);
    /* HIP says the second when it finds no driver. */
    if (code == KS_GPU_ENODEVICE || code == KS_GPU_EBADDEVICE)
        n = 0;
    else if (code != KS_GPU_OK)
        return ks_fail(err, KS_EDEVICE, "starting %s: %s (%d)", api->library,
                       ks_gpu_error_name(api, code), code);
    *n_out = n;
    return 0;
}

static bool is_pci(const char *s)
{
    return strlen(s) >= 12 && strspn(s, "0123456789abcdefABCDEF:.") == strlen(s) &&
           strchr(s, ':') != strrchr(s, ':') && strchr(s, '.') != NULL;
}

int ks_gpu_list(const struct ks_gpu_api *api, const char *locator, struct ks_device_id *ids_out,
                int *numbers_out, uint32_t *n_out, struct ks_err *err)
{
    char wanted[sizeof(ids_out->pci)] = "";
    uint32_t n_kept = 0;
    int n = 0;
    int rc;

    if (locator[0] != '\0' && !is_pci(locator))
        return ks_fail(err, KS_ENODEVICE, "'%s' is not a PCI address like 0000:c1:00.0", locator);
    ks_gpu_pci(locator, wanted, sizeof(wanted));
    rc = count_devices(api, &n, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < n && n_kept < KS_DEVICES_MAX; i++) {
        struct ks_device_id id = { .pci = "" };
        int dev = 0;
        int code = api->device_get(&dev, i);

        if (code != KS_GPU_OK)
            return ks_fail(err, KS_EDEVICE, "device %d of %d: %s (%d)", i, n,
                           ks_gpu_error_name(api, code), code);
        identify(api, dev, &id);
        if (wanted[0] != '\0' && strcmp(wanted, id.pci) != 0)
            continue;
        ids_out[n_kept] = id;
        numbers_out[n_kept++] = dev;
    }
    if (n_kept == 0 && wanted[0] != '\0')
        return ks_fail(err, KS_ENODEVICE, "%s shows %d device(s), none of them at '%s'",
                       api->library, n, wanted);
    *n_out = n_kept;
    return 0;
}

static void add(char *said, size_t cap, const char *what, const char *is, const char *text)
{
    size_t at = strlen(said);

    snprintf(said + at, cap - at, ", %s%s%s", what, is, text);
}

/* What may hide the devices: lists of visible ones, a driver that is not there or not ours. */
static int no_device(const struct ks_gpu_api *api, struct ks_err *err)
{
    static const char *const lists[] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                         "CUDA_VISIBLE_DEVICES" };
    static const char *const nodes[] = {
        [KS_GPU_HIP] = "/dev/kfd", [KS_GPU_CUDA] = "/dev/nvidiactl"
    };
    char said[256] = "";

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (getenv(lists[i]) != NULL)
            add(said, sizeof(said), lists[i], "=", getenv(lists[i]));
    }
    if (access(nodes[api->vendor], R_OK | W_OK) < 0)
        add(said, sizeof(said), nodes[api->vendor], ": ", strerror(errno));
    return ks_fail(err, KS_ENODEVICE, "%s shows no device%s", api->library, said);
}

int ks_gpu_first(const struct ks_gpu_api *api, const char *locator, struct ks_device_id *id_out,
                 int *number_out, struct ks_err *err)
{
    struct ks_device_id ids[KS_DEVICES_MAX];
    int numbers[KS_DEVICES_MAX];
    uint32_t n = 0;
    int rc = ks_gpu_list(api, locator, ids, numbers, &n, err);

    if (rc < 0)
        return rc;
    if (n == 0)
        return no_device(api, err);
    *id_out = ids[0];
    *number_out = numbers[0];
    return 0;
}
