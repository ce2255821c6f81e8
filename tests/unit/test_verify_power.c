/* SPDX-License-Identifier: MIT */
/* test_verify_power.c - a small campaign of bench_verify: correct outputs pass, faults do not */
/* sanitized: no; what is counted does not depend on it, and test_verify runs the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "power.h"

#include <string.h>

#include <cmocka.h>

#define N_SUBJECTS 60

struct campaign {
    struct power power;
};

static int run_campaign(void **state)
{
    static struct campaign c;
    uint64_t rng = 20260101;

    memset(&c, 0, sizeof(c));
    for (int i = 0; i < N_SUBJECTS; i++) {
        struct subject s;

        subject_make(&rng, &s);
        power_add(&c.power, &s, &rng);
        subject_release(&s);
    }
    *state = &c;
    return 0;
}

static void correct_outputs_pass(void **state)
{
    const struct power *p = &((struct campaign *)*state)->power;

    assert_int_equal(p->n_correct, N_SUBJECTS * N_WAYS);
    assert_int_equal(p->n_false_1, 0);
    assert_int_equal(p->n_false_2, 0);
    assert_true(p->worst_correct > 0 && p->worst_correct <= 1);
}

static void faults_are_seen(void **state)
{
    const struct power *p = &((struct campaign *)*state)->power;

    assert_int_equal(p->n_missed_1, 0);
    assert_int_equal(p->n_missed_2, 0);
    assert_int_equal(p->n_wrongly_2, 0);
    for (int k = 0; k < N_FAULTS; k++) {
        const struct fault_row *row = &p->fault[k];

        if (row->n1 < 5 || row->n2 < 5)
            fail_msg("%s: too few: %u and %u", fault_name((enum fault_kind)k), row->n1, row->n2);
        assert_int_equal(row->caught1, row->n1 - row->identical1);
        assert_int_equal(row->caught2, row->n2 - row->same2 - row->below2);
    }
    assert_int_equal(p->fault[FAULT_OFF].caught2, p->fault[FAULT_OFF].n2);
    assert_int_equal(p->fault[FAULT_NAN].caught1, p->fault[FAULT_NAN].n1);
    assert_int_equal(p->fault[FAULT_UNWRITTEN].caught1, p->fault[FAULT_UNWRITTEN].n1);
}

static void every_kind_of_problem_is_there(void **state)
{
    const struct power *p = &((struct campaign *)*state)->power;

    for (int i = 0; i < KS_N_DIRECTIONS; i++)
        assert_true(p->by_direction[i] > 0);
    for (int i = 0; i < KS_N_DTYPES; i++)
        assert_true(p->by_dtype[i] > 0);
    assert_true(p->n_gemm > 0);
    assert_true(p->n_ngchw > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(correct_outputs_pass),
        cmocka_unit_test(faults_are_seen),
        cmocka_unit_test(every_kind_of_problem_is_there),
    };

    return cmocka_run_group_tests(tests, run_campaign, NULL);
}
