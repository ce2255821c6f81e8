/* SPDX-License-Identifier: MIT */
/* test_kernels_bwd_weight.c - host kernels of backward weight, built as in a job, and references */
/* On problems that are special and on random ones, in all types, layouts and dims; a sample here,
 * all in tests/kernels.sh host, which also checks that every shipped problem has a choice. */
/* quick: no */
#include "kernel_sweep.h"

static void test_instances(void **state)
{
    static const char *const configs[] = { "host_backward_weight.json",
                                           "host_backward_weight_avx2.json",
                                           "host_backward_weight_variants.json", NULL };
    kernel_sweep_all(*state, KS_BACKWARD_WEIGHT, configs);
}

int main(void)
{
    return kernel_tests_run("kernels_bwd_weight", test_instances);
}
