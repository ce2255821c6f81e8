/* SPDX-License-Identifier: MIT */
/* test_gpu_kernels_bwd_data.c - a sample of the GPU family of backward data on the emulator */
/* quick: no */
#include "gpu_case.h"

int main(void)
{
    return gpu_tests_run("gpu_kernels_bwd_data", "gpu_backward_data.json");
}
