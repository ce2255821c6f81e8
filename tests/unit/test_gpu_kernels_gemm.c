/* SPDX-License-Identifier: MIT */
/* test_gpu_kernels_gemm.c - a sample of the GPU family of matrix products on the emulator */
/* quick: no */
#include "gpu_case.h"

int main(void)
{
    return gpu_tests_run("gpu_kernels_gemm", "gpu_gemm.json");
}
