/* SPDX-License-Identifier: MIT */
/* test_gpu_telemetry.c - what a GPU says of itself: the kernel's files, a library like NVML */
/* What is missing stays unknown. */
#include "device/gpu_telemetry.h"

#include "base/file.h"
#include "tests/unit/so.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PCI "0000:c1:00.0"

static const char nvml_source[] =
    "#include <string.h>\n"
    "static int n_open;\n"
    "int nvmlInit_v2(void) { n_open++; return INIT; }\n"
    "int nvmlShutdown(void) { return --n_open; }\n"
    "int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **d)\n"
    "{ *d = &n_open; return strcmp(pci, \"" PCI "\") ? 6 : 0; }\n"
    "int nvmlDeviceGetClockInfo(void *d, int type, unsigned *mhz)\n"
    "{ *mhz = type == 1 ? 1980 : type == 2 ? 2619 : 7; return d == &n_open ? 0 : 2; }\n"
    "int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { *mw = 412345; return d ? 0 : 2; }\n"
    "int nvmlDeviceGetTemperature(void *d, int type, unsigned *c)\n"
    "{ *c = 61; return d && type == 0 ? 0 : 2; }\n"
    "#ifdef MORE\n"
    "int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *mj)\n"
    "{ *mj = 7654321; return d ? 0 : 3; }\n"
    "int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *r)\n"
    "{ (void)d; *r = 0x25; return 0; }\n"
    "int nvmlDeviceGetUtilizationRates(void *d, unsigned *use)\n"
    "{ (void)d; use[0] = 37; use[1] = 90; return 0; }\n"
    "int nvmlSystemGetDriverVersion(char *s, unsigned n) { strncpy(s, \"580.65.06\", n); return 0; "
    "}\n"
    "#else\n"
    "int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *r)\n"
    "{ (void)d; (void)r; return 3; }\n"
    "#endif\n";

/* ROOT/PCI/NAME holds a line. */
static void put(const char *root, const char *name, const char *text)
{
    char path[512];

    assert_true(snprintf(path, sizeof(path), "%s/" PCI "/%s", root, name) < (int)sizeof(path));
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    assert_int_equal(ks_file_replace(path, text, strlen(text), NULL), 0);
}

static void root_of(const struct so_place *f, const char *name, char out[300])
{
    assert_true(snprintf(out, 300, "%s/%s", f->dir, name) < 300);
    assert_int_equal(mkdir(out, 0700), 0);
}

static void assert_unknown(const struct ks_telemetry *t)
{
    struct ks_telemetry none = ks_telemetry_unknown();

    assert_true(t->now.clock_mhz == none.now.clock_mhz);
    assert_true(t->now.memory_clock_mhz == none.now.memory_clock_mhz);
    assert_true(t->now.power_w == none.now.power_w);
    assert_true(t->now.temperature_c == none.now.temperature_c);
    assert_true(t->throttle == none.throttle && t->now.busy == none.now.busy);
}

static void test_sysfs(void **state)
{
    struct ks_telemetry t;
    char root[300], text[40];

    root_of(*state, "mi300", root);
    put(root, "unique_id", "3af2e4c1d5b60789\n");
    put(root, "gpu_busy_percent", "42\n");
    put(root, "hwmon/hwmon5/freq1_input", "2100000000\n");
    put(root, "hwmon/hwmon5/freq2_input", "1300000000\n");
    put(root, "hwmon/hwmon5/power1_input", "301000000\n");
    put(root, "hwmon/hwmon5/temp1_input", "45000\n");
    put(root, "hwmon/hwmon5/temp2_input", "58500\n");
    ks_gpu_sysfs_telemetry(root, PCI, &t);
    assert_true(t.now.clock_mhz == 2100 && t.now.memory_clock_mhz == 1300);
    assert_true(t.now.power_w > 300.9 && t.now.power_w < 301.1);
    assert_true(t.now.temperature_c == 58.5);
    assert_true(t.now.busy > 0.419 && t.now.busy < 0.421);
    assert_true(t.throttle == -1);
    ks_gpu_sysfs_text(root, PCI, "unique_id", text, sizeof(text));
    assert_string_equal(text, "3af2e4c1d5b60789");
    put(root, "hwmon/hwmon5/power1_average", "299000000\n"); /* an older card has both */
    ks_gpu_sysfs_telemetry(root, PCI, &t);
    assert_true(t.now.power_w > 298.9 && t.now.power_w < 299.1);
}

static void test_sysfs_lacks(void **state)
{
    struct ks_telemetry t;
    char root[300], text[40] = "x";

    root_of(*state, "bare", root);
    ks_gpu_sysfs_telemetry(root, PCI, &t);
    assert_unknown(&t);
    ks_gpu_sysfs_telemetry(root, "", &t);
    assert_unknown(&t);
    ks_gpu_sysfs_text(root, PCI, "unique_id", text, sizeof(text));
    assert_string_equal(text, "");
    put(root, "gpu_busy_percent", "busy\n"); /* no number is no value, above all not 0 */
    put(root, "hwmon/hwmon0/freq1_input", "");
    put(root, "hwmon/hwmon0/temp1_input", "31000\n");
    ks_gpu_sysfs_telemetry(root, PCI, &t);
    assert_true(t.now.temperature_c == 31);
    t.now.temperature_c = KS_UNKNOWN;
    assert_unknown(&t);
}

static void build_nvml(const struct so_place *f, const char *name, const char *defines, char *out,
                       size_t cap)
{
    char source[4096];

    assert_true(snprintf(source, sizeof(source), "%s\n%s", defines, nvml_source) <
                (int)sizeof(source));
    so_build(f->dir, name, source, out, cap);
}

static void test_nvml(void **state)
{
    struct ks_telemetry t;
    struct ks_nvml *n;
    char path[512], text[32];

    build_nvml(*state, "nvml", "#define INIT 0\n#define MORE", path, sizeof(path));
    n = ks_nvml_open(path, PCI);
    assert_non_null(n);
    ks_nvml_telemetry(n, true, &t);
    assert_true(t.now.clock_mhz == 1980 && t.now.memory_clock_mhz == 2619);
    assert_true(t.energy_j > 7654.3 && t.energy_j < 7654.4 && t.at_ns > 0);
    assert_true(t.now.power_w == KS_UNKNOWN); /* a mean over the last second, whatever ran then */
    ks_nvml_telemetry(n, false, &t);
    assert_true(t.energy_j == KS_UNKNOWN && t.now.power_w == KS_UNKNOWN);
    assert_true(t.now.temperature_c == 61);
    assert_true(t.throttle == 0x24); /* without "idle", which it always is when it is asked */
    assert_true(t.now.busy > 0.369 && t.now.busy < 0.371);
    ks_nvml_driver(n, text, sizeof(text));
    assert_string_equal(text, "580.65.06");
    ks_nvml_close(n);
    ks_nvml_close(NULL);
}

static void test_nvml_lacks(void **state)
{
    struct ks_telemetry t;
    struct ks_nvml *n;
    char path[512], text[32] = "x";

    build_nvml(*state, "old_nvml", "#define INIT 0", path, sizeof(path));
    n = ks_nvml_open(path, PCI);
    assert_non_null(n);
    ks_nvml_telemetry(n, true, &t);
    assert_true(t.now.clock_mhz == 1980 && t.now.busy == KS_UNKNOWN && t.throttle == -1);
    assert_true(t.now.power_w > 412.3 && t.now.power_w < 412.4 && t.energy_j == KS_UNKNOWN);
    ks_nvml_driver(n, text, sizeof(text));
    assert_string_equal(text, "");
    ks_nvml_close(n);
    assert_null(ks_nvml_open(path, "0000:07:00.0"));
    assert_null(ks_nvml_open("/nowhere/libnvidia-ml.so.1", PCI));
    build_nvml(*state, "dead_nvml", "#define INIT 9", path, sizeof(path));
    assert_null(ks_nvml_open(path, PCI));
    so_build(((struct so_place *)*state)->dir, "no_nvml", "int nothing;", path, sizeof(path));
    assert_null(ks_nvml_open(path, PCI));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sysfs),
        cmocka_unit_test(test_sysfs_lacks),
        cmocka_unit_test(test_nvml),
        cmocka_unit_test(test_nvml_lacks),
    };

    return cmocka_run_group_tests(tests, so_place_setup, so_place_teardown);
}
