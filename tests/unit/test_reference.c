/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "tests/unit/fault.h"
#include "tests/unit/op_cases.h"

#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A problem with its operands and the reference's answer. */
struct bench {
    struct ks_problem p;
    const struct ks_operator *op;
    struct ks_extents e;
    void *a, *b;
    double *r, *abs; /* [e.c + 1], the last one a guard */
};
#define GUARD 12345.0

static int compute(struct bench *t, bool wants_abs, struct ks_err *err)
{
    return t->op->reference(&t->p, t->a, t->b, t->r, wants_abs ? t->abs : NULL, err);
}

static struct bench bench_of(const struct ks_problem *p, enum ks_data data)
{
    struct bench t = { .p = *p, .op = ks_operators[p->op] };
    size_t bytes = ks_dtype_bytes(p->dtype);

    t.e = t.op->extents(p);
    t.a = malloc((size_t)t.e.a * bytes);
    t.b = malloc((size_t)t.e.b * bytes);
    t.r = malloc((size_t)(t.e.c + 1) * sizeof(double));
    t.abs = malloc((size_t)(t.e.c + 1) * sizeof(double));
    assert_true(t.a && t.b && t.r && t.abs);
    for (int64_t i = 0; i <= t.e.c; i++)
        t.r[i] = t.abs[i] = GUARD;
    ks_problem_inputs(p, data, 'a', t.a);
    ks_problem_inputs(p, data, 'b', t.b);
    return t;
}

static void bench_release(struct bench *t)
{
    free(t->a);
    free(t->b);
    free(t->r);
    free(t->abs);
}

/* Element of an image at (n, g, channel, pos) or of the weights at (k, g, c, tap), written out from
 * kernels/abi.h. */
static int64_t image_index(const struct ks_abi_problem *q, int64_t channels, const int64_t e[3],
                           const int64_t at[3], const int64_t n_g_c[3])
{
    if (q->layout == KS_ABI_NHWGC)
        return ((((n_g_c[0] * e[0] + at[0]) * e[1] + at[1]) * e[2] + at[2]) * q->g + n_g_c[1]) *
                   channels +
               n_g_c[2];
    return ((((n_g_c[0] * q->g + n_g_c[1]) * channels + n_g_c[2]) * e[0] + at[0]) * e[1] + at[1]) *
               e[2] +
           at[2];
}

static int64_t weight_index(const struct ks_abi_problem *q, int64_t g, int64_t k, int64_t c,
                            const int64_t tap[3])
{
    const int64_t *e = q->filter;

    if (q->layout == KS_ABI_NHWGC)
        return ((((g * q->k + k) * e[0] + tap[0]) * e[1] + tap[1]) * e[2] + tap[2]) * q->c + c;
    return ((((g * q->k + k) * q->c + c) * e[0] + tap[0]) * e[1] + tap[1]) * e[2] + tap[2];
}

/* What the definition gives: every product of the convolution goes where the direction wants it. */
struct naive {
    const struct bench *t;
    struct ks_abi_problem q;
    double *r, *abs; /* [e.c] */
};

static void naive_add(struct naive *v, int64_t input, int64_t weight, int64_t output)
{
    const int64_t at[KS_N_DIRECTIONS][3] = { [KS_FORWARD] = { input, weight, output },
                                             [KS_BACKWARD_DATA] = { output, weight, input },
                                             [KS_BACKWARD_WEIGHT] = { input, output, weight } };
    const int64_t *i = at[v->q.direction];
    double product =
        ks_element_get(v->t->a, i[0], v->q.dtype) * ks_element_get(v->t->b, i[1], v->q.dtype);

    v->r[i[2]] += product;
    v->abs[i[2]] += fabs(product);
}

static void naive_channels(struct naive *v, int64_t n, const int64_t out[3], const int64_t tap[3],
                           const int64_t in[3])
{
    const struct ks_abi_problem *q = &v->q;

    for (int64_t g = 0; g < q->g; g++)
        for (int64_t k = 0; k < q->k; k++)
            for (int64_t c = 0; c < q->c; c++) {
                const int64_t from[3] = { n, g, c }, to[3] = { n, g, k };

                naive_add(v, image_index(q, q->c, q->in, in, from), weight_index(q, g, k, c, tap),
                          image_index(q, q->k, q->out, out, to));
            }
}

static bool meets(const struct ks_abi_problem *q, const int64_t out[3], const int64_t tap[3],
                  int64_t in_out[3])
{
    bool is_inside = true;

    for (int i = 0; i < 3; i++) {
        in_out[i] = out[i] * q->stride[i] - q->pad_lo[i] + tap[i] * q->dilation[i];
        is_inside = is_inside && in_out[i] >= 0 && in_out[i] < q->in[i];
    }
    return is_inside;
}

/* Steps at = (x, y, z) like an odometer; false after the last. */
static bool next(const int64_t shape[3], int64_t at[3])
{
    for (int i = 2; i >= 0; i--) {
        if (++at[i] < shape[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static struct naive naive_of(const struct bench *t)
{
    struct naive v = { .t = t };
    int64_t out[3] = { 0 }, tap[3] = { 0 }, in[3];

    t->op->to_abi(&t->p, &v.q);
    v.r = calloc((size_t)t->e.c, sizeof(double));
    v.abs = calloc((size_t)t->e.c, sizeof(double));
    assert_true(v.r && v.abs);
    for (int64_t n = 0; n < v.q.n; n++)
        do {
            do {
                if (meets(&v.q, out, tap, in))
                    naive_channels(&v, n, out, tap, in);
            } while (next(v.q.filter, tap));
        } while (next(v.q.out, out));
    return v;
}

static void compare_with_naive(struct bench *t, bool is_exact)
{
    double bound = is_exact ? 0 : 0x1p-52 * (double)t->op->reduction(&t->p);
    struct naive want = naive_of(t);

    for (int64_t i = 0; i < t->e.c; i++) {
        if (!(fabs(t->r[i] - want.r[i]) <= bound * want.abs[i]))
            fail_msg("R[%ld] is %.17g, must be %.17g", (long)i, t->r[i], want.r[i]);
        if (!is_exact && !(fabs(t->abs[i] - want.abs[i]) <= bound * want.abs[i]))
            fail_msg("A[%ld] is %.17g, must be %.17g", (long)i, t->abs[i], want.abs[i]);
    }
    assert_true(t->r[t->e.c] == GUARD && t->abs[t->e.c] == GUARD);
    free(want.r);
    free(want.abs);
}

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

static void check_both_kinds(const struct ks_problem *p)
{
    for (int data = 0; data < 2; data++) {
        bool is_exact = data == KS_DATA_EXACT;
        struct bench t = bench_of(p, (enum ks_data)data);
        struct ks_err err;

        if (compute(&t, !is_exact, &err) < 0)
            fail_msg("%s", err.text);
        compare_with_naive(&t, is_exact);
        if (is_exact)
            assert_true(t.abs[0] == GUARD);
        if ((is_exact ? t.op->prove_exact(p, t.a, t.b, t.r, 7, &err)
                      : t.op->prove_real(p, t.a, t.b, t.r, t.abs, 7, 100, &err)) < 0)
            fail_msg("%s", err.text);
        bench_release(&t);
    }
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

        check_both_kinds(&other);
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
    for (uint32_t i = 0; i < 144; i++) {
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
    assert_int_equal(t->op->prove_exact(&t->p, t->a, t->b, t->r, ks_rng_next(rng), &err),
                     KS_EDEVICE);
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

        assert_int_equal(compute(&t, false, NULL), 0);
        for (int k = 0; k < 30; k++)
            inject(&t, &rng);
        assert_int_equal(t.op->prove_exact(&p, t.a, t.b, t.r, 1, NULL), 0);
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
    assert_int_equal(compute(&t, false, NULL), 0);
    t.r[3] += 1;
    t.r[5] -= 1;
    assert_int_equal(t.op->prove_exact(&p, t.a, t.b, t.r, 1, NULL), KS_EDEVICE);
    t.r[3] -= 1;
    t.r[5] += 1;
    first = t.r[0];
    assert_true(first != t.r[1]);
    t.r[0] = t.r[1];
    t.r[1] = first;
    assert_int_equal(t.op->prove_exact(&p, t.a, t.b, t.r, 1, NULL), KS_EDEVICE);
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
        assert_int_equal(compute(&t, false, NULL), 0);
        t.r[row->element] += wrong[i % ARRAY_LEN(wrong)];
        assert_int_equal(t.op->prove_exact(&p, t.a, t.b, t.r, 1, &err), KS_EDEVICE);
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
        assert_int_equal(compute(&t, false, NULL), 0);
        memcpy(before, t.r, (size_t)t.e.c * sizeof(double));
        operand[at] += operand[at] > 0 ? -4 : 4; /* +-1 to -+3, ... */
        assert_int_equal(compute(&t, false, NULL), 0);
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
    assert_int_equal(compute(&t, false, NULL), 0);
    for (size_t i = 0; i < 2 * ARRAY_LEN(bad); i++) {
        float *operand = i % 2 ? t.a : t.b, right = operand[11];

        operand[11] = bad[i / 2];
        assert_int_equal(t.op->prove_exact(&p, t.a, t.b, t.r, 1, &err), KS_EINVAL);
        assert_non_null(strstr(err.text, "not exact data"));
        operand[11] = right;
    }
    assert_int_equal(t.op->prove_exact(&p, t.a, t.b, t.r, 1, NULL), 0);
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
        assert_int_equal(compute(&t, true, NULL), 0);
        assert_int_equal(t.op->prove_real(&p, t.a, t.b, t.r, t.abs, 1, 2000, NULL), 0);
        at = (int64_t)ks_rng_below(&rng, (uint64_t)t.e.c);
        broken = i % 2 ? t.r : t.abs;
        broken[at] = i % 4 < 2 ? broken[at] * (1 + 1e-13) + 0x1p-40 : i % 8 < 4 ? NAN : -5;
        assert_int_equal(t.op->prove_real(&p, t.a, t.b, t.r, t.abs, 1, 2000, &err), KS_EDEVICE);
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
        rc = is_proof ? t->op->prove_exact(&t->p, t->a, t->b, t->r, 1, NULL)
                      : compute(t, true, NULL);
        is_done = !fault_disarm();
        assert_int_equal(rc, is_done ? 0 : KS_ENOMEM);
        if (!is_proof && !is_done)
            assert_true(t->r[0] == GUARD);
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
