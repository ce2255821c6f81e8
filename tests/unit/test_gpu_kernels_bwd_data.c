/* SPDX-License-Identifier: MIT */
/* A sample of the GPU family of convolution backward data on the emulator. */
/* quick: no */
#include "gpu_case.h"

int main(void)
{
    return gpu_tests_run("gpu_kernels_bwd_data", "gpu_backward_data.json");
}
