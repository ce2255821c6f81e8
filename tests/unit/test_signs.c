/* SPDX-License-Identifier: MIT */
/* test_signs.c - a second set of inputs has the reference of the first, but for signs, bitwise */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op/signs.h"
#include "tests/unit/op_bench.h"
#include "tests/unit/op_cases.h"

#include "base/hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every direction, layout and dtype of a convolution, and every form of a product, in turn. */
static struct ks_problem make_problem(uint64_t *rng, uint32_t i)
{
    struct ks_problem p;
    struct ks_err err;

    if (i % 5 == 4) {
        char text[100];

        snprintf(text, sizeof(text), "batch=%d m=%d n=%d k=%d trans_a=%u trans_b=%u dtype=%s",
                 1 + (int)ks_rng_below(rng, 3), 1 + (int)ks_rng_below(rng, 9),
                 1 + (int)ks_rng_below(rng, 9), 1 + (int)ks_rng_below(rng, 9), i / 5 % 2,
                 i / 10 % 2, ks_dtype_name(i / 20 % KS_N_DTYPES));
        assert_int_equal(op_case_gemm(text, &p, &err), 0);
        return p;
    }
    p = op_case_random(rng, i % KS_N_DTYPES);
    p.direction = i / 3 % KS_N_DIRECTIONS;
    p.layout = i / 9 % KS_N_LAYOUTS;
    assert_int_equal(ks_problem_finish(&p, &err), 0);
    return p;
}

static void flip_inputs(const struct bench *t, const struct ks_signs *s)
{
    ks_signs_flip(s, 'a', t->p.dtype, t->a);
    ks_signs_flip(s, 'b', t->p.dtype, t->b);
}

/* What the flipped operands give is what the others gave, but for the sign that is said. */
static void check_flipped(const struct bench *was, const struct bench *is, const struct ks_signs *s,
                          uint64_t *n_minus)
{
    for (int64_t i = 0; i < was->e.c; i++) {
        bool is_minus = ks_signs_has(s, 'c', i);

        *n_minus += is_minus;
        if (is->r[i] != (is_minus ? -was->r[i] : was->r[i]) || is->abs[i] != was->abs[i])
            fail_msg("element %d: %g, A %g after %g, A %g, minus %d", (int)i, is->r[i], is->abs[i],
                     was->r[i], was->abs[i], is_minus);
    }
}

static void test_reference_follows(void **state)
{
    uint64_t rng = 11, n_minus = 0, n = 0;

    (void)state;
    for (uint32_t i = 0; i < 180; i++) {
        struct ks_problem p = make_problem(&rng, i);
        struct bench was = bench_of(&p, KS_DATA_RANDOM), is = bench_of(&p, KS_DATA_RANDOM);
        struct ks_signs s;
        struct ks_err err;

        assert_int_equal(ks_signs_create(&p, &s, &err), 0);
        ks_signs_between(&s, 0, ks_rng_next(&rng));
        flip_inputs(&is, &s);
        assert_int_equal(bench_compute(&was, true, &err), 0);
        assert_int_equal(bench_compute(&is, true, &err), 0);
        check_flipped(&was, &is, &s, &n_minus);
        n += (uint64_t)was.e.c;
        ks_signs_release(&s);
        bench_release(&was);
        bench_release(&is);
    }
    assert_in_range(n_minus, n * 2 / 5, n * 3 / 5); /* half of all elements change */
}

/* The output's elements are turned as ks_signs_has() says; twice is nothing; from set to set is as
 * by way of the set 0. */
static void test_flip(void **state)
{
    uint64_t rng = 12;

    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        struct ks_problem p = make_problem(&rng, i);
        struct bench t = bench_of(&p, KS_DATA_RANDOM);
        size_t bytes = (size_t)t.e.a * ks_dtype_bytes(p.dtype);
        uint64_t one = ks_rng_next(&rng), other = ks_rng_next(&rng);
        void *was = malloc(bytes), *by_way = malloc(bytes);
        struct ks_signs s;

        assert_true(was && by_way && ks_signs_create(&p, &s, NULL) == 0);
        memcpy(was, t.a, bytes);
        ks_signs_flip(&s, 'a', p.dtype, t.a); /* none is to be changed yet */
        assert_memory_equal(t.a, was, bytes);
        ks_signs_between(&s, 0, one);
        ks_signs_flip(&s, 'a', p.dtype, t.a);
        for (int64_t k = 0; k < t.e.a; k++) {
            double x = ks_element_get(was, k, p.dtype), y = ks_element_get(t.a, k, p.dtype);

            assert_true(y == (ks_signs_has(&s, 'a', k) ? -x : x));
        }
        ks_signs_between(&s, one, other);
        ks_signs_flip(&s, 'a', p.dtype, t.a);
        memcpy(by_way, t.a, bytes);
        ks_signs_between(&s, other, 0);
        ks_signs_flip(&s, 'a', p.dtype, t.a);
        assert_memory_equal(t.a, was, bytes);
        ks_signs_between(&s, 0, other);
        ks_signs_flip(&s, 'a', p.dtype, t.a);
        assert_memory_equal(t.a, by_way, bytes);
        ks_signs_release(&s);
        bench_release(&t);
        free(was);
        free(by_way);
    }
}

/* Whoever keeps one operand, or what it made of it, has other products, not only another sign. */
static void test_one_stale_operand(void **state)
{
    uint64_t rng = 13, n_same = 0, n = 0;

    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        struct ks_problem p;
        struct bench was, is;
        struct ks_signs s;
        struct ks_err err;

        assert_int_equal(op_case(i % 2 ? "n=4 c_total=8 k_total=8"
                                       : "n=4 c_total=8 k_total=8 direction=bwd_data",
                                 &p, &err),
                         0);
        was = bench_of(&p, KS_DATA_RANDOM);
        is = bench_of(&p, KS_DATA_RANDOM);
        assert_int_equal(ks_signs_create(&p, &s, &err), 0);
        ks_signs_between(&s, 0, ks_rng_next(&rng));
        ks_signs_flip(&s, i % 4 < 2 ? 'a' : 'b', p.dtype, i % 4 < 2 ? is.a : is.b);
        assert_int_equal(bench_compute(&was, true, &err), 0);
        assert_int_equal(bench_compute(&is, true, &err), 0);
        for (int64_t k = 0; k < was.e.c; k++, n++)
            n_same += fabs(is.r[k]) == fabs(was.r[k]);
        ks_signs_release(&s);
        bench_release(&was);
        bench_release(&is);
    }
    assert_true(n_same < n / 20);
}

static void test_first_element(void **state)
{
    struct ks_problem p;
    struct ks_signs s;
    uint64_t rng = 14;

    (void)state;
    assert_int_equal(op_case_gemm("m=1 n=1 k=5", &p, NULL), 0);
    assert_int_equal(ks_signs_create(&p, &s, NULL), 0);
    assert_true(s.n[KS_SIGN_ROW] == 1 && s.n[KS_SIGN_COLUMN] == 1 && s.n[KS_SIGN_SUM] == 5);
    assert_false(ks_signs_first_is_minus(0));
    for (int i = 0; i < 50; i++) {
        uint64_t seed = ks_rng_next(&rng);

        ks_signs_between(&s, 0, seed);
        assert_int_equal(ks_signs_has(&s, 'c', 0), ks_signs_first_is_minus(seed));
    }
    ks_signs_release(&s);
    memset(&s, 0, sizeof(s));
    ks_signs_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_follows),
        cmocka_unit_test(test_flip),
        cmocka_unit_test(test_one_stale_operand),
        cmocka_unit_test(test_first_element),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("signs", tests, NULL, NULL);
}
