/* SPDX-License-Identifier: MIT */
/* Every instance of the host families of both backward directions, built as in a job, on problems
 * that are special and on random ones, in all types, layouts and dims. */
#include "kernel_sweep.h"

static const char *const data_configs[] = { "host_backward_data.json",
                                            "host_backward_data_variants.json", NULL };
static const char *const weight_configs[] = { "host_backward_weight.json",
                                              "host_backward_weight_variants.json", NULL };

/* One build serves all checks of a direction. */
static void check_direction(struct place *place, uint32_t direction, const char *const *configs)
{
    static const char *const lists[] = { "resnet50", "resnext50_32x4d", "mobilenet_v2", NULL };
    kernel_sweep_open(place, direction, configs);
    kernel_sweep_refusals(place);
    kernel_sweep_choice(place, lists, 3);
    kernel_sweep_run(place, direction);
}

static void test_backward_data(void **state)
{
    check_direction(*state, KS_BACKWARD_DATA, data_configs);
}

static void test_backward_weight(void **state)
{
    check_direction(*state, KS_BACKWARD_WEIGHT, weight_configs);
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
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, setup, teardown, warden)
    const struct CMUnitTest tests[] = { T(test_backward_data), T(test_backward_weight) };
    const int rc = cmocka_run_group_tests_name("kernels_bwd", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
