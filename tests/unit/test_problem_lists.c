/* SPDX-License-Identifier: MIT */
/* test_problem_lists.c - the shipped problem lists against published figures of their networks */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "tests/unit/problem_list.h"

#include "op/conv.h"

#include <stdlib.h>
#include <string.h>

/* Parameters: torchvision's model table. Multiply-adds: the same table's GFLOPS column (it counts
 * one for each), 4.09, 4.23, 0.30 and 40.70 (video, 16 frames of 112 x 112). */
struct network {
    const char *list;
    int n_rows, n_uses; /* convolutions, without the fully connected layer */
    int64_t n_parameters;
    double gmac, gmac_digits;
    const char *last_name;
};
static const struct network networks[] = {
    { "resnet50", 23, 53, 25557032, 4.09, 0.005, "fc" },
    { "resnext50_32x4d", 24, 53, 25028904, 4.23, 0.005, "fc" },
    { "mobilenet_v2", 30, 52, 3504872, 0.30, 0.005, "classifier.1" },
    { "r3d18", 11, 20, 33371472, 40.70, 0.005, "fc" },
};
#define N_NETWORKS ((int)(sizeof(networks) / sizeof(networks[0])))

static struct problem_list read_list(const struct network *n)
{
    struct problem_list list;
    struct ks_err err;

    if (problem_list_read(n->list, &list, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(list.n, n->n_rows + 1);
    return list;
}

static void counts(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++) {
        struct problem_list list = read_list(&networks[i]);
        int64_t n_uses = 0;

        for (int k = 0; k < networks[i].n_rows; k++)
            n_uses += list.problems[k].count;
        assert_int_equal(n_uses, networks[i].n_uses);
        assert_int_equal(list.problems[networks[i].n_rows].count, 1);
        assert_string_equal(list.problems[networks[i].n_rows].name, networks[i].last_name);
    }
}

static void rows_are_distinct(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++) {
        struct problem_list list = read_list(&networks[i]);

        for (int k = 0; k < list.n; k++)
            for (int j = 0; j < k; j++) {
                assert_int_not_equal(list.problems[k].id, list.problems[j].id);
                assert_string_not_equal(list.problems[k].name, list.problems[j].name);
            }
    }
}

static void multiply_adds(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++) {
        struct problem_list list = read_list(&networks[i]);
        double gmac = 0;

        for (int k = 0; k < list.n; k++)
            gmac += 0.5e-9 * (double)list.problems[k].count * ks_problem_flops(&list.problems[k]);
        if (!(gmac > networks[i].gmac - networks[i].gmac_digits &&
              gmac < networks[i].gmac + networks[i].gmac_digits))
            fail_msg("%s: %.4f GMAC", networks[i].list, gmac);
    }
}

/* Each convolution is followed by a batch normalisation with two parameters a channel; the fully
 * connected layer has a bias. */
static void parameters(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++) {
        struct problem_list list = read_list(&networks[i]);
        int64_t n = 0;

        for (int k = 0; k < list.n; k++) {
            const struct ks_problem *p = &list.problems[k];
            int64_t per_channel = k < networks[i].n_rows ? 2 : 1;

            n += p->count *
                 (ks_operators[p->op]->extents(p).b + per_channel * p->dim[KS_CONV_K_TOTAL]);
        }
        assert_int_equal(n, networks[i].n_parameters);
    }
}

/* v1.5: the stride of a stage stands in its 3x3, not in the 1x1 before. */
static void stride_is_in_the_3x3(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++) {
        struct problem_list list = read_list(&networks[i]);

        for (int k = 0; k < list.n; k++) {
            const struct ks_problem *p = &list.problems[k];
            bool is_strided = p->dim[KS_CONV_STRIDE_H] == 2;

            assert_int_equal(p->dim[KS_CONV_STRIDE_H], p->dim[KS_CONV_STRIDE_W]);
            if (p->dim[KS_CONV_X] == 1)
                assert_int_equal(is_strided, strstr(p->name, "downsample") != NULL &&
                                                 strncmp(p->name, "layer1", 6) != 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(rows_are_distinct),
        cmocka_unit_test(multiply_adds),
        cmocka_unit_test(parameters),
        cmocka_unit_test(stride_is_in_the_3x3),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
