/* SPDX-License-Identifier: MIT */
/* test_trace_problems.c - operators of traces as canonical problems */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "grid/import.h"
#include "grid/trace_problems.h"
#include "op/conv.h"
#include "op/gemm.h"

#include <stdio.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

/* The arguments of an operator: dims, types, strides and scalars, as the model of traces words
 * them. */
struct row {
    const char *name, *shapes;
    const char *want[3]; /* parts of the canonical text of each problem; "": none; NULL: the end */
    const char *why;     /* refused: part of the reason */
    bool is_ambiguous;
};

#define CONV_TYPES "[\"c10::Half\",\"c10::Half\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]\n"
#define CONV_DIMS  "[[2,8,9,7],[16,4,3,1],[],[],[],[],[],[],[]]\n"
#define CONV_ARGS  "[\"\",\"\",\"\",\"[2, 1]\",\"[1, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"2\"]"
#define FWD        "dtype=fp16 layout="
#define CONV_EXTENT                                                                                \
    "ndim=2 n=2 g=2 c_total=8 k_total=16 di=1 hi=9 wi=7 z=1 y=3 x=1 stride_d=1 stride_h=2 "        \
    "stride_w=1"
#define BACK_DIMS  "[[2,16,5,7],[2,8,9,7],[16,4,3,1],[],[],[],[],[],[],[],[]]\n"
#define BACK_TYPES "[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]\n"
#define BACK_ARGS(mask)                                                                            \
    "[\"\",\"\",\"\",\"[0]\",\"[2, 1]\",\"[1, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"2\",\"" mask  \
    "\"]"

static const struct row rows[] = {
    { "aten::convolution",
      CONV_DIMS CONV_TYPES "[[504,63,7,1],[12,3,1,1],[],[],[],[],[],[],[]]\n" CONV_ARGS,
      { "direction=forward " FWD "ngchw " CONV_EXTENT },
      NULL,
      false },
    { "aten::convolution", /* channels last */
      CONV_DIMS CONV_TYPES "[[504,1,56,8],[12,1,4,4],[],[],[],[],[],[],[]]\n" CONV_ARGS,
      { "direction=forward " FWD "nhwgc " CONV_EXTENT },
      NULL,
      false },
    { "aten::convolution", CONV_DIMS CONV_TYPES "\n" CONV_ARGS, { FWD "ngchw " }, NULL, true },
    { "aten::convolution", /* one channel fits both layouts: the weight decides */
      "[[2,1,9,7],[16,1,3,1],[],[],[],[],[],[],[]]\n" CONV_TYPES
      "[[63,63,7,1],[3,1,1,1],[],[],[],[],[],[],[]]\n"
      "[\"\",\"\",\"\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]",
      { "c_total=1 k_total=16" },
      NULL,
      true },
    { "aten::convolution", /* transposed: the gradient of a convolution from its output's extents */
      "[[2,16,5,7],[16,4,3,1],[],[],[],[],[],[],[]]\n" CONV_TYPES
      "[[560,35,7,1],[12,3,1,1],[],[],[],[],[],[],[]]\n"
      "[\"\",\"\",\"\",\"[2, 1]\",\"[1, 0]\",\"[1, 1]\",\"True\",\"[0, 0]\",\"2\"]",
      { "direction=backward_data " FWD "ngchw " CONV_EXTENT },
      NULL,
      false },
    { "aten::convolution_backward",
      BACK_DIMS BACK_TYPES
      "[[560,35,7,1],[504,63,7,1],[12,3,1,1],[],[],[],[],[],[],[],[]]\n" BACK_ARGS(
          "[True, True, False]"),
      { "direction=backward_data dtype=fp32 layout=ngchw " CONV_EXTENT,
        "direction=backward_weight dtype=fp32 layout=ngchw " CONV_EXTENT },
      NULL,
      false },
    { "aten::convolution_backward",
      BACK_DIMS BACK_TYPES
      "[[560,35,7,1],[504,63,7,1],[12,3,1,1],[],[],[],[],[],[],[],[]]\n" BACK_ARGS(
          "[False, True, True]"),
      { "direction=backward_weight " },
      NULL,
      false },
    { "aten::convolution_backward", /* nothing but the bias */
      BACK_DIMS BACK_TYPES "\n" BACK_ARGS("[False, False, True]"),
      { NULL },
      NULL,
      true },
    { "aten::mm",
      "[[5,3],[3,4]]\n[\"float\",\"float\"]\n[[3,1],[4,1]]\n[\"\",\"\"]",
      { "operator=gemm direction=forward dtype=fp32 layout=nhwgc batch=1 m=5 n=4 k=3 trans_a=0 "
        "trans_b=0" },
      NULL,
      false },
    { "aten::addmm",
      "[[4],[5,3],[3,4],[],[]]\n[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\","
      "\"Scalar\"]\n"
      "[[1],[1,5],[1,3],[],[]]\n[\"\",\"\",\"\",\"1\",\"1\"]",
      { "dtype=bf16 layout=nhwgc batch=1 m=5 n=4 k=3 trans_a=1 trans_b=1" },
      NULL,
      false },
    { "aten::bmm",
      "[[6,5,3],[6,3,4]]\n[\"float\",\"float\"]\n[[15,3,1],[12,1,3]]\n[\"\",\"\"]",
      { "batch=6 m=5 n=4 k=3 trans_a=0 trans_b=1" },
      NULL,
      false },
    { "aten::mm", /* a column: both orders are the same */
      "[[5,1],[1,4]]\n[\"float\",\"float\"]\n[[1,1],[4,1]]\n[\"\",\"\"]",
      { "m=5 n=4 k=1 trans_a=0 trans_b=0" },
      NULL,
      true },
    { "aten::mm",
      "[[5,3],[3,4]]\n[\"float\",\"float\"]\n[[6,2],[4,1]]\n[\"\",\"\"]",
      { NULL },
      "neither rows nor columns",
      false },
    { "aten::mm",
      "[[5,3],[3,4]]\n[\"double\",\"double\"]\n[[3,1],[4,1]]\n[\"\",\"\"]",
      { NULL },
      "only fp32, fp16 and bf16",
      false },
    { "aten::mm", "", { NULL }, "no shapes were recorded", false },
    { "aten::add", "[[5]]\n[\"float\"]\n\n", { NULL }, NULL, false },
};

static void check_row(const struct row *r)
{
    struct ks_problem p[KS_TRACE_PROBLEMS_MAX];
    struct ks_trace_problem t;
    struct ks_err err;
    struct ks_buf b;
    int n;

    ks_trace_problem_of(r->name, r->shapes, &t);
    if (r->why) {
        assert_int_equal(t.kind, KS_TRACE_PROBLEM_REFUSED);
        assert_non_null(strstr(t.why, r->why));
        return;
    }
    if (strcmp(r->name, "aten::add") == 0) {
        assert_int_equal(t.kind, KS_TRACE_PROBLEM_NONE);
        return;
    }
    assert_true(t.kind == KS_TRACE_PROBLEM_CONV || t.kind == KS_TRACE_PROBLEM_GEMM);
    assert_int_equal(t.is_ambiguous, r->is_ambiguous);
    n = ks_trace_problem_make(&t, p, &err);
    ks_buf_init(&b);
    for (int i = 0; i < n; i++) {
        assert_non_null(r->want[i]);
        assert_int_equal(ks_problem_finish(&p[i], &err), 0);
        ks_buf_clear(&b);
        ks_problem_canonical(&p[i], &b);
        if (!strstr(ks_buf_text(&b), r->want[i]))
            fail_msg("%s: got %s", r->want[i], ks_buf_text(&b));
    }
    assert_null(r->want[n]);
    ks_buf_release(&b);
}

static void operators_become_problems(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(rows); i++)
        check_row(&rows[i]);
}

/* Kernels whose names tell are charged to their direction, the others equally. */
static void times_are_shared(void **state)
{
    struct ks_problem p[2] = { { .direction = KS_BACKWARD_DATA },
                               { .direction = KS_BACKWARD_WEIGHT } };
    struct ks_trace_times t = { 0 };
    int64_t ns[2];

    (void)state;
    ks_trace_times_add(&t, "igemm_bwd_gtcx3_nhwc_bf16", 100);
    ks_trace_times_add(&t, "sm80_xmma_wgrad_implicit", 30);
    ks_trace_times_add(&t, "batched_transpose_32x32_half", 8);
    ks_trace_times_share(&t, p, 2, ns);
    assert_int_equal(ns[0], 104);
    assert_int_equal(ns[1], 34);
    ks_trace_times_share(&t, p, 1, ns);
    assert_int_equal(ns[0], 138);
}

#define OP(name, ts, dur, id, args)                                                                \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts        \
    ",\"dur\":" dur ",\"args\":{\"External id\":" id args "}}"
#define MM                                                                                         \
    ",\"Input Dims\":[[5,3],[3,4]],\"Input type\":[\"float\",\"float\"],"                          \
    "\"Input Strides\":[[3,1],[4,1]]"
#define KERNEL(id, dur)                                                                            \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":50,\"dur\":" dur   \
    ",\"args\":{\"External id\":" id ",\"device\":0,\"stream\":7}}"

/* matmul around mm counts once, with the kernels of the inner one; refused ones say how many. */
static void nested_operators_count_once(void **state)
{
    static const char text[] = "{\"schemaVersion\":1,\"traceEvents\":["      //
        OP("aten::matmul", "1", "9", "1", MM) ","                            //
        OP("aten::mm", "2", "7", "2", MM) ","                                //
        OP("aten::add", "3", "2", "3", "") ","                               //
        OP("aten::mm", "11", "4", "4", MM) ","                               //
        OP("aten::mm", "21", "4", "5", "") ","                               //
        OP("aten::mm", "31", "4", "6", "") ","                               //
        OP("aten::matmul", "41", "4", "7", MM) ","                           //
        KERNEL("2", "3.5") "," KERNEL("3", "0.25") "," KERNEL("1", "99") "," //
        KERNEL("4", "2") "," KERNEL("7", "0.5") "]}";
    struct ks_problem_set set;
    struct ks_err err;
    uint64_t line;

    (void)state;
    ks_problem_set_init(&set);
    assert_true(ks_import_trace.sniff(text, sizeof(text) - 1));
    assert_int_equal(ks_import_trace.read(&set, text, sizeof(text) - 1, "f", false, &err), 0);
    assert_int_equal(set.n, 1);
    assert_int_equal(set.problems.rows[0].count, 3);
    assert_int_equal(set.origins[0].time_ns, 3500 + 250 + 2000 + 500);
    assert_string_equal(ks_problem_set_origin(&set, 0, &line), "f");
    assert_int_equal(line, 7); /* operators in the order of the file: the one matmul that counts */
    assert_int_equal(set.n_refused, 1);
    assert_non_null(strstr(set.refusals[0].reason, "aten::mm: no shapes were recorded"));
    assert_non_null(strstr(set.refusals[0].reason, "(2 calls)"));
    assert_true(ks_problem_set_has_times(&set));
    ks_problem_set_release(&set);
    ks_problem_set_init(&set);
    assert_int_equal(ks_import_trace.read(&set, text, sizeof(text) - 1, "f", true, &err),
                     KS_EFORMAT);
    ks_problem_set_release(&set);
}

/* Execution traces: the flat form of 1.0.1 and the nested one of 1.0.3 and later. */
static void execution_traces(void **state)
{
    static const char *const texts[] = {
        "{\"schema\":\"1.0.1\",\"nodes\":[{\"name\":\"aten::linear\",\"id\":3,\"parent\":1,"
        "\"inputs\":[[1,2,0,15,4,"
        "\"cuda:0\"],[1,2,0,12,4,\"cuda:0\"]],\"input_shapes\":[[5,3],[4,3]],\"input_types\":["
        "\"Tensor(float)\","
        "\"Tensor(float)\"]},{\"name\":\"aten::mm\",\"id\":4,\"parent\":3,\"inputs\":[[1,2,0,15,4,"
        "\"cuda:0\"],"
        "[1,2,0,12,4,\"cuda:0\"]],\"input_shapes\":[[5,\n3],[3,4]],\"input_types\":[\"Tensor(float)"
        "\","
        "\"Tensor(float)\"]}]}",
        "{\"schema\":\"1.1.0-chakra.0.0.4\",\"nodes\":[{\"id\":3,\"name\":\"aten::mm\",\"ctrl_"
        "deps\":2,\"inputs\":{"
        "\"values\":[[1,2,0,15,4,\"cuda:0\"],[1,2,0,12,4,\"cuda:0\"]],\"shapes\":[[5,3],[3,4]],"
        "\"types\":["
        "\"Tensor(float)\",\"Tensor(float)\"]}}]}",
    };

    (void)state;
    for (size_t i = 0; i < N(texts); i++) {
        struct ks_problem_set set;
        struct ks_err err;

        ks_problem_set_init(&set);
        assert_true(ks_import_trace.sniff(texts[i], strlen(texts[i])));
        assert_int_equal(ks_import_trace.read(&set, texts[i], strlen(texts[i]), "f", false, &err),
                         0);
        assert_int_equal(set.n, 1);
        assert_int_equal(set.problems.rows[0].count, 1);
        assert_string_equal(ks_problem_table_name(&set.problems, 0), "aten::mm (layout assumed)");
        assert_false(ks_problem_set_has_times(&set));
        assert_int_equal(set.n_refused, 0);
        ks_problem_set_release(&set);
        ks_problem_set_init(&set); /* without the last two brackets */
        assert_int_equal(
            ks_import_trace.read(&set, texts[i], strlen(texts[i]) - 2, "f", false, &err), 0);
        assert_int_equal(set.n, 1);
        assert_int_equal(set.n_refused, 1);
        assert_non_null(strstr(set.refusals[0].reason, "the file ends inside the events"));
        ks_problem_set_release(&set);
    }
}

/* Operators for replay: the same arguments as values; what is wrong is refused by its line. */
static void operators_for_replay(void **state)
{
#define TENSOR(shape, strides)                                                                     \
    "{\"arg_type\":\"Tensor\",\"value\":{\"shape\":" shape                                         \
    ",\"dtype\":\"c10::Half\",\"strides\":" strides "}}"
#define VALUE(v) ",{\"value\":" v "}"
    static const char text[] =
        "[{\"op_name\":\"aten::convolution\",\"replay_ir\":{\"list_pos_args\":[" TENSOR(
            "[2,8,9,7]", "[504,1,56,8]") "," TENSOR("[16,4,3,1]", "[12,1,4,4]") VALUE("null")
            VALUE("[2, 1]") VALUE("[1, 0]") VALUE("[1, 1]") VALUE("false") VALUE("[0, 0]") VALUE(
                "2") "]},\"metadata\":{\"count\":3,\"total_kernel_us\":1.5}},\n"
                     "{\"op_name\":\"aten::mm\",\"replay_ir\":{\"list_pos_args\":"
                     "[" TENSOR("[5,3]", "[3,1]") "," TENSOR(
                         "[3,4]", "[1,3]") "]}},\n"
                                           "{\"op_name\":\"aten::add\",\"replay_ir\":{\"list_pos_"
                                           "args\":[1,null]}},\n5,\n{\"op_name\":7}]";
#undef TENSOR
#undef VALUE
    static const uint64_t lines[] = { 3, 4, 5 };
    struct ks_problem_set set;
    struct ks_problem p;
    struct ks_err err;

    (void)state;
    ks_problem_set_init(&set);
    assert_true(ks_import_pytorch.sniff(text, sizeof(text) - 1));
    assert_int_equal(ks_import_pytorch.read(&set, text, sizeof(text) - 1, "f", false, &err), 0);
    assert_int_equal(set.n, 2);
    p = ks_problem_table_get(&set.problems, 0);
    assert_int_equal(p.layout, KS_NHWGC);
    assert_int_equal(p.dtype, KS_FP16);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.dim[KS_CONV_G], 2);
    assert_int_equal(p.dim[KS_CONV_STRIDE_H], 2);
    assert_int_equal(set.origins[0].time_ns, 1500);
    p = ks_problem_table_get(&set.problems, 1);
    assert_true(p.dim[KS_GEMM_TRANS_A] == 0 && p.dim[KS_GEMM_TRANS_B] == 1 && p.count == 1);
    assert_int_equal(set.n_refused, 3);
    for (size_t i = 0; i < N(lines); i++)
        assert_int_equal(set.refusals[i].line, lines[i]);
    ks_problem_set_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(operators_become_problems),
                                        cmocka_unit_test(times_are_shared),
                                        cmocka_unit_test(nested_operators_count_once),
                                        cmocka_unit_test(execution_traces),
                                        cmocka_unit_test(operators_for_replay) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
