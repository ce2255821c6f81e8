/* SPDX-License-Identifier: MIT */
/* test_features.c - features by hand, which a table gives, applicability, feature_spec.json */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/learn/analytic.h"
#include "analysis/learn/features_impl.h"
#include "base/hash.h"
#include "feature_kit.h"
#include "op/conv.h"
#include "op/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* ---- arithmetic ---- */

static void test_log2(void **state)
{
    (void)state;
    for (int e = -60; e <= 60; e++)
        assert_true(ks_fx_log2(ldexp(1, e)) == e);
    for (double x = 1e-9; x < 1e18; x *= 1.0137) {
        const double want = log2(x);

        assert_true(fabs(ks_fx_log2(x) - want) <= 4e-16 * fmax(1, fabs(want)));
    }
}

static double quantity(struct ks_problem p, int which)
{
    const struct ks_fx_problem x = ks_feature_problem(&p);
    double q[KS_FX_N_QUANTITIES];

    ks_fx_quantities(&x, q);
    return q[which];
}

static void test_quantities(void **state)
{
    static const struct {
        uint32_t direction;
        double m, n, k;
    } rows[] = { { KS_FORWARD, 2 * 28 * 28, 128, 64 * 9 },
                 { KS_BACKWARD_DATA, 2 * 56 * 56, 64, 128 * 9 },
                 { KS_BACKWARD_WEIGHT, 128, 64 * 9, 2 * 28 * 28 } };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        const struct ks_problem p = fkit_conv(rows[i].direction, 2, 1, 64, 128, 56, 3, 2);

        assert_true(quantity(p, KS_FX_M) == rows[i].m);
        assert_true(quantity(p, KS_FX_N) == rows[i].n);
        assert_true(quantity(p, KS_FX_K) == rows[i].k);
        assert_true(quantity(p, KS_FX_FLOPS) == ks_problem_flops(&p));
        assert_true(quantity(p, KS_FX_BYTES_WEIGHTS) == 128 * 64 * 9 * 4);
        assert_true(quantity(p, KS_FX_IS_UNIT) == 0);
    }
    assert_true(quantity(fkit_conv(KS_FORWARD, 1, 3, 60, 15, 7, 1, 1), KS_FX_PAD_C16) == 1.6);
    assert_true(quantity(fkit_conv(KS_FORWARD, 1, 3, 60, 15, 7, 1, 1), KS_FX_PAD_F8) == 1.6);
    assert_true(quantity(fkit_conv(KS_FORWARD, 1, 3, 60, 15, 7, 1, 1), KS_FX_ALIGN_C) == 4);
    assert_true(quantity(fkit_conv(KS_FORWARD, 1, 3, 60, 15, 7, 1, 1), KS_FX_IS_POINTWISE) == 1);
    assert_true(quantity(fkit_conv(KS_FORWARD, 1, 8, 8, 16, 7, 3, 1), KS_FX_IS_DEPTHWISE) == 1);
    assert_true(quantity(fkit_conv(KS_FORWARD, 1, 8, 8, 16, 7, 3, 1), KS_FX_REACH) == 0.4);
}

static struct ks_problem gemm(int64_t m, int64_t n, int64_t k)
{
    struct ks_problem p = ks_problem_blank(1);
    struct ks_err err;

    p.dim[KS_GEMM_M] = m;
    p.dim[KS_GEMM_N] = n;
    p.dim[KS_GEMM_K] = k;
    if (ks_problem_finish(&p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static void test_gemm(void **state)
{
    const struct ks_problem p = gemm(100, 60, 30);

    (void)state;
    assert_true(quantity(p, KS_FX_FLOPS) == ks_problem_flops(&p));
    assert_true(quantity(p, KS_FX_BYTES) == ks_problem_min_bytes(&p));
    assert_true(quantity(p, KS_FX_PAD_F16) == 64.0 / 60);
    assert_true(isnan(quantity(p, KS_FX_OUT_H)));
}

/* 100 x 60 in tiles of 64 x 32 x 16: 2 x 2 tiles and 2 steps, of which one wave of 3 units holds 3.
 */
static void test_pairs(void **state)
{
    const struct ks_problem p = gemm(100, 60, 30);
    const struct ks_fx_problem x = ks_feature_problem(&p);
    struct ks_fx_instance i = { 0 };
    const struct ks_fx_device d = { 3, 65536, 10, 1000, 100, 400 };
    double q[KS_FX_N_QUANTITIES], pair[KS_FX_N_PAIRS];

    (void)state;
    for (int k = 0; k < KS_FX_N_TRAITS; k++)
        i.trait[k] = NAN;
    ks_fx_quantities(&x, q);
    ks_fx_pairs(q, &i, &d, pair);
    assert_true(isnan(pair[KS_FX_TILES]));
    assert_true(pair[KS_FX_MODEL_NS] == 10 + ks_problem_min_bytes(&p) / 100);
    i.trait[KS_FX_TILE_M] = 64;
    i.trait[KS_FX_TILE_N] = 32;
    i.trait[KS_FX_TILE_K] = 16;
    i.trait[KS_FX_VECTOR_A] = 4;
    ks_fx_pairs(q, &i, &d, pair);
    assert_true(pair[KS_FX_TILES] == 4 && pair[KS_FX_STEPS_K] == 2);
    assert_true(pair[KS_FX_WAVES] == 4.0 / 3 && pair[KS_FX_TAIL] == 1.5);
    assert_true(pair[KS_FX_WASTE_M] == 1.28 && pair[KS_FX_WASTE_N] == 64.0 / 60);
    assert_true(pair[KS_FX_TILE_FLOPS] == 2 * 64 * 32 * 32);
    assert_true(pair[KS_FX_TILE_BYTES] == ((64 + 32) * 32 + 64 * 32) * 4);
    assert_true(pair[KS_FX_FOOTPRINT] == (64 + 32) * 16 * 4 / 65536.0);
    assert_true(pair[KS_FX_LOOSE_A] == 2.0 / 30);
    /* 6 tiles' time at 1000 flop/ns: 786; all operands at 100 bytes/ns: 432; 4 x 20480 bytes of the
     * tiles at 400 bytes/ns: 204.8. */
    assert_true(pair[KS_FX_BOUND] == 0);
    assert_true(pair[KS_FX_MODEL_NS] == 10 + 6 * 131072 / 1000.0);
}

/* Every bit of every feature: a difference is another KS_FX_VERSION. */
static void test_bits_are_those_of_the_version(void **state)
{
    struct fkit t;
    struct ks_feature_spec s;
    struct ks_sha256 h;
    uint8_t digest[32];
    float row[KS_FEATURES_MAX];

    (void)state;
    fkit_make(&t);
    fkit_spec(&t, 200, &s);
    s.device.flops_per_ns = 50.5;
    s.device.bytes_per_ns = 9.3;
    s.device.fast_per_ns = 77.7;
    s.device.launch_ns = 123.4;
    ks_sha256_init(&h);
    for (size_t i = 0; i < 200 * FKIT_INSTANCES; i++) {
        const struct ks_problem p = fkit_problem(i / FKIT_INSTANCES);

        ks_features_row(&s, &p, (uint32_t)(i % FKIT_INSTANCES), row);
        for (size_t k = 0; k < s.n_features; k++) {
            const float x = isnan(row[k]) ? -1e30f : row[k];

            ks_sha256_add(&h, &x, sizeof(x));
        }
    }
    ks_sha256_end(&h, digest);
    assert_int_equal(KS_FX_VERSION, 1);
    assert_int_equal(digest[0] << 8 | digest[1], 0x779f);
    ks_feature_spec_release(&s);
    fkit_release(&t);
}

/* ---- which features ---- */

static bool has(const struct ks_feature_spec *s, const char *name)
{
    for (size_t i = 0; i < s->n_features; i++)
        if (strcmp(s->features[i].name, name) == 0)
            return true;
    return false;
}

static float feature(const struct ks_feature_spec *s, const float *row, const char *name)
{
    for (size_t i = 0; i < s->n_features; i++)
        if (strcmp(s->features[i].name, name) == 0)
            return row[i];
    fail_msg("no feature '%s'", name);
    return 0;
}

static void test_features_of_a_table(void **state)
{
    struct fkit t;
    struct ks_feature_spec s;
    float x[FKIT_ROWS][KS_FEATURES_MAX];

    (void)state;
    fkit_make(&t);
    assert_int_equal(t.traits.n_instances, 4);
    assert_int_equal(ks_feature_spec_create(t.problems, 2, &t.traits, NULL, &s, NULL), 0);
    /* what differs is a feature, what does not is none */
    assert_true(has(&s, "dim_g") && has(&s, "log2_m") && has(&s, "trait_tile_m") &&
                has(&s, "trait_pipeline=dot") && has(&s, "code_bytes") && has(&s, "log2_tiles") &&
                has(&s, "loose_groups"));
    assert_false(has(&s, "dim_ndim") || has(&s, "dtype") || has(&s, "trait_unroll_k") ||
                 has(&s, "family=host_forward") || has(&s, "log2_steps_k") || has(&s, "loose_a"));
    assert_int_equal(ks_features_fill(&s, &t.f, &x[0][0], NULL), 0);
    /* rows are packed */
    const float *dot = &x[0][0] + 2 * s.n_features, *pixels = &x[0][0] + 7 * s.n_features;

    assert_true(feature(&s, dot, "trait_pipeline=dot") == 1);
    assert_true(feature(&s, dot, "trait_pipeline=merged") == 0);
    assert_true(feature(&s, dot, "dim_n") == 2);
    assert_true(feature(&s, dot, "log2_m") == (float)ks_fx_log2(1568));
    assert_true(feature(&s, pixels, "dim_g") == 32);
    assert_true(isnan(feature(&s, &x[0][0], "code_bytes")));
    /* dot counts columns in elements; pixels has its vectors along the rows: 2 x 16 of 14 x 14 */
    assert_true(feature(&s, dot, "log2_tiles_n") == (float)ks_fx_log2(22));
    assert_true(feature(&s, pixels, "log2_tiles_m") == (float)ks_fx_log2(7));
    ks_feature_spec_release(&s);
    fkit_release(&t);
}

/* Within a factor of two of the training problems' intensity a selector uses its trees. */
static void test_range_of_the_intensity(void **state)
{
    struct fkit t;
    struct ks_feature_spec s;
    double *limit;

    (void)state;
    fkit_make(&t);
    assert_int_equal(ks_feature_spec_create(&t.problems[1], 1, &t.traits, NULL, &s, NULL), 0);
    assert_null(ks_feature_outside(&s, &t.problems[1]));
    limit = &s.lo[KS_FX_INTENSITY];
    assert_true(*limit < 16);
    *limit *= 1.5;
    assert_null(ks_feature_outside(&s, &t.problems[1]));
    *limit *= 2;
    assert_string_equal(ks_feature_outside(&s, &t.problems[1]), "intensity");
    ks_feature_spec_release(&s);
    fkit_release(&t);
}

/* Nothing but names: a feature for each, or their rank. */
static void name_instances(struct ks_traits *t, size_t n)
{
    char name[32];

    *t = (struct ks_traits){ .n_instances = n, .cap = n };
    t->columns = calloc(1, sizeof(*t->columns));
    t->ids = calloc(n, sizeof(*t->ids));
    t->names = calloc(n, sizeof(*t->names));
    t->families = calloc(n, sizeof(*t->families));
    t->values = calloc(1, sizeof(*t->values));
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "ConvSolver%03zu", i);
        t->ids[i] = 100 + i;
        t->names[i] = strdup(name);
        t->families[i] = strdup("miopen");
    }
}

static void test_instances_without_traits(void **state)
{
    struct fkit t;
    struct ks_traits traits;
    struct ks_feature_spec s;
    float row[KS_FEATURES_MAX];

    (void)state;
    fkit_make(&t);
    name_instances(&traits, 3);
    assert_int_equal(ks_feature_spec_create(t.problems, 2, &traits, NULL, &s, NULL), 0);
    assert_int_equal(s.n_values, 3);
    assert_true(has(&s, "instance=ConvSolver002"));
    assert_false(has(&s, "log2_tiles"));
    assert_true(ks_feature_applies(&s, &t.problems[0], 1));
    ks_feature_spec_release(&s);
    ks_traits_release(&traits);
    name_instances(&traits, KS_ONE_HOT_MAX + 1);
    assert_int_equal(ks_feature_spec_create(t.problems, 2, &traits, NULL, &s, NULL), 0);
    assert_int_equal(s.n_values, 1);
    ks_features_row(&s, &t.problems[0], 5, row);
    assert_true(feature(&s, row, "instance_rank") == 5);
    ks_feature_spec_release(&s);
    ks_traits_release(&traits);
    fkit_release(&t);
}

/* ---- applicability ---- */

static void test_needs(void **state)
{
    static const struct {
        int64_t g, c, k;
        uint8_t applies[FKIT_INSTANCES]; /* indirect, merged of 4, dot of 8 lanes, pixels */
    } rows[] = { { 1, 64, 128, { 1, 0, 1, 1 } },
                 { 1, 60, 128, { 1, 0, 0, 1 } },
                 { 32, 128, 128, { 1, 1, 0, 1 } },
                 { 4, 16, 16, { 1, 0, 0, 1 } },
                 { 32, 128, 256, { 1, 0, 0, 1 } } };
    struct fkit t;
    struct ks_feature_spec s;

    (void)state;
    fkit_make(&t);
    fkit_spec(&t, 10, &s);
    for (size_t r = 0; r < N(rows); r++)
        for (uint32_t i = 0; i < FKIT_INSTANCES; i++) {
            struct ks_problem p =
                fkit_conv(KS_FORWARD, 1, rows[r].g, rows[r].c, rows[r].k, 14, 3, 1);

            assert_int_equal(ks_feature_applies(&s, &p, i), rows[r].applies[i]);
            p.direction = KS_BACKWARD_DATA; /* the family is for one direction */
            assert_false(ks_feature_applies(&s, &p, i));
        }
    ks_feature_spec_release(&s);
    fkit_release(&t);
}

/* ---- the analytic model ---- */

static void test_calibration(void **state)
{
    const struct ks_fx_device truth = { 1, 1 << 20, 2000, 80, 12, 60 };
    static const double bias[] = { 0, 0.5, -0.25, 1 };
    enum { N_PROBLEMS = 150, N_PAIRS = N_PROBLEMS * FKIT_INSTANCES };
    static struct ks_problem problems[N_PROBLEMS];
    static struct ks_timed_pair pairs[N_PAIRS];
    struct fkit t;
    struct ks_feature_spec s, plain;
    double sum = 0;

    (void)state;
    fkit_make(&t);
    fkit_spec(&t, N_PROBLEMS, &s);
    plain = s;
    plain.device = truth;
    for (size_t i = 0; i < N_PAIRS; i++) {
        const uint32_t instance = (uint32_t)(i % FKIT_INSTANCES);

        problems[i / FKIT_INSTANCES] = fkit_problem(i / FKIT_INSTANCES);
        pairs[i] = (struct ks_timed_pair){ &problems[i / FKIT_INSTANCES], instance, 0 };
        pairs[i].time_ns =
            ks_analytic_time_ns(&plain, pairs[i].problem, instance) * exp2(bias[instance]);
    }
    assert_int_equal(ks_feature_spec_calibrate(&s, pairs, N_PAIRS, NULL), 0);
    assert_true(s.is_calibrated);
    for (size_t i = 0; i < N_PAIRS; i++) {
        const double ns = ks_analytic_time_ns(&s, pairs[i].problem, pairs[i].instance);

        sum += fabs(log2(ns / pairs[i].time_ns));
    }
    assert_true(sum / N_PAIRS < 0.05); /* 0.02 */
    /* the pick is the fastest of those that apply */
    assert_int_equal(ks_analytic_pick(&s, &t.problems[0]), 2);
    for (size_t i = 0; i < N_PAIRS; i++)
        pairs[i].time_ns = 0;
    assert_int_equal(ks_feature_spec_calibrate(&s, pairs, N_PAIRS, NULL), KS_EINVAL);
    assert_int_equal(ks_feature_spec_calibrate(&s, pairs, 0, NULL), KS_EINVAL);
    ks_feature_spec_release(&s);
    fkit_release(&t);
}

/* ---- feature_spec.json ---- */

static int parse(const char *text, struct ks_feature_spec *out, struct ks_err *err)
{
    return ks_feature_spec_parse(text, strlen(text), "spec.json", out, err);
}

static void same_rows(const struct ks_feature_spec *a, const struct ks_feature_spec *b,
                      const struct ks_problem *p)
{
    for (uint32_t i = 0; i < a->n_instances; i++) {
        float x[KS_FEATURES_MAX] = { 0 }, y[KS_FEATURES_MAX] = { 0 };

        ks_features_row(a, p, i, x);
        ks_features_row(b, p, i, y);
        assert_memory_equal(x, y, sizeof(x));
        assert_int_equal(ks_feature_applies(a, p, i), ks_feature_applies(b, p, i));
    }
}

/* The text with the first `from` replaced. */
static char *changed(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    const size_t size = strlen(text) + strlen(to) + 1;
    char *out = malloc(size);

    assert_non_null(at);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void test_spec_file(void **state)
{
    static const struct {
        const char *from, *to, *why;
    } rows[] = { { "\"version\": 1", "\"version\": 2", "version 2" },
                 { "\"arithmetic\": 1", "\"arithmetic\": 9", "train the model again" },
                 { "\"log2_m\"", "\"log2_mm\"", "unknown feature 'log2_mm'" },
                 { "\"kind\": \"problem\"", "\"kind\": \"pair\"", "" },
                 { "\"grouped_conv\"", "\"sort\"", "sort" },
                 { "ksweep feature_spec", "a cake", "a cake" },
                 { "\"device\": [\n", "\"devices\": [\n", "" },
                 { "dot_4x6", "dot_4x7", "digest" },
                 { "\"unit\"", "\"unit", "spec.json:" } };
    struct fkit t;
    struct ks_feature_spec s, again;
    struct ks_err err;
    struct ks_buf b;

    (void)state;
    fkit_make(&t);
    fkit_spec(&t, 20, &s);
    ks_buf_init(&b);
    ks_feature_spec_write(&s, &b);
    assert_int_equal(parse(ks_buf_text(&b), &again, &err), 0);
    assert_int_equal(again.n_features, s.n_features);
    assert_int_equal(again.digest, s.digest);
    for (size_t i = 0; i < 20; i++) {
        const struct ks_problem p = fkit_problem(i);

        same_rows(&s, &again, &p);
    }
    ks_feature_spec_release(&again);
    for (size_t i = 0; i < N(rows); i++) {
        char *text;

        if (!strstr(ks_buf_text(&b), rows[i].from))
            continue;
        text = changed(ks_buf_text(&b), rows[i].from, rows[i].to);
        assert_true(parse(text, &again, &err) < 0);
        assert_int_equal(ks_code_exit(err.code), 2);
        assert_non_null(strstr(err.text, rows[i].why));
        free(text);
    }
    for (size_t n = 0; n < b.len - 2; n += 97) /* no beginning of it is a specification */
        assert_true(ks_feature_spec_parse(ks_buf_text(&b), n, "x", &again, &err) < 0);
    ks_buf_release(&b);
    ks_feature_spec_release(&s);
    fkit_release(&t);
}

/* A second file: without a trait that the first has, with one more, with an instance that the first
 * has not, and with the size of a code object that the first does not know. */
static void test_traits_of_several_files(void **state)
{
    static const int64_t ids[] = { 11, 22, 33, 55 }, sizes[] = { 400, 1, 1, 800 };
    static const int64_t more[] = { 3, 4, 5, 6 };
    static const struct {
        uint64_t id;
        const char *column;
        double want; /* NaN: missing */
    } rows[] = {
        { 11, "trait_tile_m", 6 },        { 44, "trait_tile_m", 12 }, { 55, "trait_tile_m", NAN },
        { 11, "trait_more", 3 },          { 44, "trait_more", NAN },  { 55, "trait_more", 6 },
        { 11, "code_bytes", 400 },        { 22, "code_bytes", 500 },  { 55, "code_bytes", 800 },
        { 55, "trait_vector_bytes", 64 },
    };
    struct fkit t;
    struct ks_df second;
    struct ks_df_column *c;

    (void)state;
    fkit_make(&t);
    second = t.f;
    for (size_t i = 0; i < second.n_columns; i++) {
        c = &t.columns[i];
        if (strcmp(c->name, "instance_id") == 0)
            c->values.i64 = ids;
        if (strcmp(c->name, "trait_tile_m") == 0) {
            c->name = "trait_more";
            c->values.i64 = more;
        }
        if (strcmp(c->name, "code_bytes") == 0) {
            c->values.i64 = sizes;
            c->missing = NULL;
        }
    }
    assert_int_equal(ks_traits_add(&t.traits, &second, NULL), 0);
    assert_int_equal(t.traits.n_instances, 5);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ks_trait_value *v =
            ks_traits_value(&t.traits, ks_traits_find(&t.traits, rows[i].id), rows[i].column);

        assert_non_null(v);
        if (isnan(rows[i].want) ? !isnan(v->number) : !(v->number == rows[i].want))
            fail_msg("%s of %d: %g", rows[i].column, (int)rows[i].id, v->number);
    }
    fkit_release(&t);
}

static void test_refusals(void **state)
{
    struct fkit t;
    struct ks_feature_spec s;
    struct ks_problem mixed[2];
    struct ks_err err;
    struct ks_traits none = { 0 };

    (void)state;
    fkit_make(&t);
    mixed[0] = t.problems[0];
    mixed[1] = gemm(8, 8, 8);
    assert_int_equal(ks_feature_spec_create(mixed, 2, &t.traits, NULL, &s, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "gemm"));
    assert_int_equal(ks_feature_spec_create(mixed, 0, &t.traits, NULL, &s, &err), KS_EINVAL);
    assert_int_equal(ks_feature_spec_create(mixed, 1, &none, NULL, &s, &err), KS_EINVAL);
    t.f.columns[0].name = "something";
    assert_int_equal(ks_traits_add(&none, &t.f, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "instance_id"));
    fkit_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log2),
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_bits_are_those_of_the_version),
        cmocka_unit_test(test_features_of_a_table),
        cmocka_unit_test(test_range_of_the_intensity),
        cmocka_unit_test(test_instances_without_traits),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_calibration),
        cmocka_unit_test(test_spec_file),
        cmocka_unit_test(test_traits_of_several_files),
        cmocka_unit_test(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
