/* SPDX-License-Identifier: MIT */
/* test_trace_operators.c - FLOPs and bytes of operators in traces, by their definitions */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "trace/operators.h"

#include <stdio.h>
#include <string.h>

/* FLOPs and bytes were worked out by hand from the definitions; the sizes are small. */
struct row {
    const char *name, *dims, *types, *concrete;
    double flop, bytes; /* flop 0: no formula applies; bytes 0: unknown */
    const char *reason; /* a part of it */
};

#define HALF3 "[\"c10::Half\",\"c10::Half\",\"c10::Half\"]"
#define FP8                                                                                        \
    "[\"c10::Float8_e4m3fn\",\"c10::Float8_e4m3fn\",\"float\",\"float\",\"c10::BFloat16\",\"\","   \
    "\"Scalar\",\"Scalar\"]"
#define CONV "[\"\",\"\",\"\",\"[2, 2]\",\"[1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]"

static const struct row rows[] = {
    /* 3x3, stride 2, padding 1 on 5x5: 3x3 outputs; padding given for all dims at once */
    { "aten::convolution", "[[2,4,5,5],[6,4,3,3],[6],[],[],[],[],[],[]]", HALF3, CONV,
      2.0 * 2 * 6 * 9 * 4 * 9, 2.0 * (200 + 216 + 6 + 108), NULL },
    /* dilation 2: reach 5, output 1x1 */
    { "aten::miopen_convolution", "[[1,4,5,5],[6,4,3,3],[],[],[],[],[],[],[]]",
      "[\"float\",\"float\"]",
      "[\"\",\"\",\"\",\"[0, 0]\",\"[1, 1]\",\"[2, 2]\",\"1\",\"False\",\"False\"]",
      2.0 * 6 * 1 * 4 * 9, 4.0 * (100 + 216 + 6), NULL },
    /* transposed, groups 2: K = 3 * 2, output (4-1)*2 - 2 + 2 + 1 + 1 = 8 */
    { "aten::convolution", "[[1,4,4],[4,3,3],[],[],[],[],[],[],[]]", "[\"float\",\"float\"]",
      "[\"\",\"\",\"\",\"[2]\",\"[1]\",\"[1]\",\"True\",\"[1]\",\"2\"]", 2.0 * 16 * 3 * 3,
      4.0 * (16 + 36 + 6 * 8), NULL },
    /* three dims */
    { "aten::cudnn_convolution", "[[1,2,3,3,3],[2,2,1,1,1],[],[],[],[]]", "[\"float\",\"float\"]",
      "[\"\",\"\",\"[0, 0, 0]\",\"[1, 1, 1]\",\"[1, 1, 1]\",\"1\"]", 2.0 * 2 * 27 * 2,
      4.0 * (54 + 4 + 54), NULL },
    /* depthwise: groups from the channels */
    { "aten::_conv_depthwise2d", "[[1,4,3,3],[4,1,3,3],[],[],[],[],[]]", "[\"float\",\"float\"]",
      "[\"\",\"\",\"[3, 3]\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\"]", 2.0 * 4 * 9 * 9,
      4.0 * (36 + 36 + 36), NULL },
    /* backward: weight and bias, not the input */
    { "aten::convolution_backward", "[[1,6,4,4],[1,2,4,4],[6,1,3,3],[],[],[],[],[],[],[],[]]",
      "[\"float\",\"float\",\"float\"]",
      "[\"\",\"\",\"\",\"[6]\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"2\","
      "\"[False, True, True]\"]",
      2.0 * 96 * 1 * 9 + 96, 4.0 * (96 + 32 + 54 + 96 + 6), NULL },
    { "aten::convolution_backward", "[[1,6,4,4],[1,2,4,4],[6,1,3,3],[],[],[],[],[],[],[],[]]",
      "[\"float\",\"float\",\"float\"]",
      "[\"\",\"\",\"\",\"[6]\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"2\","
      "\"[True, True, False]\"]",
      2 * 2.0 * 96 * 1 * 9, 4.0 * 2 * (96 + 32 + 54), NULL },
    { "aten::convolution", "[[2,4,5,5],[6,4,3,3],[],[],[],[],[],[],[]]", HALF3, "", 0,
      2.0 * (200 + 216 + 1), "no Concrete Inputs" },
    { "aten::convolution", "[[2,5,5,5],[6,4,3,3],[],[],[],[],[],[],[]]", HALF3, CONV, 0,
      2.0 * (250 + 216 + 1), "channels of input and weight differ" },
    { "aten::convolution", "[[2,4,5,5],[6,4,3,3],[6],[],[],[],[],[],[]]", HALF3,
      "[\"\",\"\",\"\",\"[2]\",\"[1]\",\"[1]\",\"False\",\"[0]\",\"4611686018427387904\"]", 0,
      2.0 * (200 + 216 + 6), "sizes out of range" },
    /* fused with an activation, and with the addition of a tensor */
    { "aten::cudnn_convolution_relu", "[[2,4,5,5],[6,4,3,3],[6],[],[],[],[]]", HALF3,
      "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"1\"]", 2.0 * 2 * 6 * 9 * 4 * 9,
      2.0 * (200 + 216 + 6 + 108), NULL },
    { "aten::miopen_convolution_add_relu", "[[2,4,5,5],[6,4,3,3],[2,6,3,3],[],[6],[],[],[],[]]",
      "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"Scalar\",\"c10::Half\"]",
      "[\"\",\"\",\"\",\"1.\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"1\"]",
      2.0 * 2 * 6 * 9 * 4 * 9, 2.0 * (200 + 216 + 6 + 108 + 108), NULL },
    /* output (4 - 1) * 2 - 2 + 3 + 1 = 8 */
    { "aten::slow_conv_transpose2d", "[[1,4,4,4],[4,3,3,3],[],[],[],[],[],[]]",
      "[\"float\",\"float\"]",
      "[\"\",\"\",\"[3, 3]\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\"]", 2.0 * 64 * 3 * 9,
      4.0 * (64 + 108 + 3 * 64), NULL },
    /* products */
    { "aten::mm", "[[2,3],[3,4]]", "[\"float\",\"float\"]", "", 48, 4.0 * (6 + 12 + 8), NULL },
    { "aten::addmm", "[[4],[2,3],[3,4],[],[]]", "[\"double\",\"double\",\"double\"]", "", 48,
      8.0 * (6 + 12 + 8 + 4), NULL },
    { "aten::bmm", "[[5,2,3],[5,3,4]]", "[\"c10::BFloat16\",\"c10::BFloat16\"]", "", 240,
      2.0 * 5 * 26, NULL },
    { "aten::matmul", "[[7,1,2,3],[5,3,4]]", "[\"float\",\"float\"]", "", 35 * 48,
      4.0 * (42 + 60 + 280), NULL },
    { "aten::matmul", "[[3],[3,4]]", "[\"float\",\"float\"]", "", 24, 4.0 * (3 + 12 + 4), NULL },
    { "aten::linear", "[[5,2,3],[4,3],[4]]", "[\"float\",\"float\",\"float\"]", "", 240,
      4.0 * (30 + 12 + 40 + 4), NULL },
    { "aten::_int_mm", "[[2,3],[3,4]]", "[\"signed char\",\"signed char\"]", "", 48, 6 + 12 + 4 * 8,
      NULL },
    { "aten::mv", "[[2,3],[3]]", "[\"float\",\"float\"]", "", 12, 4.0 * (6 + 3 + 2), NULL },
    { "aten::mm", "[[2,3],[4,4]]", "[\"float\",\"float\"]", "", 0, 4.0 * (6 + 16),
      "inner dimensions differ" },
    { "aten::mm", "[[2,3],[3,4]]", "[\"\",\"\"]", "", 0, 0, "no shapes" },
    { "aten::mm", "[[0,3],[3,4]]", "[\"float\",\"float\"]", "", 0, 4.0 * 12, NULL },
    /* fp8 with scales and a bias; the output is bf16, then fp8, then of an unknown type */
    { "aten::_scaled_mm", "[[2,16],[16,4],[],[],[4],[],[],[]]", FP8,
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"15\",\"False\"]", 256, 32 + 64 + 8 + 2 * 4 + 2 * 8, NULL },
    { "aten::_scaled_mm", "[[2,16],[16,4],[],[],[4],[],[],[]]", FP8,
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"False\"]", 256, 32 + 64 + 8 + 2 * 4 + 8, NULL },
    { "aten::_scaled_mm", "[[2,16],[16,4],[],[],[4],[],[],[]]", FP8, "", 256, 0, NULL },
    /* einsum: where the equation is there */
    { "aten::einsum", "[[],[[5,2,3],[5,3,4]],[]]", "[\"\",\"TensorList\",\"\"]",
      "[\"bij,bjk->bik\",\"\",\"\"]", 240, 0, NULL },
    { "aten::einsum", "[[],[[2,3],[4]],[]]", "[\"\",\"TensorList\",\"\"]", "[\"ij, k\",\"\",\"\"]",
      48, 0, NULL },
    { "aten::einsum", "[[],[[5,2,3],[5,3,4]],[]]", "[\"\",\"TensorList\",\"\"]", "", 0, 0, NULL },
    { "aten::einsum", "[[],[[2,3],[4,4]],[]]", "[\"\",\"TensorList\",\"\"]",
      "[\"ij,jk->ik\",\"\",\"\"]", 0, 0, "does not match" },
    { "aten::einsum", "[[],[[2,3],[3,4],[4]],[]]", "[\"\",\"TensorList\",\"\"]",
      "[\"ij,jk,k->i\",\"\",\"\"]", 0, 0, "two operands" },
    /* attention: 2 heads, 3 queries, 5 keys, widths 4 and 6 */
    { "aten::_scaled_dot_product_efficient_attention",
      "[[1,2,3,4],[1,2,5,4],[1,2,5,6],[],[],[],[]]", HALF3,
      "[\"\",\"\",\"\",\"\",\"False\",\"0.\",\"False\"]", 2.0 * 2 * 3 * 5 * 10,
      2.0 * (24 + 40 + 60 + 36), NULL },
    { "aten::_flash_attention_forward", "[[1,3,2,4],[1,5,2,4],[1,5,2,4],[],[],[],[],[],[]]", HALF3,
      "", 2.0 * 2 * 3 * 5 * 8, 2.0 * (24 + 40 + 40 + 24), NULL },
    { "aten::_flash_attention_forward", "[[9,2,4],[9,2,4],[9,2,4],[3],[3],[],[],[],[]]",
      "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"int\",\"int\"]", "", 0, 2.0 * 3 * 72 + 4 * 6,
      "packed sequences" },
    { "aten::_scaled_dot_product_flash_attention_backward",
      "[[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[],[],[],[],[],[],[],[]]",
      "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\"]", "", 2.0 * 2 * 3 * 3 * 20,
      2.0 * 2 * (3 * 24 + 24), NULL },
    { "aten::_flash_attention_forward", "[[1,3,2,0],[1,5,2,0],[1,5,2,4],[],[],[],[],[],[]]", HALF3,
      "", 2.0 * 2 * 3 * 5 * 4, 2.0 * (40 + 24), NULL },
    /* without a formula: the inputs, as they are stored */
    { "aten::add", "[[2,3],[2,3],[]]", "[\"float\",\"c10::Half\",\"Scalar\"]", "", 0, 24 + 12,
      NULL },
    { "aten::index_select", "[[1000,3],[],[2]]", "[\"float\",\"Scalar\",\"long\"]", "", 0, 0,
      NULL },
    { "aten::_fused_adam_", "[[[2,3]],[1]]", "[\"TensorList\",\"float\"]", "", 0, 0, NULL },
    { "aten::cat", "[[[2,3],[2,3]],[]]", "[\"TensorList\",\"Scalar\"]", "", 0, 0, NULL },
};

static void costs_are_those_of_the_definitions(void **state)
{
    static const struct ks_trace_rules rules;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        const char *reason = NULL;
        struct ks_trace_cost cost;
        struct ks_shape shape;
        char text[1024];

        snprintf(text, sizeof(text), "%s\n%s\n\n%s", r->dims, r->types, r->concrete);
        assert_true(ks_shape_read(text, &shape));
        ks_trace_cost_of(r->name, &shape, &rules, &cost, &reason);
        if (cost.flop != r->flop || cost.bytes != r->bytes || cost.has_flop != (r->flop > 0) ||
            cost.has_bytes != (r->bytes > 0) || (reason != NULL) != (r->reason != NULL) ||
            (reason && !strstr(reason, r->reason)))
            fail_msg("row %zu, %s: %g FLOP, %g bytes, '%s'", i, r->name, cost.flop, cost.bytes,
                     reason ? reason : "");
    }
}

static void causal_attention_is_halved_on_request_only(void **state)
{
    static const char text[] =
        "[[1,2,3,4],[1,2,3,4],[1,2,3,4],[],[]]\n" HALF3 "\n\n[\"\",\"\",\"\",\"0.\",\"True\"]";
    static const char cudnn[] =
        "[[1,2,3,4],[1,2,3,4],[1,2,3,4],[],[],[],[],[],[],[],[]]\n" HALF3
        "\n\n[\"\",\"\",\"\",\"\",\"\",\"\",\"3\",\"3\",\"False\",\"0.\",\"True\"]";
    struct ks_trace_rules rules = { 0 };
    struct ks_trace_cost whole, half;
    struct ks_shape shape;

    (void)state;
    assert_true(ks_shape_read(text, &shape));
    ks_trace_cost_of("aten::_scaled_dot_product_flash_attention", &shape, &rules, &whole, NULL);
    rules.halve_causal = true;
    ks_trace_cost_of("aten::_scaled_dot_product_flash_attention", &shape, &rules, &half, NULL);
    assert_true(whole.flop == 288);
    assert_true(half.flop == 144);
    assert_true(ks_shape_read(cudnn, &shape));
    ks_trace_cost_of("aten::_cudnn_attention_forward", &shape, &rules, &half, NULL);
    assert_true(half.flop == 144);
}

static void strides_and_expanded_inputs(void **state)
{
    static const char text[] = "[[2,3],[2,3]]\n[\"float\",\"float\"]\n[[0,1],[3,1]]\n";
    static const struct ks_trace_rules rules;
    struct ks_trace_cost cost;
    struct ks_shape shape;

    (void)state;
    assert_true(ks_shape_read(text, &shape));
    assert_true(shape.in[0].has_strides);
    assert_int_equal(shape.in[1].stride[0], 3);
    ks_trace_cost_of("aten::mul", &shape, &rules, &cost, NULL);
    assert_true(cost.bytes == 4 * (3 + 6) && cost.is_estimate);
    assert_false(ks_shape_read("\n[]\n\n", &shape));
    assert_false(ks_shape_read("[[1,2]", &shape));
    assert_false(ks_shape_read("[[-1]]", &shape));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_those_of_the_definitions),
        cmocka_unit_test(causal_attention_is_halved_on_request_only),
        cmocka_unit_test(strides_and_expanded_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
