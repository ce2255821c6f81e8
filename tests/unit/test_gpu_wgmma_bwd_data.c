/* SPDX-License-Identifier: MIT */
/* test_gpu_wgmma_bwd_data.c - warp group matrix instructions on the emulator: backward data */
/* There one operand lies along its rows. */
/* quick: no */
#include "gpu_wgmma.h"

static void test_sample(void **state)
{
    (void)state;
    gpu_wgmma_sweep("gpu_backward_data.json", WGMMA, N_SAMPLE);
    gpu_wgmma_sweep("gpu_backward_data.json", SPECIALISED, N_SPECIALISED);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sample) };
    return cmocka_run_group_tests_name("gpu_wgmma_bwd_data", tests, NULL, NULL);
}
