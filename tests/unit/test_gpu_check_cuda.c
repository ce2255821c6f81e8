/* SPDX-License-Identifier: MIT */
/* test_gpu_check_cuda.c - a table that contradicts cuda.h does not build */
/* group: cuda-headers */
#include "base/file.h"
#include "device/gpu_api.h"
#include "tests/unit/gpu_break.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct gpu_break breaks[] = {
    { "UNITS, 63, 16,", "UNITS, 63, 17," },
    { "SHARED_OPTIN, 75, 97,", "SHARED_OPTIN, 75, 96," },
    { "ERESOURCES, 701,", "ERESOURCES, 702," },
    { "EBUSY, 46,", "EBUSY, 47," },
    { "MISALIGNED, 716,", "MISALIGNED, 715," },
    { "MPS_CLIENT, 810,", "MPS_CLIENT, 809," },
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

/* After which errors a process is of no use any more, the header itself says, error by error. */
static void test_sticky(void **state)
{
    static const char words[] = "relaunched", error[] = "CUDA_ERROR_";
    struct ks_buf header;
    struct ks_err err;
    size_t n = 0;
    (void)state;
    if (!KS_CUDA_INCLUDE[0])
        skip();
    ks_buf_init(&header);
    if (ks_file_read(KS_CUDA_INCLUDE "/cuda.h", &header, &err) < 0)
        fail_msg("%s", err.text);
    const char *at = strstr(ks_buf_text(&header), "typedef enum cudaError_enum");
    const char *end = at ? strstr(at, "} CUresult") : NULL;
    assert_non_null(end);
    while ((at = strstr(at, words)) && at < end) {
        const char *name = strstr(at, error), *number = name ? strchr(name, '=') : NULL;
        assert_true(number && number < end);
        const int code = (int)strtol(number + 1, NULL, 10);
        if (!ks_gpu_is_sticky(KS_GPU_CUDA, code))
            fail_msg("%.*s is not listed", (int)(number - name), name);
        at = number;
        n++;
    }
    assert_true(n >= 8); /* a release of another wording would have none */
    ks_buf_release(&header);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cuda),
                                        cmocka_unit_test(test_sticky) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
