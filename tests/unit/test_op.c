/* SPDX-License-Identifier: MIT */
/* test_op.c - the operator conv: geometry, refusals, ids, canonical form, names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "tests/unit/op_cases.h"

#include "base/hash.h"
#include "op/conv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static struct ks_problem good(const char *fields)
{
    struct ks_problem p;
    struct ks_err err;

    if (op_case(fields, &p, &err) < 0)
        fail_msg("'%s': %s", fields, err.text);
    return p;
}

#define CONV1                                                                                      \
    "c_total=3 k_total=64 hi=224 wi=224 y=7 x=7 stride_h=2 stride_w=2 pad_h_lo=3 pad_w_lo=3 "      \
    "pad_h_hi=3 pad_w_hi=3"
#define DEPTHWISE "g=96 c_total=96 k_total=96 hi=112 wi=112 stride_h=2 stride_w=2"
#define ONE_DIM                                                                                    \
    "dtype=fp16 ndim=1 c_total=3 k_total=5 hi=0 wi=10 y=0 x=4 stride_w=2 pad_h_lo=0 pad_h_hi=0 "   \
    "pad_w_lo=0 pad_w_hi=0"
#define THREE_DIMS                                                                                 \
    "dtype=bf16 layout=ngchw ndim=3 n=2 g=4 c_total=8 k_total=12 di=5 hi=6 wi=7 z=2 y=3 x=1 "      \
    "stride_d=1 stride_h=2 stride_w=3 dilation_d=2 dilation_h=1 dilation_w=4 "                     \
    "pad_d_lo=0 pad_h_lo=1 pad_w_lo=2 pad_d_hi=3 pad_h_hi=0 pad_w_hi=1"

#define TRANSPOSED                                                                                 \
    "c_total=6 k_total=4 hi=10 wi=14 y=3 x=4 stride_h=2 stride_w=2 pad_h_lo=1 pad_h_hi=0 "         \
    "pad_w_lo=0 pad_w_hi=2"
#define DILATED                                                                                    \
    "n=2 g=3 c_total=6 k_total=9 hi=11 wi=13 y=3 x=2 stride_h=2 stride_w=2 dilation_h=3 "          \
    "dilation_w=2 pad_h_lo=2 pad_h_hi=1 pad_w_lo=1 pad_w_hi=0"

/* Worked out by hand. */
struct geometry {
    const char *fields;
    int64_t out[3], a, b, c, reduction, shape[6];
    double flops, min_bytes;
};
static const struct geometry geometries[] = {
    { CONV1,
      { 1, 112, 112 },
      150528,
      9408,
      802816,
      147,
      { 1, 1, 112, 112, 1, 64 },
      236027904,
      3851008 },
    { DEPTHWISE,
      { 1, 56, 56 },
      1204224,
      864,
      301056,
      9,
      { 1, 1, 56, 56, 96, 1 },
      5419008,
      6024576 },
    { ONE_DIM, { 1, 1, 4 }, 30, 60, 20, 12, { 1, 1, 1, 4, 1, 5 }, 480, 220 },
    { THREE_DIMS, { 6, 3, 4 }, 3360, 144, 1728, 12, { 2, 4, 3, 6, 3, 4 }, 41472, 10464 },
    { THREE_DIMS " direction=backward_data",
      { 6, 3, 4 },
      1728,
      144,
      3360,
      12,
      { 2, 4, 2, 5, 6, 7 },
      41472,
      10464 },
    { THREE_DIMS " direction=backward_weight",
      { 6, 3, 4 },
      3360,
      1728,
      144,
      144,
      { 4, 3, 2, 2, 3, 1 },
      41472,
      10464 },
    /* 5 taps, stride 4, dilation 2: every second tap meets an input element, so 3 of them. */
    { "direction=backward_data k_total=6 y=1 x=5 wi=40 stride_w=4 dilation_w=2 pad_h_lo=0 "
      "pad_h_hi=0",
      { 1, 5, 9 },
      270,
      120,
      800,
      18,
      { 1, 1, 5, 40, 1, 4 },
      10800,
      4760 },
    /* 5 taps but one output: an input element meets that output once. */
    { "direction=backward_data y=1 x=5 wi=5 hi=1 pad_h_lo=0 pad_h_hi=0 pad_w_lo=0 pad_w_hi=0",
      { 1, 1, 1 },
      4,
      80,
      20,
      4,
      { 1, 1, 1, 5, 1, 4 },
      160,
      416 },
    /* What a transposed convolution of 4 channels of 5 x 7 to 6 channels of 10 x 14 is: the
     * backward data of the convolution that goes from there to here. And its two companions. */
    { TRANSPOSED, { 1, 5, 7 }, 840, 288, 140, 72, { 1, 1, 5, 7, 1, 4 }, 20160, 5072 },
    { TRANSPOSED " direction=backward_data",
      { 1, 5, 7 },
      140,
      288,
      840,
      16,
      { 1, 1, 10, 14, 1, 6 },
      20160,
      5072 },
    { TRANSPOSED " direction=backward_weight",
      { 1, 5, 7 },
      840,
      140,
      288,
      35,
      { 1, 4, 1, 3, 4, 6 },
      20160,
      5072 },
    { DILATED, { 1, 4, 6 }, 1716, 108, 432, 12, { 2, 1, 4, 6, 3, 3 }, 10368, 9024 },
    { DILATED " direction=bwd_data",
      { 1, 4, 6 },
      432,
      108,
      1716,
      12,
      { 2, 1, 11, 13, 3, 2 },
      10368,
      9024 },
    { DILATED " direction=bwd_weight dtype=fp16",
      { 1, 4, 6 },
      1716,
      432,
      108,
      48,
      { 3, 3, 1, 3, 2, 2 },
      10368,
      4512 },
    { "direction=backward_weight n=3",
      { 1, 5, 6 },
      360,
      360,
      144,
      90,
      { 1, 4, 1, 3, 3, 4 },
      25920,
      3456 },
};

static void geometry_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(geometries); i++) {
        const struct geometry *want = &geometries[i];
        struct ks_problem p = good(want->fields);
        const struct ks_operator *op = ks_operators[p.op];
        struct ks_extents e = op->extents(&p);
        int64_t shape[6], product = 1;

        print_message("%s\n", want->fields);
        for (int axis = 0; axis < 3; axis++)
            assert_int_equal(ks_conv_out(&p, axis), want->out[axis]);
        assert_int_equal(e.a, want->a);
        assert_int_equal(e.b, want->b);
        assert_int_equal(e.c, want->c);
        assert_int_equal(op->reduction(&p), want->reduction);
        assert_true(ks_problem_flops(&p) == want->flops);
        assert_true(ks_problem_min_bytes(&p) == want->min_bytes);
        assert_int_equal(op->shape_c(&p, shape), 6);
        for (int k = 0; k < 6; k++) {
            assert_int_equal(shape[k], want->shape[k]);
            product *= shape[k];
        }
        assert_int_equal(product, e.c);
    }
}

/* How many products each element of c gets, counted pair by pair along one axis. */
static int64_t count_axis(const struct ks_abi_problem *q, int axis, int64_t in_wanted)
{
    int64_t n = 0;

    for (int64_t o = 0; o < q->out[axis]; o++)
        for (int64_t t = 0; t < q->filter[axis]; t++)
            n += o * q->stride[axis] + t * q->dilation[axis] - q->pad_lo[axis] == in_wanted;
    return n;
}

static void reduction_bounds_every_element(void **state)
{
    uint64_t rng = 1;
    int n_tight = 0;

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct ks_problem p = op_case_random(&rng, KS_FP32);
        struct ks_abi_problem q;
        int64_t most = 1, length;

        p.direction = KS_BACKWARD_DATA;
        assert_int_equal(ks_problem_finish(&p, NULL), 0);
        ks_operators[0]->to_abi(&p, &q);
        length = ks_operators[0]->reduction(&p);
        for (int axis = 0; axis < 3; axis++) {
            int64_t most_here = 0;

            for (int64_t in = 0; in < q.in[axis]; in++) {
                int64_t n = count_axis(&q, axis, in);

                most_here = n > most_here ? n : most_here;
            }
            most *= most_here;
        }
        assert_true(q.k * most <= length);
        n_tight += q.k * most == length;
    }
    assert_true(n_tight > 100);
}

static void abi_fields(void **state)
{
    struct ks_problem p = good(THREE_DIMS " direction=backward_weight");
    struct ks_abi_problem q;
    const struct ks_abi_problem want = { .bytes = sizeof(want),
                                         .op = KS_ABI_GROUPED_CONV,
                                         .direction = KS_ABI_BACKWARD_WEIGHT,
                                         .dtype = KS_ABI_BF16,
                                         .layout = KS_ABI_NGCHW,
                                         .n = 2,
                                         .g = 4,
                                         .c = 2,
                                         .k = 3,
                                         .in = { 5, 6, 7 },
                                         .filter = { 2, 3, 1 },
                                         .out = { 6, 3, 4 },
                                         .stride = { 1, 2, 3 },
                                         .dilation = { 2, 1, 4 },
                                         .pad_lo = { 0, 1, 2 },
                                         .pad_hi = { 3, 0, 1 } };

    (void)state;
    ks_operators[p.op]->to_abi(&p, &q);
    assert_memory_equal(&q, &want, sizeof(q));
    assert_int_equal(ks_operators[p.op]->abi, KS_ABI_GROUPED_CONV);
    assert_int_equal(KS_FP16, KS_ABI_FP16);
    assert_int_equal(KS_BACKWARD_DATA, KS_ABI_BACKWARD_DATA);
    assert_int_equal(KS_NGCHW, KS_ABI_NGCHW);
}

struct refusal {
    const char *fields, *reason;
};
static const struct refusal refusals[] = {
    { "n=0", "n = 0, must be between 1 and 2147483647" },
    { "hi=-5", "hi = -5, must be between 1" },
    { "c_total=0", "c_total = 0" },
    { "g=3", "c_total = 4 is not divisible by g = 3" },
    { "g=2 k_total=5", "k_total = 5 is not divisible by g = 2" },
    { "stride_h=0", "stride_h = 0, must be between 1" },
    { "dilation_w=0", "dilation_w = 0" },
    { "pad_w_hi=-1", "pad_w_hi = -1, must be between 0" },
    { "x=9", "no output: x = 9 with dilation 1 is larger than wi = 6 with padding 1 + 1" },
    { "x=9 stride_w=3", "no output" },
    { "dilation_h=4", "no output: y = 3 with dilation 4" },
    { "ndim=0", "ndim = 0, must be 1, 2 or 3" },
    { "ndim=4", "ndim = 4" },
    { "di=2", "di = 2, but with ndim = 2 this axis is unused: it must be 1" },
    { "stride_d=2", "stride_d = 2, but with ndim = 2" },
    { "pad_d_hi=1", "pad_d_hi = 1, but with ndim = 2 this axis is unused: it must be 0" },
    { "ndim=3 z=1", "di is missing" },
    { "wi=2147483648", "wi = 2147483648, must be between" },
    { "wi=2147483647 hi=200", "input: more than 2^40 elements" },
    { "n=2147483647 wi=2147483647 hi=2147483647", "input: more than 2^40 elements" },
    { "c_total=2147483647 k_total=2147483647", "weights: more than 2^40 elements" },
    { "k_total=2147483647 pad_h_hi=2147483647 pad_w_hi=2147483647 pad_w_lo=2147483647",
      "output: more than 2^40 elements" },
    { "y=2147483647 dilation_h=2147483647", "no output" },
};

static void refuses_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct ks_problem p = { .id = 42 };
        struct ks_err err = { 0 };

        assert_int_equal(op_case(refusals[i].fields, &p, &err), KS_EINVAL);
        if (!strstr(err.text, refusals[i].reason))
            fail_msg("'%s' gave '%s'", refusals[i].fields, err.text);
        assert_int_equal(p.id, 42);
    }
}

static void refuses_broken_structs(void **state)
{
    const struct ks_problem fine = good("");
    struct ks_problem p[8];
    struct ks_err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        p[i] = fine;
    p[0].op = 7;
    p[1].direction = KS_N_DIRECTIONS;
    p[2].dtype = KS_N_DTYPES;
    p[3].layout = KS_N_LAYOUTS;
    p[4].count = 0;
    memset(p[5].name, 'x', sizeof(p[5].name));
    snprintf(p[6].name, sizeof(p[6].name), "a\nb");
    snprintf(p[7].name, sizeof(p[7].name), "a\r");
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        struct ks_problem before = p[i];

        assert_int_equal(ks_problem_finish(&p[i], &err), KS_EINVAL);
        assert_memory_equal(&before, &p[i], sizeof(before));
    }
}

/* First 8 bytes of sha256sum(1) over the canonical text. */
static void golden_ids(void **state)
{
    static const struct {
        const char *fields;
        uint64_t id;
    } rows[] = {
        { CONV1, 0x41889a3b269c2f8e },
        { "g=144 c_total=144 k_total=144 hi=56 wi=56", 0x29bf277e546989d4 },
        { THREE_DIMS " direction=backward_weight", 0xdbbfea8170abacb8 },
        { ONE_DIM, 0xe00a52f5adfc1441 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(good(rows[i].fields).id, rows[i].id);
}

static void id_is_of_the_geometry_alone(void **state)
{
    static const char *const changes[] = {
        "direction=backward_data",
        "dtype=fp16",
        "layout=ngchw",
        "ndim=3 di=1 z=1",
        "n=2",
        "g=2",
        "c_total=8",
        "k_total=8",
        "hi=6",
        "wi=7",
        "y=2",
        "x=2",
        "stride_h=2",
        "stride_w=2",
        "dilation_h=2",
        "dilation_w=2",
        "pad_h_lo=2",
        "pad_w_lo=2",
        "pad_h_hi=2",
        "pad_w_hi=2",
        "ndim=3 di=2 z=1",
        "ndim=3 di=2 z=2",
        "ndim=3 di=1 z=1 stride_d=2",
        "ndim=3 di=1 z=1 dilation_d=2",
        "ndim=3 di=1 z=1 pad_d_lo=1",
        "ndim=3 di=1 z=1 pad_d_hi=1",
    };
    struct ks_problem base = good(""), same = base;
    uint64_t ids[ARRAY_LEN(changes)];

    (void)state;
    same.count = 17;
    snprintf(same.name, sizeof(same.name), "layer1.0.conv2");
    assert_int_equal(ks_problem_finish(&same, NULL), 0);
    assert_int_equal(same.id, base.id);
    assert_int_equal(same.count, 17);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        ids[i] = good(changes[i]).id;
        assert_int_not_equal(ids[i], base.id);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(ids[i], ids[k]);
    }
}

static void canonical_form(void **state)
{
    static const struct {
        const char *fields, *same_as;
    } rows[] = {
        { "di=0 z=0 stride_d=0 dilation_d=0", "" },
        { "di=1 z=1 stride_d=1 dilation_d=1 pad_d_lo=0", "" },
        { "ndim=1 hi=0 y=0 stride_h=0 dilation_h=0 pad_h_lo=0 pad_h_hi=0 di=0 z=0 stride_d=0",
          "ndim=1 hi=1 y=1 stride_h=1 dilation_h=1 pad_h_lo=0 pad_h_hi=0" },
    };
    struct ks_problem p;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(good(rows[i].fields).id, good(rows[i].same_as).id);
    /* A dilation that moves nothing is still what the user said. */
    p = good("y=1 x=1 dilation_h=3");
    assert_int_equal(p.dim[KS_CONV_DILATION_H], 3);
    p = good("di=0");
    assert_int_equal(p.dim[KS_CONV_DI], 1);
}

static void names_and_numbers(void **state)
{
    struct ks_err err;
    uint32_t op = 42;

    (void)state;
    for (uint32_t i = 0; i < KS_N_DTYPES; i++)
        assert_int_equal(ks_dtype_from(ks_dtype_name(i)), i);
    for (uint32_t i = 0; i < KS_N_DIRECTIONS; i++)
        assert_int_equal(ks_direction_from(ks_direction_name(i)), i);
    for (uint32_t i = 0; i < KS_N_LAYOUTS; i++)
        assert_int_equal(ks_layout_from(ks_layout_name(i)), i);
    assert_int_equal(ks_direction_from("fwd"), KS_FORWARD);
    assert_int_equal(ks_direction_from("bwd_data"), KS_BACKWARD_DATA);
    assert_int_equal(ks_direction_from("bwd_weight"), KS_BACKWARD_WEIGHT);
    assert_int_equal(ks_direction_from("bwd"), -1);
    assert_int_equal(ks_dtype_from("FP32"), -1);
    assert_string_equal(ks_dtype_name(KS_N_DTYPES), "?");
    assert_int_equal(ks_dtype_bytes(KS_BF16), 2);
    assert_int_equal(ks_dtype_bytes(KS_FP32), 4);
    assert_int_equal(ks_operator_find("grouped_conv", &op, &err), 0);
    assert_int_equal(op, 0);
    assert_int_equal(ks_operator_find("conv", &op, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "unknown operator 'conv'; known are grouped_conv, gemm"));
    assert_int_equal(op, 0);
    assert_int_equal(ks_problem_dim(0, "pad_w_hi"), KS_CONV_PAD_W_HI);
    assert_int_equal(ks_problem_dim(0, "count"), -1);
    for (int i = 0; i < KS_CONV_N_DIMS; i++)
        assert_int_equal(ks_problem_dim(0, ks_operators[0]->dim_names[i]), i);
    assert_null(ks_operators[0]->dim_names[KS_CONV_N_DIMS]);
}

/* The canonical text is made without asking for room: 64 bytes per field (op.c). */
static void names_of_fields_are_short(void **state)
{
    (void)state;
    for (uint32_t op = 0; ks_operators[op]; op++) {
        int n = 0;

        assert_true(strlen(ks_operators[op]->name) <= 40);
        for (; ks_operators[op]->dim_names[n]; n++)
            assert_true(strlen(ks_operators[op]->dim_names[n]) <= 40);
        assert_true(n <= KS_MAX_DIMS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_fields_are_short),
        cmocka_unit_test(geometry_by_hand),
        cmocka_unit_test(reduction_bounds_every_element),
        cmocka_unit_test(abi_fields),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(refuses_broken_structs),
        cmocka_unit_test(golden_ids),
        cmocka_unit_test(id_is_of_the_geometry_alone),
        cmocka_unit_test(canonical_form),
        cmocka_unit_test(names_and_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
