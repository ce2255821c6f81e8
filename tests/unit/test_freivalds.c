/* SPDX-License-Identifier: MIT */
/* test_freivalds.c - arithmetic of the proofs: sums modulo 2^61 - 1, and whole numbers only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/hash.h"
#include "op/freivalds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N 1500

struct arrays {
    int32_t x[N], low[N], high[N];
    int64_t sum_low[N], sum_high[N];
    struct ks_residues r;
    struct ks_residue_sums s;
};

static struct arrays *arrays_create(uint64_t *rng)
{
    struct arrays *a = calloc(1, sizeof(*a));

    assert_non_null(a);
    a->r = (struct ks_residues){ a->low, a->high };
    a->s = (struct ks_residue_sums){ .low = a->sum_low, .high = a->sum_high, .n = N };
    ks_residues_draw(&a->r, N, rng);
    return a;
}

/* By the definition, one reduction after each product. */
static uint64_t add_modulo(uint64_t sum, int64_t x, uint64_t v)
{
    __int128 product = (__int128)x * (int64_t)v % (__int128)KS_MODULUS;
    __int128 rest = ((__int128)sum + product) % (__int128)KS_MODULUS;

    return (uint64_t)(rest < 0 ? rest + (__int128)KS_MODULUS : rest);
}

static void modulo(void **state)
{
    uint64_t rng = 1;

    (void)state;
    assert_true(ks_modulo(0) == 0);
    assert_true(ks_modulo((__int128)KS_MODULUS) == 0);
    assert_true(ks_modulo(-(__int128)KS_MODULUS) == 0);
    assert_true(ks_modulo(-1) == KS_MODULUS - 1);
    for (int i = 0; i < 10000; i++) {
        int64_t high = (int64_t)(ks_rng_next(&rng) >> 2 >> ks_rng_below(&rng, 40));
        __int128 v = ((__int128)high << 60 | (__int128)(ks_rng_next(&rng) >> 4)) *
                     (ks_rng_below(&rng, 2) ? 1 : -1);
        __int128 want = v % (__int128)KS_MODULUS;

        assert_true(ks_modulo(v) == (uint64_t)(want < 0 ? want + (__int128)KS_MODULUS : want));
    }
}

/* The largest factors, all of one sign: sums that would not fit are settled in time. */
static void sums_at_the_limit(void **state)
{
    static const int64_t factors[] = { KS_RESULT_MAX, -KS_RESULT_MAX, KS_EXACT_MAX };
    uint64_t rng = 2, worst = KS_MODULUS - 1;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct arrays *a = arrays_create(&rng);
        uint64_t want = 0, want_each = 0;

        for (int i = 0; i < N; i++) {
            a->x[i] = (int32_t)factors[k];
            ks_residue_set(&a->r, i, worst);
            want = add_modulo(want, a->x[i], worst);
        }
        assert_true(ks_residue_get(&a->r, 7) == worst);
        assert_true(ks_modulo(ks_residue_dot(a->x, &a->r, 0, N, labs(factors[k]))) == want);
        ks_residue_sums_clear(&a->s);
        for (int i = 0; i < N; i++) {
            ks_residue_sums_reserve(&a->s, labs(factors[k]));
            ks_residue_sums_add(&a->s, a->x, worst);
        }
        assert_true(ks_residue_sums_get(&a->s, 0) == want);
        assert_true(ks_residue_sums_get(&a->s, N - 1) == want);
        for (int i = 0; i < N; i++) {
            ks_residue_sums_reserve(&a->s, labs(factors[k]));
            ks_residue_sums_add_each(&a->s, 10, a->x, &a->r, N - 10);
            want_each = add_modulo(want_each, a->x[i], worst);
        }
        assert_true(ks_residue_sums_get(&a->s, 9) == want);
        assert_true(ks_residue_sums_get(&a->s, 10) == (want + want_each) % KS_MODULUS);
        free(a);
    }
}

static void dot_of_random_numbers(void **state)
{
    uint64_t rng = 3;

    (void)state;
    for (int64_t n = 1; n < N; n += 37) {
        struct arrays *a = arrays_create(&rng);
        uint64_t want = 0;

        for (int64_t i = 0; i < n; i++) {
            a->x[i] = (int32_t)ks_rng_below(&rng, 2 * KS_RESULT_MAX + 1) - (int32_t)KS_RESULT_MAX;
            want = add_modulo(want, a->x[i], ks_residue_get(&a->r, N - n + i));
        }
        assert_true(ks_modulo(ks_residue_dot(a->x, &a->r, N - n, n, KS_RESULT_MAX)) == want);
        free(a);
    }
}

static void only_whole_numbers_in_range(void **state)
{
    static const float bad_data[] = { 4, -4, 0.5F, 2.999F, 1e30F, INFINITY, NAN };
    static const double bad_results[] = { 0x1p24 + 1, -0x1p24 - 1, 0.5, 1e300, NAN, -INFINITY };
    float data[40];
    double results[40];
    int32_t out[40];
    struct ks_err err;

    (void)state;
    for (int i = 0; i < 40; i++) {
        data[i] = (float)(i % 7 - 3);
        results[i] = i % 2 ? 0x1p24 - i : -0x1p24 + i;
    }
    assert_int_equal(ks_exact_data(data, 40, out, &err), 0);
    assert_true(out[0] == -3 && out[6] == 3 && out[39] == 1);
    assert_true(ks_exact_results(results, 40, out));
    assert_true(out[0] == -16777216 && out[39] == 16777216 - 39);
    for (size_t i = 0; i < sizeof(bad_data) / sizeof(bad_data[0]); i++) {
        data[5 * i] = bad_data[i];
        assert_int_equal(ks_exact_data(data, 40, out, &err), KS_EINVAL);
        data[5 * i] = 0;
    }
    for (size_t i = 0; i < sizeof(bad_results) / sizeof(bad_results[0]); i++) {
        results[5 * i] = bad_results[i];
        assert_false(ks_exact_results(results, 40, out));
        results[5 * i] = 0;
    }
    assert_int_equal(ks_exact_data(data, 40, out, &err), 0);
    assert_true(ks_exact_results(results, 40, out));
}

static void turning(void **state)
{
    int32_t from[19 * 35], to[19 * 35];

    (void)state;
    for (int i = 0; i < 19 * 35; i++)
        from[i] = i;
    ks_turn(from, 19, 35, to);
    for (int row = 0; row < 19; row++)
        for (int column = 0; column < 35; column++)
            assert_int_equal(to[column * 19 + row], row * 35 + column);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modulo),
        cmocka_unit_test(sums_at_the_limit),
        cmocka_unit_test(dot_of_random_numbers),
        cmocka_unit_test(only_whole_numbers_in_range),
        cmocka_unit_test(turning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
