/* SPDX-License-Identifier: MIT */
/* test_device_limits.c - what devices are said to do at most, by every backend */
/* By CPU flags, by what Linux says of caches and clocks, by a GPU's architecture. */
#include "base/file.h"
#include "device/backends.h"
#include "device/gpu_limits.h"
#include "device/host_limits.h"
#include "device/host_peak.h"
#include "tests/unit/so.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct {
    const char *cpuinfo;
    double flops;
} cpu_rows[] = {
    { "flags\t\t: fpu sse2", 8 },
    { "flags\t\t: fpu sse2 avx", 16 },
    { "flags\t\t: fpu sse2 avx avx2 fma", 32 },
    { "flags\t\t: fma avx512f", 64 },
    { "flags\t\t: fma avx512f avx512_bf16 avx512_vnni", 128 },
    { "flags\t\t: fma avx512f avx512_bf16 avx512_fp16 amx_tile amx_bf16 amx_int8", 1024 },
    { "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nflags\t\t: fma avx512f avx512_bf16", 64 },
    { "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nflags\t\t: fma avx2", 32 },
    { "vendor_id\t: AuthenticAMD\ncpu family\t: 26\nflags\t\t: fma avx512f avx512_bf16", 128 },
    { "processor\t: 0\nFeatures\t: fp asimd sve", 0 },
    { "", 0 },
};

static void test_cpu_flags(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cpu_rows) / sizeof(cpu_rows[0]); i++) {
        double flops = ks_host_flops_per_cycle(cpu_rows[i].cpuinfo);

        if (flops != cpu_rows[i].flops)
            fail_msg("'%s': %g", cpu_rows[i].cpuinfo, flops);
    }
}

/* ---- what Linux says ---- */

static void put(const char *dir, const char *name, const char *text)
{
    char path[512], *slash;

    assert_true(snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path));
    slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(ks_mkdirs(path, 0755, NULL), 0);
    *slash = '/';
    assert_int_equal(ks_file_replace(path, text, strlen(text), NULL), 0);
}

static void put_cache(const char *dir, int cpu, int index, const char *level_type_size_shared[4])
{
    static const char *const names[] = { "level", "type", "size", "shared_cpu_list" };
    char name[80];

    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "cpu%d/cache/index%d/%s", cpu, index, names[i]);
        put(dir, name, level_type_size_shared[i]);
    }
}

/* Four cores, two of which share a second level, all the third. */
static void put_cpus(const char *dir)
{
    for (int cpu = 0; cpu < 4; cpu++) {
        char own[16], name[60];
        const char *l1[4] = { "1\n", "Data\n", "32K\n", own };
        const char *code[4] = { "1\n", "Instruction\n", "64K\n", own };
        const char *l2[4] = { "2\n", "Unified\n", "1024K\n", cpu < 2 ? "0-1\n" : "2-3\n" };
        const char *l3[4] = { "3\n", "Unified\n", "32M\n", "0-3\n" };

        snprintf(own, sizeof(own), "%d\n", cpu);
        put_cache(dir, cpu, 0, l1);
        put_cache(dir, cpu, 1, code);
        put_cache(dir, cpu, 2, l2);
        put_cache(dir, cpu, 3, l3);
        snprintf(name, sizeof(name), "cpu%d/cpufreq/cpuinfo_max_freq", cpu);
        if (cpu < 3)
            put(dir, name, cpu == 1 ? "3700000\n" : "2500000\n");
    }
}

static void test_memory(void **state)
{
    const struct so_place *p = *state;
    struct ks_host_memory m;
    cpu_set_t cpus;

    put_cpus(p->dir);
    CPU_ZERO(&cpus);
    for (size_t i = 0; i < 3; i++)
        CPU_SET(i, &cpus);
    ks_host_memory_read(p->dir, &cpus, &m);
    assert_int_equal(m.cache_bytes[0], 3 * 32768);
    assert_int_equal(m.cache_bytes[1], 2 << 20);
    assert_int_equal(m.cache_bytes[2], 32 << 20);
    assert_int_equal(m.cache_bytes[3], 0);
    assert_true(m.clock_hz == 3.7e9);
    CPU_SET(3, &cpus); /* whose clock is not said */
    ks_host_memory_read(p->dir, &cpus, &m);
    assert_int_equal(m.cache_bytes[0], 4 * 32768);
    assert_int_equal(m.cache_bytes[2], 32 << 20);
    assert_true(m.clock_hz == 0.0);
    CPU_SET(7, &cpus); /* which is not there */
    ks_host_memory_read("/nowhere", &cpus, &m);
    assert_true(m.cache_bytes[0] == 0 && m.clock_hz == 0.0);
}

static void test_bounds(void **state)
{
    const struct ks_host_memory m = { { 32768, 1 << 20, 0, 0 }, 4e9 }, unknown = { { 0 }, 0 };
    struct ks_device_limits l;

    (void)state;
    ks_host_limits_of(32, 1e9, &m, 3, &l);
    assert_true(l.flops_per_s == 3 * 32 * 4e9);
    assert_int_equal(l.n_levels, 3);
    assert_int_equal(l.level[0].bytes, 32768);
    assert_int_equal(l.level[1].bytes, 1 << 20);
    assert_true(l.level[2].bytes == UINT64_MAX);
    assert_true(l.level[0].bytes_per_s > l.level[1].bytes_per_s &&
                l.level[1].bytes_per_s > l.level[2].bytes_per_s);
    assert_true(l.level[2].bytes_per_s >= 3 * 50e9);
    ks_host_limits_of(32, 200e9, &m, 3, &l); /* more was seen than is stated */
    assert_true(l.flops_per_s == 3 * 200e9);
    ks_host_limits_of(32, 1e9, &unknown, 1, &l); /* a clock that no server has */
    assert_true(l.flops_per_s >= 32 * 5e9 && l.n_levels == 0);
    ks_host_limits_of(0, 200e9, &m, 1, &l); /* what was seen alone bounds nothing */
    assert_true(l.flops_per_s == 0.0 && l.n_levels == 0);
}

/* ---- GPUs ---- */

static const struct {
    const char *arch;
    uint32_t units, clock_mhz;
    double tflops, tb_per_s; /* the vendor's figures */
} gpu_rows[] = {
    { "gfx942", 304, 2100, 1307, 5.3 },  { "gfx942:sramecc+:xnack-", 304, 2100, 1307, 5.3 },
    { "gfx950", 256, 2400, 2500, 8.0 },  { "gfx90a", 110, 1700, 191.5, 1.6 },
    { "gfx908", 120, 1502, 184.6, 1.2 }, { "gfx1100", 96, 2500, 122.8, 0.96 },
    { "sm_70", 80, 1530, 125, 0.9 },     { "sm_80", 108, 1410, 312, 2.0 },
    { "sm_86", 84, 1740, 149.7, 0.7 },   { "sm_89", 142, 2520, 362, 0.86 },
    { "sm_90", 132, 1830, 989, 4.8 },    { "sm_90a", 132, 1830, 989, 4.8 },
    { "sm_100", 148, 1850, 2250, 8.0 },
};

/* At least what the vendor says, and not half as much again. */
static void test_gpus(void **state)
{
    struct ks_device_limits l;

    (void)state;
    for (size_t i = 0; i < sizeof(gpu_rows) / sizeof(gpu_rows[0]); i++) {
        struct ks_device_props p = { .n_units = gpu_rows[i].units,
                                     .clock_mhz = gpu_rows[i].clock_mhz,
                                     .cache_bytes = 50 << 20 };

        snprintf(p.arch, sizeof(p.arch), "%s", gpu_rows[i].arch);
        ks_gpu_limits_of(&p, &l);
        print_message("%s: %.4g TFLOP/s\n", p.arch, 1e-12 * l.flops_per_s);
        assert_true(l.flops_per_s >= 0.99e12 * gpu_rows[i].tflops &&
                    l.flops_per_s <= 1.5e12 * gpu_rows[i].tflops);
        assert_int_equal(l.n_levels, 2);
        assert_true(l.level[0].bytes == 50 << 20 && l.level[0].bytes_per_s == 0.0);
        assert_true(l.level[1].bytes == UINT64_MAX &&
                    l.level[1].bytes_per_s >= 1e12 * gpu_rows[i].tb_per_s);
    }
}

static void test_unknown_gpus(void **state)
{
    static const char *const archs[] = { "emu", "gfx1", "sm_9", "sm_900", "gfx9060", "gfx7" };
    struct ks_device_limits l;

    (void)state;
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        struct ks_device_props p = { .n_units = 100, .clock_mhz = 1000 };

        snprintf(p.arch, sizeof(p.arch), "%s", archs[i]);
        ks_gpu_limits_of(&p, &l);
        assert_true(l.flops_per_s == 0.0 && l.n_levels == 0);
    }
}

/* ---- this host ---- */

/* What loops reach is no more than what is stated, by far. */
static void test_this_host(void **state)
{
    double measured = ks_host_peak_measure();
    struct ks_device_limits l = { 0 };
    struct ks_device *dev = NULL;

    (void)state;
    assert_int_equal(ks_device_host.open("", &dev, NULL), 0);
    dev->ops->limits(dev, &l);
    dev->ops->close(dev);
    print_message("# seen %.4g, at most %.4g GFLOP/s, %u levels of memory\n", 1e-9 * measured,
                  1e-9 * l.flops_per_s, l.n_levels);
#if defined(__x86_64__)
    assert_true(l.flops_per_s >= measured && l.flops_per_s > 1e9);
#endif
    for (uint32_t i = 1; i < l.n_levels; i++)
        assert_true(l.level[i].bytes_per_s <= l.level[i - 1].bytes_per_s);
    assert_true(l.n_levels == 0 || l.level[l.n_levels - 1].bytes == UINT64_MAX);
    assert_int_equal(ks_device_sim.open("", &dev, NULL), 0);
    dev->ops->limits(dev, &l);
    dev->ops->close(dev);
    assert_true(l.flops_per_s == 0.0 && l.n_levels == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_flags),
        cmocka_unit_test_setup_teardown(test_memory, so_place_setup, so_place_teardown),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_unknown_gpus),
        cmocka_unit_test(test_this_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
