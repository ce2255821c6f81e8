/* SPDX-License-Identifier: MIT */
/* gpu_limits.c - upper bounds of a GPU's arithmetic and memory rates, by architecture */
#include "device/gpu_limits.h"

#include <ctype.h>
#include <string.h>

/* FLOPs of a unit in a cycle by its densest matrix instructions on 16-bit operands, zeros not left
 * out, and the bandwidth of the fastest memory of that architecture. Sources: NVIDIA's architecture
 * whitepapers (V100, Turing, A100, Ada, H100, Blackwell) and AMD's (CDNA 1 to 4) and instruction
 * set guides (RDNA 2 to 4): peak / (units x boost clock). */
static const struct row {
    const char
        *arch; /* the beginning of a name that does not go on with a digit, or with '*' any */
    double flops_per_cycle, bytes_per_s;
} rows[] = {
    { "gfx906", 256, 1.03e12 }, { "gfx908", 1024, 1.23e12 }, { "gfx90a", 1024, 1.64e12 },
    { "gfx94*", 2048, 6.0e12 }, { "gfx95*", 4096, 8.0e12 },  { "gfx103*", 256, 0.58e12 },
    { "gfx11*", 512, 0.96e12 }, { "gfx12*", 1024, 0.65e12 }, { "sm_60", 256, 0.74e12 },
    { "sm_61", 256, 0.55e12 },  { "sm_70", 1024, 1.14e12 },  { "sm_75", 1024, 0.68e12 },
    { "sm_80", 2048, 2.04e12 }, { "sm_86", 1024, 1.01e12 },  { "sm_89", 1024, 1.01e12 },
    { "sm_90", 4096, 4.9e12 },  { "sm_100", 8192, 8.0e12 },  { "sm_103", 8192, 8.0e12 },
    { "sm_120", 1024, 1.8e12 },
};

static bool is_of(const char *arch, const char *row)
{
    size_t n = strcspn(row, "*");

    return strncmp(arch, row, n) == 0 && (row[n] == '*' || !isdigit((unsigned char)arch[n]));
}

void ks_gpu_limits_of(const struct ks_device_props *p, struct ks_device_limits *out)
{
    *out = (struct ks_device_limits){ .n_levels = 0 };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!is_of(p->arch, rows[i].arch))
            continue;
        out->flops_per_s = rows[i].flops_per_cycle * p->n_units * 1e6 * p->clock_mhz;
        out->n_levels = 2;
        out->level[0] = (struct ks_memory_level){ .bytes = p->cache_bytes };
        out->level[1] = (struct ks_memory_level){ UINT64_MAX, rows[i].bytes_per_s };
        return;
    }
}
