/* SPDX-License-Identifier: MIT */
/* test_gpu_check_hip.c - a table that contradicts HIP's headers does not build */
/* group: hip-headers */
#include "tests/unit/gpu_break.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const struct gpu_break breaks[] = {
    /* an attribute's number, a code, a sticky code, a flag */
    { "UNITS, 63, 16,", "UNITS, 62, 16," },
    { "WAVE, 87, 10,", "WAVE, 88, 10," },
    { "ERESOURCES, 701,", "ERESOURCES, 702," },
    { "LAUNCH, 719,", "LAUNCH, 720," },
    { "RUNTIME_OTHER, 1053,", "RUNTIME_OTHER, 1054," },
    { "FUNC_DYNAMIC_SHARED, 8,", "FUNC_DYNAMIC_SHARED, 9," },
    { "EVENT_DEVICE_RELEASE, 0x40000000,", "EVENT_DEVICE_RELEASE, 0x40000001," },
    /* a parameter too few, a wrong type, a wrong result */
    { "cuEventRecord, (G_EVENT, G_STREAM)", "cuEventRecord, (G_EVENT)" },
    { "cuMemcpyHtoD_v2, (G_PTR, G_HSRC, size_t)", "cuMemcpyHtoD_v2, (G_PTR, int *, size_t)" },
    { "X(error_name, hipGetErrorName, const char *,", "X(error_name, hipGetErrorName, int," },
    { "cuDeviceGetUuid_v2, (G_UUID *, G_DEV)", "cuDeviceGetUuid_v2, (G_UUID, G_DEV)" },
/* where the architecture stands among the properties, as this release has them */
#if KS_HIP_MAJOR >= 6
    { "1472, 1160)", "1472, 1164)" },
#else
    { "792, 396)", "792, 400)" },
#endif
};

static void test_hip(void **state)
{
    (void)state;
    gpu_break_all("hip", KS_HIP_INCLUDE, breaks, sizeof(breaks) / sizeof(breaks[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_hip) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
