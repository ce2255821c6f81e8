/* SPDX-License-Identifier: MIT */
/* Every instance of the host family of backward data, built as in a job, on problems that are
 * special and on random ones, in all types, layouts and dims. */
#include "kernel_sweep.h"

static void test_every_instance(void **state)
{
    static const char *const configs[] = { "host_backward_data.json",
                                           "host_backward_data_variants.json", NULL };
    static const char *const lists[] = { "resnet50", "resnext50_32x4d", "mobilenet_v2", "r3d18",
                                         NULL };
    struct place *place = *state;
    kernel_sweep_open(place, KS_BACKWARD_DATA, configs);
    kernel_sweep_refusals(place);
    kernel_sweep_choice(place, lists, 3);
    kernel_sweep_run(place, KS_BACKWARD_DATA);
}

static int setup(void **state)
{
    *state = open_place(*state);
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    *state = p->warden;
    close_place(p);
    return 0;
}

int main(void)
{
    struct ks_warden *warden = NULL;
    struct ks_err err;
    if (ks_warden_start(&warden, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(test_every_instance, setup, teardown, warden),
    };
    const int rc = cmocka_run_group_tests_name("kernels_bwd_data", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
