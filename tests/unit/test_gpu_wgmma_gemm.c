/* SPDX-License-Identifier: MIT */
/* test_gpu_wgmma_gemm.c - warp group matrix instructions on the emulator: gemm */
/* Operands lie along their rows. */
/* quick: no */
#include "gpu_wgmma.h"

static void test_sample(void **state)
{
    (void)state;
    gpu_wgmma_sweep("gpu_gemm.json", WGMMA " and operands != 'rcr'", N_SAMPLE);
    gpu_wgmma_sweep("gpu_gemm.json", SPECIALISED, N_SPECIALISED);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sample) };
    return cmocka_run_group_tests_name("gpu_wgmma_gemm", tests, NULL, NULL);
}
