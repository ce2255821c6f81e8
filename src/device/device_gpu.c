/* SPDX-License-Identifier: MIT */
/* device_gpu.c - AMD's GPUs through HIP and NVIDIA's through the CUDA driver, from one source. */
#include "base/clock.h"
#include "device/backends.h"
#include "device/gpu_device.h"
#include "device/gpu_identity.h"
#include "device/gpu_limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 4096 };

#define BUSY_NS 500000000u /* until a device that another process held is asked again */

struct ks_gpu_device *ks_gpu_of(struct ks_device *dev)
{
    return (struct ks_gpu_device *)(void *)dev;
}

int ks_gpu_ready(const struct ks_gpu_device *g, struct ks_err *err)
{
    return g->lost == 0 ? 0
                        : ks_fail(err, KS_EDEVLOST, "the device is unusable since %s (%d)",
                                  ks_gpu_error_name(&g->api, g->lost), g->lost);
}

int ks_gpu_status(struct ks_gpu_device *g, int code, enum ks_code as, struct ks_err *err,
                  const char *what)
{
    if (code == KS_GPU_OK)
        return 0;
    if (ks_gpu_is_sticky(g->api.vendor, code)) {
        g->lost = code;
        as = KS_EDEVLOST;
    } else if (code == KS_GPU_EMEMORY) {
        as = KS_EDEVMEM;
    }
    return ks_fail(err, as, "%s: %s (%d)", what, ks_gpu_error_name(&g->api, code), code);
}

int ks_gpu_sync(struct ks_gpu_device *g, enum ks_code as, struct ks_err *err, const char *what)
{
    return ks_gpu_status(g, g->api.stream_sync(g->stream), as, err, what);
}

static int list_of(enum ks_gpu_vendor vendor, const char *locator, struct ks_device_id *ids_out,
                   uint32_t *n_out, struct ks_err *err)
{
    int numbers[KS_DEVICES_MAX];
    struct ks_gpu_api api;
    int rc = ks_gpu_load(vendor, &api, err);

    return rc < 0 ? rc : ks_gpu_list(&api, locator, ids_out, numbers, n_out, err);
}

/* HIP 5.2.21153 for 50221153, CUDA 13.0 for 13000; before it the driver's own where NVML tells. */
static void describe_driver(struct ks_gpu_device *g)
{
    char own[24] = "";
    int v = 0;

    if (g->nvml != NULL)
        ks_nvml_driver(g->nvml, own, sizeof(own));
    if (g->api.driver_version(&v) != KS_GPU_OK || v <= 0)
        return;
    if (g->api.vendor == KS_GPU_HIP)
        snprintf(g->props.driver, sizeof(g->props.driver), "HIP %d.%d.%d", v / 10000000,
                 v / 100000 % 100, v % 100000);
    else
        snprintf(g->props.driver, sizeof(g->props.driver), "%.14s%sCUDA %d.%d", own,
                 own[0] != '\0' ? " " : "", v / 1000, v % 1000 / 10);
}

/* A cache beside the memory lies behind the L2 and no runtime tells of it. Source: AMD, CDNA 3 and
 * RDNA 3 instruction set and product data; the largest of a generation. */
static uint64_t memory_side_cache(const char *arch)
{
    static const struct {
        const char *arch;
        uint64_t mib;
    } rows[] = {
        { "gfx94", 256 }, { "gfx95", 256 }, { "gfx103", 128 }, { "gfx11", 96 }, { "gfx12", 64 }
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strncmp(arch, rows[i].arch, strlen(rows[i].arch)) == 0)
            return rows[i].mib << 20;
    }
    return 0;
}

static uint32_t attr_or_zero(const struct ks_gpu_device *g, enum ks_gpu_attr attr)
{
    int v = ks_gpu_attr(&g->api, attr, g->number);

    return v > 0 ? (uint32_t)v : 0;
}

static void describe_limits(struct ks_gpu_device *g)
{
    struct ks_device_props *p = &g->props;
    uint32_t most = attr_or_zero(g, KS_GPU_ATTR_SHARED_OPTIN);
    uint64_t l2 = attr_or_zero(g, KS_GPU_ATTR_L2_BYTES), beside = memory_side_cache(p->arch);

    p->shared_bytes = attr_or_zero(g, KS_GPU_ATTR_SHARED_BLOCK);
    if (g->api.vendor == KS_GPU_CUDA && most > p->shared_bytes)
        p->shared_bytes = most;
    p->wave = attr_or_zero(g, KS_GPU_ATTR_WAVE);
    p->n_units = attr_or_zero(g, KS_GPU_ATTR_UNITS);
    p->clock_mhz = attr_or_zero(g, KS_GPU_ATTR_CLOCK_KHZ) / 1000;
    p->memory_clock_mhz = attr_or_zero(g, KS_GPU_ATTR_MEMORY_CLOCK_KHZ) / 1000;
    p->cache_bytes = l2 > beside ? l2 : beside;
    g->max_threads = attr_or_zero(g, KS_GPU_ATTR_MAX_THREADS);
}

static int describe(struct ks_gpu_device *g, struct ks_err *err)
{
    struct ks_device_props *p = &g->props;
    size_t memory = 0;
    int rc;

    rc = ks_gpu_status(g, g->api.device_name(p->name, (int)sizeof(p->name), g->number), KS_EDEVICE,
                       err, "name of the device");
    if (rc < 0)
        return rc;
    rc = ks_gpu_status(g, g->api.device_mem(&memory, g->number), KS_EDEVICE, err,
                       "memory of the device");
    if (rc < 0)
        return rc;
    p->memory_bytes = memory;
    snprintf(p->locator, sizeof(p->locator), "%s", g->id.pci);
    snprintf(p->unique, sizeof(p->unique), "%s", g->id.unique);
    ks_gpu_arch(&g->api, g->number, p->arch, sizeof(p->arch));
    if (p->arch[0] == '\0')
        return ks_fail(err, KS_EDEVICE, "%s does not report the architecture of '%s'",
                       g->api.library, p->name);
    /* Source: CUDA and HIP, reference of the elapsed time of events. */
    p->clock_ns = g->api.vendor == KS_GPU_CUDA ? 500.0 : 1000.0;
    describe_limits(g);
    describe_driver(g);
    return 0;
}

/* In the mode EXCLUSIVE_PROCESS a device has one context at a time, and that of a worker that was
 * just killed takes a moment to go: asked once more. */
static int retain_context(struct ks_gpu_device *g, void **ctx_out)
{
    int code = g->api.ctx_retain(ctx_out, g->number);

    if (code != KS_GPU_EBUSY)
        return code;
    ks_sleep_ns(BUSY_NS);
    return g->api.ctx_retain(ctx_out, g->number);
}

/* The context that a vendor's libraries in the same process would use too. */
static int enter_context(struct ks_gpu_device *g, struct ks_err *err)
{
    void *ctx = NULL;
    int rc;

    if (g->api.vendor == KS_GPU_HIP)
        return ks_gpu_status(g, g->api.set_device(g->number), KS_EDEVICE, err,
                             "choosing the device");
    rc = ks_gpu_status(g, retain_context(g, &ctx), KS_EDEVICE, err, "making a context");
    if (rc < 0)
        return rc;
    g->has_context = true;
    return ks_gpu_status(g, g->api.ctx_set(ctx), KS_EDEVICE, err, "choosing the context");
}

static int start(struct ks_gpu_device *g, const char *locator, struct ks_err *err)
{
    int rc = ks_gpu_first(&g->api, locator, &g->id, &g->number, err);

    if (rc == 0)
        rc = enter_context(g, err);
    if (rc == 0)
        rc = ks_gpu_status(g, g->api.stream_create(&g->stream, KS_GPU_STREAM_NON_BLOCKING),
                           KS_EDEVICE, err, "making a stream");
    if (rc == 0 && g->api.vendor == KS_GPU_CUDA)
        g->nvml = ks_nvml_open(KS_GPU_NVML, g->id.pci);
    if (rc == 0)
        rc = describe(g, err);
    if (rc == 0)
        rc = ks_gpu_gate_try(g, err);
    return rc;
}

static int open_of(const struct ks_device_ops *ops, enum ks_gpu_vendor vendor, const char *locator,
                   struct ks_device **dev_out, struct ks_err *err)
{
    struct ks_gpu_device *g = calloc(1, sizeof(*g));
    int rc;

    if (g == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory opening a device");
    g->base.ops = ops;
    rc = ks_gpu_load(vendor, &g->api, err);
    if (rc == 0)
        rc = ks_gpu_gate_init(&g->gate, err);
    if (rc < 0) {
        free(g);
        return rc;
    }
    rc = start(g, locator, err);
    if (rc < 0) {
        ops->close(&g->base);
        return rc;
    }
    *dev_out = &g->base;
    return 0;
}

static void release(struct ks_gpu_device *g)
{
    for (uint32_t i = 0; i < g->n_events; i++) {
        g->api.event_destroy(g->starts[i]);
        g->api.event_destroy(g->stops[i]);
    }
    while (g->blocks != NULL)
        g->base.ops->free(&g->base, g->blocks->ptr);
    if (g->scratch != 0)
        g->api.mem_free(g->scratch);
    if (g->sweep != 0)
        g->api.mem_free(g->sweep);
    if (g->stream != NULL)
        g->api.stream_destroy(g->stream);
    if (g->has_context)
        g->api.ctx_release(g->number);
}

/* After a sticky error everything would fail, or hang: the process is about to end anyway. */
static void forget(struct ks_gpu_device *g)
{
    while (g->blocks != NULL) {
        struct ks_gpu_block *b = g->blocks;

        g->blocks = b->next;
        free(b);
    }
}

static void gpu_close(struct ks_device *dev)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);

    if (g == NULL)
        return;
    if (g->lost == 0 && g->stream != NULL)
        (void)ks_gpu_sync(g, KS_EDEVICE, NULL, "");
    if (g->lost == 0)
        release(g);
    else
        forget(g);
    ks_nvml_close(g->nvml);
    ks_gpu_gate_release(&g->gate);
    free(g);
}

static int gpu_props(struct ks_device *dev, struct ks_device_props *out, struct ks_err *err)
{
    (void)err;
    *out = ks_gpu_of(dev)->props;
    return 0;
}

static int no_memory(struct ks_gpu_device *g, int code, size_t bytes, struct ks_err *err)
{
    size_t n_free = 0, n_all = 0;
    char what[96];

    snprintf(what, sizeof(what), "allocating %zu bytes", bytes);
    if (code == KS_GPU_EMEMORY && g->api.mem_info(&n_free, &n_all) == KS_GPU_OK)
        snprintf(what, sizeof(what), "allocating %zu bytes, %zu of %zu free", bytes, n_free, n_all);
    return ks_gpu_status(g, code, KS_EDEVICE, err, what);
}

/* CUDA aligns to 256 bytes: a page more makes room for more. */
static int gpu_alloc(struct ks_device *dev, size_t bytes, void **ptr_out, struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    struct ks_gpu_block *b;
    int rc = ks_gpu_ready(g, err);
    int code;

    if (rc < 0)
        return rc;
    if (bytes == 0 || bytes > SIZE_MAX - ALIGN)
        return ks_fail(err, KS_EINVAL, "cannot allocate %zu bytes", bytes);
    b = calloc(1, sizeof(*b));
    if (b == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory allocating %zu bytes", bytes);
    code = g->api.mem_alloc(&b->raw, bytes + ALIGN);
    if (code != KS_GPU_OK) {
        free(b);
        return no_memory(g, code, bytes, err);
    }
    b->ptr = (void *)(uintptr_t)((b->raw + ALIGN - 1) / ALIGN * ALIGN);
    b->next = g->blocks;
    g->blocks = b;
    *ptr_out = b->ptr;
    return 0;
}

static void gpu_free(struct ks_device *dev, void *ptr)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    struct ks_gpu_block **at = &g->blocks, *b;

    while (*at != NULL && (*at)->ptr != ptr)
        at = &(*at)->next;
    b = *at;
    if (ptr == NULL || b == NULL)
        return;
    *at = b->next;
    if (g->lost == 0) /* what was enqueued may still use it */
        (void)ks_gpu_sync(g, KS_EDEVICE, NULL, "");
    if (g->lost == 0)
        (void)ks_gpu_status(g, g->api.mem_free(b->raw), KS_EDEVICE, NULL, "");
    free(b);
}

/* The stream does not wait for copies of the host, nor they for it. CUDA may return from a copy
 * before the last of it has arrived. */
static int gpu_upload(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                      struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    int rc = ks_gpu_ready(g, err);

    if (rc == 0)
        rc = ks_gpu_sync(g, KS_EDEVICE, err, "before copying to the device");
    if (rc == 0)
        rc = ks_gpu_status(g, g->api.h2d((uintptr_t)dst, src, bytes), KS_EDEVICE, err,
                           "copying to the device");
    if (rc == 0)
        rc = ks_gpu_status(g, g->api.ctx_sync(), KS_EDEVICE, err, "after copying to the device");
    return rc;
}

static int gpu_download(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                        struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    int rc = ks_gpu_ready(g, err);

    if (rc == 0)
        rc = ks_gpu_sync(g, KS_EDEVICE, err, "before copying from the device");
    if (rc == 0)
        rc = ks_gpu_status(g, g->api.d2h(dst, (uintptr_t)src, bytes), KS_EDEVICE, err,
                           "copying from the device");
    return rc;
}

static int gpu_fill(struct ks_device *dev, void *ptr, uint32_t pattern, size_t bytes,
                    struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    int rc = ks_gpu_ready(g, err);

    if (rc == 0 && bytes > 0)
        rc = ks_gpu_status(g, g->api.set32((uintptr_t)ptr, pattern, bytes / 4, g->stream),
                           KS_EDEVICE, err, "filling memory of the device");
    return rc;
}

static void *gpu_host_view(struct ks_device *dev, void *ptr)
{
    (void)dev;
    (void)ptr;
    return NULL;
}

static void gpu_telemetry(struct ks_device *dev, bool with_energy, struct ks_telemetry *out)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);

    if (g->api.vendor == KS_GPU_HIP)
        ks_gpu_sysfs_telemetry(KS_GPU_SYSFS, g->id.pci, out);
    else if (g->nvml != NULL)
        ks_nvml_telemetry(g->nvml, with_energy, out);
    else
        *out = ks_telemetry_unknown();
}

double ks_gpu_clock_mhz(struct ks_gpu_device *g)
{
    struct ks_telemetry t;

    if (g->nvml != NULL)
        return ks_nvml_clock_mhz(g->nvml);
    gpu_telemetry(&g->base, false, &t);
    return t.now.clock_mhz;
}

static void gpu_limits(struct ks_device *dev, struct ks_device_limits *out)
{
    ks_gpu_limits_of(&ks_gpu_of(dev)->props, out);
}

/* What differs between the two: their names and how they are found. */
static int hip_list(const char *locator, struct ks_device_id *ids_out, uint32_t *n_out,
                    struct ks_err *err)
{
    return list_of(KS_GPU_HIP, locator, ids_out, n_out, err);
}

static int hip_open(const char *locator, struct ks_device **dev_out, struct ks_err *err)
{
    return open_of(&ks_device_hip, KS_GPU_HIP, locator, dev_out, err);
}

static int cuda_list(const char *locator, struct ks_device_id *ids_out, uint32_t *n_out,
                     struct ks_err *err)
{
    return list_of(KS_GPU_CUDA, locator, ids_out, n_out, err);
}

static int cuda_open(const char *locator, struct ks_device **dev_out, struct ks_err *err)
{
    return open_of(&ks_device_cuda, KS_GPU_CUDA, locator, dev_out, err);
}

#define COMMON                                                                                     \
    .abi = KS_DEVICE_ABI, .is_virtual = false, .queue = KS_GPU_QUEUE, .close = gpu_close,          \
    .props = gpu_props, .alloc = gpu_alloc, .free = gpu_free, .upload = gpu_upload,                \
    .download = gpu_download, .fill = gpu_fill, .host_view = gpu_host_view,                        \
    .module_open = ks_gpu_module_open, .module_close = ks_gpu_module_close,                        \
    .module_entry = ks_gpu_module_entry, .time_samples = ks_gpu_time_samples,                      \
    .flush = ks_gpu_flush, .touch = ks_gpu_touch, .canary = ks_gpu_canary,                         \
    .self_test = ks_gpu_self_test, .telemetry = gpu_telemetry, .limits = gpu_limits

const struct ks_device_ops ks_device_hip = { COMMON, .name = "hip", .list = hip_list,
                                             .open = hip_open };
const struct ks_device_ops ks_device_cuda = { COMMON, .name = "cuda", .list = cuda_list,
                                              .open = cuda_open };
