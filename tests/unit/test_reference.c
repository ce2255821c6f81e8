/* SPDX-License-Identifier: MIT */
/* test_reference.c - references of convolutions against cases by hand, and their proofs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "tests/unit/fault.h"
#include "tests/unit/op_bench.h"
#include "tests/unit/op_cases.h"

#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Which elements are wrong matters to references and proofs, not to sanitizers. */
#ifdef KSWEEP_SANITIZED
#define N_RANDOM     36
#define N_INJECTIONS 4
#else
#define N_RANDOM     144
#define N_INJECTIONS 30
#endif

/* The same geometry in one of all directions and layouts. */
#define N_WAYS (KS_N_DIRECTIONS * KS_N_LAYOUTS)
static struct ks_problem turned(const struct ks_problem *p, uint32_t way)
{
    struct ks_problem other = *p;

    other.direction = way % KS_N_DIRECTIONS;
    other.layout = way / KS_N_DIRECTIONS % KS_N_LAYOUTS;
    assert_int_equal(ks_problem_finish(&other, NULL), 0);
    return other;
}

static const char *const cases[] = {
    "",
    "ndim=1 hi=1 y=1 pad_h_lo=0 pad_h_hi=0 wi=33 x=5 stride_w=2 dilation_w=3 pad_w_lo=4",
    "ndim=3 di=5 z=3 stride_d=2 dilation_d=2 pad_d_lo=2 pad_d_hi=1 k_total=9",
    "n=3 pad_h_lo=3 pad_h_hi=0 pad_w_lo=0 pad_w_hi=5 stride_w=3",
    "g=2 c_total=6 k_total=10 dilation_h=2 dilation_w=2",
    "g=17 c_total=17 k_total=17 n=2 stride_h=2 stride_w=2", /* depthwise */
    "g=3 c_total=3 k_total=6 n=2",                          /* depthwise with multiplier */
    "ndim=3 di=4 z=2 g=5 c_total=5 k_total=5 dilation_w=2", /* depthwise, 3-D */
    "k_total=1 c_total=1",
    "k_total=129 c_total=5 wi=9",         /* one channel beyond a block */
    "k_total=256 c_total=3 hi=3 wi=17",   /* one pixel beyond two blocks */
    "k_total=7 c_total=65 y=1 x=1 wi=16", /* 1x1: one step beyond */
    "hi=1 wi=1 c_total=40 k_total=33 y=1 x=1 pad_h_lo=0 pad_w_lo=0 pad_h_hi=0 pad_w_hi=0",
    "hi=2 wi=2 pad_h_lo=9 pad_w_lo=9 pad_h_hi=9 pad_w_hi=9", /* outputs of padding only */
    "hi=20 wi=1 y=3 x=1 pad_w_lo=0 pad_w_hi=7 stride_w=4",
    /* Beyond one stretch of a line, one block of channels, one panel. */
    "c_total=300 k_total=5 hi=1 wi=70 y=1 pad_h_lo=0 pad_h_hi=0",
    "c_total=5 k_total=300 hi=1 wi=70 y=1 pad_h_lo=0 pad_h_hi=0 stride_w=2",
    "c_total=2 k_total=3 hi=2 wi=300 dilation_w=2",
    "c_total=700 k_total=66 hi=1 wi=2 y=1 pad_h_lo=0 pad_h_hi=0",
    "c_total=300 k_total=9 hi=3 wi=3 y=1 x=1 pad_h_lo=0 pad_h_hi=0 pad_w_lo=0 pad_w_hi=0",
    "g=300 c_total=300 k_total=300 hi=3 wi=70 stride_h=2",
    "dtype=fp16 k_total=11",
    "dtype=bf16 g=2 c_total=8",
};

static void check_all_ways(const struct ks_problem *p)
{
    for (uint32_t way = 0; way < N_WAYS; way++) {
        struct ks_problem other = turned(p, way);

        bench_check(&other);
    }
}

static void chosen_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ks_problem p;
        struct ks_err err;

        if (op_case(cases[i], &p, &err) < 0)
            fail_msg("'%s': %s", cases[i], err.text);
        print_message("'%s'\n", cases[i]);
        check_all_ways(&p);
    }
}

static void random_cases(void **state)
{
    uint64_t rng = 4;

    (void)state;
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        struct ks_problem p = op_case_random(&rng, i % 4 < 2 ? KS_FP32 : i / 4 % KS_N_DTYPES);

        check_all_ways(&p);
    }
}

static void by_hand(void **state)
{
    /* 1-D, 3 taps, padding 1 and 0: out = { 0*1 + 1*10 + 2*100, 1*1 + 2*10 + 3*100 }. */
    const float a[3] = { 1, 2, -3 }, b[3] = { 1, 10, 100 };
    struct ks_problem p;
    double r[2], magnitude[2];

    (void)state;
    assert_int_equal(op_case("ndim=1 hi=1 y=1 pad_h_lo=0 pad_h_hi=0 c_total=1 k_total=1 wi=3 "
                             "pad_w_lo=1 pad_w_hi=0",
                             &p, NULL),
                     0);
    assert_int_equal(ks_operators[0]->reference(&p, a, b, r, magnitude, NULL), 0);
    assert_true(r[0] == 210 && r[1] == 1 + 20 - 300);
    assert_true(magnitude[0] == 210 && magnitude[1] == 321);
}

/* Every wrong element must be seen, whatever and wherever it is. */
static void inject(struct bench *t, uint64_t *rng)
{
    static const double errors[] = { 1, -1, 2, -7, 0.5, 0x1p-20, 0x1p20, 0x1p61 };
    int64_t at = (int64_t)ks_rng_below(rng, (uint64_t)t->e.c);
    double right = t->r[at];
    size_t kind = ks_rng_below(rng, 2 * ARRAY_LEN(errors) + 1);
    struct ks_err err;

    if (kind == 2 * ARRAY_LEN(errors))
        t->r[at] = NAN;
    else /* half of them +-1 */
        t->r[at] += errors[kind % (kind < ARRAY_LEN(errors) ? ARRAY_LEN(errors) : 2)];
    assert_int_equal(bench_prove_exact(t, ks_rng_next(rng), &err), KS_EDEVICE);
    assert_non_null(strstr(err.text, "the exact reference is wrong at "));
    t->r[at] = right;
}

static void exact_proof_sees_every_element(void **state)
{
    uint64_t rng = 5;

    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        struct ks_problem first = op_case_random(&rng, i / N_WAYS % KS_N_DTYPES);
        struct ks_problem p = turned(&first, i);
        struct bench t = bench_of(&p, KS_DATA_EXACT);

        assert_int_equal(bench_compute(&t, false, NULL), 0);
        for (int k = 0; k < N_INJECTIONS; k++)
            inject(&t, &rng);
        assert_int_equal(bench_prove_exact(&t, 1, NULL), 0);
        bench_release(&t);
    }
}

/* Errors that a plain sum over channels would not see. */
static void exact_proof_sees_pairs(void **state)
{
    struct ks_problem p;
    struct bench t;
    double first;

    (void)state;
    assert_int_equal(op_case("k_total=16 n=2", &p, NULL), 0);
    t = bench_of(&p, KS_DATA_EXACT);
    assert_int_equal(bench_compute(&t, false, NULL), 0);
    t.r[3] += 1;
    t.r[5] -= 1;
    assert_int_equal(bench_prove_exact(&t, 1, NULL), KS_EDEVICE);
    t.r[3] -= 1;
    t.r[5] += 1;
    first = t.r[0];
    assert_true(first != t.r[1]);
    t.r[0] = t.r[1];
    t.r[1] = first;
    assert_int_equal(bench_prove_exact(&t, 1, NULL), KS_EDEVICE);
    bench_release(&t);
}

struct named {
    const char *fields;
    int64_t element;
    const char *where;
};
static const struct named named[] = {
    /* Output [2][4][5][6][1][4] at (1, 2, 3, 4, 0, 0). */
    { "n=2 ndim=3 di=4 z=1", (((1 * 4 + 2) * 5 + 3) * 6 + 4) * 4,
      "n 1, depth 2, height 3, width 4" },
    /* Output [2][2][3][4][5][6] at (1, 1, 2, 3, 4, 5). */
    { "n=2 ndim=3 di=4 z=1 g=2 k_total=6 c_total=2 layout=ngchw",
      ((((1 * 2 + 1) * 3 + 2) * 4 + 3) * 5 + 4) * 6 + 5, "n 1, depth 3, height 4, width 5" },
    /* Input [2][4][5][6][2][1] at (1, 3, 2, 1, 1, 0), of which the last column is not used. */
    { "n=2 ndim=3 di=4 z=1 g=2 k_total=6 c_total=2 direction=backward_data stride_w=2",
      (((1 * 4 + 3) * 5 + 2) * 6 + 1) * 2 + 1, "n 1, depth 3, height 2, width 1" },
    /* Input [2][2][1][4][5][6] at (0, 1, 0, 2, 4, 3). */
    { "n=2 ndim=3 di=4 z=1 g=2 k_total=6 c_total=2 direction=backward_data layout=ngchw",
      ((1 * 4 + 2) * 5 + 4) * 6 + 3, "n 0, depth 2, height 4, width 3" },
    /* Weights [2][3][2][3][3][2] at (1, 2, 1, 2, 0, 1). */
    { "ndim=3 di=4 z=2 g=2 k_total=6 direction=backward_weight",
      ((((1 * 3 + 2) * 2 + 1) * 3 + 2) * 3 + 0) * 2 + 1, "g 1, c 1, z 1, y 2, x 0" },
    /* Weights [2][3][2][2][3][3] at (1, 2, 0, 1, 1, 2). */
    { "ndim=3 di=4 z=2 g=2 k_total=6 direction=backward_weight layout=ngchw",
      ((((1 * 3 + 2) * 2 + 0) * 2 + 1) * 3 + 1) * 3 + 2, "g 1, c 0, z 1, y 1, x 2" },
};

static void exact_proof_names_the_place(void **state)
{
    static const double wrong[] = { 1, 0.5, 0x1p25, NAN };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(named) * ARRAY_LEN(wrong); i++) {
        const struct named *row = &named[i / ARRAY_LEN(wrong)];
        struct ks_problem p;
        struct ks_err err;
        struct bench t;

        assert_int_equal(op_case(row->fields, &p, NULL), 0);
        t = bench_of(&p, KS_DATA_EXACT);
        assert_int_equal(bench_compute(&t, false, NULL), 0);
        t.r[row->element] += wrong[i % ARRAY_LEN(wrong)];
        assert_int_equal(bench_prove_exact(&t, 1, &err), KS_EDEVICE);
        if (!strstr(err.text, row->where))
            fail_msg("'%s' said '%s'", row->fields, err.text);
        bench_release(&t);
    }
}

/* A wrong weight or input must not pass either: the proof stands on the operands. */
static void exact_proof_uses_all_operands(void **state)
{
    uint64_t rng = 6;

    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        struct ks_problem first = op_case_random(&rng, KS_FP32), p = turned(&first, i);
        struct bench t = bench_of(&p, KS_DATA_EXACT);
        bool is_a = i / N_WAYS % 2;
        int64_t at = (int64_t)ks_rng_below(&rng, (uint64_t)(is_a ? t.e.a : t.e.b));
        float *operand = is_a ? t.a : t.b;
        double *before = malloc((size_t)t.e.c * sizeof(double));

        assert_non_null(before);
        assert_int_equal(bench_compute(&t, false, NULL), 0);
        memcpy(before, t.r, (size_t)t.e.c * sizeof(double));
        operand[at] += operand[at] > 0 ? -4 : 4; /* +-1 to -+3, ... */
        assert_int_equal(bench_compute(&t, false, NULL), 0);
        /* One that meets padding only, or no tap, changes nothing. */
        assert_int_equal(t.op->prove_exact(&p, t.a, t.b, before, 1, NULL),
                         memcmp(before, t.r, (size_t)t.e.c * sizeof(double)) ? KS_EDEVICE : 0);
        free(before);
        bench_release(&t);
    }
}

static void exact_proof_refuses_other_data(void **state)
{
    static const float bad[] = { 4, 0.5F, -1e30F, INFINITY, NAN };
    struct ks_problem p;
    struct ks_err err;
    struct bench t;

    (void)state;
    assert_int_equal(op_case("", &p, NULL), 0);
    t = bench_of(&p, KS_DATA_EXACT);
    assert_int_equal(bench_compute(&t, false, NULL), 0);
    for (size_t i = 0; i < 2 * ARRAY_LEN(bad); i++) {
        float *operand = i % 2 ? t.a : t.b, right = operand[11];

        operand[11] = bad[i / 2];
        assert_int_equal(bench_prove_exact(&t, 1, &err), KS_EINVAL);
        assert_non_null(strstr(err.text, "not exact data"));
        operand[11] = right;
    }
    assert_int_equal(bench_prove_exact(&t, 1, NULL), 0);
    bench_release(&t);
}

/* With enough draws every element of a small output is sampled. */
static void real_proof_sees_sampled_elements(void **state)
{
    uint64_t rng = 7;

    (void)state;
    for (uint32_t i = 0; i < 240; i++) {
        struct ks_problem first, p;
        struct bench t;
        double *broken;
        struct ks_err err;
        int64_t at;

        assert_int_equal(op_case("g=2 k_total=6 hi=3 wi=3 x=2 stride_h=2", &first, NULL), 0);
        first.dtype = i / 48 % KS_N_DTYPES;
        p = turned(&first, i / 8);
        t = bench_of(&p, KS_DATA_RANDOM);
        assert_int_equal(bench_compute(&t, true, NULL), 0);
        assert_int_equal(bench_prove_real(&t, 2000, NULL), 0);
        at = (int64_t)ks_rng_below(&rng, (uint64_t)t.e.c);
        broken = i % 2 ? t.r : t.abs;
        broken[at] = i % 4 < 2 ? broken[at] * (1 + 1e-13) + 0x1p-40 : i % 8 < 4 ? NAN : -5;
        assert_int_equal(bench_prove_real(&t, 2000, &err), KS_EDEVICE);
        assert_non_null(strstr(err.text, i % 2 ? "the reference's R[" : "the reference's A["));
        assert_int_equal(t.op->prove_real(&p, t.a, t.b, t.r, NULL, 1, 2000, NULL),
                         i % 2 ? KS_EDEVICE : 0);
        bench_release(&t);
    }
}

/* Every allocation fails once: the code, the outputs, and under the sanitizer no leak. */
static void fail_each_allocation(struct bench *t, bool is_proof, unsigned least, unsigned most)
{
    bool is_done = false;
    unsigned n;

    for (n = 0; !is_done; n++) {
        int rc;

        fault_arm(n);
        rc = is_proof ? bench_prove_exact(t, 1, NULL) : bench_compute(t, true, NULL);
        is_done = !fault_disarm();
        assert_int_equal(rc, is_done ? 0 : KS_ENOMEM);
        if (!is_proof && !is_done)
            assert_true(t->r[0] == BENCH_GUARD);
    }
    assert_in_range(n, least, most);
}

static void survives_no_memory(void **state)
{
    static const char *const fields[] = { "dtype=bf16", "dtype=fp16 g=4", "", "stride_w=2",
                                          "dtype=bf16 stride_w=2 layout=ngchw g=4" };

    (void)state;
    for (size_t i = 0; i < N_WAYS * ARRAY_LEN(fields); i++) {
        struct ks_problem first, p;
        struct bench t;

        assert_int_equal(op_case(fields[i / N_WAYS], &first, NULL), 0);
        p = turned(&first, (uint32_t)(i % N_WAYS));
        t = bench_of(&p, KS_DATA_EXACT);
        fail_each_allocation(&t, false, 4, 20);
        fail_each_allocation(&t, true, 12, 20);
        bench_release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(chosen_cases),
        cmocka_unit_test(random_cases),
        cmocka_unit_test(exact_proof_sees_every_element),
        cmocka_unit_test(exact_proof_sees_pairs),
        cmocka_unit_test(exact_proof_names_the_place),
        cmocka_unit_test(exact_proof_uses_all_operands),
        cmocka_unit_test(exact_proof_refuses_other_data),
        cmocka_unit_test(real_proof_sees_sampled_elements),
        cmocka_unit_test(survives_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
