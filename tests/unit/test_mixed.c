/* SPDX-License-Identifier: MIT */
/* test_mixed.c - rows of several sources: each problem keeps those of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/cmd/mixed.h"
#include "op/conv.h"

#include <stdio.h>

enum { N_PROBLEMS = 3, N_INSTANCES = 5 };

static void make_table(struct ks_cells *c)
{
    *c = (struct ks_cells){ 0 };
    for (int64_t i = 0; i < N_PROBLEMS; i++) {
        struct ks_problem p = ks_problem_blank(0);
        uint32_t at;

        p.id = 100 + (uint64_t)i;
        p.dim[KS_CONV_N] = 1 + i;
        assert_int_equal(ks_cells_problem(c, &p, &at, NULL), 0);
    }
    for (uint64_t i = 0; i < N_INSTANCES; i++) {
        char name[8];
        uint32_t at;

        snprintf(name, sizeof(name), "i%u", (unsigned)i);
        assert_int_equal(ks_cells_instance(c, 7 + i, name, &at, NULL), 0);
    }
}

static void add(struct ks_mixed *m, enum ks_mixed_kind kind, uint32_t problem, uint32_t instance,
                double time_ns, const struct ks_time_source *s)
{
    const struct ks_timed_cell cell = {
        .problem = problem, .instance = instance, .time_ns = time_ns, .se_ns = -1, .weight = 1
    };

    assert_int_equal(ks_mixed_add(m, kind, &cell, s, NULL), 0);
}

static double time_of(const struct ks_cells *c, uint32_t problem, uint32_t instance)
{
    const size_t cell = ks_cells_at(c, problem, instance);

    return cell == KS_NO_CELL ? 0 : c->cells[cell].time_ns;
}

/* Two devices, the second ten times as fast. Problem 0: the first has 3 times, the second 2 of
 * which one is of an instance that the first does not have. Problem 1: as many; the first in the
 * files counts. Problem 2: of the second only, in two files, which are one source. A third one has
 * the first row, which its problem does not keep. */
static void a_problem_keeps_one_source(void **state)
{
    const struct ks_time_source slow = { .device_class = 1, .has_device = true, .file = 0 },
                                fast = { .device_class = 2, .has_device = true, .file = 1 },
                                more = { .device_class = 2, .has_device = true, .file = 2 },
                                other = { .device_class = 9, .has_device = true, .file = 1 },
                                unbuilt[] = { { .file = 0 }, { .file = 1 } };
    struct ks_mixed m = { 0 };
    struct ks_cells c;

    (void)state;
    make_table(&c);
    add(&m, KS_MIXED_CELL, 0, 4, 1, &other);
    add(&m, KS_MIXED_CELL, 2, 0, 13, &fast);
    add(&m, KS_MIXED_CELL, 0, 0, 100, &slow);
    add(&m, KS_MIXED_CELL, 0, 1, 110, &slow);
    add(&m, KS_MIXED_CELL, 0, 2, 120, &slow);
    add(&m, KS_MIXED_LOST, 0, 4, 0, &slow);
    add(&m, KS_MIXED_CELL, 1, 0, 100, &slow);
    add(&m, KS_MIXED_CELL, 0, 0, 10, &fast);
    add(&m, KS_MIXED_CELL, 0, 3, 11, &fast);
    add(&m, KS_MIXED_TRUNCATED, 0, 0, 0, &fast);
    add(&m, KS_MIXED_CELL, 1, 3, 12, &fast);
    add(&m, KS_MIXED_CELL, 2, 3, 14, &more);
    add(&m, KS_MIXED_REFUSED, 0, 3, 0, &unbuilt[0]);
    add(&m, KS_MIXED_LOST, 0, 1, 0, &unbuilt[1]); /* of the second one's file */
    add(&m, KS_MIXED_REFUSED, 2, 1, 0, &unbuilt[1]);
    assert_int_equal(ks_mixed_settle(&m, &c, NULL), 0);
    assert_int_equal(m.n_rows, 4);
    assert_int_equal(m.n_problems, 2);
    /* the first one added has no problem, and that with most problems comes first */
    assert_int_equal(m.n_sources, 2);
    assert_true(m.sources[0].device_class == 1 && m.sources[0].n_problems == 2);
    assert_true(m.sources[1].device_class == 2 && m.sources[1].n_problems == 1);
    assert_int_equal(ks_cells_finish(&c, NULL), 0);
    for (size_t p = 0; p < N_PROBLEMS; p++)
        assert_int_equal(c.problems[p].source, p == 2);
    assert_int_equal(c.n_replaced, 0);
    assert_true(time_of(&c, 0, 0) == 100 && time_of(&c, 0, 1) == 110 && time_of(&c, 0, 2) == 120);
    assert_true(time_of(&c, 0, 3) == 0 && time_of(&c, 1, 0) == 100 && time_of(&c, 1, 3) == 0);
    assert_true(time_of(&c, 2, 0) == 13 && time_of(&c, 2, 3) == 14);
    assert_false(c.problems[0].is_truncated);
    assert_int_equal(c.n_lost, 0); /* instance 4 has no time at all */
    assert_true(ks_cells_is_refused(&c, 0, 3) && ks_cells_is_refused(&c, 2, 1));
    ks_mixed_release(&m);
    ks_cells_release(&c);
}

/* Without a device class a file is a source; a condition and a statistic are others. */
static void sources_differ_by_what_cannot_be_compared(void **state)
{
    const struct ks_time_source sources[] = {
        { .device_class = 1, .has_device = true },
        { .device_class = 1, .condition = 5, .has_device = true },
        { .device_class = 1, .is_over_rounds = true, .has_device = true },
        { .has_device = true, .file = 3 },
        { .has_device = true, .file = 4 },
        { .file = 5 },
        { .file = 5, .condition = 5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct ks_mixed m = { 0 };
        struct ks_cells c;

        make_table(&c);
        for (size_t k = 0; k < sizeof(sources) / sizeof(sources[0]); k++)
            add(&m, KS_MIXED_CELL, 0, 0, 10 + (double)k, &sources[k]);
        add(&m, KS_MIXED_CELL, 0, 1, 50, &sources[i]);
        assert_int_equal(ks_mixed_settle(&m, &c, NULL), 0);
        assert_int_equal(m.n_rows, sizeof(sources) / sizeof(sources[0]) - 1);
        assert_int_equal(ks_cells_finish(&c, NULL), 0);
        assert_true(c.n == 2 && time_of(&c, 0, 0) == 10 + (double)i);
        ks_mixed_release(&m);
        ks_cells_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_problem_keeps_one_source),
        cmocka_unit_test(sources_differ_by_what_cannot_be_compared),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
