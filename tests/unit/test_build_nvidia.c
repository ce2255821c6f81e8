/* SPDX-License-Identifier: MIT */
/* Units for NVIDIA by nvcc, where it is installed: their code is identified, nothing is run. */
#include "build_gpu_util.h"

static void test_identities(void **state)
{
    need_compiler("nvcc");
    check_identities(*state, "sm_90");
}

static void test_company(void **state)
{
    need_compiler("nvcc");
    check_company(*state, "cuda", "sm_90");
}

static void test_written(void **state)
{
    need_compiler("nvcc");
    check_written(*state, "sm_80");
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_gpu_units, close_units, warden)
    const struct CMUnitTest tests[] = { T(test_identities), T(test_company), T(test_written) };
    const int rc = cmocka_run_group_tests_name("build_nvidia", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
