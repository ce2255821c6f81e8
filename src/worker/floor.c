/* SPDX-License-Identifier: MIT */
/* floor.c - the least time that a call can take: its FLOPs and bytes at the device's rates */
#include "worker/floor.h"

#include <stdio.h>

static void raise_to(struct ks_floor *f, bool is_flops, double amount, double per_s)
{
    double ns = 1e9 * amount / per_s;

    if (per_s <= 0.0 || amount <= 0.0 || ns <= f->ns)
        return;
    *f = (struct ks_floor){ .ns = ns, .is_flops = is_flops, .amount = amount, .per_s = per_s };
}

struct ks_floor ks_floor_of(const struct ks_work *work, size_t element_bytes, uint32_t numerics,
                            const struct ks_device_limits *limits)
{
    struct ks_floor f = { .ns = -1.0 };
    double bytes = (work->a + work->b + work->c) * (double)element_bytes;
    bool is_direct = numerics == KS_NUMERICS_FP32 || numerics == KS_NUMERICS_TRUNCATING;

    raise_to(&f, true, work->flops / (is_direct ? 1.0 : KS_FLOOR_FAST), limits->flops_per_s);
    for (uint32_t i = 0; i < limits->n_levels; i++) {
        raise_to(&f, false, bytes, limits->level[i].bytes_per_s);
        bytes -= (double)limits->level[i].bytes; /* what is left comes from farther away */
    }
    return f;
}

bool ks_floor_is_broken(const struct ks_floor *f, double call_ns)
{
    return f->ns > 0.0 && call_ns < KS_FLOOR_BROKEN * f->ns;
}

/* "14.2 G" of 1.42e10. */
static void put_scaled(double v, char out[16])
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
    size_t i = 0;

    while (v >= 999.5 && i + 1 < sizeof(prefixes) / sizeof(prefixes[0])) {
        v /= 1000.0;
        i++;
    }
    snprintf(out, 16, "%.3g %s", v, prefixes[i]);
}

static void put_time(double ns, char out[24])
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    size_t i = 0;

    while (ns >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0])) {
        ns /= 1000.0;
        i++;
    }
    snprintf(out, 24, "%.3g %s", ns, units[i]);
}

void ks_floor_reason(const struct ks_floor *f, double call_ns, char *out, size_t cap)
{
    const char *unit = f->is_flops ? "FLOP" : "B";
    char call[24], least[24], amount[16], per_s[16];

    put_time(call_ns, call);
    put_time(f->ns, least);
    put_scaled(f->amount, amount);
    put_scaled(f->per_s, per_s);
    snprintf(out, cap, "%s per call, but %s%s take at least %s at %s%s/s", call, amount, unit,
             least, per_s, unit);
}
