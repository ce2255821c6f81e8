/* SPDX-License-Identifier: MIT */
/* test_gpu_kernels_fwd.c - a sample of the GPU family of convolution forward on the emulator */
/* quick: no */
#include "gpu_case.h"

int main(void)
{
    return gpu_tests_run("gpu_kernels_fwd", "gpu_forward.json");
}
