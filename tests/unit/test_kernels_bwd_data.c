/* SPDX-License-Identifier: MIT */
/* test_kernels_bwd_data.c - host kernels of backward data, built as in a job, held to references */
/* On problems that are special and on random ones, in all types, layouts and dims; a sample here,
 * all in tests/kernels.sh host, which also checks that every shipped problem has a choice. */
/* quick: no */
#include "kernel_sweep.h"

static void test_instances(void **state)
{
    static const char *const configs[] = { "host_backward_data.json",
                                           "host_backward_data_avx2.json",
                                           "host_backward_data_variants.json", NULL };
    kernel_sweep_all(*state, KS_BACKWARD_DATA, configs);
}

int main(void)
{
    return kernel_tests_run("kernels_bwd_data", test_instances);
}
