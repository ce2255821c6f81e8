/* SPDX-License-Identifier: MIT */
/* A sample of the GPU family of convolution backward weight on the emulator. */
#include "gpu_case.h"

int main(void)
{
    return gpu_tests_run("gpu_kernels_bwd_weight", "gpu_backward_weight.json");
}
