/* SPDX-License-Identifier: MIT */
/* peak.c - peak rates of AMD's GPUs, by architecture and units, from data sheets */
/* Sources: AMD's data sheets and CDNA white papers (MI50, MI100, MI200, MI300, MI350): operations
 * per clock and compute unit, highest engine clock. Bytes per clock and unit are those of the
 * vector L1 cache, 64; 128 from CDNA 3 on, whose lines are as long: an upper limit of what can be
 * stored. */
#include "analysis/import/peak.h"
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *arch;
    double clock_hz, flops_per_clock[KS_N_DTYPES]; /* of one unit: fp32, fp16, bf16; 0 unknown */
    double bytes_per_clock;
} archs[] = {
    { "gfx1030", 0, { 0 }, 0 },
    { "gfx1031", 0, { 0 }, 0 },
    { "gfx1100", 0, { 0 }, 0 },
    { "gfx1101", 0, { 0 }, 0 },
    { "gfx1102", 0, { 0 }, 0 },
    { "gfx1200", 0, { 0 }, 0 },
    { "gfx1201", 0, { 0 }, 0 },
    { "gfx803", 0, { 0 }, 0 },
    { "gfx900", 0, { 0 }, 0 },
    { "gfx906", 1.8e9, { 128, 256, 128 }, 64 },
    { "gfx908", 1.502e9, { 256, 1024, 512 }, 64 },
    { "gfx90a", 1.7e9, { 256, 1024, 1024 }, 64 },
    { "gfx940", 0, { 0 }, 0 },
    { "gfx941", 0, { 0 }, 0 },
    { "gfx942", 2.1e9, { 256, 2048, 2048 }, 128 },
    { "gfx950", 2.4e9, { 256, 4096, 4096 }, 128 },
};
#define N_ARCHS (sizeof(archs) / sizeof(archs[0]))

double ks_peak_flops(const char *arch, double n_units, uint32_t dtype)
{
    for (size_t i = 0; i < N_ARCHS; i++)
        if (strcmp(archs[i].arch, arch) == 0 && dtype < KS_N_DTYPES)
            return archs[i].clock_hz * archs[i].flops_per_clock[dtype] * n_units;
    return 0;
}

double ks_peak_bytes(const char *arch, double n_units)
{
    for (size_t i = 0; i < N_ARCHS; i++)
        if (strcmp(archs[i].arch, arch) == 0)
            return archs[i].clock_hz * archs[i].bytes_per_clock * n_units;
    return 0;
}

int ks_peak_arch(const char *name, char *arch_out, uint32_t cap, uint32_t *n_units_out)
{
    for (size_t i = 0; i < N_ARCHS; i++) {
        size_t n = strlen(archs[i].arch);
        int base = name[n < strlen(name) ? n : 0] == '_' ? 10 : 16;
        const char *digits = name + n + (base == 10);
        unsigned long units;
        char *end;

        if (strncmp(name, archs[i].arch, n) != 0)
            continue;
        units = strtoul(digits, &end, base);
        *n_units_out = end > digits && units < 100000 ? (uint32_t)units : 0;
        snprintf(arch_out, cap, "%s", archs[i].arch);
        return 1;
    }
    return 0;
}
