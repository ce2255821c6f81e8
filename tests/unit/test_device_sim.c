/* SPDX-License-Identifier: MIT */
/* test_device_sim.c - times of the simulated device: by problem, instance, seed and plants */
#include "device/backends.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

static double sim_time(const char *locator, const char *name, int64_t n, int skip)
{
    struct ks_abi_problem prob = { .bytes = sizeof(prob), .n = n };
    const struct ks_abi_entry *e = NULL;
    struct ks_device *dev = NULL;
    struct ks_module *mod = NULL;
    struct ks_err err = { 0 };
    double ns = 0;
    int krc = 0;

    assert_int_equal(ks_device_sim.open(locator, &dev, &err), 0);
    assert_int_equal(dev->ops->module_open(dev, "", &mod, &err), 0);
    assert_int_equal(dev->ops->module_entry(dev, mod, name, &e, &err), 0);
    const struct ks_timing t = { .entry = e, .problem = &prob, .calls = 1, .n_samples = 1 };
    for (int i = 0; i <= skip; i++)
        assert_int_equal(dev->ops->time_samples(dev, &t, &ns, &krc, &err), 0);
    dev->ops->module_close(dev, mod);
    dev->ops->close(dev);
    return ns;
}

static void test_sim_is_deterministic(void **state)
{
    double t = sim_time("seed=1", "a", 1, 0);

    (void)state;
    assert_true(t == sim_time("seed=1", "a", 1, 0));
    assert_true(t != sim_time("seed=2", "a", 1, 0));
    assert_true(t != sim_time("seed=1", "b", 1, 0));
    assert_true(t != sim_time("seed=1", "a", 2, 0));
    assert_true(t != sim_time("seed=1", "a", 1, 1)); /* noise */
    assert_true(sim_time("seed=1", "a", 1, 1) / t > 0.99 &&
                sim_time("seed=1", "a", 1, 1) / t < 1.01);
    assert_true(t > 49e3 && t < 201e3);
    assert_true(sim_time("seed=1,ns=1000000", "a", 1, 0) / t > 9.99);
    assert_true(sim_time("seed=1,sleep_us=1", "a", 1, 0) == t);
}

/* Faster or slower than without, by what is planted. */
static void test_sim_is_planted(void **state)
{
    enum { LATER = 400 }; /* calls of 50 to 200 us */
    const double t = sim_time("seed=1", "a", 1, 0);
    uint32_t n_apart = 0, n_slow = 0;
    double a, b;

    (void)state;
    assert_true(fmod(sim_time("seed=1,tick_ns=500", "a", 1, 3), 500) == 0);
    assert_true(fabs(sim_time("seed=1,tick_ns=500", "a", 1, 0) - t) <= 250);
    assert_true(fabs(sim_time("seed=1,boost_ppm=100000", "a", 1, 0) / t - 0.9) < 1e-9);
    assert_true(fabs(sim_time("seed=1,boost_ppm=100000", "a", 1, LATER + 100) /
                         sim_time("seed=1", "a", 1, LATER + 100) -
                     1) < 1e-9);
    for (int skip = LATER; skip < LATER + 2000; skip += 500) {
        a = sim_time("seed=1,throttle_ppm=200000", "a", 1, skip);
        b = sim_time("seed=1", "a", 1, skip);
        assert_true(fabs(a / b - 1) < 1e-9 || fabs(a / b - 1.2) < 1e-9);
        n_slow += a / b > 1.1;
    }
    assert_true(n_slow > 0 && n_slow < 4);
    for (int i = 0; i < 20; i++) {
        a = sim_time("seed=1,scatter_ppm=10000", "a", 1, 0);
        assert_true(fabs(a / t - 1) <= 0.0101);
        n_apart += fabs(a / t - 1) > 1e-4;
    }
    assert_true(n_apart > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_is_deterministic),
        cmocka_unit_test(test_sim_is_planted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
