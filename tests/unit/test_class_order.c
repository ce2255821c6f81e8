/* SPDX-License-Identifier: MIT */
/* test_class_order.c - shape classes in selectors, static orders of classes, and who gets them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/class_order.h"
#include "analysis/learn/features.h"
#include "base/hash.h"
#include "feature_kit.h"
#include "op/conv.h"

#include <stdio.h>
#include <string.h>

/* ---- the class in selectors ---- */

/* Any dimensions that some rule asks for; few values, so that every rule decides. */
static struct ks_problem any_problem(uint64_t *rng)
{
    struct ks_problem p = fkit_conv(KS_FORWARD, 1, 1, 64, 64, 7, 1, 1);
    const int64_t g = ks_rng_below(rng, 2) ? 1 : 8;

    p.op = ks_rng_below(rng, 40) == 0;
    p.dim[KS_CONV_NDIM] = 1 + (int64_t)ks_rng_below(rng, 20);
    if (p.dim[KS_CONV_NDIM] > 3)
        p.dim[KS_CONV_NDIM] = 2;
    p.dim[KS_CONV_G] = g;
    p.dim[KS_CONV_C_TOTAL] = (int64_t[]){ 1, 4, 8, 64 }[ks_rng_below(rng, 4)];
    for (int axis = 0; axis < 3; axis++) {
        p.dim[KS_CONV_DI + axis] = ks_rng_below(rng, 2) ? 7 : 1;
        p.dim[KS_CONV_Z + axis] = (int64_t[]){ 1, 1, 3, 3, 5, 7 }[ks_rng_below(rng, 6)];
        p.dim[KS_CONV_STRIDE_D + axis] = 1 + (ks_rng_below(rng, 6) == 0);
        p.dim[KS_CONV_DILATION_D + axis] = 1 + (ks_rng_below(rng, 6) == 0);
        p.dim[KS_CONV_PAD_D_LO + axis] = ks_rng_below(rng, 4) == 0;
        p.dim[KS_CONV_PAD_D_HI + axis] = ks_rng_below(rng, 4) == 0;
    }
    return p;
}

static void selectors_know_the_classes(void **state)
{
    size_t n[KS_N_PROBLEM_CLASSES] = { 0 };
    uint64_t rng = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const struct ks_problem p = any_problem(&rng);
        const struct ks_fx_problem x = ks_feature_problem(&p);
        const uint32_t class_id = ks_problem_class(&p);

        if (ks_fx_class(&x) != (int)class_id)
            fail_msg("problem %d: %s, but %s", i, ks_problem_class_name((uint32_t)ks_fx_class(&x)),
                     ks_problem_class_name(class_id));
        n[class_id]++;
    }
    for (uint32_t k = 0; k < KS_N_PROBLEM_CLASSES; k++)
        if (n[k] < 20)
            fail_msg("%zu problems of class %s only", n[k], ks_problem_class_name(k));
}

/* ---- orders ---- */

enum { N_3X3 = 20, N_DEPTHWISE = 6, N_STEM = 4, N_ALL = N_3X3 + N_DEPTHWISE + N_STEM };

static struct ks_problem problem_of(uint32_t i)
{
    if (i < N_3X3)
        return fkit_conv(KS_FORWARD, 1 + i, 1, 64, 64, 14, 3, 1);
    if (i < N_3X3 + N_DEPTHWISE)
        return fkit_conv(KS_FORWARD, 1 + i, 64, 64, 64, 14, 3, 1);
    return fkit_conv(KS_FORWARD, 1 + i, 1, 3, 64, 14, 3, 1);
}

/* Instance 0 is the best of 3x3 layers, 1 of depthwise ones, where 0 takes a hundred times as long,
 * 2 of stems; 3 is measured on one 3x3 layer only. */
static void make_cells(struct ks_cells *c)
{
    *c = (struct ks_cells){ 0 };
    for (uint32_t i = 0; i < N_ALL; i++) {
        const struct ks_problem p = problem_of(i);
        const uint32_t best = i < N_3X3 ? 0 : i < N_3X3 + N_DEPTHWISE ? 1 : 2;

        for (uint32_t k = 0; k < (i == 0 ? 4 : 3); k++) {
            struct ks_timed_cell cell = { .se_ns = -1, .weight = 1 };
            char name[16];

            snprintf(name, sizeof(name), "i%u", k);
            cell.time_ns = k == best ? 100 : k == 0 ? 10000 : 200 + 10 * k;
            assert_int_equal(ks_cells_problem(c, &p, &cell.problem, NULL), 0);
            assert_int_equal(ks_cells_instance(c, 7 + k, name, &cell.instance, NULL), 0);
            assert_int_equal(ks_cells_add(c, &cell, NULL), 0);
        }
    }
    assert_int_equal(ks_cells_finish(c, NULL), 0);
}

/* All cells of c, the last instance first, and one instance that c does not have. */
static void make_known(const struct ks_cells *c, struct ks_cells *known)
{
    uint32_t other;

    *known = (struct ks_cells){ 0 };
    assert_int_equal(ks_cells_instance(known, 99, "other", &other, NULL), 0);
    for (size_t i = c->n_instances; i-- > 0;)
        assert_int_equal(
            ks_cells_instance(known, c->instances[i].id, c->instances[i].name, &other, NULL), 0);
    assert_int_equal(ks_cells_append(known, c, NULL), 0);
    for (uint32_t i = 0; i < c->n_problems; i++) {
        struct ks_timed_cell cell = { .problem = i, .time_ns = 150, .se_ns = -1, .weight = 1 };

        assert_int_equal(ks_cells_add(known, &cell, NULL), 0);
    }
    assert_int_equal(ks_cells_finish(known, NULL), 0);
}

static void is_order(const uint32_t *order, uint32_t a, uint32_t b, uint32_t d, uint32_t e)
{
    const uint32_t want[] = { a, b, d, e };

    assert_memory_equal(order, want, sizeof(want));
}

static void classes_have_their_own_orders(void **state)
{
    struct ks_class_orders o;
    struct ks_cells c, known;
    bool is_training[N_ALL];

    (void)state;
    make_cells(&c);
    assert_int_equal(ks_class_orders_fit(&o, &c, NULL, NULL, NULL), 0);
    is_order(ks_class_orders_of(&o, KS_N_PROBLEM_CLASSES), 0, 1, 2, 3);
    is_order(ks_class_orders_of(&o, KS_CLASS_3X3), 0, 1, 2, 3);
    is_order(ks_class_orders_of(&o, KS_CLASS_DEPTHWISE), 1, 2, 0, 3);
    assert_true(ks_class_orders_has(&o, KS_CLASS_DEPTHWISE));
    /* too few of them, and none at all: the order of all problems */
    assert_false(ks_class_orders_has(&o, KS_CLASS_STEM));
    is_order(ks_class_orders_of(&o, KS_CLASS_STEM), 0, 1, 2, 3);
    is_order(ks_class_orders_of(&o, KS_CLASS_POINTWISE), 0, 1, 2, 3);
    ks_class_orders_release(&o);
    /* only what is in training counts */
    for (uint32_t i = 0; i < N_ALL; i++)
        is_training[i] = i >= N_3X3 + 3;
    assert_int_equal(ks_class_orders_fit(&o, &c, is_training, NULL, NULL), 0);
    assert_false(ks_class_orders_has(&o, KS_CLASS_DEPTHWISE));
    is_order(ks_class_orders_of(&o, KS_CLASS_DEPTHWISE), 2, 1, 0, 3);
    ks_class_orders_release(&o);
    /* and what a model that is continued was trained on: a reversed order of instances there */
    make_known(&c, &known);
    assert_int_equal(ks_class_orders_fit(&o, &c, is_training, &known, NULL), 0);
    assert_true(ks_class_orders_has(&o, KS_CLASS_DEPTHWISE));
    is_order(ks_class_orders_of(&o, KS_CLASS_DEPTHWISE), 1, 2, 0, 3);
    is_order(ks_class_orders_of(&o, KS_CLASS_3X3), 0, 1, 2, 3);
    ks_class_orders_release(&o);
    ks_cells_release(&known);
    ks_cells_release(&c);
}

static const char *wide(void *ctx, uint32_t problem)
{
    return problem >= *(const uint32_t *)ctx ? "n" : NULL;
}

static bool not_second(void *ctx, uint32_t problem, uint32_t instance)
{
    (void)ctx;
    (void)problem;
    return instance != 1;
}

/* A depthwise layer outside of the range: the best of its class, not that of all, which takes a
 * hundred times as long. */
static void outside_problems_fall_back(void **state)
{
    uint32_t first = N_3X3 + N_DEPTHWISE - 1;
    const struct ks_featurizer f = { .ctx = &first, .outside = wide }, without = { .n_cols = 1 };
    const struct ks_featurizer choosy = { .ctx = &first, .outside = wide, .applies = not_second };
    struct ks_pick picks[N_ALL];
    const char *outside[N_ALL];
    bool is_training[N_ALL], is_wanted[N_ALL];
    struct ks_cells c;
    size_t n;

    (void)state;
    make_cells(&c);
    memset(picks, 0, sizeof(picks));
    for (uint32_t i = 0; i < N_ALL; i++) {
        is_training[i] = i < first;
        is_wanted[i] = i == 3 || i == first || i == N_ALL - 1;
        picks[i].cell = c.problems[i].first + 2; /* what the model picks */
    }
    assert_int_equal(ks_fall_back(&c, &f, is_training, NULL, is_wanted, picks, outside, &n, NULL),
                     0);
    assert_int_equal(n, 2);
    assert_int_equal(picks[3].cell, c.problems[3].first + 2);
    assert_int_equal(picks[first].cell, c.problems[first].first + 1);
    assert_true(picks[first].eff == 1 && picks[first].any == 1);
    assert_int_equal(picks[N_ALL - 1].any, 0); /* a stem: none in training */
    assert_null(outside[3]);
    assert_null(outside[N_ALL - 2]);
    assert_string_equal(outside[first], "n");
    /* the first of the class that computes the problem */
    assert_int_equal(
        ks_fall_back(&c, &choosy, is_training, NULL, is_wanted, picks, outside, &n, NULL), 0);
    assert_int_equal(picks[first].cell, c.problems[first].first + 2);
    assert_int_equal(picks[first].any, 2);
    assert_int_equal(
        ks_fall_back(&c, &without, is_training, NULL, is_wanted, picks, NULL, &n, NULL), 0);
    assert_int_equal(n, 0);
    ks_cells_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selectors_know_the_classes),
        cmocka_unit_test(classes_have_their_own_orders),
        cmocka_unit_test(outside_problems_fall_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
