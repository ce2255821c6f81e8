/* SPDX-License-Identifier: MIT */
/* test_topo.c - the topology of hosts: this one, narrowed masks, made-up machines */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "topo/topo.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void read_agrees_with_the_kernel(void **state)
{
    struct ks_topo_host h;
    struct ks_err err = { 0 };
    cpu_set_t mask;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
    assert_int_equal(ks_topo_read(&h, &err), 0);
    assert_int_equal(h.n_pus, CPU_COUNT(&mask));
    assert_true(h.n_cores >= 1 && h.n_cores <= h.n_pus);
    assert_true(h.n_machine_pus >= h.n_pus);
    assert_true(h.n_numa >= 1);
    assert_true(strlen(h.cpu_model) > 0);
    assert_int_equal(h.is_narrowed, h.n_pus < h.n_machine_pus);
}

/* Under a mask of one CPU there is one core, and it is said that there would be more. */
static void narrowed_mask_is_seen(void **state)
{
    cpu_set_t all, one;
    struct ks_topo_host h;
    struct ks_err err = { 0 };
    unsigned cpu;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(ks_topo_read(&h, &err), 0);
    if (h.n_machine_pus < 2)
        skip(); /* a mask cannot be narrower than one CPU */
    for (cpu = CPU_SETSIZE - 1; !CPU_ISSET(cpu, &all); cpu--)
        continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(ks_topo_read(&h, &err), 0);
    assert_true(h.is_narrowed);
    assert_int_equal(h.n_pus, 1);
    assert_int_equal(h.n_cores, 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* A machine that is not this one: 4 cores of 2 hyperthreads with a cache each. */
static void made_up_machine(void **state)
{
    struct ks_topo_host h;

    (void)state;
    setenv("HWLOC_SYNTHETIC", "package:2 l3:1(size=4MB) l2:2(size=1MB) core:1 pu:1", 1);
    assert_int_equal(ks_topo_read(&h, NULL), 0);
    unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(h.n_machine_pus, 4);
    assert_int_equal(h.n_packages, 2);
    assert_true(h.n_cores >= 1 && h.n_cores <= 4);
    assert_int_equal(h.l2_bytes, 1000000);
    assert_int_equal(h.l3_bytes, 4000000);
}

static void unreadable_topology_is_an_error(void **state)
{
    struct ks_topo_host h;
    struct ks_err err = { 0 };

    (void)state;
    setenv("HWLOC_XMLFILE", "/nowhere/machine.xml", 1);
    setenv("HWLOC_COMPONENTS", "xml,stop", 1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    assert_int_equal(ks_topo_read(&h, &err), KS_EIO);
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_COMPONENTS");
    unsetenv("HWLOC_HIDE_ERRORS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_agrees_with_the_kernel),
        cmocka_unit_test(narrowed_mask_is_seen),
        cmocka_unit_test(made_up_machine),
        cmocka_unit_test(unreadable_topology_is_an_error),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("topo", tests, NULL, NULL);
}
