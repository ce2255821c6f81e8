/* SPDX-License-Identifier: MIT */
/* test_gpu_wgmma.c - warp group matrix instructions on the emulator: forward, who has them */
/* quick: no */
#include "gpu_wgmma.h"

static void test_forward(void **state)
{
    (void)state;
    gpu_wgmma_sweep("gpu_forward.json", WGMMA, N_SAMPLE);
    gpu_wgmma_sweep("gpu_forward.json", SPECIALISED, N_SPECIALISED);
}

/* Compute capability 9.0 and the emulator; elsewhere with a reason. */
static void test_who_has_it(void **state)
{
    static const struct {
        const char *arch;
        bool has_it;
    } rows[] = { { "sm_90", true },   { "sm_90a", true },  { "emu", true },
                 { "sm_80", false },  { "sm_89", false },  { "sm_100", false },
                 { "sm_120", false }, { "gfx942", false }, { "gfx1100", false } };
    static const char *const configs[] = { "gpu_forward.json", "gpu_backward_data.json",
                                           "gpu_gemm.json" };
    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        struct ks_kernel_set set = { 0 };
        struct ks_buf flags;
        struct ks_err err;
        ks_buf_init(&flags);
        must(ks_kernel_set_arch(&set, rows[r].arch, &flags, &err), &err);
        for (size_t c = 0; c < sizeof(configs) / sizeof(*configs); c++) {
            char path[600];
            snprintf(path, sizeof(path), KS_SOURCE_DIR "/kernels/configs/%s", configs[c]);
            must(ks_kernel_set_add(&set, path, "lanes == 128", NULL, &err), &err);
        }
        for (uint32_t i = 0; i < set.n_instances; i++) {
            const char *missing = set.instances[i].missing;
            if (rows[r].has_it ? missing[0] != '\0' : !strstr(missing, "capability 9.0"))
                fail_msg("%s on %s: '%s'", set.instances[i].name, rows[r].arch, missing);
        }
        ks_kernel_set_release(&set);
        ks_buf_release(&flags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_has_it),
        cmocka_unit_test(test_forward),
    };
    return cmocka_run_group_tests_name("gpu_wgmma", tests, NULL, NULL);
}
