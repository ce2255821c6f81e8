/* SPDX-License-Identifier: MIT */
/* host_limits.c - upper bounds of cores' arithmetic and memory rates, from flags, caches, clocks */
#include "device/host_limits.h"

#include "base/cpu_level.h"
#include "base/file.h"
#include "device/host_info.h"
#include "device/host_peak.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where Linux does not say a core's highest clock, as in most virtual machines: more than servers
 * have. */
#define CLOCK_HZ 5e9

/* Multiply-adds of 16-bit or 32-bit operands: products of an instruction, at two of them a cycle
 * (but AMX: 16 x 16 x 32 in 16 cycles). Sources: Intel's optimization reference manual, AMD's
 * software optimization guides. */
static const struct row {
    const char *flag;
    double flops;
    bool is_wide; /* 512 bits */
} rows[] = {
    { "amx_bf16", 1024, false },  { "amx_fp16", 1024, false },  { "avx512_fp16", 128, true },
    { "avx512_bf16", 128, true }, { "avx512_vnni", 128, true }, { "avx_vnni", 64, false },
    { "avx512f", 64, true },      { "fma", 32, false },         { "avx", 16, false },
    { "sse2", 8, false },
};

/* Zen 4 takes an instruction of 512 bits in two halves: 117.9 GFLOP/s fp32 and 235 bf16 at 3.7 GHz
 * were measured. */
static bool halves_wide(const char *cpuinfo)
{
    char vendor[32], family[16];

    ks_host_cpuinfo_value(cpuinfo, "vendor_id", vendor, sizeof(vendor));
    ks_host_cpuinfo_value(cpuinfo, "cpu family", family, sizeof(family));
    return strcmp(vendor, "AuthenticAMD") == 0 && strcmp(family, "25") == 0;
}

double ks_host_flops_per_cycle(const char *cpuinfo)
{
    double wide = halves_wide(cpuinfo) ? 0.5 : 1.0, most = 0.0;
    char flags[4096];

    ks_host_cpuinfo_value(cpuinfo, "flags", flags, sizeof(flags));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (ks_cpu_flags_has(flags, rows[i].flag))
            most = fmax(most, rows[i].flops * (rows[i].is_wide ? wide : 1.0));
    return most;
}

/* ---- what Linux says ---- */

static double number_in(const char *path)
{
    char text[64];

    ks_file_first_line(path, text, sizeof(text));
    return text[0] != '\0' ? strtod(text, NULL) : 0.0;
}

/* Adds cache `index` of a core, unless a core before it has the same one; false: there is none. */
static bool add_cache(const char *root, size_t cpu, int index, cpu_set_t seen[KS_HOST_CACHES],
                      struct ks_host_memory *out)
{
    char path[256], type[32], size[32];
    size_t first;
    int level;

    snprintf(path, sizeof(path), "%.128s/cpu%zu/cache/index%d/type", root, cpu, index);
    ks_file_first_line(path, type, sizeof(type));
    if (type[0] == '\0')
        return false;
    snprintf(path, sizeof(path), "%.128s/cpu%zu/cache/index%d/level", root, cpu, index);
    level = (int)number_in(path);
    snprintf(path, sizeof(path), "%.128s/cpu%zu/cache/index%d/size", root, cpu, index);
    ks_file_first_line(path, size, sizeof(size));
    snprintf(path, sizeof(path), "%.128s/cpu%zu/cache/index%d/shared_cpu_list", root, cpu, index);
    first = (size_t)number_in(path); /* of "4-7" */
    if (strcmp(type, "Instruction") == 0 || level < 1 || level > KS_HOST_CACHES ||
        first >= CPU_SETSIZE || CPU_ISSET(first, &seen[level - 1]))
        return true;
    CPU_SET(first, &seen[level - 1]);
    out->cache_bytes[level - 1] += ks_host_size_from(size);
    return true;
}

void ks_host_memory_read(const char *root, const cpu_set_t *cpus, struct ks_host_memory *out)
{
    cpu_set_t seen[KS_HOST_CACHES];
    bool is_said = true;

    memset(seen, 0, sizeof(seen));
    memset(out, 0, sizeof(*out));
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        char path[256];
        double khz;

        if (!CPU_ISSET(cpu, cpus))
            continue;
        snprintf(path, sizeof(path), "%.128s/cpu%zu/cpufreq/cpuinfo_max_freq", root, cpu);
        khz = number_in(path);
        is_said = is_said && khz > 0.0;
        out->clock_hz = fmax(out->clock_hz, 1e3 * khz);
        for (int index = 0; index < 8 && add_cache(root, cpu, index, seen, out); index++)
            ;
    }
    out->clock_hz = is_said ? out->clock_hz : 0.0;
}

/* ---- bounds ---- */

/* Bytes of a core in a cycle, reads and writes together: more than any of today has. The last is
 * the memory. */
static const double bytes_per_cycle[KS_HOST_CACHES + 1] = { 256, 128, 64, 64, 16 };

void ks_host_limits_of(double flops_per_cycle, double measured_flops_per_s,
                       const struct ks_host_memory *memory, uint32_t n_cores,
                       struct ks_device_limits *out)
{
    double clock = memory->clock_hz > 0.0 ? memory->clock_hz : CLOCK_HZ;
    double cycles = clock * n_cores;
    bool has_caches = memory->cache_bytes[0] > 0;

    *out = (struct ks_device_limits){ .n_levels = 0 };
    if (flops_per_cycle <= 0.0)
        return;
    out->flops_per_s = fmax(flops_per_cycle * clock, measured_flops_per_s) * n_cores;
    for (size_t i = 0; has_caches && i < KS_HOST_CACHES; i++)
        if (memory->cache_bytes[i] > 0)
            out->level[out->n_levels++] =
                (struct ks_memory_level){ memory->cache_bytes[i], bytes_per_cycle[i] * cycles };
    if (has_caches)
        out->level[out->n_levels++] =
            (struct ks_memory_level){ UINT64_MAX, bytes_per_cycle[KS_HOST_CACHES] * cycles };
}

void ks_host_limits_read(struct ks_device_limits *out)
{
    struct ks_host_memory memory;
    char cpuinfo[8192];
    cpu_set_t cpus;

    *out = (struct ks_device_limits){ .n_levels = 0 };
    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
        return;
    ks_host_cpuinfo_read(cpuinfo, sizeof(cpuinfo));
    ks_host_memory_read("/sys/devices/system/cpu", &cpus, &memory);
    ks_host_limits_of(ks_host_flops_per_cycle(cpuinfo), ks_host_peak_measure(), &memory,
                      (uint32_t)CPU_COUNT(&cpus), out);
}
