/* SPDX-License-Identifier: MIT */
/* test_gpu_judge.c - references of the judge on the emulator, held to the host's */
/* Exact data bit for bit, random data within double rounding and in three orders of threads. */
/* quick: no */
#include "base/hash.h"
#include "gpu_emulator.h"
#include "gpu_judge_kit.h"
#include "op_cases.h"
#include "sanitized.h"
#include "worker/mask.h"

#include <math.h>

/* The host's half, with launches of little work: a problem takes several. */
#define KS_GPU_TARGET            3
#define KS_JUDGE_LAUNCH_PRODUCTS 3000
#define KS_JUDGE_LAUNCH_BLOCKS   4
#include "gpu/judge_host.h"

/* What sanitizers look for depends on neither the data nor the order of threads. */
#define N_RANDOM (IS_SANITIZED ? 12 : 30)

static const char *const convolutions[] = {
    "n=2 hi=6 wi=5 c_total=7 k_total=5",
    "n=2 g=2 hi=7 wi=9 c_total=16 k_total=6 stride_h=2 stride_w=3 pad_w_lo=2 pad_h_hi=0",
    "hi=9 wi=10 c_total=3 k_total=4 dilation_h=2 dilation_w=3 pad_w_lo=3",
    "n=3 hi=4 wi=5 y=1 x=1 pad_h_lo=0 pad_w_lo=0 pad_h_hi=0 pad_w_hi=0 c_total=72 k_total=70",
    "hi=9 wi=7 c_total=2 k_total=3 stride_h=4 stride_w=3 y=2 x=2",
    "hi=2 wi=3 y=5 x=7 pad_h_lo=2 pad_h_hi=3 pad_w_lo=4 pad_w_hi=2 c_total=2 k_total=2",
    "hi=2 wi=2 pad_h_lo=4 pad_w_lo=4 pad_h_hi=3 pad_w_hi=5 c_total=2 k_total=3",
    "n=2 g=6 c_total=6 k_total=12 hi=8 wi=11 stride_h=2 stride_w=2 dilation_w=2",
    "ndim=1 n=2 g=3 hi=1 wi=150 y=1 x=4 dilation_w=2 pad_h_lo=0 pad_h_hi=0 c_total=6 k_total=3",
    "ndim=3 g=2 di=5 hi=4 wi=6 z=3 pad_d_lo=2 pad_d_hi=1 c_total=4 k_total=6 stride_d=2",
    "ndim=3 n=2 di=4 hi=5 wi=3 z=2 stride_h=2 dilation_d=2 pad_d_lo=1 pad_w_lo=2 c_total=3 "
    "k_total=2",
    /* a sum of many runs in many lanes; one element */
    "n=9 hi=11 wi=70 c_total=1 k_total=2",
    "hi=1 wi=1 y=1 x=1 pad_h_lo=0 pad_w_lo=0 pad_h_hi=0 pad_w_hi=0 c_total=1 k_total=1",
};
static const char *const products[] = {
    "m=3 n=5 k=7",    "batch=3 m=9 n=8 k=16",  "m=1 n=1 k=1000",
    "m=17 n=33 k=64", "batch=2 m=8 n=40 k=72",
};

struct sums {
    struct ks_problem p;
    struct ks_extents n;
    void *a, *b;
    double *r, *abs, *want_r, *want_abs;
};

static void sums_open(struct sums *s, const struct ks_problem *p, enum ks_data data)
{
    const size_t bytes = ks_dtype_bytes(p->dtype);
    struct ks_err err;

    *s = (struct sums){ .p = *p, .n = ks_operators[p->op]->extents(p) };
    s->a = array((size_t)s->n.a, bytes);
    s->b = array((size_t)s->n.b, bytes);
    s->r = array((size_t)s->n.c, sizeof(double));
    s->abs = array((size_t)s->n.c, sizeof(double));
    s->want_r = array((size_t)s->n.c, sizeof(double));
    s->want_abs = array((size_t)s->n.c, sizeof(double));
    ks_problem_inputs(p, data, 'a', s->a);
    ks_problem_inputs(p, data, 'b', s->b);
    must(ks_operators[p->op]->reference(p, s->a, s->b, s->want_r, s->want_abs, &err), &err);
}

static void sums_close(struct sums *s)
{
    void *const all[] = { s->a, s->b, s->r, s->abs, s->want_r, s->want_abs };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]);
}

/* Masked by the judge where the order is not the first, and unmasked here. */
static void compute(const struct judges *j, struct sums *s, int order, bool is_abs_wanted)
{
    static const struct ks_mask mask = { { 0xfedcba9876543210, 0x123456789 } };
    const bool is_masked = order != KS_SIMT_FORWARD;
    struct ask q = { .call = { .task = KS_JUDGE_REFERENCE,
                               .n = (uint64_t)s->n.c,
                               .r = s->r,
                               .abs = is_abs_wanted ? s->abs : NULL },
                     .a = s->a,
                     .b = s->b,
                     .order = order };

    ks_operators[s->p.op]->to_abi(&s->p, &q.call.problem);
    assert_null(j->of[s->p.dtype]->entry->unsupported(&q.call.problem));
    q.call.problem.bytes = sizeof(q.call);
    if (is_masked)
        memcpy(q.call.mask, mask.key, sizeof(mask.key));
    memset(s->r, 0xff, (size_t)s->n.c * sizeof(double));
    memset(s->abs, 0xff, (size_t)s->n.c * sizeof(double));
    ask(j, &q);
    if (!is_masked)
        return;
    ks_mask_apply(&mask, KS_JUDGE_MASK_R, s->r, s->r, (size_t)s->n.c * sizeof(double));
    if (is_abs_wanted)
        ks_mask_apply(&mask, KS_JUDGE_MASK_ABS, s->abs, s->abs, (size_t)s->n.c * sizeof(double));
}

static void fail_at(const struct sums *s, const char *what, int64_t i)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_problem_canonical(&s->p, &text);
    fail_msg("%s[%d]: %.17g and %.17g, the host has %.17g and %.17g: %s", what, (int)i, s->r[i],
             s->abs[i], s->want_r[i], s->want_abs[i], ks_buf_text(&text));
}

/* Whole numbers: every order of a sum gives the same. */
static void check_exact(const struct judges *j, const struct ks_problem *p)
{
    struct sums s;
    struct ks_err err;

    sums_open(&s, p, KS_DATA_EXACT);
    compute(j, &s, KS_SIMT_FORWARD, true);
    for (int64_t i = 0; i < s.n.c; i++)
        if (s.r[i] != s.want_r[i] || s.abs[i] != s.want_abs[i])
            fail_at(&s, "exact", i);
    must(ks_operators[p->op]->prove_exact(p, s.a, s.b, s.r, 7, &err), &err);
    compute(j, &s, KS_SIMT_SHUFFLE, false);
    assert_true(isnan(s.abs[0]) && isnan(s.abs[s.n.c - 1]));
    for (int64_t i = 0; i < s.n.c; i++)
        if (s.r[i] != s.want_r[i])
            fail_at(&s, "exact, no abs", i);
    sums_close(&s);
}

static void check_random(const struct judges *j, const struct ks_problem *p)
{
    const double u = 0x1.01p-53 * 2.0 * (double)ks_operators[p->op]->reduction(p);
    struct sums s;
    struct ks_err err;

    sums_open(&s, p, KS_DATA_RANDOM);
    const size_t bytes = (size_t)s.n.c * sizeof(double);
    double *first = array(2, bytes);
    compute(j, &s, KS_SIMT_FORWARD, true);
    memcpy(first, s.r, bytes);
    memcpy(first + s.n.c, s.abs, bytes);
    for (int64_t i = 0; i < s.n.c; i++)
        if (!(fabs(s.r[i] - s.want_r[i]) <= u * s.want_abs[i]) ||
            !(fabs(s.abs[i] - s.want_abs[i]) <= u * s.want_abs[i]))
            fail_at(&s, "random", i);
    must(ks_operators[p->op]->prove_real(p, s.a, s.b, s.r, s.abs, 5, 200, &err), &err);
    for (int order = 1; order < KS_SIMT_N_ORDERS; order++) {
        compute(j, &s, order, true);
        if (memcmp(first, s.r, bytes) != 0 || memcmp(first + s.n.c, s.abs, bytes) != 0)
            fail_at(&s, "another order of threads", 0);
    }
    free(first);
    sums_close(&s);
}

static void check_problem(const struct judges *j, struct ks_problem p)
{
    struct ks_err err;

    must(ks_problem_finish(&p, &err), &err);
    check_exact(j, &p);
    if (!IS_SANITIZED)
        check_random(j, &p);
}

static void test_convolutions(void **state)
{
    const uint32_t n = sizeof(convolutions) / sizeof(*convolutions);

    for (uint32_t i = 0; i < n * KS_N_DIRECTIONS * KS_N_LAYOUTS; i++) {
        struct ks_problem p;
        struct ks_err err;

        must(op_case(convolutions[i % n], &p, &err), &err);
        p.direction = i / n % KS_N_DIRECTIONS;
        p.layout = i / n / KS_N_DIRECTIONS;
        p.dtype = (i + i / n) % KS_N_DTYPES;
        check_problem(*state, p);
    }
}

static void test_random_convolutions(void **state)
{
    const char *seed = getenv("KSWEEP_TEST_SEED");
    uint64_t rng = seed ? strtoull(seed, NULL, 10) : 1;

    for (int i = 0; i < N_RANDOM; i++) {
        struct ks_problem p = op_case_random(&rng, (uint32_t)ks_rng_below(&rng, KS_N_DTYPES));

        p.direction = (uint32_t)i % KS_N_DIRECTIONS;
        p.layout = (uint32_t)ks_rng_below(&rng, KS_N_LAYOUTS);
        check_problem(*state, p);
    }
}

static void test_gemms(void **state)
{
    const uint32_t n = sizeof(products) / sizeof(*products);

    for (uint32_t i = 0; i < n * 4; i++) {
        struct ks_problem p;
        struct ks_err err;
        char fields[100];

        snprintf(fields, sizeof(fields), "%s trans_a=%u trans_b=%u", products[i % n], i / n % 2,
                 i / n / 2);
        must(op_case_gemm(fields, &p, &err), &err);
        p.dtype = (i + i / n) % KS_N_DTYPES;
        check_problem(*state, p);
    }
}

/* So many elements that each has one lane, which adds several runs. */
static void test_large(void **state)
{
    struct ks_problem p;
    struct ks_err err;

    must(op_case("hi=512 wi=513 c_total=1 k_total=1 y=1 x=2", &p, &err), &err);
    p.dtype = KS_BF16;
    check_problem(*state, p);
}

/* A launch does no more than it may, a problem of more work takes several. */
static void check_launches(const struct judges *j, const char *fields, int n_wanted)
{
    struct ks_problem p;
    struct ks_err err;
    struct sums s;

    must(op_case(fields, &p, &err), &err);
    sums_open(&s, &p, KS_DATA_EXACT);
    struct gpu_emulator e =
        gpu_emulator_of(j->of[KS_FP32]->device, j->of[KS_FP32]->kernels, j->of[KS_FP32]->pool);
    const struct ks_abi_buffers buf = { .a = s.a, .b = s.b, .gpu = &e.gpu };
    struct ks_judge_call call = {
        .task = KS_JUDGE_REFERENCE, .n = (uint64_t)s.n.c, .r = s.r, .abs = s.abs
    };

    ks_operators[p.op]->to_abi(&p, &call.problem);
    call.problem.bytes = sizeof(call);
    memset(s.r, 0xff, (size_t)s.n.c * sizeof(double));
    assert_int_equal(ks_judge_run(&call.problem, &buf, KS_FP32), 0);
    for (int64_t i = 0; i < s.n.c; i++)
        if (s.r[i] != s.want_r[i] || s.abs[i] != s.want_abs[i])
            fail_at(&s, "several launches", i);
    assert_int_equal(e.n_launched, n_wanted);
    sums_close(&s);
}

static void test_launches(void **state)
{
    const char *point = "y=1 x=1 pad_h_lo=0 pad_w_lo=0 pad_h_hi=0 pad_w_hi=0 n=2 hi=32 wi=32 "
                        "c_total=1 k_total=1";

    /* 2048 elements of one product and one lane: 8 blocks, and 4 may be launched at a time */
    check_launches(*state, point, 2);
    /* 120 elements of 36 products, in 8 lanes: 4 blocks, of which 2 have 3000 products */
    check_launches(*state, "", 2);
    /* 9 elements of 5000 products, in 256 lanes: one a launch, though that is too much */
    check_launches(*state, "direction=backward_weight n=50 hi=10 wi=10 c_total=1 k_total=1", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions), cmocka_unit_test(test_random_convolutions),
        cmocka_unit_test(test_gemms),        cmocka_unit_test(test_large),
        cmocka_unit_test(test_launches),
    };

    return cmocka_run_group_tests_name("gpu_judge", tests, judges_open, judges_close);
}
