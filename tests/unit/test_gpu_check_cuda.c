/* SPDX-License-Identifier: MIT */
/* A table that contradicts cuda.h does not build. */
/* group: cuda-headers */
#include "tests/unit/gpu_break.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const struct gpu_break breaks[] = {
    { "UNITS, 63, 16,", "UNITS, 63, 17," },
    { "SHARED_OPTIN, 75, 97,", "SHARED_OPTIN, 75, 96," },
    { "ERESOURCES, 701,", "ERESOURCES, 702," },
    { "MISALIGNED, 716,", "MISALIGNED, 715," },
    { "STREAM_NON_BLOCKING, 1,", "STREAM_NON_BLOCKING, 2," },
    { "cuModuleUnload, (G_MODULE)", "cuModuleUnload, (G_MODULE *)" },
    { "X(func_set, cuFuncSetAttribute, G_RC, (G_FUNC, G_FUNCATTR, int))",
      "X(func_set, cuFuncSetAttribute, G_RC, (G_FUNC, G_FUNCATTR))" },
    { "cuMemAlloc_v2, (G_PTR *, size_t)", "cuMemAlloc_v2, (void **, size_t)" },
    { "cuLaunchHostFunc, (G_STREAM, G_HOSTFN, void *)", "cuLaunchHostFunc, (G_STREAM, G_HOSTFN)" },
};

static void test_cuda(void **state)
{
    (void)state;
    gpu_break_all("cuda", KS_CUDA_INCLUDE, breaks, sizeof(breaks) / sizeof(breaks[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cuda) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
