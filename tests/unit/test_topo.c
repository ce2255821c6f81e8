/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The rules, counted from outside: how many ranks sit where, over every small case. */
static void check_host(uint32_t n_sets, uint32_t n_local, bool coordinates)
{
    uint32_t owner[8], n_measure = 0, i_set;

    memset(owner, 0xff, sizeof(owner));
    for (uint32_t r = 0; r < n_local; r++) {
        enum ks_seat seat = ks_topo_assign(n_sets, r, n_local, coordinates, false, &i_set);

        assert_int_not_equal(seat, KS_SEAT_SHARED);
        if (seat != KS_SEAT_MEASURE)
            continue;
        assert_in_range(i_set, 0, n_sets - 1);
        assert_int_equal(owner[i_set], UINT32_MAX);
        owner[i_set] = r;
        n_measure++;
        /* Rank 0 must not hold what another rank needs. */
        if (r == 0 && coordinates)
            assert_true(n_local <= n_sets);
    }
    assert_int_equal(n_measure, n_local < n_sets ? n_local : n_sets);
}

static void check_oversubscribed_host(uint32_t n_sets, uint32_t n_local, bool coordinates)
{
    uint32_t n_on[8] = { 0 }, seat_on[8][8], i_set = 0;

    for (uint32_t r = 0; r < n_local; r++) {
        enum ks_seat seat = ks_topo_assign(n_sets, r, n_local, coordinates, true, &i_set);

        assert_int_not_equal(seat, KS_SEAT_NONE);
        assert_in_range(i_set, 0, n_sets - 1);
        seat_on[i_set][n_on[i_set]++] = seat;
    }
    for (uint32_t i = 0; i < n_sets; i++) {
        /* Round robin: no set has two ranks more than another. */
        assert_in_range(n_on[i], n_local / n_sets, (n_local + n_sets - 1) / n_sets);
        for (uint32_t k = 0; k < n_on[i]; k++)
            assert_int_equal(seat_on[i][k], n_on[i] > 1 ? KS_SEAT_SHARED : KS_SEAT_MEASURE);
    }
}

static void assign_over_all_small_cases(void **state)
{
    (void)state;
    for (uint32_t n_sets = 1; n_sets <= 4; n_sets++)
        for (uint32_t n_local = 1; n_local <= 6; n_local++)
            for (int coordinates = 0; coordinates < 2; coordinates++) {
                check_host(n_sets, n_local, coordinates);
                check_oversubscribed_host(n_sets, n_local, coordinates);
            }
}

/* And by hand, so that the counting above has something to agree with. M: own set, S: shared,
 * '-': none; the digit is the set. */
static void assign_known_cases(void **state)
{
    static const struct {
        uint32_t n_sets, n_local;
        bool coordinates, oversubscribe;
        const char *want;
    } rows[] = {
        { 2, 1, true, false, "M0 " },          { 2, 2, true, false, "M1 M0 " },
        { 2, 3, true, false, "-- M0 M1 " },    { 2, 4, true, false, "-- M0 M1 -- " },
        { 2, 3, false, false, "M0 M1 -- " },   { 2, 3, true, true, "S0 S0 M1 " },
        { 2, 4, true, true, "S1 S0 S1 S0 " },  { 1, 2, true, false, "-- M0 " },
        { 1, 2, true, true, "S0 S0 " },        { 0, 1, true, true, "-- " },
        { 4, 4, true, false, "M3 M0 M1 M2 " }, { 3, 5, false, true, "S0 S1 M2 S0 S1 " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char got[64] = "";

        for (uint32_t r = 0; r < rows[i].n_local; r++) {
            uint32_t i_set = 0;
            enum ks_seat seat = ks_topo_assign(rows[i].n_sets, r, rows[i].n_local,
                                               rows[i].coordinates, rows[i].oversubscribe, &i_set);
            size_t n = strlen(got);

            if (seat == KS_SEAT_NONE)
                snprintf(got + n, sizeof(got) - n, "-- ");
            else
                snprintf(got + n, sizeof(got) - n, "%c%u ", "MS"[seat], i_set);
        }
        assert_string_equal(got, rows[i].want);
    }
}

static unsigned first_cpu(const cpu_set_t *set)
{
    unsigned i = 0;

    while (i < CPU_SETSIZE && !CPU_ISSET(i, set))
        i++;
    return i;
}

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

/* Under a mask of one CPU, that CPU is the core set of whoever asks. */
static void narrowed_mask_is_the_core_set(void **state)
{
    cpu_set_t all, one, spare;
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
    for (uint32_t r = 0; r < 6; r++) {
        enum ks_seat seat = KS_SEAT_NONE;
        struct ks_core_set set;
        char text[16];

        assert_int_equal(ks_topo_seat(r, 6, true, false, &seat, &set, &err), 0);
        assert_int_equal(seat, KS_SEAT_MEASURE);
        assert_true(CPU_EQUAL(&set.cpus, &one));
        assert_int_equal(set.cpu, cpu);
        snprintf(text, sizeof(text), "%u", cpu);
        assert_string_equal(set.text, text);
    }
    assert_int_equal(ks_topo_read(&h, &err), 0);
    assert_true(h.is_narrowed);
    assert_int_equal(h.n_pus, 1);
    assert_int_equal(ks_topo_spare(1, false, &spare, &err), 0);
    assert_true(CPU_EQUAL(&spare, &one));
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* hwloc takes a made-up machine from the environment: 2 packages of 4 cores of 2 hyperthreads. Its
 * logical CPUs are 0 to 15, core k has 2k and 2k + 1. */
static void made_up_machine(const char *what)
{
    if (what)
        setenv("HWLOC_SYNTHETIC", what, 1);
    else
        unsetenv("HWLOC_SYNTHETIC");
}

static void set_cpus(cpu_set_t *mask, unsigned from, unsigned to)
{
    CPU_ZERO(mask);
    for (unsigned i = from; i < to; i++)
        CPU_SET(i, mask);
}

static void seats_on_a_bigger_machine(void **state)
{
    cpu_set_t masks[10];
    struct ks_err err = { 0 };

    (void)state;
    made_up_machine("package:2 core:4 pu:2");
    for (uint32_t i = 0; i < 10; i++)
        set_cpus(&masks[i], 0, 16);
    for (uint32_t r = 0; r < 10; r++) {
        enum ks_seat seat;
        struct ks_core_set set;
        char text[16];

        assert_int_equal(ks_topo_seat_among(r, 10, masks, true, false, &seat, &set, &err), 0);
        assert_int_equal(seat, r >= 1 && r <= 8 ? KS_SEAT_MEASURE : KS_SEAT_NONE);
        assert_int_equal(CPU_COUNT(&set.cpus), seat == KS_SEAT_MEASURE ? 2 : 0);
        if (seat != KS_SEAT_MEASURE)
            continue;
        assert_int_equal(set.cpu, 2 * (r - 1));
        snprintf(text, sizeof(text), "%u-%u", 2 * (r - 1), 2 * r - 1);
        assert_string_equal(set.text, text);
    }
    made_up_machine(NULL);
}

/* Two ranks a package, bound to the package: they share out its cores. A rank alone on its mask has
 * the whole of it. */
static void seats_of_ranks_bound_together(void **state)
{
    static const uint32_t want[5] = { 2, 0, 8, 10, 6 };
    cpu_set_t masks[5];
    struct ks_err err = { 0 };
    enum ks_seat seat;
    struct ks_core_set set;

    (void)state;
    made_up_machine("package:2 core:4 pu:2");
    set_cpus(&masks[0], 0, 6);
    set_cpus(&masks[1], 0, 6);
    set_cpus(&masks[2], 8, 16);
    set_cpus(&masks[3], 8, 16);
    set_cpus(&masks[4], 6, 8);
    for (uint32_t r = 0; r < 5; r++) {
        assert_int_equal(ks_topo_seat_among(r, 5, masks, true, false, &seat, &set, &err), 0);
        assert_int_equal(seat, KS_SEAT_MEASURE);
        assert_int_equal(set.cpu, want[r]);
        assert_int_equal(CPU_COUNT(&set.cpus), 2);
    }
    /* A launcher that gives all ranks one CPU has room for one. */
    for (uint32_t r = 0; r < 5; r++)
        set_cpus(&masks[r], 3, 4);
    for (uint32_t r = 0; r < 5; r++) {
        assert_int_equal(ks_topo_seat_among(r, 5, masks, true, false, &seat, &set, &err), 0);
        assert_int_equal(seat, r == 1 ? KS_SEAT_MEASURE : KS_SEAT_NONE);
    }
    set_cpus(&masks[0], 100, 101);
    assert_int_equal(ks_topo_seat_among(0, 5, masks, true, false, &seat, &set, &err), KS_ENODEVICE);
    assert_int_equal(ks_topo_seat_among(5, 5, masks, true, false, &seat, &set, &err), KS_EINVAL);
    assert_int_equal(ks_topo_seat(2, 2, true, false, &seat, &set, &err), KS_EINVAL);
    made_up_machine(NULL);
}

/* A host whose cores the topology does not name. */
static void logical_cpus_stand_in_for_cores(void **state)
{
    cpu_set_t masks[3];
    struct ks_err err = { 0 };

    (void)state;
    made_up_machine("package:1 pu:3");
    for (uint32_t i = 0; i < 3; i++)
        set_cpus(&masks[i], 0, 3);
    for (uint32_t r = 0; r < 3; r++) {
        enum ks_seat seat;
        struct ks_core_set set;

        assert_int_equal(ks_topo_seat_among(r, 3, masks, false, false, &seat, &set, &err), 0);
        assert_int_equal(seat, KS_SEAT_MEASURE);
        assert_int_equal(set.cpu, r);
    }
    made_up_machine(NULL);
}

/* On this host as it is: spare and measuring CPUs do not meet while there are enough cores. */
static void spare_avoids_the_measuring_cores(void **state)
{
    struct ks_topo_host h;
    struct ks_err err = { 0 };
    cpu_set_t mask, spare, both;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
    assert_int_equal(ks_topo_read(&h, &err), 0);
    for (uint32_t n_local = 1; n_local <= h.n_cores + 1; n_local++) {
        assert_int_equal(ks_topo_spare(n_local, false, &spare, &err), 0);
        assert_true(CPU_COUNT(&spare) > 0);
        if (n_local >= h.n_cores || h.is_narrowed) {
            assert_true(CPU_EQUAL(&spare, &mask));
            continue;
        }
        for (uint32_t r = 0; r < n_local; r++) {
            enum ks_seat seat;
            struct ks_core_set set;

            assert_int_equal(ks_topo_seat(r, n_local, false, false, &seat, &set, &err), 0);
            assert_int_equal(set.cpu, first_cpu(&set.cpus));
            CPU_AND(&both, &set.cpus, &spare);
            assert_int_equal(CPU_COUNT(&both), 0);
        }
    }
}

static void unreadable_topology_is_an_error(void **state)
{
    struct ks_topo_host h;
    struct ks_err err = { 0 };
    cpu_set_t spare;

    (void)state;
    setenv("HWLOC_XMLFILE", "/nowhere/machine.xml", 1);
    setenv("HWLOC_COMPONENTS", "xml,stop", 1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    assert_int_equal(ks_topo_read(&h, &err), KS_EIO);
    assert_int_equal(ks_topo_spare(1, true, &spare, &err), KS_EIO);
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_COMPONENTS");
    unsetenv("HWLOC_HIDE_ERRORS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assign_over_all_small_cases),
        cmocka_unit_test(assign_known_cases),
        cmocka_unit_test(read_agrees_with_the_kernel),
        cmocka_unit_test(narrowed_mask_is_the_core_set),
        cmocka_unit_test(seats_on_a_bigger_machine),
        cmocka_unit_test(seats_of_ranks_bound_together),
        cmocka_unit_test(logical_cpus_stand_in_for_cores),
        cmocka_unit_test(spare_avoids_the_measuring_cores),
        cmocka_unit_test(unreadable_topology_is_an_error),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("topo", tests, NULL, NULL);
}
