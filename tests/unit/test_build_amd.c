/* SPDX-License-Identifier: MIT */
/* test_build_amd.c - units for AMD by clang, where it is installed: identified, nothing is run */
/* sanitized: no; build_gpu is, which plans and builds by the same code of ours, and what reads the
 * images is by code_object_amd and by the fuzz tests. */
/* quick: no */
/* group: clang19 */
#include "build_gpu_util.h"

static void test_identities(void **state)
{
    need_compiler("clang-19");
    check_identities(*state, "gfx90a");
}

static void test_company(void **state)
{
    need_compiler("clang-19");
    check_company(*state, "hip", "gfx90a");
}

static void test_written(void **state)
{
    need_compiler("clang-19");
    check_written(*state, "gfx942");
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_gpu_units, close_units, warden)
    const struct CMUnitTest tests[] = { T(test_identities), T(test_company), T(test_written) };
    const int rc = cmocka_run_group_tests_name("build_amd", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
