/* SPDX-License-Identifier: MIT */
/* gpu_telemetry.c - reads clocks, power, temperature and load from sysfs (AMD) or NVML (NVIDIA) */
#include "device/gpu_telemetry.h"

#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 512 };

void ks_gpu_sysfs_text(const char *root, const char *pci, const char *name, char *out, size_t cap)
{
    char path[PATH_MAX_BYTES];

    out[0] = '\0';
    if (snprintf(path, sizeof(path), "%s/%s/%s", root, pci, name) < (int)sizeof(path))
        ks_file_first_line(path, out, cap);
}

/* A number in DIR/NAME times a scale; whether there is one. */
static bool number(const char *dir, const char *name, double scale, double *out)
{
    char path[PATH_MAX_BYTES], text[64];
    char *end = NULL;
    double v;

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
        return false;
    ks_file_first_line(path, text, sizeof(text));
    v = strtod(text, &end);
    if (end == text)
        return false;
    *out = v * scale;
    return true;
}

/* The device's monitor is a directory of its own, hwmonN with a number that nobody chose. */
static bool find_monitor(const char *dir, char *out, size_t cap)
{
    char parent[PATH_MAX_BYTES];
    const struct dirent *e = NULL;
    bool is_found;
    DIR *d;

    if (snprintf(parent, sizeof(parent), "%s/hwmon", dir) >= (int)sizeof(parent))
        return false;
    d = opendir(parent);
    if (d == NULL)
        return false;
    do {
        e = readdir(d);
    } while (e != NULL && strncmp(e->d_name, "hwmon", 5) != 0);
    is_found = e != NULL && snprintf(out, cap, "%s/%s", parent, e->d_name) < (int)cap;
    closedir(d);
    return is_found;
}

void ks_gpu_sysfs_telemetry(const char *root, const char *pci, struct ks_telemetry *out)
{
    struct ks_telemetry t = ks_telemetry_unknown();
    char dir[PATH_MAX_BYTES], monitor[PATH_MAX_BYTES];

    *out = t;
    if (pci[0] == '\0' || snprintf(dir, sizeof(dir), "%s/%s", root, pci) >= (int)sizeof(dir))
        return;
    number(dir, "gpu_busy_percent", 1e-2, &t.now.busy);
    if (find_monitor(dir, monitor, sizeof(monitor))) {
        number(monitor, "freq1_input", 1e-6, &t.now.clock_mhz);        /* Hz, of the shaders */
        number(monitor, "freq2_input", 1e-6, &t.now.memory_clock_mhz); /* Hz */
        if (!number(monitor, "power1_average", 1e-6, &t.now.power_w))  /* uW; older cards */
            number(monitor, "power1_input", 1e-6, &t.now.power_w);
        /* m°C: the hottest spot where it is told, else the edge. */
        if (!number(monitor, "temp2_input", 1e-3, &t.now.temperature_c))
            number(monitor, "temp1_input", 1e-3, &t.now.temperature_c);
    }
    *out = t;
}

/* --- NVML; its numbers are those of its documentation, release 11 and later */

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

/* nvmlClocksEventReasonGpuIdle. Telemetry is read while nothing is queued, so that this bit tells
 * of the harness, not of what held back a clock. */
#define NVML_REASON_IDLE 1ull

struct nvml_use {
    unsigned gpu, memory; /* per cent */
};

struct ks_nvml {
    void *device;
    bool counts_energy;
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_pci)(const char *, void **);
    int (*clock)(void *, int, unsigned *);
    int (*power)(void *, unsigned *);
    int (*energy)(void *, unsigned long long *); /* mJ since the driver was loaded; Volta on */
    int (*temperature)(void *, int, unsigned *);
    int (*reasons)(void *, unsigned long long *);
    int (*use)(void *, struct nvml_use *);
    int (*driver)(char *, unsigned);
};

static const struct nvml_slot {
    const char *name;
    size_t at;
    bool is_needed;
} nvml_slots[] = {
    { "nvmlInit_v2", offsetof(struct ks_nvml, init), true },
    { "nvmlShutdown", offsetof(struct ks_nvml, shutdown), true },
    { "nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct ks_nvml, by_pci), true },
    { "nvmlDeviceGetClockInfo", offsetof(struct ks_nvml, clock), false },
    { "nvmlDeviceGetPowerUsage", offsetof(struct ks_nvml, power), false },
    { "nvmlDeviceGetTotalEnergyConsumption", offsetof(struct ks_nvml, energy), false },
    { "nvmlDeviceGetTemperature", offsetof(struct ks_nvml, temperature), false },
    /* before release 12.2, then the name of today */
    { "nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct ks_nvml, reasons), false },
    { "nvmlDeviceGetCurrentClocksEventReasons", offsetof(struct ks_nvml, reasons), false },
    { "nvmlDeviceGetUtilizationRates", offsetof(struct ks_nvml, use), false },
    { "nvmlSystemGetDriverVersion", offsetof(struct ks_nvml, driver), false },
};

static bool nvml_load(const char *library, struct ks_nvml *n)
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    bool is_whole = lib != NULL;

    for (size_t i = 0; is_whole && i < sizeof(nvml_slots) / sizeof(nvml_slots[0]); i++) {
        void *p = dlsym(lib, nvml_slots[i].name);

        if (p != NULL)
            memcpy((char *)n + nvml_slots[i].at, &p, sizeof(p));
        else
            is_whole = !nvml_slots[i].is_needed;
    }
    return is_whole;
}

static bool read_energy(struct ks_nvml *nvml, struct ks_telemetry *t)
{
    unsigned long long mj;

    if (nvml->energy == NULL || nvml->energy(nvml->device, &mj) != 0)
        return false;
    t->energy_j = (double)mj * 1e-3;
    t->at_ns = ks_now_ns();
    return true;
}

struct ks_nvml *ks_nvml_open(const char *library, const char *pci)
{
    struct ks_telemetry t;
    struct ks_nvml *n = calloc(1, sizeof(*n));

    if (n == NULL || !nvml_load(library, n) || n->init() != 0)
        goto failed;
    if (n->by_pci(pci, &n->device) != 0) {
        n->shutdown();
        goto failed;
    }
    n->counts_energy = read_energy(n, &t);
    return n;
failed:
    free(n);
    return NULL;
}

void ks_nvml_close(struct ks_nvml *nvml)
{
    if (nvml == NULL)
        return;
    nvml->shutdown();
    free(nvml);
}

double ks_nvml_clock_mhz(struct ks_nvml *nvml)
{
    unsigned v;

    return nvml->clock != NULL && nvml->clock(nvml->device, NVML_CLOCK_SM, &v) == 0 ? v
                                                                                    : KS_UNKNOWN;
}

void ks_nvml_telemetry(struct ks_nvml *nvml, bool with_energy, struct ks_telemetry *out)
{
    struct ks_telemetry t = ks_telemetry_unknown();
    struct nvml_use use;
    unsigned long long reasons;
    unsigned v;

    t.now.clock_mhz = ks_nvml_clock_mhz(nvml);
    if (nvml->clock != NULL && nvml->clock(nvml->device, NVML_CLOCK_MEMORY, &v) == 0)
        t.now.memory_clock_mhz = v;
    if (nvml->counts_energy && with_energy)
        read_energy(nvml, &t);
    if (!nvml->counts_energy && nvml->power != NULL && nvml->power(nvml->device, &v) == 0)
        t.now.power_w = v * 1e-3; /* mW */
    if (nvml->temperature != NULL && nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &v) == 0)
        t.now.temperature_c = v;
    if (nvml->reasons != NULL && nvml->reasons(nvml->device, &reasons) == 0)
        t.throttle = (int64_t)(reasons & ~NVML_REASON_IDLE);
    if (nvml->use != NULL && nvml->use(nvml->device, &use) == 0)
        t.now.busy = use.gpu * 1e-2;
    *out = t;
}

void ks_nvml_driver(struct ks_nvml *nvml, char *out, size_t cap)
{
    if (nvml->driver == NULL || nvml->driver(out, (unsigned)cap) != 0)
        out[0] = '\0';
}
