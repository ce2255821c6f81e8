/* SPDX-License-Identifier: MIT */
/* fit.c - whether a block of a GPU kernel fits the LDS and registers of its target */
#include "build/fit.h"

#include <stdbool.h>
#include <string.h>

#define KIB 1024

/* What a block may have. A target is known by the beginning of its name, the first row that fits;
 * registers are those of a lane that the waves of one SIMD share. */
static const struct limits {
    const char *target;
    int64_t lds_bytes;
    int32_t registers, granule; /* of a lane: all waves together, and how they are handed out */
    int32_t simds;              /* that the waves of a block are spread over */
    int32_t lane_most;          /* registers that a lane can name */
} limits[] = {
    { "gfx908", 64 * KIB, 256, 4, 4, 256 },    { "gfx950", 160 * KIB, 512, 8, 4, 512 },
    { "gfx90a", 64 * KIB, 512, 8, 4, 512 },    { "gfx94", 64 * KIB, 512, 8, 4, 512 },
    { "gfx1100", 64 * KIB, 1536, 24, 4, 256 }, { "gfx1101", 64 * KIB, 1536, 24, 4, 256 },
    { "gfx11", 64 * KIB, 1024, 16, 4, 256 },   { "gfx120", 64 * KIB, 1536, 24, 4, 256 },
    { "sm_80", 163 * KIB, 512, 8, 4, 255 },    { "sm_86", 99 * KIB, 512, 8, 4, 255 },
    { "sm_87", 163 * KIB, 512, 8, 4, 255 },    { "sm_89", 99 * KIB, 512, 8, 4, 255 },
    { "sm_90", 227 * KIB, 512, 8, 4, 255 },    { "sm_100", 227 * KIB, 512, 8, 4, 255 },
    { "sm_103", 227 * KIB, 512, 8, 4, 255 },   { "sm_12", 99 * KIB, 512, 8, 4, 255 },
};

static const struct limits *find(const char *target)
{
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
        if (strncmp(target, limits[i].target, strlen(limits[i].target)) == 0)
            return &limits[i];
    return NULL;
}

static int64_t up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* Whether all waves of a block have registers at the same time. */
static bool has_registers(const struct limits *l, const struct ks_code_object *c)
{
    if (c->vgprs < 0 || c->wave <= 0 || c->max_threads <= 0)
        return true;
    const int64_t waves = up(up(c->max_threads, c->wave), l->simds);
    return c->vgprs <= l->lane_most &&
           waves * up(c->vgprs, l->granule) * l->granule <= l->registers;
}

const char *ks_code_object_unfit(const struct ks_code_object *c)
{
    const struct limits *l = find(c->target);
    if (!l)
        return NULL;
    if (c->lds_bytes > l->lds_bytes)
        return "needs more LDS (shared memory) per block than the device has";
    return has_registers(l, c) ? NULL : "needs more registers per block than the device has";
}
