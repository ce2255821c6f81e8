/* SPDX-License-Identifier: MIT */
/* device_sim.c - no hardware: a time follows from (problem, instance, seed), with a little noise.
 * Virtual time advances by it; nobody waits unless a test asks for sleep_us. What repeated sweeps
 * of real devices suffer from can be planted: workers that differ (scatter_ppm), a coarse event
 * clock (tick_ns), a boost at first (boost_ppm), throttling at times (throttle_ppm). */
#include "base/clock.h"
#include "base/hash.h"
#include "device/backends.h"
#include "device/sim_visible.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISE     0.002 /* half-width of the uniform noise */
#define CANARY_NS 50000.0
/* Planted: virtual time. */
#define BOOST_NS    20e6    /* after it was opened it is faster for so long */
#define MOST_PPM    500000u /* of what makes times shorter */
#define THROTTLE_NS 100e6   /* in the second half of each such span it is slower */

enum sim_fail { FAIL_NONE = 0, FAIL_RUN = 1, FAIL_SELF_TEST = 2, FAIL_ALL = 3 };

struct sim_device {
    struct ks_device base; /* first: the public view */
    uint64_t seed, sleep_us, n_timed;
    uint64_t n_devices; /* of this host; 0 = without limit, each process its own */
    uint64_t scatter_ppm, tick_ns, boost_ppm, throttle_ppm;
    uint64_t process; /* random: what differs between two workers follows from it */
    struct ks_device_id id;
    double mean_ns, now_ns;
    unsigned fail;       /* enum sim_fail, bits */
    uint64_t rank, only; /* fail holds on this rank only; UINT64_MAX: on all */
};

/* An entry is made for every name that is asked for; they live as long as the module. */
struct sim_entry {
    struct sim_entry *next;
    struct ks_abi_entry abi;
    char name[];
};
struct ks_module {
    struct sim_entry *entries;
};

static struct sim_device *sim_of(struct ks_device *dev)
{
    return (struct sim_device *)(void *)dev;
}

static int whole_number(const char *text, uint64_t *out)
{
    char *end = NULL;
    unsigned long long v;

    if (text[0] < '0' || text[0] > '9')
        return -1;
    errno = 0;
    v = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return -1;
    *out = v;
    return 0;
}

static int fail_mode(const char *text, unsigned *out)
{
    static const char *const names[] = { "none", "run", "self_test", "all" };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    return -1;
}

#define AT(member) offsetof(struct sim_device, member)
static const struct {
    const char *name;
    size_t at; /* a uint64_t */
} numbers[] = {
    { "seed", AT(seed) },
    { "sleep_us", AT(sleep_us) },
    { "n_devices", AT(n_devices) },
    { "only", AT(only) },
    { "rank", AT(rank) },
    { "scatter_ppm", AT(scatter_ppm) },
    { "tick_ns", AT(tick_ns) },
    { "boost_ppm", AT(boost_ppm) },
    { "throttle_ppm", AT(throttle_ppm) },
};
#undef AT

static int set_number(struct sim_device *s, const char *word)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        size_t n = strlen(numbers[i].name);

        if (strncmp(word, numbers[i].name, n) == 0 && word[n] == '=')
            return whole_number(word + n + 1, (uint64_t *)(void *)((char *)s + numbers[i].at));
    }
    return -1;
}

static int set_key(struct sim_device *s, const char *word, struct ks_err *err)
{
    uint64_t v = 0;
    int rc = -1;

    if (strncmp(word, "fail=", 5) == 0) {
        rc = fail_mode(word + 5, &s->fail);
    } else if (strncmp(word, "ns=", 3) == 0) {
        rc = whole_number(word + 3, &v);
        rc = v == 0 ? -1 : rc;
        s->mean_ns = (double)v;
    } else {
        rc = set_number(s, word);
        if (s->n_devices > KS_DEVICES_MAX || s->scatter_ppm > MOST_PPM || s->boost_ppm > MOST_PPM)
            rc = -1;
    }
    return rc == 0 ? 0
                   : ks_fail(err, KS_ENODEVICE,
                             "simulated device: '%s' is not seed=N, ns=N, sleep_us=N, "
                             "n_devices=N (at most %u), fail=none|run|self_test|all, only=RANK, "
                             "rank=N, tick_ns=N, throttle_ppm=N, scatter_ppm=N or boost_ppm=N "
                             "(both at most 500000)",
                             word, KS_DEVICES_MAX);
}

static int parse_locator(struct sim_device *s, const char *locator, struct ks_err *err)
{
    char text[128];
    char *rest = text;
    int rc = 0;

    if (strlen(locator) >= sizeof(text))
        return ks_fail(err, KS_ENODEVICE, "simulated device: locator of %zu bytes",
                       strlen(locator));
    snprintf(text, sizeof(text), "%s", locator);
    while (rc == 0 && rest != NULL && *rest != '\0')
        rc = set_key(s, strsep(&rest, ","), err);
    if (s->only != UINT64_MAX && s->only != s->rank)
        s->fail = FAIL_NONE;
    return rc;
}

static uint32_t list_devices(const struct sim_device *s, struct ks_device_id *ids_out)
{
    uint32_t index[KS_DEVICES_MAX], n;

    if (s->n_devices == 0) {
        ids_out[0] = (struct ks_device_id){ .pci = "" };
        snprintf(ids_out[0].unique, sizeof(ids_out[0].unique), "sim/%llu",
                 (unsigned long long)s->seed);
        return 1;
    }
    n = ks_sim_visible((uint32_t)s->n_devices, index);
    for (uint32_t i = 0; i < n; i++)
        ks_sim_id(index[i], &ids_out[i]);
    return n;
}

static int sim_list(const char *locator, struct ks_device_id *ids_out, uint32_t *n_out,
                    struct ks_err *err)
{
    struct sim_device s = { .n_devices = 0 };
    int rc = parse_locator(&s, locator, err);

    if (rc < 0)
        return rc;
    *n_out = list_devices(&s, ids_out);
    return 0;
}

static int find_device(struct sim_device *s, struct ks_err *err)
{
    struct ks_device_id ids[KS_DEVICES_MAX];

    if (list_devices(s, ids) == 0)
        return ks_fail(err, KS_ENODEVICE, "simulated device: none of the %llu devices is visible",
                       (unsigned long long)s->n_devices);
    s->id = ids[0];
    return 0;
}

static int sim_open(const char *locator, struct ks_device **dev_out, struct ks_err *err)
{
    struct sim_device *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory opening the simulated device");
    s->base.ops = &ks_device_sim;
    s->mean_ns = 100e3;
    s->only = UINT64_MAX;
    s->process = ks_id128_random().lo;
    rc = parse_locator(s, locator, err);
    if (rc == 0)
        rc = find_device(s, err);
    if (rc < 0) {
        free(s);
        return rc;
    }
    *dev_out = &s->base;
    return 0;
}

static void sim_close(struct ks_device *dev)
{
    free(dev);
}

static int sim_props(struct ks_device *dev, struct ks_device_props *out, struct ks_err *err)
{
    struct ks_device_props p = { .name = "simulated device",
                                 .arch = "sim",
                                 .memory_bytes = (uint64_t)16 << 30,
                                 .n_units = 1,
                                 .cache_bytes = (uint64_t)1 << 20,
                                 .clock_ns = 1.0 };
    const uint64_t tick_ns = sim_of(dev)->tick_ns;

    (void)err;
    if (tick_ns > 0)
        p.clock_ns = (double)tick_ns;
    if (sim_of(dev)->id.pci[0] != '\0')
        snprintf(p.locator, sizeof(p.locator), "%s", sim_of(dev)->id.pci);
    else
        snprintf(p.locator, sizeof(p.locator), "seed=%llu", (unsigned long long)sim_of(dev)->seed);
    snprintf(p.unique, sizeof(p.unique), "%s", sim_of(dev)->id.unique);
    *out = p;
    return 0;
}

static int sim_alloc(struct ks_device *dev, size_t bytes, void **ptr_out, struct ks_err *err)
{
    void *p = NULL;

    (void)dev;
    if (bytes == 0 || bytes > SIZE_MAX - 4096)
        return ks_fail(err, KS_EINVAL, "cannot allocate %zu bytes", bytes);
    if (posix_memalign(&p, 4096, bytes) != 0)
        return ks_fail(err, KS_ENOMEM, "out of memory allocating %zu bytes", bytes);
    *ptr_out = p;
    return 0;
}

static void sim_free(struct ks_device *dev, void *ptr)
{
    (void)dev;
    free(ptr);
}

static int sim_copy(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                    struct ks_err *err)
{
    (void)dev;
    (void)err;
    memcpy(dst, src, bytes);
    return 0;
}

static int sim_fill(struct ks_device *dev, void *ptr, uint32_t pattern, size_t bytes,
                    struct ks_err *err)
{
    uint32_t *words = ptr;

    (void)dev;
    (void)err;
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        words[i] = pattern;
    return 0;
}

/* Memory like a GPU's, which the host cannot see: callers must upload and download. */
static void *sim_host_view(struct ks_device *dev, void *ptr)
{
    (void)dev;
    (void)ptr;
    return NULL;
}

static int sim_module_open(struct ks_device *dev, const char *path, struct ks_module **mod_out,
                           struct ks_err *err)
{
    struct ks_module *m = calloc(1, sizeof(*m));

    (void)dev;
    if (m == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory loading '%s'", path);
    *mod_out = m;
    return 0;
}

static void sim_module_close(struct ks_device *dev, struct ks_module *mod)
{
    (void)dev;
    if (mod == NULL)
        return;
    while (mod->entries != NULL) {
        struct sim_entry *e = mod->entries;

        mod->entries = e->next;
        free(e);
    }
    free(mod);
}

static const char *sim_unsupported(const struct ks_abi_problem *p)
{
    (void)p;
    return NULL;
}

static int64_t sim_workspace_bytes(const struct ks_abi_problem *p)
{
    (void)p;
    return 0;
}

static int sim_run(const struct ks_abi_problem *p, const struct ks_abi_buffers *buf)
{
    (void)p;
    (void)buf;
    return 0;
}

static int sim_module_entry(struct ks_device *dev, struct ks_module *mod, const char *name,
                            const struct ks_abi_entry **entry_out, struct ks_err *err)
{
    size_t n = strlen(name) + 1;
    struct sim_entry *e;

    (void)dev;
    if (n == 1)
        return ks_fail(err, KS_ELOAD, "an entry needs a name");
    for (e = mod->entries; e != NULL; e = e->next) {
        if (strcmp(e->name, name) == 0) {
            *entry_out = &e->abi;
            return 0;
        }
    }
    e = calloc(1, sizeof(*e) + n);
    if (e == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for entry '%s'", name);
    memcpy(e->name, name, n);
    e->abi = (struct ks_abi_entry){ .name = e->name,
                                    .unsupported = sim_unsupported,
                                    .workspace_bytes = sim_workspace_bytes,
                                    .run = sim_run };
    e->next = mod->entries;
    mod->entries = e;
    *entry_out = &e->abi;
    return 0;
}

/* Uniform in [0, 1). */
static double unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* Half to twice the mean, fixed for a problem and an instance on a device. */
static double call_ns(const struct sim_device *s, const struct ks_abi_problem *p, const char *name)
{
    uint64_t h = ks_mix64(s->seed ^ ks_id64(p, sizeof(*p)));

    h = ks_mix64(h ^ ks_id64(name, strlen(name)));
    return s->mean_ns * (0.5 + 1.5 * unit(h));
}

static double part(uint64_t ppm)
{
    return 1e-6 * (double)ppm;
}

/* What was planted: workers differ, in all instances alike and in each by itself; the clock of the
 * device is high at first and low at times. */
static double planted(const struct sim_device *s, const char *name)
{
    uint64_t own = ks_mix64(s->process ^ ks_id64(name, strlen(name)));
    double factor = 1.0 + part(s->scatter_ppm) * (unit(s->process) + unit(own) - 1.0);
    bool is_slow = fmod(s->now_ns, THROTTLE_NS) >= THROTTLE_NS / 2;

    if (s->now_ns < BOOST_NS)
        factor *= 1.0 - part(s->boost_ppm);
    return is_slow ? factor * (1.0 + part(s->throttle_ppm)) : factor;
}

/* As an event clock of this resolution tells it. */
static double ticks(const struct sim_device *s, double ns)
{
    return s->tick_ns > 0 ? (double)s->tick_ns * rint(ns / (double)s->tick_ns) : ns;
}

static int time_sample(struct sim_device *s, const struct ks_timing *t, double *ns_out,
                       struct ks_err *err)
{
    double noise, ns;

    if (s->sleep_us > 0)
        ks_sleep_ns(s->sleep_us * 1000u);
    if ((s->fail & FAIL_RUN) != 0)
        return ks_fail(err, KS_EDEVICE, "simulated device failure");
    noise = NOISE * (2.0 * unit(ks_mix64(s->seed ^ ks_mix64(s->n_timed++))) - 1.0);
    ns = (double)t->calls * call_ns(s, t->problem, t->entry->name) * (1.0 + noise);
    ns *= planted(s, t->entry->name);
    *ns_out = ticks(s, ns);
    s->now_ns += ns;
    return 0;
}

static int sim_time_samples(struct ks_device *dev, const struct ks_timing *t, double *ns_out,
                            int *kernel_rc_out, struct ks_err *err)
{
    int rc = 0;

    (void)kernel_rc_out;
    for (uint32_t i = 0; i < t->n_samples && rc == 0; i++)
        rc = time_sample(sim_of(dev), t, &ns_out[i], err);
    return rc;
}

static int sim_flush(struct ks_device *dev, struct ks_err *err)
{
    (void)dev;
    (void)err;
    return 0;
}

static int sim_touch(struct ks_device *dev, const void *ptr, size_t bytes, struct ks_err *err)
{
    (void)dev;
    (void)ptr;
    (void)bytes;
    (void)err;
    return 0;
}

static int sim_canary(struct ks_device *dev, double *ns_out, struct ks_err *err)
{
    (void)err;
    sim_of(dev)->now_ns += CANARY_NS;
    *ns_out = CANARY_NS;
    return 0;
}

static int sim_self_test(struct ks_device *dev, struct ks_err *err)
{
    if ((sim_of(dev)->fail & FAIL_SELF_TEST) != 0)
        return ks_fail(err, KS_EDEVICE, "self test: simulated device failure");
    return 0;
}

static void sim_telemetry(struct ks_device *dev, bool with_energy, struct ks_telemetry *out)
{
    (void)with_energy;
    (void)dev;
    *out = ks_telemetry_unknown();
}

/* It computes nothing, so nothing bounds it. */
static void sim_limits(struct ks_device *dev, struct ks_device_limits *out)
{
    (void)dev;
    *out = (struct ks_device_limits){ .n_levels = 0 };
}

const struct ks_device_ops ks_device_sim = {
    .abi = KS_DEVICE_ABI,
    .name = "sim",
    .is_virtual = true,
    .queue = 1,
    .list = sim_list,
    .open = sim_open,
    .close = sim_close,
    .props = sim_props,
    .alloc = sim_alloc,
    .free = sim_free,
    .upload = sim_copy,
    .download = sim_copy,
    .fill = sim_fill,
    .host_view = sim_host_view,
    .module_open = sim_module_open,
    .module_close = sim_module_close,
    .module_entry = sim_module_entry,
    .time_samples = sim_time_samples,
    .flush = sim_flush,
    .touch = sim_touch,
    .canary = sim_canary,
    .self_test = sim_self_test,
    .telemetry = sim_telemetry,
    .limits = sim_limits,
};
