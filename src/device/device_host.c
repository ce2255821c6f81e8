/* SPDX-License-Identifier: MIT */
/* device_host.c - this machine's CPU. Kernels are shared objects, memory is plain memory. */
#include "base/clock.h"
#include "device/backends.h"
#include "device/cold.h"
#include "device/host_info.h"
#include "device/host_limits.h"
#include "device/so_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SWEEP_MAX_BYTES ((size_t)64 << 20)
#define CANARY_STEPS    2000u

/* One allocation. A page without rights stands on either side, so that a wild kernel dies there
 * instead of changing another buffer. */
struct host_block {
    struct host_block *next;
    uint8_t *map;
    size_t map_bytes;
    uint8_t *ptr; /* what the caller got */
    size_t bytes;
};

struct host_device {
    struct ks_device base; /* first: the public view */
    struct host_block *blocks;
    uint8_t *sweep; /* NULL where lines can be evicted one by one */
    size_t sweep_bytes, page;
    double clock_ns;
    volatile double sink; /* keeps loops whose result nobody wants */
};

struct ks_module {
    struct ks_so_table so;
};

static struct host_device *host_of(struct ks_device *dev)
{
    return (struct host_device *)(void *)dev;
}

/* Smallest step seen between two readings: what a time stamp can tell apart, call included. */
static double measure_clock(void)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 400; i++) {
        uint64_t from = ks_now_ns();
        uint64_t to = ks_now_ns();

        if (to > from && to - from < best)
            best = to - from;
    }
    return best == UINT64_MAX ? 1e3 : (double)best;
}

/* Its devices are core sets, which the affinity of the process says. */
static int host_list(const char *locator, struct ks_device_id *ids_out, uint32_t *n_out,
                     struct ks_err *err)
{
    (void)locator;
    (void)err;
    ids_out[0] = (struct ks_device_id){ .unique = "cpu" };
    *n_out = 1;
    return 0;
}

static void host_close(struct ks_device *dev)
{
    struct host_device *h = host_of(dev);

    if (h == NULL)
        return;
    while (h->blocks != NULL)
        dev->ops->free(dev, h->blocks->ptr);
    free(h->sweep);
    free(h);
}

/* Where lines cannot be evicted one by one, writing a large buffer must do. */
static int prepare_sweep(struct host_device *h, struct ks_err *err)
{
    struct ks_host_info info;
    int cpu = sched_getcpu();

    if (ks_cold_can_evict())
        return 0;
    ks_host_info_read(cpu < 0 ? 0 : cpu, &info);
    h->sweep_bytes = 2 * (size_t)info.cache_bytes;
    if (h->sweep_bytes == 0 || h->sweep_bytes > SWEEP_MAX_BYTES)
        h->sweep_bytes = SWEEP_MAX_BYTES;
    h->sweep = malloc(h->sweep_bytes);
    if (h->sweep == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu bytes to flush caches",
                       h->sweep_bytes);
    return 0;
}

static int host_open(const char *locator, struct ks_device **dev_out, struct ks_err *err)
{
    struct host_device *h;
    int rc;

    if (locator[0] != '\0')
        return ks_fail(err, KS_ENODEVICE, "the host has one device, whose locator is '', not '%s'",
                       locator);
    h = calloc(1, sizeof(*h));
    if (h == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory opening the host device");
    h->base.ops = &ks_device_host;
    h->page = (size_t)sysconf(_SC_PAGESIZE);
    rc = prepare_sweep(h, err);
    if (rc < 0) {
        free(h);
        return rc;
    }
    h->clock_ns = measure_clock();
    *dev_out = &h->base;
    return 0;
}

static int host_props(struct ks_device *dev, struct ks_device_props *out, struct ks_err *err)
{
    struct ks_device_props p = { 0 };
    struct ks_host_info info;
    char cpus[sizeof(p.unique) - sizeof(info.machine_id)];
    cpu_set_t set;
    int cpu = sched_getcpu();

    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return ks_fail_errno(err, "affinity mask of this process");
    ks_host_info_read(cpu < 0 ? 0 : cpu, &info);
    ks_host_cpu_list(&set, cpus, sizeof(cpus));
    snprintf(p.name, sizeof(p.name), "%s", info.model[0] != '\0' ? info.model : "unknown CPU");
    snprintf(p.arch, sizeof(p.arch), "%s", info.arch);
    snprintf(p.locator, sizeof(p.locator), "cpu %d", cpu);
    snprintf(p.unique, sizeof(p.unique), "%s/%s", info.machine_id, cpus);
    p.memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    p.n_units = (uint32_t)CPU_COUNT(&set);
    p.cache_bytes = info.cache_bytes;
    p.clock_ns = host_of(dev)->clock_ns;
    *out = p;
    return 0;
}

static int host_alloc(struct ks_device *dev, size_t bytes, void **ptr_out, struct ks_err *err)
{
    struct host_device *h = host_of(dev);
    size_t page = h->page;
    size_t body = (bytes + page - 1) / page * page;
    struct host_block *b;

    if (bytes == 0 || body < bytes || body > SIZE_MAX - 2 * page)
        return ks_fail(err, KS_EINVAL, "cannot allocate %zu bytes", bytes);
    b = calloc(1, sizeof(*b));
    if (b == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory allocating %zu bytes", bytes);
    b->map_bytes = body + 2 * page;
    b->map = mmap(NULL, b->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->map == MAP_FAILED) {
        free(b);
        return ks_fail_errno(err, "allocating %zu bytes", bytes);
    }
    b->ptr = b->map + page;
    b->bytes = bytes;
    if (mprotect(b->ptr, body, PROT_READ | PROT_WRITE) < 0) {
        int rc = ks_fail_errno(err, "allocating %zu bytes", bytes);

        munmap(b->map, b->map_bytes);
        free(b);
        return rc;
    }
    b->next = h->blocks;
    h->blocks = b;
    *ptr_out = b->ptr;
    return 0;
}

static void host_free(struct ks_device *dev, void *ptr)
{
    struct host_block **at = &host_of(dev)->blocks;
    struct host_block *b;

    if (ptr == NULL)
        return;
    while (*at != NULL && (*at)->ptr != ptr)
        at = &(*at)->next;
    b = *at;
    if (b == NULL)
        return;
    *at = b->next;
    munmap(b->map, b->map_bytes);
    free(b);
}

static int host_fill(struct ks_device *dev, void *ptr, uint32_t pattern, size_t bytes,
                     struct ks_err *err)
{
    uint32_t *words = ptr;

    (void)dev;
    (void)err;
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        words[i] = pattern;
    return 0;
}

static int host_copy(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                     struct ks_err *err)
{
    (void)dev;
    (void)err;
    memcpy(dst, src, bytes);
    return 0;
}

static void *host_view(struct ks_device *dev, void *ptr)
{
    (void)dev;
    return ptr;
}

static int host_module_open(struct ks_device *dev, const char *path, struct ks_module **mod_out,
                            struct ks_err *err)
{
    struct ks_module *m = calloc(1, sizeof(*m));
    int rc;

    (void)dev;
    if (m == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory loading '%s'", path);
    rc = ks_so_table_open(path, &m->so, err);
    if (rc == 0 && m->so.image != NULL) {
        ks_so_table_close(&m->so);
        rc = ks_fail(err, KS_ELOAD, "'%s' contains kernels for a GPU, not for the host", path);
    }
    if (rc < 0) {
        free(m);
        return rc;
    }
    *mod_out = m;
    return 0;
}

static void host_module_close(struct ks_device *dev, struct ks_module *mod)
{
    (void)dev;
    if (mod == NULL)
        return;
    ks_so_table_close(&mod->so);
    free(mod);
}

static int host_module_entry(struct ks_device *dev, struct ks_module *mod, const char *name,
                             const struct ks_abi_entry **entry_out, struct ks_err *err)
{
    uint32_t i = 0;
    int rc = ks_so_table_find(&mod->so, name, &i, err);

    (void)dev;
    if (rc == 0)
        *entry_out = &mod->so.table->entries[i];
    return rc;
}

static int time_sample(const struct ks_timing *t, double *ns_out, int *kernel_rc_out,
                       struct ks_err *err)
{
    int (*run)(const struct ks_abi_problem *, const struct ks_abi_buffers *) = t->entry->run;
    const struct ks_abi_problem *p = t->problem;
    const struct ks_abi_buffers *buf = t->buf;
    uint32_t calls = t->calls;
    uint64_t from, to;
    int rc = 0;

    from = ks_now_ns();
    for (uint32_t i = 0; i < calls && rc == 0; i++)
        rc = run(p, buf);
    to = ks_now_ns();
    if (rc != 0) {
        *kernel_rc_out = rc;
        return ks_fail(err, KS_EDEVICE, "the kernel returned %d", rc);
    }
    *ns_out = (double)(to - from);
    return 0;
}

static int host_flush(struct ks_device *dev, struct ks_err *err)
{
    struct host_device *h = host_of(dev);

    (void)err;
    for (const struct host_block *b = h->blocks; b != NULL; b = b->next)
        ks_cold_evict(b->ptr, b->bytes);
    for (size_t i = 0; i < h->sweep_bytes; i += 64)
        h->sweep[i] = (uint8_t)(h->sweep[i] + 1u);
    return 0;
}

static int host_time_samples(struct ks_device *dev, const struct ks_timing *t, double *ns_out,
                             int *kernel_rc_out, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < t->n_samples && rc == 0; i++) {
        if (t->is_cold)
            rc = host_flush(dev, err);
        if (rc == 0)
            rc = time_sample(t, &ns_out[i], kernel_rc_out, err);
    }
    return rc;
}

static int host_touch(struct ks_device *dev, const void *ptr, size_t bytes, struct ks_err *err)
{
    const volatile uint8_t *p = ptr;

    (void)dev;
    (void)err;
    for (size_t i = 0; i < bytes; i += 64)
        (void)p[i];
    return 0;
}

/* The shortest of three loops of about 5 us: one interrupt cannot pass for a slow core. */
static int host_canary(struct ks_device *dev, double *ns_out, struct ks_err *err)
{
    struct host_device *h = host_of(dev);
    uint64_t best = UINT64_MAX;

    (void)err;
    for (int k = 0; k < 3; k++) {
        uint64_t from = ks_now_ns();
        double x = h->sink; /* not known to the compiler */
        uint64_t to;

        for (uint32_t i = 0; i < CANARY_STEPS; i++)
            x = x * 0.999 + 0.001;
        h->sink = x;
        to = ks_now_ns();
        best = to - from < best ? to - from : best;
    }
    *ns_out = (double)(best > 0 ? best : 1);
    return 0;
}

/* y = M x with small integers, once in floating point through device memory and once in integers.
 */
#define SELF_N 61

static int self_compute(struct ks_device *dev, void *mem, const float *x, float *y,
                        struct ks_err *err)
{
    float *d = mem;
    int rc = dev->ops->upload(dev, d, x, SELF_N * sizeof(*d), err);

    if (rc < 0)
        return rc;
    for (int i = 0; i < SELF_N; i++) {
        d[SELF_N + i] = 0.0f;
        for (int j = 0; j < SELF_N; j++)
            d[SELF_N + i] += (float)((i * 7 + j * 3) % 11 - 5) * d[j];
    }
    return dev->ops->download(dev, y, d + SELF_N, SELF_N * sizeof(*d), err);
}

static int host_self_test(struct ks_device *dev, struct ks_err *err)
{
    float x[SELF_N], y[SELF_N];
    void *mem = NULL;
    int rc = dev->ops->alloc(dev, sizeof(x) + sizeof(y), &mem, err);

    if (rc < 0)
        return rc;
    for (int j = 0; j < SELF_N; j++)
        x[j] = (float)(j * j % 13 - 6);
    rc = self_compute(dev, mem, x, y, err);
    for (int i = 0; rc == 0 && i < SELF_N; i++) {
        int want = 0;

        for (int j = 0; j < SELF_N; j++)
            want += ((i * 7 + j * 3) % 11 - 5) * (j * j % 13 - 6);
        if (y[i] != (float)want)
            rc = ks_fail(err, KS_EDEVICE, "self test: element %d is %g, not %d", i, (double)y[i],
                         want);
    }
    dev->ops->free(dev, mem);
    return rc;
}

static void host_telemetry(struct ks_device *dev, bool with_energy, struct ks_telemetry *out)
{
    (void)with_energy;
    (void)dev;
    *out = ks_telemetry_unknown();
}

static void host_limits(struct ks_device *dev, struct ks_device_limits *out)
{
    (void)dev;
    ks_host_limits_read(out);
}

const struct ks_device_ops ks_device_host = {
    .abi = KS_DEVICE_ABI,
    .name = "host",
    .is_virtual = false,
    .queue = 1,
    .list = host_list,
    .open = host_open,
    .close = host_close,
    .props = host_props,
    .alloc = host_alloc,
    .free = host_free,
    .upload = host_copy,
    .download = host_copy,
    .fill = host_fill,
    .host_view = host_view,
    .module_open = host_module_open,
    .module_close = host_module_close,
    .module_entry = host_module_entry,
    .time_samples = host_time_samples,
    .flush = host_flush,
    .touch = host_touch,
    .canary = host_canary,
    .self_test = host_self_test,
    .telemetry = host_telemetry,
    .limits = host_limits,
};
