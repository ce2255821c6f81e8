/* SPDX-License-Identifier: MIT */
/* test_peaks.c - the importer's peak rates: those of the data sheets and of the roofline's table */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/import/peak.h"
#include "op/op.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void data_sheets_are_met(void **state)
{
    (void)state;
    assert_true(fabs(ks_peak_flops("gfx90a", 104, KS_FP32) - 45.2608e12) < 1e3); /* MI210: 45.3 */
    assert_true(fabs(ks_peak_flops("gfx942", 304, KS_FP16) - 1307.4432e12) <
                1e3); /* MI300X: 1307.4 */
    assert_false(ks_peak_flops("gfx803", 64, KS_FP32) > 0);
}

/* An entry of peaks.json, in Tflop/s; of the matrix units where they have a rate of their own. */
static double rate_of(const struct ks_json *doc, const struct ks_node *tflops, const char *dtype)
{
    char matrix[16];
    const struct ks_node *n;
    double rate = 0;

    snprintf(matrix, sizeof(matrix), "%s_matrix", dtype);
    n = ks_node_at(tflops, matrix) ? ks_node_at(tflops, matrix) : ks_node_at(tflops, dtype);
    assert_int_equal(ks_node_real(doc, n, &rate, NULL), 0);
    return rate;
}

/* NULL: not of a device that both tables have. */
static const char *arch_of(const struct ks_json *doc, const struct ks_node *device)
{
    static const char *const archs[] = { [0] = "gfx90a", [4] = "gfx942", [5] = "gfx950" };
    const char *name = NULL;
    int64_t minor = 0;

    assert_int_equal(ks_node_str(doc, ks_node_at(device, "name"), &name, NULL), 0);
    if (strncmp(name, "AMD ", 4) != 0 || !ks_node_at(device, "units"))
        return NULL;
    assert_int_equal(ks_node_int(doc, ks_node_at(device, "minor"), &minor, NULL), 0);
    assert_true(minor >= 0 && minor < 6 && archs[minor]);
    return archs[minor];
}

/* The roofline's table of devices and the importer's table of units say the same of a device. */
static void peaks_agree(void **state)
{
    static const struct {
        const char *name;
        uint32_t dtype;
    } dtypes[] = { { "fp32", KS_FP32 }, { "fp16", KS_FP16 }, { "bf16", KS_BF16 } };
    struct ks_json *doc = NULL;
    struct ks_err err;
    unsigned n = 0;

    (void)state;
    if (ks_json_open(KS_SOURCE_DIR "/analysis/peaks.json", &doc, &err) < 0)
        fail_msg("%s", err.text);
    for (const struct ks_node *d = ks_node_first(ks_node_at(ks_json_root(doc), "devices")); d;
         d = ks_node_next(d)) {
        const char *arch = arch_of(doc, d);
        double n_units = 0;

        if (!arch)
            continue;
        assert_int_equal(ks_node_real(doc, ks_node_at(d, "units"), &n_units, NULL), 0);
        for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++, n++) {
            double want = rate_of(doc, ks_node_at(d, "tflops"), dtypes[i].name) * 1e12;
            double got = ks_peak_flops(arch, n_units, dtypes[i].dtype);

            if (fabs(got / want - 1) > 0.005)
                fail_msg("%s %s: %g, in peaks.json %g", arch, dtypes[i].name, got, want);
        }
    }
    assert_true(n >= 15);
    ks_json_close(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_sheets_are_met),
        cmocka_unit_test(peaks_agree),
    };

    return cmocka_run_group_tests_name("peaks", tests, NULL, NULL);
}
