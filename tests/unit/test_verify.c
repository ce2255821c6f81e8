/* SPDX-License-Identifier: MIT */
/* test_verify.c - comparison with a reference: exact, within a tolerance; kept mismatches */
#include "worker/verify.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 3000 /* several chunks and a tail that fills no vector */

static const struct ks_shape no_shape = { .n_dims = 0 };

static const uint32_t dtypes[] = { KS_FP32, KS_FP16, KS_BF16 };

/* Arrays of N elements, all equal to i % 7 - 3. */
static void make_elements(void *to, uint32_t dtype)
{
    for (int64_t i = 0; i < N; i++)
        ks_element_set(to, i, dtype, (double)(i % 7 - 3));
}

static void test_exact_passes(void **state)
{
    (void)state;
    for (size_t t = 0; t < 3; t++) {
        static _Alignas(64) uint8_t got[N * 4], want[N * 4];
        struct ks_verdict v;

        make_elements(got, dtypes[t]);
        make_elements(want, dtypes[t]);
        ks_verify_exact(got, want, N, dtypes[t], &no_shape, &v);
        assert_int_equal(v.n_wrong, 0);
        assert_int_equal(v.n_mismatches, 0);
        /* A zero of the other sign is the same exact integer. */
        ks_element_set(got, 3, dtypes[t], -0.0);
        assert_true(signbit(ks_element_get(got, 3, dtypes[t])) != 0);
        ks_verify_exact(got, want, N, dtypes[t], &no_shape, &v);
        assert_int_equal(v.n_wrong, 0);
    }
}

/* One wrong bit, at every place that is special to the chunks, is found and named. */
static void test_exact_finds_one_bit(void **state)
{
    static const int64_t at[] = { 0, 1, 15, 16, 1023, 1024, 2047, 2048, N - 2, N - 1 };

    (void)state;
    for (size_t t = 0; t < 3; t++) {
        for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
            static _Alignas(64) uint8_t got[N * 4], want[N * 4];
            size_t bytes = ks_dtype_bytes(dtypes[t]);
            struct ks_verdict v;

            make_elements(got, dtypes[t]);
            make_elements(want, dtypes[t]);
            ks_element_set(got, at[k], dtypes[t], 2.0);
            ks_element_set(want, at[k], dtypes[t], 2.0);
            got[(size_t)at[k] * bytes] ^= 1;
            ks_verify_exact(got, want, N, dtypes[t], &no_shape, &v);
            assert_int_equal(v.n_wrong, 1);
            assert_int_equal(v.n_mismatches, 1);
            assert_int_equal(v.mismatch[0].index, at[k]);
            assert_true(v.mismatch[0].want == 2.0 && v.mismatch[0].got > 2.0);
            assert_true(v.mismatch[0].tolerance == 0.0);
        }
    }
}

static void test_exact_sees_poison(void **state)
{
    static float got[N], want[N];
    struct ks_verdict v;

    (void)state;
    for (int i = 0; i < N; i++)
        got[i] = want[i] = 1.0f;
    got[77] = NAN;
    got[78] = INFINITY;
    ks_verify_exact(got, want, N, KS_FP32, &no_shape, &v);
    assert_int_equal(v.n_wrong, 2);
    assert_true(isnan(v.mismatch[0].got) && isinf(v.mismatch[1].got));
}

static void test_tolerance(void **state)
{
    struct ks_tolerance t = ks_tolerance_of(KS_FP32, 1000, 0x1p-24);
    double g = 1000 * 0x1p-24 / (1 - 1000 * 0x1p-24);

    (void)state;
    assert_true(t.u_out == 0x1p-24 && t.tiny == 0x1p-149);
    assert_true(t.scale_a == (1 + 0x1p-24) * g);
    assert_true(ks_tolerance_at(&t, -3.0, 5.0) == 3.0 * 0x1p-24 + 5.0 * t.scale_a + 0x1p-149);
    assert_true(ks_tolerance_at(&t, 0.0, 0.0) == 0x1p-149);
    assert_true(ks_tolerance_of(KS_FP16, 1, 0x1p-24).u_out == 0x1p-11);
    assert_true(ks_tolerance_of(KS_FP16, 1, 0x1p-24).tiny == 0x1p-24);
    assert_true(ks_tolerance_of(KS_BF16, 1, 0x1p-24).u_out == 0x1p-8);
    assert_true(ks_tolerance_of(KS_BF16, 1, 0x1p-24).tiny == 0x1p-133);
    /* A wider unit round-off of the accumulation widens the tolerance. */
    assert_true(ks_tolerance_of(KS_FP32, 10, 0x1p-22).scale_a >
                3.9 * ks_tolerance_of(KS_FP32, 10, 0x1p-24).scale_a);
}

/* Exactly at the tolerance passes, the next double beyond fails: the output is an exact float, so
 * the reference is moved. */
static void test_real_boundary(void **state)
{
    static const int at[] = { 0, 7, 8, 1023, 1024, 2999 };

    (void)state;
    for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
        static float got[N];
        static double r[N], a[N];
        /* Powers of two: the tolerance and the difference are exact in double. */
        struct ks_tolerance t = { .u_out = 0x1p-10, .scale_a = 0x1p-9, .tiny = 0x1p-149 };
        struct ks_verdict v;
        double tol;

        for (int i = 0; i < N; i++) {
            got[i] = 4.0f;
            r[i] = 4.0;
            a[i] = 8.0;
        }
        a[at[k]] = 0.0;
        tol = ks_tolerance_at(&t, 4.0, 0.0);
        assert_true(tol == 0x1p-8);
        got[at[k]] = (float)(4.0 + 0x1p-8);
        ks_verify_real(got, r, a, N, KS_FP32, &t, &no_shape, &v);
        assert_int_equal(v.n_wrong, 0);
        assert_true(v.max_error == 1.0);
        got[at[k]] = nextafterf(got[at[k]], 5.0f);
        ks_verify_real(got, r, a, N, KS_FP32, &t, &no_shape, &v);
        assert_int_equal(v.n_wrong, 1);
        assert_true(v.max_error > 1.0 && v.max_error < 1.001);
        assert_int_equal(v.mismatch[0].index, at[k]);
        assert_true(v.mismatch[0].got == (double)got[at[k]] && v.mismatch[0].want == 4.0);
        assert_true(v.mismatch[0].tolerance == tol);
        got[at[k]] = nextafterf((float)(4.0 - 0x1p-8), 0.0f); /* below, too */
        ks_verify_real(got, r, a, N, KS_FP32, &t, &no_shape, &v);
        assert_int_equal(v.n_wrong, 1);
    }
}

static void test_real_not_finite(void **state)
{
    static const float bad[] = { NAN, -NAN, INFINITY, -INFINITY };
    struct ks_tolerance t = ks_tolerance_of(KS_FP32, 9, 0x1p-24);

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        static float got[N];
        static double r[N], a[N];
        struct ks_verdict v;

        for (int i = 0; i < N; i++) {
            got[i] = 1.0f;
            r[i] = a[i] = 1.0;
        }
        got[N - 1] = bad[k];
        ks_verify_real(got, r, a, N, KS_FP32, &t, &no_shape, &v);
        assert_int_equal(v.n_wrong, 1);
        assert_int_equal(v.mismatch[0].index, N - 1);
        assert_true(v.max_error == 0.0); /* of the finite ones */
    }
}

/* Sums so long that nothing bounds their rounding: every number is within the tolerance, no more.
 * An element without products must still be zero. */
static void test_real_without_a_bound(void **state)
{
    static const struct {
        float got;
        double r, a;
        uint64_t n_wrong;
    } rows[] = {
        { 1e30F, 7.0, 1e7, 0 }, { 0.0F, 7.0, 1e7, 0 },      { NAN, 7.0, 1e7, 1 },
        { 0.0F, 0.0, 0.0, 0 },  { 1e-30F, 0.0, 0.0, 1 },    { INFINITY, 7.0, 1e7, 1 },
        { NAN, 0.0, 0.0, 1 },   { -INFINITY, 0.0, 0.0, 1 }, { 1e-45F, 0.0, 0.0, 0 },
    };

    (void)state;
    for (uint32_t dtype = 0; dtype < KS_N_DTYPES; dtype++) {
        struct ks_tolerance t = ks_tolerance_of(dtype, 1 << 24, 0x1p-24);

        assert_true(isfinite(t.scale_a) && ks_tolerance_at(&t, 7.0, 1e7) > 1e300);
        assert_true(ks_tolerance_at(&t, 0.0, 0.0) == t.tiny);
    }
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct ks_tolerance t = ks_tolerance_of(KS_FP32, 1 << 24, 0x1p-24);
        static float got[N];
        static double r[N], a[N];
        struct ks_verdict v;

        for (int i = 0; i < N; i++) {
            got[i] = 1.0f;
            r[i] = a[i] = 1.0;
        }
        got[N - 1] = rows[k].got;
        r[N - 1] = rows[k].r;
        a[N - 1] = rows[k].a;
        ks_verify_real(got, r, a, N, KS_FP32, &t, &no_shape, &v);
        assert_int_equal(v.n_wrong, rows[k].n_wrong);
        assert_int_equal(v.n_mismatches, rows[k].n_wrong);
    }
}

static void test_real_counts_zeros(void **state)
{
    struct ks_tolerance t = ks_tolerance_of(KS_FP16, 1, 0x1p-24);
    static uint16_t got[N];
    static double r[N], a[N];
    struct ks_verdict v;

    (void)state;
    memset(got, 0, sizeof(got));
    for (int64_t i = 0; i < N; i++)
        ks_element_set(got, i, KS_FP16, i % 3 == 0 ? -0.0 : 0.0);
    ks_element_set(got, 5, KS_FP16, 1.0);
    r[5] = a[5] = 1.0;
    ks_verify_real(got, r, a, N, KS_FP16, &t, &no_shape, &v);
    assert_int_equal(v.n_wrong, 0);
    assert_int_equal(v.n_zero, N - 1);
}

static void test_box_and_first_mismatches(void **state)
{
    /* A block of wrong elements [1..2][3..5][0..9] in a shape of 3 x 100 x 10. */
    struct ks_shape shape = { .n_dims = 3, .dim = { 3, 100, 10 } };
    struct ks_record *rec = malloc(sizeof(*rec));
    static float got[N], want[N];
    struct ks_verdict v;

    (void)state;
    assert_non_null(rec);
    for (int i = 0; i < N; i++)
        got[i] = want[i] = 1.0f;
    for (int d = 1; d <= 2; d++) {
        for (int i = 0; i < 30; i++)
            got[d * 1000 + 30 + i] = 2.0f;
    }
    ks_verify_exact(got, want, N, KS_FP32, &shape, &v);
    assert_int_equal(v.n_wrong, 60);
    assert_int_equal(v.n_mismatches, KS_MISMATCH_MAX);
    for (int i = 0; i < (int)KS_MISMATCH_MAX; i++)
        assert_int_equal(v.mismatch[i].index, 1030 + i);
    ks_record_init(rec);
    ks_verdict_record(&v, &shape, rec);
    assert_int_equal(rec->n_wrong, 60);
    assert_int_equal(rec->n_box, 3);
    assert_true(rec->box_lo[0] == 1 && rec->box_hi[0] == 2);
    assert_true(rec->box_lo[1] == 3 && rec->box_hi[1] == 5);
    assert_true(rec->box_lo[2] == 0 && rec->box_hi[2] == 9);
    free(rec);
}

/* The vector path and the formula, element by element, agree on random data. */
static void test_real_against_the_formula(void **state)
{
    struct ks_tolerance t = ks_tolerance_of(KS_FP32, 576, 0x1p-24);
    static float got[N];
    static double r[N], a[N];
    double max_error = 0.0;
    uint64_t n_wrong = 0;
    struct ks_verdict v;

    (void)state;
    srand(3);
    for (int i = 0; i < N; i++) {
        double tol, off = 2.5 * rand() / RAND_MAX - 1.25;

        r[i] = 100.0 * rand() / RAND_MAX - 50.0;
        a[i] = fabs(r[i]) + 10.0 * rand() / RAND_MAX;
        tol = ks_tolerance_at(&t, r[i], a[i]);
        got[i] = (float)(r[i] + off * tol);
        n_wrong += fabs((double)got[i] - r[i]) > tol ? 1u : 0u;
        max_error = fmax(max_error, fabs((double)got[i] - r[i]) / tol);
    }
    ks_verify_real(got, r, a, N, KS_FP32, &t, &no_shape, &v);
    assert_true(n_wrong > 100 && n_wrong < N - 100);
    assert_int_equal(v.n_wrong, n_wrong);
    assert_true(v.max_error == max_error);
}

/* ---- masks ---- */

static const struct ks_mask mask = { { 0x8d5c1b3f60e7a291, 0x2f9e04c6d8b17a53 } };

/* Any piece by itself is masked as in the whole, to the last byte; each word by another. */
static void test_mask(void **state)
{
    uint8_t plain[100], whole[101], piece[100];
    const struct ks_mask other = { { mask.key[0], mask.key[1] ^ 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof(plain); i++)
        plain[i] = (uint8_t)i;
    for (size_t n = 0; n <= sizeof(plain); n++) {
        whole[n] = 0x5a;
        ks_mask_apply(&mask, 7, plain, whole, n);
        assert_int_equal(whole[n], 0x5a);
        for (size_t from = 0; from < n; from += 8) {
            struct ks_masked all = { whole, 7, &mask }, d = ks_masked_from(&all, from);

            assert_memory_equal(ks_masked_read(&d, n - from, piece), plain + from, n - from);
        }
    }
    for (uint64_t i = 0; i < 64; i++) {
        assert_int_not_equal(ks_mask_word(&mask, i), ks_mask_word(&mask, i + 1));
        assert_int_not_equal(ks_mask_word(&mask, i), ks_mask_word(&other, i));
    }
    memset(plain, 0, sizeof(plain));
    ks_mask_apply(&mask, 1ull << 60, plain, whole, 8);
    assert_true(*(uint64_t *)(void *)whole == ks_mask_word(&mask, 1ull << 60));
}

/* What is masked is compared as what is not, wherever it is wrong. */
static void check_masked(uint32_t dtype, size_t n, int64_t wrong)
{
    static _Alignas(64) uint8_t got[N * 4], want[2][N * 4];
    static double r[2][N], a[2][N];
    size_t bytes = ks_dtype_bytes(dtype);
    struct ks_tolerance t = ks_tolerance_of(dtype, 9, 0x1p-24);
    struct ks_masked plain[3] = { { want[0], 0, NULL }, { r[0], 0, NULL }, { a[0], 0, NULL } };
    struct ks_masked masked[3] = { { want[1], 5, &mask },
                                   { r[1], 10000, &mask },
                                   { a[1], 20000, &mask } };
    struct ks_verdict v[4];

    make_elements(got, dtype);
    make_elements(want[0], dtype);
    for (size_t i = 0; i < N; i++)
        a[0][i] = fabs(r[0][i] = (double)((int64_t)i % 7 - 3)) + 1.0;
    if (wrong >= 0)
        ks_element_set(got, wrong, dtype, 100.0);
    ks_mask_apply(&mask, 5, want[0], want[1], N * bytes);
    ks_mask_apply(&mask, 10000, r[0], r[1], sizeof(r[0]));
    ks_mask_apply(&mask, 20000, a[0], a[1], sizeof(a[0]));
    for (int i = 0; i < 4; i++)
        ks_verify_begin(&no_shape, &v[i]);
    ks_verify_exact_more(got, &plain[0], 0, n, dtype, &no_shape, &v[0]);
    ks_verify_exact_more(got, &masked[0], 0, n, dtype, &no_shape, &v[1]);
    ks_verify_real_more(got, &plain[1], &plain[2], 0, n, dtype, &t, &no_shape, &v[2]);
    ks_verify_real_more(got, &masked[1], &masked[2], 0, n, dtype, &t, &no_shape, &v[3]);
    for (int i = 0; i < 4; i++)
        assert_int_equal(v[i].n_wrong, wrong >= 0);
    assert_memory_equal(&v[0], &v[1], sizeof(v[0]));
    assert_memory_equal(&v[2], &v[3], sizeof(v[2]));
}

static void test_masked(void **state)
{
    (void)state;
    for (uint32_t dtype = 0; dtype < KS_N_DTYPES; dtype++) {
        check_masked(dtype, N, -1);
        check_masked(dtype, N, 0);
        check_masked(dtype, N, 1023);
        check_masked(dtype, N, N - 1);
        check_masked(dtype, 5, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_passes),
        cmocka_unit_test(test_exact_finds_one_bit),
        cmocka_unit_test(test_exact_sees_poison),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_real_boundary),
        cmocka_unit_test(test_real_not_finite),
        cmocka_unit_test(test_real_without_a_bound),
        cmocka_unit_test(test_real_counts_zeros),
        cmocka_unit_test(test_box_and_first_mismatches),
        cmocka_unit_test(test_real_against_the_formula),
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_masked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
