/* SPDX-License-Identifier: MIT */
/* test_distill.c - decision tables, their depth, static orders and smallest sets */
/* Decision tables, their depth and smallest sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/model/distill.h"

#include <stdbool.h>
#include <stdlib.h>

/* Two candidates, one for each side of a channel count, a third that is good at little. */
static void test_distilled_table(void **state)
{
    enum { N_P = 60, N_C = 3 };
    struct ks_losses l = { N_P,
                           N_C,
                           calloc(N_P * KS_FX_N_QUANTITIES, sizeof(double)),
                           calloc(N_P * N_C, sizeof(float)),
                           calloc(N_P, 1),
                           5 };
    struct ks_distill_options o = { .min_problems = 3, .width = 3 };
    struct ks_distilled t;
    uint16_t set[N_C];
    double set_loss[N_C];

    (void)state;
    for (uint32_t p = 0; p < N_P; p++) {
        const bool is_wide = p % 3 == 0;

        l.q[p * KS_FX_N_QUANTITIES + KS_FX_C] = is_wide ? 100 + p : 10 + p % 7;
        l.q[p * KS_FX_N_QUANTITIES + KS_FX_M] = p * 37 % 50;
        l.fold[p] = (uint8_t)(p % 5);
        l.loss[p * N_C] = is_wide ? 0.5f : 0;
        l.loss[p * N_C + 1] = is_wide ? 0 : 0.5f;
        l.loss[p * N_C + 2] = p == 7 ? 0 : 0.9f;
    }
    assert_int_equal(ks_distill_choose(&l, KS_NO_FOLD, &o, NULL), 0);
    assert_int_equal(o.depth, 2);
    assert_int_equal(ks_distill(&l, 0, &o, &t, NULL), 0);
    assert_true(t.n_splits >= 3 && t.n_splits <= 7);
    assert_int_equal(t.splits[0].quantity, KS_FX_C);
    assert_int_equal(ks_distilled_list(&t, l.q)[0], 1);
    assert_int_equal(ks_distilled_list(&t, l.q + KS_FX_N_QUANTITIES)[0], 0);
    assert_int_equal(ks_losses_smallest(&l, 0, 0.01, N_C, set, set_loss, NULL), 2);
    assert_true(set[0] == 0 && set[1] == 1 && set_loss[0] == 0.5 / 3 && set_loss[1] == 0);
    assert_int_equal(ks_losses_smallest(&l, 0, 0.01, 1, set, set_loss, NULL), 1);
    ks_distilled_release(&t);
    ks_losses_release(&l);
}

/* Two candidates in turn along a quantity, so that a table must be deep. Fold 0 weighs most;
 * opposite: there it is the other one's turn, which only a shallow table does not make worse. */
static void make_turns(struct ks_losses *l, bool is_opposite)
{
    enum { N_P = 400, N_TURNS = 16 };

    *l = (struct ks_losses){ N_P,
                             2,
                             calloc(N_P * KS_FX_N_QUANTITIES, sizeof(double)),
                             calloc(N_P * 2, sizeof(float)),
                             calloc(N_P, 1),
                             4 };
    for (uint32_t p = 0; p < N_P; p++) {
        const bool is_first = p % 4 == 0;
        const uint32_t best = (p * N_TURNS / N_P + (is_first && is_opposite)) % 2;

        l->q[p * KS_FX_N_QUANTITIES + KS_FX_C] = p;
        l->fold[p] = (uint8_t)(p % 4);
        l->loss[p * 2 + !best] = is_first ? 1 : 0.2f;
    }
}

/* What is chosen for a fold does not depend on the fold: depth, smallest set. */
static void test_nothing_of_a_fold_chooses_for_it(void **state)
{
    struct ks_distill_options o = { .min_problems = 3, .width = 1 };
    uint32_t of_fold[2], of_all[2];
    uint16_t set[2][1], set_of_all[2][1];
    double loss[1];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct ks_losses l;

        make_turns(&l, i == 1);
        assert_int_equal(ks_distill_choose(&l, 0, &o, NULL), 0);
        of_fold[i] = o.depth;
        assert_int_equal(ks_distill_choose(&l, KS_NO_FOLD, &o, NULL), 0);
        of_all[i] = o.depth;
        for (size_t p = 0; p < l.n_problems; p++) /* fold 0 alone makes candidate i the best */
            for (size_t k = 0; k < 2; k++)
                l.loss[p * 2 + k] = l.fold[p] == 0 ? k != i : 0.1f * (float)(k == 0);
        assert_int_equal(ks_losses_smallest(&l, KS_FOLD_BIT(0), 0.01, 1, set[i], loss, NULL), 1);
        assert_int_equal(ks_losses_smallest(&l, 0, 0.01, 1, set_of_all[i], loss, NULL), 1);
        ks_losses_release(&l);
    }
    assert_int_equal(of_fold[0], of_fold[1]);
    assert_int_equal(of_fold[0], of_all[0]);
    assert_int_not_equal(of_all[0], of_all[1]);
    assert_true(set[0][0] == 1 && set[1][0] == 1);
    assert_true(set_of_all[0][0] == 0 && set_of_all[1][0] == 1);
}

/* A table of less depth is the top of a deeper one: its lists begin with the best of the nodes at
 * which the deeper one was cut off. */
static void test_shallow_tables_are_tops_of_deep_ones(void **state)
{
    struct ks_distill_options deep = { .min_problems = 3, .width = 1, .depth = 6 },
                              shallow = { .min_problems = 3, .width = 1, .depth = 2 };
    struct ks_distilled a, b;
    struct ks_losses l;

    (void)state;
    make_turns(&l, false);
    assert_int_equal(ks_distill(&l, 0, &deep, &a, NULL), 0);
    assert_int_equal(ks_distill(&l, 0, &shallow, &b, NULL), 0);
    for (size_t p = 0; p < l.n_problems; p++) {
        const double *q = l.q + p * KS_FX_N_QUANTITIES;
        size_t at = 0;

        for (int depth = 0; depth < 2 && a.splits[at].quantity >= 0; depth++)
            at = (size_t)a.splits[at].left + !(q[a.splits[at].quantity] <= a.splits[at].at);
        assert_int_equal(a.best[at], ks_distilled_list(&b, q)[0]);
    }
    ks_distilled_release(&a);
    ks_distilled_release(&b);
    ks_losses_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distilled_table),
        cmocka_unit_test(test_nothing_of_a_fold_chooses_for_it),
        cmocka_unit_test(test_shallow_tables_are_tops_of_deep_ones),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
